//! Runs over a real store and real effects.

mod answers;
mod claims;
mod clock;
mod confined;
mod confirmed;
mod crash;
mod lapsed;
mod lists;
mod questions;
mod seeds;
mod stopped;
