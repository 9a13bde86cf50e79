//! Work that nests as deep as its input does.

/// What the deepest accepted input is walked on. A level of brackets takes some parsers twenty frames; with none of them
/// optimised, 256 levels need more than the 2 MiB that a thread has.
const STACK: usize = 16 << 20;

/// Does `work` with 16 MiB of stack left, whatever the thread has. How deep `work` goes has to be bounded before.
pub fn deeply<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK, STACK, work)
}
