//! Locates and fetches an issuer's keys: two documents of bounded size, without following redirects.

use std::time::Duration;

use charter_contract::bounds::NOTICE_BYTES;
use charter_contract::cause::chain;
use charter_contract::json::{self, Profile};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{IssuerError, IssuerOptions};
use crate::http::{End, PlainHttp, USER_AGENT, base, openid_configuration, read_within};

/// The location of an issuer's keys.
#[derive(Debug, Clone)]
pub(super) enum KeysLocation {
    /// In the discovery document.
    Discovered { document: Url, issuer: String },
    /// At a configured URL.
    Given(Url),
}

/// The part of a discovery document that is read.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

/// A set of keys, not parsed yet: an invalid one does not affect the others.
#[derive(Deserialize)]
pub(super) struct KeySet {
    pub(super) keys: Vec<Value>,
}

impl KeysLocation {
    pub(super) fn from_options(options: &IssuerOptions) -> Result<Self, IssuerError> {
        let address = |url: &str| {
            base(url, PlainHttp::Loopback).map_err(|what| IssuerError::Address {
                issuer: options.issuer.clone(),
                url: url.to_owned(),
                what,
            })
        };
        // The issuer's name requires TLS even if nothing is fetched from it: otherwise it is not trustworthy.
        address(&options.issuer)?;
        match &options.jwks_url {
            Some(url) => address(url).map(Self::Given),
            None => {
                let issuer = options.issuer.clone();
                let document = address(&openid_configuration(&issuer))?;
                Ok(Self::Discovered { document, issuer })
            }
        }
    }

    /// Fetches the current keys; the error explains the failure, for the log.
    pub(super) async fn keys(&self, client: &Client, timeout: Duration) -> Result<KeySet, String> {
        let url = match self {
            Self::Given(url) => url.clone(),
            Self::Discovered { document, issuer } => {
                let found: Discovery = get(client, document, timeout).await?;
                if found.issuer != *issuer {
                    return Err(format!("{document} is about the issuer {:?}", found.issuer));
                }
                let url = base(&found.jwks_uri, PlainHttp::Loopback);
                url.map_err(|what| format!("the jwks_uri {:?} is {what}", found.jwks_uri))?
            }
        };
        get(client, &url, timeout).await
    }
}

async fn get<T: DeserializeOwned>(
    client: &Client,
    url: &Url,
    timeout: Duration,
) -> Result<T, String> {
    let asking = client.get(url.clone()).timeout(timeout);
    let asking = asking.header("accept", "application/json");
    let response = asking.header("user-agent", USER_AGENT).send().await;
    let response = response.map_err(|error| format!("requesting {url}: {}", chain(&error)))?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("{url} answered {status}"));
    }
    let (body, end) = read_within(response, NOTICE_BYTES).await;
    match end {
        End::Whole => {}
        End::TooLong => return Err(format!("{url} is larger than {NOTICE_BYTES} bytes")),
        End::BrokenOff(error) => return Err(format!("reading {url}: {}", chain(&error))),
    }
    json::decode(&body, Profile::NOTICE).map_err(|error| format!("reading {url}: {error}"))
}
