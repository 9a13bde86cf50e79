//! The ten artifacts of a mission (seed 002). Every stage reads and writes one of them. The domain crate checks their
//! order and their references.

mod assignment;
mod identity;
mod kind;
mod requested_output;
mod root;
mod sensitivity;
mod state;
mod version;

pub mod aggregation_packet;
pub mod envelope;
pub mod librarian_pass;
pub mod policy_decision;
pub mod prompt_package;
pub mod research_artifact;
pub mod review_packet;
pub mod task_graph;
pub mod upcast;
pub mod worker_result;
pub mod writeback_proposal;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ActorId, TenantId};
use crate::json::{self, Profile};
use crate::schema::SchemaName;
use crate::validate::{Contract, parse_json, parse_within, read_value};
use crate::violation::{Stage, Violation};

pub use assignment::AssignmentState;
pub use kind::ArtifactKind;
pub use requested_output::RequestedOutput;
pub use root::{MissionArtifact, MissionRoot, RootMetadata, Stored};
pub use sensitivity::{SENSITIVITY_LEVELS, Sensitivity};
pub use state::{MissionState, MissionTaskState};
pub use version::MissionSchemaVersion;

use aggregation_packet::AggregationPacket;
use envelope::MissionEnvelope;
use librarian_pass::LibrarianPass;
use policy_decision::PolicyDecision;
use prompt_package::PromptPackage;
use research_artifact::ResearchArtifact;
use review_packet::ReviewPacket;
use task_graph::MissionTaskGraph;
use worker_result::WorkerResult;
use writeback_proposal::WritebackProposal;

macro_rules! artifacts {
    ($( $(#[$meta:meta])* $variant:ident($inner:ty) ),+ $(,)?) => {
        /// An artifact of any kind, identified by its `schema_name`. Serialises as the artifact itself.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        #[allow(clippy::large_enum_variant, reason = "moved once, from the reader to its stage")]
        pub enum Artifact { $( $(#[$meta])* $variant($inner) ),+ }

        impl Artifact {
            /// Returns the name of its contract.
            #[must_use]
            pub const fn name(&self) -> SchemaName {
                match self { $( Self::$variant(_) => <$inner as Contract>::NAME ),+ }
            }

            /// Its kind, one of ten.
            #[must_use]
            pub const fn kind(&self) -> ArtifactKind {
                match self { $( Self::$variant(_) => ArtifactKind::$variant ),+ }
            }

            /// Returns the root metadata that it states.
            #[must_use]
            pub fn root(&self) -> RootMetadata<'_> {
                match self { $( Self::$variant(artifact) => artifact.root() ),+ }
            }

            /// Parses an artifact from its stored bytes.
            ///
            /// # Errors
            /// Every violation; `unsupported_version` for an unknown version, which is never read as another (B002-1).
            pub fn parse(bytes: &[u8]) -> Result<Self, Vec<Violation>> {
                match peek_schema_name(bytes) {
                    $( Some(<$inner as Contract>::NAME) => {
                        let read = parse_within(bytes, Profile::STORED);
                        read.map(Self::$variant).map_err(version_first)
                    } )+
                    Some(_) | None => Self::from_value(&parse_json(bytes, Profile::STORED)?),
                }
            }

            /// Reads an artifact from a value.
            ///
            /// # Errors
            /// As [`Artifact::parse`].
            pub fn from_value(value: &Value) -> Result<Self, Vec<Violation>> {
                match schema_name(value)? {
                    $( <$inner as Contract>::NAME => {
                        let read = read_value(value).map_err(version_first);
                        read.map(|(artifact, _)| Self::$variant(artifact))
                    } )+
                    other => Err(vec![not_an_artifact(other.as_str())]),
                }
            }
        }

        impl MissionArtifact for Artifact {
            fn root(&self) -> RootMetadata<'_> {
                Self::root(self)
            }

            fn fill_owner(&mut self, tenant: &TenantId, actor: &ActorId) {
                match self { $( Self::$variant(artifact) => artifact.fill_owner(tenant, actor) ),+ }
            }
        }

        impl ArtifactKind {
            /// Returns the contract of artifacts of this kind.
            #[must_use]
            pub const fn schema(self) -> SchemaName {
                match self { $( Self::$variant => <$inner as Contract>::NAME ),+ }
            }
        }

        $( impl From<$inner> for Artifact {
            fn from(artifact: $inner) -> Self {
                Self::$variant(artifact)
            }
        } )+

        /// The contracts of mission artifacts.
        pub const ARTIFACTS: &[SchemaName] = &[$( <$inner as Contract>::NAME ),+];
    };
}

artifacts! {
    /// Mission envelope (002 §4).
    MissionEnvelope(MissionEnvelope),
    /// Task graph (002 §5).
    MissionTaskGraph(MissionTaskGraph),
    /// Prompt package (002 §6).
    PromptPackage(PromptPackage),
    /// Research artifact (002 §7).
    ResearchArtifact(ResearchArtifact),
    /// Librarian pass (002 §8).
    LibrarianPass(LibrarianPass),
    /// Worker result (002 §9).
    WorkerResult(WorkerResult),
    /// Aggregation packet (002 §10).
    AggregationPacket(AggregationPacket),
    /// Review packet (002 §11).
    ReviewPacket(ReviewPacket),
    /// Policy decision (002 §12).
    PolicyDecision(PolicyDecision),
    /// Write-back proposal (002 §13).
    WritebackProposal(WritebackProposal),
}

/// Keeps only the version violation, if there is one: an unknown form cannot be checked further.
fn version_first(violations: Vec<Violation>) -> Vec<Violation> {
    let version = |found: &&Violation| found.keyword == "unsupported_version";
    match violations.iter().find(version) {
        Some(unsupported) => vec![unsupported.clone()],
        None => violations,
    }
}

/// Reads the contract name from the bytes without reading the rest.
fn peek_schema_name(bytes: &[u8]) -> Option<SchemaName> {
    #[derive(Deserialize)]
    struct SchemaHeader {
        schema_name: SchemaName,
    }
    let named: SchemaHeader = json::decode(bytes, Profile::STORED).ok()?;
    Some(named.schema_name)
}

fn schema_name(value: &Value) -> Result<SchemaName, Vec<Violation>> {
    match value.get("schema_name") {
        Some(Value::String(name)) => name.parse().map_err(|_| vec![not_an_artifact(name)]),
        Some(_) => Err(vec![violation(
            "/schema_name",
            "type",
            "expected string".to_owned(),
        )]),
        None => Err(vec![violation(
            "",
            "required",
            "the field `schema_name` is missing".to_owned(),
        )]),
    }
}

fn not_an_artifact(name: &str) -> Violation {
    let known: Vec<&str> = ARTIFACTS.iter().map(|name| name.as_str()).collect();
    violation(
        "/schema_name",
        "enum",
        format!("`{name}` is not one of {}", known.join(", ")),
    )
}

fn violation(pointer: &str, keyword: &str, message: String) -> Violation {
    Violation {
        stage: Stage::Schema,
        pointer: pointer.to_owned(),
        keyword: keyword.to_owned(),
        message,
        suggestion: None,
    }
}
