//! The step `reach FILE KIND ADDRESS`: tries to speak to somebody. The file has `yes`, `no`, or the answer of a proxy.
//!
//! | kind | address |
//! |---|---|
//! | `tcp` | `host:port` to connect to |
//! | `udp` | `host:port` to send a packet to |
//! | `unix`, `abstract` | the path or name of a socket |
//! | `family` | the number of a family of sockets, to make one |
//! | `get` | `http://…`, by way of the proxy: the status and the body |
//! | `tunnel` | `host:port`, by way of the proxy: the status, then the answer to a request in the tunnel |
//! | `raw` | what is sent to the proxy, with `\r\n` written so |

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, socket};

pub fn reach(rest: &str) -> io::Result<()> {
    let mut words = rest.splitn(3, ' ');
    let (Some(file), Some(kind), Some(address)) = (words.next(), words.next(), words.next()) else {
        return Err(io::Error::other("reach FILE KIND ADDRESS"));
    };
    let came = match kind {
        "tcp" => TcpStream::connect(address).map(|_| yes()),
        "udp" => UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"x", address)).map(|_| yes()),
        "unix" => UnixStream::connect(address).map(|_| yes()),
        "abstract" => SocketAddr::from_abstract_name(address)
            .and_then(|address| UnixStream::connect_addr(&address))
            .map(|_| yes()),
        "family" => family(address).map(|_| yes()),
        "get" => ask(&format!("GET {address} HTTP/1.1\r\nHost: x\r\n\r\n"), None),
        "tunnel" => ask(
            &format!("CONNECT {address} HTTP/1.1\r\nHost: x\r\n\r\n"),
            Some("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"),
        ),
        "raw" => ask(&address.replace("\\r\\n", "\r\n"), None),
        other => return Err(io::Error::other(format!("unknown kind: {other}"))),
    };
    fs::write(file, came.unwrap_or_else(|error| format!("no: {error}")))
}

fn yes() -> String {
    "yes".to_owned()
}

fn family(number: &str) -> io::Result<()> {
    let number = number.parse().map_err(|_| io::Error::other("no number"))?;
    socket(AddressFamily::from_raw(number), SocketType::STREAM, None)?;
    Ok(())
}

/// What the proxy answers; what is behind it, if it lets this through.
fn ask(request: &str, then: Option<&str>) -> io::Result<String> {
    let proxy = std::env::var("http_proxy").map_err(|_| io::Error::other("there is no proxy"))?;
    let mut stream = TcpStream::connect(proxy.trim_start_matches("http://"))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(request.as_bytes())?;
    if let Some(then) = then {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.extend_from_slice(&byte);
        }
        if !head.starts_with(b"HTTP/1.1 200") {
            return Ok(String::from_utf8_lossy(&head).into_owned());
        }
        stream.write_all(then.as_bytes())?;
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
