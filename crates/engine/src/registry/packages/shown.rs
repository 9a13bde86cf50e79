//! Views of packages and their history.

use charter_contract::ids::PackageName;
use charter_contract::package::PackageScope;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::package::Problem;
use charter_store::catalogue::{Change, PackageVersion};
use schemars::JsonSchema;
use serde::Serialize;

use super::{PackageDiff, RoutingTestResult};
use crate::LensIndexingResult;

/// One entry of a package's history.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Package")]
pub struct PackageView {
    /// The package.
    pub package: PackageName,
    /// The version of the entry.
    pub version: String,
    /// `global`, or `tenant` for the caller's own.
    pub scope: PackageScope,
    /// `registered`, `rolled_back` or `unregistered`.
    #[schemars(extend("enum" = ["registered", "rolled_back", "unregistered"]))]
    pub change: &'static str,
    /// Number of documents in force afterwards.
    pub documents: usize,
    /// `sha256:…` over all files.
    pub content_hash: String,
    /// The catalogue's revision afterwards.
    pub revision: u64,
    /// The user who did it.
    pub actor: String,
    /// When it happened.
    pub at: Timestamp,
}

impl From<PackageVersion> for PackageView {
    fn from(version: PackageVersion) -> Self {
        Self {
            scope: match version.scope {
                Scope::Global => PackageScope::Global,
                Scope::Tenant(_) => PackageScope::Tenant,
            },
            change: match version.change {
                Change::Registered => "registered",
                Change::RolledBack => "rolled_back",
                Change::Unregistered => "unregistered",
            },
            package: version.package,
            version: version.version,
            documents: version.documents,
            content_hash: version.content_hash.to_string(),
            revision: version.revision.0,
            actor: version.actor.to_string(),
            at: version.at,
        }
    }
}

/// The result of a registration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RegistrationReport")]
pub struct RegistrationReport {
    /// The package.
    pub package: PackageName,
    /// Its version.
    pub version: String,
    /// `true` if the same content was in force already, or for a dry run.
    pub unchanged: bool,
    /// The changes, actual or predicted.
    pub diff: PackageDiff,
    /// Warnings.
    pub problems: Vec<Problem>,
    /// Texts that had to be embedded.
    pub embedded: usize,
    /// The results of its active lenses.
    pub lenses: Vec<LensIndexingResult>,
    /// The results of its routing tests; none if there was nothing to do.
    pub tests: Vec<RoutingTestResult>,
}
