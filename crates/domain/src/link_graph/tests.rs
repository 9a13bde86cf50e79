use std::collections::BTreeSet;

use charter_contract::link_graph::SkillGrants;
use proptest::prelude::*;

use super::*;

fn id(text: &str) -> SkillId {
    SkillId::parse(text).unwrap()
}

fn ids(text: &str) -> Vec<SkillId> {
    text.split_whitespace().map(id).collect()
}

/// A folder if it has children, else a leaf.
fn node(name: &str, children: &str) -> SkillNode {
    SkillNode {
        id: id(name),
        summary: Text::parse(name).unwrap(),
        is_folder: !children.is_empty(),
        children: ids(children).into(),
    }
}

fn graph(nodes: &[(&str, &str)]) -> LinkGraph {
    let mut graph = LinkGraph::default();
    for (name, children) in nodes {
        graph.insert_or_replace(node(name, children));
    }
    graph
}

fn alone(graph: &LinkGraph) -> SkillsView<'_> {
    SkillsView {
        own: None,
        global: graph,
    }
}

fn only(text: &str) -> SkillGrants {
    SkillGrants::Only(ids(text).into_iter().collect())
}

fn cycle(view: SkillsView<'_>, id: &SkillId, children: &[SkillId]) -> Option<CyclePath> {
    view.cycle(id, children, &mut LinkSteps::default()).unwrap()
}

fn reached(view: SkillsView<'_>, grants: &SkillGrants) -> Vec<String> {
    let reach = view.reach(grants);
    let nodes = reach.places().map(|place| view.node(place).unwrap());
    let ids: BTreeSet<String> = nodes.map(|node| node.id.to_string()).collect();
    ids.into_iter().collect()
}

/// B001-6: descendants at any depth; neither ancestors nor siblings; nothing without grants.
#[test]
fn b001_6_a_grant_opens_what_is_under_it_and_nothing_else() {
    let graph = graph(&[
        ("root", "a b"),
        ("a", "a1 a2"),
        ("a1", "deep"),
        ("deep", ""),
        ("a2", ""),
        ("b", ""),
    ]);
    let view = alone(&graph);
    for (grants, expected) in [
        (only("a"), vec!["a", "a1", "a2", "deep"]),
        (only("a1 b"), vec!["a1", "b", "deep"]),
        (only("deep"), vec!["deep"]),
        (only(""), vec![]),
        (only("missing"), vec![]),
        (SkillGrants::All, vec!["a", "a1", "a2", "b", "deep", "root"]),
    ] {
        assert_eq!(reached(view, &grants), expected, "{grants:?}");
    }
}

/// Each parent lists a shared child, and a walk from several parents visits it once.
#[test]
fn b001_5_a_child_of_several_parents_is_listed_by_each_and_visited_once() {
    let graph = graph(&[("a", "x y"), ("b", "x"), ("x", ""), ("y", "")]);
    let view = alone(&graph);
    for parent in ["a", "b"] {
        let (_, node) = view.find(&id(parent)).unwrap();
        assert!(node.children.contains(&id("x")), "{parent}");
    }
    assert_eq!(view.parents(&id("x")).count(), 2);
    let reach = view.reach(&only("a b"));
    assert_eq!(reach.places().count(), 4);
    assert_eq!(reached(view, &only("b")), ["b", "x"]);
}

/// B001-7: a change of parents changes access at once.
#[test]
fn b001_7_access_follows_the_links() {
    let mut graph = graph(&[("a", "x"), ("b", "y"), ("x", ""), ("y", "")]);
    assert_eq!(reached(alone(&graph), &only("a")), ["a", "x"]);
    graph.insert_or_replace(node("a", "y"));
    assert_eq!(reached(alone(&graph), &only("a")), ["a", "y"]);
    graph.remove(&id("y"));
    assert_eq!(reached(alone(&graph), &only("a")), ["a"]);
    assert_eq!(graph.parents(&id("x")).count(), 0);
}

#[test]
fn a_tenants_skill_shadows_the_global_one() {
    let global = graph(&[("f", "x y"), ("x", ""), ("y", "")]);
    let own = graph(&[("f", "z"), ("z", ""), ("y", "")]);
    let view = SkillsView {
        own: Some(&own),
        global: &global,
    };
    assert_eq!(reached(view, &only("f")), ["f", "z"]);
    assert_eq!(reached(view, &SkillGrants::All), ["f", "x", "y", "z"]);
    let all = view.reach(&SkillGrants::All);
    let layers: Vec<(LayerOf, &str)> = all
        .places()
        .map(|place| (place.layer, view.node(place).unwrap().id.as_str()))
        .collect();
    assert!(layers.contains(&(LayerOf::Own, "f")) && layers.contains(&(LayerOf::Global, "x")));
    assert_eq!(layers.len(), 4);
    // The global folder is shadowed, so its links do not apply.
    assert_eq!(view.parents(&id("x")).count(), 0);
}

/// Each skill in the middle of a long chain has equally many skills above and below.
#[test]
fn the_writes_of_one_request_follow_so_many_links_and_no_more() {
    let name = |at: usize| format!("f{at}");
    let mut graph = LinkGraph::default();
    for at in 0..10_000 {
        graph.insert_or_replace(node(&name(at), &name(at + 1)));
    }
    let mut steps = LinkSteps::default();
    let view = alone(&graph);
    let writes = (0..1_000).map(|_| view.cycle(&id("f5000"), &ids("f5001"), &mut steps));
    let written = writes.take_while(|found| *found == Ok(None)).count();
    // Two steps for each of the 5,000 skills on either side.
    assert!((95..=105).contains(&written), "{written}");
    let refused = view.cycle(&id("f5000"), &ids("f5001"), &mut steps);
    assert_eq!(refused, Err(TooManyLinks));
    assert_eq!(cycle(view, &id("f5000"), &ids("f5001")), None);
}

/// B001-4
#[test]
fn b001_4_a_cycle_is_named_by_its_path() {
    let graph = graph(&[("a", "b"), ("b", "c d"), ("c", ""), ("d", "")]);
    let view = alone(&graph);
    let path = |name: &str, children: &str| {
        let cycle = cycle(view, &id(name), &ids(children));
        cycle.map(|cycle| cycle.to_string())
    };
    assert_eq!(path("c", "a"), Some("c → a → b → c".to_owned()));
    assert_eq!(path("d", "x b"), Some("d → b → d".to_owned()));
    assert_eq!(path("new", "a c"), None);
    assert_eq!(path("b", "missing"), None);
    assert_eq!(path("e", "e"), Some("e → e".to_owned()));
    // Its current links do not count.
    assert_eq!(path("a", "c"), None);
}

/// B001-4: a tenant's skill may close a cycle through the global layer.
#[test]
fn b001_4_a_cycle_through_both_layers_is_found() {
    let global = graph(&[("f", "x"), ("x", "")]);
    let own = LinkGraph::default();
    let view = SkillsView {
        own: Some(&own),
        global: &global,
    };
    let cycle = cycle(view, &id("x"), &ids("f")).unwrap();
    assert_eq!(cycle.to_string(), "x → f → x");
}

/// Requirement: a chain of 10,000 folders neither overflows the stack nor takes long.
#[test]
fn b001_6_a_chain_of_ten_thousand_folders_is_walked() {
    const DEEP: usize = 10_000;
    let link = |at: usize| {
        let child = format!("f{}", at + 1);
        node(&format!("f{at}"), if at + 1 < DEEP { &child } else { "" })
    };
    for order in [(0..DEEP).collect::<Vec<_>>(), (0..DEEP).rev().collect()] {
        let mut graph = LinkGraph::default();
        for at in order {
            let node = link(at);
            assert_eq!(cycle(alone(&graph), &node.id, &node.children), None);
            graph.insert_or_replace(node);
        }
        let view = alone(&graph);
        let reach = view.reach(&only("f0"));
        assert_eq!(reach.global.count_ones(..), DEEP);
        assert_eq!(view.reach(&only("f9990")).global.count_ones(..), 10);
        assert_eq!(view.lint(&reach), []);
        let cycle = cycle(view, &id("f9999"), &ids("f0")).unwrap();
        assert_eq!(cycle.0.len(), DEEP + 1);
        assert!(cycle.to_string().contains("… 9981 more …"), "{cycle}");
    }
}

#[test]
fn b001_4_lint_reports_what_was_let_through() {
    let global = graph(&[("f", "x gone"), ("x", ""), ("y", "")]);
    let mut own = graph(&[("x", "f")]);
    own.insert_or_replace(SkillNode {
        is_folder: true,
        ..node("empty", "")
    });
    let view = SkillsView {
        own: Some(&own),
        global: &global,
    };
    let said: Vec<(String, &str, String)> = view
        .lint(&view.reach(&SkillGrants::All))
        .into_iter()
        .map(|f| (f.skill_id.to_string(), f.rule, f.message))
        .collect();
    let expect = |id: &str, rule, message: &str| (id.to_owned(), rule, message.to_owned());
    assert_eq!(
        said,
        [
            expect("empty", "empty_folder", "the folder is empty"),
            expect("f", "dangling_child", "`gone` does not exist"),
            expect("f", "cycle", "cycle: f → x → f"),
        ]
    );
    // A caller that reaches little receives few findings.
    assert_eq!(view.lint(&view.reach(&only("y"))), []);
    // A cycle does not trap a walk.
    assert_eq!(reached(view, &only("x")), ["f", "x"]);
}

proptest! {
    /// The two-sided search agrees with a search of all paths.
    #[test]
    fn b001_4_cycles_are_those_of_the_transitive_closure(
        links in prop::collection::vec((0usize..8, 0usize..8), 0..24),
        from in 0usize..8, to in prop::collection::vec(0usize..8, 0..3),
    ) {
        let name = |at: usize| format!("n{at}");
        let mut graph = LinkGraph::default();
        for at in 0..8 {
            let children: BTreeSet<String> =
                links.iter().filter(|(a, b)| *a == at && a != b).map(|(_, b)| name(*b)).collect();
            let children: Vec<String> = children.into_iter().collect();
            graph.insert_or_replace(node(&name(at), &children.join(" ")));
        }
        let children: Vec<SkillId> = to.iter().map(|at| id(&name(*at))).collect();
        let view = alone(&graph);
        // The skill's own links do not count, because the write replaces them.
        let mut without = graph.clone();
        without.insert_or_replace(node(&name(from), ""));
        let granted = SkillGrants::Only(children.iter().cloned().collect());
        let expected = reached(alone(&without), &granted).contains(&name(from));
        let found = cycle(view, &id(&name(from)), &children);
        prop_assert_eq!(found.is_some(), expected);
        if let Some(CyclePath(path)) = found {
            prop_assert_eq!(&path[0], &id(&name(from)));
            prop_assert_eq!(path.last(), path.first());
            prop_assert!(children.contains(&path[1]));
            for pair in path[1..].windows(2) {
                prop_assert!(graph.get(&pair[0]).unwrap().children.contains(&pair[1]));
            }
        }
    }
}
