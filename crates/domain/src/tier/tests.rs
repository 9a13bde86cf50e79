use charter_contract::catalogue::Document;
use serde_json::{Value, json};

use super::*;
use crate::catalogue::tests::{agent, skill, view_of};

fn tiered(id: &str, tier: &str) -> Document {
    skill(id, &json!({"tier": tier}))
}

fn supporting(id: &str, support: &[&str], skills: &[&str]) -> Document {
    agent(id, &json!({"tier_support": support, "skill_refs": skills}))
}

fn playbook(id: &str, tier: &str, agent: &Value) -> Document {
    let playbook = json!({
        "playbook_id": id, "name": "X", "domain": "s", "tier": tier, "grounding_agent": agent,
        "trigger_conditions": [],
        "steps": [{"step_id": "one", "name": "one", "type": "write", "tool_id": "t.x"}],
        "safety": {"safety_class": "supervised"},
    });
    Document::Playbook(serde_json::from_value(playbook).unwrap())
}

/// B000-23: a caller can use a skill if the skill's agent supports a tier, up to the caller's, on which it may be used.
#[test]
fn b000_23_an_agents_tiers_bound_its_skills() {
    use Tier::{Advanced, Basic};
    let (never, basic, advanced) = (
        ServedTiers::Never,
        ServedTiers::From(Basic),
        ServedTiers::From(Advanced),
    );
    let cases: [(&str, &[&str], ServedTiers); 8] = [
        ("basic", &[], basic),
        ("advanced", &[], advanced),
        ("basic", &["basic"], basic),
        ("basic", &["advanced", "basic"], basic),
        ("basic", &["advanced"], advanced),
        ("advanced", &["advanced"], advanced),
        ("advanced", &["basic", "advanced"], advanced),
        ("advanced", &["basic"], never),
    ];
    for (tier, support, expected) in cases {
        let view = view_of([
            tiered("s.a", tier),
            supporting("agent.a", support, &["s.a"]),
        ]);
        let found = view.skill("s.a").unwrap();
        let served = skill_served(&view, found.document());
        assert_eq!(served, expected, "{tier} within {support:?}");
    }
    // A tier includes the lower ones.
    for (served, on) in [
        (never, [false, false]),
        (basic, [true, true]),
        (advanced, [false, true]),
    ] {
        assert_eq!([Basic, Advanced].map(|tier| served.reaches(tier)), on);
    }
}

/// Routing indexes hide exactly the documents that each document's tier excludes.
#[test]
fn b000_23_the_limited_are_those_that_the_basic_tier_does_not_reach() {
    let view = view_of([
        tiered("s.free", "basic"),
        tiered("s.high", "advanced"),
        tiered("s.bounded", "basic"),
        tiered("s.lost", "advanced"),
        supporting("agent.all", &["basic", "advanced"], &["s.free", "s.high"]),
        supporting("agent.high", &["advanced"], &["s.bounded"]),
        supporting("agent.low", &["basic"], &["s.lost"]),
        playbook("p.free", "basic", &Value::Null),
        playbook("p.high", "advanced", &Value::Null),
        playbook("p.made", "basic", &json!("agent.high")),
    ]);
    let mut found: Vec<(String, ServedTiers)> = limited(&view)
        .into_iter()
        .map(|(kind, id, served)| (format!("{kind} {id}"), served))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let advanced = ServedTiers::From(Tier::Advanced);
    let expected = [
        ("agent agent.high", advanced),
        ("playbook p.high", advanced),
        ("playbook p.made", advanced),
        ("skill s.bounded", advanced),
        ("skill s.high", advanced),
        ("skill s.lost", ServedTiers::Never),
    ];
    assert_eq!(found, expected.map(|(id, served)| (id.to_owned(), served)));
}
