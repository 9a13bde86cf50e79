//! Determines the flow of a request, and records it before anything else happens.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tags::{Flow, TagRecord};
use charter_contract::catalogue::vocabulary::{ExecutionTarget, Status};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{
    AgentId, DomainId, Label, PlaybookId, SkillId, TagRequestId, TagSessionId, ToolId,
};
use charter_contract::intent::Intent;
use charter_domain::catalogue::{ResolvedDocument, View};
use charter_domain::clock::Clock;
use charter_domain::intent::{self, AnswerSource, ChangeTiming};
use charter_domain::tier::skill_served;
use charter_search::VerdictKind;
use charter_store::SharedStore;

use super::ActiveRequest;
use super::classification::{Classification, FollowUp, change_text};
use super::course::{self, Course, domain_of_candidate, flow_of, skills_of};
use super::left_out::LeftOut;
use crate::catalogue::documents::unseen_active;
use crate::catalogue::live::CatalogueService;
use crate::execution::runs::{JournalService, RunManagementService, RunViewService};
use crate::execution::starts::RunStartService;
use crate::execution::tags::TagService;
use crate::ground::moments;
use crate::knowledge::look_up::as_searched;
use crate::registry::routing::{Hints, Purpose, RoutedVerdict, RoutingResult, RoutingService};
use crate::{Caller, EngineError, LensFilter};

/// The settings of classifications.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassificationSettings {
    /// Maximum candidates of a verdict.
    pub(crate) candidates: usize,
    /// Maximum skills that a broad verdict runs.
    pub(crate) broad_skills: usize,
    /// How long the tags of a request are kept.
    pub(crate) tags_ttl: Duration,
}

/// The services that requests are classified with.
pub(crate) struct ClassificationParts {
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) routing: Arc<RoutingService>,
    pub(crate) tags: Arc<TagService>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) run_starts: Arc<RunStartService>,
    pub(crate) run_views: Arc<RunViewService>,
    pub(crate) run_management: Arc<RunManagementService>,
}

/// Classifies requests.
pub struct RequestClassificationService {
    pub(super) store: SharedStore,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: ClassificationSettings,
    pub(super) catalogue: Arc<CatalogueService>,
    pub(super) routing: Arc<RoutingService>,
    tags: Arc<TagService>,
    pub(super) journals: Arc<JournalService>,
    pub(super) run_starts: Arc<RunStartService>,
    pub(super) run_views: Arc<RunViewService>,
    pub(super) run_management: Arc<RunManagementService>,
}

impl std::fmt::Debug for RequestClassificationService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestClassificationService")
            .finish_non_exhaustive()
    }
}

impl RequestClassificationService {
    pub(crate) fn new(
        store: SharedStore,
        clock: Arc<dyn Clock>,
        parts: ClassificationParts,
        settings: ClassificationSettings,
    ) -> Self {
        Self {
            store,
            clock,
            settings,
            catalogue: parts.catalogue,
            routing: parts.routing,
            tags: parts.tags,
            journals: parts.journals,
            run_starts: parts.run_starts,
            run_views: parts.run_views,
            run_management: parts.run_management,
        }
    }

    /// Classifies a request.
    pub(super) async fn classify(
        &self,
        asked: &ActiveRequest,
    ) -> Result<Classification, EngineError> {
        let mut classified = self.find_course(asked).await?;
        let text = change_text(asked, &classified);
        let (given, at) = (&asked.wishes.parameters, asked.request.timestamp);
        self.offer_where_left_out(&asked.caller, given, &text, at, &mut classified);
        Ok(classified)
    }

    async fn find_course(&self, asked: &ActiveRequest) -> Result<Classification, EngineError> {
        if let Some(named) = self.named(asked)? {
            return Ok(named);
        }
        let last = self.last_answer(asked).await?;
        if let Some(last) = &last
            && let Some(reply) = self.reply_to_last(asked, last).await?
        {
            return Ok(reply);
        }
        let hints = Hints {
            intent: asked.wishes.flow.and_then(intent_of),
            lenses: asked.wishes.rag_params.clone(),
        };
        let text = asked.request.input.as_str();
        let candidates = self.settings.candidates;
        let routed = self
            .routing
            .route_by_intent(&asked.caller, text, &hints, candidates)
            .await?;
        if let Some(last) = &last
            && let Some(mut reply) = self.whole_value(asked, last, &routed).await?
        {
            reply.verdict.gateway = routed.verdict.gateway;
            return Ok(reply);
        }
        // A request that names a document needs no earlier one.
        let follow_up = match routed.source {
            AnswerSource::Description => None,
            AnswerSource::Skills
            | AnswerSource::Playbooks
            | AnswerSource::Passages
            | AnswerSource::SkillText
            | AnswerSource::PlaybookText
            | AnswerSource::Agents
            | AnswerSource::NoMatch
            | AnswerSource::Nothing => self.follow_up(asked, &routed).await?,
        };
        let mut classified = match follow_up {
            Some((verdict, follow_up)) => self.following(asked, verdict, follow_up),
            None => self.by_itself(&asked.caller, routed),
        };
        if let Some(flow) = asked.wishes.flow.filter(|flow| is_generated(*flow)) {
            classified.flow = flow;
            classified.course = Some(Course::Generate);
        }
        // An agent grounds code, not knowledge.
        let grounds = match classified.flow {
            Flow::CodeGenDirect => true,
            Flow::CodeGenRead | Flow::CodeGenWrite => classified.verdict.kind == VerdictKind::Miss,
            Flow::Skill | Flow::ReadBroad | Flow::Write | Flow::RagSearch | Flow::Knowledge => {
                false
            }
        };
        if classified.course() == Course::Generate && grounds {
            let subject = classified.verdict.subject.as_deref().unwrap_or(text);
            classified.agents = self.nearest_agents(&asked.caller, subject).await?;
        }
        Ok(classified)
    }

    /// Classifies an independent request.
    pub(super) fn by_itself(&self, caller: &Caller, routed: RoutingResult) -> Classification {
        let view = self.catalogue.live().view(&caller.tenant);
        let few = self.settings.broad_skills;
        let (course, because) = course::decided(&view, &routed, few);
        let dry_run = routed.start == ChangeTiming::DryRun;
        let verdict = routed.verdict;
        let first = verdict.candidates.first();
        let playbook = first.filter(|first| first.kind == DocumentKind::Playbook);
        let playbook = playbook.and_then(|first| PlaybookId::parse(&first.id).ok());
        let mut left_out: Vec<LeftOut> = routed.left_out.iter().map(LeftOut::question).collect();
        let skills = match course {
            Course::Run => {
                let (skills, conflicting) = skills_of(&view, &verdict, few);
                let conflicting = conflicting.iter();
                left_out.extend(conflicting.map(|one| LeftOut::conflicting(&view, one)));
                skills
            }
            Course::AskBack => skills_of(&view, &verdict, few).0,
            Course::Open
            | Course::Resume
            | Course::Offer
            | Course::Quote
            | Course::Explain
            | Course::Decline
            | Course::Generate => Vec::new(),
        };
        let flow = flow_of(course, &verdict, skills.len());
        Classification {
            skills,
            playbook: playbook.filter(|_| flow == Flow::Write),
            because,
            dry_run,
            left_out,
            ..Classification::new(flow, course, verdict)
        }
    }

    /// Classifies a request that refers to an earlier one: skills answer it.
    fn following(
        &self,
        asked: &ActiveRequest,
        verdict: RoutedVerdict,
        follow_up: FollowUp,
    ) -> Classification {
        let view = self.catalogue.live().view(&asked.caller.tenant);
        let few = self.settings.broad_skills;
        let (skills, conflicting) = skills_of(&view, &verdict, few);
        let conflicting = conflicting.iter();
        let left_out = conflicting.map(|one| LeftOut::conflicting(&view, one));
        let flow = flow_of(Course::Run, &verdict, skills.len());
        Classification {
            skills,
            follow_up: Some(follow_up),
            left_out: left_out.collect(),
            ..Classification::new(flow, Course::Run, verdict)
        }
    }

    /// Classifies a request that names its own target: it is not routed.
    fn named(&self, asked: &ActiveRequest) -> Result<Option<Classification>, EngineError> {
        let text = asked.request.input.as_str();
        if let Some(flow @ (Flow::RagSearch | Flow::Knowledge)) = asked.wishes.flow {
            let reason = "the request asks the reference library";
            let verdict = RoutedVerdict::unrouted(text, Intent::Knowledge, reason);
            return Ok(Some(Classification::new(flow, Course::Quote, verdict)));
        }
        if let Some(skill) = &asked.wishes.skill_id {
            return self.named_skill(asked, skill).map(Some);
        }
        if let Some(playbook) = &asked.wishes.playbook_id {
            return self.named_playbook(asked, playbook).map(Some);
        }
        Ok(None)
    }

    /// Classifies a request that one named skill answers.
    pub(super) fn named_skill(
        &self,
        asked: &ActiveRequest,
        skill: &SkillId,
    ) -> Result<Classification, EngineError> {
        let (caller, text) = (&asked.caller, asked.request.input.as_str());
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view
            .skill(skill.as_ref())
            .filter(|found| found.document().status == Status::Active)
            .ok_or_else(|| unseen_active(&view, DocumentKind::Skill, skill.as_ref()))?;
        let served = skill_served(&view, found.document());
        caller.must_reach(served, "skill", skill.as_ref())?;
        caller.must_be_usable(&view, "skill", skill.as_ref())?;
        let verdict = RoutedVerdict::named(text, Intent::Read, skill.as_ref());
        Ok(Classification {
            skills: vec![skill.clone()],
            ..Classification::new(Flow::Skill, Course::Run, verdict)
        })
    }

    /// Classifies a request that one named playbook carries out.
    pub(super) fn named_playbook(
        &self,
        asked: &ActiveRequest,
        playbook: &PlaybookId,
    ) -> Result<Classification, EngineError> {
        let text = asked.request.input.as_str();
        self.run_starts.runnable_playbook(&asked.caller, playbook)?;
        let verdict = RoutedVerdict::named(text, Intent::Change, playbook.as_ref());
        Ok(Classification {
            playbook: Some(playbook.clone()),
            dry_run: intent::read(text).start == ChangeTiming::DryRun,
            ..Classification::new(Flow::Write, Course::Open, verdict)
        })
    }

    /// Returns active agents near a request that no document answers (B000-5).
    async fn nearest_agents(
        &self,
        caller: &Caller,
        text: &str,
    ) -> Result<Vec<AgentId>, EngineError> {
        let verdict = self
            .routing
            .route(caller, Purpose::Agents, text, self.settings.candidates)
            .await?;
        let ids = verdict
            .candidates
            .iter()
            .filter_map(|candidate| AgentId::parse(&candidate.id).ok());
        Ok(ids.collect())
    }

    /// Builds the tag record of a classified request (seed 000 §2.10, the fields of its flow).
    pub(super) fn tags_of(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
    ) -> Result<TagRecord, EngineError> {
        let view = self.catalogue.live().view(&asked.caller.tenant);
        let persona = self.tags.persona(asked.wishes.persona.as_ref())?;
        let at = self.clock.now();
        let tier = Some(asked.tier());
        let mut tags = TagRecord {
            request_id: TagRequestId::from_request_id(asked.id()),
            tenant_id: asked.caller.tenant.clone(),
            session_id: asked
                .request
                .session_id
                .as_ref()
                .map(TagSessionId::from_session_id),
            user_id: Some(asked.caller.user.clone()),
            expires_at: Some(moments::after(at, self.settings.tags_ttl)),
            flow: classified.flow,
            domain: match &asked.wishes.rag_params.domain {
                Some(domain) if classified.course() == Course::Quote => domain.clone(),
                Some(_) | None => domain_of(&view, classified)?,
            },
            persona,
            tier,
            skill_id: None,
            skill_ids: None,
            playbook_id: None,
            output_type: None,
            execution_location: None,
            owner_agent_id: None,
            rag_params: None,
            provider: None,
            tool_ids: None,
            param_set: None,
        };
        tag_flow(&mut tags, &view, asked, classified)?;
        Ok(tags)
    }
}

/// Adds the fields of a request's flow to its tags.
fn tag_flow(
    tags: &mut TagRecord,
    view: &View,
    asked: &ActiveRequest,
    classified: &Classification,
) -> Result<(), EngineError> {
    match classified.flow {
        Flow::Skill => {
            let skill = classified
                .skills
                .first()
                .and_then(|id| view.skill(id.as_ref()));
            tags.owner_agent_id = classified
                .skills
                .first()
                .and_then(|id| view.owner_of(id.as_ref()))
                .map(|owner| owner.document().agent_id.clone());
            tags.execution_location = Some(location_of(view, tools_of(skill.as_ref())));
            tags.output_type = skill.map(|skill| skill.document().output_type.clone());
            tags.skill_id = classified.skills.first().cloned();
        }
        Flow::ReadBroad => {
            let skills = classified.skills.iter();
            let skills: Vec<_> = skills.filter_map(|id| view.skill(id.as_ref())).collect();
            let tools = skills.iter().flat_map(|skill| tools_of(Some(skill)));
            tags.execution_location = Some(location_of(view, tools));
            tags.skill_ids = Some(classified.skills.clone());
        }
        Flow::Write => {
            let playbook = classified
                .playbook
                .as_ref()
                .and_then(|id| view.playbook(id.as_ref()));
            let steps = playbook.iter().flat_map(|found| &found.document().steps);
            let tools: Vec<ToolId> = steps.map(|step| step.tool_id.clone()).collect();
            tags.execution_location = Some(location_of(view, &tools));
            tags.tool_ids = Some(tools);
            tags.param_set = Some(match &playbook {
                Some(found) => asked.stated(
                    &found.document().declared_parameters(),
                    asked.request.input.as_str(),
                ),
                None => asked.wishes.parameters.clone(),
            });
            tags.playbook_id = classified.playbook.clone();
        }
        Flow::RagSearch => {
            let filter = filter_of(asked, classified.course());
            tags.rag_params = Some(filter.recorded()?);
            tags.provider = provider_of(DocumentKind::DomainLens);
        }
        Flow::Knowledge => {
            let answers = classified.verdict.candidates.first();
            tags.provider = answers.and_then(|first| provider_of(first.kind));
        }
        Flow::CodeGenRead | Flow::CodeGenWrite | Flow::CodeGenDirect => {}
    }
    Ok(())
}

/// Returns the intent of a requested flow; `None` for a flow that does more than route.
fn intent_of(flow: Flow) -> Option<Intent> {
    match flow {
        Flow::Skill | Flow::ReadBroad | Flow::CodeGenRead => Some(Intent::Read),
        Flow::Write | Flow::CodeGenWrite => Some(Intent::Change),
        Flow::RagSearch | Flow::Knowledge => Some(Intent::Knowledge),
        Flow::CodeGenDirect => None,
    }
}

/// Returns whether a candidate answers in a requested flow.
fn is_generated(flow: Flow) -> bool {
    matches!(
        flow,
        Flow::CodeGenRead | Flow::CodeGenWrite | Flow::CodeGenDirect
    )
}

/// Returns the filter that lenses were searched with.
fn filter_of(asked: &ActiveRequest, course: Course) -> LensFilter {
    match course {
        Course::Explain => as_searched(&asked.wishes.rag_params),
        Course::Run
        | Course::Open
        | Course::Resume
        | Course::Offer
        | Course::Quote
        | Course::AskBack
        | Course::Decline
        | Course::Generate => asked.wishes.rag_params.clone(),
    }
}

/// Returns the provider of an answer without tool calls.
fn provider_of(kind: DocumentKind) -> Option<Label> {
    let provider = if kind == DocumentKind::DomainLens {
        "domain_lens"
    } else if kind == DocumentKind::GraphNode {
        "expert_graph"
    } else {
        "catalogue"
    };
    Label::parse(provider).ok()
}

/// Returns the tools of a skill's plan.
fn tools_of(skill: Option<&ResolvedDocument<Skill>>) -> impl Iterator<Item = &ToolId> {
    let steps = skill
        .into_iter()
        .flat_map(|skill| &skill.document().execution_plan.steps);
    steps.map(|step| &step.tool_id)
}

/// Returns where tools run: at the client, if any of them requires it.
fn location_of<'t>(view: &View, tools: impl IntoIterator<Item = &'t ToolId>) -> ExecutionTarget {
    let mut targets = tools.into_iter().filter_map(|tool| {
        let tool = view.tool(tool.as_ref())?;
        Some(tool.document().execution_target)
    });
    let needs_client = targets.any(|target| target == ExecutionTarget::Client);
    if needs_client {
        ExecutionTarget::Client
    } else {
        ExecutionTarget::Server
    }
}

/// Returns the domain of the chosen document, or of the explanation of a rule, or of the nearest agent on a miss; the
/// platform's without one.
pub(super) fn domain_of(view: &View, classified: &Classification) -> Result<DomainId, EngineError> {
    let skill = classified
        .skills
        .first()
        .and_then(|id| view.skill(id.as_ref()));
    let playbook = classified
        .playbook
        .as_ref()
        .and_then(|id| view.playbook(id.as_ref()));
    let agent = classified
        .agents
        .first()
        .and_then(|id| view.agent(id.as_ref()));
    let explains = classified.verdict.candidates.first();
    let explains = explains.filter(|_| classified.course() == Course::Explain);
    let domain = playbook
        .map(|found| found.document().domain.clone())
        .or_else(|| skill.map(|found| found.document().domain.clone()))
        .or_else(|| domain_of_candidate(view, explains?))
        .or_else(|| agent.map(|found| found.document().domain.clone()));
    match domain {
        Some(domain) => Ok(domain),
        None => DomainId::parse("platform")
            .map_err(|error| EngineError::internal("naming a domain", error)),
    }
}

/// Refuses a flow that does not fit the routing of the request.
pub(super) fn supported(classified: &Classification) -> Result<(), EngineError> {
    let refusal = |what: String| Err(EngineError::new(ErrorCode::UnsupportedFlow, what));
    match classified.flow {
        Flow::Skill | Flow::ReadBroad | Flow::RagSearch | Flow::Knowledge | Flow::CodeGenDirect => {
            Ok(())
        }
        Flow::Write if classified.playbook.is_some() => Ok(()),
        Flow::Write => refusal("the request asks for a change that no playbook makes".to_owned()),
        Flow::CodeGenRead | Flow::CodeGenWrite if classified.verdict.kind == VerdictKind::Miss => {
            Ok(())
        }
        flow @ (Flow::CodeGenRead | Flow::CodeGenWrite) => refusal(format!(
            "a registered document matches this request; `{flow}` generates a candidate only if none matches"
        )),
    }
}
