//! What a run executes, in the versions that it pinned when it started.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::catalogue::skill::Skill;
use charter_contract::ids::{PackageName, RunId};
use charter_contract::scope::Scope;
use charter_domain::catalogue::{Entry, Origin};
use charter_domain::guardrail::{self, Subject};
use charter_domain::run::{Pin, Run};
use charter_effects::PackageFiles;
use charter_store::catalogue::DocumentKey;

use super::effect::{PinnedTool, Workspace};
use crate::{Caller, Engine, EngineError};

/// A skill's run, ready to be driven or analysed.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) skill: Skill,
    pub(crate) workspace: Workspace,
}

impl Engine {
    /// The pinned versions of a run. Guardrails are those in force now: a rule that was tightened
    /// since then binds.
    pub(crate) async fn pinned(
        &self,
        caller: &Caller,
        run_id: &RunId,
    ) -> Result<Pinned, EngineError> {
        let run = self.fold(run_id).await?.run;
        let mut skill = None;
        let mut tools = BTreeMap::new();
        for pin in run.pins() {
            match self.pinned_document(pin).await? {
                Document::Skill(document) => skill = Some(document),
                Document::Tool(document) => {
                    let origin = Arc::new(origin_of(pin)?);
                    let files = self.package_files(&origin).await?;
                    let entry = Arc::new(Entry {
                        document,
                        origin,
                        content_hash: pin.content_hash.clone(),
                    });
                    tools.insert(entry.document.tool_id.clone(), PinnedTool { entry, files });
                }
                other => return Err(lost(&run, &format!("a {} cannot be pinned", other.kind()))),
            }
        }
        let skill = skill.ok_or_else(|| lost(&run, "it pins no skill"))?;
        let view = self.live().view(&caller.tenant);
        let owner = view.owner_of(skill.skill_id.as_ref());
        let subject = Subject {
            skill: Some(skill.skill_id.as_ref()),
            agent: owner
                .as_ref()
                .map(|owner| owner.document().agent_id.as_ref()),
            domain: Some(skill.domain.as_ref()),
        };
        let workspace = Workspace {
            tenant: caller.tenant.clone(),
            role: caller.role,
            guardrails: guardrail::resolve(&view, subject),
            tools,
        };
        Ok(Pinned { skill, workspace })
    }

    /// A document in the pinned version: the one in force when it is still that, else from history.
    async fn pinned_document(&self, pin: &Pin) -> Result<Document, EngineError> {
        let live = self.live();
        let layer = match &pin.tenant {
            None => Some(&live.snapshot.global),
            Some(tenant) => live.snapshot.tenants.get(tenant),
        };
        let current = layer.filter(|layer| {
            layer.content_hash(pin.kind, &pin.id) == Some(pin.content_hash.as_str())
        });
        if let Some(document) = current.and_then(|layer| layer.document(pin.kind, &pin.id)) {
            return Ok(document);
        }
        let key = DocumentKey {
            scope: scope_of(pin),
            kind: pin.kind,
            id: pin.id.clone(),
        };
        let history = self.store().document_history(&key).await?;
        let version = history
            .iter()
            .find(|version| version.content_hash.to_string() == pin.content_hash)
            .ok_or_else(|| EngineError::not_found("version", format!("{} {}", pin.kind, pin.id)))?;
        crate::catalogue::parse_document(pin.kind, &pin.id, &version.body)
    }

    /// The files of a package version; kept in memory, for every tool call needs them.
    async fn package_files(&self, origin: &Origin) -> Result<Arc<PackageFiles>, EngineError> {
        if let Some(files) = self.files().get(origin) {
            return Ok(files);
        }
        let files = self
            .store()
            .package_files(&origin.scope, &origin.package, &origin.version)
            .await?
            .ok_or_else(|| {
                EngineError::not_found("version", format!("{} {}", origin.package, origin.version))
            })?;
        let files = PackageFiles::new(files)
            .map_err(|error| EngineError::internal("reading a package's files", error))?;
        let files = Arc::new(files);
        self.files().insert(origin.clone(), Arc::clone(&files));
        Ok(files)
    }
}

fn scope_of(pin: &Pin) -> Scope {
    pin.tenant
        .as_ref()
        .map_or(Scope::Global, |tenant| Scope::Tenant(tenant.clone()))
}

fn origin_of(pin: &Pin) -> Result<Origin, EngineError> {
    Ok(Origin {
        scope: scope_of(pin),
        package: PackageName::parse(&pin.package)
            .map_err(|error| EngineError::internal("reading a pin", error))?,
        version: pin.version.clone(),
    })
}

fn lost(run: &Run, detail: &str) -> EngineError {
    EngineError::internal("reading a run's pins", format!("{}: {detail}", run.id()))
}
