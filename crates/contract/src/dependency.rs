//! Checks graphs of dependent steps for duplicates, dangling references and cycles. Steps, tasks, stages and tree
//! nodes are treated alike: this file knows only names and their dependencies.

use std::collections::HashMap;

use crate::violation::Report;

/// One node of a dependency graph.
pub struct Node<'a> {
    /// Name of the node.
    pub name: &'a str,
    /// Names of the nodes that it depends on, in listed order.
    pub needs: Vec<&'a str>,
}

/// The wording of a contract's graph, for messages.
pub(crate) struct Wording {
    /// Noun for a node: `step`, `task`.
    pub(crate) noun: &'static str,
    /// JSON pointer to the list of nodes: `/tasks`.
    pub(crate) list: &'static str,
    /// Field with the node's name: `task_id`.
    pub(crate) name_field: &'static str,
    /// Field with the node's dependencies: `depends_on`.
    pub(crate) needs_field: &'static str,
}

/// Reports duplicate names, unknown references and cycles (with their path). Returns true if there are none.
pub(crate) fn check_graph(nodes: &[Node<'_>], wording: &Wording, report: &mut Report) -> bool {
    let before = report.violations.len();
    let Wording {
        noun,
        list,
        name_field,
        needs_field,
    } = wording;
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        if places.contains_key(node.name) {
            report.meaning(
                format!("{list}/{at}/{name_field}"),
                "unique",
                format!("the {noun} `{}` is defined twice", node.name),
            );
        } else {
            places.insert(node.name, at);
        }
    }
    for (at, node) in nodes.iter().enumerate() {
        for (position, need) in node.needs.iter().enumerate() {
            if !places.contains_key(need) {
                report.meaning(
                    format!("{list}/{at}/{needs_field}/{position}"),
                    "dependency",
                    format!(
                        "`{}` depends on `{need}`, which is not a {noun} here",
                        node.name
                    ),
                );
            }
        }
    }
    if let Some(path) = find_cycle(nodes, &places) {
        let first = places.get(path[0]).copied().unwrap_or_default();
        report.meaning(
            format!("{list}/{first}/{needs_field}"),
            "cycle",
            format!("these {noun}s form a cycle: {}", path.join(" → ")),
        );
    }
    report.violations.len() == before
}

/// Returns the first cycle in listed order, as names from a node back to itself. Names of unknown nodes are ignored.
#[must_use]
pub fn cycle<'a>(nodes: &[Node<'a>]) -> Option<Vec<&'a str>> {
    let places = nodes
        .iter()
        .enumerate()
        .map(|(at, node)| (node.name, at))
        .collect();
    find_cycle(nodes, &places)
}

/// Returns the first cycle in listed order, as names from a node back to itself.
fn find_cycle<'a>(nodes: &[Node<'a>], places: &HashMap<&str, usize>) -> Option<Vec<&'a str>> {
    let mut done = vec![false; nodes.len()];
    let mut on_path = vec![false; nodes.len()];
    for start in 0..nodes.len() {
        if done[start] {
            continue;
        }
        if let Some(cycle) = walk(start, nodes, places, &mut done, &mut on_path) {
            return Some(cycle.into_iter().map(|at| nodes[at].name).collect());
        }
    }
    None
}

/// Searches depth first from `start`, without recursion, so that a hostile chain cannot exhaust the stack. Between two
/// walks the path is empty.
fn walk(
    start: usize,
    nodes: &[Node<'_>],
    places: &HashMap<&str, usize>,
    done: &mut [bool],
    on_path: &mut [bool],
) -> Option<Vec<usize>> {
    let mut path = vec![(start, 0_usize)];
    on_path[start] = true;
    while let Some((at, next)) = path.last_mut() {
        let here = *at;
        let Some(need) = nodes[here].needs.get(*next) else {
            done[here] = true;
            on_path[here] = false;
            path.pop();
            continue;
        };
        *next += 1;
        let Some(&there) = places.get(need) else {
            continue;
        };
        if on_path[there] {
            let from = path
                .iter()
                .position(|(at, _)| *at == there)
                .unwrap_or_default();
            let cycle = path[from..].iter().map(|(at, _)| *at);
            return Some(cycle.chain([there]).collect());
        }
        if !done[there] {
            on_path[there] = true;
            path.push((there, 0));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: Wording = Wording {
        noun: "step",
        list: "/steps",
        name_field: "id",
        needs_field: "needs",
    };

    fn messages(graph: &[(&str, &[&str])]) -> Vec<(String, String)> {
        let nodes: Vec<Node<'_>> = graph
            .iter()
            .map(|(name, needs)| Node {
                name,
                needs: needs.to_vec(),
            })
            .collect();
        let mut report = Report::new();
        check_graph(&nodes, &STEPS, &mut report);
        report
            .violations
            .into_iter()
            .map(|found| (found.pointer, found.message))
            .collect()
    }

    #[test]
    fn a_diamond_of_dependencies_is_accepted() {
        let graph: &[(&str, &[&str])] =
            &[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b", "c"])];
        assert_eq!(messages(graph), vec![]);
    }

    #[test]
    fn cycles_are_named_by_their_path() {
        assert_eq!(
            messages(&[("x", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])]),
            vec![(
                "/steps/1/needs".into(),
                "these steps form a cycle: a → b → c → a".into()
            )]
        );
        assert_eq!(
            messages(&[("a", &["a"])]),
            vec![(
                "/steps/0/needs".into(),
                "these steps form a cycle: a → a".into()
            )]
        );
    }

    #[test]
    fn every_duplicate_and_dangling_reference_is_reported() {
        assert_eq!(
            messages(&[("a", &["z"]), ("a", &["y"])]),
            vec![
                ("/steps/1/id".into(), "the step `a` is defined twice".into()),
                (
                    "/steps/0/needs/0".into(),
                    "`a` depends on `z`, which is not a step here".into()
                ),
                (
                    "/steps/1/needs/0".into(),
                    "`a` depends on `y`, which is not a step here".into()
                ),
            ]
        );
    }
}
