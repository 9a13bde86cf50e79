//! Finds problems in the graph, among the skills that the caller may reach.

use std::collections::HashMap;

use charter_contract::ids::SkillId;
use schemars::JsonSchema;
use serde::Serialize;

use super::{CyclePath, Reach, SkillNode, SkillPosition, SkillsView};

/// The maximum number of findings of one run.
pub const MAX_FINDINGS: usize = 1_000;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkFinding {
    /// The skill concerned.
    pub skill_id: SkillId,
    /// `dangling_child`, `empty_folder` or `cycle`.
    #[schemars(extend("enum" = ["dangling_child", "empty_folder", "cycle"]))]
    pub rule: &'static str,
    /// The problem.
    pub message: String,
}

impl SkillsView<'_> {
    /// Returns the problems among the reachable skills, by skill, at most [`MAX_FINDINGS`].
    #[must_use]
    pub fn lint(&self, reach: &Reach) -> Vec<LinkFinding> {
        let mut visible: Vec<(SkillPosition, &SkillNode)> = reach
            .places()
            .filter_map(|place| Some((place, self.node(place)?)))
            .collect();
        visible.sort_unstable_by(|a, b| a.1.id.cmp(&b.1.id));
        let mut findings: Vec<LinkFinding> = visible
            .iter()
            .flat_map(|(_, node)| self.shallow(node))
            .take(MAX_FINDINGS)
            .collect();
        let nodes: Vec<&SkillNode> = visible.into_iter().map(|(_, node)| node).collect();
        self.cycles(&nodes, &mut findings);
        findings.truncate(MAX_FINDINGS);
        findings.sort_by(|a, b| a.skill_id.cmp(&b.skill_id));
        findings
    }

    fn shallow(&self, node: &SkillNode) -> Vec<LinkFinding> {
        let finding = |rule, message| LinkFinding {
            skill_id: node.id.clone(),
            rule,
            message,
        };
        let missing = node.children.iter().filter(|id| self.find(id).is_none());
        let mut findings: Vec<LinkFinding> = missing
            .map(|id| finding("dangling_child", format!("`{id}` does not exist")))
            .collect();
        if node.is_folder && node.children.is_empty() {
            findings.push(finding("empty_folder", "the folder is empty".to_owned()));
        }
        findings
    }

    /// Finds cycles depth first without recursion, and visits each link once. A link back to a skill on the current
    /// path closes a cycle.
    fn cycles<'g>(&'g self, nodes: &[&'g SkillNode], findings: &mut Vec<LinkFinding>) {
        let mut state: HashMap<&SkillId, State> = HashMap::with_capacity(nodes.len());
        for start in nodes {
            if state.contains_key(&start.id) {
                continue;
            }
            let mut way: Vec<(&SkillNode, usize)> = vec![(start, 0)];
            state.insert(&start.id, State::OnTheWay);
            while let Some((node, next)) = way.last_mut() {
                let Some(child) = node.children.get(*next) else {
                    state.insert(&node.id, State::Done);
                    way.pop();
                    continue;
                };
                *next += 1;
                match (state.get(child), self.find(child)) {
                    (Some(State::OnTheWay), _) => {
                        if findings.len() >= MAX_FINDINGS {
                            return;
                        }
                        findings.push(closed(&way, child));
                    }
                    (None, Some((_, below))) => {
                        state.insert(&below.id, State::OnTheWay);
                        way.push((below, 0));
                    }
                    (Some(State::Done), _) | (None, None) => {}
                }
            }
        }
    }
}

enum State {
    OnTheWay,
    Done,
}

fn closed(way: &[(&SkillNode, usize)], back_to: &SkillId) -> LinkFinding {
    let from = way.iter().position(|(node, _)| node.id == *back_to);
    let around = way.iter().skip(from.unwrap_or(0));
    let mut path: Vec<SkillId> = around.map(|(node, _)| node.id.clone()).collect();
    path.push(back_to.clone());
    LinkFinding {
        skill_id: back_to.clone(),
        rule: "cycle",
        message: format!("cycle: {}", CyclePath(path)),
    }
}
