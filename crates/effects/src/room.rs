//! The port by which a call reserves memory for its output before it reads the output. Must not know the size or the
//! owner of the memory.

use std::fmt::Debug;

use async_trait::async_trait;

/// The size of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputSize {
    /// Bytes of its text; absent if its value did not come as text.
    pub bytes: usize,
    /// Estimated bytes of memory of its value.
    pub memory: usize,
}

/// Memory for an output is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is currently no memory for its output: {0}")]
pub struct OutputBudgetExhausted(pub String);

/// Memory budget for the output of one call.
#[async_trait]
pub trait OutputBudget: Debug + Send + Sync {
    /// Waits until memory for the output is available, and reserves it until the output is written. An earlier
    /// reservation of the same call suffices; a second request does nothing.
    ///
    /// # Errors
    /// [`OutputBudgetExhausted`] when the wait takes too long.
    async fn set_aside(&self, size: OutputSize) -> Result<(), OutputBudgetExhausted>;
}

/// Budget without limit, for calls whose caller bounds the output.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnlimitedOutput;

#[async_trait]
impl OutputBudget for UnlimitedOutput {
    async fn set_aside(&self, _size: OutputSize) -> Result<(), OutputBudgetExhausted> {
        Ok(())
    }
}
