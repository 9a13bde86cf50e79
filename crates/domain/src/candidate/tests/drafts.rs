//! What a code agent drafts, and what becomes of it.

use super::*;

fn draft(value: &Value) -> CandidateDraft {
    serde_json::from_value(value.clone()).unwrap()
}

/// Finds the vault of a name, which is given.
fn finds() -> Value {
    json!({
        "name": "Find a ${vault}", "description": "Finds the vault\nof a name.",
        "requests": ["which vault is Mrs. Ames's", "which vault is Mrs. Ames's"],
        "parameters": [{"name": "owner", "tool": "vault.find", "parameter": "name"}],
        "steps": [{"step_id": "look", "tool": "vault.find", "arguments": {"name": "${user.owner}"}}],
    })
}

/// Locks the vault that is found.
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

/// Calls and parameters are the draft's; the id, where it belongs, and what nobody may evaluate in its
/// words are not.
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

/// A change is supervised, its writes are reviewed, and what undoes them is what a registered playbook
/// does: none of that is the draft's to say.
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

/// Every way out of the boundary, and every reference to what is not there, is told.
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
    assert!(read(&with("/parameters/0/parameter", json!("none"))).contains("has no parameter `none`"));
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
