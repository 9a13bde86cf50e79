//! The script protocol: the request on standard input, the result on standard
//! output, the failure report on the last line of standard error.
//!
//! Must not know how a script is run.

use charter_contract::agentic::error::ErrorType;
use charter_contract::json::{self, JsonFault, Profile};
use charter_contract::shorten;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::call::{DryRun, Limits, ToolCall};
use crate::kept::SpooledBytes;
use crate::outcome::Failure;
use crate::redact::{Cut, Redactor};
use crate::room::OutputBudget;

/// The largest request to a script: 16 MiB.
const MAX_INPUT_BYTES: usize = 16 << 20;
/// Bytes of an answer that is not JSON that are quoted.
const QUOTED_BYTES: usize = 200;
/// Bytes of a script's own message that are kept: 4 KiB.
const MESSAGE_BYTES: usize = 4 << 10;

/// Exit status and output of a process.
#[derive(Debug)]
pub(super) struct ProcessOutcome {
    pub(super) status: ExitStatus,
    pub(super) stdout: SpooledBytes,
    pub(super) stderr: Vec<u8>,
    /// Whether the beginning of `stderr` was dropped.
    pub(super) stderr_cut: Cut,
    /// The newest connection that the egress wall refused, with the reason.
    pub(super) last_refusal: Option<String>,
}

/// The request to a script.
#[derive(Serialize)]
struct Request<'c> {
    parameters: &'c Map<String, Value>,
    dry_run: bool,
    idempotency_key: &'c str,
}

/// Serialises the request to a script as JSON.
pub(super) fn request(call: &ToolCall) -> Result<Vec<u8>, Failure> {
    let request = Request {
        parameters: &call.parameters,
        dry_run: call.dry_run == DryRun::Yes,
        idempotency_key: &call.idempotency_key,
    };
    let bytes = serde_json::to_vec(&request)
        .map_err(|error| Failure::system(format!("writing the parameters: {error}")))?;
    if bytes.len() > MAX_INPUT_BYTES {
        let message = format!(
            "the parameters take {} bytes, more than {MAX_INPUT_BYTES}",
            bytes.len()
        );
        return Err(Failure::new(ErrorType::InputError, message));
    }
    Ok(bytes)
}

/// The last line of stderr of a script that failed.
#[derive(Debug, Deserialize)]
struct Report {
    error_type: ErrorType,
    message: String,
    #[serde(default)]
    retryable: bool,
}

/// Reads the output of a process that ended by itself.
pub(super) async fn read(
    remains: ProcessOutcome,
    limits: &Limits,
    redactor: &Redactor,
    room: &dyn OutputBudget,
) -> Result<(Value, String), Failure> {
    let log = log_or_failure(&remains, limits, redactor)?;
    let read = remains.stdout.into_value(room).await;
    match read {
        Ok(output) => Ok((output, log)),
        Err(unread) => {
            let refused = |fault: JsonFault, beginning: &[u8]| refused(beginning, &fault, redactor);
            Err(unread.into_failure(refused).with_log(log))
        }
    }
}

/// Returns the log of a successful process, or the failure of another.
fn log_or_failure(
    remains: &ProcessOutcome,
    limits: &Limits,
    redactor: &Redactor,
) -> Result<String, Failure> {
    if remains.status.success() {
        return Ok(redactor.apply_tail(&remains.stderr, remains.stderr_cut, limits.log_bytes));
    }
    let (before, last) = split_last_line(&remains.stderr);
    let reported = json::decode::<Report>(last, Profile::NOTICE).ok();
    let logged = if reported.is_some() {
        before
    } else {
        &remains.stderr
    };
    let log = redactor.apply_tail(logged, remains.stderr_cut, limits.log_bytes);
    let failure = match reported {
        Some(report) => Failure {
            kind: report.error_type,
            message: shorten::to_bytes(&redactor.apply(&report.message), MESSAGE_BYTES)
                .into_owned(),
            retryable: report.retryable,
            stale: false,
            answered: false,
            log: String::new(),
        },
        None => unreported(remains.status, last, limits, redactor),
    };
    Err(failure.with_log(log))
}

/// Describes the fault in the output of a successful script; `stdout` is its beginning.
fn refused(stdout: &[u8], fault: &JsonFault, redactor: &Redactor) -> String {
    match fault {
        JsonFault::TooMuch(much) => format!("the script's output {much}"),
        JsonFault::Form(_) if stdout.iter().all(u8::is_ascii_whitespace) => {
            "the script printed nothing; it must print one JSON value".to_owned()
        }
        JsonFault::Form(error) => {
            let quoted = redactor.apply_head(stdout, QUOTED_BYTES);
            let quoted = shorten::to_bytes(&quoted, QUOTED_BYTES);
            format!(
                "the script did not print exactly one JSON value ({error}); it begins {quoted:?}"
            )
        }
    }
}

/// Builds a failure without a report, from the limits first, then from the last line of stderr.
fn unreported(status: ExitStatus, last: &[u8], limits: &Limits, redactor: &Redactor) -> Failure {
    // A shell reports a killed command as 128 plus the signal.
    let signal = status.signal().or_else(|| {
        status
            .code()
            .filter(|code| *code > 128)
            .map(|code| code - 128)
    });
    let last = redactor.apply_head(last, QUOTED_BYTES);
    let last = shorten::to_bytes(&last, QUOTED_BYTES);
    match signal {
        Some(libc::SIGXCPU) => resource(format!(
            "the script exceeded its {} s of CPU time",
            limits.cpu_seconds
        )),
        Some(libc::SIGXFSZ) => resource(format!(
            "the script wrote a file over {} bytes",
            limits.file_bytes
        )),
        Some(libc::SIGKILL) => {
            resource("the kernel killed the script: out of memory or CPU time".to_owned())
        }
        _ if last.starts_with("MemoryError") => resource(format!(
            "the script ran out of its {} bytes of memory",
            limits.memory_bytes
        )),
        Some(signal) if status.signal().is_some() => Failure::new(
            ErrorType::ExecutionError,
            format!("the script was killed by signal {signal}; last line: {last:?}"),
        ),
        Some(_) | None => {
            let code = status.code().unwrap_or(-1);
            let message =
                format!("the script exited with {code} and no report; last line: {last:?}");
            Failure::new(ErrorType::ExecutionError, message)
        }
    }
}

fn resource(message: String) -> Failure {
    Failure::new(ErrorType::ResourceError, message)
}

/// Splits off the last line that is not blank.
fn split_last_line(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_end();
    match text.iter().rposition(|byte| *byte == b'\n') {
        Some(newline) => (&text[..newline], &text[newline + 1..]),
        None => (&[], text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(raw_status: i32, stderr: &str) -> Failure {
        let remains = ProcessOutcome {
            status: ExitStatus::from_raw(raw_status),
            stdout: SpooledBytes::new(None),
            stderr: stderr.as_bytes().to_vec(),
            stderr_cut: Cut::Whole,
            last_refusal: None,
        };
        log_or_failure(&remains, &Limits::default(), &Redactor::new(&[])).unwrap_err()
    }

    fn kind_and_log(raw_status: i32, stderr: &str) -> (ErrorType, String) {
        let failure = failed(raw_status, stderr);
        (failure.kind, failure.log)
    }

    #[test]
    fn the_last_line_is_the_report_and_earlier_lines_are_the_log() {
        let failure = failed(
            1 << 8,
            "one\ntwo\n{\"error_type\":\"permission_error\",\"message\":\"no\",\"retryable\":true}\n\n",
        );
        assert_eq!(
            (
                failure.kind,
                failure.message.as_str(),
                failure.retryable,
                failure.log.as_str()
            ),
            (ErrorType::PermissionError, "no", true, "one\ntwo")
        );
    }

    #[test]
    fn a_report_of_an_unknown_type_is_ignored() {
        let text = "{\"error_type\":\"oops\",\"message\":\"no\"}";
        assert_eq!(
            kind_and_log(1 << 8, text),
            (ErrorType::ExecutionError, text.to_owned())
        );
    }

    #[test]
    fn exceeded_limits_are_recognised_by_signal_exit_code_and_memory_error() {
        for (status, stderr) in [
            (libc::SIGXCPU, ""),
            (libc::SIGKILL, ""),
            (libc::SIGXFSZ, ""),
            ((128 + libc::SIGKILL) << 8, ""),
            (1 << 8, "Traceback …\nMemoryError"),
        ] {
            assert_eq!(
                kind_and_log(status, stderr),
                (ErrorType::ResourceError, stderr.to_owned())
            );
        }
    }
}
