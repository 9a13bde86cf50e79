//! Decisions in Slack. The signature of the app is the credential of the request: it gives the channel, and the user of
//! the interaction the identity. The decision is that of an approval, with its checks; what may be destructive is
//! decided in the console.

use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_domain::approval::ApprovalAnswer;
use charter_effects::channel::{
    ApprovalButton, ButtonAnswer, ChannelKey, SlackInteraction, SlackRequest,
};
use serde_json::json;

use super::{NotificationService, SlackDecision};
use crate::execution::runs::ApprovalDecision;
use crate::ground::moments;
use crate::{Caller, CredentialId, EngineError};

/// How old a request may be, and how far its clock may be ahead.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// Longest time for the answer to the user. Slack waits three seconds for all.
const ANSWER: Duration = Duration::from_secs(2);

/// A verified decision.
struct Verified {
    caller: Caller,
    button: ApprovalButton,
    answer: ApprovalAnswer,
    /// The user in Slack.
    user: String,
}

impl NotificationService {
    /// Carries out an interaction that Slack sent, and answers its user.
    ///
    /// # Errors
    /// `unauthenticated` for a request that no app of the configuration signed, or an old one; `invalid_request` for a
    /// body without a decision; `permission_denied` for a user without an identity, for the requester, and for a
    /// destructive call; `illegal_transition` for a request that was received before, and for a decided approval; those
    /// of [`ApprovalService::decide`](crate::ApprovalService::decide). Nothing is changed then.
    pub async fn decide_in_slack(
        &self,
        request: SlackRequest<'_>,
    ) -> Result<SlackDecision, EngineError> {
        let signers = self.signers(&request)?;
        let interaction = request
            .interaction()
            .map_err(|error| EngineError::new(ErrorCode::InvalidRequest, error.to_string()))?;
        let (key, response_url) = match &interaction {
            SlackInteraction::Opened => {
                return Ok(SlackDecision {
                    approval_id: None,
                    state: None,
                });
            }
            SlackInteraction::Decided {
                button,
                response_url,
                team,
                ..
            } => (
                self.channel_of(&signers, button, team)?,
                response_url.clone(),
            ),
        };
        let mac = request.mac().ok_or_else(|| {
            let message = "`X-Slack-Signature` is malformed";
            EngineError::new(ErrorCode::Unauthenticated, message)
        })?;
        let decided = self.decide(&key, interaction, &mac).await;
        let (text, answers) = match &decided {
            Ok(done) => (done.1.clone(), ButtonAnswer::Replaces),
            Err(error) => (error.message.clone(), ButtonAnswer::Notes),
        };
        self.answer(&key, response_url.as_deref(), &text, answers)
            .await;
        decided.map(|(decision, _)| decision)
    }

    /// Returns the channels whose app signed a fresh request.
    fn signers(&self, request: &SlackRequest<'_>) -> Result<Vec<ChannelKey>, EngineError> {
        let refused = |why: &str| EngineError::new(ErrorCode::Unauthenticated, why);
        let signers = self.parts.channels.signers(request);
        if signers.is_empty() {
            return Err(refused(
                "the request has no signature of a configured Slack app",
            ));
        }
        let sent: Result<i64, _> = request.timestamp.parse();
        let sent = sent.map_err(|_| refused("`X-Slack-Request-Timestamp` is no time"))?;
        let now = self.ports.clock.now().as_micros().div_euclid(1_000_000);
        let fresh = i64::try_from(FRESH.as_secs()).unwrap_or_default();
        if now.abs_diff(sent) > fresh.unsigned_abs() {
            return Err(refused(
                "the request is older than five minutes, or from the future",
            ));
        }
        Ok(signers)
    }

    /// Returns the channel of a button, which must be one of the signers' and of their workspace.
    fn channel_of(
        &self,
        signers: &[ChannelKey],
        button: &ApprovalButton,
        team: &str,
    ) -> Result<ChannelKey, EngineError> {
        let mut of_name = signers.iter().filter(|key| key.channel == button.channel);
        let found = of_name.find(|key| {
            let channel = self.parts.settings.keyed(key);
            let slack = channel.and_then(|channel| channel.slack.as_ref());
            slack.is_some_and(|slack| slack.team == team)
        });
        found.cloned().ok_or_else(|| {
            let message = format!(
                "the workspace `{team}` does not decide in the channel `{}`: `team` in its configuration names another \
                 one, or the app belongs to another channel",
                button.channel
            );
            EngineError::new(ErrorCode::PermissionDenied, message)
        })
    }

    async fn decide(
        &self,
        key: &ChannelKey,
        interaction: SlackInteraction,
        mac: &str,
    ) -> Result<(SlackDecision, String), EngineError> {
        let verified = self.verified(key, interaction)?;
        self.use_once(&verified, mac).await?;
        let approvals = &self.parts.approvals;
        let id = &verified.button.approval;
        let shown = approvals.get(&verified.caller, id).await?.approval;
        if shown.destructive {
            return Err(self.in_the_console(&verified.button));
        }
        let reason = format!(
            "in Slack, channel {}, user {}",
            verified.button.channel, verified.user
        );
        let said = ApprovalDecision {
            answer: verified.answer,
            digest: verified.button.digest.clone(),
            reason: Some(reason),
        };
        let decided = approvals.decide(&verified.caller, id, said).await?;
        let (tool, word) = (&decided.call.tool, decided.state.word());
        let text = format!("{tool}: {word} by {}", verified.caller.user);
        let decision = SlackDecision {
            approval_id: Some(decided.approval_id),
            state: Some(word.to_owned()),
        };
        Ok((decision, text))
    }

    /// Returns the identity of the user, with the decision.
    fn verified(
        &self,
        key: &ChannelKey,
        interaction: SlackInteraction,
    ) -> Result<Verified, EngineError> {
        let SlackInteraction::Decided {
            team,
            user,
            button,
            approves,
            response_url: _,
        } = interaction
        else {
            let message = "the interaction decides nothing";
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        };
        let channel = self.parts.settings.keyed(key);
        let slack = channel.and_then(|channel| channel.slack.as_ref());
        let person = slack.and_then(|slack| slack.people.get(&user));
        let person = person.ok_or_else(|| {
            let message = format!(
                "the Slack user `{user}` has no identity here: add it to `people` of the channel `{}`",
                key.channel
            );
            EngineError::new(ErrorCode::PermissionDenied, message)
        })?;
        let credential = CredentialId::Token {
            issuer: format!("slack:{team}"),
            subject: user.clone(),
        };
        let caller = Caller::new(
            person.tenant.clone(),
            person.user.clone(),
            person.rights.clone(),
        );
        Ok(Verified {
            caller: caller.with_credential(credential),
            button,
            answer: match approves {
                true => ApprovalAnswer::Approve,
                false => ApprovalAnswer::Reject,
            },
            user,
        })
    }

    /// Refuses a request that was received before, by any process.
    async fn use_once(&self, verified: &Verified, mac: &str) -> Result<(), EngineError> {
        let until = moments::after(self.ports.clock.now(), FRESH * 2);
        let tenant = &verified.caller.tenant;
        let store = &self.ports.store;
        match store.use_signature(tenant, mac, until).await? {
            true => Ok(()),
            false => {
                let message = "this request was received before: nothing was changed again";
                Err(EngineError::new(ErrorCode::IllegalTransition, message))
            }
        }
    }

    fn in_the_console(&self, button: &ApprovalButton) -> EngineError {
        let place = self.link(&format!("approvals/{}", button.approval));
        let place = place.unwrap_or_else(|| "in the console".to_owned());
        let message =
            format!("destructive calls are not decided in Slack: decide on it at {place}");
        let error = EngineError::new(ErrorCode::PermissionDenied, message);
        error.with_details(json!({"approval_id": button.approval}))
    }

    /// Answers the user of an interaction. A failure is logged, because the decision does not depend on it.
    async fn answer(
        &self,
        key: &ChannelKey,
        address: Option<&str>,
        text: &str,
        answers: ButtonAnswer,
    ) {
        let Some(address) = address else {
            return;
        };
        let answering = self.parts.channels.answer(key, address, text, answers);
        match tokio::time::timeout(ANSWER, answering).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => {
                tracing::warn!(channel = %key.channel, error = %failure, "Slack did not take an answer");
            }
            Err(_) => {
                tracing::warn!(channel = %key.channel, "Slack did not take an answer in time");
            }
        }
    }
}
