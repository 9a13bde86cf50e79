//! Test support: clock, fault injection, contract suites, server harness.
