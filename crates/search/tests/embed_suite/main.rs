//! The embedders as their callers see them. The tests that need the model's
//! files find them as `model` says, and fail without.

mod model;
mod reference;
