//! A package as its author wrote it: files in folders by kind, parsed into documents whose parts remember their file
//! and position.
//!
//! Parsing reports all problems, not only the first. [`check`] finds the problems that depend on the rest of the
//! catalogue. Knows nothing of directories, archives or storage.

mod check;
mod files;
mod layout;
mod locate;
mod needs;
mod policy_text;
mod problem;
mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::package::{PackageManifest, RoutingTest};

use crate::source::{Places, Position, SourceText};

pub use check::{Against, check, check_policies};
pub use locate::locate;
pub use needs::{Need, needs};
pub use problem::{Problem, ProblemSeverity, Problems};
pub use read::{PackageReading, read};

/// The file with a package's name.
pub const MANIFEST: &str = "package.yaml";

/// The file with tools of MCP servers, as they were when it was written. Tests of policies read it; a registration does
/// not.
pub const MCP_SNAPSHOT: &str = "tests/mcp-tools.json";

/// A location inside a package.
#[derive(Debug, Clone)]
pub struct SourceLocation {
    /// The file's path, relative to the package.
    pub file: Arc<str>,
    /// JSON pointer of the document inside its file; empty when the file is the document.
    pub pointer: String,
    /// The position of each part of the file.
    pub places: Arc<Places>,
    /// The file's text, for showing the line.
    pub text: Arc<SourceText>,
}

impl SourceLocation {
    /// Returns the position of a part of the document in the file.
    #[must_use]
    pub fn position(&self, pointer: &str) -> Position {
        self.places.position(&format!("{}{pointer}", self.pointer))
    }
}

/// A value from a package, with its location.
#[derive(Debug, Clone)]
pub struct WithLocation<T> {
    /// The value.
    pub value: T,
    /// The location.
    pub place: SourceLocation,
}

/// A package whose files were all parsed without errors.
#[derive(Debug, Clone)]
pub struct Package {
    /// The name, version and scope.
    pub manifest: WithLocation<PackageManifest>,
    /// Its documents, by file and position.
    pub documents: Vec<WithLocation<Document>>,
    /// Its routing tests.
    pub tests: Vec<WithLocation<RoutingTest>>,
    /// Every file by path.
    pub files: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests;
