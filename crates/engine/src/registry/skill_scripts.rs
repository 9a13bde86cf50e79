//! Imports skills with the tools of their scripts: each skill that grants scripts has a package, which the import
//! registers, replaces and removes. A package that is refused leaves its skill imported, and is reported.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PackageName, SkillId};
use charter_contract::package::PackageScope;
use charter_domain::cancellation::Cancellation;
use charter_domain::package::Problem;
use charter_domain::skill_folder::{
    FolderSkill, SKILL_FILE, ScriptGrant, ScriptPackage, SkillScripts, directory, script_package,
    script_package_name, scripts,
};

use serde_json::Value;

use crate::catalogue::live::Mode;
use crate::ground::checks::{CheckSlots, WaitingCaller};
use crate::knowledge::agent_skills::{
    AgentSkillService, Force, SkillScript, SkillTool, SkillsImported, SkillsSent,
};
use crate::registry::packages::PackageService;
use crate::{Caller, EngineError};

/// Imports and deletes skills together with the tools of their scripts.
pub struct SkillScriptService {
    agent_skills: Arc<AgentSkillService>,
    packages: Arc<PackageService>,
    checks: CheckSlots,
}

impl std::fmt::Debug for SkillScriptService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SkillScriptService").finish_non_exhaustive()
    }
}

/// The scripts of an imported skill, and the package of its tools if it has any.
struct ScriptedSkill {
    skill: SkillId,
    scripts: SkillScripts,
    package: Option<ScriptPackage>,
}

impl SkillScriptService {
    pub(crate) fn new(
        agent_skills: Arc<AgentSkillService>,
        packages: Arc<PackageService>,
        checks: CheckSlots,
    ) -> Self {
        Self {
            agent_skills,
            packages,
            checks,
        }
    }

    /// Writes the valid skills of directories, in one transaction, and registers the tools of their scripts. A dry run
    /// only reports the effects.
    ///
    /// # Errors
    /// `permission_denied`; `invalid_document` with every violation, file and line, if no skill can be imported:
    /// nothing is written.
    pub async fn import_skills(
        &self,
        caller: &Caller,
        scope: PackageScope,
        sent: SkillsSent,
        grant: ScriptGrant,
        mode: Mode,
    ) -> Result<SkillsImported, EngineError> {
        let reading = self.agent_skills.read_skills(caller, scope, sent).await?;
        let skills = reading.skills.clone();
        let mut imported = self
            .agent_skills
            .import_skills(caller, scope, reading, mode)
            .await?;
        let waiting = WaitingCaller::default();
        let place = self.checks.take(&caller.tenant).await;
        let read = move |_: &Cancellation| scripted(&skills, grant, scope);
        let scripted = place
            .run("reading scripts", waiting.cancellation(), read)
            .await?;
        let in_force = self.in_force(caller, scope).await?;
        for skill in scripted {
            if imported.left_out.contains(&directory(&skill.skill)) {
                continue;
            }
            self.put_tools(caller, scope, skill, &in_force, mode, &mut imported)
                .await?;
        }
        imported.problems.sort();
        Ok(imported)
    }

    /// Deletes a skill of a scope with its tools. Tools that other packages need stay for those packages.
    ///
    /// # Errors
    /// `permission_denied`; `not_found`; `still_referenced` naming its parents, unless forced.
    pub async fn delete_skill(
        &self,
        caller: &Caller,
        scope: PackageScope,
        id: &SkillId,
        force: Force,
    ) -> Result<(), EngineError> {
        self.agent_skills
            .delete_skill(caller, scope, id, force)
            .await?;
        let Some(package) = script_package_name(id) else {
            return Ok(());
        };
        match self.packages.unregister(caller, scope, &package).await {
            Ok(()) => Ok(()),
            Err(error) if error.code == ErrorCode::NotFound => Ok(()),
            Err(error) if error.code == ErrorCode::StillReferenced => {
                tracing::warn!(
                    skill.id = %id, error = %error.message,
                    "the tools of a deleted skill stay: other packages need them"
                );
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the versions of the packages in force in a scope.
    async fn in_force(
        &self,
        caller: &Caller,
        scope: PackageScope,
    ) -> Result<BTreeMap<PackageName, String>, EngineError> {
        let packages = self.packages.list(caller).await?.into_iter();
        let packages = packages.filter(|package| package.scope == scope);
        Ok(packages
            .map(|package| (package.package, package.version))
            .collect())
    }

    /// Registers the tools of one skill, or removes those of an earlier import.
    async fn put_tools(
        &self,
        caller: &Caller,
        scope: PackageScope,
        skill: ScriptedSkill,
        in_force: &BTreeMap<PackageName, String>,
        mode: Mode,
        imported: &mut SkillsImported,
    ) -> Result<(), EngineError> {
        let ScriptedSkill {
            skill,
            scripts,
            package,
        } = skill;
        let changed = match package {
            Some(package) if in_force.get(&package.name) == Some(&package.version) => Ok(()),
            Some(package) => {
                let registering = self.packages.register(caller, package.bundle, mode);
                registering.await.map(|_| ())
            }
            None => {
                self.remove_tools(caller, scope, &skill, in_force, mode)
                    .await
            }
        };
        let served = scripts.served.into_iter().map(|script| SkillScript {
            skill_id: skill.clone(),
            path: script.path,
            reason: script.reason,
        });
        imported.served_scripts.extend(served);
        match changed {
            Ok(()) => {
                let tools = scripts.tools.into_iter().map(|tool| SkillTool {
                    tool_id: tool.tool_id,
                    skill_id: skill.clone(),
                    path: tool.path,
                    tool_class: tool.class,
                });
                imported.tools.extend(tools);
                Ok(())
            }
            Err(error) => {
                let problem = refused(&skill, error)?;
                imported.problems.push(problem);
                Ok(())
            }
        }
    }

    async fn remove_tools(
        &self,
        caller: &Caller,
        scope: PackageScope,
        skill: &SkillId,
        in_force: &BTreeMap<PackageName, String>,
        mode: Mode,
    ) -> Result<(), EngineError> {
        let package = script_package_name(skill).filter(|package| in_force.contains_key(package));
        match package {
            Some(package) if mode != Mode::DryRun => {
                self.packages.unregister(caller, scope, &package).await
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the scripts of skills, with the packages of their tools.
fn scripted(skills: &[FolderSkill], grant: ScriptGrant, scope: PackageScope) -> Vec<ScriptedSkill> {
    let scripted = skills.iter().map(|skill| {
        let scripts = scripts(skill, grant);
        ScriptedSkill {
            skill: skill.id.clone(),
            package: script_package(skill, &scripts, scope),
            scripts,
        }
    });
    scripted.collect()
}

/// Returns the warning for a package that is refused; a failure of the system stays an error.
fn refused(skill: &SkillId, error: EngineError) -> Result<Problem, EngineError> {
    let is_refusal = matches!(
        error.code,
        ErrorCode::InvalidDocument
            | ErrorCode::RoutingTestFailed
            | ErrorCode::VersionConflict
            | ErrorCode::StillReferenced
            | ErrorCode::PermissionDenied
    );
    if !is_refusal {
        return Err(error);
    }
    let problems = error
        .details
        .as_ref()
        .and_then(|details| details.get("problems"));
    let mut problems = problems.and_then(Value::as_array).into_iter().flatten();
    let first = problems
        .find(|problem| problem["severity"] == "error")
        .and_then(|problem| problem["message"].as_str());
    let reason = first.unwrap_or(error.message.as_str());
    let message = format!("its scripts are not changed as tools: {reason}");
    let file = format!("{}/{SKILL_FILE}", directory(skill));
    Ok(Problem::of_file(&file, "tools", message).warning())
}
