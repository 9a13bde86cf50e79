//! `charter evidence verify`: needs no server, data directory or configuration.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_contract::charset;
use charter_contract::json::decode_stored;
use charter_domain::evidence_log::bundle::MAX_LINE;
use charter_domain::evidence_log::note::MAX_NOTE;
use charter_domain::evidence_log::{Coverage, ExportFault, Header, Verdict, Verifier, VerifierKey};
use clap::Args;
use serde_json::json;

use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::messages;
use crate::output::{self, Format};

/// Verify an export, without a server.
///
/// Checks every record against its leaf, every leaf against the signed head, and the signature. Exit 0 when all checks
/// pass, 1 when one fails, 2 when a file could not be read.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The export.
    file: PathBuf,
    /// The public key that must have signed: the key itself or a file that holds it. Without it, the export's own key
    /// is trusted, which proves that nothing changed after signing but not by whom it was signed.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// An older checkpoint, or an older export, that must be a prefix of this log.
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// Accept a selection: an export with filters, or the proof of one record. Omissions from it cannot be detected, so
    /// without this the file must hold the whole log.
    #[arg(long)]
    selection: bool,
}

/// The key and the earlier checkpoint that the file must agree with, and whether it must hold the whole log.
#[derive(Debug)]
pub(super) struct TrustedInputs {
    key: Option<VerifierKey>,
    since: Option<String>,
    accepted: Coverage,
}

impl TrustedInputs {
    /// For a file that was just written: it holds the requested records and states their number.
    pub(super) fn nothing() -> Self {
        Self {
            key: None,
            since: None,
            accepted: Coverage::Selection,
        }
    }
}

pub(crate) fn run(command: &Verify, format: Format) -> anyhow::Result<u8> {
    let known = TrustedInputs {
        key: command.key.as_deref().map(key).transpose()?,
        since: command.since.as_deref().map(checkpoint).transpose()?,
        accepted: match command.selection {
            true => Coverage::Selection,
            false => Coverage::Complete,
        },
    };
    let checked = check(&command.file, &known)?;
    if known.key.is_none() {
        messages::note(
            "note: the key is the file's own; name the one that you trust with --key to know who signed",
        );
    }
    if let ExportCheck::Read(verdict) = &checked
        && (known.accepted, verdict.coverage) == (Coverage::Complete, Coverage::Selection)
    {
        messages::note("note: the file is a selection of records; --selection accepts one");
    }
    show(&checked, format)
}

/// The outcome of a check of an export: an unsound header ends the check.
pub(super) enum ExportCheck {
    Unsound(ExportFault),
    Read(Verdict),
}

/// Checks an export.
pub(super) fn check(file: &Path, known: &TrustedInputs) -> anyhow::Result<ExportCheck> {
    let mut lines = Lines::open(file)?;
    let header = lines.next()?.unwrap_or_default();
    let (key, since) = (known.key.as_ref(), known.since.as_deref());
    let opened = Verifier::open(&header, key, since, known.accepted);
    let mut verifier = match opened {
        Ok(verifier) => verifier,
        Err(fault) => return Ok(ExportCheck::Unsound(fault)),
    };
    while let Some(line) = lines.next()? {
        verifier.line(lines.number, &line);
    }
    Ok(ExportCheck::Read(verifier.finish()))
}

/// Reports the outcome of a check, and returns the exit code.
pub(super) fn show(checked: &ExportCheck, format: Format) -> anyhow::Result<u8> {
    let (value, faults) = match checked {
        ExportCheck::Unsound(fault) => {
            let faults = std::slice::from_ref(fault);
            (json!({"good": false, "faults": faults}), faults)
        }
        ExportCheck::Read(verdict) => {
            let mut value = serde_json::to_value(verdict).context("writing the verdict")?;
            value["good"] = json!(verdict.faults.is_empty());
            (value, verdict.faults.as_slice())
        }
    };
    output::print(format, &value, |_| text(checked, faults))?;
    Ok(if faults.is_empty() {
        EXIT_OK
    } else {
        EXIT_NEGATIVE
    })
}

fn text(checked: &ExportCheck, faults: &[ExportFault]) -> String {
    let mut text: Vec<String> = faults.iter().map(ToString::to_string).collect();
    match checked {
        ExportCheck::Unsound(_) => {}
        ExportCheck::Read(verdict) => {
            if verdict.more_faults > 0 {
                text.push(format!("and {} more", verdict.more_faults));
            }
            let good = if faults.is_empty() { "good" } else { "BAD" };
            let of = match verdict.coverage {
                Coverage::Complete => "the whole log",
                Coverage::Selection => "a selection",
            };
            text.push(format!(
                "{good}: {of} of {}, {} of {} leaves, {} records, {} payloads checked, {} removed, {} withheld",
                verdict.origin,
                verdict.leaves,
                verdict.size,
                verdict.records,
                verdict.payloads,
                verdict.removed,
                verdict.withheld
            ));
            text.push(format!("signed by {}", verdict.key));
        }
    }
    text.join("\n")
}

/// Parses a key, or reads the key in a file.
fn key(given: &str) -> anyhow::Result<VerifierKey> {
    if let Ok(key) = given.parse() {
        return Ok(key);
    }
    let path = Path::new(given);
    if !path.is_file() {
        let key: Result<VerifierKey, _> = given.parse();
        key.with_context(|| format!("--key {given}: neither a verifier key nor a file"))?;
    }
    let text = read_start(path, MAX_NOTE)?;
    let key = text.trim_end().parse();
    key.with_context(|| format!("reading the key in {given}"))
}

/// Reads the checkpoint in a file: the note itself, or the one in an export's header.
fn checkpoint(path: &Path) -> anyhow::Result<String> {
    let first = Lines::open(path)?.next()?.unwrap_or_default();
    if let Ok(header) = decode_stored::<Header>(&first) {
        return Ok(header.checkpoint);
    }
    read_start(path, MAX_NOTE)
}

fn read_start(path: &Path, limit: usize) -> anyhow::Result<String> {
    let reading = || format!("reading {}", path.display());
    let file = File::open(path).with_context(reading)?;
    let mut bytes = Vec::new();
    file.take(limit as u64)
        .read_to_end(&mut bytes)
        .with_context(reading)?;
    let text = charset::document(&bytes, None).with_context(reading)?;
    Ok(text.into_owned())
}

/// The lines of a file, each of limited length.
struct Lines {
    reader: BufReader<File>,
    name: String,
    number: u64,
}

impl Lines {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("opening {name}"))?;
        Ok(Self {
            reader: BufReader::new(file),
            name,
            number: 0,
        })
    }

    /// Returns the next line with its line end, if any. Bytes that are not UTF-8 become text that matches no leaf.
    fn next(&mut self) -> anyhow::Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = (&mut self.reader)
            .take(MAX_LINE as u64 + 1)
            .read_until(b'\n', &mut bytes)
            .with_context(|| format!("reading {}", self.name))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if bytes.last() != Some(&b'\n') && bytes.len() > MAX_LINE {
            bail!(
                "{}: line {} is longer than {MAX_LINE} bytes",
                self.name,
                self.number
            );
        }
        let text = String::from_utf8_lossy(&bytes);
        let text: &str = match self.number {
            1 => charset::without_mark(&text),
            _ => &text,
        };
        Ok(Some(text.to_owned()))
    }
}
