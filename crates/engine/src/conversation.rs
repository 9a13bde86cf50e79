//! From a question to its answer: requests, sessions, tasks of other agents, analyses by a model, and candidates where
//! nothing registered fits.

pub(crate) mod analysis;
pub(crate) mod candidates;
pub(crate) mod requests;
pub(crate) mod sessions;
pub(crate) mod tasks;

#[cfg(test)]
mod tests;
