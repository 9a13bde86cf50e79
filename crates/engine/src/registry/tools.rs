//! Tools that callers register one by one, by their definitions (seed 003). They are documents of the tenant's package
//! `tools`, so each change is a version that can be rolled back, and passes every check of packages. A handler of an
//! executor carries out their calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use charter_contract::agentic::tool_definition::ToolDefinition;
use charter_contract::catalogue::tool::ToolClass;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PackageName, ToolDefinitionId, ToolId};
use charter_contract::package::{PackageBundle, PackageManifest, PackageScope};
use charter_contract::scope::Scope;
use charter_contract::text::{Text, Version};
use charter_contract::validate::Contract;
use charter_domain::package::{MANIFEST, Problem};
use charter_store::SharedStore;
use charter_store::catalogue::{Change, PackageVersion};
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::task::TaskTracker;

use crate::catalogue::live::CatalogueService;
use crate::registry::packages::{PackageService, RegistrationReport};
use crate::{Caller, EngineError};

/// The package of each tenant for registered definitions.
pub const TOOLS_PACKAGE: &str = "tools";

/// The description in the manifest of a package that this service wrote.
const DESCRIPTION: &str = "Tools that were registered by their definitions.";

const FOLDER: &str = "tools/";

/// A registered tool.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ToolRegistration")]
pub struct ToolRegistered {
    /// Its id in the agent contracts.
    pub id: ToolDefinitionId,
    /// Its id in the catalogue, for handlers, policies and plans.
    pub tool_id: ToolId,
    /// Whether it writes.
    pub tool_class: ToolClass,
    /// The package that contains it.
    pub package: PackageName,
    /// The version of the package since this registration.
    pub version: String,
    /// Warnings.
    pub problems: Vec<Problem>,
}

/// Registers single tools.
pub struct ToolRegistrationService {
    store: SharedStore,
    tasks: TaskTracker,
    catalogue: Arc<CatalogueService>,
    packages: Arc<PackageService>,
}

impl std::fmt::Debug for ToolRegistrationService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolRegistrationService")
            .finish_non_exhaustive()
    }
}

/// The package of a tenant as it is in force.
struct ToolsPackage {
    name: PackageName,
    files: BTreeMap<String, String>,
    history: Vec<PackageVersion>,
}

impl ToolRegistrationService {
    pub(crate) fn new(
        store: SharedStore,
        tasks: TaskTracker,
        catalogue: Arc<CatalogueService>,
        packages: Arc<PackageService>,
    ) -> Self {
        Self {
            store,
            tasks,
            catalogue,
            packages,
        }
    }

    /// Registers a tool for the caller's tenant. It completes even if the caller disconnects.
    ///
    /// # Errors
    /// `already_exists` if a tool that the tenant sees has this id, or another catalogue id that it is derived from;
    /// `invalid_document` with all violations; `permission_denied` without the role; `illegal_transition` if the
    /// tenant's package `tools` is not one of this service.
    pub async fn register(
        self: &Arc<Self>,
        caller: &Caller,
        definition: ToolDefinition,
    ) -> Result<ToolRegistered, EngineError> {
        let (service, caller) = (Arc::clone(self), caller.clone());
        let work = async move { service.register_whole(&caller, &definition).await };
        let working = self.tasks.spawn(work).await;
        working.map_err(|error| EngineError::internal("registering a tool", error))?
    }

    async fn register_whole(
        &self,
        caller: &Caller,
        definition: &ToolDefinition,
    ) -> Result<ToolRegistered, EngineError> {
        let scope = Scope::Tenant(caller.tenant.clone());
        caller.must_edit(&scope, "packages")?;
        let (tool, _warnings) = definition.to_tool().map_err(|violations| {
            EngineError::violations(ToolDefinition::NAME.as_str(), &violations)
        })?;
        let _one_at_a_time = self.catalogue.registration_turn().await?;
        self.must_be_new(caller, &definition.id)?;
        let mut package = self.package(&scope).await?;
        let text = serde_json::to_string_pretty(definition)
            .map_err(|error| EngineError::internal("writing a tool definition", error))?;
        package.files.insert(path(&tool.tool_id), text);
        let registered = self.put_in_force(caller, package).await?;
        Ok(ToolRegistered {
            id: definition.id.clone(),
            tool_id: tool.tool_id,
            tool_class: tool.tool_class,
            package: registered.package,
            version: registered.version,
            problems: registered.problems,
        })
    }

    /// Removes a tool that was registered by its definition. Earlier versions of the package keep it.
    ///
    /// # Errors
    /// `not_found` for any other tool; `invalid_document` while other documents need it; otherwise as for
    /// [`ToolRegistrationService::register`].
    pub async fn remove(
        self: &Arc<Self>,
        caller: &Caller,
        id: &ToolDefinitionId,
    ) -> Result<(), EngineError> {
        let (service, caller, id) = (Arc::clone(self), caller.clone(), id.clone());
        let work = async move { service.remove_whole(&caller, &id).await };
        let working = self.tasks.spawn(work).await;
        working.map_err(|error| EngineError::internal("removing a tool", error))?
    }

    async fn remove_whole(
        &self,
        caller: &Caller,
        id: &ToolDefinitionId,
    ) -> Result<(), EngineError> {
        let scope = Scope::Tenant(caller.tenant.clone());
        caller.must_edit(&scope, "packages")?;
        let absent = || EngineError::not_found("tool", id);
        let tool = id.to_tool_id().map_err(|_| absent())?;
        let _one_at_a_time = self.catalogue.registration_turn().await?;
        let mut package = self.package(&scope).await?;
        if package.files.remove(&path(&tool)).is_none() {
            return Err(absent());
        }
        self.put_in_force(caller, package).await.map(drop)
    }

    /// Refuses an id of the agent contracts that a visible tool already has (B003-4, ruling 25).
    fn must_be_new(&self, caller: &Caller, id: &ToolDefinitionId) -> Result<(), EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let mut visible = view.tools().filter(|found| !found.document().is_internal());
        let same = visible.find(|found| {
            let tool = &found.document().tool_id;
            ToolDefinitionId::from_tool_id(tool) == *id
        });
        let Some(known) = same else {
            return Ok(());
        };
        let message = format!(
            "the id `{id}` is used by the tool `{}` of the package `{}`; choose another id, or delete that tool first",
            known.document().tool_id,
            known.entry.origin.package
        );
        Err(EngineError::new(ErrorCode::AlreadyExists, message))
    }

    /// Reads the tenant's package; one without files if it is not in force.
    async fn package(&self, scope: &Scope) -> Result<ToolsPackage, EngineError> {
        let name = PackageName::parse(TOOLS_PACKAGE)
            .map_err(|error| EngineError::internal("naming the package of tools", error))?;
        let history = self.store.package_history(scope, &name).await?;
        let in_force = history.last();
        let in_force = in_force.filter(|last| last.change != Change::Unregistered);
        let files = match in_force {
            Some(last) => {
                let found = self.store.package_files(scope, &name, &last.version);
                found.await?.unwrap_or_default()
            }
            None => BTreeMap::new(),
        };
        if !files.is_empty() && !is_own(&files) {
            let message = format!(
                "the package `{name}` was registered as a whole; add the tool to that package, or give it another name"
            );
            return Err(EngineError::new(ErrorCode::IllegalTransition, message));
        }
        Ok(ToolsPackage {
            name,
            files,
            history,
        })
    }

    /// Registers the next version of the package. The caller holds the turn to change the catalogue.
    async fn put_in_force(
        &self,
        caller: &Caller,
        package: ToolsPackage,
    ) -> Result<RegistrationReport, EngineError> {
        let internal = |error| EngineError::internal("writing the package of tools", error);
        let version = next_version(&package.history);
        let version = Version::parse(&version)
            .map_err(|error| EngineError::internal("numbering the package of tools", error))?;
        let title = Text::parse("Registered tools")
            .map_err(|error| EngineError::internal("naming the package of tools", error))?;
        let manifest = PackageManifest {
            name: package.name,
            version,
            title,
            description: DESCRIPTION.to_owned(),
            licence: None,
            scope: PackageScope::Tenant,
        };
        let manifest = serde_json::to_string_pretty(&manifest).map_err(internal)?;
        let mut files = package.files;
        files.insert(MANIFEST.to_owned(), manifest);
        let bundle = PackageBundle { files };
        self.packages.register_held(caller, bundle).await
    }
}

fn path(tool: &ToolId) -> String {
    format!("{FOLDER}{tool}.json")
}

/// Whether this service wrote a package, without files of other kinds.
fn is_own(files: &BTreeMap<String, String>) -> bool {
    let manifest = files
        .get(MANIFEST)
        .is_some_and(|text| text.contains(DESCRIPTION));
    let is_tool = |path: &String| path == MANIFEST || path.starts_with(FOLDER);
    manifest && files.keys().all(is_tool)
}

/// Returns a version that the history does not have.
fn next_version(history: &[PackageVersion]) -> String {
    let used: BTreeSet<&str> = history.iter().map(|entry| entry.version.as_str()).collect();
    let mut number = history.len() + 1;
    loop {
        let version = format!("0.{number}.0");
        if !used.contains(version.as_str()) {
            return version;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests;
