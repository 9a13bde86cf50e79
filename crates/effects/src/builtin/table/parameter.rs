//! The parameters of each built-in tool. Every parameter has an example, and together the examples are a call that the
//! tool accepts, which a test checks.

use charter_contract::json::decode_stored;
use charter_contract::parameter::ParameterType::{self, Array, Boolean, Integer, Object, String};
use serde_json::{Value, json};

/// One parameter.
#[derive(Debug)]
pub(in super::super) struct Parameter {
    pub(in super::super) name: &'static str,
    pub(super) kind: ParameterType,
    pub(super) need: Need,
    pub(super) description: &'static str,
    /// A JSON text.
    pub(super) example: &'static str,
    /// The allowed values, if not all of the type are allowed.
    allowed: &'static [&'static str],
}

/// Whether the parameter is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

impl Parameter {
    pub(super) fn document(&self) -> Value {
        let mut document = json!({
            "name": self.name, "type": self.kind, "required": self.need == Need::Required,
            "description": self.description, "example": self.example_value(),
        });
        if !self.allowed.is_empty() {
            document["enum"] = json!(self.allowed);
        }
        document
    }

    pub(super) fn example_value(&self) -> Value {
        decode_stored(self.example).unwrap_or_default()
    }

    const fn with_description(&self, description: &'static str, example: &'static str) -> Self {
        Self {
            name: self.name,
            kind: self.kind,
            need: self.need,
            description,
            example,
            allowed: self.allowed,
        }
    }

    const fn one_of(&self, allowed: &'static [&'static str]) -> Self {
        Self {
            name: self.name,
            kind: self.kind,
            need: self.need,
            description: self.description,
            example: self.example,
            allowed,
        }
    }
}

const fn required(
    name: &'static str,
    kind: ParameterType,
    description: &'static str,
    example: &'static str,
) -> Parameter {
    Parameter {
        name,
        kind,
        need: Need::Required,
        description,
        example,
        allowed: &[],
    }
}

const fn optional(
    name: &'static str,
    kind: ParameterType,
    description: &'static str,
    example: &'static str,
) -> Parameter {
    Parameter {
        need: Need::Optional,
        ..required(name, kind, description, example)
    }
}

const ROOT: Parameter = optional(
    "root",
    String,
    "Name of the granted root; needed when there are several.",
    "\"work\"",
);
const PATH: Parameter = required(
    "path",
    String,
    "Path relative to the root; `.` is the root itself.",
    "\"src/main.tf\"",
);
const ENCODING: Parameter = optional(
    "encoding",
    String,
    "The encoding of the content; text by default.",
    "\"utf-8\"",
)
.one_of(&["utf-8", "base64"]);
const CONTENT: Parameter = required("content", String, "The content.", "\"text\\n\"");
const HASH: Parameter = optional(
    "expected_hash",
    String,
    "The `sha256:…` that the file must have; otherwise nothing is written.",
    "\"sha256:00\"",
);
const PARENTS: Parameter = optional(
    "create_parents",
    Boolean,
    "Whether missing parent directories are created.",
    "true",
);
const OVERWRITE: Parameter = optional(
    "overwrite",
    Boolean,
    "Whether an existing file is replaced.",
    "true",
);
const RECURSIVE: Parameter = optional(
    "recursive",
    Boolean,
    "Whether subdirectories are included.",
    "true",
);
const DESTINATION: Parameter = required(
    "destination",
    String,
    "The destination, relative to the root.",
    "\"src/other.tf\"",
);
const MAX_RESULTS: Parameter = optional(
    "max_results",
    Integer,
    "Maximum number of results; 1,000 by default.",
    "100",
);
const REASON: Parameter = optional(
    "reason",
    String,
    "The reason for the access.",
    "\"to know the region\"",
);

pub(super) const FS_READ: &[Parameter] = &[
    ROOT,
    PATH,
    optional(
        "range",
        Object,
        "Only the lines from `start_line` to `end_line`, counted from one.",
        "{\"start_line\": 1, \"end_line\": 20}",
    ),
    ENCODING,
    HASH,
];
pub(super) const FS_WRITE: &[Parameter] = &[ROOT, PATH, CONTENT, ENCODING, HASH];
pub(super) const FS_CREATE: &[Parameter] =
    &[ROOT, PATH, CONTENT, ENCODING, HASH, OVERWRITE, PARENTS];
pub(super) const FS_EDIT: &[Parameter] = &[
    ROOT,
    PATH,
    required(
        "edits",
        Array,
        "Replacements in ascending order: `start_line`, `end_line`, `replacement`, and `expected`, the lines that \
         must be there now.",
        "[{\"start_line\": 1, \"end_line\": 1, \"replacement\": \"new\", \"expected\": \"old\"}]",
    ),
    HASH,
];
pub(super) const FS_MOVE: &[Parameter] = &[ROOT, PATH, DESTINATION, HASH, OVERWRITE, PARENTS];
pub(super) const FS_COPY: &[Parameter] =
    &[ROOT, PATH, DESTINATION, HASH, OVERWRITE, PARENTS, RECURSIVE];
pub(super) const FS_DELETE: &[Parameter] = &[ROOT, PATH, HASH, RECURSIVE];
pub(super) const FS_LIST: &[Parameter] = &[
    ROOT,
    PATH,
    optional("pattern", String, "A glob over names.", "\"*.tf\""),
    RECURSIVE,
    MAX_RESULTS,
];
pub(super) const FS_SEARCH: &[Parameter] = &[
    ROOT,
    PATH.with_description("The directory or file to search.", "\"src\""),
    required(
        "pattern",
        String,
        "The pattern that lines must match.",
        "\"0\\\\.0\\\\.0\\\\.0/0\"",
    ),
    optional(
        "pattern_type",
        String,
        "The kind of pattern; `regex` by default.",
        "\"regex\"",
    )
    .one_of(&["regex", "literal"]),
    optional(
        "include",
        Array,
        "Globs over the paths of files.",
        "[\"**/*.tf\"]",
    ),
    RECURSIVE,
    MAX_RESULTS,
];
pub(super) const FS_STAT: &[Parameter] = &[ROOT, PATH];
pub(super) const FS_MAKE_DIRECTORY: &[Parameter] = &[ROOT, PATH, PARENTS];
pub(super) const ENV_GET: &[Parameter] = &[
    required("names", Array, "The variables.", "[\"REGION\"]"),
    REASON,
];

const URL: Parameter = required(
    "url",
    String,
    "An `http` or `https` link.",
    "\"https://api.example.com/v1/items\"",
);
const HEADERS: Parameter = optional(
    "headers",
    Object,
    "Headers.",
    "{\"accept\": \"application/json\"}",
);
const QUERY: Parameter = optional(
    "query",
    Object,
    "Query parameters, added to the link's own.",
    "{\"page\": \"1\"}",
);
const TIMEOUT: Parameter = optional(
    "timeout_ms",
    Integer,
    "Timeout; at most the call's own.",
    "5000",
);
const MAX_BYTES: Parameter = optional(
    "max_response_bytes",
    Integer,
    "Maximum size of the answer; at most 16 MiB.",
    "65536",
);
const FOLLOW: Parameter = optional(
    "follow_redirects",
    Boolean,
    "Whether redirects to the same origin are followed.",
    "true",
);

pub(super) const NET_GET: &[Parameter] = &[
    URL,
    optional("method", String, "GET by default.", "\"GET\"").one_of(&["GET", "HEAD"]),
    HEADERS,
    QUERY,
    TIMEOUT,
    MAX_BYTES,
    FOLLOW,
    REASON,
];
pub(super) const NET_REQUEST: &[Parameter] = &[
    URL,
    required("method", String, "The method.", "\"POST\"")
        .one_of(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
    HEADERS,
    QUERY,
    optional(
        "body",
        Object,
        "The body, sent as JSON.",
        "{\"name\": \"new\"}",
    ),
    TIMEOUT,
    MAX_BYTES,
    FOLLOW,
    REASON,
];
pub(super) const WEB_SEARCH: &[Parameter] = &[
    required(
        "query",
        String,
        "The search query; at most 400 characters and 50 words.",
        "\"flood barriers of the Thames\"",
    ),
    optional(
        "count",
        Integer,
        "Maximum number of results, 1 to 20; 10 by default.",
        "5",
    ),
    optional(
        "freshness",
        String,
        "Only pages that are not older than this.",
        "\"month\"",
    )
    .one_of(&["day", "week", "month", "year"]),
    optional(
        "language",
        String,
        "Language of the results: two letters (ISO 639-1).",
        "\"en\"",
    ),
];
pub(super) const COMMAND_RUN: &[Parameter] = &[
    required("command", String, "Name of the granted program.", "\"git\""),
    optional(
        "arguments",
        Array,
        "Its arguments, after the granted ones.",
        "[\"status\"]",
    ),
    optional("input", String, "Its standard input.", "\"text\""),
    optional(
        "root",
        String,
        "Name of the granted root that it runs in; a private folder by default.",
        "\"work\"",
    ),
];
pub(super) const VISUALISE: &[Parameter] = &[
    required(
        "mark",
        String,
        "The mark that is drawn for a row.",
        "\"bar\"",
    )
    .one_of(&[
        "arc", "area", "bar", "circle", "line", "point", "rect", "rule", "square", "text", "tick",
    ]),
    required(
        "data",
        Array,
        "Rows: objects of single values.",
        "[{\"team\": \"a\", \"cost\": 1.5}]",
    ),
    required(
        "encoding",
        Object,
        "By channel (`x`, `y`, `color`, …): `field`, `type`, `aggregate`, `bin`, `timeUnit`, `title`, `sort`, `stack`.",
        "{\"x\": {\"field\": \"team\", \"type\": \"nominal\"}, \"y\": {\"field\": \"cost\", \"type\": \"quantitative\"}}",
    ),
    optional("title", String, "The title.", "\"Spend by team\""),
    optional("width", Integer, "In pixels.", "400"),
    optional("height", Integer, "In pixels.", "300"),
];
