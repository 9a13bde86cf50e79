//! The differences between Elasticsearch and OpenSearch.

use std::collections::BTreeMap;

use serde::Serialize;
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

    /// Returns the search for the `most` entries whose `field` is nearest to a vector, within a filter. It returns the
    /// field `shown` of each.
    pub(crate) fn nearest<'a, F>(
        self,
        (field, shown): (&'a str, &'a str),
        vector: &'a [f32],
        most: usize,
        filter: F,
    ) -> KnnSearch<'a, F> {
        let explored = most.max(EXPLORED);
        let (knn, query) = match self {
            Self::Elasticsearch => {
                let knn = KnnOption {
                    field,
                    query_vector: vector,
                    k: most,
                    num_candidates: explored,
                    filter,
                };
                (Some(knn), None)
            }
            Self::OpenSearch => {
                let knn = KnnOfField {
                    vector,
                    k: explored,
                    filter,
                };
                let knn = BTreeMap::from([(field, knn)]);
                (None, Some(KnnQuery { knn }))
            }
        };
        KnnSearch {
            size: most,
            source: false,
            track_total_hits: false,
            docvalue_fields: [shown],
            knn,
            query,
        }
    }
}

/// A search for the nearest entries: `knn` on Elasticsearch, `query` on OpenSearch.
#[derive(Debug, Serialize)]
pub(crate) struct KnnSearch<'a, F> {
    size: usize,
    #[serde(rename = "_source")]
    source: bool,
    track_total_hits: bool,
    docvalue_fields: [&'a str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    knn: Option<KnnOption<'a, F>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<KnnQuery<'a, F>>,
}

#[derive(Debug, Serialize)]
struct KnnOption<'a, F> {
    field: &'a str,
    query_vector: &'a [f32],
    k: usize,
    num_candidates: usize,
    filter: F,
}

#[derive(Debug, Serialize)]
struct KnnQuery<'a, F> {
    /// By the field.
    knn: BTreeMap<&'a str, KnnOfField<'a, F>>,
}

#[derive(Debug, Serialize)]
struct KnnOfField<'a, F> {
    vector: &'a [f32],
    k: usize,
    filter: F,
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
    fn a_search_has_the_form_of_its_product() {
        let search = |product: Product| {
            let filter = json!({"match_all": {}});
            let search = product.nearest(("v", "id"), &[0.1, -2.0], 20, filter);
            serde_json::to_string(&search).unwrap()
        };
        let filter = r#""filter":{"match_all":{}}"#;
        let nearest = r#""field":"v","query_vector":[0.1,-2.0],"k":20"#;
        let shown = r#""_source":false,"track_total_hits":false,"docvalue_fields":["id"]"#;
        assert_eq!(
            search(Product::OpenSearch),
            format!(
                r#"{{"size":20,{shown},"query":{{"knn":{{"v":{{"vector":[0.1,-2.0],"k":200,{filter}}}}}}}}}"#
            )
        );
        assert_eq!(
            search(Product::Elasticsearch),
            format!(r#"{{"size":20,{shown},"knn":{{{nearest},"num_candidates":200,{filter}}}}}"#)
        );
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
