//! Tools (seed 000 §2.4): their parameters, class and implementation. Nothing here calls one.

mod credential;
mod input;
mod preview;

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
use crate::parameter::Parameter;
use crate::schema::SchemaName;
use crate::text::{HttpsUrl, ShortText, Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

pub use super::vocabulary::ToolClass;
pub use credential::ToolCredential;
pub use preview::{DRY_RUN, ToolPreview};

use input::InputCache;

object_only!(Tool, RateLimit, Implementation, ToolEvidence, ConsolePage);

/// A tool of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Tool {
    /// Id of the tool, e.g. `aws.describe_security_groups`.
    pub tool_id: ToolId,
    /// Short name.
    pub name: Label,
    /// Readable name (this project); `name` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<Text>,
    /// Provider of the service: `aws`.
    pub provider: Label,
    /// Service: `ec2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Label>,
    /// Class of the tool: readonly, write or internal.
    pub tool_class: ToolClass,
    /// Domain of the tool.
    pub domain: DomainId,
    /// Description of the tool's effect.
    pub description: Text,
    /// Parameters: a flat list, which is a shorthand for `input_schema`.
    #[serde(default, rename = "parameters")]
    listed_parameters: Vec<Parameter>,
    /// JSON Schema of the arguments object: 2020-12, or the draft that `$schema` names, with references into itself
    /// (this project). A tool has either a schema or `parameters`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<ForeignSchema>,
    /// JSON Schema of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<ForeignSchema>,
    /// Execution location.
    #[serde(default)]
    pub execution_target: ExecutionTarget,
    /// Language of the implementation.
    pub language: Language,
    /// Whether each call needs an approval (ruling 10).
    #[serde(default)]
    pub requires_approval: bool,
    /// Whether repeating a call with the same arguments has no further effect (this project). An interrupted write is
    /// repeated without confirmation only if its tool is idempotent.
    #[serde(default)]
    pub idempotent: bool,
    /// Status in the catalogue (this project, for tools).
    #[serde(default)]
    pub status: Status,
    /// Tenant of the tool (this project, for tools); absent for a global tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Example utterances that call for this tool (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Text>,
    /// Implementation (this project). Absent if the client provides one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<Implementation>,
    /// Names of the environment variables that the tool needs (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<VariableName>,
    /// Credentials of the configuration that each call of the tool uses (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<ToolCredential>,
    /// Host patterns that the tool may reach (this project): `*.amazonaws.com`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<Text>,
    /// Time limit of one call, in milliseconds (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
    /// Permission level that a caller needs (003 Tool Definition Schema).
    #[serde(default)]
    pub permission_level: PermissionLevel,
    /// Rate limit (003 Tool Definition Schema).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// Conversion of the result into evidence (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<ToolEvidence>,
    /// Preview of a write, which its approval shows (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<ToolPreview>,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Embedding of the document, if it includes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vector>,
    #[serde(skip)]
    input: InputCache,
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
    /// Name of an environment variable (this project).
    VariableName,
}

/// Rate limit of a tool (003 Tool Definition Schema).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RateLimit {
    /// Sustained number of calls per minute.
    pub requests_per_minute: Positive,
    /// Maximum number of calls in a burst; `requests_per_minute` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Positive>,
}

/// Implementation of a tool (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    deny_unknown_fields,
    remote = "Self"
)]
pub enum Implementation {
    /// A script in the tool's language; exactly one of `path` and `body`.
    Script {
        /// Path of a package file, relative to the package root.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<Text>,
        /// Source of the script.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Text>,
    },
    /// An HTTP call. Strings may contain `${name}` of a parameter.
    Http {
        /// HTTP method.
        method: HttpMethod,
        /// URL, with placeholders.
        url: Text,
        /// HTTP headers.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// Query parameters.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        query: BTreeMap<String, String>,
        /// Separators of lists in query parameters, by the name of the parameter; without one, a list repeats the name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        list_separators: BTreeMap<String, String>,
        /// Request body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Value>,
        /// Format in which the body is sent.
        #[serde(default, skip_serializing_if = "BodyFormat::is_json")]
        body_format: BodyFormat,
    },
    /// A built-in tool of Charter. Only the built-in package uses it.
    Builtin {
        /// Name of the built-in tool.
        name: Builtin,
    },
    /// A stage of a mission. Only the built-in package uses it.
    Stage {
        /// The stage.
        stage: Stage,
    },
    /// A language model that writes an answer from results. Only the built-in tool `charter.analysis.draft` uses it.
    Analysis {},
    /// A tool of a registered MCP server. Only imported tools use it.
    Mcp {
        /// Name of the server in the configuration.
        server: Label,
        /// Name of the tool on its server.
        tool: Text,
        /// Digest of the imported definition: `sha256:…`.
        definition: ShortText,
        /// JSON Schema of the arguments, as provided by the server, which enforces it. It is here if it cannot be the
        /// tool's own `input_schema`; Charter then checks `parameters` instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_schema: Option<ForeignSchema>,
    },
}

/// Prefix of the ids of tools imported from MCP servers.
pub const IMPORTED_PREFIX: &str = "mcp.";

/// Id of the tool that has a language model write an answer from the results of a request.
pub const ANALYSIS_TOOL: &str = "charter.analysis.draft";

/// Returns [`ANALYSIS_TOOL`] as an id.
#[must_use]
pub fn analysis_tool_id() -> ToolId {
    ToolId::from_checked(ANALYSIS_TOOL.to_owned())
}

string_enum! {
    /// HTTP method of a call.
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

string_enum! {
    /// Format of a request's body (this project).
    #[derive(Default)]
    pub enum BodyFormat {
        /// JSON.
        #[default]
        Json = "json",
        /// A form in the format of URL queries (`application/x-www-form-urlencoded`); nested names are in brackets.
        Form = "form",
        /// Parts (`multipart/form-data`). An object with `text` or `base64`, and optionally `filename` and
        /// `content_type`, is a file; any other object or list is a part in JSON.
        Multipart = "multipart",
        /// A string, sent as it is; the header `content-type` declares its format.
        Text = "text",
    }
}

impl BodyFormat {
    /// Whether it is JSON, which is the default and omitted when serialised.
    #[must_use]
    pub const fn is_json(&self) -> bool {
        matches!(self, Self::Json)
    }
}

/// Conversion of a tool's result into one evidence record (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolEvidence {
    /// Type of the evidence.
    #[serde(rename = "type")]
    pub evidence_type: EvidenceType,
    /// Source system: `aws.ec2`.
    pub system: Label,
    /// Page that shows the original, for a system other than AWS, Azure and Google Cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<ConsolePage>,
    /// jq filter over `{parameters, output}` for the native id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_id: Option<Text>,
    /// jq filter for the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Text>,
    /// jq filter for the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<Text>,
    /// Template of the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
    /// Redaction class of the payload; when absent, every reader of the record may read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction_class: Option<RedactionClass>,
}

/// A page in a system's own console that shows the source of evidence (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ConsolePage {
    /// Label of the link.
    pub label: Text,
    /// URL of the page.
    pub href: ConsoleHref,
}

/// Placeholder for the evidence's native id in a [`ConsoleHref`].
pub const NATIVE_ID_PLACEHOLDER: &str = "${native_id}";

string_newtype! {
    crate::ids::Shape::pattern(
        is_console_href,
        "^https://[!$-.0-;=@-\\[\\]_a-z~]+([/?#]([!#-;=?-\\[\\]_a-z~]|\\$\\{native_id\\})*)?$",
        "an https:// link, which may contain `${native_id}` after its host",
    );
    /// An `https` URL in which `${native_id}` is replaced with the native id. The host is fixed, so that no id can
    /// redirect the link (this project).
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
    /// Returns the readable name.
    #[must_use]
    pub fn title(&self) -> &str {
        let readable = self.display_name.as_ref().map(Text::as_str);
        readable.unwrap_or(self.name.as_str())
    }

    /// Whether the tool is never offered to agents, plans and playbooks (B000-10): an internal tool, or a stage of
    /// missions of any class.
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

    /// Checks the class of a built-in tool; a document cannot change it.
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

/// Requires exactly one of a script body and a package file.
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

/// Whether `path` is a relative path of plain segments, separated by `/`.
pub(crate) fn is_package_path(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', '\0', ':'])
        && path
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
}

impl Contract for Tool {
    const NAME: SchemaName = SchemaName::Tool;

    // Checks the rules that the schema cannot express (B000-10, static part of B003-4).
    fn check(&self, report: &mut Report) {
        self.check_input(report);
        if self.tool_class == ToolClass::Readonly && self.requires_approval {
            let message = format!("`{}` is readonly and needs no approval", self.tool_id);
            report.meaning("/requires_approval", "readonly", message);
        }
        if let Some(schema) = &self.output_schema {
            schema.check("/output_schema", report);
        }
        self.check_implementation(report);
        self.check_credentials(report);
        self.check_preview(report);
    }
}
