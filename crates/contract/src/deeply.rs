//! Runs recursive work on input that nests deeply.

/// Stack for the deepest accepted input, in bytes. Some parsers use twenty frames per nesting level; unoptimised, 256
/// levels need more than the 2 MiB of a thread.
const STACK: usize = 16 << 20;

/// Runs `work` with at least 16 MiB of stack on any thread. The caller must have limited the recursion depth of
/// `work`.
pub fn deeply<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK, STACK, work)
}
