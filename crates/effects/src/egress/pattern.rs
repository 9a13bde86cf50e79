//! One entry of an egress list. Must not know addresses' meaning or sockets.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// The ports that an entry without a port allows.
const WEB_PORTS: [u16; 2] = [80, 443];

/// An entry of a tool's egress list.
///
/// | text | admits |
/// |---|---|
/// | `api.example.com` | this name, ports 80 and 443 |
/// | `*.amazonaws.com` | every name below it, not itself |
/// | `127.0.0.1:5005`, `[::1]:5005` | this address, although it is local |
/// | `10.0.0.0/8` | addresses of this network, also behind a listed name |
/// | `…:8443`, `…:*` | with this port, with any port |
///
/// Names that resolve to private, loopback or link-local addresses are refused unless an entry names the address or its
/// network; `localhost` names loopback. An entry that is [`Self::public_only`] allows none of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPattern {
    host: Host,
    port: Port,
    locals: Locals,
}

/// Whether an entry allows private, loopback and link-local addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Locals {
    /// Those that it names.
    Named,
    /// None of them.
    Closed,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Host {
    Name(String),
    /// With the leading dot.
    Below(String),
    Network(IpNet),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Port {
    Web,
    Any,
    Exact(u16),
}

/// Why a text is not an entry of an egress list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "egress entry {text:?} is not a host name, *.domain, address or network with an optional port"
)]
pub struct HostPatternError {
    /// The text as given.
    pub text: String,
}

impl HostPattern {
    /// Returns the entry for public addresses only: for a source that is not trusted with the network of this machine.
    #[must_use]
    pub fn public_only(self) -> Self {
        Self {
            locals: Locals::Closed,
            ..self
        }
    }

    pub(super) fn admits_host(&self, host: &str, port: u16) -> bool {
        self.admits_port(port)
            && match &self.host {
                Host::Name(name) => name == host,
                Host::Below(suffix) => host.len() > suffix.len() && host.ends_with(suffix.as_str()),
                Host::Network(network) => host
                    .parse::<IpAddr>()
                    .is_ok_and(|ip| network.contains(&ip.to_canonical())),
            }
    }

    pub(super) fn names_address(&self, host: &str, ip: IpAddr, port: u16) -> bool {
        self.locals == Locals::Named
            && self.admits_port(port)
            && match &self.host {
                Host::Name(name) => name == "localhost" && host == name && ip.is_loopback(),
                Host::Below(_) => false,
                Host::Network(network) => network.contains(&ip),
            }
    }

    fn admits_port(&self, port: u16) -> bool {
        match self.port {
            Port::Web => WEB_PORTS.contains(&port),
            Port::Any => true,
            Port::Exact(exact) => exact == port,
        }
    }
}

/// Whether a port is 80 or 443.
pub(super) fn is_web(port: u16) -> bool {
    WEB_PORTS.contains(&port)
}

/// Normalises a host: lower case, without the root dot and without brackets; an address in its canonical form.
pub(super) fn normalise(host: &str) -> String {
    let host = host
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host);
    match host.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().to_string(),
        Err(_) => host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase(),
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| HostPatternError {
            text: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<HostPattern> {
    if let Some(host) = parse_address(text) {
        return Some(HostPattern {
            host,
            port: Port::Web,
            locals: Locals::Named,
        });
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, "*")) => (host, Port::Any),
        Some((host, port)) => (
            host,
            Port::Exact(port.parse().ok().filter(|port| *port != 0)?),
        ),
        None => (text, Port::Web),
    };
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let host = match bare {
        Some(address) => parse_address(address)?,
        None if host.contains(':') => return None,
        None => parse_address(host).or_else(|| parse_name(host))?,
    };
    Some(HostPattern {
        host,
        port,
        locals: Locals::Named,
    })
}

fn parse_address(text: &str) -> Option<Host> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(Host::Network(IpNet::from(ip.to_canonical())));
    }
    text.parse::<IpNet>()
        .ok()
        .map(|network| Host::Network(network.trunc()))
}

fn parse_name(text: &str) -> Option<Host> {
    let text = normalise(text);
    let (name, below) = match text.strip_prefix("*.") {
        Some(domain) => (domain, true),
        None => (text.as_str(), false),
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if name.len() > 253 || !name.split('.').all(is_label) {
        return None;
    }
    Some(if below {
        Host::Below(format!(".{name}"))
    } else {
        Host::Name(name.to_owned())
    })
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => f.write_str(name)?,
            Host::Below(suffix) => write!(f, "*{suffix}")?,
            Host::Network(network) => {
                let full = network.prefix_len() == network.max_prefix_len();
                let text = if full {
                    network.addr().to_string()
                } else {
                    network.to_string()
                };
                if text.contains(':') && self.port != Port::Web {
                    write!(f, "[{text}]")?;
                } else {
                    f.write_str(&text)?;
                }
            }
        }
        match self.port {
            Port::Web => Ok(()),
            Port::Any => f.write_str(":*"),
            Port::Exact(port) => write!(f, ":{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_a_round_trip() {
        for text in [
            "api.example.com",
            "*.amazonaws.com",
            "*.amazonaws.com:8443",
            "127.0.0.1:5005",
            "[::1]:5005",
            "::1",
            "10.0.0.0/8",
            "10.0.0.0/8:*",
            "[fd00::/8]:443",
            "localhost:*",
        ] {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "*",
            "*.",
            "*.*.com",
            "a*.com",
            "http://x",
            "x/y",
            "x:0",
            "x:99999",
            "x:",
            "[x]:1",
            "a..b",
            "user@host",
            "a b",
        ] {
            let expected = HostPatternError { text: text.into() };
            assert_eq!(text.parse::<HostPattern>(), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn a_wildcard_matches_only_subdomains() {
        let pattern: HostPattern = "*.Amazonaws.com".parse().unwrap();
        let admitted = |host: &str, port| pattern.admits_host(&normalise(host), port);
        assert!(admitted("ec2.us-east-1.amazonaws.com", 443));
        assert!(admitted("EC2.Amazonaws.COM.", 80));
        assert!(!admitted("amazonaws.com", 443));
        assert!(!admitted("evilamazonaws.com", 443));
        assert!(!admitted("amazonaws.com.evil.org", 443));
        assert!(!admitted("ec2.amazonaws.com", 22));
    }
}
