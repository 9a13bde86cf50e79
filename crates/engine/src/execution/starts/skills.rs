//! Skills: from a document to the plan of a run.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::skill::Skill;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_contract::parameter::Parameter;
use charter_domain::catalogue::ResolvedDocument;
use charter_domain::graph::{self, StepGraph};
use charter_domain::run::DocumentPin;
use charter_domain::tier::skill_served;

use super::RunStartService;
use crate::catalogue::documents::unseen;
use crate::execution::runs::{pin, pins_of_graph};
use crate::{Caller, EngineError};

/// A skill's plan, with the versions that its run pins.
#[derive(Debug)]
pub(crate) struct PlannedSkill {
    pub(crate) found: ResolvedDocument<Skill>,
    /// The skill's own parameters, and those that its tools need in addition.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) graph: StepGraph,
    pub(crate) pins: Vec<DocumentPin>,
}

impl RunStartService {
    /// Returns the parameters of a skill, and those that its tools need in addition.
    ///
    /// # Errors
    /// `not_found`; `invalid_document` for a plan that cannot be compiled.
    pub fn skill_parameters(
        &self,
        caller: &Caller,
        skill: &SkillId,
    ) -> Result<Vec<Parameter>, EngineError> {
        self.planned_skill(caller, skill)
            .map(|planned| planned.parameters)
    }

    /// Compiles the plan of a skill that is visible to the caller and within the caller's tier.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for a skill above the tier; `invalid_document` for a plan that cannot be
    /// compiled.
    pub(crate) fn planned_skill(
        &self,
        caller: &Caller,
        skill: &SkillId,
    ) -> Result<PlannedSkill, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let found = view
            .skill(skill.as_ref())
            .ok_or_else(|| unseen(&view, DocumentKind::Skill, skill.as_ref()))?;
        let served = skill_served(&view, found.document());
        caller.must_reach(served, "skill", skill.as_ref())?;
        caller.must_be_usable(&view, "skill", skill.as_ref())?;
        let wired = graph::wired(found.document(), &view);
        let graph = graph::from_skill(&wired).map_err(|error| {
            let message = format!("the plan of `{skill}`: {error}");
            EngineError::new(ErrorCode::InvalidDocument, message)
        })?;
        let mut pins = vec![pin(DocumentKind::Skill, skill.as_ref(), &found.entry)];
        pins.extend(pins_of_graph(&view, &graph)?);
        let parameters = wired.parameters.clone();
        Ok(PlannedSkill {
            found,
            parameters,
            graph,
            pins,
        })
    }
}
