//! Addresses that the operator names for servers in the URLs of HTTP tools, in place of those that packages name. Must
//! not know tools or calls.

use charter_effects::{HostPattern, HostPatternError};

/// The address of a server, in place of the one with which URLs of HTTP tools begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolServer {
    /// The beginning of URLs, without a final `/`.
    url: String,
    /// Its replacement, without a final `/`.
    address: String,
    /// The host of the replacement.
    host: HostPattern,
}

/// The reason why two texts are no server and its address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolServerError {
    /// The beginning of URLs is none.
    #[error(
        "`url` = {0:?} is not the beginning of an http or https URL, without query and fragment"
    )]
    Url(String),
    /// The address is no URL of a host.
    #[error(
        "`address` = {0:?} is not an http or https URL of a host, without user, query, fragment and placeholder"
    )]
    Address(String),
    /// The host of the address is none.
    #[error("`address` = {address:?}")]
    Host {
        /// The address.
        address: String,
        /// The reason.
        source: HostPatternError,
    },
}

impl ToolServer {
    /// Creates the replacement of the beginning of URLs, which may contain placeholders, by an address.
    ///
    /// # Errors
    /// [`ToolServerError`].
    pub fn new(url: &str, address: &str) -> Result<Self, ToolServerError> {
        let (url, address) = (url.trim_end_matches('/'), address.trim_end_matches('/'));
        if authority(url).is_none() {
            return Err(ToolServerError::Url(url.to_owned()));
        }
        let is_plain = |host: &&str| !host.contains('*') && !address.contains(['$', '@', '\\']);
        let Some(host) = authority(address).filter(is_plain) else {
            return Err(ToolServerError::Address(address.to_owned()));
        };
        let host = host.parse::<HostPattern>();
        let host = host.map_err(|source| ToolServerError::Host {
            address: address.to_owned(),
            source,
        })?;
        Ok(Self {
            url: url.to_owned(),
            address: address.to_owned(),
            host,
        })
    }

    /// Returns the host of the address.
    pub(crate) fn host(&self) -> &HostPattern {
        &self.host
    }

    /// Returns the length of the beginning of URLs.
    pub(crate) fn length(&self) -> usize {
        self.url.len()
    }

    /// Returns a URL with the address in place of its beginning, if it begins so.
    pub(crate) fn replaced(&self, url: &str) -> Option<String> {
        let rest = url.strip_prefix(self.url.as_str())?;
        let begins = rest.is_empty() || rest.starts_with(['/', '?', '#']);
        begins.then(|| format!("{}{rest}", self.address))
    }
}

/// Returns the part of a URL between its scheme and its path, if the URL has no query and no fragment.
fn authority(url: &str) -> Option<&str> {
    let mut schemes = ["https://", "http://"].into_iter();
    let rest = schemes.find_map(|scheme| url.strip_prefix(scheme))?;
    let is_plain = rest
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
    let authority = rest.split('/').next().unwrap_or_default();
    (is_plain && !authority.is_empty()).then_some(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_replaces_the_beginning_of_urls() {
        let github = ToolServer::new("https://api.github.com/", "https://git.example/api/v3/");
        let github = github.unwrap();
        for (url, expected) in [
            (
                "https://api.github.com/repos/${user.repo}",
                Some("https://git.example/api/v3/repos/${user.repo}"),
            ),
            (
                "https://api.github.com?q=1",
                Some("https://git.example/api/v3?q=1"),
            ),
            ("https://api.github.com", Some("https://git.example/api/v3")),
            ("https://api.github.com.evil.example/repos", None),
            ("https://api.github.com:8443/repos", None),
            ("http://api.github.com/repos", None),
        ] {
            assert_eq!(github.replaced(url).as_deref(), expected, "{url}");
        }
        let shop = ToolServer::new("https://${env.SHOP}.shop.example", "http://127.0.0.1:8001");
        let shop = shop.unwrap();
        assert_eq!(
            shop.replaced("https://${env.SHOP}.shop.example/orders")
                .as_deref(),
            Some("http://127.0.0.1:8001/orders")
        );
        let host: HostPattern = "127.0.0.1:8001".parse().unwrap();
        assert_eq!(shop.host(), &host);
    }

    #[test]
    fn other_texts_are_no_addresses() {
        let url = "https://api.example";
        for address in [
            "",
            "git.example",
            "ftp://git.example",
            "https://",
            "https://git.example?q",
            "https://user@git.example",
            "https://${env.HOST}",
            "https://git example",
            "https://*.example",
            "https://git.example:*",
        ] {
            let refused = ToolServer::new(url, address).unwrap_err();
            let expected = ToolServerError::Address(address.trim_end_matches('/').to_owned());
            assert_eq!(refused, expected);
        }
        assert!(ToolServer::new("api.example", url).is_err());
        let refused = ToolServer::new(url, "https://git.example:port").unwrap_err();
        assert!(matches!(refused, ToolServerError::Host { .. }), "{refused}");
    }
}
