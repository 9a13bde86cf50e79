//! A click on a button, as Slack sends it: signed, form-encoded, with JSON in it. Must not know approvals.

use charter_contract::bounds::SLACK_INTERACTION_BYTES;
use charter_contract::charset;
use charter_contract::ids::{ApprovalId, Label};
use charter_contract::json::{self, Profile};
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;

use crate::secret::Secret;

/// Shortest signing secret; Slack's have 32 characters.
pub(super) const SHORTEST_SECRET: usize = 16;

/// The block of the buttons, and their actions.
pub(super) const DECISION: &str = "decision";
pub(super) const APPROVE: &str = "approve";
pub(super) const REJECT: &str = "reject";

/// The prefix of signatures.
const VERSION: &str = "v0";

/// A request that claims to come from Slack.
#[derive(Debug, Clone, Copy)]
pub struct SlackRequest<'r> {
    /// `X-Slack-Request-Timestamp`: seconds since 1970.
    pub timestamp: &'r str,
    /// `X-Slack-Signature`.
    pub signature: &'r str,
    /// The body, as it was sent.
    pub body: &'r [u8],
}

impl SlackRequest<'_> {
    /// Whether the request was signed with a secret.
    pub(super) fn is_signed_with(&self, secret: &Secret) -> bool {
        let signature = self.signature.strip_prefix("v0=").and_then(bytes);
        let mac = Hmac::<Sha256>::new_from_slice(secret.value().as_bytes());
        let (Some(signature), Ok(mut mac)) = (signature, mac) else {
            return false;
        };
        mac.update(format!("{VERSION}:{}:", self.timestamp).as_bytes());
        mac.update(self.body);
        // Compares in constant time.
        mac.verify_slice(&signature).is_ok()
    }

    /// Returns the digits of the signature in lower case, the same for all spellings of a signature; `None` if it is
    /// malformed. They recognise a repeated request.
    #[must_use]
    pub fn mac(&self) -> Option<String> {
        let digits = self.signature.strip_prefix("v0=")?;
        bytes(digits).map(|_| digits.to_ascii_lowercase())
    }

    /// Reads the interaction in the body.
    ///
    /// # Errors
    /// [`SlackInteractionError`].
    pub fn interaction(&self) -> Result<SlackInteraction, SlackInteractionError> {
        let text = charset::document(self.body, None).map_err(|_| SlackInteractionError::Form)?;
        let payload = text
            .split('&')
            .find_map(|field| field.strip_prefix("payload="));
        let payload = payload
            .ok_or(SlackInteractionError::Form)?
            .replace('+', " ");
        let payload = percent_decode_str(&payload).decode_utf8();
        let payload = payload.map_err(|_| SlackInteractionError::Form)?;
        let profile = Profile::MESSAGE.of_bytes(SLACK_INTERACTION_BYTES);
        let payload: Payload = json::decode(payload.as_bytes(), profile)
            .map_err(|_| SlackInteractionError::Payload)?;
        payload.interaction()
    }
}

/// Reads hexadecimal digits.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let pairs = digits.chunks(2).map(|pair| {
        let pair = pair.iter().map(|digit| char::from(*digit).to_digit(16));
        let value = pair.collect::<Option<Vec<u32>>>()?;
        u8::try_from(value.iter().fold(0, |value, digit| value * 16 + digit)).ok()
    });
    pairs.collect()
}

/// Why a body has no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SlackInteractionError {
    /// It is not a form with a payload.
    #[error("the body is not a form with the field `payload`")]
    Form,
    /// The payload is not an interaction.
    #[error("`payload` is not an interaction of Slack")]
    Payload,
    /// It is an interaction with something else than a button of a decision.
    #[error("the interaction is not one with the buttons of an approval")]
    OtherAction,
}

/// The payload of `block_actions`; Slack sends further fields.
#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    user: Entity,
    #[serde(default)]
    team: Option<Entity>,
    #[serde(default)]
    response_url: Option<String>,
    #[serde(default)]
    actions: Vec<Action>,
}

#[derive(Deserialize)]
struct Entity {
    id: String,
}

#[derive(Deserialize)]
struct Action {
    action_id: String,
    #[serde(default)]
    value: Option<String>,
}

impl Payload {
    fn interaction(mut self) -> Result<SlackInteraction, SlackInteractionError> {
        if self.kind != "block_actions" || self.actions.len() != 1 {
            return Err(SlackInteractionError::OtherAction);
        }
        let action = self.actions.remove(0);
        let approves = match action.action_id.as_str() {
            APPROVE => true,
            REJECT => false,
            "open" => {
                // The browser follows the link; Slack reports the click as well.
                return Ok(SlackInteraction::Opened);
            }
            _ => return Err(SlackInteractionError::OtherAction),
        };
        let value = action.value.as_deref().unwrap_or_default();
        let profile = Profile::MESSAGE.of_bytes(SLACK_INTERACTION_BYTES);
        let button = json::decode(value.as_bytes(), profile);
        Ok(SlackInteraction::Decided {
            team: self.team.map(|team| team.id).unwrap_or_default(),
            user: self.user.id,
            button: button.map_err(|_| SlackInteractionError::Payload)?,
            approves,
            response_url: self.response_url,
        })
    }
}

/// An action of a user on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlackInteraction {
    /// The link was opened.
    Opened,
    /// A button of an approval was pressed.
    Decided {
        /// The workspace.
        team: String,
        /// The user in the workspace.
        user: String,
        /// The approval that the button was for.
        button: ApprovalButton,
        /// Whether it was the button to approve.
        approves: bool,
        /// The address for the answer.
        response_url: Option<String>,
    },
}

/// The approval that a button is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalButton {
    /// The channel that the message is in.
    pub channel: Label,
    /// The approval.
    pub approval: ApprovalId,
    /// The digest of what the message shows.
    pub digest: String,
}

impl ApprovalButton {
    /// Returns the value of the button.
    pub(super) fn value(&self) -> String {
        json!(self).to_string()
    }
}

#[cfg(test)]
mod tests;
