//! Sends what is due: claimed, so that one process sends a message; retried with growing pauses; within the rate of its
//! channel and outside its quiet hours. A message that its channel has accepted is sent again only if the process ends
//! before it records that, under the same id.
//!
//! A process sends one message at a time to a channel, so that a channel that does not answer occupies one sender.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::DIGEST_FINDINGS;
use charter_contract::notification::NotificationTopic;
use charter_contract::time::Timestamp;
use charter_effects::channel::{
    ChannelFailure, ChannelFault, ChannelKey, ChannelMessage, MessageContent,
};
use charter_effects::webhook::MessageId;
use charter_store::notification::{
    BusyChannel, ChannelTenants, ClaimedMessage, MessageOutcome, NotificationClaim,
};
use futures_util::future::{join, join_all};

use super::NotificationService;
use super::channel_states::{ChannelSlot, doubled};
use super::content::Rendered;
use crate::EngineError;
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::ground::moments;

/// Messages that are sent at the same time, each to another channel.
const SENDERS: usize = 4;

/// How long a claim lasts: longer than any attempt.
const CLAIM: Duration = Duration::from_secs(180);

/// Longest time of one attempt.
const ATTEMPT: Duration = Duration::from_secs(90);

/// The first pause after a failed attempt, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(3_600));

/// A claimed message, and its channel.
struct SendingMessage<'s> {
    holder: String,
    message: ClaimedMessage,
    slot: ChannelSlot<'s>,
}

impl NotificationService {
    /// Collects and sends, until the engine shuts down. Returns at once without channels.
    pub(crate) async fn deliver_forever(self: Arc<Self>) {
        if self.parts.settings.is_empty() {
            return;
        }
        let senders = (0..SENDERS).map(|_| self.send_forever());
        join(self.collect_forever(), join_all(senders)).await;
    }

    async fn collect_forever(&self) {
        loop {
            // Registered before looking, so that no notification in between is missed.
            let change = ChangeWait::register(&self.parts.news);
            if let Err(error) = self.collect_all().await {
                tracing::warn!(error = %error, "events could not be processed; retrying");
            }
            match change.wait(POLL_INTERVAL, &self.parts.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return,
            }
        }
    }

    async fn send_forever(&self) {
        loop {
            let change = ChangeWait::register(&self.collected);
            if let Err(error) = self.send_all().await {
                tracing::warn!(error = %error, "notifications could not be processed; retrying");
            }
            match change.wait(POLL_INTERVAL, &self.parts.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return,
            }
        }
    }

    /// Collects all new events.
    pub(super) async fn collect_all(&self) -> Result<(), EngineError> {
        while !self.parts.shutdown.is_cancelled() && self.collect().await? {
            self.collected.notify_waiters();
        }
        Ok(())
    }

    /// Sends what is due, one message after the other.
    pub(super) async fn send_all(&self) -> Result<(), EngineError> {
        while !self.parts.shutdown.is_cancelled() && self.send_next().await? {}
        Ok(())
    }

    /// Sends the message that has been due longest; returns whether there was one.
    async fn send_next(&self) -> Result<bool, EngineError> {
        let now = self.ports.clock.now();
        let Some(claimed) = self.claim(now).await? else {
            return Ok(false);
        };
        let (message, channel) = (&claimed.message, claimed.slot.key());
        let outcome = match self.attempt(message, channel, now).await {
            Err(error) if !error.is_transient() => self.after_error(message, &error, now),
            outcome => outcome?,
        };
        if let MessageOutcome::Failed(why) = &outcome {
            tracing::warn!(
                tenant = %message.tenant_id, channel = %message.channel, message = message.message_id, why,
                "a channel did not get a message"
            );
        }
        let at = self.ports.clock.now();
        let store = &self.ports.store;
        store
            .settle_message(message, &claimed.holder, &outcome, at)
            .await?;
        Ok(true)
    }

    /// Claims the message that has been due longest, of the channels that no message is being sent to.
    async fn claim(&self, now: Timestamp) -> Result<Option<SendingMessage<'_>>, EngineError> {
        let _claiming = self.claiming.lock().await;
        let settings = &self.parts.settings;
        let busy = self.channels.busy().into_iter().map(|key| BusyChannel {
            tenants: match key.tenant {
                Some(tenant) => ChannelTenants::Only(tenant),
                None => ChannelTenants::AllExcept(settings.owners(&key.channel)),
            },
            channel: key.channel,
        });
        let claim = NotificationClaim {
            holder: self.ports.ids.uuid().to_string(),
            now,
            until: moments::after(now, CLAIM),
            message_id: MessageId::from_uuid(self.ports.ids.uuid()).to_string(),
            most: DIGEST_FINDINGS,
            busy: busy.collect(),
        };
        let message = self.ports.store.claim_message(&claim).await?;
        Ok(message.map(|message| {
            let key = settings.key(&message.tenant_id, &message.channel);
            SendingMessage {
                holder: claim.holder,
                message,
                slot: self.channels.occupy(key),
            }
        }))
    }

    async fn attempt(
        &self,
        message: &ClaimedMessage,
        key: &ChannelKey,
        now: Timestamp,
    ) -> Result<MessageOutcome, EngineError> {
        if let Some(waits) = self.wait_of(message, key, now) {
            return Ok(waits);
        }
        let content = match self.content(message, now).await? {
            Rendered::Message(content) => *content,
            Rendered::OutOfDate(why) => return Ok(MessageOutcome::Skipped(why)),
            Rendered::Unreadable(why) => return Ok(MessageOutcome::Failed(why)),
        };
        let Some(id) = MessageId::parse(&message.message_id) else {
            let why = format!("`{}` is not the id of a message", message.message_id);
            return Ok(MessageOutcome::Failed(why));
        };
        if let Err(wait_ms) = self.count((&message.tenant_id, &message.channel), now) {
            let until = moments::after(now, Duration::from_millis(wait_ms.max(1)));
            return Ok(MessageOutcome::Postponed(until));
        }
        let sent = self.send(message, id, content, now).await;
        // The attempt may have lasted long.
        let at = self.ports.clock.now();
        Ok(match sent {
            Ok(()) => {
                self.channels.answered(key);
                MessageOutcome::Delivered
            }
            // Not an attempt of the channel's.
            Err(_) if self.parts.shutdown.is_cancelled() => MessageOutcome::Postponed(at),
            Err(failure) => self.after_failure(message, key, failure, at),
        })
    }

    async fn send(
        &self,
        message: &ClaimedMessage,
        id: MessageId,
        content: MessageContent,
        now: Timestamp,
    ) -> Result<(), ChannelFailure> {
        let sent = ChannelMessage {
            tenant: message.tenant_id.clone(),
            channel: message.channel.clone(),
            id,
            now,
            content,
        };
        let sending = self.parts.channels.send(&sent, &self.parts.shutdown);
        match tokio::time::timeout(ATTEMPT, sending).await {
            Ok(sent) => sent,
            Err(_) => Err(ChannelFailure {
                fault: ChannelFault::Unavailable,
                message: format!("no answer within {} s", ATTEMPT.as_secs()),
                retry_after: None,
            }),
        }
    }

    /// Returns the outcome of a message that is not sent now: its channel rests, or has quiet hours. A message is also
    /// given up while its channel rests.
    fn wait_of(
        &self,
        message: &ClaimedMessage,
        key: &ChannelKey,
        now: Timestamp,
    ) -> Option<MessageOutcome> {
        let rest = self.channels.rest(key, now);
        if let Some(outage) = rest
            && now > self.give_up_at(message, Some(outage.since), now)
        {
            let why = format!("the channel has not answered since {}", outage.since);
            return Some(MessageOutcome::Failed(why));
        }
        let settings = self.parts.settings.keyed(key);
        let quiet = settings.and_then(|settings| settings.quiet.as_ref());
        let topic = message
            .notifications
            .first()
            .map(|one| one.notification.topic);
        let quiet = quiet.zip(topic);
        let quiet = quiet.map(|(quiet, topic)| quiet.due(topic, now));
        let quiet = quiet.filter(|due| *due > now);
        let until = rest.map(|outage| outage.until).max(quiet);
        until.map(MessageOutcome::Postponed)
    }

    fn after_failure(
        &self,
        message: &ClaimedMessage,
        key: &ChannelKey,
        failure: ChannelFailure,
        now: Timestamp,
    ) -> MessageOutcome {
        match failure.fault {
            ChannelFault::Unknown | ChannelFault::Refused => {
                self.channels.answered(key);
                return MessageOutcome::Failed(failure.message);
            }
            ChannelFault::Unavailable => {}
        }
        let outage = self.channels.unanswered(key, now, failure.retry_after);
        let pause = pause(attempts(message)).max(failure.retry_after.unwrap_or_default());
        let again = moments::after(now, pause.min(PAUSES.1));
        match again > self.give_up_at(message, Some(outage.since), now) {
            true => MessageOutcome::Failed(failure.message),
            false => MessageOutcome::Retry(again, failure.message),
        }
    }

    /// Returns the outcome of a message whose content could not be made. This is an attempt like any other, so that a
    /// damaged record does not hold up the messages after it.
    fn after_error(
        &self,
        message: &ClaimedMessage,
        error: &EngineError,
        now: Timestamp,
    ) -> MessageOutcome {
        tracing::error!(
            tenant = %message.tenant_id, channel = %message.channel, message = message.message_id,
            error = %error, cause = ?std::error::Error::source(error),
            "the content of a message could not be made"
        );
        let why = format!("its content could not be made: {error}");
        let again = moments::after(now, pause(attempts(message)));
        match again > self.give_up_at(message, None, now) {
            true => MessageOutcome::Failed(why),
            false => MessageOutcome::Retry(again, why),
        }
    }

    /// Returns when a message is given up. A message that waited for its digest has its time from its first attempt on,
    /// or from the beginning of an outage of its channel. A message about the end of an approval may be much older than
    /// its first attempt, and is out of date soon.
    fn give_up_at(
        &self,
        message: &ClaimedMessage,
        outage: Option<Timestamp>,
        now: Timestamp,
    ) -> Timestamp {
        let first = message.notifications.first().map(|one| &one.notification);
        let oldest = first.map_or(now, |first| first.created_at);
        let waits = first.is_none_or(|first| first.topic != NotificationTopic::ApprovalExpiring);
        let outage = outage.filter(|_| waits);
        let tried = moments::before(now, total_pause(attempts(message)));
        let tried = outage.map_or(tried, |since| since.min(tried));
        moments::after(oldest.max(tried), self.parts.settings.give_up)
    }
}

/// Returns the failed attempts of a message.
fn attempts(message: &ClaimedMessage) -> u64 {
    message.notifications.first().map_or(0, |one| one.attempts)
}

/// Returns the pause after a number of failed attempts and one more.
fn pause(attempts: u64) -> Duration {
    doubled(PAUSES, attempts)
}

/// Returns the pauses of so many failed attempts together.
fn total_pause(attempts: u64) -> Duration {
    (0..attempts.min(1_000)).map(pause).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_hour() {
        let pauses = [0, 1, 2, 7, 8, 1_000].map(|attempts| pause(attempts).as_secs());
        assert_eq!(pauses, [15, 30, 60, 1_920, 3_600, 3_600]);
        assert_eq!(total_pause(3).as_secs(), 105);
    }
}
