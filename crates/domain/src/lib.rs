//! Pure decisions: overlay, resolution, graphs and the run machine. No I/O and no async; no decision
//! reads the [`clock`].

pub mod clock;
