//! What a run executes, in the versions that it pinned when it started.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::policy::RunKind;
use charter_contract::catalogue::skill::Skill;
use charter_contract::ids::{PackageName, RunId, ScriptId, TenantId};
use charter_contract::scope::Scope;
use charter_domain::catalogue::{BUILT_IN, Entry, Origin};
use charter_domain::guardrail::{self, Resolved, Subject};
use charter_domain::run::Pin;
use charter_effects::{PackageFiles, ScriptTool};
use charter_store::catalogue::DocumentKey;

use super::call::{self, Body};
use super::effect::{PinnedTool, Workspace};
use crate::{Engine, EngineError};

/// A run ready to be driven or analysed.
#[derive(Debug)]
pub(crate) struct Pinned {
    run: RunId,
    skill: Option<Skill>,
    pub(crate) workspace: Workspace,
}

impl Pinned {
    /// The skill that it executes.
    pub(crate) fn skill(&self) -> Result<Skill, EngineError> {
        let skill = self.skill.clone();
        skill.ok_or_else(|| lost(&self.run, "it pins no skill"))
    }
}

impl Engine {
    /// The pinned versions of a run. Guardrails are those in force now: a rule that was tightened
    /// since then binds.
    pub(crate) async fn pinned(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
    ) -> Result<Pinned, EngineError> {
        let run = self.fold(run_id).await?.run;
        let (mut skill, mut playbook) = (None, None);
        let mut tools = BTreeMap::new();
        for pin in run.pins() {
            let document = self.pinned_document(pin).await?;
            let origin = Arc::new(origin_of(pin)?);
            match document {
                Document::Skill(document) => skill = Some(document),
                Document::Playbook(document) => playbook = Some((document, origin)),
                Document::Tool(document) => {
                    let files = self.package_files(&origin).await?;
                    let entry = Arc::new(Entry {
                        document,
                        origin,
                        content_hash: pin.content_hash.clone(),
                    });
                    tools.insert(entry.document.tool_id.clone(), PinnedTool { entry, files });
                }
                other => {
                    let detail = format!("a {} cannot be pinned", other.kind());
                    return Err(lost(run_id, &detail));
                }
            }
        }
        let (subject, domain) = match (&skill, &playbook) {
            (Some(skill), _) => (Some(skill.skill_id.to_string()), Some(&skill.domain)),
            (None, Some((playbook, _))) => (
                Some(playbook.playbook_id.to_string()),
                Some(&playbook.domain),
            ),
            (None, None) => (None, None),
        };
        let kind = match (&skill, &playbook) {
            (Some(_), _) => RunKind::Skill,
            (None, _) => RunKind::Playbook,
        };
        let scripts = match &playbook {
            Some((playbook, origin)) => {
                scripts(playbook, &self.package_files(origin).await?, run_id)?
            }
            None => BTreeMap::new(),
        };
        let guardrails = self.guardrails_on(tenant, subject.as_deref(), domain.map(AsRef::as_ref));
        let safety =
            playbook.map(|(playbook, _)| (playbook.playbook_id, playbook.safety.safety_class));
        Ok(Pinned {
            run: run_id.clone(),
            skill,
            workspace: Workspace {
                tenant: tenant.clone(),
                by: run.by().clone(),
                role: run.role(),
                policies: self.live().policies(tenant),
                kind,
                subject: subject.unwrap_or_default(),
                tools,
                scripts,
                guardrails,
                playbook: safety,
            },
        })
    }

    /// The guardrails in force that bear on a skill or playbook.
    fn guardrails_on(
        &self,
        tenant: &TenantId,
        subject: Option<&str>,
        domain: Option<&str>,
    ) -> Vec<Resolved> {
        let view = self.live().view(tenant);
        let owner = subject.and_then(|id| view.owner_of(id));
        let agent = owner
            .as_ref()
            .map(|owner| owner.document().agent_id.as_ref());
        let subject = Subject {
            skill: subject,
            agent,
            domain,
        };
        guardrail::resolve(&view, subject)
    }

    /// A document in the pinned version: the one in force when it is still that, else from history.
    pub(super) async fn pinned_document(&self, pin: &Pin) -> Result<Document, EngineError> {
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
        // The built-in package is in the binary and brings no files.
        if origin.package.as_ref() == BUILT_IN {
            return Ok(Arc::default());
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

fn lost(run: &RunId, detail: &str) -> EngineError {
    EngineError::internal("reading a run's pins", format!("{run}: {detail}"))
}

/// The bodies that a playbook brings along, by name.
fn scripts(
    playbook: &Playbook,
    files: &Arc<PackageFiles>,
    run: &RunId,
) -> Result<BTreeMap<ScriptId, ScriptTool>, EngineError> {
    let mut scripts = BTreeMap::new();
    for script in &playbook.scripts {
        let name = ScriptId::parse(script.name())
            .map_err(|error| EngineError::internal("reading a playbook's scripts", error))?;
        let body = match (&script.path, &script.body) {
            (Some(path), _) => Body::File(path.as_str()),
            (None, Some(body)) => Body::Text(body.as_str()),
            (None, None) => return Err(lost(run, &format!("the script `{name}` is empty"))),
        };
        let made = call::script(name.as_ref(), script.language, body, files)
            .ok_or_else(|| lost(run, &format!("the script `{name}` has no language")))?;
        let made = made.map_err(|failure| lost(run, &failure.message))?;
        scripts.insert(name, made);
    }
    Ok(scripts)
}
