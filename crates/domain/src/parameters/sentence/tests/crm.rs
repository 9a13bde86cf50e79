//! Customers: stages, sources, owners, budgets, dates of contact.

use serde_json::{Value, json};

use super::{asks, states};

fn declared() -> Value {
    json!([
        {"name": "stage", "type": "string", "enum": ["new", "qualified", "proposal sent", "won", "lost"],
         "synonyms": {"won": ["closed won"], "lost": ["closed lost", "gone"]}},
        {"name": "segment", "type": "string", "enum": ["SMB", "mid_market", "enterprise"]},
        {"name": "city", "type": "string", "description": "Where they live", "example": "Lisbon"},
        {"name": "owner", "type": "string", "description": "Who looks after them", "example": "Maria Gomez"},
        {"name": "lead_id", "type": "string", "example": "lead_204"},
        {"name": "email", "type": "string", "example": "kim@example.org"},
        {"name": "min_budget", "type": "number", "description": "Least budget in euros"},
        {"name": "max_budget", "type": "number", "description": "Largest budget in euros"},
        {"name": "limit", "type": "integer", "default": 20},
        {"name": "contacted_since", "type": "string", "example": "2026-01-31"},
        {"name": "include_archived", "type": "boolean", "default": false},
        {"name": "tags", "type": "array", "example": ["vip", "press"]},
    ])
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn a_sentence_about_customers_states_stages_people_and_budgets() {
    states(
        &declared(),
        &[
            (
                "leads with the stage qualified",
                json!({"stage": "qualified"}),
            ),
            ("show qualified leads", json!({"stage": "qualified"})),
            ("which proposals-sent leads are waiting?", json!({})),
            (
                "leads where the proposal sent out was ignored",
                json!({"stage": "proposal sent"}),
            ),
            ("closed won deals", json!({"stage": "won"})),
            ("stage is lost", json!({"stage": "lost"})),
            ("the new website", json!({})),
            ("only new ones", json!({"stage": "new"})),
            ("list new leads", json!({"stage": "new"})),
            ("how new is that?", json!({})),
            ("smb customers", json!({"segment": "SMB"})),
            ("mid-market accounts", json!({"segment": "mid_market"})),
            ("mid market accounts", json!({"segment": "mid_market"})),
            ("mid_market accounts", json!({"segment": "mid_market"})),
            ("Enterprises only", json!({"segment": "enterprise"})),
            ("who lives in Porto?", json!({"city": "Porto"})),
            ("who lives in New York", json!({"city": "New York"})),
            (
                "who called in March",
                json!({"contacted_since": "2026-03-01"}),
            ),
            ("leads in general", json!({})),
            (
                "everything that belongs to Otto Lang",
                json!({"owner": "Otto Lang"}),
            ),
            (
                "leads of Otto Lang in Porto",
                json!({"owner": "Otto Lang", "city": "Porto"}),
            ),
            ("owner: Otto", json!({"owner": "Otto"})),
            ("owner 'Otto Lang'", json!({"owner": "Otto Lang"})),
            ("who is the owner?", json!({})),
            ("owners of cats", json!({})),
            ("call lead_311", json!({"lead_id": "lead_311"})),
            ("call LEAD_311", json!({"lead_id": "LEAD_311"})),
            ("call lead 311", json!({})),
            (
                "mail jo@firm.test about it",
                json!({"email": "jo@firm.test"}),
            ),
            ("mail <jo@firm.test>.", json!({"email": "jo@firm.test"})),
            (
                "with a budget over 300k euros",
                json!({"min_budget": 300_000}),
            ),
            ("with at least €250,000", json!({"min_budget": 250_000})),
            ("under half a million", json!({})),
            ("under 2 million euros", json!({"max_budget": 2_000_000})),
            (
                "between 100,000 and 200,000 euros",
                json!({"min_budget": 100_000, "max_budget": 200_000}),
            ),
            (
                "at least 100k and at most 200k euros",
                json!({"min_budget": 100_000, "max_budget": 200_000}),
            ),
            ("min_budget=100000", json!({"min_budget": 100_000})),
            ("top 3 leads", json!({"limit": 3})),
            ("the first five", json!({"limit": 5})),
            ("limit 7", json!({"limit": 7})),
            ("limit it to 7 results", json!({"limit": 7})),
            ("10 results please", json!({"limit": 10})),
            ("3 people called", json!({})),
            (
                "contacted since 2026-05-02",
                json!({"contacted_since": "2026-05-02"}),
            ),
            (
                "contacted in the last 7 days",
                json!({"contacted_since": "2026-06-10"}),
            ),
            (
                "contacted since Monday",
                json!({"contacted_since": "2026-06-15"}),
            ),
            (
                "nobody wrote since March",
                json!({"contacted_since": "2026-03-01"}),
            ),
            ("include archived leads", json!({"include_archived": true})),
            (
                "including the archived ones",
                json!({"include_archived": true}),
            ),
            ("without archived leads", json!({"include_archived": false})),
            ("archived leads", json!({})),
            (
                "tags: vip, hot and press",
                json!({"tags": ["vip", "hot", "press"]}),
            ),
            (
                "tags vip-2026 and eu_press",
                json!({"tags": ["vip-2026", "eu_press"]}),
            ),
            ("what are tags good for?", json!({})),
            ("tell me a joke about customers", json!({})),
        ],
    );
}

#[test]
fn stages_and_budgets_that_are_not_understood_are_asked_about() {
    asks(
        &declared(),
        &[
            ("stage: frozen", json!({}), &["stage"]),
            ("stage=frozen", json!({}), &["stage"]),
            ("qualified or lost leads", json!({}), &["stage"]),
            (
                "qualified or lost leads in Porto",
                json!({"city": "Porto"}),
                &["stage"],
            ),
            ("a budget under $500", json!({}), &["max_budget"]),
            (
                "a budget of at least 1.200 euros",
                json!({}),
                &["min_budget"],
            ),
            ("limit 2.5", json!({}), &["limit"]),
            (
                "contacted since 03/04/2026",
                json!({}),
                &["contacted_since"],
            ),
        ],
    );
}
