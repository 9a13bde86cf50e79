//! The port by which a call sets memory aside for its output, before the output is read. Must not know who keeps the
//! memory, or how much of it there is.

use std::fmt::Debug;

use async_trait::async_trait;

/// The size of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputSize {
    /// Bytes of its text; none where its value came without one.
    pub bytes: usize,
    /// Bytes of memory that its value takes, by estimate.
    pub memory: usize,
}

/// There is no memory for an output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is currently no memory for its output: {0}")]
pub struct OutputBudgetExhausted(pub String);

/// Memory for the output of one call.
#[async_trait]
pub trait OutputBudget: Debug + Send + Sync {
    /// Waits until there is memory for the output, which is set aside until the output was written. What was set aside
    /// for the call before is enough; asking again does nothing.
    ///
    /// # Errors
    /// [`NoRoom`] when the wait takes too long.
    async fn set_aside(&self, size: OutputSize) -> Result<(), OutputBudgetExhausted>;
}

/// Room for calls whose outputs are bounded by who makes them.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnlimitedOutput;

#[async_trait]
impl OutputBudget for UnlimitedOutput {
    async fn set_aside(&self, _size: OutputSize) -> Result<(), OutputBudgetExhausted> {
        Ok(())
    }
}
