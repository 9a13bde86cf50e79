//! The measures of the encoder, all-MiniLM-L6-v2.

/// Width of a token's state, and of the embedding.
pub(super) const HIDDEN: usize = 384;
/// Attention heads.
pub(super) const HEADS: usize = 12;
/// Width of one head.
pub(super) const HEAD: usize = HIDDEN / HEADS;
/// Width of the inner (feed-forward) layer.
pub(super) const INNER: usize = 1536;
/// Encoder layers.
pub(super) const LAYERS: usize = 6;
/// Positions that the weights reach.
pub(super) const POSITIONS: usize = 512;
