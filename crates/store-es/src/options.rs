//! Connection options of a node, and their validation before any request.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;

/// Default timeout of a request, including its answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The alias of seed 001.
const INDEX: &str = "agent_skills";

/// Longest name of an index: with suffixes it must fit into the node's 255 bytes.
const MAX_INDEX_BYTES: usize = 128;

/// Connection options of a node.
#[derive(Debug, Clone)]
pub struct EsOptions {
    /// Its address, e.g. `https://search.example.com:9200`.
    pub url: String,
    /// The alias of the index.
    pub index: String,
    /// Its credentials.
    pub credentials: Option<Credentials>,
    /// Certificates (PEM) of trusted authorities; the platform's when absent.
    pub certificates: Option<PathBuf>,
    /// Whether connections over a network may omit TLS.
    pub plain_http_anywhere: bool,
    /// Timeout of one request, including its answer. Loading many entries may take ten times as long.
    pub timeout: Duration,
}

impl EsOptions {
    /// Returns the defaults for an address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            index: INDEX.to_owned(),
            credentials: None,
            certificates: None,
            plain_http_anywhere: false,
            timeout: TIMEOUT,
        }
    }
}

/// Credentials. `Debug` hides them.
#[derive(Clone)]
pub enum Credentials {
    /// Name and password.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// An API key, as issued by Elasticsearch (`ApiKey`).
    ApiKey(String),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Basic { user, .. } => write!(f, "{user}:…"),
            Self::ApiKey(_) => f.write_str("ApiKey …"),
        }
    }
}

/// Why options are invalid.
#[derive(Debug)]
pub enum SetupError {
    /// The address is invalid, with the reason.
    Url(String, String),
    /// The name is not valid for an index.
    Index(String),
    /// The file of certificates cannot be read, or contains none.
    Certificates(PathBuf, Box<dyn std::error::Error + Send + Sync>),
    /// Creating the HTTP client failed.
    Client(reqwest::Error),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url, why) => write!(f, "the address {url:?} of a search node: {why}"),
            Self::Index(name) => write!(
                f,
                "the name {name:?} of an index: lower case letters, digits, `_` and `-`, a letter first, at most {MAX_INDEX_BYTES}"
            ),
            Self::Certificates(path, _) => {
                write!(f, "reading the certificates in {}", path.display())
            }
            Self::Client(_) => f.write_str("setting up the HTTP client"),
        }
    }
}

impl std::error::Error for SetupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Url(..) | Self::Index(_) => None,
            Self::Certificates(_, source) => Some(source.as_ref()),
            Self::Client(source) => Some(source),
        }
    }
}

/// Validates the address: TLS, a node of this machine, or the operator's permission; no credentials in it.
pub(crate) fn base(options: &EsOptions) -> Result<Url, SetupError> {
    let refused = |why: &str| {
        // The part before an `@` may be a password.
        let shown = options.url.rsplit('@').next().unwrap_or_default();
        SetupError::Url(shown.to_owned(), why.to_owned())
    };
    let url = Url::parse(&options.url).map_err(|error| refused(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("put credentials into `user` and `password`"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refused("it has a query or a fragment"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if options.plain_http_anywhere || is_loopback(&url) => Ok(url),
        "http" => Err(refused("remote without TLS")),
        _ => Err(refused("neither https nor http")),
    }
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address: Result<std::net::IpAddr, _> = address.parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Validates the name of the index.
pub(crate) fn index(name: &str) -> Result<String, SetupError> {
    let fits = name
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.len() <= MAX_INDEX_BYTES;
    match fits {
        true => Ok(name.to_owned()),
        false => Err(SetupError::Index(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_node_requires_tls() {
        let fits = |url: &str| base(&EsOptions::new(url)).is_ok();
        for url in [
            "https://es.example.com",
            "http://127.0.0.1:9200",
            "http://[::1]:9200",
            "http://localhost:9200",
        ] {
            assert!(fits(url), "{url}");
        }
        for url in [
            "http://es.example.com:9200",
            "https://ann:secret@es.example.com",
            "ftp://localhost",
            "https://es.example.com?x=1",
            "es.example.com",
        ] {
            assert!(!fits(url), "{url}");
        }
        let anywhere = EsOptions {
            plain_http_anywhere: true,
            ..EsOptions::new("http://es.example.com:9200")
        };
        assert!(base(&anywhere).is_ok());
        let refused = base(&EsOptions::new("https://ann:secret@es.example.com"));
        let said = format!("{:?}", refused.unwrap_err());
        assert!(!said.contains("secret"), "{said}");
    }

    #[test]
    fn an_index_name_with_a_pattern_is_refused() {
        assert!(index("agent_skills").is_ok());
        for name in ["", "*", "a,b", "_all", "Agent", "a b", "-a", "a/b", ".a"] {
            assert!(index(name).is_err(), "{name}");
        }
    }
}
