//! Locations of documents and servers, and the references that may be followed. Resolves no name and opens nothing.

use std::collections::BTreeSet;
use std::fmt;

use percent_encoding::percent_decode_str;

/// The location of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// A file, by its path relative to the folder of the first document: names separated by `/`.
    File(String),
    /// A document of a web server.
    Web(WebLocation),
}

/// The address of a document of a web server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WebLocation {
    scheme: &'static str,
    /// Host and port, in lower case.
    authority: String,
    /// Path with its leading `/`, and the query.
    path: String,
}

/// The reason why a text is no location, or a reference may not be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// The text is not an address.
    #[error("not an http or https URL of a host, without a password")]
    NoAddress,
    /// The reference has a part that is no JSON pointer.
    #[error("only JSON pointers such as `#/components/schemas/Pet` are supported after `#`")]
    NoPointer,
    /// The reference leads out of the document's folder.
    #[error("outside of the document's folder")]
    Outside,
    /// The reference leads to a host that is not allowed.
    #[error("on another host; `--allow-ref HOST` allows it")]
    OtherHost,
}

/// The address of a server, as far as calls need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    /// Scheme, host, port and path, without a final `/`.
    pub(crate) base: String,
    /// Host, with a port other than that of the scheme.
    pub(crate) host: String,
}

impl Location {
    /// Returns the location of the first document if it is a file: its name.
    #[must_use]
    pub fn file(name: &str) -> Self {
        Self::File(name.to_owned())
    }

    /// Parses the URL of a document.
    ///
    /// # Errors
    /// [`LocationError::NoAddress`].
    pub fn web(url: &str) -> Result<Self, LocationError> {
        WebLocation::parse(url).map(Self::Web)
    }

    /// Returns whether a text is meant as a URL.
    #[must_use]
    pub fn is_web(text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        text.starts_with("http://") || text.starts_with("https://")
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(path),
            Self::Web(web) => write!(f, "{}://{}{}", web.scheme, web.authority, web.path),
        }
    }
}

impl WebLocation {
    fn parse(url: &str) -> Result<Self, LocationError> {
        let lower = url.to_ascii_lowercase();
        let scheme = if lower.starts_with("https://") {
            "https"
        } else if lower.starts_with("http://") {
            "http"
        } else {
            return Err(LocationError::NoAddress);
        };
        let rest = &url[scheme.len() + "://".len()..];
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if !is_authority(authority) {
            return Err(LocationError::NoAddress);
        }
        let path = path.split('#').next().unwrap_or_default();
        let path = match path.strip_prefix('/') {
            Some(_) => path.to_owned(),
            None => format!("/{path}"),
        };
        Ok(Self {
            scheme,
            authority: authority.to_ascii_lowercase(),
            path,
        })
    }

    fn host(&self) -> &str {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            Some(_) | None => &self.authority,
        }
    }

    /// Returns the folder of the document, with its final `/`.
    fn folder(&self) -> &str {
        let path = self.path.split('?').next().unwrap_or_default();
        path.rfind('/').map_or("/", |at| &path[..=at])
    }
}

/// Whether a text is a host with an optional port: no user, no password, no characters that programs read differently.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        Some(_) | None => (text, None),
    };
    let is_address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .is_some_and(|host| {
            !host.is_empty()
                && host
                    .bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || byte == b':')
        });
    let is_name = !host.is_empty()
        && host.len() <= 253
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|port| port != 0)
    };
    (is_address || is_name) && port.is_none_or(is_port)
}

/// Parses the URL of a server, whose variables have their values.
pub(crate) fn parse_server(url: &str) -> Result<ServerAddress, LocationError> {
    let web = WebLocation::parse(url)?;
    let own_port = match web.scheme {
        "https" => ":443",
        _ => ":80",
    };
    let authority = web.authority.strip_suffix(own_port);
    let authority = authority.unwrap_or(&web.authority);
    let path = web.path.split('?').next().unwrap_or_default();
    let base = format!("{}://{authority}{path}", web.scheme);
    Ok(ServerAddress {
        base: base.trim_end_matches('/').to_owned(),
        host: authority.to_owned(),
    })
}

/// Resolves a reference of the document at `base` to a document and a JSON pointer into it.
pub(super) fn resolve(
    root: &Location,
    base: &Location,
    reference: &str,
    allowed_hosts: &BTreeSet<String>,
) -> Result<(Location, String), LocationError> {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let pointer = decoded(fragment).ok_or(LocationError::NoPointer)?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(LocationError::NoPointer);
    }
    if document.is_empty() {
        return Ok((base.clone(), pointer));
    }
    let location = join(base, document)?;
    admit(root, &location, allowed_hosts)?;
    Ok((location, pointer))
}

fn join(base: &Location, document: &str) -> Result<Location, LocationError> {
    if Location::is_web(document) {
        return Location::web(document);
    }
    if has_scheme(document) || document.starts_with("//") {
        return Err(LocationError::OtherHost);
    }
    match base {
        Location::File(path) => {
            let document = decoded(document).ok_or(LocationError::Outside)?;
            if document.starts_with('/') || document.contains(['\\', '\0', ':']) {
                return Err(LocationError::Outside);
            }
            let folder = path.rfind('/').map_or("", |at| &path[..=at]);
            let path = normal(&format!("{folder}{document}")).ok_or(LocationError::Outside)?;
            Ok(Location::File(path))
        }
        Location::Web(web) => {
            // A server may decode a path before it resolves its dots.
            let plain = decoded(document).ok_or(LocationError::Outside)?;
            if plain.contains(['\\', '\0']) {
                return Err(LocationError::Outside);
            }
            let path = match plain.starts_with('/') {
                true => plain,
                false => format!("{}{plain}", web.folder()),
            };
            let path = normal(path.trim_start_matches('/')).ok_or(LocationError::Outside)?;
            Ok(Location::Web(WebLocation {
                path: format!("/{}", path.replace(' ', "%20")),
                ..web.clone()
            }))
        }
    }
}

/// Whether a reference begins with a scheme, such as `file:`.
fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

/// Resolves `.` and `..`; `None` for a path that leads above its first folder, or to no file.
fn normal(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    (!names.is_empty()).then(|| names.join("/"))
}

/// A document may be loaded below the folder of the first one, and from allowed hosts.
fn admit(
    root: &Location,
    location: &Location,
    allowed_hosts: &BTreeSet<String>,
) -> Result<(), LocationError> {
    match (root, location) {
        (Location::File(_), Location::File(_)) => Ok(()),
        (Location::Web(_), Location::File(_)) => Err(LocationError::Outside),
        (_, Location::Web(web)) if allowed_hosts.contains(web.host()) => Ok(()),
        (Location::Web(first), Location::Web(web))
            if (first.scheme, &first.authority) == (web.scheme, &web.authority) =>
        {
            match web.path.starts_with(first.folder()) && is_literal(&web.path) {
                true => Ok(()),
                false => Err(LocationError::Outside),
            }
        }
        (_, Location::Web(_)) => Err(LocationError::OtherHost),
    }
}

/// Whether a path leads where its letters say, for every program that reads it: it has no dots to resolve, neither
/// plain nor encoded, and no letter that some programs leave out or take for a slash.
fn is_literal(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    decoded(path).is_some_and(|path| {
        !path.contains(|c: char| c == '\\' || c.is_control())
            && path.split('/').all(|name| !matches!(name, "." | ".."))
    })
}

fn decoded(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}
