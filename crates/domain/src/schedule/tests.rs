use std::time::Duration;

use charter_contract::catalogue::schedule::{CronTiming, MissedPolicy, OverlapPolicy};
use charter_contract::finding::Finding;
use charter_contract::number::Positive;
use charter_contract::text::ShortText;
use charter_contract::time::Timestamp;
use serde_json::json;

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn parsed(expression: &str, zone: &str) -> Result<CronSchedule, CronError> {
    CronSchedule::parse(&CronTiming {
        expression: ShortText::parse(expression).unwrap(),
        time_zone: ShortText::parse(zone).unwrap(),
    })
}

/// The next occurrences after a time.
fn next(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let schedule = parsed(expression, zone).unwrap();
    let first = schedule.next_after(at(after));
    let all = std::iter::successors(first, |last| schedule.next_after(*last));
    all.take(count).map(|time| time.to_string()).collect()
}

#[test]
fn an_expression_is_read_in_its_time_zone() {
    for (expression, zone, after, expected) in [
        (
            "0 2 * * *",
            "UTC",
            "2026-01-01T02:00:00Z",
            ["2026-01-02T02:00:00Z", "2026-01-03T02:00:00Z"],
        ),
        (
            "30 9 * * MON-FRI",
            "Europe/Paris",
            "2026-01-02T12:00:00Z",
            ["2026-01-05T08:30:00Z", "2026-01-06T08:30:00Z"],
        ),
        (
            "0 0 29 2 *",
            "UTC",
            "2026-01-01T00:00:00Z",
            ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"],
        ),
        (
            "*/20 8 * * *",
            "UTC",
            "2026-01-01T08:20:00Z",
            ["2026-01-01T08:40:00Z", "2026-01-02T08:00:00Z"],
        ),
        (
            "0 0 13 * FRI",
            "UTC",
            "2026-02-12T00:00:00Z",
            ["2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z"],
        ),
        (
            "0 0 * * 7",
            "UTC",
            "2026-01-01T00:00:00Z",
            ["2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"],
        ),
    ] {
        assert_eq!(next(expression, zone, after, 2), expected, "{expression}");
    }
}

/// On 2026-03-29 Paris has no 02:30; on 2026-10-25 it has two.
#[test]
fn a_daily_time_fires_once_a_day_where_clocks_change() {
    let spring = next("30 2 * * *", "Europe/Paris", "2026-03-28T12:00:00Z", 3);
    assert_eq!(
        spring,
        [
            "2026-03-29T01:30:00Z",
            "2026-03-30T00:30:00Z",
            "2026-03-31T00:30:00Z"
        ]
    );
    let autumn = next("30 2 * * *", "Europe/Paris", "2026-10-24T12:00:00Z", 2);
    assert_eq!(autumn, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
}

#[test]
fn an_expression_for_every_hour_keeps_to_the_elapsed_time() {
    let autumn = next("0 * * * *", "Europe/Paris", "2026-10-24T23:30:00Z", 3);
    assert_eq!(
        autumn,
        [
            "2026-10-25T00:00:00Z",
            "2026-10-25T01:00:00Z",
            "2026-10-25T02:00:00Z"
        ]
    );
    let spring = next("0 * * * *", "Europe/Paris", "2026-03-29T00:30:00Z", 2);
    assert_eq!(spring, ["2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"]);
}

#[test]
fn an_invalid_expression_names_its_field() {
    assert_eq!(parsed("* * * *", "UTC").unwrap_err(), CronError::Fields(4));
    assert_eq!(
        parsed("* * * * *", "Mars/Base").unwrap_err(),
        CronError::TimeZone("Mars/Base".to_owned())
    );
    assert_eq!(parsed("0 0 30 2 *", "UTC").unwrap_err(), CronError::Never);
    for expression in [
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "5-1 * * * *",
        "*/0 * * * *",
        "a * * * *",
        "1,,2 * * * *",
        "+1 * * * *",
    ] {
        let refused = parsed(expression, "UTC").unwrap_err();
        assert!(matches!(refused, CronError::Field { .. }), "{expression}");
    }
}

fn hourly() -> Timing {
    Timing::Every {
        anchor: at("2026-01-01T00:00:00Z"),
        every_s: Positive::new(3_600).unwrap(),
    }
}

#[test]
fn missed_occurrences_follow_the_policy() {
    let (first, now) = (at("2026-01-01T01:00:00Z"), at("2026-01-01T04:00:10Z"));
    let hour = |hour: u8| at(&format!("2026-01-01T{hour:02}:00:00Z"));
    for (policy, start, missed) in [
        (MissedPolicy::RunOnce, vec![4], Some((3, 3))),
        (MissedPolicy::Skip, vec![4], Some((3, 3))),
        (MissedPolicy::RunAll, vec![1, 2, 3, 4], None),
    ] {
        let expected = DueOccurrences {
            start: start.into_iter().map(hour).collect(),
            missed: missed.map(|(latest, count)| Missed {
                latest: hour(latest),
                count,
            }),
            next: Some(hour(5)),
        };
        assert_eq!(hourly().due(first, now, policy), expected, "{policy}");
    }
    let late = at("2026-01-01T04:30:00Z");
    assert_eq!(
        hourly().due(first, late, MissedPolicy::RunOnce).start,
        [hour(4)]
    );
    assert_eq!(
        hourly().due(first, late, MissedPolicy::Skip).start,
        Vec::new()
    );
}

/// A server that was off for a year catches up within bounds.
#[test]
fn a_long_absence_is_caught_up_within_bounds() {
    let every_minute = Timing::Cron(Box::new(parsed("* * * * *", "UTC").unwrap()));
    let due = every_minute.due(
        at("2025-01-01T00:00:00Z"),
        at("2026-01-01T00:00:00Z"),
        MissedPolicy::RunAll,
    );
    assert_eq!(due.start.len(), charter_contract::bounds::SCHEDULE_CATCH_UP);
    assert_eq!(due.start.last(), Some(&at("2026-01-01T00:00:00Z")));
    assert_eq!(due.next, Some(at("2026-01-01T00:01:00Z")));
    assert!(due.missed.is_some());
}

#[test]
fn a_one_off_fires_once() {
    let once = Timing::Once(at("2026-01-01T00:00:00Z"));
    let due = once.due(
        at("2026-01-01T00:00:00Z"),
        at("2026-01-01T00:00:05Z"),
        MissedPolicy::Skip,
    );
    assert_eq!(due.start, [at("2026-01-01T00:00:00Z")]);
    assert_eq!(due.next, None);
}

#[test]
fn an_overlap_follows_the_policy() {
    for (policy, unfinished, expected) in [
        (OverlapPolicy::Skip, 0, StartDecision::Start),
        (OverlapPolicy::Skip, 1, StartDecision::Skip),
        (OverlapPolicy::Queue, 1, StartDecision::Wait),
        (OverlapPolicy::Allow, 9, StartDecision::Start),
    ] {
        assert_eq!(
            may_start(policy, unfinished),
            expected,
            "{policy} {unfinished}"
        );
    }
}

#[test]
fn a_delay_is_the_same_on_each_server_and_below_the_jitter() {
    let jitter = Positive::new(600);
    let time = at("2026-01-01T00:00:00Z");
    let one = delay("acme/nightly", time, jitter);
    assert_eq!(one, delay("acme/nightly", time, jitter));
    assert!(one < Duration::from_secs(600));
    assert_ne!(one, delay("acme/other", time, jitter));
    assert_eq!(delay("acme/nightly", time, None), Duration::ZERO);
}

fn finding(n: u8) -> Finding {
    serde_json::from_value(json!({
        "finding_id": format!("fnd_{n}"), "rule_id": "public", "skill_id": "security.exposure", "severity": "high",
        "resource_type": "security_group", "resource_id": format!("sg-{n} | <b>"),
    }))
    .unwrap()
}

#[test]
fn findings_are_new_unchanged_or_resolved() {
    let first = compare("acme/nightly/1", &[finding(1), finding(2)], None);
    assert_eq!((first.new, first.unchanged, first.resolved), (2, 0, 0));
    let second = compare("acme/nightly/2", &[finding(2), finding(3)], Some(&first));
    assert_eq!((second.new, second.unchanged, second.resolved), (1, 1, 1));
    assert_eq!(second.items[0].finding_id.as_str(), "fnd_3");
    // A finding is resolved once, and is new if it comes back.
    let third = compare(
        "acme/nightly/3",
        &[finding(1), finding(2), finding(3)],
        Some(&second),
    );
    assert_eq!((third.new, third.unchanged, third.resolved), (1, 2, 0));
}

/// The second one would be new again in every report, and start the triggers.
#[test]
fn a_finding_that_occurs_twice_counts_once() {
    let twice = [finding(1), finding(1)];
    let first = compare("acme/nightly/1", &twice, None);
    assert_eq!((first.new, first.items.len()), (1, 1));
    let second = compare("acme/nightly/2", &twice, Some(&first));
    assert_eq!((second.new, second.unchanged), (0, 1));
}

#[test]
fn a_report_in_markdown_escapes_the_texts_of_other_systems() {
    let report = compare("acme/nightly/1", &[finding(1)], None);
    let text = report.to_markdown("Nightly", "2026-01-01T00:00:00Z");
    assert!(
        text.contains("security\\_group sg-1 \\| &lt;b&gt;"),
        "{text}"
    );
}

#[test]
fn a_trigger_matches_new_findings_only() {
    let first = compare("acme/nightly/1", &[finding(1)], None);
    let second = compare("acme/nightly/2", &[finding(1)], Some(&first));
    let schedule = charter_contract::ids::ScheduleId::parse("nightly").unwrap();
    for (filter, matches) in [
        (json!({}), true),
        (json!({"min_severity": "medium"}), true),
        (json!({"min_severity": "critical"}), false),
        (json!({"rule": "other"}), false),
        (
            json!({"schedule": "nightly", "resource_type": "security_group"}),
            true,
        ),
        (json!({"domain": "crm"}), false),
    ] {
        let filter = serde_json::from_value(filter).unwrap();
        assert_eq!(
            matches_trigger(&filter, &schedule, None, &first.items[0]),
            matches,
            "{filter:?}"
        );
        assert!(!matches_trigger(&filter, &schedule, None, &second.items[0]));
    }
}
