//! `charter package validate`: a package by the API, or documents in this process.

use std::path::{Path, PathBuf};

use charter_contract::error_code::ErrorCode;
use charter_contract::lines;
use charter_contract::registry::inspect;
use charter_contract::schema::SchemaName;
use charter_contract::validate::guess;
use charter_contract::violation::{Report, Violation};
use charter_domain::source::{self, Located};
use charter_engine::{Problem, ProblemSeverity};
use clap::Args;
use serde_json::{Value, json};

use super::{bundle, test_results_text};
use crate::client::Client;
use crate::commands::schema;
use crate::failure::{EXIT_ERROR, EXIT_NEGATIVE, EXIT_OK, ReportedFailure};
use crate::output::{self, Format};
use crate::text_file;

/// Largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The hint for a package among other arguments.
const ALONE: &str = "Name the directory of one package, or files.";

/// Check a package, or documents against their contracts.
///
/// A directory is a package: it is valid when it could be registered. Files are documents (JSON or YAML), which are
/// checked without a server. Exit 0 when all are valid, 1 when one is not, 2 when one could not be read.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// The package's directory, or documents.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The contract of the documents; detected from each document if absent.
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
}

impl Validate {
    /// Whether it checks documents, which needs neither a configuration nor a server.
    pub(crate) fn is_of_files(&self) -> bool {
        !self.paths.iter().any(|path| path.is_dir())
    }

    /// Whether it names a file that exists, and no directory.
    pub(crate) fn names_file(&self) -> bool {
        self.is_of_files() && self.paths.iter().any(|path| path.is_file())
    }

    /// The directory of the package.
    pub(super) fn package(&self) -> anyhow::Result<&Path> {
        let refused = match (self.paths.as_slice(), &self.schema) {
            ([dir], None) => return Ok(dir.as_path()),
            ([_], Some(_)) => "--schema is for documents, not for a package",
            _ => "a package cannot be validated together with other paths",
        };
        let refused = ReportedFailure::new(ErrorCode::InvalidRequest, refused);
        Err(refused.with_hint(ALONE).into())
    }
}

/// Checks a package by the API.
pub(super) async fn check_package(
    command: &Validate,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let bundle = bundle(command.package()?)?;
    let report = client.post("/v1/packages/validate", Some(&bundle)).await?;
    output::print(format, &report, report_table)?;
    let problems: Vec<Problem> = serde_json::from_value(report["problems"].clone())?;
    let failed = problems
        .iter()
        .any(|problem| problem.severity == ProblemSeverity::Error);
    Ok(if failed { EXIT_NEGATIVE } else { EXIT_OK })
}

fn report_table(report: &Value) -> String {
    let problems: Vec<Problem> =
        serde_json::from_value(report["problems"].clone()).unwrap_or_default();
    let count = problems.len();
    let named = match report["package"].as_str() {
        Some(name) => format!("{name} {}", report["version"].as_str().unwrap_or_default()),
        None => "no name and version can be read in package.yaml".to_owned(),
    };
    let what = format!(
        "{named}: {} document(s), {count} problem(s){}",
        report["documents"],
        test_results_text(&report["tests"])
    );
    format!("{}{what}", output::problems(&problems))
}

/// Checks documents in this process.
pub(crate) fn check_files(command: &Validate, format: Format) -> anyhow::Result<u8> {
    let wanted = match &command.schema {
        None => None,
        Some(name) => Some(schema::find_schema(name)?.name),
    };
    let checked: Vec<FileValidation> = command
        .paths
        .iter()
        .map(|file| check(file, wanted))
        .collect();
    let shown: Vec<Value> = checked.iter().map(FileValidation::to_value).collect();
    output::print(format, &Value::Array(shown), |_| {
        checked
            .iter()
            .map(FileValidation::to_text)
            .collect::<Vec<_>>()
            .join("\n")
    })?;
    Ok(checked
        .iter()
        .map(FileValidation::code)
        .max()
        .unwrap_or(EXIT_OK))
}

/// The validation result of one file.
struct FileValidation {
    file: String,
    outcome: Outcome,
}

enum Outcome {
    Unreadable(String),
    Read {
        name: Option<SchemaName>,
        problems: Vec<Problem>,
    },
}

fn check(file: &Path, wanted: Option<SchemaName>) -> FileValidation {
    let name = file.display().to_string();
    let outcome = match read(file) {
        Ok(text) => inspect_text(&name, &text, wanted),
        Err(error) => Outcome::Unreadable(format!("{error:#}")),
    };
    FileValidation {
        file: name,
        outcome,
    }
}

/// Reads a document's text, with a size limit.
pub(crate) fn read(file: &Path) -> anyhow::Result<String> {
    text_file::read(file, MAX_FILE_BYTES)
}

fn inspect_text(file: &str, text: &str, wanted: Option<SchemaName>) -> Outcome {
    let located = match source::read_file(file, text) {
        Ok(located) => located,
        Err(error) => {
            let problem = Problem {
                suggestion: error.suggestion,
                ..placed(
                    file,
                    text,
                    error.position,
                    ProblemSeverity::Error,
                    error.reason.keyword(),
                    error.message,
                )
            };
            return Outcome::Read {
                name: wanted,
                problems: vec![problem],
            };
        }
    };
    let Some(name) = wanted.or_else(|| guess(&located.value)) else {
        let start = located.position("");
        let message = "no contract is recognised; name one with --schema".to_owned();
        let problem = placed(
            file,
            text,
            start,
            ProblemSeverity::Error,
            "unknown_contract",
            message,
        );
        return Outcome::Read {
            name: None,
            problems: vec![problem],
        };
    };
    let Report {
        violations,
        warnings,
    } = inspect(name, &located.value);
    let errors = violations
        .into_iter()
        .map(|violation| (ProblemSeverity::Error, violation));
    let warnings = warnings
        .into_iter()
        .map(|violation| (ProblemSeverity::Warning, violation));
    let problems = errors
        .chain(warnings)
        .map(|(severity, violation)| problem(file, text, &located, severity, violation));
    Outcome::Read {
        name: Some(name),
        problems: problems.collect(),
    }
}

fn problem(
    file: &str,
    text: &str,
    located: &Located,
    severity: ProblemSeverity,
    violation: Violation,
) -> Problem {
    let position = located.position(&violation.pointer);
    Problem {
        pointer: violation.pointer,
        suggestion: violation.suggestion,
        ..placed(
            file,
            text,
            position,
            severity,
            &violation.keyword,
            violation.message,
        )
    }
}

fn placed(
    file: &str,
    text: &str,
    at: source::Position,
    severity: ProblemSeverity,
    keyword: &str,
    message: String,
) -> Problem {
    Problem {
        file: file.to_owned(),
        line: at.line,
        column: at.column,
        width: at.width,
        pointer: String::new(),
        severity,
        keyword: keyword.to_owned(),
        message,
        suggestion: None,
        excerpt: lines::with_ends(text)
            .nth(at.line.saturating_sub(1))
            .map(lines::without_end)
            .unwrap_or_default()
            .to_owned(),
    }
}

impl FileValidation {
    fn code(&self) -> u8 {
        match &self.outcome {
            Outcome::Unreadable(_) => EXIT_ERROR,
            Outcome::Read { problems, .. }
                if problems
                    .iter()
                    .any(|p| p.severity == ProblemSeverity::Error) =>
            {
                EXIT_NEGATIVE
            }
            Outcome::Read { .. } => EXIT_OK,
        }
    }

    fn to_value(&self) -> Value {
        match &self.outcome {
            Outcome::Unreadable(why) => json!({"file": self.file, "unreadable": why}),
            Outcome::Read { name, problems } => json!({
                "file": self.file, "schema": name.map(SchemaName::as_str), "problems": problems,
            }),
        }
    }

    fn to_text(&self) -> String {
        match &self.outcome {
            Outcome::Unreadable(why) => format!("{}: cannot be read: {why}", self.file),
            Outcome::Read { name, problems } => {
                let name = name.map_or("unknown", SchemaName::as_str);
                let verdict = if self.code() == EXIT_OK {
                    "valid"
                } else {
                    "invalid"
                };
                format!(
                    "{}{}: {verdict} {name}",
                    output::problems(problems),
                    self.file
                )
            }
        }
    }
}
