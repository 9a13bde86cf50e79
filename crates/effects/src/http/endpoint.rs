//! Validates addresses that an operator configures, before a request. Must not know their purpose.

use std::net::IpAddr;

use reqwest::Url;

/// The suffix of an issuer for its discovery document (OpenID Connect Discovery 1.0, section 4).
pub(crate) const OPENID_CONFIGURATION: &str = "/.well-known/openid-configuration";

/// Hosts to which connections without TLS are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlainHttp {
    /// This machine only.
    Loopback,
    /// Any host: the operator is responsible for the network.
    Anywhere,
}

/// Parses the base of an operator's address.
///
/// # Errors
/// The fault of the text.
pub fn base(text: &str, plain_http: PlainHttp) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "not a URL")?;
    match (url.scheme(), plain_http) {
        ("https", _) | ("http", PlainHttp::Anywhere) => {}
        ("http", PlainHttp::Loopback) if is_loopback(&url) => {}
        ("http", PlainHttp::Loopback) => return Err("remote without TLS"),
        _ => return Err("neither https nor http"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a URL with a user or password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("a URL with a query or fragment");
    }
    Ok(url)
}

/// Returns the address of an issuer's discovery document.
pub(crate) fn openid_configuration(issuer: &str) -> String {
    let issuer = issuer.trim_end_matches('/');
    format!("{issuer}{OPENID_CONFIGURATION}")
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_matches(['[', ']']);
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
