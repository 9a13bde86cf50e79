//! The abilities that an installation offers a caller, for its agent card.

pub(crate) mod served;

use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::text::Text;
use charter_domain::catalogue::{ResolvedDocument, View};
use charter_domain::tier::{agent_served, playbook_served, skill_served};

use crate::Caller;
use crate::catalogue::documents::DocumentService;

pub(crate) use served::{can_ask, changes};

/// A document that a request may ask for: a skill, a playbook or a mission type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ability {
    /// The document's id, by which a request can name it.
    pub id: String,
    /// Its readable name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its kind, its domain, and the agent that owns it.
    pub tags: Vec<String>,
    /// Example requests.
    pub examples: Vec<String>,
}

impl DocumentService {
    /// Returns the active skills, playbooks and mission types of the caller's view, by id. Unaccepted candidates and
    /// documents above the caller's tier are left out.
    #[must_use]
    pub fn abilities(&self, caller: &Caller) -> Vec<Ability> {
        let view = self.catalogue.live().view(&caller.tenant);
        let skills = view.skills().filter_map(|found| {
            let skill = found.document();
            let offered = skill.status == Status::Active
                && !skill.is_candidate
                && skill_served(&view, skill).reaches(caller.tier);
            offered.then(|| Ability {
                id: skill.skill_id.to_string(),
                name: skill.display_name.to_string(),
                description: skill.purpose.to_string(),
                tags: tags(
                    "skill",
                    skill.domain.as_ref(),
                    &view,
                    skill.skill_id.as_ref(),
                ),
                examples: texts(&skill.examples),
            })
        });
        let playbooks = view.playbooks().filter_map(|found| {
            let playbook = found.document();
            let offered = playbook.status == Status::Active
                && !playbook.is_candidate
                && playbook_served(&view, playbook).reaches(caller.tier);
            offered.then(|| Ability {
                id: playbook.playbook_id.to_string(),
                name: playbook.name.to_string(),
                description: match texts(&playbook.trigger_conditions).join("; ") {
                    none if none.is_empty() => playbook.name.to_string(),
                    conditions => conditions,
                },
                tags: tags(
                    "playbook",
                    playbook.domain.as_ref(),
                    &view,
                    playbook.playbook_id.as_ref(),
                ),
                examples: texts(&playbook.examples),
            })
        });
        let missions = view.mission_types().filter_map(|found| {
            let kind = found.document();
            (kind.status == Status::Active).then(|| Ability {
                id: kind.mission_type.to_string(),
                name: kind.title.to_string(),
                description: kind.description.to_string(),
                tags: tags("mission_type", kind.domain.as_ref(), &view, ""),
                examples: Vec::new(),
            })
        });
        let mut all: Vec<Ability> = skills.chain(playbooks).chain(missions).collect();
        all.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        all
    }

    /// Returns the readable names of the active agents within the caller's tier, by id.
    #[must_use]
    pub fn agent_names(&self, caller: &Caller) -> Vec<String> {
        let view = self.catalogue.live().view(&caller.tenant);
        let offered = |found: &ResolvedDocument<AgentManifest>| {
            let agent = found.document();
            agent.status == Status::Active && agent_served(agent).reaches(caller.tier)
        };
        let agents = view.agents().filter(offered);
        agents
            .map(|found| found.document().display_name.to_string())
            .collect()
    }
}

fn texts(texts: &[Text]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn tags(kind: &str, domain: &str, view: &View, id: &str) -> Vec<String> {
    let mut tags = vec![kind.to_owned(), domain.to_owned()];
    if let Some(owner) = view.owner_of(id) {
        tags.push(owner.document().agent_id.to_string());
    }
    tags
}
