//! Packages: checking, comparing, registering, rolling back, removing.
//!
//! Every registration takes the same steps: read every file, check everything against the resulting catalogue, embed
//! new texts, run the routing tests, fetch and index the lenses, then put it all in force in one transaction. If
//! anything is wrong, nothing is written, and every problem is reported.

mod admit;
mod compare;
mod gate;
mod library;
mod routing_test;
mod shown;
mod vectors;
mod versions;

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::PackageName;
use charter_contract::package::{PackageBundle, PackageScope};
use charter_contract::scope::Scope;
use charter_domain::cancellation::Cancellation;
use charter_domain::clock::Clock;
use charter_domain::package::{Problem, ProblemSeverity};
use charter_store::catalogue::{Change, PackageVersion, Registration};
use charter_store::{SharedStore, StoreError};
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::task::TaskTracker;

use crate::catalogue::live::{CatalogueService, Mode, TextVectors};
use crate::ground::checks::{CheckSlots, WaitingCaller};
use crate::ground::core_ports::CorePorts;
use crate::knowledge::lenses::{LensJob, LensService};
use crate::registry::routing::RoutingService;
use crate::{Caller, EngineError};

pub use compare::{Difference, DocumentChange, PackageDiff};
pub use routing_test::RoutingTestResult;
pub use shown::{PackageView, RegistrationReport};
pub use versions::{DocumentVersionChange, PackageVersionDiff, VersionRange};

use admit::AdmittedPackage;

/// Maximum losses of other packages that a refused removal names.
const NAMED_LOSSES: usize = 50;

/// The result of checking a package.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PackageReport {
    /// The package's name, if its manifest was readable.
    pub package: Option<PackageName>,
    /// Its version.
    pub version: Option<String>,
    /// Errors and warnings, by file and position.
    pub problems: Vec<Problem>,
    /// Number of documents that were read.
    pub documents: usize,
    /// Results of its routing tests; none if there are other errors already.
    pub tests: Vec<RoutingTestResult>,
}

impl PackageReport {
    /// Returns whether it has no errors, and so may be registered.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems
            .iter()
            .all(|problem| problem.severity != ProblemSeverity::Error)
    }
}

/// The source of a package's version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VersionNaming {
    /// The manifest.
    OfManifest,
    /// The manifest and the content's hash.
    Draft,
    /// The version of an earlier registration.
    As(String),
}

impl Mode {
    fn naming(self) -> VersionNaming {
        match self {
            Self::Apply | Self::DryRun => VersionNaming::OfManifest,
            Self::Draft => VersionNaming::Draft,
        }
    }
}

/// Runs the routing tests of packages.
pub(crate) struct RoutingTests {
    pub(crate) routing: Arc<RoutingService>,
    /// Maximum candidates of a verdict.
    pub(crate) candidates: usize,
    /// Maximum skills that a broad verdict runs.
    pub(crate) broad_skills: usize,
}

/// The packages of the catalogue.
pub struct PackageService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    catalogue: Arc<CatalogueService>,
    vectors: Arc<TextVectors>,
    lenses: Arc<LensService>,
    checks: CheckSlots,
    tests: RoutingTests,
}

impl std::fmt::Debug for PackageService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackageService").finish_non_exhaustive()
    }
}

impl PackageService {
    pub(crate) fn new(
        ports: CorePorts,
        tasks: TaskTracker,
        catalogue: Arc<CatalogueService>,
        vectors: Arc<TextVectors>,
        lenses: Arc<LensService>,
        checks: CheckSlots,
        tests: RoutingTests,
    ) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            tasks,
            catalogue,
            vectors,
            lenses,
            checks,
            tests,
        }
    }

    /// Checks a package against the catalogue without writing anything.
    ///
    /// # Errors
    /// If storage or the embedder fails; problems of the package are in the report.
    pub async fn validate(
        &self,
        caller: &Caller,
        bundle: PackageBundle,
    ) -> Result<PackageReport, EngineError> {
        let waiting = WaitingCaller::default();
        let naming = VersionNaming::OfManifest;
        match self
            .admit(caller, bundle, naming, waiting.cancellation())
            .await?
        {
            Ok(admitted) => {
                let mut problems = admitted.warnings.clone();
                let gated = self.gate(&admitted).await?;
                problems.extend(gated.problems);
                problems.extend(gated.warnings);
                Ok(admitted.report(problems, gated.tests))
            }
            Err(report) => Ok(report),
        }
    }

    /// Compares a package with its version in force.
    ///
    /// # Errors
    /// `invalid_document` with all problems.
    pub async fn diff(
        &self,
        caller: &Caller,
        bundle: PackageBundle,
    ) -> Result<PackageDiff, EngineError> {
        let waiting = WaitingCaller::default();
        let admitted = self
            .admit(
                caller,
                bundle,
                VersionNaming::OfManifest,
                waiting.cancellation(),
            )
            .await?
            .map_err(|report| refusal(&report))?;
        Ok(compare::diff(&admitted))
    }

    /// Puts a package in force. It is cancelled with its caller while the package is checked, and completes after that.
    ///
    /// # Errors
    /// `invalid_document` with all problems; `routing_test_failed`; `version_conflict` if this version is registered
    /// with other content; `permission_denied` below the catalogue role that the scope needs.
    pub async fn register(
        self: &Arc<Self>,
        caller: &Caller,
        bundle: PackageBundle,
        mode: Mode,
    ) -> Result<RegistrationReport, EngineError> {
        let waiting = WaitingCaller::default();
        let cancel = waiting.cancellation().clone();
        let (service, caller) = (Arc::clone(self), caller.clone());
        self.run_detached(
            async move { service.register_whole(&caller, bundle, mode, &cancel).await },
        )
        .await
    }

    async fn register_whole(
        &self,
        caller: &Caller,
        bundle: PackageBundle,
        mode: Mode,
        cancel: &Cancellation,
    ) -> Result<RegistrationReport, EngineError> {
        let _one_at_a_time = self.catalogue.registration_turn().await?;
        let admitted = self
            .admit(caller, bundle, mode.naming(), cancel)
            .await?
            .map_err(|report| refusal(&report))?;
        may_change(caller, &admitted.origin.scope)?;
        self.gate_and_store(caller, admitted, mode).await
    }

    /// Registers a package that this system wrote itself. The caller holds the registration lock and has checked
    /// permissions.
    pub(crate) async fn register_held(
        &self,
        caller: &Caller,
        bundle: PackageBundle,
    ) -> Result<RegistrationReport, EngineError> {
        let waiting = WaitingCaller::default();
        let admitted = self
            .admit(
                caller,
                bundle,
                VersionNaming::OfManifest,
                waiting.cancellation(),
            )
            .await?
            .map_err(|report| refusal(&report))?;
        self.gate_and_store(caller, admitted, Mode::Apply).await
    }

    /// Finishes a registration: runs the routing tests, then stores everything at once.
    async fn gate_and_store(
        &self,
        caller: &Caller,
        admitted: AdmittedPackage,
        mode: Mode,
    ) -> Result<RegistrationReport, EngineError> {
        let history = self
            .store
            .package_history(&admitted.origin.scope, &admitted.origin.package)
            .await?;
        let diff = compare::diff(&admitted);
        let mut registered = RegistrationReport {
            package: admitted.origin.package.clone(),
            version: admitted.origin.version.clone(),
            unchanged: true,
            diff,
            problems: admitted.warnings.clone(),
            embedded: 0,
            lenses: Vec::new(),
            tests: Vec::new(),
        };
        if already_registered(&history, &admitted)? == InForce::Yes {
            if mode != Mode::DryRun {
                registered.lenses = self.looked_at_again(&admitted).await?;
            }
            return Ok(registered);
        }
        let gated = self.gate(&admitted).await?;
        if !gated.problems.is_empty() {
            return Err(failed_tests(&admitted.report(gated.problems, gated.tests)));
        }
        registered.tests = gated.tests;
        registered.problems.extend(gated.warnings);
        let lenses = self.indexed(&admitted, mode).await?;
        registered.lenses.clone_from(&lenses.done);
        if mode == Mode::DryRun {
            return Ok(registered);
        }
        registered.embedded = self.vectors.store_vectors(gated.vectors).await?;
        self.put_in_force(caller, &admitted, Change::Registered, lenses)
            .await?;
        registered.unchanged = false;
        Ok(registered)
    }

    async fn put_in_force(
        &self,
        caller: &Caller,
        admitted: &AdmittedPackage,
        change: Change,
        lenses: LensJob,
    ) -> Result<(), EngineError> {
        let registration = Registration {
            scope: admitted.origin.scope.clone(),
            package: admitted.origin.package.clone(),
            version: admitted.origin.version.clone(),
            content_hash: admitted.content_hash,
            change,
            files: admitted.package.files.clone(),
            documents: admitted.documents.clone(),
            lenses: lenses.new,
            expected: admitted.revision,
            actor: caller.user.clone(),
            at: self.clock.now(),
        };
        self.store.register(registration).await?;
        self.lenses.note_sources(lenses.same).await?;
        self.catalogue.reload_catalogue().await
    }

    /// Lists the packages in force for the caller: the tenant's own, then the global ones.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<PackageView>, EngineError> {
        let mut packages = self
            .store
            .packages(&Scope::Tenant(caller.tenant.clone()))
            .await?;
        packages.extend(self.store.packages(&Scope::Global).await?);
        Ok(packages.into_iter().map(PackageView::from).collect())
    }

    /// Returns the history of a package, oldest first.
    ///
    /// # Errors
    /// `not_found` if it never existed in that scope.
    pub async fn history(
        &self,
        caller: &Caller,
        scope: PackageScope,
        package: &PackageName,
    ) -> Result<Vec<PackageView>, EngineError> {
        let scope = caller.scope_of(scope);
        let history = self.store.package_history(&scope, package).await?;
        if history.is_empty() {
            return Err(self.no_package(&scope, package).await?);
        }
        Ok(history.into_iter().map(PackageView::from).collect())
    }

    /// The error for a package that a scope does not have, with the nearest name.
    async fn no_package(
        &self,
        scope: &Scope,
        package: &PackageName,
    ) -> Result<EngineError, EngineError> {
        let in_force = self.store.packages(scope).await?;
        let names = in_force.iter().map(|known| known.package.as_str());
        let absent = EngineError::not_found("package", package);
        Ok(absent.or_nearest(package.as_str(), names))
    }

    /// The error for a version that a package does not have, which lists its versions, newest first. If the scope never
    /// had the package, the error is about the package.
    async fn no_version(
        &self,
        scope: &Scope,
        package: &PackageName,
        version: &str,
    ) -> Result<EngineError, EngineError> {
        let history = self.store.package_history(scope, package).await?;
        if history.is_empty() {
            return self.no_package(scope, package).await;
        }
        let mut listed = BTreeSet::new();
        let newest_first = history.iter().rev().map(|entry| entry.version.as_str());
        let versions = newest_first.filter(|version| listed.insert(*version));
        let absent = EngineError::not_found("version", format!("{package} {version}"));
        Ok(absent.knowing(versions))
    }

    /// Puts an earlier version in force again, checked and cancelled like any registration.
    ///
    /// # Errors
    /// `not_found` for a version that was never registered; otherwise as for registering.
    pub async fn roll_back(
        self: &Arc<Self>,
        caller: &Caller,
        scope: PackageScope,
        package: &PackageName,
        version: &str,
    ) -> Result<RegistrationReport, EngineError> {
        let waiting = WaitingCaller::default();
        let cancel = waiting.cancellation().clone();
        let (service, caller) = (Arc::clone(self), caller.clone());
        let (package, version) = (package.clone(), version.to_owned());
        self.run_detached(async move {
            service
                .roll_back_whole(&caller, scope, &package, &version, &cancel)
                .await
        })
        .await
    }

    async fn roll_back_whole(
        &self,
        caller: &Caller,
        scope: PackageScope,
        package: &PackageName,
        version: &str,
        cancel: &Cancellation,
    ) -> Result<RegistrationReport, EngineError> {
        let _one_at_a_time = self.catalogue.registration_turn().await?;
        let scope = caller.scope_of(scope);
        may_change(caller, &scope)?;
        let files = self.store.package_files(&scope, package, version).await?;
        let Some(files) = files else {
            return Err(self.no_version(&scope, package, version).await?);
        };
        let admitted = self
            .admit(
                caller,
                PackageBundle { files },
                VersionNaming::As(version.to_owned()),
                cancel,
            )
            .await?
            .map_err(|report| refusal(&report))?;
        let gated = self.gate(&admitted).await?;
        if !gated.problems.is_empty() {
            return Err(failed_tests(&admitted.report(gated.problems, gated.tests)));
        }
        let lenses = self.indexed(&admitted, Mode::Apply).await?;
        let done = lenses.done.clone();
        let embedded = self.vectors.store_vectors(gated.vectors).await?;
        let diff = compare::diff(&admitted);
        self.put_in_force(caller, &admitted, Change::RolledBack, lenses)
            .await?;
        let mut problems = admitted.warnings;
        problems.extend(gated.warnings);
        Ok(RegistrationReport {
            package: package.clone(),
            version: version.to_owned(),
            unchanged: false,
            diff,
            problems,
            embedded,
            lenses: done,
            tests: gated.tests,
        })
    }

    /// Takes a package out of force.
    ///
    /// # Errors
    /// `not_found`; `still_referenced` naming the losses of other packages.
    pub async fn unregister(
        &self,
        caller: &Caller,
        scope: PackageScope,
        package: &PackageName,
    ) -> Result<(), EngineError> {
        let _one_at_a_time = self.catalogue.registration_turn().await?;
        let scope = caller.scope_of(scope);
        may_change(caller, &scope)?;
        let live = self.catalogue.live();
        let losses = compare::losses(&live, &scope, package);
        if !losses.is_empty() {
            let message = format!(
                "other packages need documents of `{package}`: {}",
                named(&losses)
            );
            return Err(EngineError::new(ErrorCode::StillReferenced, message));
        }
        let at = self.clock.now();
        let store = &self.store;
        let removed = store.unregister(&scope, package, live.revision, &caller.user, at);
        match removed.await {
            Err(StoreError::NotFound { .. }) => Err(self.no_package(&scope, package).await?),
            removed => {
                removed?;
                self.catalogue.reload_catalogue().await
            }
        }
    }
}

/// Formats the first losses, and the number of further ones.
fn named(losses: &[String]) -> String {
    let (first, more) = losses.split_at(losses.len().min(NAMED_LOSSES));
    let first = first.join("; ");
    match more.len() {
        0 => first,
        more => format!("{first}; and {more} more"),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum InForce {
    Yes,
    No,
}

/// The same version with the same content is a no-op, with other content a conflict (B000-7).
fn already_registered(
    history: &[PackageVersion],
    admitted: &AdmittedPackage,
) -> Result<InForce, EngineError> {
    let version = &admitted.origin.version;
    let known = history.iter().rev().find(|entry| entry.version == *version);
    match known {
        Some(known) if known.content_hash != admitted.content_hash => {
            let message = format!(
                "version {version} of `{}` is already registered with other content; raise the version",
                admitted.origin.package
            );
            Err(EngineError::new(ErrorCode::VersionConflict, message))
        }
        Some(_) => {
            let last = history.last();
            let in_force = last.is_some_and(|last| {
                last.change != Change::Unregistered && last.content_hash == admitted.content_hash
            });
            Ok(if in_force { InForce::Yes } else { InForce::No })
        }
        None => Ok(InForce::No),
    }
}

fn may_change(caller: &Caller, scope: &Scope) -> Result<(), EngineError> {
    caller.must_edit(scope, "packages")
}

/// Converts the report of failed routing tests into a client error.
fn failed_tests(report: &PackageReport) -> EngineError {
    let mut error = refusal(report);
    error.code = ErrorCode::RoutingTestFailed;
    error
}

/// Converts the report into a client error.
fn refusal(report: &PackageReport) -> EngineError {
    let errors = report
        .problems
        .iter()
        .filter(|p| p.severity == ProblemSeverity::Error)
        .count();
    let message = format!("the package has {errors} error(s); nothing was registered");
    let details = serde_json::to_value(report).unwrap_or_default();
    EngineError::new(ErrorCode::InvalidDocument, message).with_details(details)
}
