//! The model of an API that every format is read into: its operations, with what is needed to call them.
//!
//! Must not know the formats of descriptions, or the documents that are made of the model.

use std::collections::BTreeMap;

use charter_contract::catalogue::tool::{BodyFormat, HttpMethod};
use serde_json::{Map, Value};

/// An API.
#[derive(Debug, Clone, PartialEq)]
pub struct Api {
    /// Title, by its author.
    pub title: String,
    /// Version, by its author.
    pub version: String,
    /// Description, by its author.
    pub description: String,
    /// The form of the document: `OpenAPI 3.1.0`.
    pub format: String,
    /// Operations that can be called, in the order of the document.
    pub operations: Vec<Operation>,
    /// Operations that are left out, up to a limit.
    pub left_out: Vec<LeftOutOperation>,
    /// The number of all operations that are left out.
    pub left_out_count: usize,
    /// Credentials that the operations need, by the name of the variable that holds each.
    pub credentials: BTreeMap<String, Credential>,
    /// Credentials that the document describes and no operation needs, by the name of the variable.
    pub unused_credentials: BTreeMap<String, Credential>,
    /// Variables of servers with the values that are used.
    pub server_variables: BTreeMap<String, String>,
    /// Descriptions of tags, by their authors.
    pub tags: BTreeMap<String, String>,
    /// Notes on the whole document.
    pub notes: Vec<String>,
}

/// An operation that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutOperation {
    /// JSON pointer to the operation.
    pub pointer: String,
    /// Method and path: `GET /pets`.
    pub operation: String,
    /// The reason.
    pub reason: String,
}

/// An operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// JSON pointer to the operation in the document.
    pub pointer: String,
    /// Id, by its author.
    pub operation_id: Option<String>,
    /// HTTP method.
    pub method: HttpMethod,
    /// Path, with its parameters in braces.
    pub path: String,
    /// Tags; empty without any.
    pub tags: Vec<String>,
    /// Summary, by its author; may be empty.
    pub summary: String,
    /// Description, by its author; may be empty.
    pub description: String,
    /// Arguments of a call, with unique names.
    pub arguments: Vec<Argument>,
    /// Body, if the operation has one.
    pub body: Option<Body>,
    /// Schema of the output, if one describes every success.
    pub output: Option<Map<String, Value>>,
    /// Variables with the credentials that a call sends.
    pub credentials: Vec<String>,
    /// Address of the server, without a final `/`.
    pub base: String,
    /// Host of the server, as an entry of `egress`.
    pub host: String,
    /// Whether the author advises against it.
    pub deprecated: bool,
    /// How further pages are requested, if the operation returns pages.
    pub pagination: Option<String>,
    /// Parts of the description that a call cannot express, and schemas that accept every value.
    pub notes: Vec<String>,
}

impl Operation {
    /// Returns whether a call only reads. Everything that is not known to read writes.
    #[must_use]
    pub fn is_readonly(&self) -> bool {
        matches!(self.method, HttpMethod::Get | HttpMethod::Head)
    }

    /// Returns the first tag, by which operations are grouped.
    #[must_use]
    pub fn group(&self) -> &str {
        self.tags.first().map_or(UNTAGGED, String::as_str)
    }

    /// Returns method and path, for messages.
    #[must_use]
    pub fn heading(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// The group of operations without a tag.
pub(crate) const UNTAGGED: &str = "general";

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// Name of the argument: letters, digits and `_`.
    pub name: String,
    /// Name in the request.
    pub wire_name: String,
    /// Its part of the request.
    pub location: ArgumentLocation,
    /// Whether every call needs it.
    pub required: bool,
    /// Schema of its values, with their description.
    pub schema: Map<String, Value>,
    /// Separator of the values of a list; without one, the name is repeated.
    pub separator: Option<&'static str>,
}

/// The part of a request that contains an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgumentLocation {
    /// A segment of the path, or a part of one.
    Path,
    /// The query.
    Query,
    /// A header.
    Header,
    /// A cookie.
    Cookie,
    /// A field of the body.
    BodyField,
    /// The whole body.
    Body,
}

/// A body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Format in which it is sent.
    pub format: BodyFormat,
    /// Media type, if the format does not imply it.
    pub content_type: Option<String>,
}

/// A credential that operations need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Name of the scheme in the document; empty if the document describes none.
    pub scheme: String,
    /// The value that the variable has to hold.
    pub expected: String,
    /// The part of a request that contains it.
    pub sent: CredentialUse,
    /// Name of the credential of the configuration that holds it; without one, the operator grants the variable.
    pub named: Option<String>,
}

/// The part of a request that contains a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialUse {
    /// A header, with a text before the value.
    Header {
        /// Name of the header.
        name: String,
        /// Text before the value: `Bearer `.
        prefix: &'static str,
    },
    /// A parameter of the query.
    Query {
        /// Name of the parameter.
        name: String,
    },
    /// A cookie.
    Cookie {
        /// Name of the cookie.
        name: String,
    },
}
