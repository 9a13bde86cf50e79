//! Catalogues and labelled queries as JSON lines, plain or gzipped.
//!
//! Catalogue lines: `{id, name, description?, tool?, server?, params?: [{name, description?}], body?, examples?,
//! path?}`, where the path of a `SKILL.md` makes a skill of the entry. Query lines: `{query, relevant?: [id], part?,
//! candidates?: [id], requests?: [[id]]}`, where an empty `relevant` means that no entry fits. Other fields are
//! ignored. Must not know how they are used.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use charter_contract::json::{JsonFault, Profile, decode};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::index::MAX_ENTRIES;
use crate::text::RouteText;
use crate::trigger_phrases::trigger_phrases;

/// Longest line, in bytes.
pub const MAX_LINE_BYTES: usize = 4 << 20;
/// Most lines of one file.
const MAX_LINES: usize = MAX_ENTRIES;

/// Why an evaluation set could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("reading `{path}` failed")]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{path}:{line}: not a valid record")]
    Line {
        /// The path.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// The fault.
        source: JsonFault,
    },
    /// A line contradicts the catalogue.
    #[error("{path}:{line}: {problem}")]
    Meaning {
        /// The path.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// The fault.
        problem: String,
    },
    /// The file exceeds a limit.
    #[error("{path}:{line}: too long (limit: {MAX_LINES} lines of {MAX_LINE_BYTES} bytes)")]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// The line at which reading stopped, from 1.
        line: usize,
    },
}

/// One entry of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalEntry {
    /// Unique in the catalogue.
    pub id: String,
    /// Its texts.
    pub text: RouteText,
}

/// One query with its labels.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LabelledQuery {
    /// The request.
    pub query: String,
    /// Ids that answer it; none if no entry does.
    #[serde(default)]
    pub relevant: Vec<String>,
    /// The part of the source that it came from.
    #[serde(default)]
    pub part: Option<String>,
    /// The entries that were offered for it; empty for the whole catalogue.
    #[serde(default)]
    pub candidates: Vec<String>,
    /// For a query with several requests: the ids that answer each of them.
    #[serde(default)]
    pub requests: Vec<Vec<String>>,
}

/// A catalogue and its queries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvalSet {
    /// The catalogue.
    pub entries: Vec<EvalEntry>,
    /// Queries with their labels; those without relevant entries should have no answer.
    pub queries: Vec<LabelledQuery>,
    /// Queries that no entry of the catalogue answers.
    pub out_of_scope: Vec<String>,
}

impl EvalSet {
    /// Reads a catalogue, its queries and, if present, queries out of its scope.
    ///
    /// # Errors
    /// [`ReadError`] with file and line: unreadable, malformed, a duplicate id, an unknown id.
    pub fn read(
        catalogue: &Path,
        queries: &Path,
        out_of_scope: Option<&Path>,
    ) -> Result<EvalSet, ReadError> {
        let mut ids = BTreeSet::new();
        let mut entries = Vec::new();
        read_lines(catalogue, |line, record: CatalogueLine| {
            if !ids.insert(record.id.clone()) {
                return Err(meaning(
                    catalogue,
                    line,
                    format!("the id `{}` is duplicated", record.id),
                ));
            }
            entries.push(record.into());
            Ok(())
        })?;
        Self::over(entries, queries, out_of_scope)
    }

    /// Reads a folder: `catalogue.jsonl`, `queries.jsonl` and, if present, `no_match.jsonl`, the queries out of its
    /// scope. Each may be gzipped and end in `.gz`.
    ///
    /// # Errors
    /// As [`EvalSet::read`].
    pub fn read_folder(folder: &Path) -> Result<EvalSet, ReadError> {
        let file = |name: &str| {
            let gzipped = folder.join(format!("{name}.jsonl.gz"));
            if gzipped.exists() {
                gzipped
            } else {
                folder.join(format!("{name}.jsonl"))
            }
        };
        let no_match = Some(file("no_match")).filter(|path| path.exists());
        Self::read(&file("catalogue"), &file("queries"), no_match.as_deref())
    }

    /// Reads the queries for a catalogue that is already read.
    ///
    /// # Errors
    /// As [`EvalSet::read`].
    pub fn over(
        entries: Vec<EvalEntry>,
        queries: &Path,
        out_of_scope: Option<&Path>,
    ) -> Result<EvalSet, ReadError> {
        let ids: BTreeSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        let mut labelled = Vec::new();
        read_lines(queries, |line, record: LabelledQuery| {
            let requested = record.requests.iter().flatten();
            let named = record.relevant.iter().chain(&record.candidates);
            let named = named.chain(requested);
            if let Some(id) = named.into_iter().find(|id| !ids.contains(id.as_str())) {
                return Err(meaning(
                    queries,
                    line,
                    format!("`{id}` is not in the catalogue"),
                ));
            }
            labelled.push(record);
            Ok(())
        })?;
        let mut misses = Vec::new();
        if let Some(path) = out_of_scope {
            read_lines(path, |_, record: LabelledQuery| {
                misses.push(record.query);
                Ok(())
            })?;
        }
        Ok(EvalSet {
            entries,
            queries: labelled,
            out_of_scope: misses,
        })
    }
}

#[derive(Deserialize)]
struct CatalogueLine {
    id: String,
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    params: Vec<ParameterLine>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    path: Option<String>,
}

#[derive(Deserialize)]
struct ParameterLine {
    name: String,
    #[serde(default)]
    description: Option<String>,
}

impl From<CatalogueLine> for EvalEntry {
    fn from(line: CatalogueLine) -> Self {
        let description = line.description.unwrap_or_default();
        let is_skill = line.path.is_some_and(|path| path.ends_with("SKILL.md"));
        let mut examples = line.examples;
        if is_skill {
            examples.extend(trigger_phrases(&description));
        }
        let parameters = line
            .params
            .into_iter()
            .map(|parameter| match parameter.description {
                Some(description) => format!("{}: {description}", parameter.name),
                None => parameter.name,
            });
        EvalEntry {
            id: line.id,
            text: RouteText {
                embedded: None,
                short_name: None,
                name: line.name,
                group: line.tool.or(line.server).unwrap_or_default(),
                description,
                parameters: parameters.collect(),
                body: line.body,
                examples,
            },
        }
    }
}

fn meaning(path: &Path, line: usize, problem: String) -> ReadError {
    ReadError::Meaning {
        path: path.to_owned(),
        line,
        problem,
    }
}

/// Calls `take` with each record and its line number; ignores blank lines.
pub(super) fn read_lines<T: DeserializeOwned>(
    path: &Path,
    mut take: impl FnMut(usize, T) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let failed = |source| ReadError::File {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let content: Box<dyn Read> = if path.extension().is_some_and(|extension| extension == "gz") {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut reader = BufReader::new(content);
    let mut bytes = Vec::new();
    for line in 1..=MAX_LINES + 1 {
        bytes.clear();
        let read = (&mut reader)
            .take(MAX_LINE_BYTES as u64 + 1)
            .read_until(b'\n', &mut bytes)
            .map_err(failed)?;
        if read == 0 {
            return Ok(());
        }
        if read > MAX_LINE_BYTES || line > MAX_LINES {
            return Err(ReadError::TooLarge {
                path: path.to_owned(),
                line,
            });
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let record = decode(&bytes, Profile::OPERATOR).map_err(|source| ReadError::Line {
            path: path.to_owned(),
            line,
            source,
        })?;
        take(line, record)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    const CATALOGUE: &str = r#"{"id":"a","name":"listBuckets","tool":"s3","description":null,"params":[{"name":"p"},{"name":"q","description":"d"}],"category":"x"}

{"id":"b","name":"drop","examples":["drop it"]}
"#;

    fn files(catalogue: &str, queries: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let (entries, asked) = (
            directory.path().join("c.jsonl.gz"),
            directory.path().join("q.jsonl"),
        );
        let mut encoder = GzEncoder::new(File::create(&entries).unwrap(), Compression::fast());
        encoder.write_all(catalogue.as_bytes()).unwrap();
        encoder.finish().unwrap();
        std::fs::write(&asked, queries).unwrap();
        (directory, entries, asked)
    }

    #[test]
    fn gzipped_and_plain_lines_are_read() {
        let (_kept, entries, asked) = files(
            CATALOGUE,
            "{\"query\":\"x\",\"relevant\":[\"b\"],\"part\":\"p\"}",
        );
        let set = EvalSet::read(&entries, &asked, Some(&asked)).unwrap();
        let first = RouteText {
            name: "listBuckets".to_owned(),
            group: "s3".to_owned(),
            parameters: vec!["p".to_owned(), "q: d".to_owned()],
            ..RouteText::default()
        };
        let second = RouteText {
            name: "drop".to_owned(),
            examples: vec!["drop it".to_owned()],
            ..RouteText::default()
        };
        let entry = |id: &str, text| EvalEntry {
            id: id.to_owned(),
            text,
        };
        assert_eq!(set.entries, [entry("a", first), entry("b", second)]);
        assert_eq!(
            set.queries,
            [LabelledQuery {
                query: "x".to_owned(),
                relevant: vec!["b".to_owned()],
                part: Some("p".to_owned()),
                candidates: vec![],
                requests: vec![],
            }]
        );
        assert_eq!(set.out_of_scope, ["x"]);
    }

    #[test]
    fn a_folder_is_a_set_with_or_without_queries_out_of_its_scope() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("catalogue.jsonl", CATALOGUE);
        let missing = EvalSet::read_folder(folder.path()).unwrap_err().to_string();
        assert!(missing.contains("queries.jsonl"), "{missing}");
        write("queries.jsonl", "{\"query\":\"x\",\"relevant\":[\"b\"]}");
        let set = EvalSet::read_folder(folder.path()).unwrap();
        assert_eq!((set.entries.len(), set.queries.len()), (2, 1));
        assert_eq!(set.out_of_scope, Vec::<String>::new());
        write("no_match.jsonl", "{\"query\":\"y\"}");
        let set = EvalSet::read_folder(folder.path()).unwrap();
        assert_eq!(set.out_of_scope, ["y"]);
    }

    #[test]
    fn a_malformed_or_contradictory_line_is_named_with_file_and_line() {
        let cases = [
            ("{\"id\":\"a\"}\n", "", "c.jsonl.gz:1: not a valid record"),
            ("\n\nnonsense\n", "", "c.jsonl.gz:3: not a valid record"),
            (
                CATALOGUE,
                "{\"query\":\"x\",\"relevant\":[\"z\"]}",
                "q.jsonl:1: `z` is not in the catalogue",
            ),
            (
                CATALOGUE,
                "{\"query\":\"x\",\"relevant\":[\"a\"],\"requests\":[[\"a\"],[\"y\"]]}",
                "q.jsonl:1: `y` is not in the catalogue",
            ),
            (
                "{\"id\":\"a\",\"name\":\"a\"}\n{\"id\":\"a\",\"name\":\"a\"}",
                "",
                "c.jsonl.gz:2: the id `a` is duplicated",
            ),
        ];
        for (catalogue, queries, message) in cases {
            let (_kept, entries, asked) = files(catalogue, queries);
            let error = EvalSet::read(&entries, &asked, None)
                .unwrap_err()
                .to_string();
            assert!(error.ends_with(message), "{error}");
        }
    }
}
