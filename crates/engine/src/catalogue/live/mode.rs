//! How a change of the catalogue is carried out.

/// Whether a registration is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Put the package in force.
    Apply,
    /// Say what would happen and write nothing.
    DryRun,
    /// Put it in force under a version that follows from its content, so that each change of somebody who is
    /// still writing can be.
    Draft,
}
