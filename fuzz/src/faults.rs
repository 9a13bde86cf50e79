//! Inputs that are faults, in a folder: each beside a text with the fault and the command that repeats it.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use charter_testkit::fuzz_targets::FuzzTarget;

/// Where a worker writes each input before it tries it.
pub(crate) fn current(failures: &Path, target: &FuzzTarget) -> PathBuf {
    failures.join(format!(".{}.current", target.name))
}

/// Keeps an input under a name that the same input has each time; returns its path.
///
/// # Errors
/// When the folder cannot be written to.
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
