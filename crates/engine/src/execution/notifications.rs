//! Notifications: messages about runs, approvals and findings for people, and decisions that come back.
//!
//! The outbox has the events. Each is read once, and gives a notification for each channel that a rule names
//! (`collect`). Notifications are stored, so they survive a restart; processes claim and send them (`deliver`). The
//! content of a message is read when it is sent (`content`). A decision in Slack is an approval's decision like any
//! other (`slack`).

mod channel_states;
mod collect;
mod confirmation;
mod content;
mod deliver;
mod findings;
mod form;
mod slack;

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, TenantId};
use charter_contract::page::PageRequest;
use charter_contract::time::Timestamp;
use charter_effects::channel::{ChannelMessage, Channels};
use charter_effects::webhook::MessageId;
use charter_store::notification::{NotificationFilter, NotificationState};
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;

use self::channel_states::ChannelStates;
use crate::execution::runs::{ApprovalService, JournalService};
use crate::ground::core_ports::CorePorts;
use crate::ground::notifications::NotificationSettings;
use crate::identity::rate_limits::RateLimits;
use crate::{AccessScope, Caller, EngineError, Role};

pub use form::{ChannelTest, ChannelView, NotificationPage, NotificationView, SlackDecision};

/// The parts that notifications are made and decided with.
pub(crate) struct NotificationParts {
    pub(crate) shutdown: CancellationToken,
    /// Wakes the readers of events.
    pub(crate) news: Arc<Notify>,
    pub(crate) channels: Arc<dyn Channels>,
    pub(crate) settings: NotificationSettings,
    pub(crate) approvals: Arc<ApprovalService>,
    pub(crate) journals: Arc<JournalService>,
}

/// A channel of a tenant.
type TenantChannel = (TenantId, Label);

/// The notifications of all tenants.
pub struct NotificationService {
    ports: CorePorts,
    parts: NotificationParts,
    /// The messages of each channel in this process.
    rates: RateLimits<TenantChannel>,
    channels: ChannelStates,
    /// Held while a sender claims a message, so that two senders do not claim messages of one channel.
    claiming: Mutex<()>,
    /// Wakes the senders.
    collected: Notify,
}

impl std::fmt::Debug for NotificationService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NotificationService")
            .finish_non_exhaustive()
    }
}

impl NotificationService {
    pub(crate) fn new(ports: CorePorts, parts: NotificationParts) -> Self {
        Self {
            ports,
            parts,
            rates: RateLimits::default(),
            channels: ChannelStates::default(),
            claiming: Mutex::default(),
            collected: Notify::new(),
        }
    }

    /// Lists the channels of the caller's tenant.
    ///
    /// # Errors
    /// `permission_denied` unless the caller is an admin.
    pub fn channels(&self, caller: &Caller) -> Result<Vec<ChannelView>, EngineError> {
        must_administrate(caller)?;
        let channels = self.parts.settings.channels_of(&caller.tenant);
        let rules = self.parts.settings.rules(&caller.tenant);
        let views = channels
            .into_iter()
            .map(|(name, channel)| ChannelView::new(name, channel, rules));
        Ok(views.collect())
    }

    /// Lists the notifications of the caller's tenant, newest first, optionally of one state or channel.
    ///
    /// # Errors
    /// `permission_denied` unless the caller is an admin; `invalid_request` for a state that does not exist; errors of
    /// storage.
    pub async fn list(
        &self,
        caller: &Caller,
        state: Option<&str>,
        channel: Option<&Label>,
        page: &PageRequest,
    ) -> Result<NotificationPage, EngineError> {
        must_administrate(caller)?;
        let state = state.map(|word| {
            NotificationState::parse(word).ok_or_else(|| {
                let words = NotificationState::WORDS.iter().map(|(_, word)| *word);
                let words = words.collect::<Vec<_>>().join(", ");
                let message = format!("unknown state `{word}`; known states: {words}");
                EngineError::new(ErrorCode::InvalidRequest, message)
            })
        });
        let filter = NotificationFilter {
            state: state.transpose()?,
            channel,
        };
        let store = &self.ports.store;
        let page = store.notifications(&caller.tenant, filter, page).await?;
        Ok(NotificationPage {
            entries: page
                .entries
                .into_iter()
                .map(NotificationView::from)
                .collect(),
            next: page.next,
        })
    }

    /// Sends a test message to a channel of the caller's tenant, at once, in spite of quiet hours.
    ///
    /// # Errors
    /// `permission_denied` unless the caller is an admin; `not_found`; `rate_limited`. A channel that does not accept the
    /// message is no error, but a result.
    pub async fn test(&self, caller: &Caller, channel: &Label) -> Result<ChannelTest, EngineError> {
        must_administrate(caller)?;
        caller.must_open(AccessScope::AdminWrite)?;
        let known = self.parts.settings.channels_of(&caller.tenant);
        if !known.contains_key(channel) {
            let error = EngineError::not_found("channel", channel);
            let known = known.keys().map(|name| name.as_str());
            return Err(error.or_nearest(channel.as_str(), known));
        }
        let now = self.ports.clock.now();
        self.count((&caller.tenant, channel), now)
            .map_err(|wait_ms| {
                let message = format!("the channel `{channel}` gets no more messages now");
                let error = EngineError::new(ErrorCode::RateLimited, message);
                error.with_details(serde_json::json!({"wait_ms": wait_ms}))
            })?;
        let message = ChannelMessage {
            tenant: caller.tenant.clone(),
            channel: channel.clone(),
            id: MessageId::from_uuid(self.ports.ids.uuid()),
            now,
            content: self.test_content(caller, channel, now),
        };
        let sent = self
            .parts
            .channels
            .send(&message, &self.parts.shutdown)
            .await;
        Ok(ChannelTest {
            channel: channel.clone(),
            message_id: message.id.to_string(),
            accepted: sent.is_ok(),
            failure: sent.err().map(|failure| failure.message),
        })
    }

    /// Counts a message to a channel; returns the milliseconds to wait if there were too many.
    fn count(&self, (tenant, channel): (&TenantId, &Label), now: Timestamp) -> Result<(), u64> {
        let settings = self.parts.settings.channel(tenant, channel);
        let Some(rate) = settings.and_then(|settings| settings.rate) else {
            return Ok(());
        };
        let key = (tenant.clone(), channel.clone());
        let taken = self.rates.take(key, rate, now);
        taken.map_err(|exceeded| exceeded.wait_ms)
    }

    /// Returns the address of a page of the console.
    fn link(&self, page: &str) -> Option<String> {
        self.address(&format!("console/{page}"))
    }

    /// Returns the address of a path of this server, if its public address is known.
    fn address(&self, path: &str) -> Option<String> {
        let base = self.parts.settings.public_url.as_deref()?;
        Some(format!("{}/{path}", base.trim_end_matches('/')))
    }
}

fn must_administrate(caller: &Caller) -> Result<(), EngineError> {
    caller.must_open(AccessScope::AdminRead)?;
    caller.must_be(Role::Admin, "only admins can see and test channels")
}

#[cfg(test)]
mod tests;
