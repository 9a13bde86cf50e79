use charter_contract::catalogue::Document;
use serde_json::{Value, json};

use super::*;
use crate::catalogue::tests::{agent, skill, view_of};

fn composed(id: &str, skills: &[&str], composition: &Value) -> Document {
    agent(
        id,
        &json!({"skill_refs": skills, "composition": composition}),
    )
}

fn plain(id: &str) -> Document {
    skill(id, &json!({}))
}

/// Agents that list no profile, and documents without an agent, are available in every profile.
#[test]
fn a_profile_narrows_the_agents_that_list_profiles_and_their_skills() {
    let view = view_of([
        plain("s.audit"),
        plain("s.other"),
        plain("s.any"),
        plain("s.free"),
        composed(
            "a.audit",
            &["s.audit"],
            &json!({"usable_in_profiles": ["audit", "ops"]}),
        ),
        composed(
            "a.other",
            &["s.other"],
            &json!({"usable_in_profiles": ["build"]}),
        ),
        composed("a.any", &["s.any"], &json!({})),
    ]);
    let audit = Label::parse("audit").unwrap();
    let served =
        ["s.audit", "s.other", "s.any", "s.free"].map(|skill| serves(&view, skill, &audit));
    assert_eq!(served, [true, false, true, true]);
    assert_eq!(
        outside(&view, &audit),
        [
            (DocumentKind::Agent, "a.other".to_owned()),
            (DocumentKind::Skill, "s.other".to_owned()),
        ]
    );
    assert_eq!(outside(&view, &Label::parse("build").unwrap()).len(), 2);
}

/// It is sufficient that one of two agents names the other.
#[test]
fn agents_conflict_whichever_of_them_names_the_other() {
    let view = view_of([
        composed("a.one", &[], &json!({"conflicts_with_agents": ["a.two"]})),
        composed("a.two", &[], &json!({})),
        composed("a.three", &[], &json!({})),
    ]);
    let found = |id: &str| view.agent(id).unwrap().document().clone();
    let (one, two, three) = (found("a.one"), found("a.two"), found("a.three"));
    assert!(conflict(&one, &two) && conflict(&two, &one));
    assert!(!conflict(&one, &three) && !conflict(&two, &three));
}
