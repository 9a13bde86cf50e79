//! Pure decisions: overlay, resolution, graphs and the run machine. No I/O, no clock, no async.
