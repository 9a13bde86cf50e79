//! Days and moments relative to a Wednesday in June.

use serde_json::json;

use super::{asks, states};

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn days_are_counted_from_the_day_of_the_request() {
    let declared = json!([
        {"name": "since", "type": "string", "example": "2026-01-31"},
        {"name": "until", "type": "string", "example": "2026-01-31"},
    ]);
    states(
        &declared,
        &[
            ("since today", json!({"since": "2026-06-17"})),
            ("since yesterday", json!({"since": "2026-06-16"})),
            (
                "since the day before yesterday",
                json!({"since": "2026-06-15"}),
            ),
            ("since Wednesday", json!({"since": "2026-06-17"})),
            ("since last Wednesday", json!({"since": "2026-06-10"})),
            ("since Sunday", json!({"since": "2026-06-14"})),
            ("until Sunday", json!({"until": "2026-06-21"})),
            ("before 2026-05-01", json!({"until": "2026-05-01"})),
            ("the past 3 weeks", json!({"since": "2026-05-27"})),
            (
                "in the last month",
                json!({"since": "2026-05-01", "until": "2026-05-31"}),
            ),
            ("in the last 2 months", json!({"since": "2026-04-17"})),
            ("since 3 days ago", json!({"since": "2026-06-14"})),
            ("this week", json!({"since": "2026-06-15"})),
            (
                "last week",
                json!({"since": "2026-06-08", "until": "2026-06-14"}),
            ),
            (
                "last quarter",
                json!({"since": "2026-01-01", "until": "2026-03-31"}),
            ),
            (
                "last year",
                json!({"since": "2025-01-01", "until": "2025-12-31"}),
            ),
            (
                "in February",
                json!({"since": "2026-02-01", "until": "2026-02-28"}),
            ),
            (
                "in October",
                json!({"since": "2025-10-01", "until": "2025-10-31"}),
            ),
            (
                "in February 2024",
                json!({"since": "2024-02-01", "until": "2024-02-29"}),
            ),
            ("since 14 April", json!({"since": "2026-04-14"})),
            ("since April 14th", json!({"since": "2026-04-14"})),
            (
                "since the 14th of April 2025",
                json!({"since": "2025-04-14"}),
            ),
            ("since 14. April", json!({"since": "2026-04-14"})),
            ("since 14.04.2026", json!({"since": "2026-04-14"})),
            ("since 04/14/2026", json!({"since": "2026-04-14"})),
            ("since 14/04/2026", json!({"since": "2026-04-14"})),
            (
                "from 2026-04-01 until 2026-04-30",
                json!({"since": "2026-04-01", "until": "2026-04-30"}),
            ),
            (
                "between 2026-04-01 and 2026-04-30",
                json!({"since": "2026-04-01", "until": "2026-04-30"}),
            ),
            ("since=2026-04-01", json!({"since": "2026-04-01"})),
            ("on Monday", json!({})),
            ("may it be", json!({})),
            ("we march on", json!({})),
            ("sat down", json!({})),
            ("version 2026", json!({})),
            ("2026-13-45", json!({})),
        ],
    );
    asks(&declared, &[("since 02/03/2026", json!({}), &["since"])]);
}

#[test]
fn a_number_of_days_is_a_number() {
    let declared = json!([{"name": "lookback_days", "type": "integer"}]);
    states(
        &declared,
        &[
            ("the last 7 days", json!({"lookback_days": 7})),
            ("the past week", json!({"lookback_days": 7})),
            ("over the past two weeks", json!({"lookback_days": 14})),
            ("a 10-day window", json!({"lookback_days": 10})),
            ("14d", json!({"lookback_days": 14})),
            ("twice a day", json!({})),
            ("one day", json!({"lookback_days": 1})),
            ("one of these days", json!({})),
        ],
    );
    asks(
        &declared,
        &[("the last 2 months", json!({}), &["lookback_days"])],
    );
}

#[test]
fn a_day_without_a_direction_is_asked_about() {
    let declared =
        json!([{"name": "date", "type": "string"}, {"name": "due_date", "type": "string"}]);
    let only = json!([{"name": "date", "type": "string"}]);
    states(
        &only,
        &[
            ("on 2026-06-20", json!({"date": "2026-06-20"})),
            ("yesterday", json!({"date": "2026-06-16"})),
        ],
    );
    asks(&only, &[("on Friday", json!({}), &["date"])]);
    states(
        &declared,
        &[("due date: 2026-06-20", json!({"due_date": "2026-06-20"}))],
    );
}
