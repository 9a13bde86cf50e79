//! The skills and playbooks that a caller may use, for answers that name them.

use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::vocabulary::Status;
use charter_domain::catalogue::{ResolvedDocument, View};
use charter_domain::profile;
use charter_domain::tier::{playbook_served, skill_served};

use crate::Caller;

/// Skills, and playbooks, that are named.
const NAMED: usize = 4;

/// Returns active skills, ordered by id, without candidates.
pub(crate) fn skills<'v>(
    view: &'v View,
    caller: &'v Caller,
) -> impl Iterator<Item = ResolvedDocument<Skill>> + 'v {
    view.skills().filter(move |found| {
        let skill = found.document();
        skill.status == Status::Active
            && !skill.is_candidate
            && skill_served(view, skill).reaches(caller.tier)
            && is_usable(view, caller, skill.skill_id.as_ref())
    })
}

/// Returns active playbooks, ordered by id, without candidates.
pub(crate) fn playbooks<'v>(
    view: &'v View,
    caller: &'v Caller,
) -> impl Iterator<Item = ResolvedDocument<Playbook>> + 'v {
    view.playbooks().filter(move |found| {
        let playbook = found.document();
        playbook.status == Status::Active
            && !playbook.is_candidate
            && playbook_served(view, playbook).reaches(caller.tier)
            && is_usable(view, caller, playbook.playbook_id.as_ref())
    })
}

fn is_usable(view: &View, caller: &Caller, id: &str) -> bool {
    let profile = caller.profile.as_ref();
    profile.is_none_or(|profile| profile::serves(view, id, profile))
}

/// The questions of skills, each by its first example or its name, in the order of their ids.
pub(crate) fn can_ask(view: &View, caller: &Caller) -> Vec<String> {
    let named = skills(view, caller).map(|found| {
        let skill = found.document();
        skill
            .examples
            .first()
            .unwrap_or(&skill.display_name)
            .to_string()
    });
    named.take(NAMED).collect()
}

/// The changes of playbooks, each by its first example or its name, in the order of their ids.
pub(crate) fn changes(view: &View, caller: &Caller) -> Vec<String> {
    let named = playbooks(view, caller).map(|found| {
        let playbook = found.document();
        playbook
            .examples
            .first()
            .unwrap_or(&playbook.name)
            .to_string()
    });
    named.take(NAMED).collect()
}
