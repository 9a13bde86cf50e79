//! Converts files into a checked package in its stored form.

use std::sync::Arc;

use charter_contract::bounds::PACKAGE_PROBLEMS;
use charter_contract::canonical;
use charter_contract::catalogue::Document;
use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::ids::Label;
use charter_contract::package::PackageBundle;
use charter_contract::scope::Scope;
use charter_contract::text::Version;
use charter_domain::cancellation::Cancellation;
use charter_domain::catalogue::{Origin, View};
use charter_domain::package::{Against, Package, Problem, ProblemSeverity, check, read};
use charter_effects::HostPattern;
use charter_store::catalogue::{CatalogueRevision, ContentHash, NewDocument};
use sha2::{Digest, Sha256};

use super::PackageService;
use super::routing_test::RoutingTestResult;
use super::vectors::foreign_vectors;
use super::{PackageReport, VersionNaming};
use crate::catalogue::live::LiveCatalogue;
use crate::{Caller, EngineError};

/// A package whose documents may enter the catalogue.
#[derive(Debug)]
pub(crate) struct AdmittedPackage {
    pub(crate) package: Package,
    pub(crate) origin: Arc<Origin>,
    pub(crate) content_hash: ContentHash,
    /// The revision of the catalogue that it was checked against.
    pub(crate) revision: CatalogueRevision,
    pub(crate) before: View,
    pub(crate) after: View,
    pub(crate) documents: Vec<NewDocument>,
    pub(crate) warnings: Vec<Problem>,
}

impl AdmittedPackage {
    pub(crate) fn report(
        &self,
        problems: Vec<Problem>,
        tests: Vec<RoutingTestResult>,
    ) -> PackageReport {
        PackageReport {
            tests,
            package: Some(self.origin.package.clone()),
            version: Some(self.origin.version.clone()),
            problems,
            documents: self.documents.len(),
        }
    }
}

impl PackageService {
    /// Reads and checks a bundle. The inner error is the report of its problems; a cancelled check has one as well.
    pub(super) async fn admit(
        &self,
        caller: &Caller,
        bundle: PackageBundle,
        naming: VersionNaming,
        cancel: &Cancellation,
    ) -> Result<Result<AdmittedPackage, PackageReport>, EngineError> {
        let place = self.checks.take(&caller.tenant).await;
        let live = self.catalogue.live();
        let caller = caller.clone();
        let dims = self
            .vectors
            .embedder()
            .map(|embedder| embedder.model().dims);
        let check =
            move |cancel: &Cancellation| admit(&caller, &live, bundle, naming, dims, cancel);
        place.run("checking a package", cancel, check).await?
    }
}

/// Reads and checks a bundle in this thread. `dims` is the dimension of the current model's vectors.
fn admit(
    caller: &Caller,
    live: &LiveCatalogue,
    bundle: PackageBundle,
    naming: VersionNaming,
    dims: Option<usize>,
    cancel: &Cancellation,
) -> Result<Result<AdmittedPackage, PackageReport>, EngineError> {
    let content_hash = hash_files(&bundle);
    let reading = read(bundle, cancel);
    let Some(mut package) = reading.package else {
        let manifest = reading.manifest.as_ref();
        return Ok(Err(PackageReport {
            package: manifest.map(|manifest| manifest.name.clone()),
            version: manifest.map(|manifest| naming.version(&manifest.version, content_hash)),
            problems: reading.problems,
            documents: reading.documents,
            tests: Vec::new(),
        }));
    };
    let manifest = &package.manifest.value;
    let origin = Arc::new(Origin {
        scope: caller.scope_of(manifest.scope),
        package: manifest.name.clone(),
        version: naming.version(&manifest.version, content_hash),
    });
    // A global document may not depend on a tenant's documents.
    let before = match &origin.scope {
        Scope::Tenant(tenant) => live.view(tenant),
        Scope::Global => live.snapshot.global_view(),
    };
    let mut problems = reading.problems;
    problems.extend(unreadable_hosts(&package));
    problems.extend(foreign_vectors(&package, dims));
    let undecided = package
        .documents
        .iter()
        .map(|d| (d.value.clone(), String::new()));
    let after = before.with_package(&origin, undecided);
    problems.extend(check(
        &package,
        &Against {
            scope: &origin.scope,
            before: &before,
            after: &after,
            origin: &origin,
            cancel,
        },
    ));
    problems.sort();
    derive(&mut package, &after, &origin);
    // Frees a copy of every document before the next one is made.
    drop(after);
    let documents = stored_form(&package)?;
    let hashed = package.documents.iter().zip(&documents);
    let hashed =
        hashed.map(|(document, new)| (document.value.clone(), new.content_hash.to_string()));
    let failed = problems
        .iter()
        .any(|problem| problem.severity == ProblemSeverity::Error);
    let admitted = AdmittedPackage {
        after: before.with_package(&origin, hashed),
        before,
        package,
        origin,
        content_hash,
        revision: live.revision,
        documents,
        warnings: problems,
    };
    if failed {
        let problems = admitted.warnings.clone();
        return Ok(Err(admitted.report(problems, Vec::new())));
    }
    Ok(Ok(admitted))
}

/// Returns egress entries that would fail every call of the tool. Their syntax belongs to the crate that runs calls.
fn unreadable_hosts(package: &Package) -> Vec<Problem> {
    let tools = package.documents.iter();
    let tools = tools.filter_map(|document| Some((&document.place, document.value.as_tool()?)));
    tools
        .flat_map(|(place, tool)| {
            let hosts = tool.egress.iter().enumerate();
            hosts.filter_map(move |(at, host)| {
                let error = host.as_str().parse::<HostPattern>().err()?;
                let pointer = format!("/egress/{at}");
                Some(Problem::at(place, &pointer, "egress", error.to_string()))
            })
        })
        .take(PACKAGE_PROBLEMS)
        .collect()
}

/// Sets the fields that registration decides: the tenant of every document, and the context types of every agent.
fn derive(package: &mut Package, view: &View, origin: &Origin) {
    for document in &mut package.documents {
        document.value.set_tenant_id(origin.scope.tenant().cloned());
        if let Document::Agent(agent) = &mut document.value {
            agent.supported_context_types = context_types(agent, view);
        }
    }
}

/// Returns the union over the agent's skills, in order of first mention, regardless of the authored value (B000-8).
fn context_types(agent: &AgentManifest, view: &View) -> Vec<Label> {
    let mut types: Vec<Label> = Vec::new();
    let skills = agent
        .skill_refs
        .iter()
        .filter_map(|id| view.skill(id.as_ref()));
    for skill in skills {
        for kind in &skill.document().context.supported_context_types {
            if !types.contains(kind) {
                types.push(kind.clone());
            }
        }
    }
    types
}

pub(super) fn stored_form(package: &Package) -> Result<Vec<NewDocument>, EngineError> {
    package
        .documents
        .iter()
        .map(|document| {
            // Equal documents have equal texts.
            let value = serde_json::to_value(&document.value)
                .map_err(|error| EngineError::internal("writing a document", error))?;
            let body: Arc<str> = canonical::text(value).into();
            Ok(NewDocument {
                kind: document.value.kind(),
                id: document.value.id().into_owned(),
                content_hash: ContentHash(Sha256::digest(body.as_bytes()).into()),
                body,
            })
        })
        .collect()
}

impl VersionNaming {
    fn version(self, manifest: &Version, content: ContentHash) -> String {
        match self {
            Self::OfManifest => manifest.to_string(),
            // Build metadata in the sense of SemVer 2.0.0, section 10.
            Self::Draft => {
                let [a, b, c, d, ..] = content.0;
                format!("{manifest}+draft.{:08x}", u32::from_be_bytes([a, b, c, d]))
            }
            Self::As(version) => version,
        }
    }
}

fn hash_files(bundle: &PackageBundle) -> ContentHash {
    let mut hash = Sha256::new();
    for (path, text) in &bundle.files {
        for part in [path, text] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
    }
    ContentHash(hash.finalize().into())
}
