//! Runs over a real store and real effects.

mod claims;
mod confined;
mod crash;
