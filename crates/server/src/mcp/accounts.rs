//! Calls that lack an account of the client's user. A client that can open links (elicitation in URL mode) sends its
//! user to the page on which the account is connected, and the call is made again: nothing was called before. Other
//! clients get the failure, with the link. Must not know how an account is connected.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::CONNECTION_WAIT_MS;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::Label;
use charter_engine::{EngineError, MissingAccount};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CustomNotification, ElicitRequest, ElicitRequestParams, ElicitationAction,
    InputRequest, InputRequests, InputRequiredResult, ProtocolVersion, ServerNotification,
};
use serde_json::json;
use uuid::Uuid;

use super::call::Call;
use super::question::PendingQuestion;
use super::settle::parse_elicit_result;
use super::work::WorkReport;

/// Most waits for accounts whose end clients are told of; others look by calling again.
pub(super) const WAITS: usize = 64;

/// The error that asks a client to open links before it calls again (2025-11-25).
const URL_ELICITATION_REQUIRED: rmcp::model::ErrorCode = rmcp::model::ErrorCode(-32_042);

/// How a client is asked to open a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkMode {
    /// By an error (2025-11-25).
    Refusal,
    /// By a result with a question, and another round (2026-07-28).
    Rounds,
}

/// A page for a client's user.
struct ConnectPage {
    credential: Label,
    url: String,
    message: String,
}

impl ConnectPage {
    fn of(error: &EngineError) -> Option<Self> {
        let MissingAccount {
            credential,
            connect_url,
        } = error.missing_account()?;
        Some(Self {
            message: format!("Connect your account `{credential}`, which this call acts with."),
            url: connect_url?,
            credential,
        })
    }

    fn elicitation(self, id: String) -> ElicitRequestParams {
        ElicitRequestParams::UrlElicitationParams {
            meta: None,
            message: self.message,
            url: self.url,
            elicitation_id: id,
        }
    }
}

impl Call {
    fn link_mode(&self) -> Option<LinkMode> {
        self.capabilities().elicitation?.url?;
        let version = self.context.protocol_version()?;
        if version >= ProtocolVersion::V_2026_07_28 {
            Some(LinkMode::Rounds)
        } else if version >= ProtocolVersion::V_2025_11_25 {
            Some(LinkMode::Refusal)
        } else {
            None
        }
    }

    /// The error of work that lacked an account, for a client that can have it connected.
    pub(super) fn lacks_account(&self, work: &WorkReport) -> Option<EngineError> {
        let account = work.account.as_ref()?;
        let message = work.failure.clone().unwrap_or_default();
        let error = EngineError::new(ErrorCode::CredentialRequired, message).lacking(account);
        self.link_mode()?;
        account.connect_url.is_some().then_some(error)
    }

    /// The answer of a failed call: that the client opens the page for an account that it lacked, or the failure.
    ///
    /// # Errors
    /// The error with the link, for a client that is asked by one.
    pub(super) fn refused(&self, error: &EngineError) -> Result<CallToolResponse, ErrorData> {
        let (Some(page), Some(mode)) = (ConnectPage::of(error), self.link_mode()) else {
            return Ok(self.failed(error).into());
        };
        let id = Uuid::new_v4().to_string();
        match mode {
            LinkMode::Refusal => {
                self.tell_when_connected(page.credential.clone(), id.clone());
                let elicitations = [page.elicitation(id)];
                let data = json!({"elicitations": elicitations});
                let message = error.to_string();
                Err(ErrorData::new(
                    URL_ELICITATION_REQUIRED,
                    message,
                    Some(data),
                ))
            }
            LinkMode::Rounds => {
                let pending = PendingQuestion::Connect {
                    credential: page.credential.clone(),
                };
                let state = match self.seal(&pending) {
                    Ok(state) => state,
                    Err(error) => return Ok(self.failed(&error).into()),
                };
                let question = InputRequest::Elicitation(ElicitRequest::new(page.elicitation(id)));
                let questions = InputRequests::from([(pending.key(), question)]);
                Ok(InputRequiredResult::new(Some(questions), Some(state)).into())
            }
        }
    }

    /// Waits for the account that the previous round of a call lacked, if its user opened the page, as long as an
    /// answer may take. Then the call is made from its beginning.
    ///
    /// # Errors
    /// `credential_required` if the user declined; errors of storage.
    pub(super) async fn await_account(&mut self) -> Result<(), EngineError> {
        let credential = match &self.pending {
            Some(PendingQuestion::Connect { credential }) => credential.clone(),
            Some(
                PendingQuestion::Skill { .. }
                | PendingQuestion::Choose
                | PendingQuestion::Give { .. }
                | PendingQuestion::Confirm { .. }
                | PendingQuestion::Approve { .. }
                | PendingQuestion::Server { .. },
            )
            | None => return Ok(()),
        };
        let pending = self.pending.take();
        self.started_before = None;
        let answer = pending.and_then(|pending| self.answers.get(&pending.key()));
        let answer = answer.map(parse_elicit_result).transpose()?;
        if answer.is_none_or(|answer| answer.action != ElicitationAction::Accept) {
            let message = format!("the user did not connect the account `{credential}`");
            return Err(EngineError::new(ErrorCode::CredentialRequired, message));
        }
        let (accounts, longest) = (self.engine().credentials(), self.answer_timeout());
        // Without the account, the call asks again.
        accounts
            .wait_until_connected(&self.caller, &credential, longest)
            .await
            .map(drop)
    }

    /// Tells the client when its user has connected an account, so that it calls again.
    fn tell_when_connected(&self, credential: Label, id: String) {
        let Ok(place) = Arc::clone(&self.shared.account_waits).try_acquire_owned() else {
            return;
        };
        let (engine, caller) = (Arc::clone(self.engine()), self.caller.clone());
        let peer = self.context.peer.clone();
        let longest = u64::try_from(CONNECTION_WAIT_MS).unwrap_or(u64::MAX);
        let longest = Duration::from_millis(longest);
        tokio::spawn(async move {
            let _place = place;
            let accounts = engine.credentials();
            match accounts
                .wait_until_connected(&caller, &credential, longest)
                .await
            {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::debug!(error = %error, "the wait for an account ended");
                    return;
                }
            }
            let params = Some(json!({"elicitationId": id}));
            let done = CustomNotification::new("notifications/elicitation/complete", params);
            let done = ServerNotification::CustomNotification(done);
            if let Err(error) = peer.send_notification(done).await {
                tracing::debug!(error = %error, "a client was not told that an account is connected");
            }
        });
    }
}
