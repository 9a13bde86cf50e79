//! Operations on files. Seed 003 names this contract and gives no text: the form is
//! this project's. Paths are relative to a root that whoever carries it out chooses;
//! nothing here touches a file.

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
    /// Its id.
    pub id: FileOperationId,
    /// The request it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// When it was asked for.
    pub timestamp: Timestamp,
    /// What is done.
    pub operation: FileOperation,
    /// The name of the root that paths are relative to; the only one there is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<ShortText>,
    /// The file or directory, relative to the root; `.` is the root itself.
    pub path: Text,
    /// `move`, `copy`: where to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<Text>,
    /// `write`, `create`: the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// How the content is written down; `utf-8` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// `read`: only these lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<LineRange>,
    /// `edit`: the replacements, in ascending order and without overlap. Lines are
    /// those of the file before the edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<LineEdit>>,
    /// `search`: what lines must match. `list`: a glob over names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Text>,
    /// `search`: how the pattern is meant; a regular expression when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_type: Option<PatternType>,
    /// `search`: globs over the paths of files, relative to `path`; all files when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<Text>,
    /// `list`, `search`, `copy`, `delete`: also what lies below.
    #[serde(default)]
    pub recursive: bool,
    /// `move`, `copy`, `create`: also over what is there.
    #[serde(default)]
    pub overwrite: bool,
    /// `write`, `create`, `move`, `copy`, `make_directory`: also the directories above.
    #[serde(default)]
    pub create_parents: bool,
    /// `list`, `search`: most results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_results: Option<Positive>,
    /// The file must have this hash, or nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_hash: Option<ShortText>,
    /// Anything else about it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

string_enum! {
    /// What is done to files (this project).
    pub enum FileOperation {
        /// The content, or some lines of it.
        Read = "read",
        /// Replaces the content of a file that is there.
        Write = "write",
        /// Makes a file that is not there.
        Create = "create",
        /// Replaces ranges of lines.
        Edit = "edit",
        /// Gives it another path.
        Move = "move",
        /// Makes another of it.
        Copy = "copy",
        /// Removes it.
        Delete = "delete",
        /// What a directory holds.
        List = "list",
        /// Which lines match.
        Search = "search",
        /// Size, times and kind.
        Stat = "stat",
        /// Makes a directory.
        MakeDirectory = "make_directory",
    }
}

string_enum! {
    /// How the pattern of a search is meant (this project).
    pub enum PatternType {
        /// A regular expression.
        Regex = "regex",
        /// The text itself.
        Literal = "literal",
    }
}

string_enum! {
    /// How content is written down (this project).
    pub enum Encoding {
        /// As text.
        Utf8 = "utf-8",
        /// As base 64, for anything.
        Base64 = "base64",
    }
}

/// Lines, counted from one; both ends belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct LineRange {
    /// The first line.
    pub start_line: Positive,
    /// The last line.
    pub end_line: Positive,
}

/// Lines and what takes their place. `end_line` one before `start_line` inserts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct LineEdit {
    /// The first line that is replaced.
    pub start_line: Positive,
    /// The last line that is replaced.
    pub end_line: crate::number::Count,
    /// What takes their place.
    pub replacement: String,
    /// What the replaced lines must be now, or nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
}

impl FileSystemOperation {
    /// The fields that belong to some operations: name, whether it is given, the
    /// operations that need it, the operations that may have it.
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
