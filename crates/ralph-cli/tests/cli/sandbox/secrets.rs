//! A key that the agent uses and never has.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;

const KEY: &str = "live-0123456789-abcdefghij";

/// Answers by TLS with the head it was sent, in two pieces. `/go` lets the second piece of the request before it go.
struct Service {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

fn tls(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/sandbox/tls").join(name)
}

impl Service {
    fn start() -> Self {
        let certificate = CertificateDer::from_pem_file(tls("server.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(tls("server.key.pem")).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("a server");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&heads);
        let waiting: Arc<Mutex<Option<Sender<()>>>> = Arc::default();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (config, seen, waiting) = (Arc::clone(&config), Arc::clone(&seen), Arc::clone(&waiting));
                std::thread::spawn(move || {
                    let connection = ServerConnection::new(config).expect("a connection");
                    answer(StreamOwned::new(connection, client), &seen, &waiting)
                });
            }
        });
        Self { port, heads }
    }
}

type Stream = StreamOwned<ServerConnection, std::net::TcpStream>;

fn answer(mut stream: Stream, seen: &Mutex<Vec<String>>, waiting: &Mutex<Option<Sender<()>>>) -> Option<()> {
    let mut from = BufReader::new(&mut stream);
    let lines = from.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let head: String = lines.map(|line| line + "\n").collect();
    // With something unread the end of the connection would take back what was answered.
    from.read_exact(&mut [0; 2]).ok()?;
    seen.lock().ok()?.push(head.clone());
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").ok()?;
    if head.contains("/go ") {
        waiting.lock().ok()?.take().map(|go| go.send(()));
    } else {
        let (go, gone) = channel();
        *waiting.lock().ok()? = Some(go);
        stream.write_all(format!("data: one\n{head}").as_bytes()).ok()?;
        stream.flush().ok()?;
        gone.recv().ok()?;
        stream.write_all(b"data: two\n").ok()?;
    }
    stream.conn.send_close_notify();
    stream.flush().ok()
}

/// What a program of the agent's does: looks for the key everywhere, uses its placeholder, and reads while the service speaks.
const AGENT: &str = r#"
env > env.txt
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline > proc.txt 2> /dev/null
cat "$STATE"/runs/*/* > state.txt 2> /dev/null
cat KEYFILE > file.txt 2> /dev/null
cat > ask.sh <<'END'
rest=${MY_URL#http://}; at=${rest%%/*}; path=/${rest#*/}
ask() { exec {to}<>/dev/tcp/${at%:*}/${at#*:}; printf 'POST %s HTTP/1.1\r\nX-Api-Key: %s\r\nContent-Length: 2\r\n\r\nhi' "$1" "$MY_KEY" >&$to; }
ask "$path/v1/messages?key=$MY_KEY"; first=$to
while read -r line <&$first; do echo "$line"; case $line in *one*) break;; esac; done > answer.txt
ask "$path/go"; cat <&$to > go.txt
cat <&$first >> answer.txt
ask "/to/example.com/v1"; cat <&$to > other.txt
ask "http://localhost:${at#*:}/"; cat <&$to > plain.txt
END
bash ask.sh
cat env.txt answer.txt
"#;

impl Place {
    fn run_with_key(&self, definition: &str, service: &Service) -> Done {
        let definition = definition.replace("PORT", &service.port.to_string());
        self.world.write("ralph.yml", &definition);
        let state = self.world.state();
        let script = AGENT.replace("KEYFILE", &self.home("keyfile").display().to_string());
        self.world.write("agent.sh", &format!("cat > /dev/null\nSTATE={}\n{script}", state.display()));
        let mut ralph = self.world.command(env!("CARGO_BIN_EXE_ralph"));
        ralph.env("HOME", self.home.path()).env("WORK_KEY", KEY).env("COPY", format!("copy={KEY}"));
        ralph.env("SSL_CERT_FILE", tls("authority.pem"));
        ralph.args(["run", "-p", "work", "-a", "sh agent.sh", "--once"]);
        self.world.spawn(ralph).wait()
    }

    /// The files below the workspace and the state folder that hold a text.
    fn holding(&self, text: &str) -> String {
        let found = Command::new("grep")
            .args(["-rlaF", text])
            .arg(self.world.work("."))
            .arg(self.world.state())
            .output();
        String::from_utf8_lossy(&found.expect("grep").stdout).into_owned()
    }
}

#[test]
fn the_service_gets_the_key_and_the_agent_never_does() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    let service = Service::start();
    fs::write(place.home("keyfile"), format!("{KEY}\n")).expect("a file");
    for from in ["{env: WORK_KEY}".to_owned(), format!("{{file: {}}}", place.home("keyfile").display())] {
        let secret = format!("{{name: MY_KEY, hosts: [\"localhost:PORT\"], from: {from}, base_url: MY_URL}}");
        let done = place.run_with_key(&format!("sandbox: strict\nsecrets: [{secret}]\n"), &service).expect(0);
        let heads = std::mem::take(&mut *service.heads.lock().expect("heads")).concat();
        assert!(heads.contains(&format!("POST /v1/messages?key={KEY} HTTP/1.1\n")), "{heads}");
        assert!(heads.contains(&format!("X-Api-Key: {KEY}\n")) && heads.contains("POST /go "), "{heads}");
        let placeholder = place.found("env.txt");
        let placeholder =
            placeholder.lines().find_map(|line| line.strip_prefix("MY_KEY=")).expect("a placeholder");
        assert!(placeholder.starts_with("ralph-"));
        let answer = place.found("answer.txt");
        assert!(answer.contains("data: one") && answer.contains("data: two"), "{answer}");
        assert!(answer.contains(&format!("X-Api-Key: {placeholder}")), "an answer that repeats it: {answer}");
        assert!(place.found("other.txt").contains("403") && place.found("plain.txt").contains("403"));
        assert_eq!(place.holding(KEY), "", "files with the key");
        assert!(!format!("{}{}", done.stdout, done.stderr).contains(KEY));
        assert!(place.found("proc.txt").contains("MY_URL"), "the processes were looked at");
    }
}

#[test]
fn a_key_that_could_not_be_kept_is_an_error_before_anything_starts() {
    let place = Place::new();
    let has_sandbox = place.has_sandbox();
    let service = Service::start();
    let secret = "{name: MY_KEY, hosts: [a.example.com], from: {env: WORK_KEY}, base_url: MY_URL}";
    let refused = |definition: &str, why: &str| {
        let done = place.run_with_key(definition, &service).expect(2);
        assert!(done.stderr.contains(why) && !done.stderr.contains(KEY), "{}", done.stderr);
        assert!(!place.world.work("env.txt").exists());
    };
    refused(&format!("secrets: [{secret}]\nsandbox_fallback: warn\n"), "sandbox: strict");
    refused(
        "secrets: [{name: MY_KEY, hosts: [a.example.com], from: live-key}]\n",
        "does not stand in a definition",
    );
    refused("secrets: [{name: MY_KEY, hosts: []}]\n", "no host");
    if has_sandbox {
        refused(
            "sandbox: strict\nsecrets: [{name: MY_KEY, hosts: [a.example.com]}]\n",
            "no variable that tells sh",
        );
        let gates = "gates: [{name: tests, run: \"true\"}]";
        refused(&format!("sandbox: strict\nsecrets: [{secret}]\n{gates}\n"), "gates_sandbox");
    }
}
