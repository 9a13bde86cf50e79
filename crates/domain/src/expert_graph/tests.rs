//! Tests of walks on fixed and random graphs.

use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::ids::PackageName;
use charter_contract::scope::Scope;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::catalogue::{Layer, Origin, Snapshot};

fn origin() -> Arc<Origin> {
    Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("p").unwrap(),
        version: "1".to_owned(),
    })
}

/// A node with every field that any type requires.
fn node(id: &str, of_type: &str) -> Value {
    json!({"id": id, "type": of_type, "domain": "security", "framework": "SOC2", "title": id,
        "description": "d", "collection_method": "m", "provider": "aws", "service": "ec2",
        "severity": "high", "approach": "a"})
}

fn edge(from: &str, edge_type: &str, to: &str) -> Value {
    json!({"from": from, "type": edge_type, "to": to, "domain": "security"})
}

fn layer(documents: &[Value]) -> Arc<Layer> {
    let mut layer = Layer::default();
    for document in documents {
        let value = document.clone();
        let document = match document.get("from") {
            Some(_) => Document::GraphEdge(serde_json::from_value(value).unwrap()),
            None => Document::GraphNode(serde_json::from_value(value).unwrap()),
        };
        layer.insert(document, origin(), String::new());
    }
    Arc::new(layer)
}

fn view(global: &[Value], tenant: &[Value]) -> View {
    View {
        global: layer(global),
        tenant: layer(tenant),
    }
}

fn id(text: &str) -> GraphNodeId {
    GraphNodeId::parse(text).unwrap()
}

fn soc2() -> Vec<Value> {
    vec![
        node("cc6.1", "Control"),
        node("cc6.6", "Control"),
        node("encryption", "Requirement"),
        node("ingress", "Requirement"),
        node("logs", "EvidenceType"),
        node("snapshot", "EvidenceType"),
        node("aws.key", "ResourceType"),
        node("aws.group", "ResourceType"),
        edge("cc6.1", "requires", "encryption"),
        edge("cc6.1", "requires", "ingress"),
        edge("cc6.6", "requires", "ingress"),
        edge("encryption", "evidenced_by", "logs"),
        edge("ingress", "evidenced_by", "snapshot"),
        edge("logs", "collected_via", "aws.key"),
        edge("snapshot", "collected_via", "aws.group"),
    ]
}

fn to_resources(from: &str) -> PathQuery {
    PathQuery {
        from: id(from),
        to: Target::Type(NodeType::ResourceType),
        direction: Direction::Out,
        depth: Depth::MOST,
        limit: MAX_FOUND,
    }
}

fn lines(paths: &Paths) -> Vec<String> {
    let line = |path: &Path| {
        let nodes: Vec<&str> = path.nodes.iter().map(AsRef::as_ref).collect();
        nodes.join(" > ")
    };
    paths.found.iter().map(line).collect()
}

fn near(found: &Bounded<Neighbour>) -> Vec<(usize, &str)> {
    let near = found.found.iter();
    near.map(|near| (near.distance, near.node.id.as_ref()))
        .collect()
}

#[test]
fn b000_17_paths_lead_from_a_control_to_its_resource_types() {
    let view = view(&soc2(), &[]);
    let graph = ExpertGraph::from_view(&view);
    let paths = graph.paths(&to_resources("cc6.1"));
    let wanted = [
        "cc6.1 > encryption > logs > aws.key",
        "cc6.1 > ingress > snapshot > aws.group",
    ];
    assert_eq!(lines(&paths), wanted);
    assert!(!paths.truncated);
    let one = PathQuery {
        limit: 1,
        ..to_resources("cc6.1")
    };
    let first = graph.paths(&one);
    assert_eq!(
        (lines(&first), first.truncated),
        (vec![wanted[0].to_owned()], true)
    );
    let back = PathQuery {
        from: id("aws.group"),
        to: Target::Type(NodeType::Control),
        direction: Direction::In,
        ..to_resources("cc6.1")
    };
    assert_eq!(
        lines(&graph.paths(&back)),
        [
            "aws.group > snapshot > ingress > cc6.1",
            "aws.group > snapshot > ingress > cc6.6"
        ]
    );
}

#[test]
fn b000_17_a_walk_ends_at_its_depth() {
    let view = view(&soc2(), &[]);
    let graph = ExpertGraph::from_view(&view);
    for (depth, found) in [(1, 0), (2, 0), (3, 2), (10, 2)] {
        let wanted = PathQuery {
            depth: Depth::try_from(depth).unwrap(),
            ..to_resources("cc6.1")
        };
        assert_eq!(graph.paths(&wanted).found.len(), found, "{depth}");
    }
    let two = Depth::try_from(2).unwrap();
    let around = graph.neighbours(&id("ingress"), &[Direction::Out, Direction::In], &[], two);
    assert_eq!(
        near(&around),
        [
            (1, "snapshot"),
            (1, "cc6.1"),
            (1, "cc6.6"),
            (2, "aws.group"),
            (2, "encryption")
        ]
    );
    let only = graph.neighbours(&id("ingress"), &[Direction::In], &[EdgeType::Requires], two);
    assert_eq!(near(&only), [(1, "cc6.1"), (1, "cc6.6")]);
    for depth in [0, 11] {
        assert_eq!(Depth::try_from(depth), Err(NotADepth(depth)));
    }
}

#[test]
fn b000_17_a_cycle_ends_every_walk() {
    let ring = [
        node("a", "Risk"),
        node("b", "Risk"),
        node("c", "Risk"),
        edge("a", "is_a", "b"),
        edge("b", "is_a", "c"),
        edge("c", "is_a", "a"),
    ];
    let view = view(&ring, &[]);
    let graph = ExpertGraph::from_view(&view);
    let around = graph.neighbours(&id("a"), &[Direction::Out], &[], Depth::MOST);
    assert_eq!(near(&around), [(1, "b"), (2, "c")]);
    let wanted = PathQuery {
        to: Target::Type(NodeType::Risk),
        ..to_resources("a")
    };
    assert_eq!(lines(&graph.paths(&wanted)), ["a > b", "a > b > c"]);
    let open = graph.unremediated(None).found;
    let open: Vec<&str> = open.iter().map(|risk| risk.id.as_ref()).collect();
    assert_eq!(open, ["a", "b", "c"], "a ring of categories hides nothing");
}

/// Registration rejects such edges, but a tenant's node that shadows a global one can still create them.
#[test]
fn b000_17_dangling_wrongly_typed_and_inactive_parts_are_passed_over() {
    let mut global = soc2();
    global.push(edge("snapshot", "collected_via", "nowhere"));
    global.push(edge("cc6.1", "requires", "aws.key"));
    let hidden = {
        let mut hidden = node("logs", "EvidenceType");
        hidden["status"] = json!("inactive");
        hidden
    };
    let view_without_logs = view(&global, &[hidden]);
    let graph = ExpertGraph::from_view(&view_without_logs);
    let left = ["cc6.1 > ingress > snapshot > aws.group"];
    assert_eq!(lines(&graph.paths(&to_resources("cc6.1"))), left);
    let retyped = view(&global, &[node("logs", "Risk")]);
    let graph = ExpertGraph::from_view(&retyped);
    assert_eq!(lines(&graph.paths(&to_resources("cc6.1"))), left);
    let withdrawn = {
        let mut withdrawn = edge("encryption", "evidenced_by", "logs");
        withdrawn["status"] = json!("inactive");
        withdrawn
    };
    let view_without_edge = view(&global, &[withdrawn]);
    let graph = ExpertGraph::from_view(&view_without_edge);
    assert_eq!(lines(&graph.paths(&to_resources("cc6.1"))), left);
}

#[test]
fn b000_17_an_edge_in_both_layers_is_one_edge() {
    let view = view(&soc2(), &soc2());
    let graph = ExpertGraph::from_view(&view);
    assert_eq!(graph.paths(&to_resources("cc6.1")).found.len(), 2);
    let near = graph.neighbours(&id("cc6.6"), &[Direction::Out], &[], Depth::ONE);
    let layers: Vec<WinningLayer> = near.found.iter().map(|near| near.layer).collect();
    assert_eq!(layers, [WinningLayer::TenantOverGlobal]);
}

#[test]
fn b000_1_another_tenants_graph_is_not_there() {
    let tenant = |name: &str| charter_contract::ids::TenantId::parse(name).unwrap();
    let snapshot = Snapshot {
        global: layer(&soc2()),
        tenants: [(
            tenant("acme"),
            layer(&[node("own", "Requirement"), edge("cc6.1", "requires", "own")]),
        )]
        .into(),
    };
    for (name, seen) in [("acme", 3), ("umbra", 2)] {
        let view = snapshot.view(&tenant(name));
        let graph = ExpertGraph::from_view(&view);
        let near = graph.neighbours(&id("cc6.1"), &[Direction::Out], &[], Depth::ONE);
        assert_eq!(near.found.len(), seen, "{name}");
        assert_eq!(graph.node(&id("own")).is_some(), name == "acme");
    }
}

#[test]
fn b000_17_a_risk_is_open_when_nothing_addresses_it_or_its_category() {
    let severe = |id: &str, severity: &str| {
        let mut risk = node(id, "Risk");
        risk["severity"] = json!(severity);
        risk
    };
    let documents = [
        severe("exposure", "high"),
        severe("open_group", "medium"),
        severe("open_acl", "critical"),
        severe("data", "high"),
        severe("public_bucket", "high"),
        severe("alone", "low"),
        node("lock", "Remediation"),
        node("block", "Remediation"),
        edge("open_group", "is_a", "exposure"),
        edge("open_acl", "is_a", "exposure"),
        edge("open_group", "remediated_by", "lock"),
        edge("public_bucket", "is_a", "data"),
        edge("data", "remediated_by", "block"),
    ];
    let view = view(&documents, &[]);
    let graph = ExpertGraph::from_view(&view);
    let open = |domain: Option<&str>| -> Vec<(String, Vec<String>)> {
        let domain = domain.map(|domain| charter_contract::ids::DomainId::parse(domain).unwrap());
        let open = graph.unremediated(domain.as_ref()).found.into_iter();
        open.map(|risk| {
            let categories = risk.categories.iter().map(ToString::to_string).collect();
            (risk.id.to_string(), categories)
        })
        .collect()
    };
    let wanted = [
        ("open_acl".to_owned(), vec!["exposure".to_owned()]),
        ("alone".to_owned(), vec![]),
    ];
    assert_eq!(open(None), wanted);
    assert_eq!(open(Some("security")), wanted);
    assert_eq!(open(Some("cost")), []);
}

/// Finds every simple path by exhaustive search.
fn naive(
    edges: &[(usize, usize)],
    path: &mut Vec<usize>,
    depth: usize,
    targets: &[usize],
    found: &mut Vec<Vec<usize>>,
) {
    if path.len() > depth {
        return;
    }
    let last = path[path.len() - 1];
    for (from, to) in edges {
        if *from == last && !path.contains(to) {
            path.push(*to);
            if targets.contains(to) {
                found.push(path.clone());
            }
            naive(edges, path, depth, targets, found);
            path.pop();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// On any graph of risks, the paths equal those of an exhaustive search, shortest first.
    #[test]
    fn b000_17_paths_are_those_of_a_naive_search(
        edges in proptest::collection::btree_set((0_usize..7, 0_usize..7), 0..24),
        target in 1_usize..7,
        depth in 1_u8..7,
    ) {
        let edges: Vec<(usize, usize)> = edges.into_iter().filter(|(a, b)| a != b).collect();
        let name = |n: usize| format!("r{n}");
        let mut documents: Vec<Value> = (0..7).map(|n| node(&name(n), "Risk")).collect();
        documents.extend(edges.iter().map(|(a, b)| edge(&name(*a), "is_a", &name(*b))));
        let view = view(&documents, &[]);
        let graph = ExpertGraph::from_view(&view);
        for (to, targets) in [
            (Target::Node(id(&name(target))), vec![target]),
            (Target::Type(NodeType::Risk), (0..7).collect()),
        ] {
            let wanted = PathQuery {
                from: id("r0"), to, direction: Direction::Out,
                depth: Depth::try_from(depth).unwrap(), limit: MAX_FOUND,
            };
            let mut expected = Vec::new();
            naive(&edges, &mut vec![0], usize::from(depth), &targets, &mut expected);
            expected.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
            let truncated = expected.len() > MAX_FOUND;
            expected.truncate(MAX_FOUND);
            let expected: Vec<String> = expected
                .into_iter()
                .map(|path| path.into_iter().map(name).collect::<Vec<_>>().join(" > "))
                .collect();
            let found = graph.paths(&wanted);
            prop_assert_eq!(lines(&found), expected);
            prop_assert_eq!(found.truncated, truncated);
        }
    }
}
