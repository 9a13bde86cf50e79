//! Vectors in the form of the extension pgvector: what memories and passages of lenses have in common.

/// How an index is read: nearest first, on and on until the filters have let enough through, and planned
/// for the rows at hand, for which comparing every vector may be less work.
pub(super) const READING: &str =
    "SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 200;
     SET LOCAL hnsw.max_scan_tuples = 200000; SET LOCAL plan_cache_mode = force_custom_plan";

/// The components of a stored vector; none of bytes that are no vector, which a search passes over.
pub(super) fn components(bytes: &[u8]) -> Option<Vec<f32>> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    let components: Vec<f32> = chunks.iter().map(|c| f32::from_le_bytes(*c)).collect();
    let sound = rest.is_empty()
        && components.iter().all(|c| c.is_finite())
        && components.iter().any(|c| *c != 0.0);
    sound.then_some(components)
}

/// A vector as the extension reads it.
pub(super) fn literal(components: &[f32]) -> String {
    let components: Vec<String> = components.iter().map(f32::to_string).collect();
    format!("[{}]", components.join(","))
}
