//! Slack: messages of Block Kit, and answers to interactions.

mod blocks;
mod interaction;

use std::time::{Duration, SystemTime};

use charter_contract::cause::chain;
use charter_contract::charset::{self, Form};
use charter_contract::ids::Label;
use charter_contract::json::{self, Profile};
use charter_contract::visible::clean;
use reqwest::header::{AUTHORIZATION, HeaderValue, USER_AGENT as AGENT};
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use super::settings::{ChannelSetupError, SlackOptions};
use super::{ChannelFailure, ChannelFault, ChannelMessage};
use crate::http::{HttpRunner, Redirects, USER_AGENT, base, read_within};
use crate::patience::retry_after;
use crate::secret::Secret;

pub use interaction::{ApprovalButton, SlackInteraction, SlackInteractionError, SlackRequest};

/// Most bytes of an answer that are read. It repeats the message.
const ANSWER_BYTES: usize = 256 << 10;
/// Most characters of an error that are quoted.
const ERROR: usize = 200;

/// Errors that the Web API reports with status 200 and that pass.
const TRANSIENT: [&str; 6] = [
    "fatal_error",
    "internal_error",
    "ratelimited",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
];

/// How an interaction is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ButtonAnswer {
    /// With a message that only the user sees; the buttons stay.
    Notes,
    /// With a text in place of the message and its buttons.
    Replaces,
}

/// An app of Slack with its conversation.
#[derive(Debug)]
pub(super) struct SlackApp {
    post: Url,
    answers: Url,
    authorization: HeaderValue,
    signing_secret: Option<Secret>,
    conversation: String,
    client: Client,
    timeout: Duration,
}

/// The answer of the Web API.
#[derive(Deserialize)]
struct ApiAnswer {
    ok: bool,
    #[serde(default)]
    error: Option<String>,
}

impl SlackApp {
    /// # Errors
    /// [`ChannelSetupError`] for addresses and secrets that cannot be used.
    pub(super) fn new(
        name: &Label,
        options: SlackOptions,
        http: &HttpRunner,
    ) -> Result<Self, ChannelSetupError> {
        let unfit = |setting: &'static str, why: &str| ChannelSetupError::Setting {
            channel: name.clone(),
            setting,
            why: why.to_owned(),
        };
        let api =
            base(&options.api_url, options.plain_http).map_err(|why| unfit("api_url", why))?;
        let post = format!("{}/chat.postMessage", api.as_str().trim_end_matches('/'));
        let post = Url::parse(&post).map_err(|_| unfit("api_url", "not a URL"))?;
        let answers = base(&options.answers_url, options.plain_http);
        let answers = answers.map_err(|why| unfit("answers_url", why))?;
        if options.conversation.trim().is_empty() {
            return Err(unfit("conversation", "empty"));
        }
        let bad = |secret: &Secret, why| ChannelSetupError::Secret {
            channel: name.clone(),
            of: secret.source().clone(),
            why,
        };
        let authorization = HeaderValue::from_str(&format!("Bearer {}", options.token.value()));
        let mut authorization =
            authorization.map_err(|_| bad(&options.token, "is invalid in a header"))?;
        authorization.set_sensitive(true);
        if let Some(secret) = &options.signing_secret
            && secret.value().len() < interaction::SHORTEST_SECRET
        {
            return Err(bad(secret, "is too short for a signing secret"));
        }
        let client = http.pooled_client(Redirects::None);
        Ok(Self {
            post,
            answers,
            authorization,
            signing_secret: options.signing_secret,
            conversation: options.conversation,
            client: client.map_err(|error| unfit("api_url", &chain(&error)))?,
            timeout: options.timeout,
        })
    }

    pub(super) fn described(&self) -> String {
        let host = self.post.host_str().unwrap_or_default();
        let buttons = match self.signing_secret {
            Some(_) => "",
            None => ", without buttons",
        };
        format!("Slack {} at {host}{buttons}", self.conversation)
    }

    /// Whether the app signed a request. The caller checks the request's age.
    pub(super) fn signed(&self, request: &SlackRequest<'_>) -> bool {
        let secret = self.signing_secret.as_ref();
        secret.is_some_and(|secret| request.is_signed_with(secret))
    }

    /// Posts a message.
    pub(super) async fn send(&self, message: &ChannelMessage) -> Result<(), ChannelFailure> {
        let content = &message.content;
        let has_buttons = self.signing_secret.is_some();
        let body = json!({
            "channel": self.conversation,
            // For notifications, and for readers without blocks.
            "text": super::text::slack(&content.one_line()),
            "blocks": blocks::of(content, has_buttons),
            "unfurl_links": false,
            "unfurl_media": false,
            "metadata": {"event_type": "charter", "event_payload": {"message_id": message.id.as_str()}},
        });
        let request = self.client.post(self.post.clone());
        let request = request.header(AUTHORIZATION, self.authorization.clone());
        let answer = self.exchange(request, &body).await?;
        let answer: ApiAnswer = json::decode(&answer, Profile::MESSAGE).map_err(|_| {
            let why = "Slack answered with something that is not its API";
            ChannelFailure::new(ChannelFault::Unavailable, why)
        })?;
        if answer.ok {
            return Ok(());
        }
        let error = clean(answer.error.as_deref().unwrap_or("unknown"), ERROR);
        let fault = match TRANSIENT.contains(&error.as_str()) {
            true => ChannelFault::Unavailable,
            false => ChannelFault::Refused,
        };
        let why = format!("Slack refused the message: {error}");
        Err(ChannelFailure::new(fault, why))
    }

    /// Answers an interaction at the address that Slack named in it.
    pub(super) async fn answer(
        &self,
        address: &str,
        text: &str,
        answers: ButtonAnswer,
    ) -> Result<(), ChannelFailure> {
        let url = Url::parse(address).ok().filter(|url| {
            let plain = url.username().is_empty() && url.password().is_none();
            plain && url.origin() == self.answers.origin()
        });
        let url = url.ok_or_else(|| {
            let why = "the address for the answer is not Slack's";
            ChannelFailure::new(ChannelFault::Refused, why)
        })?;
        let replaces = answers == ButtonAnswer::Replaces;
        let mut body = json!({"text": super::text::slack(text), "replace_original": replaces});
        if !replaces {
            body["response_type"] = json!("ephemeral");
        }
        self.exchange(self.client.post(url), &body).await?;
        Ok(())
    }

    /// Sends a request once, and returns the body of a successful answer.
    async fn exchange(
        &self,
        request: RequestBuilder,
        body: &Value,
    ) -> Result<Vec<u8>, ChannelFailure> {
        let unavailable = |why: String| ChannelFailure::new(ChannelFault::Unavailable, why);
        let request = request
            .header(AGENT, USER_AGENT)
            .header("content-type", "application/json; charset=utf-8")
            .body(body.to_string());
        let exchange = async {
            let response = request.send().await;
            let response =
                response.map_err(|error| unavailable(format!("Slack: {}", chain(&error))))?;
            let status = response.status();
            let asked = retry_after(response.headers(), SystemTime::now());
            let (body, _) = read_within(response, ANSWER_BYTES).await;
            if status.is_success() {
                return Ok(body);
            }
            let fault = match status {
                StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                    ChannelFault::Unavailable
                }
                status if status.is_server_error() => ChannelFault::Unavailable,
                _ => ChannelFault::Refused,
            };
            let words = clean(&charset::page(&body, Form::Text, None).text, ERROR);
            Err(ChannelFailure {
                retry_after: asked,
                ..ChannelFailure::new(fault, format!("Slack answered {status}: {words:?}"))
            })
        };
        let answered = tokio::time::timeout(self.timeout, exchange).await;
        answered.unwrap_or_else(|_| {
            let limit = self.timeout.as_millis();
            Err(unavailable(format!(
                "Slack did not answer within {limit} ms"
            )))
        })
    }
}
