//! Embedding, lexical and vector indexes, fusion and the routing score.
