//! Extracts the text of a source in a separate process: if a hostile page or PDF breaks its reader (a panic, an
//! overflow, an endless loop, all memory), only that process ends.
//!
//! The process is this project's own program, started with the arguments of [`crate::SandboxOptions::extractor`]. It
//! reads the file `source` beside it, receives the media type on standard input, and writes an [`Extracted`] as JSON.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::json::{self, Profile};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Sandbox;
use super::interpreter;
use super::launch::Launch;
use super::protocol::ProcessOutcome;
use super::supervise::Ending;
use crate::call::Limits;
use crate::extract::{Extracted, MAX_TEXT_BYTES, MediaType};
use crate::outcome::Failure;
use crate::redact::Redactor;
use crate::sources::{Fetched, RawSource, SourceError, SourceFault, SourceRequest, Sources};

/// Name of the file with the bytes in the process's folder.
const SOURCE: &str = "source";
/// Timeout for one source.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Memory limit for one source, in bytes of address space.
const MEMORY: u64 = 2 << 30;
/// Output limit: the longest text with every character escaped in JSON, and its marks.
const OUTPUT: usize = 4 * MAX_TEXT_BYTES;

#[async_trait]
impl Sources for Sandbox {
    async fn fetch(
        &self,
        request: &SourceRequest,
        cancel: &CancellationToken,
    ) -> Result<Fetched, SourceError> {
        self.http.fetch_source(request, cancel).await
    }

    async fn extract(
        &self,
        source: RawSource,
        cancel: &CancellationToken,
    ) -> Result<Extracted, SourceError> {
        let media_type = source.media.decide(&source.bytes)?;
        let input = json!({ "media_type": media_type, "charset": source.media.charset() });
        let limits = Limits {
            timeout: TIMEOUT,
            cpu_seconds: TIMEOUT.as_secs(),
            memory_bytes: MEMORY,
            output_bytes: OUTPUT,
            ..Limits::default()
        };
        let (ending, remains) = self
            .run_extractor(source.bytes, &input, &limits, cancel)
            .await
            .map_err(|failure| SourceError::new(SourceFault::System, failure.message))?;
        outcome(ending, remains, media_type).await
    }
}

impl Sandbox {
    async fn run_extractor(
        &self,
        bytes: Vec<u8>,
        input: &Value,
        limits: &Limits,
        cancel: &CancellationToken,
    ) -> Result<(Ending, ProcessOutcome), Failure> {
        let given = self.options.extractor.as_ref();
        let program = interpreter::filter(given.map(|(path, _)| path.as_path()))
            .map_err(|error| Failure::system(error.to_string()))?;
        let folder = self.private_folder()?;
        let file = folder.path().join(SOURCE);
        let written = tokio::task::spawn_blocking(move || std::fs::write(file, bytes)).await;
        written
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(|error| Failure::system(format!("writing the source: {error}")))?;
        let arguments = given.into_iter().flat_map(|(_, arguments)| arguments);
        let launch = Launch {
            executable: &program.executable,
            arguments: arguments
                .map(OsString::from)
                .chain([OsString::from(SOURCE)])
                .collect(),
            variables: Vec::new(),
            directory: folder.path(),
            folder: folder.path(),
            programs: &program.folders,
            search_path: &[],
            readable: vec![folder.path() as &Path],
            writable: vec![folder.path()],
            egress: &[],
            daemon: None,
            limits,
        };
        let redactor = Redactor::new(&[]);
        let input = input.to_string().into_bytes();
        self.start_and_supervise(&launch, &input, &redactor, cancel)
            .await
    }
}

/// Returns the text from a reader, or the reason why there is none.
async fn outcome(
    ending: Ending,
    remains: ProcessOutcome,
    media_type: MediaType,
) -> Result<Extracted, SourceError> {
    match ending {
        Ending::Exited => {
            let reading = tokio::task::spawn_blocking(move || concluded(remains, media_type));
            reading.await.unwrap_or_else(|error| {
                let message = format!("reading the text was interrupted: {error}");
                Err(SourceError::new(SourceFault::System, message))
            })
        }
        Ending::TimedOut => Err(unreadable(&late())),
        Ending::OutputTooLarge => Err(unreadable("it contains too much text")),
        Ending::TooManyProcesses => Err(unreadable("its reader started processes")),
        Ending::Cancelled => Err(SourceError::new(
            SourceFault::Unreachable,
            "reading the source was cancelled",
        )),
    }
}

fn concluded(remains: ProcessOutcome, media_type: MediaType) -> Result<Extracted, SourceError> {
    if remains.status.success() {
        let no_text = |error: &dyn std::fmt::Display| {
            let message = format!("the source reader returned no text: {error}");
            SourceError::new(SourceFault::System, message)
        };
        let text = remains.stdout.into_bytes();
        let text = text.map_err(|error| no_text(&error))?;
        let profile = Profile::MESSAGE.of_bytes(OUTPUT);
        return json::decode(&text, profile).map_err(|error| no_text(&error));
    }
    let last = remains.stderr.trim_ascii_end();
    let last = last.rsplit(|byte| *byte == b'\n').next().unwrap_or(last);
    let report: Option<Value> = json::decode(last, Profile::NOTICE).ok();
    if let Some(message) = report
        .as_ref()
        .and_then(|report| report["message"].as_str())
    {
        return Err(SourceError::new(SourceFault::Unreadable, message));
    }
    let what = match remains.status.signal() {
        Some(libc::SIGXCPU) => late(),
        Some(signal) => format!(
            "its reader was ended by signal {signal}: it is malformed, or needs more than {MEMORY} bytes of memory"
        ),
        None => format!(
            "its reader ended early: it is malformed {}",
            match media_type {
                MediaType::Pdf => "PDF",
                MediaType::Html => "HTML",
                MediaType::Markdown | MediaType::Text => "text",
            }
        ),
    };
    Err(unreadable(&what))
}

fn late() -> String {
    format!(
        "extracting its text timed out after {} s",
        TIMEOUT.as_secs()
    )
}

fn unreadable(what: &str) -> SourceError {
    let message = format!("the source cannot be read: {what}");
    SourceError::new(SourceFault::Unreadable, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SandboxOptions;

    /// Returns the error of a reader that never ends, within limits.
    async fn endless(limits: Limits) -> SourceError {
        let directory = tempfile::tempdir().unwrap();
        let mut options = SandboxOptions::new(directory.path().join("sandbox"));
        let never_ending = ["-c", "while :; do :; done"].map(str::to_owned);
        options.extractor = Some(("/bin/sh".into(), never_ending.to_vec()));
        let sandbox = Sandbox::new(options).await.unwrap();
        let cancel = CancellationToken::new();
        let options = json!({});
        let run = sandbox.run_extractor(Vec::new(), &options, &limits, &cancel);
        let (ending, remains) = run.await.unwrap();
        outcome(ending, remains, MediaType::Pdf).await.unwrap_err()
    }

    #[tokio::test]
    async fn b000_16_a_reader_that_hangs_is_killed_and_its_source_refused() {
        let short = Limits {
            timeout: Duration::from_millis(200),
            ..Limits::default()
        };
        let busy = Limits {
            timeout: TIMEOUT,
            cpu_seconds: 1,
            ..Limits::default()
        };
        let message = "the source cannot be read: extracting its text timed out after 60 s";
        for limits in [short, busy] {
            let refused = endless(limits).await;
            assert_eq!(refused, SourceError::new(SourceFault::Unreadable, message));
        }
    }
}
