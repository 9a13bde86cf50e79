//! Decides which events go to which channel, and when: rules, quiet hours and digests. Must not know how channels are
//! reached, nor the content of messages.

use std::collections::BTreeSet;
use std::time::Duration;

use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::ids::{DomainId, Label};
use charter_contract::notification::NotificationTopic;
use charter_contract::time::Timestamp;
use jiff::civil::Time;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// An event, as far as rules look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotificationEvent<'e> {
    /// Its topic.
    pub topic: NotificationTopic,
    /// The severity of a finding.
    pub severity: Option<Severity>,
    /// The domain of a finding.
    pub domain: Option<&'e DomainId>,
}

impl NotificationEvent<'_> {
    /// Creates an event that is not about a finding.
    #[must_use]
    pub const fn new(topic: NotificationTopic) -> Self {
        Self {
            topic,
            severity: None,
            domain: None,
        }
    }
}

/// A rule: which events go to which channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationRule {
    /// The topics.
    pub topics: BTreeSet<NotificationTopic>,
    /// The channels that get the events.
    pub channels: BTreeSet<Label>,
    /// For findings: the least severe that is sent; all when absent.
    pub severity: Option<Severity>,
    /// For findings: the domains; all when empty.
    pub domains: BTreeSet<DomainId>,
    /// For findings: how long they are collected for one message; each finding is a message when absent.
    pub digest: Option<Duration>,
}

impl NotificationRule {
    /// Whether the rule sends an event. A finding without a severity or a domain passes no filter by it.
    #[must_use]
    pub fn covers(&self, event: NotificationEvent<'_>) -> bool {
        if !self.topics.contains(&event.topic) {
            return false;
        }
        if !event.topic.is_about_findings() {
            return true;
        }
        // The most severe one is the smallest.
        let severe = self
            .severity
            .is_none_or(|least| event.severity.is_some_and(|severity| severity <= least));
        let of_domain = self.domains.is_empty()
            || event
                .domain
                .is_some_and(|domain| self.domains.contains(domain));
        severe && of_domain
    }
}

/// The hours of a day in which a channel gets nothing but its exceptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    from: Time,
    to: Time,
    zone: TimeZone,
    except: BTreeSet<NotificationTopic>,
}

/// Why quiet hours are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuietHoursError {
    /// A text is not a time of day.
    #[error("{0:?} is not a time of day such as \"22:00\"")]
    Time(String),
    /// There is no such time zone.
    #[error("{0:?} is not a time zone such as \"Europe/Berlin\"")]
    Zone(String),
    /// The hours have no length.
    #[error("`from` and `to` are equal")]
    Empty,
}

impl QuietHours {
    /// Reads quiet hours: two times of day, e.g. `22:00` and `07:00`, in a time zone, and the topics that are sent
    /// nevertheless.
    ///
    /// # Errors
    /// [`QuietHoursError`].
    pub fn new(
        from: &str,
        to: &str,
        zone: &str,
        except: BTreeSet<NotificationTopic>,
    ) -> Result<Self, QuietHoursError> {
        let time = |text: &str| {
            let parsed = Time::strptime("%H:%M", text);
            parsed.map_err(|_| QuietHoursError::Time(text.to_owned()))
        };
        let (from, to) = (time(from)?, time(to)?);
        if from == to {
            return Err(QuietHoursError::Empty);
        }
        let found = TimeZoneDatabase::bundled().get(zone);
        let zone = found.map_err(|_| QuietHoursError::Zone(zone.to_owned()))?;
        Ok(Self {
            from,
            to,
            zone,
            except,
        })
    }

    /// Returns the end of the quiet hours that a time is in, if it is in any.
    #[must_use]
    pub fn end_after(&self, at: Timestamp) -> Option<Timestamp> {
        let local = at.as_jiff().to_zoned(self.zone.clone());
        let time = local.time();
        let is_quiet = if self.from < self.to {
            (self.from..self.to).contains(&time)
        } else {
            time >= self.from || time < self.to
        };
        if !is_quiet {
            return None;
        }
        let today = local.date();
        let day = if time < self.to {
            today
        } else {
            today.tomorrow().ok()?
        };
        // A time that a change of the clocks leaves out is that much later.
        let end = day.to_datetime(self.to).to_zoned(self.zone.clone()).ok()?;
        Timestamp::from_micros(end.timestamp().as_microsecond()).ok()
    }

    /// Returns when an event may be sent: now, or at the end of the quiet hours.
    #[must_use]
    pub fn due(&self, topic: NotificationTopic, at: Timestamp) -> Timestamp {
        if self.except.contains(&topic) {
            return at;
        }
        self.end_after(at).map_or(at, |end| end.max(at))
    }
}

/// Returns the end of the digest that a time belongs to. The times of digests are multiples of their length, so that
/// all events of one length, from every process, are in the same message.
#[must_use]
pub fn digest_end(at: Timestamp, length: Duration) -> Timestamp {
    let length = i64::try_from(length.as_micros()).unwrap_or(i64::MAX).max(1);
    let begun = at.as_micros().div_euclid(length);
    let end = begun.saturating_add(1).saturating_mul(length);
    Timestamp::from_micros(end).unwrap_or(at)
}

#[cfg(test)]
mod tests;
