//! Parses files into documents, and reports every problem of every file.

use std::sync::Arc;

use charter_contract::agentic::tool_definition::ToolDefinition;
use charter_contract::bounds::PACKAGE_TESTS;
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::charset::without_mark;
use charter_contract::foreign_schema::SchemaAllowance;
use charter_contract::package::{PackageBundle, PackageManifest, RoutingTest};
use charter_contract::validate::{Contract, read_value};
use charter_contract::violation::Violation;
use serde_json::Value;

use super::layout::{self, Role};
use super::{
    MANIFEST, Package, Problem, Problems, SourceLocation, WithLocation, files, policy_text,
};
use crate::cancellation::Cancellation;
use crate::source::{self, Allowance, Located};

/// The result of parsing: all problems, and the package if there are no errors.
#[derive(Debug)]
pub struct PackageReading {
    /// The package; absent if a problem is an error.
    pub package: Option<Package>,
    /// The manifest, if it is valid.
    pub manifest: Option<PackageManifest>,
    /// The number of valid documents.
    pub documents: usize,
    /// Errors and warnings, by file and position.
    pub problems: Vec<Problem>,
}

/// Parses a bundle. A cancelled run has a problem and no package.
#[must_use]
pub fn read(bundle: PackageBundle, cancel: &Cancellation) -> PackageReading {
    let allowance = Allowance::new(cancel);
    let mut reader = Reader::new(&allowance);
    reader.problems.extend(files::problems(&bundle.files));
    for (path, text) in &bundle.files {
        // The file that exhausted the allowance is reported already.
        if allowance.is_over() || reader.problems.is_full() {
            break;
        }
        reader.file(path, text);
    }
    if cancel.is_cancelled() {
        reader.problems.push(Problem::cancelled(MANIFEST));
    }
    if !bundle.files.contains_key(MANIFEST) {
        let message = format!("the package has no {MANIFEST}");
        reader
            .problems
            .push(Problem::of_file(MANIFEST, "required", message));
    }
    let Reader {
        manifest,
        mut documents,
        tests,
        mut problems,
        allowance: _,
        schemas: _,
    } = reader;
    for document in &mut documents {
        problems.extend(policy_text::fill(document, &bundle.files));
    }
    let failed = problems.has_errors();
    let named = manifest.as_ref().map(|manifest| manifest.value.clone());
    let count = documents.len();
    let problems = problems.sorted(MANIFEST);
    let package = manifest.filter(|_| !failed).map(|manifest| Package {
        manifest,
        documents,
        tests,
        files: bundle.files,
    });
    PackageReading {
        package,
        manifest: named,
        documents: count,
        problems,
    }
}

struct Reader<'a> {
    manifest: Option<WithLocation<PackageManifest>>,
    documents: Vec<WithLocation<Document>>,
    tests: Vec<WithLocation<RoutingTest>>,
    problems: Problems,
    allowance: &'a Allowance<'a>,
    /// The remaining allowance for the schemas of further documents.
    schemas: SchemaAllowance,
}

impl<'a> Reader<'a> {
    fn new(allowance: &'a Allowance<'a>) -> Self {
        Self {
            manifest: None,
            documents: Vec::new(),
            tests: Vec::new(),
            problems: Problems::default(),
            allowance,
            schemas: SchemaAllowance::of_package(),
        }
    }

    fn file(&mut self, path: &str, text: &str) {
        let role = layout::role(path);
        match role {
            Role::Opaque => return,
            Role::Stray => {
                let message = format!(
                    "this file is not used: known folders are {}",
                    layout::known_folders()
                );
                self.problems
                    .push(Problem::of_file(path, "layout", message).warning());
                return;
            }
            Role::Manifest | Role::Documents(_) | Role::Graph | Role::Tests => {}
        }
        let text = without_mark(text);
        let read = source::read_file_within(path, text, self.allowance);
        let Located { value, places } = match read {
            Ok(located) => located,
            Err(error) => {
                self.problems.push(Problem::unreadable(path, text, &error));
                return;
            }
        };
        let file = SourceLocation {
            file: path.into(),
            pointer: String::new(),
            text: Arc::new(text.into()),
            places: Arc::new(places),
        };
        for pointer in parts(&value, role) {
            if self.problems.is_full() {
                return;
            }
            if let Some(part) = value.pointer(&pointer) {
                let place = SourceLocation {
                    pointer,
                    ..file.clone()
                };
                self.part(role, place, part);
            }
        }
    }

    fn part(&mut self, role: Role, place: SourceLocation, value: &Value) {
        match role {
            Role::Manifest => {
                let manifest = self.contract::<PackageManifest>(&place, value);
                self.manifest = manifest.map(|value| WithLocation { value, place });
            }
            Role::Tests if self.tests.len() == PACKAGE_TESTS => {
                let message = format!(
                    "the package has more than {PACKAGE_TESTS} routing tests (PACKAGE_TESTS)"
                );
                self.problems
                    .push(Problem::at(&place, "", "limit", message));
            }
            Role::Tests => {
                if let Some(value) = self.contract::<RoutingTest>(&place, value) {
                    self.tests.push(WithLocation { value, place });
                }
            }
            Role::Documents(kind) => self.document(kind, place, value),
            Role::Graph => self.document(layout::graph_kind(value), place, value),
            Role::Opaque | Role::Stray => {}
        }
    }

    fn document(&mut self, kind: DocumentKind, place: SourceLocation, value: &Value) {
        let mut taken = self.schemas.take(value);
        if is_definition(kind, value) {
            let schema = ToolDefinition::unchecked_schema(value).unwrap_or_default();
            taken = taken.and_then(|()| self.schemas.take_schema(&schema));
        }
        if let Err(spent) = taken {
            let problem = Problem::at(&place, "", "schema_limit", spent.to_string());
            self.problems.push(problem);
            return;
        }
        match read_document(kind, value) {
            Ok((value, warnings)) => {
                self.warn(&place, warnings);
                self.documents.push(WithLocation { value, place });
            }
            Err(violations) => self.fail(&place, violations),
        }
    }

    fn contract<T: Contract>(&mut self, place: &SourceLocation, value: &Value) -> Option<T> {
        match read_value::<T>(value) {
            Ok((value, warnings)) => {
                self.warn(place, warnings);
                Some(value)
            }
            Err(violations) => {
                self.fail(place, violations);
                None
            }
        }
    }

    fn warn(&mut self, place: &SourceLocation, warnings: Vec<Violation>) {
        let problems = warnings
            .into_iter()
            .map(|w| Problem::violation(place, w).warning());
        self.problems.extend(problems);
    }

    fn fail(&mut self, place: &SourceLocation, violations: Vec<Violation>) {
        let problems = violations.into_iter().map(|v| Problem::violation(place, v));
        self.problems.extend(problems);
    }
}

/// Whether a document is a tool in the form of seed 003.
fn is_definition(kind: DocumentKind, value: &Value) -> bool {
    kind == DocumentKind::Tool && ToolDefinition::is_definition(value)
}

/// Reads a document, with its warnings. A tool may have the form of seed 003 too.
pub(super) fn read_document(
    kind: DocumentKind,
    value: &Value,
) -> Result<(Document, Vec<Violation>), Vec<Violation>> {
    if is_definition(kind, value) {
        let (tool, warnings) = ToolDefinition::read_tool(value)?;
        return Ok((Document::Tool(tool), warnings));
    }
    Document::from_value(kind, value)
}

/// Returns pointers to the documents of a file: the file itself, the items of its list, or, in the graph's folder, the
/// items of its `nodes` and `edges`.
pub(super) fn parts(value: &Value, role: Role) -> Vec<String> {
    let items = |prefix: &str, value: &Value| -> Vec<String> {
        let count = value.as_array().map_or(0, Vec::len);
        (0..count)
            .map(|index| format!("{prefix}/{index}"))
            .collect()
    };
    if value.is_array() {
        return items("", value);
    }
    if role == Role::Graph && (value.get("nodes").is_some() || value.get("edges").is_some()) {
        let lists = ["nodes", "edges"].into_iter();
        return lists
            .flat_map(|list| items(&format!("/{list}"), value.get(list).unwrap_or(&Value::Null)))
            .collect();
    }
    vec![String::new()]
}
