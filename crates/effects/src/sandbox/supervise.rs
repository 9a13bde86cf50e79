//! Supervises one child from its start to its end: writes its input, reads its output within bounds, and kills its
//! process group when it must stop.
//!
//! Must not know protocols or confinement.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, Interest};
use tokio::process::ChildStdin;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::child;
use super::group::{Group, pid_of};
use super::protocol::ProcessOutcome;
use super::watch::ProcessWatch;
use crate::call::Limits;
use crate::kept::SpooledBytes;
use crate::redact::Cut;

/// How long pipes may stay open after their process group was killed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes that are read from a pipe at a time.
const CHUNK_BYTES: usize = 16 << 10;

/// Why a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Exited,
    TimedOut,
    Cancelled,
    OutputTooLarge,
    TooManyProcesses,
}

/// Input and limits of a process.
pub(super) struct Allowance<'a> {
    /// Written to standard input.
    pub(super) input: &'a [u8],
    pub(super) limits: &'a Limits,
    /// Directory for large output.
    pub(super) directory: &'a Path,
    /// Bytes of the end of standard error to keep.
    pub(super) log_bytes: usize,
    pub(super) watch: &'a ProcessWatch,
    pub(super) cancel: &'a CancellationToken,
}

/// Runs `group`, whose leader has piped streams, to its end.
///
/// No member of the group survives, for every ending, and also if this future is dropped.
pub(super) async fn supervise(
    mut group: Group,
    allowance: &Allowance<'_>,
) -> io::Result<(Ending, ProcessOutcome)> {
    let leader = &mut group.leader;
    let pid = pid_of(leader)?;
    let (Some(stdin), Some(stdout), Some(stderr)) = (
        leader.stdin.take(),
        leader.stdout.take(),
        leader.stderr.take(),
    ) else {
        return Err(io::Error::other("the child's streams are not piped"));
    };
    let overflow = CancellationToken::new();
    let mut output = SpooledBytes::new(Some(allowance.directory.to_owned()));
    let mut log = Tail::new(allowance.log_bytes);
    let ending = {
        let limit = allowance.limits.output_bytes;
        let streams = async {
            tokio::try_join!(
                feed(stdin, allowance.input),
                read_bounded(stdout, &mut output, limit, &overflow),
                log.read(stderr),
            )
        };
        tokio::pin!(streams);
        let ending = ending(pid, allowance, &overflow);
        tokio::pin!(ending);
        let mut drained = None;
        let ending = loop {
            tokio::select! {
                biased;
                ending = &mut ending => break ending?,
                done = &mut streams, if drained.is_none() => drained = Some(done),
            }
        };
        // The leader is dead or dying but not yet reaped, so its group's number cannot be reused yet. Remaining
        // children of a script that ended are killed too.
        group.guard.kill();
        if drained.is_none() {
            drained = timeout(DRAIN_TIMEOUT, &mut streams).await.ok();
        }
        if drained.transpose()?.is_none() {
            tracing::warn!("a killed script's streams stayed open; discarding the rest");
        }
        ending
    };
    let status = group.leader.wait().await?;
    let (stderr, stderr_cut) = log.into_parts();
    let remains = ProcessOutcome {
        status,
        stdout: output,
        stderr,
        stderr_cut,
        last_refusal: None,
    };
    // The last read, after the exit, may exceed the limit.
    let ending = match ending {
        Ending::Exited if overflow.is_cancelled() => Ending::OutputTooLarge,
        other => other,
    };
    Ok((ending, remains))
}

/// Waits for the first reason to stop.
async fn ending(
    pid: Pid,
    allowance: &Allowance<'_>,
    overflow: &CancellationToken,
) -> io::Result<Ending> {
    let exited = child::exit_of(pid)?;
    let watched = allowance.watch.add(pid, allowance.limits.processes);
    tokio::select! {
        biased;
        () = allowance.cancel.cancelled() => Ok(Ending::Cancelled),
        () = overflow.cancelled() => Ok(Ending::OutputTooLarge),
        () = watched.exceeded.cancelled() => Ok(Ending::TooManyProcesses),
        readable = exited.ready(Interest::READABLE) => readable.map(|_| Ending::Exited),
        () = tokio::time::sleep(allowance.limits.timeout) => Ok(Ending::TimedOut),
    }
}

async fn feed(mut stdin: ChildStdin, input: &[u8]) -> io::Result<()> {
    match stdin.write_all(input).await {
        // A script need not read its input.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

async fn read_bounded(
    mut pipe: impl AsyncRead + Unpin,
    output: &mut SpooledBytes,
    limit: usize,
    overflow: &CancellationToken,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = pipe.read(&mut chunk).await?;
        if count == 0 {
            return Ok(());
        }
        if output.len() + count > limit {
            overflow.cancel();
            return Ok(());
        }
        output.push(&chunk[..count])?;
    }
}

/// The last bytes of a stream of any length.
struct Tail {
    kept: Vec<u8>,
    limit: usize,
    cut: Cut,
}

impl Tail {
    fn new(limit: usize) -> Self {
        Self {
            kept: Vec::new(),
            limit,
            cut: Cut::Whole,
        }
    }

    async fn read(&mut self, mut pipe: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let count = pipe.read(&mut chunk).await?;
            if count == 0 {
                return Ok(());
            }
            self.kept.extend_from_slice(&chunk[..count]);
            // Cut at twice the limit, so that bytes do not move on each read.
            if self.kept.len() > 2 * self.limit.max(CHUNK_BYTES) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        let excess = self.kept.len().saturating_sub(self.limit);
        if excess > 0 {
            self.kept.drain(..excess);
            self.cut = Cut::Beginning;
        }
    }

    fn into_parts(mut self) -> (Vec<u8>, Cut) {
        self.cut();
        (self.kept, self.cut)
    }
}
