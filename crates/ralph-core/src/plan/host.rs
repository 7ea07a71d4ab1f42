//! A host that a program without a network of its own may speak to, as a definition names it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};

use super::value::{Rule, leaf};

/// The ports of a host that is named without one: https and http.
const USUAL_PORTS: [u16; 2] = [443, 80];
const MAX_NAME: usize = 253;

/// `api.example.com`, `*.example.com`, `192.0.2.7`, `10.0.0.0/8`, `[2001:db8::1]`, each with `:PORT` if it is not 443 or 80.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    what: What,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Name(String),
    /// Every name that ends with a dot and this one.
    Below(String),
    /// All addresses whose first bits are these.
    Network(IpAddr, u8),
}

leaf!(Host, Host, |it| it, |it| it.clone());

/// A name as names are compared: in lower case, without the dot at its end.
pub fn plain_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

impl Host {
    /// Whether who asks for this name, or for this address in its place, asks for this host.
    pub fn is_asked(&self, asked: &str, port: u16) -> bool {
        let asked = plain_name(asked);
        match (&self.what, asked.parse::<IpAddr>()) {
            (What::Network(..), Ok(address)) => self.covers(address, port),
            (What::Name(name), Err(_)) => *name == asked && self.has_port(port),
            (What::Below(name), Err(_)) => {
                let rest = asked.strip_suffix(name.as_str()).filter(|rest| rest.len() > 1);
                rest.is_some_and(|rest| rest.ends_with('.')) && self.has_port(port)
            }
            _ => false,
        }
    }

    /// Whether the definition names this address, or a network that it is in. Names lead to it only then, unless it is public.
    pub fn covers(&self, address: IpAddr, port: u16) -> bool {
        let is_named = match (&self.what, unmapped(address)) {
            (What::Name(name), address) => name == "localhost" && address.is_loopback(),
            (What::Network(IpAddr::V4(own), bits), IpAddr::V4(address)) => {
                same_bits(u128::from(own.to_bits()) << 96, u128::from(address.to_bits()) << 96, *bits)
            }
            (What::Network(IpAddr::V6(own), bits), IpAddr::V6(address)) => {
                same_bits(own.to_bits(), address.to_bits(), *bits)
            }
            _ => false,
        };
        is_named && self.has_port(port)
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| USUAL_PORTS.contains(&port), |own| own == port)
    }

    /// The name, where it is one name and not many or an address.
    pub fn name(&self) -> Option<&str> {
        match &self.what {
            What::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The port that the definition names, else that of https.
    pub fn tls_port(&self) -> u16 {
        self.port.unwrap_or(443)
    }
}

fn same_bits(left: u128, right: u128, bits: u8) -> bool {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
    (left ^ right) & mask == 0
}

/// An IPv4 address that is written as an IPv6 one is that address.
fn unmapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        four => four,
    }
}

/// Whether an address is one of the open network: not of this machine, of the network around it, or of the cloud's own
/// services, which know its keys.
pub fn is_public(address: IpAddr) -> bool {
    match unmapped(address) {
        IpAddr::V4(four) => is_public_4(four),
        IpAddr::V6(six) => is_public_6(six),
    }
}

fn is_public_4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        (0 | 10 | 127 | 224.., ..) => true,
        (100, 64..=127, _) => true,
        (169, 254, _) | (192, 168, _) | (198, 18 | 19, _) => true,
        (172, 16..=31, _) => true,
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 51, 100) | (203, 0, 113) => true,
        // Azure's own service for virtual machines is in the middle of public addresses.
        (168, 63, 129) => true,
        _ => false,
    };
    !is_special
}

fn is_public_6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let four_at = |bits: u32| {
        let low = u32::try_from((address.to_bits() >> bits) & u128::from(u32::MAX)).unwrap_or_default();
        is_public_4(Ipv4Addr::from_bits(low))
    };
    match (a, b) {
        // Addresses that are ways to IPv4 ones.
        (0x64, 0xff9b) => four_at(0),
        (0x2002, _) => four_at(80),
        (0x2001, 0..=0x1ff | 0xdb8) => false,
        // Only this part of all addresses has been given out.
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("://") || text.contains('@') {
            return Err(format!(
                "`{text}` is an address of a page\nname the host alone, such as api.example.com"
            ));
        }
        let (host, port) = split_port(text)?;
        let what = match host.split_once('/') {
            Some((address, bits)) => network(address, bits)?,
            None => match host.trim_matches(['[', ']']).parse::<IpAddr>() {
                Ok(address) => What::Network(unmapped(address), if address.is_ipv4() { 32 } else { 128 }),
                Err(_) => name(host)?,
            },
        };
        Ok(Self { what, port })
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    let bare_six = text.parse::<Ipv6Addr>().is_ok() || text.contains("::") && !text.starts_with('[');
    match text.rsplit_once(':') {
        Some((host, port)) if !bare_six && !port.contains(']') => match port.parse::<u16>() {
            Ok(port) if port > 0 => Ok((host, Some(port))),
            _ => Err(format!("`{port}` is no port")),
        },
        _ => Ok((text, None)),
    }
}

fn network(address: &str, bits: &str) -> Result<What, String> {
    let wrong = || format!("`{address}/{bits}` is no network, such as 10.0.0.0/8");
    let address: IpAddr = address.trim_matches(['[', ']']).parse().map_err(|_| wrong())?;
    let bits: u8 = bits.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    if bits > most { Err(wrong()) } else { Ok(What::Network(address, bits)) }
}

fn name(text: &str) -> Result<What, String> {
    let (name, below) = match text.strip_prefix("*.") {
        Some(rest) => (plain_name(rest), true),
        None => (plain_name(text), false),
    };
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    if name.len() > MAX_NAME || !name.split('.').all(is_label) {
        return Err(format!("`{text}` is no host, such as api.example.com, *.example.com or 192.0.2.7:8080"));
    }
    if below && !name.contains('.') {
        return Err(format!("`{text}` is nearly every host\nname the hosts, or at least their domain"));
    }
    Ok(if below { What::Below(name) } else { What::Name(name) })
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Name(name) => f.write_str(name)?,
            What::Below(name) => write!(f, "*.{name}")?,
            What::Network(IpAddr::V4(address), 32) => write!(f, "{address}")?,
            What::Network(IpAddr::V6(address), 128) => write!(f, "[{address}]")?,
            What::Network(IpAddr::V4(address), bits) => write!(f, "{address}/{bits}")?,
            What::Network(IpAddr::V6(address), bits) => write!(f, "[{address}]/{bits}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HostVisitor;
        impl de::Visitor<'_> for HostVisitor {
            type Value = Host;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a host, such as api.example.com")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Host, E> {
                text.trim().parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(HostVisitor)
    }
}

impl JsonSchema for Host {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Host".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[^/@\\s]+(/[0-9]+)?(:[0-9]+)?$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    #[test]
    fn a_host_is_who_is_named_and_nobody_whose_name_only_looks_like_it() {
        let asked = |rule: &str, name: &str, port| host(rule).is_asked(name, port);
        assert!(
            asked("api.example.com", "API.example.com.", 443)
                && asked("api.example.com", "api.example.com", 80)
        );
        for other in ["example.com", "xapi.example.com", "api.example.com.evil.org", "api.example.comm", ""] {
            assert!(!asked("api.example.com", other, 443), "{other}");
        }
        assert!(!asked("api.example.com", "api.example.com", 22));
        assert!(asked("api.example.com:8443", "api.example.com", 8443));
        assert!(!asked("api.example.com:8443", "api.example.com", 443));
        assert!(asked("*.example.com", "a.b.example.com", 443));
        for other in ["example.com", ".example.com", "evilexample.com", "example.com.evil.org"] {
            assert!(!asked("*.example.com", other, 443), "{other}");
        }
        assert!(asked("10.0.0.0/8", "10.9.8.7", 443) && !asked("10.0.0.0/8", "11.0.0.1", 443));
        assert!(asked("192.0.2.7", "::ffff:192.0.2.7", 443) && !asked("192.0.2.7", "192.0.2.70", 443));
        assert!(!asked("localhost", "127.0.0.1", 443) && asked("[::1]:99", "::1", 99));
    }

    #[test]
    fn what_a_definition_writes_comes_back_as_it_was_and_mistakes_are_told() {
        for text in
            ["a.b", "*.a.b:1", "192.0.2.7:80", "10.0.0.0/8", "[2001:db8::]/32", "[::1]:9", "localhost"]
        {
            assert_eq!(host(text).to_string(), text);
        }
        assert_eq!(host("2001:db8::1").to_string(), "[2001:db8::1]");
        for (text, why) in [
            ("https://a.b/", "page"),
            ("a b", "no host"),
            ("*.com", "nearly every"),
            ("*", "no host"),
            ("a.b:0", "no port"),
            ("a.b:x", "no port"),
            ("10.0.0.0/33", "no network"),
            ("", "no host"),
            ("a..b", "no host"),
        ] {
            assert!(text.parse::<Host>().is_err_and(|found| found.contains(why)), "{text}");
        }
    }

    #[test]
    fn addresses_of_the_machine_its_network_and_its_cloud_are_not_public() {
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.0.192",
            "::1",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "::127.0.0.1",
            "2001::1",
            "198.18.0.1",
        ] {
            assert!(!is_public(text.parse().expect("an address")), "{text}");
        }
        for text in
            ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2002:101:101::", "::ffff:8.8.8.8"]
        {
            assert!(is_public(text.parse().expect("an address")), "{text}");
        }
        let covered =
            |rule: &str, address: &str, port| host(rule).covers(address.parse().expect("an address"), port);
        assert!(
            covered("169.254.169.254", "169.254.169.254", 80)
                && covered("10.0.0.0/8", "::ffff:10.1.1.1", 443)
        );
        assert!(covered("localhost:11434", "127.0.0.1", 11434) && !covered("localhost", "10.0.0.1", 80));
        assert!(!covered("a.b", "127.0.0.1", 80) && !covered("10.0.0.0/8", "fd00::1", 80));
        assert!(!covered("localhost:11434", "127.0.0.1", 22));
    }
}
