//! Sends what is due: claimed, so that one process sends a message; retried with growing pauses; within the rate of its
//! channel and outside its quiet hours. A message that its channel has accepted is sent again only if the process ends
//! before it records that, under the same id.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use charter_contract::bounds::DIGEST_FINDINGS;
use charter_contract::time::Timestamp;
use charter_effects::channel::{ChannelFailure, ChannelFault, ChannelMessage};
use charter_effects::webhook::MessageId;
use charter_store::notification::{ClaimedMessage, MessageOutcome, NotificationClaim};

use super::NotificationService;
use super::content::Rendered;
use crate::EngineError;
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::ground::moments;

/// Messages that are sent at the same time, so that a slow channel does not hold up the others.
const SENDERS: usize = 4;

/// How long a claim lasts: longer than any attempt.
const CLAIM: Duration = Duration::from_secs(180);

/// Longest time of one attempt.
const ATTEMPT: Duration = Duration::from_secs(90);

/// The first pause after a failed attempt, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(3_600));

impl NotificationService {
    /// Collects and sends, until the engine shuts down. Returns at once without channels.
    pub(crate) async fn deliver_forever(self: Arc<Self>) {
        if self.parts.settings.is_empty() {
            return;
        }
        loop {
            // Registered before looking, so that no notification in between is missed.
            let change = ChangeWait::register(&self.parts.news);
            if let Err(error) = self.work().await {
                tracing::warn!(error = %error, "notifications could not be processed; retrying");
            }
            match change.wait(POLL_INTERVAL, &self.parts.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return,
            }
        }
    }

    /// Collects all new events, and sends everything that is due.
    pub(super) async fn work(&self) -> Result<(), EngineError> {
        while self.collect().await? {
            if self.parts.shutdown.is_cancelled() {
                return Ok(());
            }
        }
        let senders = (0..SENDERS).map(|_| self.send_all());
        let ended = futures_util::future::join_all(senders).await;
        ended.into_iter().collect()
    }

    async fn send_all(&self) -> Result<(), EngineError> {
        while !self.parts.shutdown.is_cancelled() && self.send_next().await? {}
        Ok(())
    }

    /// Sends the message that has been due longest; returns whether there was one.
    async fn send_next(&self) -> Result<bool, EngineError> {
        let now = self.ports.clock.now();
        let claim = NotificationClaim {
            holder: self.ports.ids.uuid().to_string(),
            now,
            until: moments::after(now, CLAIM),
            message_id: MessageId::from_uuid(self.ports.ids.uuid()).to_string(),
            most: DIGEST_FINDINGS,
        };
        let Some(message) = self.ports.store.claim_message(&claim).await? else {
            return Ok(false);
        };
        let outcome = self.attempt(&message, now).await?;
        if let MessageOutcome::Failed(why) = &outcome {
            tracing::warn!(
                tenant = %message.tenant_id, channel = %message.channel, message = message.message_id, why,
                "a channel did not get a message"
            );
        }
        let at = self.ports.clock.now();
        let store = &self.ports.store;
        store
            .settle_message(&message, &claim.holder, &outcome, at)
            .await?;
        Ok(true)
    }

    async fn attempt(
        &self,
        message: &ClaimedMessage,
        now: Timestamp,
    ) -> Result<MessageOutcome, EngineError> {
        let (tenant, channel) = (&message.tenant_id, &message.channel);
        if let Some(until) = self.wait_of(message, now) {
            return Ok(MessageOutcome::Postponed(until));
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
        if let Err(wait_ms) = self.count((tenant, channel), now) {
            let until = moments::after(now, Duration::from_millis(wait_ms.max(1)));
            return Ok(MessageOutcome::Postponed(until));
        }
        let sent = ChannelMessage {
            tenant: tenant.clone(),
            channel: channel.clone(),
            id,
            now,
            content,
        };
        let sending = self.parts.channels.send(&sent, &self.parts.shutdown);
        let sent = match tokio::time::timeout(ATTEMPT, sending).await {
            Ok(sent) => sent,
            Err(_) => Err(ChannelFailure {
                fault: ChannelFault::Unavailable,
                message: format!("no answer within {} s", ATTEMPT.as_secs()),
                retry_after: None,
            }),
        };
        // Not an attempt of the channel's.
        if sent.is_err() && self.parts.shutdown.is_cancelled() {
            return Ok(MessageOutcome::Postponed(now));
        }
        Ok(match sent {
            Ok(()) => MessageOutcome::Delivered,
            Err(failure) => self.after_failure(message, failure, now),
        })
    }

    /// Returns until when a message has to wait: the channel rests, or has quiet hours.
    fn wait_of(&self, message: &ClaimedMessage, now: Timestamp) -> Option<Timestamp> {
        let (tenant, channel) = (&message.tenant_id, &message.channel);
        let key = (tenant.clone(), channel.clone());
        let resting = self.resting.lock();
        let resting = resting.unwrap_or_else(PoisonError::into_inner);
        let rests = resting.get(&key).copied().filter(|until| *until > now);
        drop(resting);
        let settings = self.parts.settings.channel(tenant, channel);
        let quiet = settings.and_then(|settings| settings.quiet.as_ref());
        let topic = message
            .notifications
            .first()
            .map(|one| one.notification.topic);
        let quiet = quiet.zip(topic);
        let quiet = quiet.map(|(quiet, topic)| quiet.due(topic, now));
        rests.max(quiet.filter(|due| *due > now))
    }

    fn after_failure(
        &self,
        message: &ClaimedMessage,
        failure: ChannelFailure,
        now: Timestamp,
    ) -> MessageOutcome {
        match failure.fault {
            ChannelFault::Unknown | ChannelFault::Refused => {
                return MessageOutcome::Failed(failure.message);
            }
            ChannelFault::Unavailable => {}
        }
        let attempts = message.notifications.first().map_or(0, |one| one.attempts);
        let pause = pause(attempts).max(failure.retry_after.unwrap_or_default());
        let again = moments::after(now, pause.min(PAUSES.1));
        let oldest = message.notifications.first();
        let oldest = oldest.map_or(now, |one| one.notification.created_at);
        // A message that waited for its digest has its time from its first attempt on.
        let since = oldest.max(moments::before(now, total_pause(attempts)));
        if again > moments::after(since, self.parts.settings.give_up) {
            return MessageOutcome::Failed(failure.message);
        }
        let key = (message.tenant_id.clone(), message.channel.clone());
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.retain(|_, until| *until > now);
        resting.insert(key, moments::after(now, PAUSES.0.min(pause)));
        drop(resting);
        MessageOutcome::Retry(again, failure.message)
    }
}

/// Returns the pause after a number of failed attempts and one more.
fn pause(attempts: u64) -> Duration {
    let doubled = u32::try_from(attempts.min(16)).unwrap_or(16);
    PAUSES.0.saturating_mul(1 << doubled).min(PAUSES.1)
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
