//! The identity of this installation for other agents, from the configuration.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use charter_contract::text::{HttpUrl, Text};
use charter_server::A2aIdentity;

use crate::config::Config;
use crate::seed_file;

/// The identity of a server that listens on `address`.
pub(crate) fn identity(config: &Config, address: SocketAddr) -> anyhow::Result<A2aIdentity> {
    let a2a = &config.a2a;
    let base_url = match &a2a.public_url {
        Some(url) => HttpUrl::parse(url).context("a2a.public_url")?,
        None => own_url(address)?,
    };
    let provider = match (&a2a.organization, &a2a.organization_url) {
        (None, None) => None,
        (Some(name), Some(url)) => Some((
            Text::parse(name).context("a2a.organization")?,
            HttpUrl::parse(url).context("a2a.organization_url")?,
        )),
        (Some(_), None) | (None, Some(_)) => {
            bail!("set both a2a.organization and a2a.organization_url, or neither")
        }
    };
    Ok(A2aIdentity {
        base_url,
        name: Text::parse(&a2a.name).context("a2a.name")?,
        description: Text::parse(&a2a.description).context("a2a.description")?,
        provider,
        seed: seed_file::load(&config.card_key_file(), "signs agent cards")?,
    })
}

/// The URL of a server without a configured public URL. A server that listens on all addresses is reachable on this
/// machine at least.
fn own_url(address: SocketAddr) -> anyhow::Result<HttpUrl> {
    let url = if address.ip().is_unspecified() || address.is_ipv6() {
        // Links in the contracts cannot contain the brackets that an IPv6 address needs.
        format!("http://localhost:{}", address.port())
    } else {
        format!("http://{address}")
    };
    HttpUrl::parse(&url).context("naming the server's own address")
}
