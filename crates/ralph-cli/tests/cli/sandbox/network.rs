//! A strict sandbox speaks to the hosts that are named, and to nobody else in any other way.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::*;

/// A server that answers every request with `hello`, counts connections, and keeps what it was sent.
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (count, seen) = (Arc::clone(&connections), Arc::clone(&heads));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(mut client) = client else { return };
                count.fetch_add(1, Ordering::SeqCst);
                seen.lock().expect("heads").push(head(&client));
                let _ = client.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
            }
        });
        Self { port, connections, heads }
    }

    fn heads(&self) -> String {
        self.heads.lock().expect("heads").concat()
    }
}

fn head(client: &TcpStream) -> String {
    let lines = BufReader::new(client).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    lines.map(|line| line + "\n").collect()
}

impl Place {
    /// Runs an agent that reaches for things, and says what came of each.
    fn reach(&self, tries: &[(&str, String)], args: &[&str]) -> Vec<(String, String)> {
        let steps = tries.iter().map(|(name, what)| format!("reach {name} {what}\n"));
        self.world.write("steps", &("read-stdin\n".to_owned() + &steps.collect::<String>()));
        let agent = format!("{} steps", env!("CARGO_BIN_EXE_fake-agent"));
        let mut ralph = self.world.command(env!("CARGO_BIN_EXE_ralph"));
        ralph.env("HOME", self.home.path()).args(["run", "-p", "work", "--once", "-a", &agent]).args(args);
        self.world.spawn(ralph).wait().expect(0);
        tries.iter().map(|(name, _)| ((*name).to_owned(), self.found(name))).collect()
    }
}

#[test]
fn strict_reaches_the_hosts_that_are_named_by_way_of_the_proxy_alone() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    let (server, other) = (Server::start(), Server::start());
    let (named, port) = (format!("sandbox_access.hosts=[\"localhost:{}\"]", server.port), server.port);
    let tries = [
        ("get", format!("get http://localhost:{port}/path?q")),
        ("tunnel", format!("tunnel localhost:{port}")),
        ("direct", format!("tcp 127.0.0.1:{port}")),
        ("literal", format!("get http://127.0.0.1:{port}/")),
        ("literal-tunnel", format!("tunnel 127.0.0.1:{port}")),
        ("mapped", format!("tunnel [::ffff:127.0.0.1]:{port}")),
        ("other-port", format!("tunnel localhost:{}", other.port)),
        ("other-host", "tunnel example.com:443".to_owned()),
        ("metadata", "get http://169.254.169.254/latest/meta-data/".to_owned()),
        ("no-request", "raw \\r\\n\\r\\n".to_owned()),
        (
            "smuggled",
            format!(
                "raw POST http://localhost:{port}/ HTTP/1.1\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
            ),
        ),
        ("here", "raw GET /etc/passwd HTTP/1.1\\r\\n\\r\\n".to_owned()),
    ];
    let came = place.reach(&tries, &["--sandbox", "strict", "--set", &named]);
    let began = |name: &str, with: &str| {
        let found = &came.iter().find(|(own, _)| own == name).expect("tried").1;
        assert!(found.starts_with(with), "{name}: {found}");
    };
    for name in ["get", "tunnel"] {
        began(name, "HTTP/1.1 200");
    }
    began("direct", "no: ");
    for name in ["literal", "literal-tunnel", "mapped", "other-port", "other-host", "metadata"] {
        began(name, "HTTP/1.1 403");
    }
    for name in ["no-request", "smuggled"] {
        began(name, "HTTP/1.1 400");
    }
    began("here", "HTTP/1.1 404");
    assert_eq!((server.connections.load(Ordering::SeqCst), other.connections.load(Ordering::SeqCst)), (2, 0));
    let heads = server.heads();
    assert!(
        heads.contains(&format!("GET /path?q HTTP/1.1\nHost: localhost:{port}\nConnection: close\n")),
        "{heads}"
    );
    let hosts = &place.containment()["sandbox"]["hosts"];
    assert_eq!(hosts[0], format!("localhost:{port}"));

    let tries = [("none", format!("get http://localhost:{port}/"))];
    let came = place.reach(&tries, &["--sandbox", "strict"]);
    assert!(came[0].1.starts_with("no: "), "without a host there is no proxy: {came:?}");
}

#[test]
fn strict_has_no_other_way_out() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    let server = Server::start();
    let named = format!("sandbox_access.hosts=[\"localhost:{}\"]", server.port);
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    udp.set_nonblocking(true).expect("set");
    let name = format!("ralph-test-{}", std::process::id());
    let hidden = SocketAddr::from_abstract_name(&name).expect("a name");
    let _hidden = UnixListener::bind_addr(&hidden).expect("a listener");
    let path = place.home("socket");
    let _by_path = UnixListener::bind(&path).expect("a listener");
    let tries = [
        ("udp", format!("udp 127.0.0.1:{}", udp.local_addr().expect("an address").port())),
        ("dns", "udp 8.8.8.8:53".to_owned()),
        ("tcp", "tcp 1.1.1.1:443".to_owned()),
        ("lookup", "tcp example.com:443".to_owned()),
        ("abstract", format!("abstract {name}")),
        ("path", format!("unix {}", path.display())),
        ("vsock", "family 40".to_owned()),
        ("packet", "family 17".to_owned()),
    ];
    let came = place.reach(&tries, &["--sandbox", "strict", "--set", &named]);
    let open: Vec<_> =
        came.iter().filter(|(name, found)| name != "udp" && !found.starts_with("no: ")).collect();
    assert_eq!(open, [] as [&(String, String); 0]);
    assert!(udp.recv(&mut [0; 8]).is_err(), "a packet came through");

    let came = place.reach(&tries[4..6], &[]);
    assert!(came.iter().all(|(_, found)| found == "yes"), "without a sandbox they are there: {came:?}");
}

#[test]
fn gates_reach_only_what_is_named_for_gates() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    let server = Server::start();
    let gate = format!("{} gate", env!("CARGO_BIN_EXE_fake-agent"));
    place.world.write("gate", &format!("reach by-gate get http://localhost:{}/\n", server.port));
    place.world.write("ralph.yml", &format!("gates_sandbox: strict\ngates: [{{name: net, run: {gate}}}]\n"));
    let claim = "echo '<ralph>COMPLETE</ralph>'";
    let hosts = format!("[\"localhost:{}\"]", server.port);
    place.run(claim, &["--set", &format!("sandbox_access.hosts={hosts}")]).expect(0);
    assert!(place.found("by-gate").starts_with("no: "), "{}", place.found("by-gate"));
    place.run(claim, &["--set", &format!("sandbox_access.gates_hosts={hosts}")]).expect(0);
    assert!(place.found("by-gate").starts_with("HTTP/1.1 200"), "{}", place.found("by-gate"));
}

#[test]
fn a_connection_that_nobody_uses_ends_with_the_agent() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let ended = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a connection");
        client.read_to_end(&mut Vec::new())
    });
    let named = format!("sandbox_access.hosts=[\"localhost:{port}\"]");
    // The shell holds it open until it is killed, and sends nothing.
    let script = "
        cat > hold.sh <<'END'
exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}
printf 'CONNECT localhost:%s HTTP/1.1\\r\\n\\r\\n' \"$1\" >&3
read -r line <&3
echo \"$line\" > held
sleep 60 &
exit 0
END
        bash hold.sh PORT";
    place
        .run(&script.replace("PORT", &port.to_string()), &["--sandbox", "strict", "--set", &named])
        .expect(0);
    assert!(place.found("held").contains("200"), "{}", place.found("held"));
    let _ = ended.join().expect("the server hears the end");
}
