//! Reads a directory of skills for import: every file that may belong to a skill, with its bytes and executable bit,
//! within limits. Skips everything but plain files. The server interprets the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::Engine;
use charter_contract::bounds::{
    SKILL_ENTRIES, SKILL_FILE_BYTES, SKILL_FILES, SKILL_IMPORT_BYTES, SKILL_LEVELS,
};
use charter_contract::error_code::ErrorCode;
use charter_domain::skill_folder::SKILL_FILE;
use charter_engine::{Problem, SentFile};

use crate::failure::ReportedFailure;
use crate::platform;

/// A directory of version control, which is not part of a skill.
const LEFT_OUT: &str = ".git";

/// The files of a directory, and the problems of skipped ones.
pub(super) struct Directory {
    pub(super) files: Vec<SentFile>,
    pub(super) problems: Vec<Problem>,
}

/// Reads a directory of skills, or that of one skill: then paths begin with its name. Skips top-level directories
/// without a skill.
pub(super) fn read(dir: &Path) -> anyhow::Result<Directory> {
    let whole = fs::canonicalize(dir).with_context(|| format!("reading {}", dir.display()))?;
    let prefix = if whole.join(SKILL_FILE).exists() {
        let name = whole.file_name().and_then(|name| name.to_str());
        let Some(name) = name else {
            bail!("the name of {} is not UTF-8", dir.display());
        };
        format!("{name}/")
    } else {
        String::new()
    };
    let mut reader = Reader::default();
    let found = reader.find(whole, prefix)?;
    let (wanted, others) = apart(found);
    for (top, count) in others {
        let message = format!("no skill found here: {count} file(s) skipped");
        reader.leave(&top, "layout", message);
    }
    for (path, file) in wanted {
        reader.file(&file, path)?;
        if reader.is_full() {
            return Err(too_much());
        }
    }
    Ok(Directory {
        files: reader.files,
        problems: reader.problems,
    })
}

/// Plain files with their paths.
type Files = Vec<(String, PathBuf)>;

/// Splits off the files that may belong to a skill, and counts the others in each top-level directory.
fn apart(found: Files) -> (Files, BTreeMap<String, usize>) {
    let with_skills: BTreeSet<String> = found
        .iter()
        .filter(|(path, _)| is_skill_file(path))
        .filter_map(|(path, _)| Some(path.split_once('/')?.0.to_owned()))
        .collect();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    let mut wanted = Vec::new();
    for (path, file) in found {
        let top = path.split_once('/').map(|(top, _)| top.to_owned());
        match top {
            Some(top) if !with_skills.contains(&top) => *others.entry(top).or_default() += 1,
            Some(_) | None => wanted.push((path, file)),
        }
    }
    (wanted, others)
}

/// Accepts a name in the wrong case too, which the server reports.
fn is_skill_file(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.eq_ignore_ascii_case(SKILL_FILE)
}

fn too_much() -> anyhow::Error {
    too_large(format!(
        "the directory has more than {SKILL_FILES} files or {SKILL_IMPORT_BYTES} bytes that may belong to skills \
         (SKILL_FILES, SKILL_IMPORT_BYTES); nothing was written"
    ))
}

fn too_many_entries() -> anyhow::Error {
    too_large(format!(
        "the directory has more than {SKILL_ENTRIES} files and directories (SKILL_ENTRIES); nothing was written"
    ))
}

fn too_large(message: String) -> anyhow::Error {
    ReportedFailure {
        hint: Some("Import its directories one by one.".to_owned()),
        ..ReportedFailure::new(ErrorCode::TooLarge, message)
    }
    .into()
}

#[derive(Default)]
struct Reader {
    files: Vec<SentFile>,
    problems: Vec<Problem>,
    bytes: usize,
}

impl Reader {
    /// Reports that a file is skipped; the import is otherwise complete.
    fn leave(&mut self, path: &str, keyword: &str, message: impl Into<String>) {
        let problem = Problem::of_file(path, keyword, message);
        self.problems.push(problem.warning());
    }

    fn is_full(&self) -> bool {
        self.files.len() > SKILL_FILES || self.bytes > SKILL_IMPORT_BYTES
    }

    /// Every plain file below a directory. Links are not followed: one could lead out of the directory.
    fn find(&mut self, whole: PathBuf, prefix: String) -> anyhow::Result<Files> {
        let mut found = Vec::new();
        let mut looked = 0;
        let mut waiting = vec![(whole, prefix, 0)];
        while let Some((directory, path, depth)) = waiting.pop() {
            for (name, entry) in self.entries(&directory, &path)? {
                looked += 1;
                if looked > SKILL_ENTRIES {
                    return Err(too_many_entries());
                }
                let path = format!("{path}{name}");
                let kind = fs::symlink_metadata(&entry)
                    .with_context(|| format!("reading {}", entry.display()))?;
                if kind.is_dir() && name == LEFT_OUT {
                    continue;
                } else if kind.is_dir() && depth >= SKILL_LEVELS {
                    let message = format!(
                        "directories are nested deeper than {SKILL_LEVELS} (SKILL_LEVELS); skipped"
                    );
                    self.leave(&path, "path", message);
                } else if kind.is_dir() {
                    waiting.push((entry, format!("{path}/"), depth + 1));
                } else if kind.is_file() {
                    found.push((path, entry));
                } else if kind.is_symlink() {
                    self.leave(&path, "link", "links are not followed; skipped");
                } else {
                    self.leave(&path, "link", "not a regular file; skipped");
                }
            }
        }
        Ok(found)
    }

    /// The entries of a directory with representable names, by name.
    fn entries(&mut self, directory: &Path, path: &str) -> anyhow::Result<Vec<(String, PathBuf)>> {
        let doing = || format!("reading {}", directory.display());
        let mut entries = Vec::new();
        for entry in fs::read_dir(directory).with_context(doing)? {
            let entry = entry.with_context(doing)?;
            match entry.file_name().into_string() {
                Ok(name) => entries.push((name, entry.path())),
                Err(name) => {
                    let shown = format!("{path}{}", name.to_string_lossy());
                    self.leave(&shown, "utf8", "the name is not UTF-8; skipped");
                }
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn file(&mut self, file: &Path, path: String) -> anyhow::Result<()> {
        let doing = || format!("reading {}", file.display());
        let opened = File::open(file).with_context(doing)?;
        let mode = platform::file_mode(&opened.metadata().with_context(doing)?);
        let mut content = Vec::new();
        let bound = SKILL_FILE_BYTES as u64 + 1;
        opened
            .take(bound)
            .read_to_end(&mut content)
            .with_context(doing)?;
        if content.len() > SKILL_FILE_BYTES {
            let message = format!(
                "the file is larger than {SKILL_FILE_BYTES} bytes (SKILL_FILE_BYTES); skipped"
            );
            self.leave(&path, "too_large", message);
            return Ok(());
        }
        self.bytes += content.len();
        let (text, base64) = match String::from_utf8(content) {
            Ok(text) => (Some(text), None),
            Err(binary) => {
                let coder = base64::engine::general_purpose::STANDARD;
                (None, Some(coder.encode(binary.as_bytes())))
            }
        };
        self.files.push(SentFile {
            path,
            text,
            base64,
            executable: mode.is_some_and(|mode| mode & 0o111 != 0),
        });
        Ok(())
    }
}
