//! A directory of skills as it is sent: every file with its bytes and executable bit, bounded, and
//! nothing that is not a plain file. What the files mean is the server's business.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::Engine;
use charter_contract::bounds::{SKILL_FILE_BYTES, SKILL_FILES, SKILL_IMPORT_BYTES, SKILL_LEVELS};
use charter_domain::skill_folder::SKILL_FILE;
use charter_engine::{Problem, SentFile};

/// A directory that belongs to version control and not to a skill.
const LEFT_OUT: &str = ".git";

/// What was read, and what could not be.
pub(super) struct Directory {
    pub(super) files: Vec<SentFile>,
    pub(super) problems: Vec<Problem>,
}

/// Reads a directory of skills, or that of one skill: then paths begin with its name.
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
    let mut reader = Reader {
        files: Vec::new(),
        problems: Vec::new(),
        bytes: 0,
    };
    let mut waiting = vec![(whole, prefix, 0)];
    while let Some((directory, path, depth)) = waiting.pop() {
        for (name, entry) in reader.entries(&directory, &path)? {
            let path = format!("{path}{name}");
            let kind = fs::symlink_metadata(&entry)
                .with_context(|| format!("reading {}", entry.display()))?;
            if kind.is_dir() && name == LEFT_OUT {
                continue;
            } else if kind.is_dir() && depth >= SKILL_LEVELS {
                let message = format!("directories are nested deeper than {SKILL_LEVELS}");
                reader.problem(&path, "path", message);
            } else if kind.is_dir() {
                waiting.push((entry, format!("{path}/"), depth + 1));
            } else if kind.is_file() {
                reader.file(&entry, path)?;
            } else {
                let what = if kind.is_symlink() {
                    "a link"
                } else {
                    "no plain file"
                };
                reader.problem(&path, "link", format!("this is {what}; it is not followed"));
            }
            if reader.is_full() {
                let message =
                    format!("more than {SKILL_FILES} files or {SKILL_IMPORT_BYTES} bytes");
                reader.problem("", "too_large", message);
                return Ok(reader.done());
            }
        }
    }
    Ok(reader.done())
}

struct Reader {
    files: Vec<SentFile>,
    problems: Vec<Problem>,
    bytes: usize,
}

impl Reader {
    fn problem(&mut self, path: &str, keyword: &str, message: impl Into<String>) {
        self.problems.push(Problem::of_file(path, keyword, message));
    }

    fn is_full(&self) -> bool {
        self.files.len() > SKILL_FILES || self.bytes > SKILL_IMPORT_BYTES
    }

    fn done(self) -> Directory {
        Directory {
            files: self.files,
            problems: self.problems,
        }
    }

    /// The entries of a directory whose names can be written down, by name.
    fn entries(&mut self, directory: &Path, path: &str) -> anyhow::Result<Vec<(String, PathBuf)>> {
        let doing = || format!("reading {}", directory.display());
        let mut entries = Vec::new();
        for entry in fs::read_dir(directory).with_context(doing)? {
            let entry = entry.with_context(doing)?;
            match entry.file_name().into_string() {
                Ok(name) => entries.push((name, entry.path())),
                Err(name) => {
                    let shown = format!("{path}{}", name.to_string_lossy());
                    self.problem(&shown, "utf8", "the name is not UTF-8");
                }
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn file(&mut self, file: &Path, path: String) -> anyhow::Result<()> {
        let doing = || format!("reading {}", file.display());
        let opened = File::open(file).with_context(doing)?;
        let mode = opened.metadata().with_context(doing)?.permissions().mode();
        let mut content = Vec::new();
        let bound = SKILL_FILE_BYTES as u64 + 1;
        opened
            .take(bound)
            .read_to_end(&mut content)
            .with_context(doing)?;
        if content.len() > SKILL_FILE_BYTES {
            let message = format!("the file is larger than {SKILL_FILE_BYTES} bytes");
            self.problem(&path, "too_large", message);
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
            executable: mode & 0o111 != 0,
        });
        Ok(())
    }
}
