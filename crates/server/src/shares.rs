//! The resources that callers of the server share, and their limits.

use charter_contract::bounds::{ANSWERS_BYTES, BODIES_BYTES, BODIES_MEMORY};
use charter_engine::Shares;
use prometheus_client::metrics::counter::Counter;

/// A shared resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Running requests.
    Requests,
    /// Open streams of events, and executors that wait for a call.
    Streams,
    /// Sessions of the Model Context Protocol.
    Sessions,
    /// Tool calls of the Model Context Protocol.
    Calls,
    /// Bodies that are being read, in bytes.
    Bodies,
    /// Documents that were read from bodies, in bytes of memory.
    Documents,
    /// Answers in transmission, in bytes.
    Answers,
}

impl Use {
    /// The plural, for messages and metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Streams => "streams",
            Self::Sessions => "sessions",
            Self::Calls => "calls",
            Self::Bodies => "bytes in bodies",
            Self::Documents => "bytes in documents",
            Self::Answers => "bytes in answers",
        }
    }

    /// The name of the limit.
    fn limit(self) -> &'static str {
        match self {
            Self::Requests | Self::Streams => "limits.concurrency",
            Self::Sessions => "MCP_SESSIONS",
            Self::Calls => "MCP_CALLS",
            Self::Bodies => "BODIES_BYTES",
            Self::Documents => "BODIES_MEMORY",
            Self::Answers => "ANSWERS_BYTES",
        }
    }

    /// Shares a total among all callers; `refused` counts the refusals.
    pub(crate) fn shared(self, total: usize, refused: Counter) -> Shares {
        Shares::new(self.as_str(), self.limit(), total, move || {
            refused.inc();
        })
    }
}

/// The memory of bodies and answers.
pub(crate) struct Memory {
    pub(crate) bodies: Shares,
    pub(crate) documents: Shares,
    pub(crate) answers: Shares,
}

impl Memory {
    /// The limits of this memory; `refused` is the counter of each one's refusals.
    pub(crate) fn new(refused: impl Fn(Use) -> Counter) -> Self {
        let shared = |of: Use, total| of.shared(total, refused(of));
        Self {
            bodies: shared(Use::Bodies, BODIES_BYTES),
            documents: shared(Use::Documents, BODIES_MEMORY),
            // An answer that waits to be sent already exists.
            answers: shared(Use::Answers, ANSWERS_BYTES).with_bounded_waiting(),
        }
    }
}
