//! The mapping of the index: that of seed 001, with the scope of an entry and the parameters of the index.

use charter_store::agent_skills::SkillsModel;
use serde_json::{Value, json};

use crate::product::Product;

/// The vector field's name in seed 001.
pub(crate) const VECTOR: &str = "skill_desc_vector";

/// The layout version of entries: an index with another one is rebuilt.
const LAYOUT: u64 = 1;

/// Returns the body that creates an index.
pub(crate) fn new_index(product: Product, model: &SkillsModel, writes: &str) -> Value {
    json!({
        "settings": product.settings(),
        "mappings": mappings(product, model),
        "aliases": {writes: {}},
    })
}

fn mappings(product: Product, model: &SkillsModel) -> Value {
    json!({
        "dynamic": "strict",
        "_meta": {"charter": {"layout": LAYOUT, "model": model.name, "dims": model.dims}},
        "properties": {
            "skill_id": {"type": "keyword"},
            VECTOR: product.vector(model.dims),
            "summary": {"type": "text", "index": false},
            "is_folder": {"type": "boolean"},
            "sub_skills": {"type": "keyword"},
            "instruction": {"type": "text", "index": false},
            "scope": {"type": "keyword"},
            "position": {"type": "object", "enabled": false},
        },
    })
}

/// Returns the first difference between an index's mappings and the current ones; `None` if there is none.
pub(crate) fn difference(product: Product, model: &SkillsModel, found: &Value) -> Option<String> {
    let made_for = &found["_meta"]["charter"];
    if made_for.is_null() {
        return Some("it was not created by Charter".to_owned());
    }
    let layout = &made_for["layout"];
    if layout.as_u64() != Some(LAYOUT) {
        return Some(format!("its layout is {layout}, but {LAYOUT} is in use"));
    }
    let name = made_for["model"].as_str().unwrap_or_default();
    if name != model.name {
        let detail = format!(
            "it was built for the model {name}, but {} is in use",
            model.name
        );
        return Some(detail);
    }
    let expected = mappings(product, model);
    let expected = expected["properties"].as_object()?;
    for (field, wanted) in expected {
        let known = &found["properties"][field];
        // An object without fields is shown without its type.
        let kind = known["type"].as_str().unwrap_or(match known.is_null() {
            true => "absent",
            false => "object",
        });
        if wanted["type"].as_str() != Some(kind) {
            let wanted = wanted["type"].as_str().unwrap_or_default();
            return Some(format!("its field `{field}` is {kind} and not {wanted}"));
        }
    }
    let dims = product.dims(&found["properties"][VECTOR]);
    if dims != Some(model.dims as u64) {
        let dims = dims.map_or("unknown".to_owned(), |dims| dims.to_string());
        return Some(format!(
            "its vectors have {dims} dimensions, but the model has {}",
            model.dims
        ));
    }
    if !product.is_whole(&found["properties"][VECTOR]) {
        return Some("it stores its vectors with reduced precision".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> SkillsModel {
        SkillsModel {
            name: "m/f32".to_owned(),
            dims: 4,
        }
    }

    #[test]
    fn an_index_with_different_settings_is_detected() {
        let made = mappings(Product::OpenSearch, &model());
        let differs = |change: &dyn Fn(&mut Value)| {
            let mut found = made.clone();
            change(&mut found);
            difference(Product::OpenSearch, &model(), &found)
        };
        assert_eq!(differs(&|_| {}), None);
        type Change<'a> = &'a dyn Fn(&mut Value);
        let table: [(Change<'_>, &str); 5] = [
            (
                &|found| found["_meta"] = Value::Null,
                "it was not created by Charter",
            ),
            (
                &|found| found["_meta"]["charter"]["layout"] = json!(0),
                "its layout is 0, but 1 is in use",
            ),
            (
                &|found| found["_meta"]["charter"]["model"] = json!("other"),
                "it was built for the model other, but m/f32 is in use",
            ),
            (
                &|found| found["properties"]["scope"] = json!({"type": "text"}),
                "its field `scope` is text and not keyword",
            ),
            (
                &|found| found["properties"][VECTOR]["dimension"] = json!(8),
                "its vectors have 8 dimensions, but the model has 4",
            ),
        ];
        for (change, expected) in table {
            assert_eq!(differs(change).as_deref(), Some(expected));
        }
    }

    /// Elasticsearch's default for the seed's field keeps only one byte of each component.
    #[test]
    fn an_index_with_lower_vector_precision_is_detected() {
        let made = mappings(Product::Elasticsearch, &model());
        let differs = |found: &Value| difference(Product::Elasticsearch, &model(), found);
        assert_eq!(differs(&made), None);
        for kept in [Value::Null, json!("int8_hnsw"), json!("bbq_hnsw")] {
            let mut found = made.clone();
            found["properties"][VECTOR]["index_options"]["type"] = kept;
            assert_eq!(
                differs(&found).as_deref(),
                Some("it stores its vectors with reduced precision")
            );
        }
    }

    /// Ruling 20: no searchable field contains an instruction.
    #[test]
    fn ruling_20_no_full_text_is_searched() {
        for product in [Product::Elasticsearch, Product::OpenSearch] {
            let made = mappings(product, &model());
            for field in ["instruction", "summary"] {
                assert_eq!(made["properties"][field]["index"], json!(false), "{field}");
            }
        }
    }
}
