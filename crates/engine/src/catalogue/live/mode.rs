//! How a change of the catalogue is carried out.

/// Whether a registration is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Put the package in force.
    Apply,
    /// Report the changes and write nothing.
    DryRun,
    /// Put it in force under a version derived from its content, so that an author can register every change
    /// of a draft.
    Draft,
}
