//! The documents that a run executes, in the versions that it pinned when it started.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock, Weak};

use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::policy::RunKind;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::{IMPORTED_PREFIX, Tool};
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PackageName, RunId, ScriptId, TenantId, ToolId};
use charter_contract::parameter::Parameter;
use charter_contract::scope::Scope;
use charter_domain::catalogue::{BUILT_IN, CatalogueEntry, Origin};
use charter_domain::graph::{PlanSource, StepGraph};
use charter_domain::guardrail::{self, ApplicableGuardrail, GuardrailSubject, RequestTags};
use charter_domain::run::{DocumentPin, Run};
use charter_domain::script::{self, ScriptSource};
use charter_effects::{PackageFiles, ScriptTool, compile_schema};
use charter_store::SharedStore;
use charter_store::catalogue::DocumentKey;
use charter_store::mission::ArtifactRecord;
use quick_cache::sync::Cache;

use super::call::{self, Body};
use super::effect::{PinnedTool, StageRunner, Workspace};
use super::{MissionDocuments, PendingRun, StageRunnerFactory};
use crate::catalogue::live::{CatalogueService, parse_document};
use crate::execution::tags::TagService;
use crate::identity::keys::KeyService;
use crate::{EngineError, Tier};

/// Maximum package versions whose files are cached in memory.
const CACHED_PACKAGES: usize = 64;

/// A run that is ready to be driven or analysed.
#[derive(Debug)]
pub(crate) struct LoadedRun {
    run: RunId,
    skill: Option<Skill>,
    pub(crate) workspace: Workspace,
}

impl LoadedRun {
    /// Returns the skill that it executes.
    pub(crate) fn skill(&self) -> Result<Skill, EngineError> {
        let skill = self.skill.clone();
        skill.ok_or_else(|| lost(&self.run, "it pins no skill"))
    }
}

/// The services that pinned documents are loaded with.
pub(crate) struct PinnedDocumentParts {
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) keys: Arc<KeyService>,
    pub(crate) tags: Arc<TagService>,
}

/// The documents of runs, in the versions that they pinned.
pub(crate) struct PinnedDocumentService {
    store: SharedStore,
    catalogue: Arc<CatalogueService>,
    keys: Arc<KeyService>,
    tags: Arc<TagService>,
    /// Set after missions are built, because they are built on this service.
    stages: OnceLock<Weak<dyn StageRunnerFactory>>,
    files: Cache<Origin, Arc<PackageFiles>>,
}

impl PinnedDocumentService {
    pub(crate) fn new(store: SharedStore, parts: PinnedDocumentParts) -> Self {
        Self {
            store,
            catalogue: parts.catalogue,
            keys: parts.keys,
            tags: parts.tags,
            stages: OnceLock::new(),
            files: Cache::new(CACHED_PACKAGES),
        }
    }

    /// Sets what creates the stage runners of missions. Without it, no mission can be loaded.
    pub(crate) fn set_stages(&self, stages: Weak<dyn StageRunnerFactory>) {
        self.stages.get_or_init(|| stages);
    }

    /// Loads the pinned versions of a run. Guardrails are the current ones: a rule that was tightened since then
    /// applies.
    pub(crate) async fn load(
        &self,
        tenant: &TenantId,
        run: &Run,
    ) -> Result<LoadedRun, EngineError> {
        self.load_with(tenant, run, &[]).await
    }

    /// Loads the pinned versions of a run that is not in storage yet.
    pub(super) async fn load_new(&self, new: &PendingRun) -> Result<LoadedRun, EngineError> {
        let tenant = &new.record.tenant_id;
        self.load_with(tenant, &new.run, &new.artifacts).await
    }

    async fn load_with(
        &self,
        tenant: &TenantId,
        run: &Run,
        unstored: &[ArtifactRecord],
    ) -> Result<LoadedRun, EngineError> {
        // If callers have keys, later approvals of the run need a second person.
        self.keys.has_keys().await?;
        let run_id = run.id();
        let (mut skills, mut playbook, mut kind) = (Vec::new(), None, None);
        let mut prompts = Vec::new();
        let mut tools = BTreeMap::new();
        for pin in run.pins() {
            let document = self.document(pin).await?;
            let origin = Arc::new(origin_of(pin)?);
            match document {
                Document::Skill(document) => skills.push(document),
                Document::Playbook(document) => playbook = Some((document, origin)),
                Document::Tool(document) => {
                    let tool = self.pinned_tool(pin, document, origin).await?;
                    if let Some(schema) = &tool.entry.document.input_schema {
                        compile_schema(schema).await;
                    }
                    tools.insert(tool.entry.document.tool_id.clone(), tool);
                }
                Document::MissionType(document) => kind = Some(document),
                Document::PromptTemplate(document) => prompts.push(document),
                other => {
                    let detail = format!("a {} cannot be pinned", other.kind());
                    return Err(lost(run_id, &detail));
                }
            }
        }
        let documents = MissionDocuments { kind, prompts };
        let desk = self.stage_runner(tenant, run, documents, unstored).await?;
        // An analysis does not execute its skills; it reads their results.
        let analysed = match run.graph().source() {
            Some(PlanSource::Analysis(_)) => std::mem::take(&mut skills),
            Some(_) | None => Vec::new(),
        };
        let skill = skills.pop();
        let subject = match &desk {
            Some(desk) => ExecutedDocuments::by_mission(&**desk),
            None => {
                ExecutedDocuments::of(run.graph(), skill.as_ref(), playbook.as_ref().map(|p| &p.0))
            }
        };
        let scripts = self.scripts_of(playbook.as_ref(), run_id).await?;
        let tags = self.tags_of(run)?;
        let guardrails = match analysed.as_slice() {
            [] => self.bearing(tenant, &subject, &tools, &tags),
            analysed => self.guardrails_on_skills(tenant, analysed, &tags),
        };
        let safety =
            playbook.map(|(playbook, _)| (playbook.playbook_id, playbook.safety.safety_class));
        Ok(LoadedRun {
            run: run_id.clone(),
            skill,
            workspace: Workspace {
                tenant: tenant.clone(),
                by: run.by().clone(),
                role: run.role(),
                policies: self.catalogue.live().policies(tenant),
                kind: subject.kind,
                subject: subject.id,
                domain: subject.domain,
                tags,
                tools,
                scripts,
                guardrails,
                playbook: safety,
                desk,
            },
        })
    }

    /// Returns the stage runner of a mission; `None` for a run that is not a mission.
    async fn stage_runner(
        &self,
        tenant: &TenantId,
        run: &Run,
        documents: MissionDocuments,
        unstored: &[ArtifactRecord],
    ) -> Result<Option<Arc<dyn StageRunner>>, EngineError> {
        let Some(PlanSource::Mission(mission)) = run.graph().source() else {
            return Ok(None);
        };
        let stages = self.stages.get().and_then(Weak::upgrade);
        let stages = stages.ok_or_else(EngineError::interrupted)?;
        let runner = stages.stage_runner(tenant, mission, run, documents, unstored);
        Ok(Some(runner.await?))
    }

    async fn pinned_tool(
        &self,
        pin: &DocumentPin,
        document: Tool,
        origin: Arc<Origin>,
    ) -> Result<PinnedTool, EngineError> {
        let files = self.package_files(&origin).await?;
        let entry = Arc::new(CatalogueEntry {
            document,
            origin,
            content_hash: pin.content_hash.clone(),
        });
        Ok(PinnedTool { entry, files })
    }

    /// Adds the tools of new steps to a mission's workspace, with the rules that apply to them.
    pub(crate) fn add_tools(&self, workspace: &mut Workspace, tools: &[PinnedTool]) {
        if tools.is_empty() {
            return;
        }
        for tool in tools {
            let id = tool.entry.document.tool_id.clone();
            workspace.tools.insert(id, tool.clone());
        }
        workspace.guardrails = self.guardrails_on_plan(
            &workspace.tenant,
            &workspace.subject,
            &workspace.tools,
            &workspace.tags,
        );
    }

    async fn scripts_of(
        &self,
        playbook: Option<&(Playbook, Arc<Origin>)>,
        run: &RunId,
    ) -> Result<BTreeMap<ScriptId, ScriptTool>, EngineError> {
        match playbook {
            Some((playbook, origin)) => scripts(playbook, &self.package_files(origin).await?, run),
            None => Ok(BTreeMap::new()),
        }
    }

    /// Returns the tags of the run's request. A journal without tags counts as one of a request without names.
    pub(super) fn tags_of(&self, run: &Run) -> Result<RequestTags, EngineError> {
        match run.tags() {
            Some(tags) => Ok(tags.clone()),
            None => Ok(RequestTags {
                flow: None,
                persona: self.tags.persona(None)?,
                tier: Tier::default(),
            }),
        }
    }

    /// Returns the guardrails in force that apply to a run's document.
    fn bearing(
        &self,
        tenant: &TenantId,
        executed: &ExecutedDocuments,
        tools: &BTreeMap<ToolId, PinnedTool>,
        tags: &RequestTags,
    ) -> Vec<ApplicableGuardrail> {
        match &executed.domain {
            Some(domain) => self.guardrails_on(tenant, &executed.id, domain, tags),
            None => self.guardrails_on_plan(tenant, &executed.id, tools, tags),
        }
    }

    /// Returns the guardrails in force that apply to a skill or playbook.
    fn guardrails_on(
        &self,
        tenant: &TenantId,
        subject: &str,
        domain: &str,
        tags: &RequestTags,
    ) -> Vec<ApplicableGuardrail> {
        let view = self.catalogue.live().view(tenant);
        let owner = view.owner_of(subject);
        let agent = owner
            .as_ref()
            .map(|owner| owner.document().agent_id.as_ref());
        let subject = GuardrailSubject {
            skill: Some(subject),
            agent,
            domain: Some(domain),
            persona: Some(tags.persona.as_str()),
        };
        guardrail::resolve(&view, subject)
    }

    /// Returns the guardrails in force that apply to a plan, which has no domain of its own. It counts as
    /// `<domain>.<plan>` in the domain of each of its tools; a guardrail of one domain applies to all its steps.
    fn guardrails_on_plan(
        &self,
        tenant: &TenantId,
        plan: &str,
        tools: &BTreeMap<ToolId, PinnedTool>,
        tags: &RequestTags,
    ) -> Vec<ApplicableGuardrail> {
        let domains: BTreeSet<&str> = tools
            .values()
            .map(|tool| tool.entry.document.domain.as_ref())
            .collect();
        let each = domains.into_iter();
        each_once(each.flat_map(|domain| {
            self.guardrails_on(tenant, &format!("{domain}.{plan}"), domain, tags)
        }))
    }

    /// Returns the guardrails in force that apply to any of these skills, and so to an analysis of their combined
    /// results.
    fn guardrails_on_skills(
        &self,
        tenant: &TenantId,
        skills: &[Skill],
        tags: &RequestTags,
    ) -> Vec<ApplicableGuardrail> {
        each_once(skills.iter().flat_map(|skill| {
            self.guardrails_on(tenant, skill.skill_id.as_ref(), skill.domain.as_ref(), tags)
        }))
    }

    /// Returns the playbook that a run executes, if it can be read.
    pub(super) async fn playbook(&self, run: &Run) -> Option<Playbook> {
        let mut pins = run.pins().iter();
        let pin = pins.find(|pin| pin.kind == DocumentKind::Playbook)?;
        match self.document(pin).await {
            Ok(Document::Playbook(playbook)) => Some(playbook),
            Ok(_) | Err(_) => None,
        }
    }

    /// Returns the parameters that a run's playbook declares; none for any other run.
    pub(super) async fn declared_parameters(
        &self,
        run: &Run,
    ) -> Result<Vec<Parameter>, EngineError> {
        let mut declared = Vec::new();
        for pin in run.pins() {
            if let Document::Playbook(playbook) = self.document(pin).await? {
                declared = playbook.declared_parameters();
            }
        }
        Ok(declared)
    }

    /// Returns a document in the pinned version: the current one if it still matches, else from history.
    pub(super) async fn document(&self, pin: &DocumentPin) -> Result<Document, EngineError> {
        let live = self.catalogue.live();
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
        if let Some(tool) = self.catalogue.past_imports().get(&pin.content_hash) {
            return Ok(Document::Tool(tool));
        }
        if pin.kind == DocumentKind::Tool && pin.id.starts_with(IMPORTED_PREFIX) {
            let message = format!(
                "the tool `{}` is not available as it was when the run started: its MCP server is unavailable, or \
                 has changed it",
                pin.id
            );
            return Err(EngineError::new(ErrorCode::Unavailable, message));
        }
        let key = DocumentKey {
            scope: scope_of(pin),
            kind: pin.kind,
            id: pin.id.clone(),
        };
        let history = self.store.document_history(&key).await?;
        let version = history
            .iter()
            .find(|version| version.content_hash.to_string() == pin.content_hash)
            .ok_or_else(|| EngineError::not_found("version", format!("{} {}", pin.kind, pin.id)))?;
        parse_document(pin.kind, &pin.id, &version.body)
    }

    /// Returns the files of a package version, cached in memory because every tool call needs them.
    pub(crate) async fn package_files(
        &self,
        origin: &Origin,
    ) -> Result<Arc<PackageFiles>, EngineError> {
        if let Some(files) = self.files.get(origin) {
            return Ok(files);
        }
        // The built-in package is in the binary and has no files.
        if origin.package.as_ref() == BUILT_IN {
            return Ok(Arc::default());
        }
        let files = self
            .store
            .package_files(&origin.scope, &origin.package, &origin.version)
            .await?
            .ok_or_else(|| {
                EngineError::not_found("version", format!("{} {}", origin.package, origin.version))
            })?;
        let files = PackageFiles::new(files)
            .map_err(|error| EngineError::internal("reading a package's files", error))?;
        let files = Arc::new(files);
        self.files.insert(origin.clone(), Arc::clone(&files));
        Ok(files)
    }
}

/// Returns each guardrail once, in order of first occurrence.
fn each_once(found: impl Iterator<Item = ApplicableGuardrail>) -> Vec<ApplicableGuardrail> {
    let mut bearing: Vec<ApplicableGuardrail> = Vec::new();
    for found in found {
        let is_found =
            |known: &ApplicableGuardrail| Arc::ptr_eq(&known.found.entry, &found.found.entry);
        if !bearing.iter().any(is_found) {
            bearing.push(found);
        }
    }
    bearing
}

/// The executed document, as guardrails and policies see it.
struct ExecutedDocuments {
    kind: RunKind,
    id: String,
    /// Its domain; absent for a plan, which declares none.
    domain: Option<String>,
}

impl ExecutedDocuments {
    /// A mission has a type and no domain: the rules of each tool's domain apply to its steps.
    fn by_mission(desk: &dyn StageRunner) -> Self {
        Self {
            kind: RunKind::Mission,
            id: desk.kind_id().to_owned(),
            domain: None,
        }
    }

    fn of(graph: &StepGraph, skill: Option<&Skill>, playbook: Option<&Playbook>) -> Self {
        let (kind, id, domain) = match (skill, playbook, graph.source()) {
            (Some(skill), _, _) => (RunKind::Skill, skill.skill_id.as_ref(), Some(&skill.domain)),
            (None, Some(playbook), _) => (
                RunKind::Playbook,
                playbook.playbook_id.as_ref(),
                Some(&playbook.domain),
            ),
            (None, None, Some(source)) => (source.kind(), source.id(), None),
            (None, None, None) => (RunKind::Playbook, "", None),
        };
        Self {
            kind,
            id: id.to_owned(),
            domain: domain.map(ToString::to_string),
        }
    }
}

fn scope_of(pin: &DocumentPin) -> Scope {
    pin.tenant
        .as_ref()
        .map_or(Scope::Global, |tenant| Scope::Tenant(tenant.clone()))
}

fn origin_of(pin: &DocumentPin) -> Result<Origin, EngineError> {
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

/// Returns the script bodies of a playbook, by name.
fn scripts(
    playbook: &Playbook,
    files: &Arc<PackageFiles>,
    run: &RunId,
) -> Result<BTreeMap<ScriptId, ScriptTool>, EngineError> {
    let mut scripts = BTreeMap::new();
    for script in &playbook.scripts {
        let name = ScriptId::parse(script.name())
            .map_err(|error| EngineError::internal("reading a playbook's scripts", error))?;
        let source = script::read(script).map_err(|faults| {
            let first = faults.first().map(ToString::to_string);
            lost(run, &first.unwrap_or_default())
        })?;
        let body = match (&script.path, &script.body, &source) {
            (Some(path), _, _) => Body::File(path.as_str()),
            (None, Some(_), ScriptSource::Python(source)) => Body::Launched(source),
            (None, Some(body), ScriptSource::Plain) => Body::Text(body.as_str()),
            (None, None, _) => return Err(lost(run, &format!("the script `{name}` is empty"))),
        };
        let made = call::script(name.as_ref(), script.language, body, files)
            .ok_or_else(|| lost(run, &format!("the script `{name}` has no language")))?;
        let made = made.map_err(|failure| lost(run, &failure.message))?;
        scripts.insert(name, made);
    }
    Ok(scripts)
}
