//! Tests of a code agent's drafts and the resulting documents.

use super::*;

fn draft(value: &Value) -> CandidateDraft {
    serde_json::from_value(value.clone()).unwrap()
}

/// A draft that finds the vault with the name in its parameter.
fn finds() -> Value {
    json!({
        "name": "Find a ${vault}", "description": "Finds the vault\nof a name.",
        "requests": ["which vault is Mrs. Ames's", "which vault is Mrs. Ames's"],
        "parameters": [{"name": "owner", "tool": "vault.find", "parameter": "name"}],
        "steps": [{"step_id": "look", "tool": "vault.find", "arguments": {"name": "${user.owner}"}}],
    })
}

/// A draft that locks the vault that it finds.
fn locks() -> Value {
    let mut draft = finds();
    draft["steps"].as_array_mut().unwrap().push(json!({
        "step_id": "lock", "tool": "vault.lock", "arguments": {"vault_id": "${look.vault_id}"},
    }));
    draft
}

fn refused(wanted: CandidateKind, draft_: &Value) -> String {
    let brief = brief(wanted, &[]);
    drafted(&brief, &draft(draft_)).unwrap_err().join("; ")
}

/// The draft determines calls and parameters. It does not determine the id or the domain, and evaluated syntax is
/// removed from its words.
#[test]
fn b000_5_a_draft_becomes_a_skill_within_the_boundary() {
    let brief = brief(CandidateKind::Read, &[]);
    let document = drafted(&brief, &draft(&finds())).unwrap();
    assert_eq!(breaches(&brief, &document), [""; 0]);
    assert_eq!(document.inspect().violations, []);
    let Document::Skill(skill) = document else {
        panic!("a skill was wanted");
    };
    assert_eq!(skill.skill_id.as_ref(), brief.document_id());
    assert!(skill.is_candidate);
    assert_eq!(skill.display_name.as_str(), "Find a vault");
    assert_eq!(skill.description.as_str(), "Finds the vault of a name.");
    let examples: Vec<&str> = skill.examples.iter().map(|text| text.as_str()).collect();
    assert_eq!(
        examples,
        ["lock the vault of Mrs. Ames", "which vault is Mrs. Ames's"]
    );
    let [owner] = &skill.parameters[..] else {
        panic!("{:?}", skill.parameters);
    };
    assert_eq!((owner.name.as_ref(), owner.required), ("owner", true));
}

/// A change is supervised, its writes are reviewed, and registered playbooks supply its reversals. The draft controls
/// none of these.
#[test]
fn b000_18_a_draft_of_a_change_is_reviewed() {
    let brief = brief(CandidateKind::Change, &[]);
    let document = drafted(&brief, &draft(&locks())).unwrap();
    assert_eq!(breaches(&brief, &document), [""; 0]);
    assert_eq!(document.inspect().violations, []);
    let Document::Playbook(playbook) = document else {
        panic!("a playbook was wanted");
    };
    assert_eq!(playbook.safety.safety_class, SafetyClass::Supervised);
    let reviewed: Vec<&str> = playbook
        .safety
        .requires_human_review_for
        .iter()
        .map(AsRef::as_ref)
        .collect();
    assert_eq!(reviewed, ["lock"]);
    let undone = playbook.rollback_steps.iter();
    let undone: Vec<&str> = undone.map(|step| step.reverses.as_ref()).collect();
    assert_eq!(undone, ["lock"]);
    let mut parts = locks();
    parts["safety"] = json!({"safety_class": "automated"});
    assert!(serde_json::from_value::<CandidateDraft>(parts).is_err());
}

/// Every step outside the boundary, and every reference to a missing value, is reported.
#[test]
fn b000_5_violations_of_a_draft_are_reported() {
    let with = |pointer: &str, value: Value| {
        let mut changed = finds();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let tool = "/steps/0/tool";
    let argument = "/steps/0/arguments/name";
    let read = |draft: &Value| refused(CandidateKind::Read, draft);
    assert!(read(&with(tool, json!("mail.send"))).contains("`mail.send` is not offered"));
    assert!(read(&with(tool, json!("vault.audit"))).contains("`vault.audit` is not offered"));
    assert!(read(&locks()).contains("only reading is requested"));
    assert!(read(&with("/steps/0/arguments", json!({}))).contains("a required parameter"));
    assert!(read(&with(argument, json!("${user.other}"))).contains("`${user.other}` is neither"));
    assert!(read(&with(argument, json!("${later.x}"))).contains("`${later.x}` is neither"));
    assert!(
        read(&with(argument, json!("Ames"))).contains("no step refers to the parameter `owner`")
    );
    assert!(
        read(&with("/parameters/0/parameter", json!("none"))).contains("has no parameter `none`")
    );
    assert!(read(&with("/parameters/0/tool", json!("mail.send"))).contains("is not offered"));
    assert!(read(&with("/parameters/0/name", json!("a.b"))).contains("starts a path"));
    assert!(read(&with("/steps", json!([]))).contains("no steps"));
    let twice = finds()["steps"][0].clone();
    assert!(read(&with("/steps", json!([twice, twice]))).contains("it is duplicated"));
    let many: Vec<Value> = (0..9)
        .map(|at| json!({"step_id": format!("s{at}"), "tool": "clock.now", "arguments": {}}))
        .collect();
    assert!(read(&with("/steps", json!(many))).contains("more than 8 steps"));
    assert!(refused(CandidateKind::Change, &finds()).contains("only reads"));
}
