//! The listener to which an authorization server sends the browser back (RFC 8252, section 7.3). It accepts connections
//! of this machine only, and reads nothing but the query of a request.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, bail};
use charter_contract::bounds::CONNECTION_WAIT_MS;
use charter_contract::charset;
use charter_contract::visible::clean;
use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Largest head of a request.
const MAX_HEAD: usize = 32 << 10;
/// Timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Characters of an error that are shown.
const SHOWN: usize = 200;
/// The page that the browser shows.
const PAGE: &str = "<!doctype html><meta charset=\"utf-8\"><title>Charter</title>\
    <p>The answer reached Charter. Close this page, and return to the terminal.</p>\n";

/// The parameters of an authorization response.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AuthorizationResponse {
    pub(super) code: String,
    pub(super) state: String,
    pub(super) iss: Option<String>,
    pub(super) error: Option<String>,
}

/// The listener.
pub(super) struct Callback {
    listener: TcpListener,
    address: SocketAddr,
}

impl Callback {
    /// Listens on a free port.
    pub(super) async fn listen() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.context("listening for the browser")?;
        let address = listener
            .local_addr()
            .context("reading the listener's address")?;
        Ok(Self { listener, address })
    }

    /// Returns the redirect address.
    pub(super) fn address(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Waits for the authorization response. Other requests, such as one for an icon, are answered and ignored.
    pub(super) async fn answer(self) -> anyhow::Result<AuthorizationResponse> {
        let limit = u64::try_from(CONNECTION_WAIT_MS).unwrap_or(u64::MAX);
        let limit = Duration::from_millis(limit);
        let waiting = async {
            loop {
                let (stream, _) = self.listener.accept().await?;
                let read = tokio::time::timeout(REQUEST_TIMEOUT, exchange(stream)).await;
                // A connection that breaks off or sends something else is not the browser's answer.
                if let Ok(Ok(Some(response))) = read {
                    return anyhow::Ok(response);
                }
            }
        };
        match tokio::time::timeout(limit, waiting).await {
            Ok(response) => response,
            Err(_) => bail!("no answer within {} minutes", limit.as_secs() / 60),
        }
    }
}

/// Reads the head of one request and answers it.
async fn exchange(mut stream: TcpStream) -> anyhow::Result<Option<AuthorizationResponse>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < MAX_HEAD {
        if stream.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{PAGE}",
        PAGE.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await?;
    let head = charset::document(&head, None).ok();
    Ok(head.and_then(|head| response(&head)))
}

/// Reads the response from a request's first line, if it is one.
fn response(head: &str) -> Option<AuthorizationResponse> {
    let target = head.strip_prefix("GET ")?.split(' ').next()?;
    let url = Url::parse("http://127.0.0.1/").ok()?.join(target).ok()?;
    let mut read = AuthorizationResponse::default();
    for (name, value) in url.query_pairs() {
        match &*name {
            "code" => read.code = value.into_owned(),
            "state" => read.state = value.into_owned(),
            "iss" => read.iss = Some(value.into_owned()),
            "error" | "error_description" => {
                let before = read.error.take().map(|before| before + ": ");
                let text = before.unwrap_or_default() + &clean(&value, SHOWN);
                read.error = Some(text);
            }
            _ => {}
        }
    }
    let is_one = read.error.is_some() || (!read.code.is_empty() && !read.state.is_empty());
    is_one.then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authorization_response_is_told_from_other_requests() {
        let read = response("GET /?code=a%2Bb&state=s&iss=https%3A%2F%2Fidp.example HTTP/1.1\r\n");
        let expected = AuthorizationResponse {
            code: "a+b".to_owned(),
            state: "s".to_owned(),
            iss: Some("https://idp.example".to_owned()),
            error: None,
        };
        assert_eq!(read, Some(expected));
        let refused = response("GET /?error=access_denied&error_description=No%1b%5b31m HTTP/1.1");
        let error = refused.and_then(|refused| refused.error);
        assert_eq!(error.as_deref(), Some("access_denied: No[31m"));
        for other in [
            "GET /favicon.ico HTTP/1.1",
            "POST /?code=a&state=b HTTP/1.1",
            "GET /?code=a HTTP/1.1",
            "",
        ] {
            assert_eq!(response(other), None, "{other}");
        }
    }
}
