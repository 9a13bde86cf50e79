//! Operations on files. Seed 003 names this contract without specifying it: the form is this project's. Paths are
//! relative to a root that the executing tool chooses; nothing here touches a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalogue::tool::is_package_path;
use crate::ids::{FileOperationId, RequestId};
use crate::number::Positive;
use crate::schema::SchemaName;
use crate::text::{ShortText, Text};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(FileSystemOperation, LineRange, LineEdit);

/// One operation on files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FileSystemOperation {
    /// Id of the operation.
    pub id: FileOperationId,
    /// Request that the operation serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Time of the request for the operation.
    pub timestamp: Timestamp,
    /// Kind of operation.
    pub operation: FileOperation,
    /// Name of the root that paths are relative to. It may be absent if there is only one root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<ShortText>,
    /// Path of the file or directory, relative to the root; `.` is the root itself.
    pub path: Text,
    /// Destination path; for `move` and `copy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<Text>,
    /// Content; for `write` and `create`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Encoding of the content; `utf-8` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Lines to read; for `read`. The whole file when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<LineRange>,
    /// Replacements; for `edit`, in ascending order and without overlap. Line numbers refer to the file before the
    /// edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<LineEdit>>,
    /// Pattern that lines must match for `search`; glob over names for `list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Text>,
    /// Interpretation of the pattern of `search`; a regular expression when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_type: Option<PatternType>,
    /// Globs over file paths relative to `path`; for `search`. All files when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<Text>,
    /// Whether to include subdirectories; for `list`, `search`, `copy` and `delete`.
    #[serde(default)]
    pub recursive: bool,
    /// Whether to overwrite an existing target; for `move`, `copy` and `create`.
    #[serde(default)]
    pub overwrite: bool,
    /// Whether to create missing parent directories; for `write`, `create`, `move`, `copy` and `make_directory`.
    #[serde(default)]
    pub create_parents: bool,
    /// Maximum number of results; for `list` and `search`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_results: Option<Positive>,
    /// Required hash of the file; on a mismatch nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_hash: Option<ShortText>,
    /// Additional free-form data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

string_enum! {
    /// Kind of a file operation (this project).
    pub enum FileOperation {
        /// Reads the content, or some lines.
        Read = "read",
        /// Replaces the content of an existing file.
        Write = "write",
        /// Creates a file that does not exist.
        Create = "create",
        /// Replaces ranges of lines.
        Edit = "edit",
        /// Moves to another path.
        Move = "move",
        /// Copies to another path.
        Copy = "copy",
        /// Deletes a file or directory.
        Delete = "delete",
        /// Lists the entries of a directory.
        List = "list",
        /// Finds matching lines.
        Search = "search",
        /// Returns size, times and kind.
        Stat = "stat",
        /// Creates a directory.
        MakeDirectory = "make_directory",
    }
}

string_enum! {
    /// Interpretation of a search pattern (this project).
    pub enum PatternType {
        /// A regular expression.
        Regex = "regex",
        /// Literal text.
        Literal = "literal",
    }
}

string_enum! {
    /// Encoding of content (this project).
    pub enum Encoding {
        /// Plain text.
        Utf8 = "utf-8",
        /// Base64, for arbitrary bytes.
        Base64 = "base64",
    }
}

/// A range of lines, counted from 1; both ends are included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct LineRange {
    /// First line.
    pub start_line: Positive,
    /// Last line.
    pub end_line: Positive,
}

/// Replacement of a range of lines. It inserts when `end_line` is `start_line` minus one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct LineEdit {
    /// First replaced line.
    pub start_line: Positive,
    /// Last replaced line.
    pub end_line: crate::number::Count,
    /// New text.
    pub replacement: String,
    /// Required current text of the replaced lines; on a mismatch nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
}

impl FileSystemOperation {
    /// Lists the fields that only some operations have: name, presence, operations that require it, operations that
    /// allow it.
    fn fields(
        &self,
    ) -> [(
        &'static str,
        bool,
        &'static [FileOperation],
        &'static [FileOperation],
    ); 9] {
        use FileOperation::{Copy, Create, Edit, List, Move, Read, Search, Write};
        [
            (
                "destination",
                self.destination.is_some(),
                &[Move, Copy],
                &[Move, Copy],
            ),
            (
                "content",
                self.content.is_some(),
                &[Write, Create],
                &[Write, Create],
            ),
            (
                "encoding",
                self.encoding.is_some(),
                &[],
                &[Read, Write, Create],
            ),
            ("range", self.range.is_some(), &[], &[Read]),
            ("edits", self.edits.is_some(), &[Edit], &[Edit]),
            (
                "pattern",
                self.pattern.is_some(),
                &[Search],
                &[Search, List],
            ),
            ("pattern_type", self.pattern_type.is_some(), &[], &[Search]),
            ("include", !self.include.is_empty(), &[], &[Search]),
            (
                "max_results",
                self.max_results.is_some(),
                &[],
                &[Search, List],
            ),
        ]
    }

    fn check_lines(&self, report: &mut Report) {
        if let Some(range) = &self.range
            && range.end_line < range.start_line
        {
            let message = format!(
                "line {} is before line {}",
                range.end_line, range.start_line
            );
            report.meaning("/range/end_line", "order", message);
        }
        let mut after = 0;
        for (at, edit) in self.edits.iter().flatten().enumerate() {
            let here = format!("/edits/{at}");
            let (start, end) = (edit.start_line.get(), edit.end_line.get());
            if end + 1 < start {
                let message = format!("line {end} is before line {start}");
                report.meaning(format!("{here}/end_line"), "order", message);
            }
            if start <= after {
                let message = format!("line {start} is already replaced by the previous edit");
                report.meaning(format!("{here}/start_line"), "overlap", message);
            }
            after = after.max(end);
        }
    }
}

impl Contract for FileSystemOperation {
    const NAME: SchemaName = SchemaName::FileSystemOperation;

    fn check(&self, report: &mut Report) {
        let paths = [
            ("path", Some(&self.path)),
            ("destination", self.destination.as_ref()),
        ];
        for (field, path) in paths {
            let Some(path) = path.map(Text::as_str) else {
                continue;
            };
            if path != "." && !is_package_path(path) {
                let message = format!("`{path}` leaves the root");
                report.meaning(format!("/{field}"), "relative_path", message);
            }
        }
        for (name, given, needed_by, allowed_in) in self.fields() {
            if !given && needed_by.contains(&self.operation) {
                let message = format!("the operation `{}` needs `{name}`", self.operation);
                report.meaning(format!("/{name}"), "required", message);
            } else if given && !allowed_in.contains(&self.operation) {
                let message = format!(
                    "`{name}` does not belong to the operation `{}`",
                    self.operation
                );
                report.meaning(format!("/{name}"), "operation", message);
            }
        }
        self.check_lines(report);
    }
}
