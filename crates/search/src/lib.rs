//! Embedding, lexical and vector indexes, fusion and the routing score.

pub mod embed;
