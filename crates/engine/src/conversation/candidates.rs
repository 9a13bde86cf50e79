//! Candidates: proposals for requests without a registered match (B000-4, B000-5, B000-18).
//!
//! The nearest agents ground a miss: within the boundary of the first that allows it, a generator makes a skill or
//! playbook, which is registered for the tenant as a separate package. It is shown, and neither routed to nor run: a
//! person starts it, and an operator accepts it once a run of it has succeeded. The domain crate determines the
//! permitted content of a candidate.

mod code_agent;
mod generator;
mod ground;
mod keep;
mod promote;

use std::sync::Arc;

use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{AgentId, DomainId};
use charter_domain::candidate::{Brief, CandidateKey, CandidateKind, Words, breaches};
use charter_domain::catalogue::{Origin, View};
use charter_domain::clock::Clock;
use charter_domain::tier::{playbook_served, skill_served};
use charter_store::SharedStore;
use serde::Serialize;
use serde_json::json;

use crate::catalogue::abilities::can_ask;
use crate::catalogue::live::CatalogueService;
use crate::execution::runs::{JournalService, RunViewService};
use crate::registry::packages::PackageService;
use crate::registry::route_examples::RouteExampleService;
use crate::{Caller, EngineError, Tier};

pub use code_agent::{CodeAgent, ROUTE as CODE_AGENT_ROUTE};
pub use generator::{Composer, Generator, GeneratorError};
use ground::Grounding;

/// Maximum registered skills and playbooks that are named if no candidate could be made.
const MAX_APPROACHES: usize = 10;

/// A candidate in the tenant's layer.
#[derive(Debug, Clone)]
pub(crate) struct CandidateProposal {
    pub(crate) document: Document,
    pub(crate) origin: Arc<Origin>,
}

impl CandidateProposal {
    /// The domain of the candidate.
    pub(crate) fn domain(&self) -> Option<&DomainId> {
        match &self.document {
            Document::Skill(skill) => Some(&skill.domain),
            Document::Playbook(playbook) => Some(&playbook.domain),
            _ => None,
        }
    }
}

/// A request that nothing registered fits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Miss<'r> {
    pub(crate) caller: &'r Caller,
    pub(crate) text: &'r str,
    pub(crate) flow: Flow,
    /// Agents whose capabilities come near.
    pub(crate) agents: &'r [AgentId],
}

/// Why an agent's boundary gave no candidate.
#[derive(Debug, Clone, Serialize)]
struct Refusal {
    agent: AgentId,
    reason: String,
}

/// A registered document near the request.
#[derive(Debug, Clone, Serialize)]
struct Approach {
    kind: DocumentKind,
    id: String,
    name: String,
}

/// The services that candidates are made and kept with.
pub(crate) struct CandidateParts {
    pub(crate) generator: Arc<dyn Generator>,
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) packages: Arc<PackageService>,
    pub(crate) route_examples: Arc<RouteExampleService>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) run_views: Arc<RunViewService>,
}

/// The candidates of tenants.
pub struct CandidateService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    generator: Arc<dyn Generator>,
    catalogue: Arc<CatalogueService>,
    packages: Arc<PackageService>,
    route_examples: Arc<RouteExampleService>,
    journals: Arc<JournalService>,
    run_views: Arc<RunViewService>,
}

impl std::fmt::Debug for CandidateService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CandidateService").finish_non_exhaustive()
    }
}

impl CandidateService {
    pub(crate) fn new(store: SharedStore, clock: Arc<dyn Clock>, parts: CandidateParts) -> Self {
        Self {
            store,
            clock,
            generator: parts.generator,
            catalogue: parts.catalogue,
            packages: parts.packages,
            route_examples: parts.route_examples,
            journals: parts.journals,
            run_views: parts.run_views,
        }
    }

    /// Returns the candidate for a request without a registered match: that of an earlier equal request, or a new one.
    ///
    /// # Errors
    /// `no_match` with the reasons and the nearest registered documents; `unavailable` if the generator failed.
    pub(crate) async fn propose(&self, miss: Miss<'_>) -> Result<CandidateProposal, EngineError> {
        let Miss {
            caller,
            text,
            flow,
            agents,
        } = miss;
        let wanted = match flow {
            Flow::CodeGenWrite => CandidateKind::Change,
            Flow::CodeGenDirect => self.wanted_of(caller, agents, text).await?,
            _ => CandidateKind::Read,
        };
        let view = self.catalogue.live().view(&caller.tenant);
        let words = Words::from_text(text).filter(|_| flow != Flow::Knowledge);
        let Some(words) = words else {
            return Err(no_match(&view, miss, &[]));
        };
        let key = CandidateKey::from_words(&words, wanted);
        if let Some(known) = keep::known(&view, &key)? {
            return Ok(known);
        }
        let grounds = self.grounds(caller, agents, text).await?;
        let mut refusals = Vec::new();
        for grounds in grounds {
            let brief = Brief {
                words: words.clone(),
                wanted,
                boundary: grounds.boundary,
                near: grounds.near,
            };
            match self.generated(caller, &brief).await? {
                Ok(document) => return self.keep_candidate(caller, &brief, document).await,
                Err(reason) => refusals.push(Refusal {
                    agent: brief.boundary.agent().clone(),
                    reason,
                }),
            }
        }
        Err(no_match(&view, miss, &refusals))
    }

    /// Returns the kind of candidate for a request: a change if the nearest tool of the nearest agent makes one.
    pub(crate) async fn wanted_of(
        &self,
        caller: &Caller,
        agents: &[AgentId],
        text: &str,
    ) -> Result<CandidateKind, EngineError> {
        let grounds = self.grounds(caller, agents, text).await?;
        let changes = grounds.iter().find_map(Grounding::changes);
        Ok(match changes {
            Some(true) => CandidateKind::Change,
            Some(false) | None => CandidateKind::Read,
        })
    }

    /// Generates a document from a brief; the inner error has the reason why it may not be kept.
    async fn generated(
        &self,
        caller: &Caller,
        brief: &Brief,
    ) -> Result<Result<Document, String>, EngineError> {
        let generating = self.generator.generate(&caller.tenant, brief);
        let document = match generating.await {
            Ok(document) => document,
            Err(GeneratorError::NoFit(reason)) => return Ok(Err(reason.to_string())),
            Err(GeneratorError::Failed { source }) => {
                let message = "generating a candidate failed";
                return Err(EngineError::new(ErrorCode::Unavailable, message).caused_by(source));
            }
        };
        let mut wrong = breaches(brief, &document);
        let report = document.inspect();
        wrong.extend(report.violations.into_iter().map(|found| found.message));
        if wrong.is_empty() {
            return Ok(Ok(document));
        }
        let agent = brief.boundary.agent();
        tracing::warn!(agent.id = %agent, wrong = ?wrong, "a generated candidate was rejected");
        Ok(Err(format!(
            "generated candidate is invalid: {}",
            wrong.join("; ")
        )))
    }
}

/// The error for a miss without a candidate: the reason, and the nearest registered documents.
fn no_match(view: &View, miss: Miss<'_>, refusals: &[Refusal]) -> EngineError {
    let approaches = approaches(view, miss.caller.tier, miss.agents);
    let questions = can_ask(view, miss.caller);
    let message = if miss.flow == Flow::Knowledge {
        "no passage or document answers this question".to_owned()
    } else if miss.agents.is_empty() {
        let example = questions.first().map_or(String::new(), |example| {
            format!("; you can ask, for example: {example}")
        });
        format!("nothing registered matches this request, and no agent is close to it{example}")
    } else {
        let why = refusals.iter().map(|refusal| {
            let Refusal { agent, reason } = refusal;
            format!("within `{agent}`: {reason}")
        });
        let why: Vec<String> = why.collect();
        let near = approaches.iter().map(|near| format!("`{}`", near.id));
        let near: Vec<String> = near.collect();
        let near = match near.as_slice() {
            [] => String::new(),
            near => format!("; closest registered: {}", near.join(", ")),
        };
        format!(
            "nothing registered matches this request, and no candidate could be generated ({}){near}",
            why.join("; ")
        )
    };
    EngineError::new(ErrorCode::NoMatch, message).with_details(json!({
        "agents": miss.agents, "refusals": refusals, "approaches": approaches,
        "can_ask": questions,
    }))
}

/// Returns the active skills of the agents, then the playbooks of their domains, within the tier.
fn approaches(view: &View, tier: Tier, agents: &[AgentId]) -> Vec<Approach> {
    let agents: Vec<_> = agents
        .iter()
        .filter_map(|id| view.agent(id.as_ref()))
        .collect();
    let skills = agents.iter().flat_map(|agent| &agent.document().skill_refs);
    let skills = skills.filter_map(|id| {
        let found = view.skill(id.as_ref())?;
        let skill = found.document();
        let offered = skill.status == Status::Active
            && !skill.is_candidate
            && skill_served(view, skill).reaches(tier);
        offered.then(|| Approach {
            kind: DocumentKind::Skill,
            id: skill.skill_id.to_string(),
            name: skill.display_name.to_string(),
        })
    });
    let playbooks = view.playbooks().filter_map(|found| {
        let playbook = found.document();
        let mut domains = agents.iter().map(|agent| &agent.document().domain);
        let offered = domains.any(|domain| *domain == playbook.domain)
            && playbook.status == Status::Active
            && !playbook.is_candidate
            && playbook_served(view, playbook).reaches(tier);
        offered.then(|| Approach {
            kind: DocumentKind::Playbook,
            id: playbook.playbook_id.to_string(),
            name: playbook.name.to_string(),
        })
    });
    skills.chain(playbooks).take(MAX_APPROACHES).collect()
}
