//! A directory of inputs that are faults, each with a text that describes the fault and the command that repeats it.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use charter_testkit::fuzz_targets::FuzzTarget;

/// Returns the path where a worker writes each input before it runs it.
pub(crate) fn current(failures: &Path, target: &FuzzTarget) -> PathBuf {
    failures.join(format!(".{}.current", target.name))
}

/// Stores an input under a name derived from its content, and returns the path.
///
/// # Errors
/// If the directory cannot be written to.
pub(crate) fn keep(
    failures: &Path,
    target: &FuzzTarget,
    seed: u64,
    input: &[u8],
    fault: &str,
) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let file = failures.join(format!("{}-{:016x}", target.name, hasher.finish()));
    fs::write(&file, input)?;
    let told = format!(
        "{fault}\n\ntarget: {}\nseed: {seed}\nlength: {} bytes\nrepeat: make fuzz FUZZ='repeat {} {}'\n",
        target.name,
        input.len(),
        target.name,
        file.display()
    );
    fs::write(file.with_extension("txt"), told)?;
    Ok(file)
}
