//! One connection of a program to the proxy: its request is read, judged, and passed on.

use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::dial::{self, NoWay};
use super::head::{self, Head, Place, Target};
use super::keys::{self, Key, TakeOut};
use super::{Line, body, tls};
use crate::lock;

/// A head comes within this time, or not at all.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// A connection on which nothing moves for this long is closed.
const IDLE: Duration = Duration::from_secs(30 * 60);
const PIECE: usize = 16 * 1024;
/// What a client has sent of a body that nobody wants is read, so that it hears why.
const LINGER: Duration = Duration::from_secs(1);

pub(super) fn serve(line: &Line, mut client: TcpStream) {
    let _ = client.set_nodelay(true);
    let asked = match read_head(&mut client) {
        Ok(Some(asked)) => asked,
        Ok(None) => return,
        Err(refused) => return refuse(&mut client, &NoWay::new(400, refused.0)),
    };
    if let Err(no_way) = answer(line, asked, &client) {
        refuse(&mut client, &no_way);
    }
}

/// A head, and what came behind it.
struct Asked {
    head: Head,
    rest: Vec<u8>,
}

/// Nothing if the client went away, or takes too long.
fn read_head(client: &mut TcpStream) -> Result<Option<Asked>, head::Refused> {
    let until = Instant::now() + HEAD_TIME;
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || client.set_read_timeout(Some(left)).is_err() {
            return Ok(None);
        }
        let got = match client.read(&mut piece) {
            Ok(0) => return Ok(None),
            Ok(got) => got,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Ok(None),
        };
        let seen = bytes.len();
        bytes.extend_from_slice(piece.get(..got).unwrap_or_default());
        if let Some(end) = head::end(&bytes, seen)? {
            let rest = bytes.split_off(end);
            return Ok(Some(Asked { head: head::parse(&bytes)?, rest }));
        }
    }
}

fn answer(line: &Line, asked: Asked, client: &TcpStream) -> Result<(), NoWay> {
    let lost = |error: io::Error| NoWay::new(502, format!("the connection cannot be used: {error}"));
    client.set_read_timeout(Some(IDLE)).map_err(lost)?;
    client.set_write_timeout(Some(IDLE)).map_err(lost)?;
    match asked.head.target.clone() {
        Target::Tunnel(place) => {
            let server = open(line, &place)?;
            tunnel(asked.rest, client, &server).map_err(lost)
        }
        Target::Elsewhere(place, path) => {
            let server = open(line, &place)?;
            let head = asked.head.forwarded(&place, 80, &path);
            // From here on the answer is the server's.
            let _ = exchange(&asked, &head, client, server, client);
            Ok(())
        }
        Target::Here(path) => match path.strip_prefix(super::TO) {
            Some(to) => with_keys(line, asked, to, client),
            None => Err(NoWay::new(404, "this is ralph's proxy; there is nothing else here")),
        },
    }
}

/// Sends a request on by TLS, with the keys of its host.
fn with_keys(line: &Line, mut asked: Asked, to: &str, client: &TcpStream) -> Result<(), NoWay> {
    let (place, path) = head::behind(to).map_err(|refused| NoWay::new(400, refused.0))?;
    let keys: Vec<&Key> = line.rules.keys.iter().filter(|key| key.is_for(&place)).collect();
    if keys.is_empty() {
        let why = format!("{}:{} is the host of no key of this run (`secrets`)", place.host, place.port);
        return Err(NoWay::new(403, why));
    }
    let hosts: Vec<_> = keys.iter().flat_map(|key| key.hosts().to_vec()).collect();
    let server = tune(line, dial::connect(&place, &hosts)?)?;
    let server = tls::connect(&place.host, server).map_err(|why| NoWay::new(502, why))?;
    let path = keys::put_in(&mut asked.head, &path, &keys);
    let head = asked.head.forwarded(&place, 443, &path);
    let mut answer = TakeOut::new(&keys, client);
    let _ = exchange(&asked, &head, client, server, &mut answer).and_then(|()| answer.finish());
    Ok(())
}

/// A connection to a place, if that is named.
fn open(line: &Line, place: &Place) -> Result<TcpStream, NoWay> {
    dial::is_named(place, &line.rules.hosts)?;
    tune(line, dial::connect(place, &line.rules.hosts)?)
}

fn tune(line: &Line, server: TcpStream) -> Result<TcpStream, NoWay> {
    let ready = server
        .set_nodelay(true)
        .and_then(|()| server.set_read_timeout(Some(IDLE)))
        .and_then(|()| server.set_write_timeout(Some(IDLE)))
        .and_then(|()| line.hold(&server));
    ready.map_err(|error| NoWay::new(502, format!("the connection cannot be used: {error}")))?;
    Ok(server)
}

/// Bytes in both directions until both have ended, whatever they mean.
fn tunnel(sent: Vec<u8>, mut client: &TcpStream, mut server: &TcpStream) -> io::Result<()> {
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let moved = Mutex::new(Instant::now());
    let moved = &moved;
    std::thread::scope(|scope| {
        let up = move || {
            if server.write_all(&sent).and_then(|()| copy(client, server, moved)).is_err() {
                close(client, server);
            }
            let _ = server.shutdown(Shutdown::Write);
        };
        let builder = std::thread::Builder::new().stack_size(super::STACK);
        if builder.spawn_scoped(scope, up).is_err() || copy(server, client, moved).is_err() {
            close(client, server);
        }
        let _ = client.shutdown(Shutdown::Write);
    });
    Ok(())
}

fn close(client: &TcpStream, server: &TcpStream) {
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

/// Every piece is passed on as it comes. `moved`: when something last did, in either direction.
fn copy(mut from: impl Read, mut to: impl Write, moved: &Mutex<Instant>) -> io::Result<()> {
    let mut piece = [0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(got) => {
                to.write_all(piece.get(..got).unwrap_or_default())?;
                to.flush()?;
                *lock(moved) = Instant::now();
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
                    && lock(moved).elapsed() < IDLE => {}
            Err(error) => return Err(error),
        }
    }
}

/// One request there, one answer back.
fn exchange(
    asked: &Asked,
    head: &[u8],
    mut client: &TcpStream,
    mut server: impl Read + Write,
    back: impl Write,
) -> io::Result<()> {
    server.write_all(head)?;
    if asked.head.expects_word() {
        client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let mut from = BufReader::new(asked.rest.as_slice().chain(client));
    // A server may answer before it has read everything: the answer is what counts.
    let _ = server.flush().and_then(|()| body::pass(asked.head.body, &mut from, &mut server));
    copy(server, back, &Mutex::new(Instant::now()))
}

fn refuse(client: &mut TcpStream, no_way: &NoWay) {
    let text = format!("ralph: {}\n", no_way.why);
    let reason = match no_way.status {
        403 => "Forbidden",
        404 => "Not Found",
        400 => "Bad Request",
        _ => "Bad Gateway",
    };
    let head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        no_way.status,
        text.len()
    );
    let _ = client.set_write_timeout(Some(LINGER));
    let _ = client.write_all((head + &text).as_bytes()).and_then(|()| client.shutdown(Shutdown::Write));
    let _ = client.set_read_timeout(Some(LINGER));
    let _ = io::copy(&mut client.take(head::MAX_HEAD as u64), &mut io::sink());
}
