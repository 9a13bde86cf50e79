//! A package as its author writes it: files in folders by kind, read into documents whose every
//! part remembers its file and place.
//!
//! Reading reports all problems, not the first. What only shows against the rest of the catalogue
//! is checked by [`check`]. Knows nothing of directories, archives or storage.

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

/// The file that names a package.
pub const MANIFEST: &str = "package.yaml";

/// A place inside a package.
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
    /// Where a part of the document stands in the file.
    #[must_use]
    pub fn position(&self, pointer: &str) -> Position {
        self.places.position(&format!("{}{pointer}", self.pointer))
    }
}

/// Something read from a package, with its place.
#[derive(Debug, Clone)]
pub struct WithLocation<T> {
    /// What was read.
    pub value: T,
    /// Where it stands.
    pub place: SourceLocation,
}

/// A package whose files all read well.
#[derive(Debug, Clone)]
pub struct Package {
    /// Name, version, scope.
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
