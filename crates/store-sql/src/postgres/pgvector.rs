//! Vectors in the form of the extension pgvector: shared by memories and passages of lenses.

/// Settings of an index scan: nearest first, continued until enough rows pass the filters, and planned for the actual
/// values, for which comparing every vector may be cheaper.
pub(super) const READING: &str =
    "SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 200;
     SET LOCAL hnsw.max_scan_tuples = 200000; SET LOCAL plan_cache_mode = force_custom_plan";

/// Returns the components of a stored vector; `None` for invalid bytes, which a search skips.
pub(super) fn components(bytes: &[u8]) -> Option<Vec<f32>> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    let components: Vec<f32> = chunks.iter().map(|c| f32::from_le_bytes(*c)).collect();
    let sound = rest.is_empty()
        && components.iter().all(|c| c.is_finite())
        && components.iter().any(|c| *c != 0.0);
    sound.then_some(components)
}

/// Formats a vector for the extension.
pub(super) fn literal(components: &[f32]) -> String {
    let components: Vec<String> = components.iter().map(f32::to_string).collect();
    format!("[{}]", components.join(","))
}
