//! The differences between Elasticsearch and OpenSearch.

use serde_json::{Value, json};

/// Links of an entry in the graph, and candidates examined when it is linked.
const LINKS: u32 = 16;
const LOOKED_AT: u32 = 100;

/// Elasticsearch's graph over unquantised vectors. The default keeps one byte or less of each component: cosines are
/// then off by up to some hundredths, and a few of the nearest are missed.
const WHOLE: &str = "hnsw";

/// Least number of candidates that a search examines: with fewer it leaves the graph too early.
const EXPLORED: usize = 200;

/// The product of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    /// `dense_vector`, and `knn` beside the query.
    Elasticsearch,
    /// `knn_vector`, and `knn` as a query.
    OpenSearch,
}

impl Product {
    /// Detects the product and version from a node's information.
    pub(crate) fn from_info(document: &Value) -> Option<(Self, String)> {
        let number = document["version"]["number"].as_str()?;
        let product = match document["version"]["distribution"].as_str() {
            Some("opensearch") => Self::OpenSearch,
            Some(_) => return None,
            None => Self::Elasticsearch,
        };
        let name = match product {
            Self::Elasticsearch => "Elasticsearch",
            Self::OpenSearch => "OpenSearch",
        };
        Some((product, format!("{name} {number}")))
    }

    /// Returns the settings of a new index.
    pub(crate) fn settings(self) -> Value {
        // A late write must still find the tombstone of a deleted entry.
        match self {
            Self::Elasticsearch => json!({"index": {"gc_deletes": "1h"}}),
            Self::OpenSearch => json!({"index": {"gc_deletes": "1h", "knn": true}}),
        }
    }

    /// Returns the mapping of the vector field.
    pub(crate) fn vector(self, dims: usize) -> Value {
        match self {
            Self::Elasticsearch => json!({
                "type": "dense_vector", "dims": dims, "index": true, "similarity": "cosine",
                "index_options": {"type": WHOLE, "m": LINKS, "ef_construction": LOOKED_AT},
            }),
            Self::OpenSearch => json!({
                "type": "knn_vector",
                "dimension": dims,
                "method": {
                    "name": "hnsw",
                    "engine": "lucene",
                    "space_type": "cosinesimil",
                    "parameters": {"m": LINKS, "ef_construction": LOOKED_AT},
                },
            }),
        }
    }

    /// Returns a search for the nearest entries within a filter.
    pub(crate) fn nearest(self, field: &str, vector: &[f32], most: usize, filter: &Value) -> Value {
        let explored = most.max(EXPLORED);
        let search = json!({"size": most, "_source": false, "track_total_hits": false});
        let part = match self {
            Self::Elasticsearch => json!({"knn": {
                "field": field,
                "query_vector": vector,
                "k": most,
                "num_candidates": explored,
                "filter": filter,
            }}),
            Self::OpenSearch => json!({"query": {"knn": {field: {
                "vector": vector,
                "k": explored,
                "filter": filter,
            }}}}),
        };
        match (search, part) {
            (Value::Object(mut search), Value::Object(part)) => {
                search.extend(part);
                Value::Object(search)
            }
            (search, _) => search,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_is_detected_from_the_info_response() {
        let open =
            json!({"version": {"distribution": "opensearch", "number": "3.6.0"}, "tagline": "t"});
        let elastic = json!({"version": {"number": "9.3.4", "build_flavor": "default"}});
        let other = json!({"version": {"distribution": "another", "number": "1"}});
        let named = |product, name: &str| Some((product, name.to_owned()));
        assert_eq!(
            Product::from_info(&open),
            named(Product::OpenSearch, "OpenSearch 3.6.0")
        );
        assert_eq!(
            Product::from_info(&elastic),
            named(Product::Elasticsearch, "Elasticsearch 9.3.4")
        );
        assert_eq!(Product::from_info(&other), None);
        assert_eq!(Product::from_info(&json!({})), None);
    }

    #[test]
    fn seed_001_elasticsearch_uses_the_seeds_field_and_full_vectors() {
        let field = Product::Elasticsearch.vector(384);
        let seed = json!({
            "type": "dense_vector", "dims": 384, "index": true, "similarity": "cosine",
            "index_options": {"type": "hnsw", "m": 16, "ef_construction": 100},
        });
        assert_eq!(field, seed);
    }
}
