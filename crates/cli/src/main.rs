//! The charter binary: configuration and wiring.
fn main() {}
