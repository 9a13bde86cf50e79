//! Documents that a request names: skills and playbooks, and kinds that no request is routed to (tools, agents, mission
//! types), which are described.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::tool::ToolClass;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::intent::Intent;
use charter_domain::intent::{NamedDocument, NamedKind};
use charter_domain::profile;
use charter_domain::tier::agent_served;
use charter_search::{NameMatch, RouteQuery, Scope};

use super::RoutedCandidate;
use super::ranked::{Question, Ranked, WeighedVerdict};
use crate::catalogue::live::{LiveCatalogue, Stacked, entry_id};
use crate::{Caller, EngineError};

impl Ranked {
    /// Returns the document that the question names; of a skill and a playbook, the one that matches the intent.
    pub(super) fn named(&self, question: &Question, stacked: &Stacked) -> Option<NamedDocument> {
        let text = question.text.as_str();
        let of = |weighed: &WeighedVerdict, kind: NamedKind| {
            let best = weighed.best()?;
            let mistyped = best.name_match? == NameMatch::Fuzzy;
            let entry = entry_id(best.kind, &best.id);
            let mut alone = stacked.actions.named_by(text);
            Some(NamedDocument {
                kind,
                mistyped,
                alone: alone.any(|named| named == entry),
            })
        };
        let skill = of(&self.skills, NamedKind::Skill);
        let playbook = of(&self.playbooks, NamedKind::Playbook);
        let is_exact = |named: &NamedDocument| !named.mistyped;
        let named = match (skill, playbook) {
            (Some(skill), Some(playbook)) if is_exact(&skill) == is_exact(&playbook) => {
                Some(match question.reading.intent {
                    Intent::Change => playbook,
                    Intent::Read | Intent::Knowledge | Intent::None => skill,
                })
            }
            (skill, playbook) => skill.filter(is_exact).or(playbook).or(skill),
        };
        let other = self.other.as_ref().map(|other| NamedDocument {
            kind: NamedKind::Other(other.kind),
            mistyped: other.name_match == Some(NameMatch::Fuzzy),
            alone: text.split_whitespace().count() == 1,
        });
        // An exact name takes precedence over a misspelt one.
        match (named, other) {
            (Some(named), Some(other)) if named.mistyped && !other.mistyped => Some(other),
            (named, other) => named.or(other),
        }
    }
}

/// Returns the document that the writer's own words name, as a candidate, if it is visible to the caller.
pub(super) fn named_other(
    live: &LiveCatalogue,
    caller: &Caller,
    text: &str,
) -> Result<Option<RoutedCandidate>, EngineError> {
    let query = RouteQuery::parse(text).map_err(EngineError::from)?;
    let names = live.other_names(&caller.tenant);
    let Some((kind, id, named)) = names.named_in(query.own()) else {
        return Ok(None);
    };
    let candidate = is_visible(live, caller, kind, id).then(|| RoutedCandidate {
        kind,
        id: id.to_owned(),
        scope: match live.view(&caller.tenant).tenant.status(kind, id) {
            Some(_) => Scope::Tenant,
            None => Scope::Global,
        },
        score: 1.0,
        fused: 1.0,
        lexical: 0.0,
        coverage: None,
        cosine: None,
        name_match: Some(named),
    });
    Ok(candidate)
}

/// Returns whether a document is active and within the caller's tier and profile.
fn is_visible(live: &LiveCatalogue, caller: &Caller, kind: DocumentKind, id: &str) -> bool {
    let view = live.view(&caller.tenant);
    if view.status(kind, id) != Some(Status::Active) {
        return false;
    }
    match kind {
        // Agents never get internal tools (B000-10).
        DocumentKind::Tool => view
            .tool(id)
            .is_some_and(|found| found.document().tool_class != ToolClass::Internal),
        DocumentKind::Agent => view.agent(id).is_some_and(|found| {
            let agent = found.document();
            let profile = caller.profile.as_ref();
            agent_served(agent).reaches(caller.tier)
                && profile.is_none_or(|profile| profile::admits(agent, profile))
        }),
        DocumentKind::MissionType => true,
        DocumentKind::Skill
        | DocumentKind::Playbook
        | DocumentKind::Guardrail
        | DocumentKind::DomainLens
        | DocumentKind::Template
        | DocumentKind::GraphNode
        | DocumentKind::GraphEdge
        | DocumentKind::Domain
        | DocumentKind::Policy
        | DocumentKind::PromptTemplate
        | DocumentKind::Schedule
        | DocumentKind::TagRecord
        | DocumentKind::Evidence => false,
    }
}
