//! One type for all registrable documents, for code that treats them alike: stores, packages, the catalogue snapshot.

use std::borrow::Cow;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

use super::agent::AgentManifest;
use super::domain::Domain;
use super::graph::{GraphEdge, GraphNode};
use super::guardrail::Guardrail;
use super::heading::{Headed, Heading};
use super::lens::DomainLens;
use super::mission_type::MissionType;
use super::playbook::Playbook;
use super::policy::Policy;
use super::prompt::PromptTemplate;
use super::schedule::Schedule;
use super::skill::Skill;
use super::template::Template;
use super::tool::Tool;
use super::vocabulary::Status;
use crate::ids::{DomainId, TenantId};
use crate::json::{JsonFault, decode_stored};
use crate::schema::SchemaName;
use crate::text::Version;
use crate::validate::{Contract, read_value};
use crate::violation::{Report, Stage, Violation};

string_enum! {
    /// A kind of document: the eleven live collections of seed 000 (ruling 1), the graph's two kinds apart, and this
    /// project's policies, mission types, prompt templates and schedules.
    pub enum DocumentKind {
        /// Skill (000 §2.2).
        Skill = "skill",
        /// Tool (000 §2.4).
        Tool = "tool",
        /// Guardrail (000 §2.5).
        Guardrail = "guardrail",
        /// Domain lens (000 §2.6).
        DomainLens = "domain_lens",
        /// Template (000 §2.7).
        Template = "template",
        /// Playbook (000 §2.8).
        Playbook = "playbook",
        /// Agent (000 §2.11).
        Agent = "agent",
        /// Node of the expert graph (000 §2.12).
        GraphNode = "graph_node",
        /// Edge of the expert graph (000 §2.12).
        GraphEdge = "graph_edge",
        /// Domain (000 §2.13).
        Domain = "domain",
        /// Cedar policy (this project; no collection of the seed).
        Policy = "policy",
        /// Mission type (002 §4 `mission_type`; no collection of the seeds).
        MissionType = "mission_type",
        /// Prompt template (002 §6 `template_id`; no collection of the seeds).
        PromptTemplate = "prompt_template",
        /// Schedule or trigger (this project; no collection of the seeds).
        Schedule = "schedule",
        /// Tag record (000 §2.10); written by the server, never registered.
        TagRecord = "tag_record",
        /// Evidence record (000 §2.14); written by the server, never registered.
        Evidence = "evidence",
    }
}

/// Error: a collection that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentKindError {
    /// A collection that the seed withdrew (ruling 1).
    #[error("the collection `{kind}` is deprecated: use `{successor}` ({why})")]
    Deprecated {
        /// Requested collection.
        kind: &'static str,
        /// Collection that replaces it.
        successor: DocumentKind,
        /// Explanation of the replacement.
        why: &'static str,
    },
    /// An unknown collection.
    #[error("`{0}` is not a document kind")]
    Unknown(String),
}

impl DocumentKind {
    /// Parses a kind. For withdrawn collections, the error names the successor.
    ///
    /// # Errors
    /// `Deprecated` for `intent`, `context_builder` and `cloud_knowledge`, with their successor; `Unknown` for any
    /// other word that is not a kind.
    pub fn parse(text: &str) -> Result<Self, DocumentKindError> {
        let deprecated = |kind, successor, why| {
            Err(DocumentKindError::Deprecated {
                kind,
                successor,
                why,
            })
        };
        match text {
            "intent" => deprecated("intent", Self::Skill, "skills are searched directly"),
            "context_builder" => deprecated(
                "context_builder",
                Self::Skill,
                "its fields are in the skill's execution_plan and context",
            ),
            "cloud_knowledge" => deprecated(
                "cloud_knowledge",
                Self::DomainLens,
                "it is a domain lens with content_type cloud_service",
            ),
            other => {
                Self::from_str(other).map_err(|_| DocumentKindError::Unknown(other.to_owned()))
            }
        }
    }

    /// Whether packages contain documents of this kind.
    #[must_use]
    pub const fn is_registrable(self) -> bool {
        !matches!(self, Self::TagRecord | Self::Evidence)
    }

    /// Returns the contract of documents of this kind.
    #[must_use]
    pub const fn schema_name(self) -> SchemaName {
        match self {
            Self::Skill => SchemaName::Skill,
            Self::Tool => SchemaName::Tool,
            Self::Guardrail => SchemaName::Guardrail,
            Self::DomainLens => SchemaName::DomainLens,
            Self::Template => SchemaName::Template,
            Self::Playbook => SchemaName::Playbook,
            Self::Agent => SchemaName::Agent,
            Self::GraphNode => SchemaName::GraphNode,
            Self::GraphEdge => SchemaName::GraphEdge,
            Self::Domain => SchemaName::Domain,
            Self::Policy => SchemaName::Policy,
            Self::MissionType => SchemaName::MissionType,
            Self::PromptTemplate => SchemaName::PromptTemplate,
            Self::Schedule => SchemaName::Schedule,
            Self::TagRecord => SchemaName::TagRecord,
            Self::Evidence => SchemaName::Evidence,
        }
    }
}

impl Document {
    /// Returns the tool, if the document is one.
    #[must_use]
    pub const fn as_tool(&self) -> Option<&Tool> {
        if let Self::Tool(tool) = self {
            Some(tool)
        } else {
            None
        }
    }

    /// Returns the policy, if the document is one.
    #[must_use]
    pub const fn as_policy(&self) -> Option<&Policy> {
        if let Self::Policy(policy) = self {
            Some(policy)
        } else {
            None
        }
    }

    /// Returns the domain that the document names, if any. A domain names itself.
    #[must_use]
    pub fn domain(&self) -> Option<&DomainId> {
        self.heading().domain
    }

    /// Whether the document was generated and not yet accepted (B000-4).
    #[must_use]
    pub fn is_candidate(&self) -> bool {
        self.heading().is_candidate
    }
}

/// A document with an id.
trait Identified {
    fn id(&self) -> Cow<'_, str>;
}

macro_rules! documents {
    ($( $(#[$meta:meta])* $variant:ident($inner:ty), id $id:ident; )+) => {
        /// A registrable document of any kind. Serialises as the document itself.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        #[allow(clippy::large_enum_variant, reason = "held behind Arc, or moved once")]
        pub enum Document { $( $(#[$meta])* $variant($inner) ),+ }

        impl Document {
            /// Type of the node.
            #[must_use]
            pub const fn kind(&self) -> DocumentKind {
                match self { $( Self::$variant(_) => DocumentKind::$variant ),+ }
            }

            /// Returns the id, unique within the kind. An edge's id is `from:type:to`.
            #[must_use]
            pub fn id(&self) -> Cow<'_, str> {
                match self { $( Self::$variant(document) => Identified::id(document) ),+ }
            }

            /// Returns the tenant; `None` for a global document.
            #[must_use]
            pub const fn tenant_id(&self) -> Option<&TenantId> {
                match self { $( Self::$variant(document) => document.tenant_id.as_ref() ),+ }
            }

            /// Sets the layer of the document. Callers take the tenant from the credential, never from the body.
            pub fn set_tenant_id(&mut self, tenant: Option<TenantId>) {
                match self { $( Self::$variant(document) => document.tenant_id = tenant ),+ }
            }

            /// Returns the status in the catalogue.
            #[must_use]
            pub const fn status(&self) -> Status {
                match self { $( Self::$variant(document) => document.status ),+ }
            }

            /// Returns the version, if the document states one.
            #[must_use]
            pub const fn version(&self) -> Option<&Version> {
                match self { $( Self::$variant(document) => document.version.as_ref() ),+ }
            }

            /// Runs the meaning checks on a document that was built rather than read.
            #[must_use]
            pub fn inspect(&self) -> Report {
                let mut report = Report::new();
                match self { $( Self::$variant(document) => Contract::check(document, &mut report) ),+ }
                report
            }

            fn headed(&self) -> &dyn Headed {
                match self { $( Self::$variant(document) => document ),+ }
            }

            /// Reads a document that was checked before it was stored: types only, no report.
            ///
            /// # Errors
            /// Text that does not fit its type, or a kind that is never registered.
            pub fn from_stored(kind: DocumentKind, text: &str) -> Result<Self, JsonFault> {
                match kind {
                    $( DocumentKind::$variant => decode_stored(text).map(Self::$variant), )+
                    DocumentKind::TagRecord | DocumentKind::Evidence => {
                        let message = format!("documents of the kind {kind} cannot be registered");
                        Err(JsonFault::Form(serde::de::Error::custom(message)))
                    }
                }
            }

            /// Reads a document of a known kind, with its warnings.
            ///
            /// # Errors
            /// Every violation; one violation for a kind that is not registrable.
            pub fn from_value(
                kind: DocumentKind,
                value: &Value,
            ) -> Result<(Self, Vec<Violation>), Vec<Violation>> {
                match kind {
                    $( DocumentKind::$variant => {
                        let (document, warnings) = read_value::<$inner>(value)?;
                        Ok((Self::$variant(document), warnings))
                    } )+
                    DocumentKind::TagRecord | DocumentKind::Evidence => {
                        Err(vec![not_registrable(kind)])
                    }
                }
            }
        }

        $(
            impl From<$inner> for Document {
                fn from(document: $inner) -> Self {
                    Self::$variant(document)
                }
            }

            impl Identified for $inner {
                fn id(&self) -> Cow<'_, str> {
                    documents!(@id self, $id)
                }
            }
        )+
    };
    (@id $document:ident, edge) => { $document.edge_id().into() };
    (@id $document:ident, $id:ident) => { $document.$id.as_str().into() };
}

documents! {
    /// A skill.
    Skill(Skill), id skill_id;
    /// A tool.
    Tool(Tool), id tool_id;
    /// A guardrail.
    Guardrail(Guardrail), id guardrail_id;
    /// A domain lens.
    DomainLens(DomainLens), id lens_id;
    /// A template.
    Template(Template), id template_id;
    /// A playbook.
    Playbook(Playbook), id playbook_id;
    /// An agent.
    Agent(AgentManifest), id agent_id;
    /// A node of the expert graph.
    GraphNode(GraphNode), id id;
    /// An edge of the expert graph.
    GraphEdge(GraphEdge), id edge;
    /// A domain.
    Domain(Domain), id domain_id;
    /// A policy.
    Policy(Policy), id policy_id;
    /// A mission type.
    MissionType(MissionType), id mission_type;
    /// A prompt template.
    PromptTemplate(PromptTemplate), id prompt_id;
    /// A schedule or trigger.
    Schedule(Schedule), id schedule_id;
}

impl Headed for Document {
    fn heading(&self) -> Heading<'_> {
        self.headed().heading()
    }
}

fn not_registrable(kind: DocumentKind) -> Violation {
    Violation {
        stage: Stage::Meaning,
        pointer: String::new(),
        keyword: "registrable".to_owned(),
        message: format!("`{kind}` is written by the server and cannot be registered"),
        suggestion: None,
    }
}
