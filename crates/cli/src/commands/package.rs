//! `charter package …`

pub(super) mod validate;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_contract::bounds::{PACKAGE_FILES, PACKAGE_SENT_BYTES};
use charter_contract::charset::{self, Form};
use charter_contract::error_code::ErrorCode;
use charter_contract::package_file::{content_length, content_of, is_binary};
use charter_engine::{DryRun, Problem};
use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK, ReportedFailure};
use crate::output::{self, Format};
use crate::terminal;

/// Validate, compare, register and list packages.
#[derive(Debug, Subcommand)]
pub(crate) enum Package {
    Validate(validate::Validate),
    /// Compare a package with its version in force; exit 0 when they are equal, 1 when not.
    Diff {
        /// The package's directory.
        dir: PathBuf,
    },
    /// Put a package in force.
    Register {
        /// The package's directory.
        dir: PathBuf,
        /// Show what would happen, and write nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// List the packages in force.
    List,
    /// Show the history of a package.
    History {
        /// The package's name.
        name: String,
        /// The package's scope.
        #[arg(long, value_enum, default_value_t = Scope::Tenant)]
        scope: Scope,
    },
    /// Put an earlier version of a package in force again.
    Rollback {
        /// The package's name.
        name: String,
        /// The version.
        version: String,
        /// The package's scope.
        #[arg(long, value_enum, default_value_t = Scope::Tenant)]
        scope: Scope,
    },
    /// Take a package out of force.
    Unregister {
        /// The package's name.
        name: String,
        /// The package's scope.
        #[arg(long, value_enum, default_value_t = Scope::Tenant)]
        scope: Scope,
    },
}

/// The scope of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// The caller's tenant.
    Tenant,
    /// All tenants.
    Global,
}

impl Scope {
    /// The scope's name in the API.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Global => "global",
        }
    }
}

pub(crate) async fn run(command: &Package, config: &Config, format: Format) -> anyhow::Result<u8> {
    if let Package::Validate(command) = command {
        // Refused before a store is opened.
        command.package()?;
    }
    let client = Client::connect(config).await?;
    let done = execute(command, &client, format).await;
    client.close().await?;
    done
}

async fn execute(command: &Package, client: &Client, format: Format) -> anyhow::Result<u8> {
    match command {
        Package::Validate(command) => validate::check_package(command, client, format).await,
        Package::Diff { dir } => diff(dir, client, format).await,
        Package::Register { dir, dry_run } => {
            register(dir, DryRun::from(*dry_run), client, format).await
        }
        Package::List => {
            let packages = client.get("/v1/packages").await?;
            let columns = ["package", "version", "scope", "documents", "at"];
            output::print(format, &packages, |packages| {
                output::rows(packages, &columns)
            })?;
            Ok(EXIT_OK)
        }
        Package::History { name, scope } => {
            let scope = query(&[("scope", Some(scope.as_str()))]);
            let path = format!("/v1/packages/{}/history{scope}", encoded(name));
            let history = client.get(&path).await?;
            let columns = ["version", "change", "documents", "revision", "actor", "at"];
            output::print(format, &history, |history| output::rows(history, &columns))?;
            Ok(EXIT_OK)
        }
        Package::Rollback {
            name,
            version,
            scope,
        } => {
            let query = query(&[("version", Some(version)), ("scope", Some(scope.as_str()))]);
            let path = format!("/v1/packages/{}/rollback{query}", encoded(name));
            let done = client.post(&path, None).await?;
            output::print(format, &done, registered_table)?;
            Ok(EXIT_OK)
        }
        Package::Unregister { name, scope } => {
            let scope = query(&[("scope", Some(scope.as_str()))]);
            client
                .delete(&format!("/v1/packages/{}{scope}", encoded(name)))
                .await?;
            output::print(format, &json!({"unregistered": name}), output::fields)?;
            Ok(EXIT_OK)
        }
    }
}

/// How many of a package's routing tests pass; empty without tests.
pub(super) fn test_results_text(tests: &Value) -> String {
    let tests = tests.as_array().map(Vec::as_slice).unwrap_or_default();
    let passed = tests.iter().filter(|test| test["passed"] == true).count();
    match tests.len() {
        0 => String::new(),
        all => format!(", {passed} of {all} routing tests pass"),
    }
}

async fn diff(dir: &Path, client: &Client, format: Format) -> anyhow::Result<u8> {
    let diff = client
        .post("/v1/packages/diff", Some(&bundle(dir)?))
        .await?;
    output::print(format, &diff, diff_table)?;
    let same = diff["changes"].as_array().is_some_and(Vec::is_empty);
    Ok(if same { EXIT_OK } else { EXIT_NEGATIVE })
}

async fn register(
    dir: &Path,
    dry_run: DryRun,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let bundle = bundle(dir)?;
    let path = match dry_run {
        DryRun::Yes => "/v1/packages?dry_run=true",
        DryRun::No => "/v1/packages",
    };
    let bar = terminal::spinner("checking, embedding and registering");
    let registered = client.post(path, Some(&bundle)).await;
    bar.finish_and_clear();
    output::print(format, &registered?, registered_table)?;
    Ok(EXIT_OK)
}

pub(super) fn bundle(dir: &Path) -> anyhow::Result<Value> {
    Ok(json!({"files": read_files(dir)?}))
}

/// Every file of a directory by its relative path: its text, or the bytes of a PDF in base64. Skips hidden files and
/// caches; does not follow links.
pub(super) fn read_files(dir: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut bytes = 0;
    collect(dir, dir, &mut files, &mut bytes)?;
    if files.is_empty() {
        bail!("{} has no files", dir.display());
    }
    Ok(files)
}

fn collect(
    root: &Path,
    dir: &Path,
    files: &mut BTreeMap<String, String>,
    bytes: &mut u64,
) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("reading {}", dir.display()))?;
        let name = entry.file_name();
        let hidden = name
            .to_str()
            .is_some_and(|name| name.starts_with('.') || name == "__pycache__");
        let kind = entry
            .file_type()
            .with_context(|| format!("reading {}", entry.path().display()))?;
        if hidden || kind.is_symlink() {
            continue;
        }
        let path = entry.path();
        if kind.is_dir() {
            collect(root, &path, files, bytes)?;
            continue;
        }
        let relative = path.strip_prefix(root).context("naming a file")?;
        // Paths in packages have `/` on every system.
        let names: Option<Vec<&str>> = relative.iter().map(OsStr::to_str).collect();
        let relative = names
            .with_context(|| format!("the name {} is not UTF-8", path.display()))?
            .join("/");
        let length = entry
            .metadata()
            .with_context(|| format!("reading {}", path.display()))?
            .len();
        *bytes += if is_binary(&relative) {
            content_length(length)
        } else {
            length
        };
        if *bytes > PACKAGE_SENT_BYTES as u64 || files.len() >= PACKAGE_FILES {
            let message = format!(
                "{} is larger than {PACKAGE_SENT_BYTES} bytes or {PACKAGE_FILES} files \
                 (PACKAGE_SENT_BYTES, PACKAGE_FILES)",
                root.display()
            );
            return Err(ReportedFailure::new(ErrorCode::TooLarge, message).into());
        }
        let content =
            std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let content = if is_binary(&relative) {
            content_of(&content)
        } else {
            text_of(&path, content)?
        };
        files.insert(relative, content);
    }
    Ok(())
}

/// The text of a file. UTF-8 stays unchanged, including its byte order mark: scripts and data are their author's.
/// Another declared encoding is converted to UTF-8.
fn text_of(path: &Path, content: Vec<u8>) -> anyhow::Result<String> {
    let decoded = charset::document(&content, None).map(|text| match text {
        Cow::Owned(text) => Some(text),
        Cow::Borrowed(_) => None,
    });
    let malformed = match decoded {
        Ok(Some(text)) => return Ok(text),
        Ok(None) => return String::from_utf8(content).context("reading a file"),
        Err(malformed) => malformed,
    };
    let ending = path.extension().and_then(|ending| ending.to_str());
    let form = match ending {
        Some("html" | "htm" | "xhtml") => Form::Html,
        Some(_) | None => Form::Text,
    };
    let page = charset::page(&content, form, None);
    if page.notices.is_empty() && !page.text.contains('\0') {
        return Ok(page.text.into_owned());
    }
    let message = format!("{}:{}: {malformed}", path.display(), malformed.line);
    Err(ReportedFailure::new(ErrorCode::InvalidUtf8, message).into())
}

fn diff_table(diff: &Value) -> String {
    let from = diff["from"].as_str().unwrap_or("nothing");
    let head = format!(
        "{}: {from} → {}",
        diff["package"].as_str().unwrap_or_default(),
        diff["to"].as_str().unwrap_or_default()
    );
    let changes = diff["changes"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if changes.is_empty() {
        return format!("{head}\nno change");
    }
    let lines = changes.iter().map(|change| {
        let sign = match change["difference"].as_str() {
            Some("added") => '+',
            Some("removed") => '-',
            _ => '~',
        };
        let text = |field: &str| change[field].as_str().unwrap_or_default().to_owned();
        let fields: Vec<&str> = change["fields"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        format!(
            "{sign} {} {} {}",
            text("kind"),
            text("id"),
            fields.join(" ")
        )
    });
    format!("{head}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn registered_table(registered: &Value) -> String {
    let problems: Vec<Problem> =
        serde_json::from_value(registered["problems"].clone()).unwrap_or_default();
    let state = if registered["unchanged"] == json!(true) {
        "nothing written"
    } else {
        "in force"
    };
    format!(
        "{}{}{}\n{} {}: {state}, {} text(s) embedded",
        output::problems(&problems),
        lens_lines(&registered["lenses"]),
        diff_table(&registered["diff"]),
        registered["package"].as_str().unwrap_or_default(),
        registered["version"].as_str().unwrap_or_default(),
        registered["embedded"]
    )
}

/// A line for each lens with the outcome for its source.
fn lens_lines(lenses: &Value) -> String {
    let lines = lenses.as_array().into_iter().flatten().map(|lens| {
        let id = lens["lens_id"].as_str().unwrap_or_default();
        let line = match lens["outcome"].as_str().unwrap_or_default() {
            "indexed" => format!(
                "lens {id}: indexed, {} passage(s), {} text(s) embedded\n",
                lens["chunks"], lens["embedded"]
            ),
            "unchanged" => format!("lens {id}: its source did not change\n"),
            _ => format!("lens {id}: not fetched in a dry run\n"),
        };
        let notices = lens["notices"].as_array().into_iter().flatten();
        let notices = notices.filter_map(Value::as_str);
        let notices = notices.map(|notice| format!("lens {id}: {notice}\n"));
        line + &notices.collect::<String>()
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_package_is_utf_8_or_becomes_it() {
        let read = |path: &str, bytes: &[u8]| {
            let text = text_of(Path::new(path), bytes.to_vec());
            text.map_err(|error| error.to_string())
        };
        for (path, bytes, text) in [
            ("a.yaml", &b"a: \xc3\xa9"[..], "a: é"),
            // A script is its author's, byte for byte.
            ("a.py", b"\xef\xbb\xbfprint()\r\n", "\u{feff}print()\r\n"),
            ("a.yaml", b"\xff\xfea\0:\0 \0\xe9\0", "a: é"),
            ("a.yaml", b"a\0:\0 \0b\0", "a: b"),
            (
                "a.html",
                b"<meta charset=latin1>\xe9",
                "<meta charset=latin1>é",
            ),
            (
                "a.xml",
                b"<?xml version='1.0' encoding='koi8-r'?>\xf0",
                "<?xml version='1.0' encoding='koi8-r'?>П",
            ),
            (
                "a.md",
                b"---\ncharset: latin1\n---\n\xe9",
                "---\ncharset: latin1\n---\né",
            ),
        ] {
            assert_eq!(read(path, bytes), Ok(text.to_owned()), "{path}");
        }
        for (path, bytes, said) in [
            (
                "a.yaml",
                &b"a: 1\nb: \xe9"[..],
                "a.yaml:2: byte 8 is not UTF-8",
            ),
            ("a.html", b"\n\n<p>\xe9", "a.html:3: byte 5 is not UTF-8"),
            (
                "a.png",
                b"\x89PNG\r\n\x1a\n\0\0",
                "a.png:1: byte 0 is not UTF-8",
            ),
            (
                "a.yaml",
                b"\xff\xfea\0\0\xdc",
                "a.yaml:1: byte 4 is not UTF-16LE",
            ),
        ] {
            let refused = read(path, bytes).unwrap_err();
            assert!(refused.contains(said), "{path}: {refused}");
        }
    }
}
