//! Which flow a request takes, decided and written down before anything else happens.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tags::{Flow, TagRecord};
use charter_contract::catalogue::vocabulary::{ExecutionTarget, Status};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{
    AgentId, DomainId, Label, PlaybookId, SkillId, TagRequestId, TagSessionId, ToolId,
};
use charter_domain::candidate::Wanted;
use charter_domain::catalogue::{Found, View};
use charter_domain::parameters::Collected;
use charter_domain::tier::skill_served;
use charter_search::VerdictKind;
use serde::{Deserialize, Serialize};

use super::Asked;
use super::follow_up::FollowUp;
use crate::documents::unseen_active;
use crate::routing::{Purpose, RoutedVerdict};
use crate::{Caller, Engine, EngineError};

/// Where a request was sent, as it is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Classified {
    /// The flow of seed 000 §2.10.
    pub(crate) flow: Flow,
    /// The verdict over the skills.
    pub(crate) verdict: RoutedVerdict,
    /// The skills that will run.
    pub(crate) skills: Vec<SkillId>,
    /// The playbook, for a request to write.
    pub(crate) playbook: Option<PlaybookId>,
    /// What it takes over from an earlier request of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) follow_up: Option<FollowUp>,
    /// Active agents whose capabilities come near, on a miss only (B000-5).
    pub(crate) agents: Vec<AgentId>,
}

impl Classified {
    /// Whether a candidate is looked for: nothing registered fits, or one is asked for by itself.
    pub(super) fn wants_candidate(&self) -> bool {
        matches!(
            self.flow,
            Flow::CodeGenRead | Flow::CodeGenWrite | Flow::CodeGenDirect
        )
    }

    /// Whether the reference library answers.
    pub(super) fn asks_library(&self) -> bool {
        matches!(self.flow, Flow::RagSearch | Flow::Knowledge)
    }
}

impl Engine {
    /// Decides the flow of a request.
    pub(super) async fn classify(&self, asked: &Asked) -> Result<Classified, EngineError> {
        let text = asked.request.input.as_str();
        if let Some(named) = self.named(asked)? {
            return Ok(named);
        }
        let (verdict, follow_up) = self.routed(asked).await?;
        let first = verdict.candidates.first();
        let playbook = first.filter(|first| first.kind == DocumentKind::Playbook);
        let playbook = playbook.and_then(|first| PlaybookId::parse(&first.id).ok());
        let mut skills: Vec<SkillId> = verdict
            .chosen(self.settings().broad_skills)
            .iter()
            .filter(|candidate| candidate.kind == DocumentKind::Skill)
            .filter_map(|candidate| SkillId::parse(&candidate.id).ok())
            .collect();
        // A client may ask for a flow that does more than read; which kind of reading it is, the
        // verdict says.
        let wished = asked
            .wishes
            .flow
            .filter(|flow| !matches!(flow, Flow::Skill | Flow::ReadBroad));
        let flow = match (wished, &playbook, skills.len()) {
            (Some(Flow::Write), None, _) => Flow::CodeGenWrite,
            (Some(flow), ..) => flow,
            (None, Some(_), _) => Flow::Write,
            (None, None, 0) => Flow::CodeGenRead,
            (None, None, 1) if verdict.kind == VerdictKind::Narrow => Flow::Skill,
            (None, None, _) => Flow::ReadBroad,
        };
        if flow == Flow::Skill {
            skills.truncate(1);
        }
        let agents = match flow {
            Flow::CodeGenDirect => self.nearest_agents(&asked.caller, text).await?,
            Flow::CodeGenRead | Flow::CodeGenWrite if verdict.kind == VerdictKind::Miss => {
                self.nearest_agents(&asked.caller, text).await?
            }
            Flow::Skill
            | Flow::ReadBroad
            | Flow::RagSearch
            | Flow::Knowledge
            | Flow::Write
            | Flow::CodeGenRead
            | Flow::CodeGenWrite => Vec::new(),
        };
        let flow = match flow {
            Flow::CodeGenRead if wished.is_none() => {
                match self.wanted_of(&asked.caller, &agents, text).await? {
                    Wanted::Change => Flow::CodeGenWrite,
                    Wanted::Read => Flow::CodeGenRead,
                }
            }
            other => other,
        };
        Ok(Classified {
            flow,
            verdict,
            skills,
            playbook,
            follow_up,
            agents,
        })
    }

    /// The verdict over the text, or over it and the question of the session that it leans on.
    async fn routed(
        &self,
        asked: &Asked,
    ) -> Result<(RoutedVerdict, Option<FollowUp>), EngineError> {
        let text = asked.request.input.as_str();
        // Who asks for a change is answered by a playbook alone (phase 2W).
        let purpose = match asked.wishes.flow {
            Some(Flow::Write | Flow::CodeGenWrite) => Purpose::Playbooks,
            Some(
                Flow::Skill
                | Flow::ReadBroad
                | Flow::RagSearch
                | Flow::Knowledge
                | Flow::CodeGenRead
                | Flow::CodeGenDirect,
            )
            | None => Purpose::Actions,
        };
        let candidates = self.settings().candidates;
        let own = self.route(&asked.caller, purpose, text, candidates).await?;
        Ok(match self.follow_up(asked, &own).await? {
            Some((joined, follow_up)) => (joined, Some(follow_up)),
            None => (own, None),
        })
    }

    /// Where a request goes that says so itself: it is not routed.
    fn named(&self, asked: &Asked) -> Result<Option<Classified>, EngineError> {
        let text = asked.request.input.as_str();
        if let Some(flow @ (Flow::RagSearch | Flow::Knowledge)) = asked.wishes.flow {
            return Ok(Some(Classified {
                flow,
                verdict: RoutedVerdict::unrouted(text, "the request asks the reference library"),
                skills: Vec::new(),
                playbook: None,
                follow_up: None,
                agents: Vec::new(),
            }));
        }
        let view = self.live().view(&asked.caller.tenant);
        if let Some(skill) = &asked.wishes.skill_id {
            let found = view
                .skill(skill.as_ref())
                .filter(|found| found.document().status == Status::Active)
                .ok_or_else(|| unseen_active(&view, DocumentKind::Skill, skill.as_ref()))?;
            let served = skill_served(&view, found.document());
            let caller = &asked.caller;
            caller.must_reach(served, "skill", skill.as_ref())?;
            return Ok(Some(Classified {
                flow: Flow::Skill,
                verdict: RoutedVerdict::named(text, skill.as_ref()),
                skills: vec![skill.clone()],
                playbook: None,
                follow_up: None,
                agents: Vec::new(),
            }));
        }
        if let Some(playbook) = &asked.wishes.playbook_id {
            self.runnable_playbook(&asked.caller, playbook)?;
            return Ok(Some(Classified {
                flow: Flow::Write,
                verdict: RoutedVerdict::named(text, playbook.as_ref()),
                skills: Vec::new(),
                playbook: Some(playbook.clone()),
                follow_up: None,
                agents: Vec::new(),
            }));
        }
        Ok(None)
    }

    /// Active agents that come near a request which nothing answers (B000-5).
    async fn nearest_agents(
        &self,
        caller: &Caller,
        text: &str,
    ) -> Result<Vec<AgentId>, EngineError> {
        let verdict = self
            .route(caller, Purpose::Agents, text, self.settings().candidates)
            .await?;
        let ids = verdict
            .candidates
            .iter()
            .filter_map(|candidate| AgentId::parse(&candidate.id).ok());
        Ok(ids.collect())
    }

    /// The tag record of a classified request (seed 000 §2.10, the fields of its flow).
    pub(super) fn tags_of(
        &self,
        asked: &Asked,
        classified: &Classified,
    ) -> Result<TagRecord, EngineError> {
        let view = self.live().view(&asked.caller.tenant);
        let persona = self.persona(asked.wishes.persona.as_ref())?;
        let at = self.now();
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
            expires_at: Some(self.after(at, self.settings().tags_ttl)),
            flow: classified.flow,
            domain: match &asked.wishes.rag_params.domain {
                Some(domain) if classified.asks_library() => domain.clone(),
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
                tags.execution_location = Some(location_of(&view, tools_of(skill.as_ref())));
                tags.output_type = skill.map(|skill| skill.document().output_type.clone());
                tags.skill_id = classified.skills.first().cloned();
            }
            Flow::ReadBroad => {
                let skills = classified.skills.iter();
                let skills: Vec<_> = skills.filter_map(|id| view.skill(id.as_ref())).collect();
                let tools = skills.iter().flat_map(|skill| tools_of(Some(skill)));
                tags.execution_location = Some(location_of(&view, tools));
                tags.skill_ids = Some(classified.skills.clone());
            }
            Flow::Write => {
                let playbook = classified
                    .playbook
                    .as_ref()
                    .and_then(|id| view.playbook(id.as_ref()));
                let steps = playbook.iter().flat_map(|found| &found.document().steps);
                let tools: Vec<ToolId> = steps.map(|step| step.tool_id.clone()).collect();
                tags.execution_location = Some(location_of(&view, &tools));
                tags.tool_ids = Some(tools);
                tags.param_set = Some(match &playbook {
                    Some(found) => {
                        let declared = found.document().declared_parameters();
                        let (input, asked_at) =
                            (asked.request.input.as_str(), asked.request.timestamp);
                        let given = Collected::given(&declared, &asked.wishes.parameters);
                        given.read(input, asked_at).values().clone()
                    }
                    None => asked.wishes.parameters.clone(),
                });
                tags.playbook_id = classified.playbook.clone();
            }
            Flow::RagSearch => {
                tags.rag_params = Some(asked.wishes.rag_params.recorded()?);
                // The reference library is the only provider.
                tags.provider = Label::parse("domain_lens").ok();
            }
            Flow::Knowledge | Flow::CodeGenRead | Flow::CodeGenWrite | Flow::CodeGenDirect => {}
        }
        Ok(tags)
    }
}

/// The tools of a skill's plan.
fn tools_of(skill: Option<&Found<Skill>>) -> impl Iterator<Item = &ToolId> {
    let steps = skill
        .into_iter()
        .flat_map(|skill| &skill.document().execution_plan.steps);
    steps.map(|step| &step.tool_id)
}

/// Where tools run: with the client, as soon as one of them needs it.
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

/// The domain of what was chosen; of the nearest agent on a miss; the platform's without one.
pub(super) fn domain_of(view: &View, classified: &Classified) -> Result<DomainId, EngineError> {
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
    let domain = playbook
        .map(|found| found.document().domain.clone())
        .or_else(|| skill.map(|found| found.document().domain.clone()))
        .or_else(|| agent.map(|found| found.document().domain.clone()));
    match domain {
        Some(domain) => Ok(domain),
        None => DomainId::parse("platform")
            .map_err(|error| EngineError::internal("naming a domain", error)),
    }
}

/// Which flows are answered now; the others say so plainly.
pub(super) fn supported(classified: &Classified) -> Result<(), EngineError> {
    let refusal = |what: String| Err(EngineError::new(ErrorCode::UnsupportedFlow, what));
    match classified.flow {
        Flow::Skill | Flow::ReadBroad | Flow::RagSearch | Flow::Knowledge | Flow::CodeGenDirect => {
            Ok(())
        }
        Flow::Write if classified.playbook.is_some() => Ok(()),
        Flow::Write => refusal("this asks for a change that no playbook describes".to_owned()),
        Flow::CodeGenRead | Flow::CodeGenWrite if classified.verdict.kind == VerdictKind::Miss => {
            Ok(())
        }
        Flow::CodeGenRead | Flow::CodeGenWrite => refusal(
            "something registered fits this request; a candidate is made on a miss only".to_owned(),
        ),
    }
}
