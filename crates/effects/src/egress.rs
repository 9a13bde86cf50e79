//! Where a call may connect to: host patterns, and the wall around private
//! addresses. The one gate for scripts (through the proxy) and HTTP tools.
//!
//! Must not know HTTP requests or processes.

mod address;
#[cfg(target_os = "linux")]
mod daemon;
mod pattern;
#[cfg(target_os = "linux")]
pub(crate) mod proxy;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use pattern::{HostPattern, HostPatternError};

/// How long resolving a name may take.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The hosts one call may reach.
#[derive(Debug, Clone)]
pub(crate) struct EgressPolicy {
    patterns: Vec<HostPattern>,
    unlisted: Unlisted,
    last_refusal: LastRefusal,
}

/// The newest refusal of a policy, shared by its copies. Programs often hide the proxy's reason: they report
/// a status alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastRefusal(Arc<Mutex<Option<String>>>);

impl LastRefusal {
    fn record(&self, refusal: &EgressRefusal) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(refusal.to_string());
    }

    /// The refusal as text, if there was one.
    pub(crate) fn get(&self) -> Option<String> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }
}

/// How the policy treats hosts that the list does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unlisted {
    /// They are refused.
    Refused,
    /// Public addresses are allowed on the web's ports.
    PublicWeb,
}

/// Why a connection is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressRefusal {
    #[error("{host}:{port} is not in the tool's egress list")]
    NotListed { host: String, port: u16 },
    #[error(
        "{host} resolves to {address}, a private or local address that the configuration does not grant"
    )]
    PrivateAddress { host: String, address: IpAddr },
    #[error("resolving {host}")]
    Unresolved { host: String, source: io::Error },
}

impl EgressPolicy {
    pub(crate) fn new(patterns: Vec<HostPattern>) -> Self {
        Self {
            patterns,
            unlisted: Unlisted::Refused,
            last_refusal: LastRefusal::default(),
        }
    }

    /// Allows the public web, and the hosts that match `patterns`.
    pub(crate) fn public_and(patterns: Vec<HostPattern>) -> Self {
        Self {
            patterns,
            unlisted: Unlisted::PublicWeb,
            last_refusal: LastRefusal::default(),
        }
    }

    /// Whether a pattern names a host.
    pub(crate) fn lists(&self, host: &str, port: u16) -> bool {
        let host = pattern::normalise(host);
        let mut patterns = self.patterns.iter();
        patterns.any(|known| known.admits_host(&host, port))
    }

    /// The newest refusal of this policy and its copies.
    pub(crate) fn last_refusal(&self) -> LastRefusal {
        self.last_refusal.clone()
    }

    /// Resolves `host` and returns the addresses that may be connected to.
    ///
    /// Connect to one of these and to nothing else: resolving the name again
    /// could give another answer. One forbidden address refuses the host, for
    /// an honest name does not mix public and private ones.
    pub(crate) async fn addresses(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, EgressRefusal> {
        let found = self.checked_addresses(host, port).await;
        if let Err(refusal) = &found {
            self.last_refusal.record(refusal);
        }
        found
    }

    async fn checked_addresses(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, EgressRefusal> {
        let host = pattern::normalise(host);
        let listed = self.lists(&host, port);
        if !listed && self.unlisted == Unlisted::Refused {
            return Err(EgressRefusal::NotListed { host, port });
        }
        let found = resolve(&host, port).await?;
        for address in &found {
            let ip = address.ip().to_canonical();
            if self.names(&host, ip, port) {
                continue;
            }
            if !address::is_public(ip) {
                return Err(EgressRefusal::PrivateAddress { host, address: ip });
            }
            if !listed && !pattern::is_web(port) {
                return Err(EgressRefusal::NotListed { host, port });
            }
        }
        Ok(found)
    }

    fn names(&self, host: &str, ip: IpAddr, port: u16) -> bool {
        self.patterns
            .iter()
            .any(|known| known.names_address(host, ip, port))
    }
}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, EgressRefusal> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let unresolved = |source| EgressRefusal::Unresolved {
        host: host.to_owned(),
        source,
    };
    let lookup = tokio::net::lookup_host((host, port));
    let found: Vec<SocketAddr> = tokio::time::timeout(RESOLVE_TIMEOUT, lookup)
        .await
        .map_err(|elapsed| unresolved(io::Error::new(io::ErrorKind::TimedOut, elapsed)))?
        .map_err(unresolved)?
        .collect();
    if found.is_empty() {
        return Err(unresolved(io::Error::from(io::ErrorKind::NotFound)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn verdict(patterns: &[&str], host: &str, port: u16) -> String {
        let policy = EgressPolicy::new(patterns.iter().map(|p| p.parse().unwrap()).collect());
        match policy.addresses(host, port).await {
            Ok(addresses) => format!("{addresses:?}"),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[tokio::test]
    async fn a_private_address_is_refused_unless_it_is_listed() {
        assert_eq!(
            verdict(
                &["localhost.localdomain:*", "127.0.0.1:5005"],
                "127.0.0.1",
                5005
            )
            .await,
            "[127.0.0.1:5005]"
        );
        assert_eq!(
            verdict(&["127.0.0.1:5005"], "127.0.0.1", 5006).await,
            "127.0.0.1:5006 is not in the tool's egress list"
        );
        // Another spelling of 127.0.0.1 is resolved as a name: listed or not, it does not reach that address.
        assert_eq!(
            verdict(&["2130706433:5005"], "2130706433", 5005).await,
            "2130706433 resolves to 127.0.0.1, a private or local address that the configuration does not grant"
        );
        assert_eq!(
            verdict(&["2130706433:5005", "127.0.0.0/8:5005"], "2130706433", 5005).await,
            "[127.0.0.1:5005]"
        );
    }

    /// Programs report the proxy's status and not its reason.
    #[tokio::test]
    async fn the_newest_refusal_is_kept_with_its_reason() {
        let policy = EgressPolicy::new(vec!["localhost.example:443".parse().unwrap()]);
        let last = policy.clone().last_refusal();
        assert_eq!(last.get(), None);
        for (host, reason) in [
            ("10.0.0.1", "10.0.0.1:443 is not in the tool's egress list"),
            (
                "127.0.0.2",
                "127.0.0.2:443 is not in the tool's egress list",
            ),
        ] {
            policy.addresses(host, 443).await.unwrap_err();
            assert_eq!(last.get().as_deref(), Some(reason));
        }
    }

    #[tokio::test]
    async fn b000_16_public_addresses_are_open_and_others_must_be_listed() {
        let verdict = async |patterns: &[&str], host: &str, port| {
            let patterns = patterns.iter().map(|p| p.parse().unwrap()).collect();
            match EgressPolicy::public_and(patterns)
                .addresses(host, port)
                .await
            {
                Ok(addresses) => format!("{addresses:?}"),
                Err(refusal) => refusal.to_string(),
            }
        };
        assert_eq!(verdict(&[], "1.1.1.1", 443).await, "[1.1.1.1:443]");
        let elsewhere = "1.1.1.1:5005 is not in the tool's egress list";
        assert_eq!(
            verdict(&["127.0.0.1:5005"], "1.1.1.1", 5005).await,
            elsewhere
        );
        assert_eq!(
            verdict(&["1.1.1.1:5005"], "1.1.1.1", 5005).await,
            "[1.1.1.1:5005]"
        );
        assert_eq!(
            verdict(&["127.0.0.0/8:5005"], "127.0.0.2", 5005).await,
            "[127.0.0.2:5005]"
        );
        for host in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "::1",
            "2130706433",
        ] {
            let message = verdict(&["127.0.0.1:5005"], host, 80).await;
            assert!(
                message.contains("a private or local address"),
                "{host}: {message}"
            );
        }
    }

    /// An entry that a package may declare reaches the internet, and opens nothing of the network around the server.
    #[tokio::test]
    async fn an_entry_for_public_addresses_opens_no_local_address() {
        for (pattern, host, port) in [
            ("127.0.0.1:5005", "127.0.0.1", 5005),
            ("localhost:*", "localhost", 5005),
            ("169.254.169.254", "169.254.169.254", 80),
            ("0.0.0.0/0:*", "10.0.0.1", 22),
            ("[::1]:80", "::1", 80),
        ] {
            let own: HostPattern = pattern.parse().unwrap();
            let policy = EgressPolicy::new(vec![own.clone().public_only()]);
            let message = policy.addresses(host, port).await.unwrap_err().to_string();
            assert!(
                message.contains("the configuration does not grant"),
                "{message}"
            );
            // The same pattern from a source that may grant local addresses.
            let both = EgressPolicy::new(vec![own.clone().public_only(), own]);
            assert!(both.addresses(host, port).await.is_ok(), "{pattern}");
        }
        let own = "1.1.1.1:853".parse::<HostPattern>().unwrap().public_only();
        let public = EgressPolicy::new(vec![own]);
        assert!(public.addresses("1.1.1.1", 853).await.is_ok());
    }

    #[tokio::test]
    async fn the_metadata_address_must_be_listed_literally() {
        assert_eq!(
            verdict(&["*.amazonaws.com"], "169.254.169.254", 80).await,
            "169.254.169.254:80 is not in the tool's egress list"
        );
        assert_eq!(
            verdict(&["169.254.169.254"], "169.254.169.254", 80).await,
            "[169.254.169.254:80]"
        );
        assert_eq!(
            verdict(&["127.0.0.1:80"], "::ffff:127.0.0.1", 80).await,
            "[127.0.0.1:80]"
        );
    }
}
