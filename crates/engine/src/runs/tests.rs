//! Runs over a real store and real effects.

mod claims;
mod crash;
mod filters;
