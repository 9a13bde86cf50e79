//! Matches the tasks of two missions.

use std::collections::BTreeMap;

use charter_contract::ids::TaskId;
use charter_contract::mission::task_graph::Task;

use super::Pair;

/// The matched pairs, and a common name for every task: its id in the first mission, or else in the second.
pub(super) struct Matching<'m> {
    /// The tasks of the first mission in its order, then those that only the second has.
    pub(super) pairs: Vec<Pair<Option<&'m Task>>>,
    pub(super) left: BTreeMap<TaskId, String>,
    pub(super) right: BTreeMap<TaskId, String>,
}

impl<'m> Matching<'m> {
    /// Matches tasks by role and id, then the remaining ones by role and objective, and then tasks that are the only
    /// remaining ones of their role on both sides.
    pub(super) fn match_tasks(left: &'m [Task], right: &'m [Task]) -> Self {
        let mut open: Vec<&Task> = right.iter().collect();
        let mut partners: Vec<Option<&Task>> = vec![None; left.len()];
        let by_id = |a: &Task, b: &Task| a.task_id == b.task_id;
        let by_objective = |a: &Task, b: &Task| a.objective == b.objective;
        for same in [by_id as fn(&Task, &Task) -> bool, by_objective] {
            for (task, partner) in left.iter().zip(&mut partners) {
                let found = open
                    .iter()
                    .position(|other| task.role_type == other.role_type && same(task, other));
                if let (None, Some(at)) = (&partner, found) {
                    *partner = Some(open.remove(at));
                }
            }
        }
        for at in 0..left.len() {
            let role = left[at].role_type;
            let alone = left
                .iter()
                .zip(&partners)
                .filter(|(task, partner)| task.role_type == role && partner.is_none());
            let others = open.iter().filter(|task| task.role_type == role);
            if partners[at].is_none() && alone.count() == 1 && others.count() == 1 {
                let other = open.iter().position(|task| task.role_type == role);
                partners[at] = other.map(|other| open.remove(other));
            }
        }
        Self::named(left, &partners, &open)
    }

    fn named(left: &'m [Task], partners: &[Option<&'m Task>], added: &[&'m Task]) -> Self {
        let kept = left.iter().zip(partners).map(|(task, partner)| Pair {
            left: Some(task),
            right: *partner,
        });
        let added = added.iter().map(|task| Pair {
            left: None,
            right: Some(*task),
        });
        let pairs: Vec<Pair<Option<&Task>>> = kept.chain(added).collect();
        let name = |pair: &Pair<Option<&Task>>| {
            let named = pair.left.or(pair.right);
            named
                .map(|task| task.task_id.to_string())
                .unwrap_or_default()
        };
        let names = |side: fn(&Pair<Option<&'m Task>>) -> Option<&'m Task>| {
            let named = pairs
                .iter()
                .filter_map(|pair| Some((side(pair)?, name(pair))));
            named
                .map(|(task, name)| (task.task_id.clone(), name))
                .collect()
        };
        Self {
            left: names(|pair| pair.left),
            right: names(|pair| pair.right),
            pairs,
        }
    }
}
