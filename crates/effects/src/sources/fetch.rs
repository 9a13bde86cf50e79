//! Fetches one link through the egress wall: each address on the way is checked before the connection, and redirects
//! are followed here so that each is checked.

use std::borrow::Cow;
use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use tokio_util::sync::CancellationToken;

use super::{Fetched, Media, RawSource, SourceError, SourceFault, SourceRequest, Validators};
use crate::egress::{EgressPolicy, EgressRefusal};
use crate::http::{End, HttpRunner, Redirects, USER_AGENT, read_within};

/// Redirects followed for one source.
const MAX_REDIRECTS: usize = 5;

impl HttpRunner {
    /// Fetches a source; see [`super::Sources::fetch`].
    pub(crate) async fn fetch_source(
        &self,
        request: &SourceRequest,
        cancel: &CancellationToken,
    ) -> Result<Fetched, SourceError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(unreachable("fetching was cancelled".to_owned())),
            fetched = tokio::time::timeout(request.timeout, self.follow(request)) => {
                fetched.unwrap_or_else(|_| Err(late(&request.url, request.timeout)))
            }
        }
    }

    async fn follow(&self, request: &SourceRequest) -> Result<Fetched, SourceError> {
        let policy = EgressPolicy::public_and(request.egress.clone());
        let mut url = checked_url(&request.url)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.ask(&url, &policy, &request.known).await?;
            match next(&url, &response)? {
                Some(to) => url = to,
                None => return read(&url, response, request.max_bytes).await,
            }
        }
        let message = format!("{} has more than {MAX_REDIRECTS} redirects", request.url);
        Err(unusable(message))
    }

    async fn ask(
        &self,
        url: &Url,
        policy: &EgressPolicy,
        known: &Validators,
    ) -> Result<Response, SourceError> {
        let (host, port) = target(url)?;
        let addresses = policy.addresses(&host, port).await;
        let addresses = addresses.map_err(|refusal| refused(url, &refusal))?;
        let system = |error: reqwest::Error| {
            SourceError::new(
                SourceFault::System,
                format!("preparing the HTTP client: {error}"),
            )
        };
        let client = self
            .client_to(&host, &addresses, Redirects::None)
            .map_err(system)?;
        let sent = client.get(url.clone()).headers(headers(known)).send().await;
        sent.map_err(|error| {
            let mut message = format!("{url} did not answer");
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                message = format!("{message}: {error}");
                cause = error.source();
            }
            unreachable(message)
        })
    }
}

fn headers(known: &Validators) -> HeaderMap {
    let accept = "text/html, text/markdown, text/plain, application/pdf, */*;q=0.1";
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
    for (name, value) in [
        (header::IF_NONE_MATCH, &known.etag),
        (header::IF_MODIFIED_SINCE, &known.last_modified),
    ] {
        let value = value
            .as_deref()
            .and_then(|value| HeaderValue::from_str(value).ok());
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
    headers
}

fn checked_url(text: &str) -> Result<Url, SourceError> {
    let url =
        Url::parse(text).map_err(|error| unusable(format!("{text:?} is not a URL: {error}")))?;
    check(&url)?;
    Ok(url)
}

fn check(url: &Url) -> Result<(), SourceError> {
    let plain = ["http", "https"].contains(&url.scheme())
        && url.username().is_empty()
        && url.password().is_none();
    if plain {
        return Ok(());
    }
    let scheme = url.scheme();
    let message =
        format!("a source must be an http or https URL without a password, not `{scheme}:`");
    Err(SourceError::new(SourceFault::Refused, message))
}

fn target(url: &Url) -> Result<(String, u16), SourceError> {
    match (url.host_str(), url.port_or_known_default()) {
        (Some(host), Some(port)) => Ok((host.trim_matches(['[', ']']).to_owned(), port)),
        (None, _) | (_, None) => Err(unusable(format!("{url} names no host"))),
    }
}

/// Returns the target of a redirect, if the answer is one.
fn next(from: &Url, response: &Response) -> Result<Option<Url>, SourceError> {
    if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let location = response.headers().get(header::LOCATION);
    let location = location.and_then(|value| value.to_str().ok());
    let Some(location) = location else {
        let message = format!("{from} answered {} without a location", response.status());
        return Err(unusable(message));
    };
    let to = from.join(location);
    let to = to.map_err(|_| {
        unusable(format!(
            "{from} redirects to {location:?}, which is not a URL"
        ))
    })?;
    check(&to)?;
    if from.scheme() == "https" && to.scheme() == "http" {
        let message = format!("{from} redirects to {to}, which is not encrypted");
        return Err(SourceError::new(SourceFault::Refused, message));
    }
    Ok(Some(to))
}

async fn read(url: &Url, response: Response, max_bytes: usize) -> Result<Fetched, SourceError> {
    let status = response.status();
    if status == StatusCode::NOT_MODIFIED {
        return Ok(Fetched::NotModified);
    }
    if !status.is_success() {
        let message = format!("{url} answered {status}");
        let later = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        return Err(if later {
            unreachable(message)
        } else {
            unusable(message)
        });
    }
    let text = |name| {
        let value = response.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let validators = Validators {
        etag: text(header::ETAG),
        last_modified: text(header::LAST_MODIFIED),
    };
    // Characters outside ASCII do not affect the type.
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let media = Media {
        content_type: content_type.map(Cow::into_owned),
        ..Media::of_file(url.path())
    };
    let bytes = body(url, response, max_bytes).await?;
    Ok(Fetched::Source(RawSource { bytes, media }, validators))
}

async fn body(url: &Url, response: Response, max_bytes: usize) -> Result<Vec<u8>, SourceError> {
    let too_large = || unusable(format!("{url} has more than {max_bytes} bytes"));
    let announced = response.content_length().unwrap_or(0);
    if usize::try_from(announced).map_or(true, |length| length > max_bytes) {
        return Err(too_large());
    }
    let (bytes, end) = read_within(response, max_bytes).await;
    match end {
        End::Whole => Ok(bytes),
        End::TooLong => Err(too_large()),
        End::BrokenOff(_) => {
            let message = format!("{url} was interrupted after {} bytes", bytes.len());
            Err(unreachable(message))
        }
    }
}

fn refused(url: &Url, refusal: &EgressRefusal) -> SourceError {
    match refusal {
        EgressRefusal::NotListed { port, .. } => SourceError::new(
            SourceFault::Refused,
            format!("{url}: port {port} is not allowed: name the host with it in `lenses.egress`"),
        ),
        EgressRefusal::PrivateAddress { host, address } => SourceError::new(
            SourceFault::Refused,
            format!(
                "{url}: {host} is {address}, a private or local address that `lenses.egress` does not name"
            ),
        ),
        EgressRefusal::Unresolved { host, source } => {
            unreachable(format!("{url}: {host} cannot be resolved: {source}"))
        }
    }
}

fn late(url: &str, timeout: Duration) -> SourceError {
    unreachable(format!(
        "{url} did not answer within {} s",
        timeout.as_secs()
    ))
}

fn unusable(message: String) -> SourceError {
    SourceError::new(SourceFault::Unusable, message)
}

fn unreachable(message: String) -> SourceError {
    SourceError::new(SourceFault::Unreachable, message)
}
