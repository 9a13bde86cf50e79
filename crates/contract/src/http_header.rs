//! HTTP request headers that neither callers nor documents may set. Sends nothing.

/// Headers for the target, the framing and the connection of a request (RFC 9110, section 7.6.1; RFC 9112, section 6):
/// the sending HTTP client sets them.
const OF_CLIENT: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether only the sending HTTP client may set this header.
#[must_use]
pub fn is_of_client(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    OF_CLIENT.contains(&name.as_str()) || name.starts_with("proxy-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_and_connection_headers_are_reserved_for_the_client() {
        for name in [
            "Content-Length",
            "TRANSFER-ENCODING",
            "host",
            "Proxy-Authorization",
        ] {
            assert!(is_of_client(name), "{name}");
        }
        for name in [
            "content-type",
            "authorization",
            "x-content-length",
            "accept-encoding",
        ] {
            assert!(!is_of_client(name), "{name}");
        }
    }
}
