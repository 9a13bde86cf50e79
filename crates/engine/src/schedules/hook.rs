//! Incoming webhooks that start triggers, signed as [Standard
//! Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md) describe. The
//! body is data: values of it become parameters, and no text of it is routed.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::bounds::{TRIGGER_BACKLOG, WEBHOOK_EVENT_BYTES};
use charter_contract::catalogue::schedule::ScheduleTiming;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::HookId;
use charter_contract::json::{Profile, decode, to_stored};
use charter_contract::time::Timestamp;
use charter_store::schedule::OccurrenceAdded;
use ring::hmac;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::occurrences::{backlog, must_be_active, occurrence};
use super::{ScheduleService, definition_of};
use crate::EngineError;
use crate::ground::moments;
use crate::ground::vault::SealingKeys;

/// Largest difference between the time of a message and this server's.
const TOLERANCE: Duration = Duration::from_secs(300);

/// Longest id of a message, in bytes.
const ID_BYTES: usize = 256;

/// Signatures of one message that are looked at.
const SIGNATURES: usize = 8;

/// The prefix of a secret.
const PREFIX: &str = "whsec_";

/// An incoming webhook as it was received.
#[derive(Debug, Clone, Copy)]
pub struct WebhookEvent<'e> {
    /// The header `webhook-id`.
    pub id: &'e str,
    /// The header `webhook-timestamp`.
    pub timestamp: &'e str,
    /// The header `webhook-signature`.
    pub signature: &'e str,
    /// The body.
    pub body: &'e [u8],
}

/// The answer to an accepted webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebhookReceipt {
    /// `accepted`, `repeated` for an id that was received before, or `ignored` for another `type` of body.
    pub status: &'static str,
}

impl ScheduleService {
    /// Receives a webhook. A repeat of its id starts nothing.
    ///
    /// # Errors
    /// `unauthenticated` for an unknown address, a wrong signature, and a time that differs by more than five minutes;
    /// `invalid_request` for a body that is no JSON object; `too_large`; `illegal_transition` for a paused trigger;
    /// `rate_limited` if it has too many unfinished occurrences.
    pub async fn receive(
        &self,
        hook: &str,
        event: &WebhookEvent<'_>,
    ) -> Result<WebhookReceipt, EngineError> {
        if event.body.len() > WEBHOOK_EVENT_BYTES {
            let message = format!("the body of a webhook has at most {WEBHOOK_EVENT_BYTES} bytes");
            return Err(EngineError::new(ErrorCode::TooLarge, message));
        }
        let hook = HookId::parse(hook).map_err(|_| unsigned())?;
        let record = self.store.schedule_of_hook(&hook).await?;
        let record = record.ok_or_else(unsigned)?;
        let address = record.hook.as_ref().ok_or_else(unsigned)?;
        let sealing = self.parts.sealing.as_ref().ok_or_else(no_sealing)?;
        let secret = sealing.open_text(&context(&hook), &address.secret);
        verify(&secret.ok_or_else(unsigned)?, event, self.clock.now())?;
        must_be_active(&record)?;
        let body: Map<String, Value> = decode(event.body, Profile::PARAMETER).map_err(|error| {
            let message = format!("the body of a webhook is a JSON object: {error}");
            EngineError::new(ErrorCode::InvalidRequest, message)
        })?;
        let ScheduleTiming::Webhook(trigger) = definition_of(&record)?.when else {
            return Err(unsigned());
        };
        let kind = body.get("type").and_then(Value::as_str);
        let mut types = trigger.types.iter();
        if !trigger.types.is_empty() && !types.any(|wanted| Some(wanted.as_str()) == kind) {
            return Ok(WebhookReceipt { status: "ignored" });
        }
        let event_text = to_stored(&Value::Object(body))
            .map_err(|error| EngineError::internal("writing an event", error))?;
        let key = format!("webhook/{}", event.id);
        let one = occurrence(&record, key, self.clock.now(), Some(event_text));
        let added = self.store.add_occurrence(&one, TRIGGER_BACKLOG, vec![]);
        match added.await? {
            OccurrenceAdded::Added => Ok(WebhookReceipt { status: "accepted" }),
            OccurrenceAdded::Known => Ok(WebhookReceipt { status: "repeated" }),
            OccurrenceAdded::Full => Err(backlog(&record.schedule_id)),
        }
    }
}

/// Makes a secret for an address: its text, and the sealed form that is stored.
pub(super) fn new_secret(
    sealing: Option<&SealingKeys>,
    hook: &HookId,
) -> Result<(String, String), EngineError> {
    let sealing = sealing.ok_or_else(no_sealing)?;
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)
        .map_err(|error| EngineError::internal("creating a secret", error))?;
    let sealed = sealing.seal_text(&context(hook), &secret)?;
    Ok((format!("{PREFIX}{}", STANDARD.encode(secret)), sealed))
}

/// The context that a sealed secret is bound to.
fn context(hook: &HookId) -> String {
    format!("schedule hook {hook}")
}

/// Checks the signature of an event and its time.
fn verify(secret: &[u8], event: &WebhookEvent<'_>, now: Timestamp) -> Result<(), EngineError> {
    let is_id = (1..=ID_BYTES).contains(&event.id.len())
        && event
            .id
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'.');
    let sent = event.timestamp.parse::<i64>().ok();
    let sent = sent.and_then(|seconds| seconds.checked_mul(1_000_000));
    let sent = sent.and_then(|micros| Timestamp::from_micros(micros).ok());
    let sent = sent.filter(|_| is_id).ok_or_else(unsigned)?;
    if sent < moments::before(now, TOLERANCE) || sent > moments::after(now, TOLERANCE) {
        return Err(unsigned());
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let mut text = format!("{}.{}.", event.id, event.timestamp).into_bytes();
    text.extend_from_slice(event.body);
    let signatures = event.signature.split(' ').take(SIGNATURES);
    let mut known = signatures.filter_map(|signature| {
        let (version, encoded) = signature.split_once(',')?;
        STANDARD.decode(encoded).ok().filter(|_| version == "v1")
    });
    if known.any(|signature| hmac::verify(&key, &text, &signature).is_ok()) {
        return Ok(());
    }
    Err(unsigned())
}

/// The error for an event whose sender is unknown: it does not reveal which check failed.
fn unsigned() -> EngineError {
    let message = "there is no webhook here with this signature, or its time differs by more than five minutes";
    EngineError::new(ErrorCode::Unauthenticated, message)
}

fn no_sealing() -> EngineError {
    let message =
        "a webhook trigger needs a sealing key: set `credentials.key_file` in the configuration";
    EngineError::new(ErrorCode::InvalidRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// The example of the specification: a message, its secret and its signature.
    #[test]
    fn a_signature_of_another_message_or_time_is_refused() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let event = WebhookEvent {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp: "1614265330",
            signature: "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            body: br#"{"test": 2432232314}"#,
        };
        let now = at("2021-02-25T15:02:10Z");
        assert!(verify(&secret, &event, now).is_ok());
        for refused in [
            WebhookEvent {
                body: b"{}",
                ..event
            },
            WebhookEvent {
                id: "msg_other",
                ..event
            },
            WebhookEvent {
                id: "msg.p5jXN8AQM9LWM0D4loKWxJek",
                ..event
            },
            WebhookEvent {
                timestamp: "1614265331",
                ..event
            },
            WebhookEvent {
                signature: "",
                ..event
            },
            WebhookEvent {
                signature: "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
                ..event
            },
        ] {
            assert!(verify(&secret, &refused, now).is_err(), "{refused:?}");
        }
        assert!(verify(&secret, &event, at("2021-02-25T15:07:11Z")).is_err());
        assert!(verify(&secret, &event, at("2021-02-25T14:57:09Z")).is_err());
        assert!(verify(b"another secret", &event, now).is_err());
    }
}
