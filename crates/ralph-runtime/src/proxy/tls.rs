//! TLS to a host that gets a key, with the certificates that this system trusts.

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Read once: it is the same for all connections, which share their sessions with each host.
static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();

/// A server that closes without a farewell has ended its answer: its length tells whether that was all of it.
pub(super) struct Secure(StreamOwned<ClientConnection, TcpStream>);

pub(super) fn connect(host: &str, stream: TcpStream) -> Result<Secure, String> {
    let config = CONFIG.get_or_init(config).clone()?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| format!("{host}: {error}"))?;
    let session =
        ClientConnection::new(config, name).map_err(|error| format!("no TLS to {host}: {error}"))?;
    let mut stream = StreamOwned::new(session, stream);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|error| format!("no TLS to {host}: {error}"))?;
    }
    Ok(Secure(stream))
}

fn config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (count, _) = roots.add_parsable_certificates(found.certs);
    if count == 0 {
        let why = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        return Err(format!(
            "this system trusts no certificate{why}; install its package of them (ca-certificates), or set SSL_CERT_FILE"
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| format!("no TLS: {error}"))?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

impl Read for Secure {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read,
        }
    }
}

impl io::Write for Secure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
