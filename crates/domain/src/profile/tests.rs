use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::ids::PackageName;
use charter_contract::scope::Scope;
use serde_json::{Value, json};

use super::*;
use crate::catalogue::{Layer, Origin};

fn skill(id: &str) -> Document {
    let skill = json!({
        "skill_id": id, "name": "x", "domain": "s", "display_name": "X", "description": "x", "purpose": "x",
        "output_type": "finding",
        "execution_plan": {"steps": [{"step_id": "one", "type": "read", "tool_id": "t.x"}]},
    });
    Document::Skill(serde_json::from_value(skill).unwrap())
}

fn agent(id: &str, skills: &[&str], composition: &Value) -> Document {
    let agent = json!({
        "agent_id": id, "name": "x", "display_name": "X", "agent_type": "domain", "domain": "s",
        "skill_refs": skills, "composition": composition,
    });
    Document::Agent(serde_json::from_value(agent).unwrap())
}

fn view(documents: Vec<Document>) -> View {
    let origin = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("p").unwrap(),
        version: "1".into(),
    });
    let mut global = Layer::default();
    for document in documents {
        global.insert(document, Arc::clone(&origin), String::new());
    }
    View {
        global: Arc::new(global),
        tenant: Arc::default(),
    }
}

/// Agents that list no profile, and what belongs to no agent, are served in every profile.
#[test]
fn a_profile_narrows_the_agents_that_list_profiles_and_their_skills() {
    let view = view(vec![
        skill("s.audit"),
        skill("s.other"),
        skill("s.any"),
        skill("s.free"),
        agent(
            "a.audit",
            &["s.audit"],
            &json!({"usable_in_profiles": ["audit", "ops"]}),
        ),
        agent(
            "a.other",
            &["s.other"],
            &json!({"usable_in_profiles": ["build"]}),
        ),
        agent("a.any", &["s.any"], &json!({})),
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

/// One of two agents naming the other is enough.
#[test]
fn agents_conflict_whichever_of_them_names_the_other() {
    let view = view(vec![
        agent("a.one", &[], &json!({"conflicts_with_agents": ["a.two"]})),
        agent("a.two", &[], &json!({})),
        agent("a.three", &[], &json!({})),
    ]);
    let found = |id: &str| view.agent(id).unwrap().document().clone();
    let (one, two, three) = (found("a.one"), found("a.two"), found("a.three"));
    assert!(conflict(&one, &two) && conflict(&two, &one));
    assert!(!conflict(&one, &three) && !conflict(&two, &three));
}
