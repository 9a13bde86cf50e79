//! What callers of the server share, and by which limits.

use charter_contract::bounds::{ANSWERS_BYTES, BODIES_BYTES, BODIES_MEMORY};
use charter_engine::Shares;
use prometheus_client::metrics::counter::Counter;

/// What is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Requests that are being answered.
    Requests,
    /// Open streams of events, and executors that wait for a call.
    Streams,
    /// Sessions of the Model Context Protocol.
    Sessions,
    /// Tool calls of the Model Context Protocol.
    Calls,
    /// Bodies that are being read, in bytes.
    Bodies,
    /// What was read of them, in bytes of memory.
    Documents,
    /// Answers on their way to clients, in bytes.
    Answers,
}

impl Use {
    /// In the plural, for messages and metrics.
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

    /// As many of it for all callers; `refused` counts the refusals.
    pub(crate) fn shared(self, total: usize, refused: Counter) -> Shares {
        Shares::new(self.as_str(), self.limit(), total, move || {
            refused.inc();
        })
    }
}

/// The memory that bodies and answers take.
pub(crate) struct Memory {
    pub(crate) bodies: Shares,
    pub(crate) documents: Shares,
    pub(crate) answers: Shares,
}

impl Memory {
    /// All of it; `refused` is the counter of the refusals of each.
    pub(crate) fn new(refused: impl Fn(Use) -> Counter) -> Self {
        let shared = |of: Use, total| of.shared(total, refused(of));
        Self {
            bodies: shared(Use::Bodies, BODIES_BYTES),
            documents: shared(Use::Documents, BODIES_MEMORY),
            // What waits to be sent was made already.
            answers: shared(Use::Answers, ANSWERS_BYTES).with_bounded_waiting(),
        }
    }
}
