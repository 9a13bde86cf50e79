use proptest::prelude::*;

use super::*;

use NotificationTopic::{ApprovalRequested, FindingNew, FindingResolved, RunFailed};

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn night(zone: &str) -> QuietHours {
    QuietHours::new("22:00", "07:00", zone, BTreeSet::from([ApprovalRequested])).unwrap()
}

fn rule() -> NotificationRule {
    NotificationRule {
        topics: BTreeSet::from([FindingNew, FindingResolved, RunFailed]),
        channels: BTreeSet::new(),
        severity: Some(Severity::High),
        domains: BTreeSet::from([DomainId::parse("security").unwrap()]),
        digest: None,
    }
}

#[test]
fn a_rule_filters_findings_by_severity_and_domain() {
    let (security, cost) = (DomainId::parse("security"), DomainId::parse("cost"));
    let (security, cost) = (security.unwrap(), cost.unwrap());
    let finding = |severity, domain| NotificationEvent {
        topic: FindingNew,
        severity,
        domain,
    };
    for (event, expected) in [
        (finding(Some(Severity::Critical), Some(&security)), true),
        (finding(Some(Severity::High), Some(&security)), true),
        (finding(Some(Severity::Medium), Some(&security)), false),
        (finding(Some(Severity::High), Some(&cost)), false),
        (finding(Some(Severity::High), None), false),
        (finding(None, Some(&security)), false),
        (
            NotificationEvent {
                topic: FindingResolved,
                ..finding(Some(Severity::Medium), Some(&security))
            },
            false,
        ),
        (NotificationEvent::new(RunFailed), true),
        (NotificationEvent::new(ApprovalRequested), false),
    ] {
        assert_eq!(rule().covers(event), expected, "{event:?}");
    }
    let all = NotificationRule {
        severity: None,
        domains: BTreeSet::new(),
        ..rule()
    };
    assert!(all.covers(finding(None, None)));
}

#[test]
fn quiet_hours_over_midnight_end_in_the_morning() {
    let night = night("Europe/Berlin");
    for (now, end) in [
        ("2026-01-10T20:59:59Z", None),
        ("2026-01-10T21:00:00Z", Some("2026-01-11T06:00:00Z")),
        ("2026-01-11T05:59:59Z", Some("2026-01-11T06:00:00Z")),
        ("2026-01-11T06:00:00Z", None),
    ] {
        assert_eq!(night.end_after(at(now)), end.map(at), "{now}");
    }
}

/// The night in which the clocks are set forward is an hour shorter, the other one an hour longer.
#[test]
fn quiet_hours_follow_changes_of_the_clocks() {
    let night = night("Europe/Berlin");
    let spring = night.end_after(at("2026-03-28T21:30:00Z"));
    assert_eq!(spring, Some(at("2026-03-29T05:00:00Z")));
    let autumn = night.end_after(at("2026-10-24T20:30:00Z"));
    assert_eq!(autumn, Some(at("2026-10-25T06:00:00Z")));
}

/// The clocks of Berlin skip the hour from two to three on this day.
#[test]
fn quiet_hours_that_end_at_a_skipped_time_end_after_it() {
    let quiet = QuietHours::new("01:00", "02:30", "Europe/Berlin", BTreeSet::new()).unwrap();
    let end = quiet.end_after(at("2026-03-29T00:30:00Z"));
    assert_eq!(end, Some(at("2026-03-29T01:30:00Z")));
}

#[test]
fn an_exception_is_sent_in_quiet_hours() {
    let (night, now) = (night("UTC"), at("2026-01-10T23:00:00Z"));
    assert_eq!(night.due(ApprovalRequested, now), now);
    assert_eq!(night.due(RunFailed, now), at("2026-01-11T07:00:00Z"));
    let noon = at("2026-01-10T12:00:00Z");
    assert_eq!(night.due(RunFailed, noon), noon);
}

#[test]
fn quiet_hours_that_cannot_be_read_say_why() {
    let new = |from, to, zone| QuietHours::new(from, to, zone, BTreeSet::new());
    let of = |text: &str| text.to_owned();
    for (given, expected) in [
        (
            new("25:00", "07:00", "UTC"),
            QuietHoursError::Time(of("25:00")),
        ),
        (new("22:00", "7", "UTC"), QuietHoursError::Time(of("7"))),
        (
            new("22:00", "07:00", "Europe/Nowhere"),
            QuietHoursError::Zone(of("Europe/Nowhere")),
        ),
        (new("07:00", "07:00", "UTC"), QuietHoursError::Empty),
    ] {
        assert_eq!(given, Err(expected));
    }
}

proptest! {
    #[test]
    fn every_event_is_in_one_digest_that_ends_after_it(
        micros in 0_i64..4_000_000_000_000_000, seconds in 1_u64..1_000_000,
    ) {
        let (at, length) = (Timestamp::from_micros(micros).unwrap(), Duration::from_secs(seconds));
        let end = digest_end(at, length);
        prop_assert!(end > at);
        prop_assert!(end.as_micros() - micros <= i64::try_from(length.as_micros()).unwrap());
        let last = Timestamp::from_micros(end.as_micros() - 1).unwrap();
        prop_assert_eq!(digest_end(last, length), end);
    }
}
