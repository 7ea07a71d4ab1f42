//! From a name that a program asks for to a connection. A name is looked up once, and what is looked at is what is connected to.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use ralph_core::plan::{Host, is_public, plain_name};

use super::head::Place;

const CONNECT_TIME: Duration = Duration::from_secs(15);
/// So many addresses of one name are tried.
const MAX_ADDRESSES: usize = 4;

/// Why there is no connection, in words for the program that asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoWay {
    pub(super) status: u16,
    pub(super) why: String,
}

impl NoWay {
    pub(super) fn new(status: u16, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }
}

/// Whether it may be asked for at all.
pub(super) fn is_named(place: &Place, hosts: &[Host]) -> Result<(), NoWay> {
    let Place { host, port } = place;
    match hosts.iter().any(|own| own.is_asked(host, *port)) {
        true => Ok(()),
        false => Err(NoWay::new(
            403,
            format!("{host}:{port} is not among the hosts of this run (sandbox_access.hosts names them)"),
        )),
    }
}

/// Connects to a place that is named. `hosts` are all that are, for addresses that are not public.
pub(super) fn connect(place: &Place, hosts: &[Host]) -> Result<TcpStream, NoWay> {
    let (found, port) = (look_up(place)?, place.port);
    let allowed = allowed(&found, port, hosts);
    let Some(first) = found.first() else {
        return Err(NoWay::new(502, format!("{} has no address", place.host)));
    };
    if allowed.is_empty() {
        return Err(NoWay::new(
            403,
            format!(
                "{} leads to {first}, which is not a public address; sandbox_access.hosts must name `{first}` too",
                place.host
            ),
        ));
    }
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in allowed.into_iter().take(MAX_ADDRESSES) {
        match TcpStream::connect_timeout(&SocketAddr::new(address, port), CONNECT_TIME) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(NoWay::new(502, format!("cannot connect to {}:{port}: {last}", place.host)))
}

fn look_up(place: &Place) -> Result<Vec<IpAddr>, NoWay> {
    if let Ok(address) = place.host.parse() {
        return Ok(vec![address]);
    }
    // With the dot at its end it is not tried below the machine's own domains.
    let name = plain_name(&place.host);
    let found = (name.as_str(), place.port).to_socket_addrs();
    let found = found.map_err(|error| NoWay::new(502, format!("cannot look up {name}: {error}")))?;
    Ok(found.map(|address| address.ip()).collect())
}

/// Those of its addresses that may be connected to.
fn allowed(found: &[IpAddr], port: u16, hosts: &[Host]) -> Vec<IpAddr> {
    let may = |address: IpAddr| is_public(address) || hosts.iter().any(|host| host.covers(address, port));
    found.iter().copied().filter(|address| may(*address)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(host: &str, port: u16) -> Place {
        Place { host: host.to_owned(), port }
    }

    fn hosts(texts: &[&str]) -> Vec<Host> {
        texts.iter().map(|text| text.parse().expect("a host")).collect()
    }

    #[test]
    fn a_name_opens_no_address_of_the_machine_or_its_cloud() {
        let found: Vec<IpAddr> =
            ["127.0.0.1", "169.254.169.254", "93.184.216.34"].map(|text| text.parse().expect("one")).to_vec();
        assert_eq!(allowed(&found, 443, &hosts(&["a.b"])), found[2..]);
        assert_eq!(allowed(&found, 443, &hosts(&["a.b", "169.254.169.254"])), found[1..]);
        assert_eq!(allowed(&found, 22, &hosts(&["a.b", "169.254.169.254"])), found[2..]);
    }

    #[test]
    fn what_is_not_named_is_refused_by_name_and_what_leads_home_by_address() {
        let refused = is_named(&place("evil.org", 443), &hosts(&["a.b"])).expect_err("it is not named");
        assert!(refused.status == 403 && refused.why.contains("evil.org:443"));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let refused = connect(&place("localhost", port), &hosts(&["a.b"])).expect_err("it leads home");
        assert!(refused.status == 403 && refused.why.contains("not a public address"), "{refused:?}");
        assert!(connect(&place("localhost", port), &hosts(&[&format!("localhost:{port}")])).is_ok());
    }
}
