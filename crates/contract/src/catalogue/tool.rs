//! Tools (seed 000 §2.4): their parameters, class and implementation. Nothing
//! here calls one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builtin::Builtin;
use super::evidence::{EvidenceType, RedactionClass};
use super::stage::Stage;
use super::vocabulary::{ExecutionTarget, Language, PermissionLevel, Status};
use crate::foreign_schema::ForeignSchema;
use crate::ids::{DomainId, Label, TenantId, ToolId};
use crate::number::{Positive, Vector};
use crate::parameter::{Parameter, check_parameters};
use crate::schema::SchemaName;
use crate::text::{HttpsUrl, ShortText, Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

pub use super::vocabulary::ToolClass;

object_only!(Tool, RateLimit, Implementation, ToolEvidence, ConsolePage);

/// A tool of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Tool {
    /// Its id, e.g. `aws.describe_security_groups`.
    pub tool_id: ToolId,
    /// Its short name.
    pub name: Label,
    /// Who provides the service: `aws`.
    pub provider: Label,
    /// The service: `ec2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Label>,
    /// Reads, writes, or internal.
    pub tool_class: ToolClass,
    /// The domain it belongs to.
    pub domain: DomainId,
    /// What it does.
    pub description: Text,
    /// What it takes.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// JSON Schema of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<ForeignSchema>,
    /// Where it runs.
    #[serde(default)]
    pub execution_target: ExecutionTarget,
    /// The language of its body.
    pub language: Language,
    /// Whether each call needs an approval (ruling 10).
    #[serde(default)]
    pub requires_approval: bool,
    /// Whether repeating a call with the same arguments changes nothing more (this project). A write
    /// that was interrupted is repeated without asking only if its tool says so.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether it is offered (this project, for tools).
    #[serde(default)]
    pub status: Status,
    /// Its tenant (this project, for tools); absent for a global tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Utterances that call for this tool (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Text>,
    /// How it is carried out (this project). Absent when the client brings its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<Implementation>,
    /// Names of the environment variables it is granted (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<VariableName>,
    /// Host patterns it may reach (this project): `*.amazonaws.com`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<Text>,
    /// Time limit of one call, in milliseconds (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
    /// Who may call it (003 Tool Definition Schema).
    #[serde(default)]
    pub permission_level: PermissionLevel,
    /// How often it may be called (003 Tool Definition Schema).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// How its result becomes evidence (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<ToolEvidence>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Its vector, when the document carries one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vector>,
}

string_newtype! {
    crate::ids::Shape::pattern(
        |text| {
            !text.is_empty()
                && text.len() <= 200
                && !text.as_bytes()[0].is_ascii_digit()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        },
        "^[A-Za-z_][A-Za-z0-9_]{0,199}$",
        "the name of an environment variable",
    );
    /// The name of an environment variable (this project).
    VariableName,
}

/// How often a tool may be called (003 Tool Definition Schema).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RateLimit {
    /// Calls per minute in the long run.
    pub requests_per_minute: Positive,
    /// Calls at once; `requests_per_minute` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Positive>,
}

/// How a tool is carried out (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    deny_unknown_fields,
    remote = "Self"
)]
pub enum Implementation {
    /// A script of the tool's language; exactly one of `path` and `body`.
    Script {
        /// A file of the package, relative to its root.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<Text>,
        /// The script itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Text>,
    },
    /// An HTTP call. Strings may hold `${name}` of a parameter.
    Http {
        /// The method.
        method: HttpMethod,
        /// The link, with placeholders.
        url: Text,
        /// Headers.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// Query parameters.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        query: BTreeMap<String, String>,
        /// The body, sent as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Value>,
    },
    /// A part of Charter. Only the tools of the built-in package have it.
    Builtin {
        /// Which.
        name: Builtin,
    },
    /// A stage of a mission. Only the tools of the built-in package have it.
    Stage {
        /// Which.
        stage: Stage,
    },
    /// A language model puts results into words. Only the built-in tool
    /// `charter.analysis.draft` has it.
    Analysis {},
    /// A tool of a registered MCP server. Only imported tools have it.
    Mcp {
        /// The server, as the configuration names it.
        server: Label,
        /// The tool, as its server names it.
        tool: Text,
        /// `sha256:…` of the definition that was imported.
        definition: ShortText,
        /// JSON Schema of its arguments, as its server gives it. The server holds calls to it; here the parameters count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_schema: Option<ForeignSchema>,
    },
}

/// What the ids of tools begin with that are imported from MCP servers.
pub const IMPORTED_PREFIX: &str = "mcp.";

/// The tool by which a language model puts the results of a request into words.
pub const ANALYSIS_TOOL: &str = "charter.analysis.draft";

/// The id of [`ANALYSIS_TOOL`].
#[must_use]
pub fn analysis_tool_id() -> ToolId {
    ToolId::from_checked(ANALYSIS_TOOL.to_owned())
}

string_enum! {
    /// Methods of HTTP calls.
    pub enum HttpMethod {
        /// GET.
        Get = "GET",
        /// HEAD.
        Head = "HEAD",
        /// POST.
        Post = "POST",
        /// PUT.
        Put = "PUT",
        /// PATCH.
        Patch = "PATCH",
        /// DELETE.
        Delete = "DELETE",
    }
}

/// How a tool's result becomes one evidence record (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolEvidence {
    /// The type of the evidence.
    #[serde(rename = "type")]
    pub evidence_type: EvidenceType,
    /// The system it comes from: `aws.ec2`.
    pub system: Label,
    /// Where a person can see the original, for a system that is not AWS, Azure or Google Cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<ConsolePage>,
    /// jq over `{parameters, output}` for the native id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_id: Option<Text>,
    /// jq for the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Text>,
    /// jq for the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<Text>,
    /// Template of the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
    /// Who may see the payload; everybody who may read the record when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction_class: Option<RedactionClass>,
}

/// The page of a system's own console that shows what evidence was taken from (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ConsolePage {
    /// What the reader will see there.
    pub label: Text,
    /// The link.
    pub href: ConsoleHref,
}

/// What stands in a [`ConsoleHref`] for the evidence's native id.
pub const NATIVE_ID_PLACEHOLDER: &str = "${native_id}";

string_newtype! {
    crate::ids::Shape::pattern(
        is_console_href,
        "^https://[!$-.0-;=@-\\[\\]_a-z~]+([/?#]([!#-;=?-\\[\\]_a-z~]|\\$\\{native_id\\})*)?$",
        "an https:// link, which may contain `${native_id}` after its host",
    );
    /// An `https` link in which `${native_id}` stands for the native id; the host is fixed, so that
    /// no id decides where the link leads (this project).
    ConsoleHref,
}

fn is_console_href(text: &str) -> bool {
    let host_end = text
        .strip_prefix("https://")
        .and_then(|rest| rest.find(['/', '?', '#']))
        .map_or(text.len(), |at| at + "https://".len());
    let (host, rest) = text.split_at(host_end);
    HttpsUrl::parse(&format!(
        "{host}{}",
        rest.replace(NATIVE_ID_PLACEHOLDER, "")
    ))
    .is_ok()
}

impl Tool {
    /// Whether it is never offered to agents, plans and playbooks (B000-10): an internal tool, or a
    /// stage of missions, whatever its class.
    #[must_use]
    pub const fn is_internal(&self) -> bool {
        matches!(self.tool_class, ToolClass::Internal)
            || matches!(self.implementation, Some(Implementation::Stage { .. }))
    }

    fn check_implementation(&self, report: &mut Report) {
        let Some(implementation) = &self.implementation else {
            return;
        };
        match (implementation, self.language) {
            (Implementation::Http { .. }, Language::Http)
            | (Implementation::Mcp { .. }, Language::Mcp) => {}
            (Implementation::Builtin { name }, Language::Builtin) => {
                self.check_builtin(name.as_str(), name.tool_class(), report);
            }
            (Implementation::Stage { stage }, Language::Builtin) => {
                self.check_builtin(stage.as_str(), stage.tool_class(), report);
            }
            (Implementation::Analysis {}, Language::Builtin) => {
                self.check_builtin("analysis", ToolClass::Internal, report);
            }
            (Implementation::Script { path, body }, Language::Python | Language::Bash) => {
                check_source(path.as_ref(), body.as_ref(), "/implementation", report);
            }
            (
                Implementation::Script { .. }
                | Implementation::Http { .. }
                | Implementation::Builtin { .. }
                | Implementation::Stage { .. }
                | Implementation::Analysis {}
                | Implementation::Mcp { .. },
                language,
            ) => {
                let message = format!(
                    "{} in a tool of the language {language}",
                    implementation.noun()
                );
                report.consistency("/implementation/type", "language", message);
            }
        }
    }

    /// A built-in tool does what it does, whatever a document calls it.
    fn check_builtin(&self, name: &str, class: ToolClass, report: &mut Report) {
        if self.tool_class != class {
            let message = format!("`{name}` is {class}, not {}", self.tool_class);
            report.consistency("/tool_class", "builtin", message);
        }
    }
}

impl Implementation {
    fn noun(&self) -> &'static str {
        match self {
            Self::Script { .. } => "a script",
            Self::Http { .. } => "an http implementation",
            Self::Builtin { .. } => "a built-in implementation",
            Self::Stage { .. } => "a stage of a mission",
            Self::Analysis {} => "the analysis of results",
            Self::Mcp { .. } => "a tool of an MCP server",
        }
    }
}

/// A script has a body or a file of the package, and not both.
pub(super) fn check_source(
    path: Option<&Text>,
    body: Option<&Text>,
    pointer: &str,
    report: &mut Report,
) {
    match (path, body) {
        (Some(_), Some(_)) | (None, None) => {
            let message = "a script needs exactly one of `path` and `body`".to_owned();
            report.meaning(pointer, "exactly_one", message);
        }
        (Some(path), None) if !is_package_path(path.as_str()) => {
            let message = format!("`{path}` does not stay inside the package");
            report.meaning(format!("{pointer}/path"), "relative_path", message);
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
}

/// A relative path of plain segments, `/` between them.
pub(crate) fn is_package_path(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', '\0', ':'])
        && path
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
}

impl Contract for Tool {
    const NAME: SchemaName = SchemaName::Tool;

    // Checks what the schema cannot say (B000-10, static part of B003-4).
    fn check(&self, report: &mut Report) {
        check_parameters(&self.parameters, "/parameters", report);
        if self.tool_class == ToolClass::Readonly && self.requires_approval {
            let message = format!("`{}` is readonly and needs no approval", self.tool_id);
            report.meaning("/requires_approval", "readonly", message);
        }
        if let Some(schema) = &self.output_schema {
            schema.check("/output_schema", report);
        }
        self.check_implementation(report);
    }
}
