use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::scope::Scope;
use serde_json::{Value, json};

use super::*;
use crate::catalogue::tests::layer_of;

fn layer(documents: &[(DocumentKind, Value)]) -> Arc<Layer> {
    let documents = documents
        .iter()
        .map(|(kind, value)| Document::from_value(*kind, value).unwrap().0);
    layer_of(Scope::Global, documents)
}

fn domain() -> (DocumentKind, Value) {
    let value = json!({"domain_id": "cost", "display_name": "Cost", "domain_type": "domain"});
    (DocumentKind::Domain, value)
}

fn tool(id: &str) -> (DocumentKind, Value) {
    let value = json!({
        "tool_id": id, "name": "t", "provider": "p", "tool_class": "readonly", "domain": "cost",
        "description": "d", "language": "python", "parameters": [],
        "implementation": {"type": "script", "path": "scripts/t.py"}
    });
    (DocumentKind::Tool, value)
}

fn skill(id: &str, tools: &[&str]) -> (DocumentKind, Value) {
    let steps = tools.iter().enumerate().map(
        |(at, tool)| json!({"step_id": format!("s{at}"), "type": "readonly", "tool_id": tool}),
    );
    let value = json!({
        "skill_id": id, "name": "n", "domain": "cost", "display_name": "N", "description": "d",
        "purpose": "p", "output_type": "finding", "execution_plan": {"steps": steps.collect::<Vec<_>>()}
    });
    (DocumentKind::Skill, value)
}

fn agent(id: &str, skills: &[&str]) -> (DocumentKind, Value) {
    let value = json!({
        "agent_id": id, "name": "n", "display_name": "N", "agent_type": "domain", "domain": "cost",
        "capabilities": ["c"], "skill_refs": skills
    });
    (DocumentKind::Agent, value)
}

fn rail(id: &str) -> (DocumentKind, Value) {
    let value = json!({
        "guardrail_id": id, "scope": "skill", "applies_to": ["*"], "domain": "cost", "rule": "r",
        "enforcement": "soft_warn", "message": "m"
    });
    (DocumentKind::Guardrail, value)
}

/// What is around a document: `kind id side distance`, and `from -> to pointer`.
fn around(
    view: &View,
    root: (DocumentKind, &str),
    sides: &[DependencySide],
    depth: u8,
) -> (Vec<String>, Vec<String>) {
    let tenant = Dependents::from_layer(&view.tenant);
    let global = Dependents::from_layer(&view.global);
    let graph = DependencyGraph {
        view,
        tenant: &tenant,
        global: &global,
    };
    let root = DocumentRef {
        kind: root.0,
        id: root.1.to_owned(),
    };
    let found = graph.around(&root, sides, Depth::try_from(depth).unwrap());
    assert!(!found.truncated);
    let name = |name: &DocumentRef| format!("{} {}", name.kind, name.id);
    let nodes = found
        .nodes
        .iter()
        .map(|node| format!("{} {:?} {}", name(&node.document), node.side, node.distance));
    let edges = found.edges.iter().map(|edge| {
        format!(
            "{} -> {} {}",
            name(&edge.from),
            name(&edge.to),
            edge.pointer
        )
    });
    (nodes.collect(), edges.collect())
}

fn view(tenant: &[(DocumentKind, Value)], global: &[(DocumentKind, Value)]) -> View {
    View {
        tenant: layer(tenant),
        global: layer(global),
    }
}

fn shared() -> Vec<(DocumentKind, Value)> {
    vec![
        domain(),
        tool("t.one"),
        tool("t.two"),
        skill("s.a", &["t.one", "t.two", "t.one"]),
        skill("s.b", &["t.two"]),
        agent("domain.x", &["s.a"]),
        rail("r"),
    ]
}

#[test]
fn a_walk_goes_to_what_is_needed_and_to_what_needs_it() {
    let view = view(&[], &shared());
    let (nodes, edges) = around(
        &view,
        (DocumentKind::Skill, "s.a"),
        &DependencySide::ALL,
        10,
    );
    assert_eq!(
        nodes,
        [
            "tool t.one Needs 1",
            "tool t.two Needs 1",
            "domain cost Needs 1",
            "agent domain.x NeededBy 1",
        ]
    );
    assert_eq!(
        edges,
        [
            "skill s.a -> tool t.one /execution_plan/steps/0/tool_id",
            "skill s.a -> tool t.two /execution_plan/steps/1/tool_id",
            "skill s.a -> tool t.one /execution_plan/steps/2/tool_id",
            "skill s.a -> domain cost /domain",
            "tool t.one -> domain cost /domain",
            "tool t.two -> domain cost /domain",
            "agent domain.x -> skill s.a /skill_refs/0",
        ]
    );
}

#[test]
fn a_walk_goes_as_far_as_it_may() {
    let view = view(&[], &shared());
    let needed = |depth| {
        around(
            &view,
            (DocumentKind::Tool, "t.one"),
            &[DependencySide::NeededBy],
            depth,
        )
        .0
    };
    assert_eq!(needed(1), ["skill s.a NeededBy 1"]);
    assert_eq!(
        needed(2),
        ["skill s.a NeededBy 1", "agent domain.x NeededBy 2"]
    );
    let needs = around(
        &view,
        (DocumentKind::Agent, "domain.x"),
        &[DependencySide::Needs],
        1,
    )
    .0;
    assert_eq!(needs, ["skill s.a Needs 1", "domain cost Needs 1"]);
}

/// B000-1: what is shadowed needs nothing, and what stands in its place does; a guardrail stands beside its like.
#[test]
fn b000_1_what_is_shadowed_has_no_part_in_it() {
    let own = [skill("s.a", &["t.two", "t.gone"]), rail("r")];
    let view = view(&own, &shared());
    let by = |id| {
        around(
            &view,
            (DocumentKind::Tool, id),
            &[DependencySide::NeededBy],
            1,
        )
        .0
    };
    assert_eq!(by("t.one"), [""; 0]);
    assert_eq!(
        by("t.two"),
        ["skill s.a NeededBy 1", "skill s.b NeededBy 1"]
    );
    // What is missing is told of as well.
    let needs = around(
        &view,
        (DocumentKind::Skill, "s.a"),
        &[DependencySide::Needs],
        1,
    )
    .0;
    assert_eq!(
        needs,
        [
            "tool t.two Needs 1",
            "tool t.gone Needs 1",
            "domain cost Needs 1"
        ]
    );
    let (_, edges) = around(
        &view,
        (DocumentKind::Domain, "cost"),
        &[DependencySide::NeededBy],
        1,
    );
    let rails = edges.iter().filter(|edge| edge.starts_with("guardrail r "));
    assert_eq!(rails.count(), 1);
    let (_, edges) = around(
        &view,
        (DocumentKind::Guardrail, "r"),
        &[DependencySide::Needs],
        1,
    );
    assert_eq!(edges, ["guardrail r -> domain cost /domain"]);
}

#[test]
fn a_walk_returns_so_much_and_says_that_there_is_more() {
    let mut documents = shared();
    documents.extend((0..MAX_NODES).map(|at| skill(&format!("s.more{at:04}"), &["t.one"])));
    let view = view(&[], &documents);
    let none = Dependents::default();
    let global = Dependents::from_layer(&view.global);
    let graph = DependencyGraph {
        view: &view,
        tenant: &none,
        global: &global,
    };
    let found = |id: &str| {
        let root = DocumentRef {
            kind: DocumentKind::Tool,
            id: id.to_owned(),
        };
        graph.around(&root, &[DependencySide::NeededBy], Depth::ONE)
    };
    let many = found("t.one");
    assert_eq!((many.nodes.len(), many.truncated), (MAX_NODES, true));
    let few = found("t.two");
    assert_eq!((few.nodes.len(), few.truncated), (2, false));
}
