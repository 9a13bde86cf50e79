//! Headers of HTTP requests that no caller and no document sets. It sends nothing.

/// Headers that say where a request goes, how it is framed, and what one connection does (RFC 9110, section 7.6.1;
/// RFC 9112, section 6): the client that sends it sets them.
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

/// Whether only the client that sends a request sets this header.
#[must_use]
pub fn is_of_client(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    OF_CLIENT.contains(&name.as_str()) || name.starts_with("proxy-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_and_connection_are_the_clients() {
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
