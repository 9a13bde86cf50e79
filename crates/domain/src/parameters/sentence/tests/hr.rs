//! People at work: leave, teams, salaries, contracts.

use serde_json::{Value, json};

use super::{asks, states};

fn declared() -> Value {
    json!([
        {"name": "employee_id", "type": "string", "example": "E10423"},
        {"name": "start_date", "type": "string", "required": true, "example": "2026-08-03"},
        {"name": "end_date", "type": "string", "required": true, "example": "2026-08-14"},
        {"name": "leave_type", "type": "string", "enum": ["annual", "sick", "parental", "unpaid"],
         "synonyms": {"annual": ["vacation", "holiday"], "parental": ["maternity", "paternity"]}},
        {"name": "hours_per_week", "type": "number"},
        {"name": "salary", "type": "number", "description": "Yearly salary in euros"},
        {"name": "team", "type": "string", "description": "Which team", "example": "platform"},
        {"name": "year", "type": "integer"},
        {"name": "remote", "type": "boolean"},
        {"name": "employees", "type": "array", "example": ["E10423"]},
    ])
}

#[test]
fn a_sentence_about_people_states_dates_and_teams() {
    states(
        &declared(),
        &[
            (
                "vacation from 2026-07-06 to 2026-07-10",
                json!({"leave_type": "annual", "start_date": "2026-07-06", "end_date": "2026-07-10"}),
            ),
            (
                "sick leave between 1 June 2026 and 3 June 2026",
                json!({"leave_type": "sick", "start_date": "2026-06-01", "end_date": "2026-06-03"}),
            ),
            (
                "holidays from July 6, 2026 until July 10, 2026",
                json!({"leave_type": "annual", "start_date": "2026-07-06", "end_date": "2026-07-10"}),
            ),
            (
                "parental leave starting 2026-09-01",
                json!({"leave_type": "parental", "start_date": "2026-09-01"}),
            ),
            (
                "unpaid leave until 2026-09-01",
                json!({"leave_type": "unpaid", "end_date": "2026-09-01"}),
            ),
            (
                "who was away last month?",
                json!({"start_date": "2026-05-01", "end_date": "2026-05-31"}),
            ),
            (
                "who was away this year?",
                json!({"start_date": "2026-01-01"}),
            ),
            (
                "who was away in Q1 2026",
                json!({"start_date": "2026-01-01", "end_date": "2026-03-31"}),
            ),
            ("what happened in 2025?", json!({"year": 2025})),
            ("who is away?", json!({})),
            ("may I leave early?", json!({})),
            ("march on", json!({})),
            ("32 hours per week", json!({"hours_per_week": 32})),
            ("hours per week: 32.5", json!({"hours_per_week": 32.5})),
            ("a salary of 60k euros", json!({"salary": 60_000})),
            ("salary 60,000", json!({"salary": 60_000})),
            ("a salary of EUR 60 000", json!({"salary": 60_000})),
            ("60 000 euros a year", json!({"salary": 60_000})),
            ("the team platform-eu", json!({"team": "platform-eu"})),
            ("move her to team payroll", json!({"team": "payroll"})),
            ("the payroll team", json!({"team": "payroll"})),
            ("team=payroll", json!({"team": "payroll"})),
            ("the whole team", json!({})),
            ("our team is great", json!({})),
            ("which team?", json!({})),
            ("every team", json!({})),
            ("team lead wanted", json!({})),
            ("year 2024", json!({"year": 2024})),
            ("she works remotely", json!({"remote": true})),
            ("remote=false", json!({"remote": false})),
        ],
    );
}

#[test]
fn people_are_listed_or_one_is_named() {
    let list = json!([{"name": "employee_ids", "type": "array", "example": ["E10423"]}]);
    states(
        &list,
        &[
            (
                "onboard E20001, E20002 and E20003",
                json!({"employee_ids": ["E20001", "E20002", "E20003"]}),
            ),
            (
                "onboard E20001,E20002",
                json!({"employee_ids": ["E20001", "E20002"]}),
            ),
            ("onboard e20001", json!({"employee_ids": ["E20001"]})),
            (
                "employee ids [\"E20001\", \"E20002\"]",
                json!({"employee_ids": ["E20001", "E20002"]}),
            ),
            ("everybody except E20001 and E20002", json!({})),
            (
                "E20001 besides, except for E20002, and E20003 too",
                json!({"employee_ids": ["E20001"]}),
            ),
            ("route 66", json!({})),
        ],
    );
    asks(
        &list,
        &[
            ("E20001 to E20009", json!({}), &["employee_ids"]),
            ("from E20001 through E20009", json!({}), &["employee_ids"]),
        ],
    );
    let ports = json!([{"name": "ports", "type": "array", "example": [443]}]);
    states(
        &ports,
        &[
            ("ports 22, 80 and 443", json!({"ports": [22, 80, 443]})),
            ("ports 22,80,443", json!({"ports": [22, 80, 443]})),
            ("port 8080 only", json!({"ports": [8080]})),
            ("ports: 22", json!({"ports": [22]})),
            ("22 people", json!({})),
        ],
    );
}

#[test]
fn dates_of_leave_that_are_not_understood_are_asked_about() {
    asks(
        &declared(),
        &[
            (
                "vacation from 07/08/2026",
                json!({"leave_type": "annual"}),
                &["start_date"],
            ),
            ("sick and unpaid leave", json!({}), &["leave_type"]),
            ("leave_type: sabbatical", json!({}), &["leave_type"]),
            ("30 hours or 32 hours", json!({}), &["hours_per_week"]),
        ],
    );
}
