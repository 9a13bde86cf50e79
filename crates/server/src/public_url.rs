//! The URL at which clients see this server.

use axum::http::uri::Authority;
use axum::http::{HeaderValue, Uri};

use crate::auth::is_this_machine;

/// The path of a URL, without a slash at its end.
pub(crate) fn path_of(url: &str) -> String {
    let url: Option<Uri> = url.parse().ok();
    let path = url.as_ref().map_or("", Uri::path);
    path.trim_end_matches('/').to_owned()
}

/// The URL at which a request sees the server: the configured one. A server on this machine has several names, and
/// clients compare the one that they use, so there the request selects the name.
pub(crate) fn public_url(configured: &str, host: Option<&HeaderValue>) -> String {
    let is_local = |authority: &Authority| is_this_machine(authority.host());
    let own: Option<Uri> = configured.parse().ok();
    let own = own.as_ref().and_then(Uri::authority);
    let named = host.and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    match named.filter(is_local) {
        Some(named) if own.is_some_and(is_local) => {
            let port = named.port_u16().map(|port| format!(":{port}"));
            let port = port.unwrap_or_default();
            format!("http://{}{port}{}", named.host(), path_of(configured))
        }
        Some(_) | None => configured.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client refuses metadata from another origin than the requested one.
    #[test]
    fn only_local_host_names_are_accepted_from_a_request() {
        for (configured, host, base) in [
            (
                "http://127.0.0.1:7407",
                "localhost:7407",
                "http://localhost:7407",
            ),
            (
                "http://127.0.0.1:7407",
                "127.0.0.1:7407",
                "http://127.0.0.1:7407",
            ),
            ("http://localhost:7407", "[::1]:7407", "http://[::1]:7407"),
            ("http://127.0.0.1:7407", "localhost", "http://localhost"),
            (
                "http://127.0.0.1:7407",
                "me@localhost:1",
                "http://localhost:1",
            ),
            (
                "http://127.0.0.1:7407",
                "evil.example",
                "http://127.0.0.1:7407",
            ),
            (
                "http://127.0.0.1:7407",
                "localhost:1/\"x",
                "http://127.0.0.1:7407",
            ),
            (
                "https://charter.example",
                "localhost:7407",
                "https://charter.example",
            ),
            (
                "https://charter.example/team",
                "evil.example",
                "https://charter.example/team",
            ),
        ] {
            let named = HeaderValue::from_static(host);
            assert_eq!(public_url(configured, Some(&named)), base, "{host}");
        }
        let configured = "http://127.0.0.1:7407";
        assert_eq!(public_url(configured, None), configured);
    }
}
