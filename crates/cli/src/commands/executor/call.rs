//! One leased call: fetches its files, renews the lease, runs the tool in the sandbox, and reports the outcome. Ends
//! the call as soon as the lease is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use charter_contract::agentic::error::ErrorType;
use charter_contract::executor::{
    ExecutorCall, ExecutorGrants, ExecutorImplementation, ExecutorOutcome, ExecutorResult,
    MAX_LOG_BYTES, MAX_MESSAGE_BYTES, ScriptLanguage,
};
use charter_contract::ids::IdError;
use charter_contract::number::Count;
use charter_contract::package::PackageBundle;
use charter_contract::text::Text;
use charter_contract::validate::read_value;
use charter_effects::{
    DryRun, HttpTool, Language, Limits, PackageFiles, ScriptTool, Target, ToolCall,
    ToolImplementation, ToolOutcome, ToolRunner, UnlimitedOutput,
};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Work;
use crate::client::Client;
use crate::failure::ReportedFailure;

/// Package versions whose files are kept in memory.
const KEPT_PACKAGES: usize = 32;

/// Pause before an outcome is sent again to a server that did not answer.
const RESEND_INTERVAL: Duration = Duration::from_secs(1);

/// Files of package versions, by their digest.
#[derive(Debug, Default)]
pub(super) struct Packages(Mutex<BTreeMap<String, Arc<PackageFiles>>>);

/// Executes a call, and logs the reason if that fails.
pub(super) async fn execute_call(work: &Work, call: ExecutorCall) {
    let (tool, lease) = (call.tool_id.clone(), call.lease_id.clone());
    tracing::info!(tool.id = %tool, lease.id = %lease, "a call");
    match attempt(work, call).await {
        Ok(()) => tracing::info!(tool.id = %tool, lease.id = %lease, "reported"),
        Err(error) => {
            tracing::warn!(tool.id = %tool, lease.id = %lease, error = format!("{error:#}"), "the call was cancelled");
        }
    }
}

async fn attempt(work: &Work, call: ExecutorCall) -> anyhow::Result<()> {
    let end = Instant::now() + Duration::from_millis(call.timeout_ms.get());
    let mut held = ClaimedLease {
        client: &work.client,
        path: format!("/v1/executor/leases/{}", call.lease_id),
        term: Duration::from_millis(call.lease_ms.get()),
        until: Instant::now() + Duration::from_millis(call.lease_ms.get()),
    };
    // Start only after the renewal: until then the server may offer the call to another executor.
    let prepared = tool_call(work, &held, &call, end).await;
    held.renew().await?;
    let outcome = match prepared {
        Ok(prepared) => run(work, &mut held, prepared).await?,
        Err(error) => refused(
            ErrorType::SystemError,
            format!("preparing the call: {error:#}"),
        )?,
    };
    report(&mut held, outcome).await
}

/// A lease and the time until which it is surely held.
struct ClaimedLease<'c> {
    client: &'c Client,
    path: String,
    term: Duration,
    until: Instant,
}

impl ClaimedLease<'_> {
    /// Renews the lease for another term, counted from before the request was sent.
    async fn renew(&mut self) -> anyhow::Result<()> {
        let asked_at = Instant::now();
        let path = format!("{}/renew", self.path);
        timeout_at(self.until, self.client.post(&path, None))
            .await
            .context("renewing the lease")??;
        self.until = asked_at + self.term;
        Ok(())
    }

    /// Renews the lease until that fails for good: the server refuses, or the term has ended.
    async fn keep(&mut self) -> anyhow::Error {
        loop {
            tokio::time::sleep(self.term / 3).await;
            match self.renew().await {
                Ok(()) => {}
                Err(error) if is_refusal(&error) || Instant::now() >= self.until => return error,
                Err(error) => {
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "renewing a lease failed; retrying"
                    );
                }
            }
        }
    }
}

/// Whether the server answered with a refusal.
fn is_refusal(error: &anyhow::Error) -> bool {
    error.downcast_ref::<ReportedFailure>().is_some()
}

/// Runs the tool as long as the lease is held.
async fn run(
    work: &Work,
    held: &mut ClaimedLease<'_>,
    call: ToolCall,
) -> anyhow::Result<ExecutorOutcome> {
    let cancel = CancellationToken::new();
    let limit = call.limits.output_bytes;
    // Dropping the run kills its processes.
    let outcome = tokio::select! {
        outcome = work.sandbox.run(call, cancel.clone()) => outcome,
        lost = held.keep() => return Err(lost.context("the lease was lost; stopped the tool")),
    };
    Ok(written(outcome, limit)?)
}

/// Reports until the server answers or the lease has ended. An outcome that the server refuses because of its size or
/// form is reported as a failure.
async fn report(held: &mut ClaimedLease<'_>, outcome: ExecutorOutcome) -> anyhow::Result<()> {
    let path = format!("{}/outcome", held.path);
    let mut body = serde_json::to_value(outcome)?;
    let mut replaced = false;
    loop {
        let sent = timeout_at(held.until, held.client.post(&path, Some(&body)))
            .await
            .context("reporting: the lease has expired")?;
        let Err(error) = sent else { return Ok(()) };
        let code = error
            .downcast_ref::<ReportedFailure>()
            .map(|r| r.code.clone());
        match code.as_deref() {
            Some("too_large" | "invalid_document") if !replaced => {
                replaced = true;
                let message = format!("the server rejected the result: {error:#}");
                body = serde_json::to_value(unusable(message)?)?;
            }
            Some(_) => return Err(error.context("reporting the outcome")),
            None => {
                tracing::warn!(error = format!("{error:#}"), "reporting failed; retrying");
                tokio::time::sleep(RESEND_INTERVAL).await;
            }
        }
    }
}

/// The outcome as it is sent to the server.
fn written(outcome: ToolOutcome, limit: usize) -> Result<ExecutorOutcome, IdError> {
    Ok(match outcome {
        ToolOutcome::Succeeded {
            output,
            log,
            duration_ms,
        } => {
            let bytes = output.to_string().len();
            if bytes > limit {
                let message = format!("the output has {bytes} bytes; the limit is {limit}");
                return unusable(message);
            }
            ExecutorOutcome {
                result: ExecutorResult::Succeeded { output },
                log: ending(&log, MAX_LOG_BYTES),
                duration_ms: Count::new(duration_ms).unwrap_or_default(),
            }
        }
        ToolOutcome::Failed {
            kind,
            message,
            retryable,
            stale,
            answered,
            log,
            duration_ms,
        } => ExecutorOutcome {
            result: failed(
                kind,
                message,
                CallFailure {
                    retryable,
                    stale,
                    answered,
                },
            )?,
            log: ending(&log, MAX_LOG_BYTES),
            duration_ms: Count::new(duration_ms).unwrap_or_default(),
        },
    })
}

/// A failure of this process, not of the tool.
fn refused(kind: ErrorType, message: String) -> Result<ExecutorOutcome, IdError> {
    Ok(ExecutorOutcome {
        result: failed(kind, message, CallFailure::default())?,
        log: String::new(),
        duration_ms: Count::default(),
    })
}

/// A failure because of an unacceptable output, after the tool has executed.
fn unusable(message: String) -> Result<ExecutorOutcome, IdError> {
    let ended = CallFailure {
        answered: true,
        ..CallFailure::default()
    };
    Ok(ExecutorOutcome {
        result: failed(ErrorType::ResourceError, message, ended)?,
        log: String::new(),
        duration_ms: Count::default(),
    })
}

/// Properties of a failed call besides its message.
#[derive(Clone, Copy, Default)]
struct CallFailure {
    retryable: bool,
    stale: bool,
    answered: bool,
}

fn failed(
    error_type: ErrorType,
    mut message: String,
    ended: CallFailure,
) -> Result<ExecutorResult, IdError> {
    let CallFailure {
        retryable,
        stale,
        answered,
    } = ended;
    message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
    if message.is_empty() {
        message = "the tool failed without a message".to_owned();
    }
    Ok(ExecutorResult::Failed {
        error_type,
        message: Text::parse(&message)?,
        retryable,
        stale,
        answered,
    })
}

/// The last part of a text that is too long.
fn ending(text: &str, limit: usize) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(limit));
    text[from..].to_owned()
}

/// The call for this machine's sandbox, with this machine's grants.
async fn tool_call(
    work: &Work,
    held: &ClaimedLease<'_>,
    call: &ExecutorCall,
    end: Instant,
) -> anyhow::Result<ToolCall> {
    let implementation = implementation(work, held, call).await?;
    let (environment, egress) = match call.grants {
        ExecutorGrants::Asked => (
            work.grants.variables(&call.environment),
            work.grants.hosts(&call.egress)?,
        ),
        // The operator chose these tools by giving them handlers.
        ExecutorGrants::Own if work.handlers.script(&call.tool_id).is_some() => {
            (work.grants.all_variables(), work.grants.all_hosts()?)
        }
        ExecutorGrants::Own => bail!("this executor has no handler for `{}`", call.tool_id),
    };
    let limits = Limits::default();
    let output_bytes = usize::try_from(call.output_bytes.get()).unwrap_or(usize::MAX);
    Ok(ToolCall {
        tool_id: call.tool_id.clone(),
        implementation,
        target: Target::Here,
        parameters: call.parameters.clone(),
        dry_run: DryRun::from(call.dry_run),
        limits: Limits {
            timeout: end.saturating_duration_since(Instant::now()),
            output_bytes: limits.output_bytes.min(output_bytes),
            ..limits
        },
        readable: work.grants.files(&environment),
        egress,
        environment,
        idempotency_key: call.idempotency_key.to_string(),
        // This process serves no other callers.
        room: Arc::new(UnlimitedOutput),
    })
}

async fn implementation(
    work: &Work,
    held: &ClaimedLease<'_>,
    call: &ExecutorCall,
) -> anyhow::Result<ToolImplementation> {
    match &call.implementation {
        ExecutorImplementation::Handler {} => {
            let script = work.handlers.script(&call.tool_id);
            let none = || anyhow::anyhow!("there is no handler for `{}`", call.tool_id);
            Ok(ToolImplementation::Script(script.ok_or_else(none)?))
        }
        ExecutorImplementation::Script {
            language,
            entry,
            files,
        } => Ok(ToolImplementation::Script(ScriptTool {
            language: match language {
                ScriptLanguage::Python => Language::Python,
                ScriptLanguage::Bash => Language::Bash,
            },
            entry: entry.to_string(),
            files: work.packages.get(files.as_str(), held).await?,
        })),
        ExecutorImplementation::Http {
            method,
            url,
            headers,
            query,
            list_separators,
            body,
            body_format,
        } => Ok(ToolImplementation::Http(HttpTool {
            method: *method,
            url: url.to_string(),
            headers: headers.clone().into_iter().collect(),
            query: query.clone().into_iter().collect(),
            list_separators: list_separators.clone(),
            body: body.clone(),
            body_format: *body_format,
        })),
    }
}

impl Packages {
    /// Returns the files of a digest: from memory, or fetched and checked against it.
    async fn get(
        &self,
        digest: &str,
        held: &ClaimedLease<'_>,
    ) -> anyhow::Result<Arc<PackageFiles>> {
        if let Some(known) = self.lock().get(digest) {
            return Ok(Arc::clone(known));
        }
        let path = format!("{}/files", held.path);
        let answer = timeout_at(held.until, held.client.get(&path)).await;
        let answer = answer.context("fetching the call's files")??;
        let (bundle, _) = read_value::<PackageBundle>(&answer)
            .map_err(|_| anyhow::anyhow!("the call's files are not a package bundle"))?;
        let files = Arc::new(PackageFiles::new(bundle.files)?);
        if files.digest() != digest {
            bail!(
                "the call's files have the digest {}, not {digest}",
                files.digest()
            );
        }
        let mut kept = self.lock();
        if kept.len() >= KEPT_PACKAGES {
            kept.pop_first();
        }
        kept.insert(digest.to_owned(), Arc::clone(&files));
        Ok(files)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<PackageFiles>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
