//! Resolves the documents in force for a subject. Served from the snapshot, no storage.

mod in_force;

use std::collections::BTreeSet;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::guardrail::Guardrail;
use charter_contract::catalogue::mission_type::MissionType;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::prompt::PromptTemplate;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::template::Template;
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_domain::catalogue::{ResolvedDocument, View, WinningLayer};
use charter_domain::glob;
use charter_domain::guardrail::{self, ApplicableGuardrail, GuardrailSubject};
use charter_domain::skill_folder::skill_of_tool;
use charter_domain::template::{self, TemplateLevel, TemplateLookup};
use charter_domain::tier::{agent_served, playbook_served, skill_served};
use schemars::JsonSchema;
use serde::Serialize;

use crate::catalogue::documents::DocumentService;
use crate::catalogue::documents::unseen;
use crate::{Caller, EngineError};

pub use in_force::InForce;

/// A guardrail that applies to the subject.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResolvedGuardrail {
    /// The guardrail.
    #[serde(flatten)]
    pub guardrail: InForce<Guardrail>,
    /// The glob that matched.
    pub matched: String,
}

/// A policy that governs the tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResolvedPolicy {
    /// The policy.
    #[serde(flatten)]
    pub policy: InForce<Policy>,
    /// The glob that matched.
    pub matched: String,
}

/// The template that renders an output.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResolvedTemplate {
    /// The template.
    #[serde(flatten)]
    pub template: InForce<Template>,
    /// The level at which it was found.
    pub level: TemplateLevel,
}

/// A filter for tools. Absent fields do not restrict.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    /// The class.
    pub class: Option<ToolClass>,
    /// The domain.
    pub domain: Option<String>,
}

impl DocumentService {
    /// Returns every guardrail that applies to the subject, in order (B000-12). Without a persona, that of requests
    /// that name none is used.
    ///
    /// # Errors
    /// `not_found` for a skill, playbook, agent or domain that is not visible to the caller: no guardrail applies to an
    /// absent subject.
    pub fn resolve_guardrails(
        &self,
        caller: &Caller,
        subject: GuardrailSubject<'_>,
    ) -> Result<Vec<ResolvedGuardrail>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        must_exist(&view, &subject)?;
        let subject = GuardrailSubject {
            persona: subject.persona.or(Some(self.persona.as_str())),
            ..subject
        };
        let bearing = bearing_on(&view, subject).into_iter();
        let resolved = bearing.map(|resolved| ResolvedGuardrail {
            guardrail: resolved.found.into(),
            matched: resolved.matched,
        });
        Ok(resolved.collect())
    }

    /// Returns every policy in force that governs a tool: the tenant's by id, then the global ones. Policies of both
    /// layers apply, and each must permit a call.
    ///
    /// # Errors
    /// `not_found` for a tool that is not visible to the caller.
    pub fn resolve_policies(
        &self,
        caller: &Caller,
        tool: &str,
    ) -> Result<Vec<ResolvedPolicy>, EngineError> {
        self.resolve_tool(caller, tool)?;
        let view = self.catalogue.live().view(&caller.tenant);
        let [own, global] = view.policies_over(tool);
        let found = own.into_iter().map(|entry| (entry, WinningLayer::Tenant));
        let found = found.chain(
            global
                .into_iter()
                .map(|entry| (entry, WinningLayer::Global)),
        );
        let resolved = found.filter_map(|(entry, won)| {
            let mut globs = entry.document.governs.iter();
            let matched = globs.find(|glob| glob::covers(glob.as_ref(), tool))?;
            let matched = matched.to_string();
            Some(ResolvedPolicy {
                policy: ResolvedDocument { entry, won }.into(),
                matched,
            })
        });
        Ok(resolved.collect())
    }

    /// Returns the template for an output about a subject, on the caller's tier (B000-14). Without a persona, that of
    /// requests that name none is used.
    ///
    /// # Errors
    /// `template_missing`; `not_found` for a skill, playbook, agent or domain that is not visible to the caller.
    pub fn resolve_template(
        &self,
        caller: &Caller,
        output_type: &str,
        subject: GuardrailSubject<'_>,
    ) -> Result<ResolvedTemplate, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        must_exist(&view, &subject)?;
        let wanted = TemplateLookup {
            output_type,
            skill: subject.skill,
            agent: subject.agent,
            domain: subject.domain,
            persona: subject.persona.unwrap_or(self.persona.as_str()),
            tier: caller.tier,
        };
        let (found, level) = template::resolve(&view, wanted).ok_or_else(|| {
            let message = format!("there is no template for the output type `{output_type}`");
            let types = view.templates().map(|found| {
                let output_type: &str = found.document().output_type.as_ref();
                output_type.to_owned()
            });
            let types: BTreeSet<String> = types.collect();
            EngineError::new(ErrorCode::TemplateMissing, message)
                .or_nearest(output_type, types.iter().map(String::as_str))
        })?;
        Ok(ResolvedTemplate {
            template: found.into(),
            level,
        })
    }

    /// Returns a skill by exact id (B000-6).
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for one above the caller's tier.
    pub fn resolve_skill(&self, caller: &Caller, id: &str) -> Result<InForce<Skill>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view.skill(id);
        let found = found.ok_or_else(|| unseen(&view, DocumentKind::Skill, id))?;
        caller.must_reach(skill_served(&view, found.document()), "skill", id)?;
        caller.must_be_usable(&view, "skill", id)?;
        Ok(found.into())
    }

    /// Returns a playbook by exact id (B000-6).
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for one above the caller's tier.
    pub fn resolve_playbook(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<InForce<Playbook>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view.playbook(id);
        let found = found.ok_or_else(|| unseen(&view, DocumentKind::Playbook, id))?;
        caller.must_reach(playbook_served(&view, found.document()), "playbook", id)?;
        caller.must_be_usable(&view, "playbook", id)?;
        Ok(found.into())
    }

    /// Returns an agent by exact id (B000-6).
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for one above the caller's tier.
    pub fn resolve_agent(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<InForce<AgentManifest>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view.agent(id);
        let found = found.ok_or_else(|| unseen(&view, DocumentKind::Agent, id))?;
        caller.must_reach(agent_served(found.document()), "agent", id)?;
        Ok(found.into())
    }

    /// Returns a mission type by exact id (B000-6).
    ///
    /// # Errors
    /// `not_found`.
    pub fn resolve_mission_type(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<InForce<MissionType>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view.mission_type(id).map(InForce::from);
        found.ok_or_else(|| unseen(&view, DocumentKind::MissionType, id))
    }

    /// Returns a prompt template by exact id (B000-6).
    ///
    /// # Errors
    /// `not_found`.
    pub fn resolve_prompt_template(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<InForce<PromptTemplate>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view.prompt_template(id).map(InForce::from);
        found.ok_or_else(|| unseen(&view, DocumentKind::PromptTemplate, id))
    }

    /// Returns a tool by exact id; an internal one is never returned (B000-10), nor one of an agent skill out of reach.
    ///
    /// # Errors
    /// `not_found`.
    pub fn resolve_tool(&self, caller: &Caller, id: &str) -> Result<InForce<Tool>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view
            .tool(id)
            .filter(|found| !found.document().is_internal())
            .filter(|_| self.reaches_tool(caller, id));
        found
            .map(InForce::from)
            .ok_or_else(|| unseen(&view, DocumentKind::Tool, id))
    }

    /// Returns the active tools that run scripts of an agent skill within the caller's reach, by id.
    #[must_use]
    pub fn resolve_skill_tools(&self, caller: &Caller, skill: &SkillId) -> Vec<InForce<Tool>> {
        let mut tools = self.resolve_tools(caller, &ToolFilter::default());
        tools
            .retain(|tool| skill_of_tool(tool.document().tool_id.as_str()).as_ref() == Some(skill));
        tools
    }

    /// Returns the active tools that match, by id. Internal ones are left out (B000-10), and those of agent skills out
    /// of reach.
    #[must_use]
    pub fn resolve_tools(&self, caller: &Caller, filter: &ToolFilter) -> Vec<InForce<Tool>> {
        let view = self.catalogue.live().view(&caller.tenant);
        view.tools()
            .filter(|found| {
                let tool = found.document();
                tool.status == Status::Active
                    && !tool.is_internal()
                    && filter.class.is_none_or(|class| tool.tool_class == class)
                    && filter
                        .domain
                        .as_ref()
                        .is_none_or(|domain| tool.domain.as_ref() == domain)
                    && self.reaches_tool(caller, tool.tool_id.as_str())
            })
            .map(InForce::from)
            .collect()
    }
}

/// Refuses a subject with an unknown part, with the nearest existing id.
fn must_exist(view: &View, subject: &GuardrailSubject<'_>) -> Result<(), EngineError> {
    if let Some(id) = subject.skill
        && view.skill(id).is_none()
        && view.playbook(id).is_none()
    {
        let kinds = [DocumentKind::Skill, DocumentKind::Playbook];
        let known = kinds.into_iter().flat_map(|kind| view.ids(kind));
        return Err(EngineError::not_found("skill or playbook", id).or_nearest(id, known));
    }
    if let Some(id) = subject.agent
        && view.agent(id).is_none()
    {
        return Err(unseen(view, DocumentKind::Agent, id));
    }
    if let Some(id) = subject.domain
        && view.domain(id).is_none()
    {
        return Err(unseen(view, DocumentKind::Domain, id));
    }
    Ok(())
}

/// Returns the guardrails on a subject; an absent owner and domain are looked up.
fn bearing_on(view: &View, subject: GuardrailSubject<'_>) -> Vec<ApplicableGuardrail> {
    let owner = subject.skill.and_then(|id| view.owner_of(id));
    let skill = subject.skill.and_then(|id| view.skill(id));
    let playbook = subject.skill.and_then(|id| view.playbook(id));
    let domain = match (&skill, &playbook) {
        (Some(skill), _) => Some(skill.document().domain.as_ref()),
        (None, Some(playbook)) => Some(playbook.document().domain.as_ref()),
        (None, None) => None,
    };
    let owner = owner
        .as_ref()
        .map(|owner| owner.document().agent_id.as_ref());
    let subject = GuardrailSubject {
        agent: subject.agent.or(owner),
        domain: subject.domain.or(domain),
        ..subject
    };
    guardrail::resolve(view, subject)
}

#[cfg(test)]
mod tests;
