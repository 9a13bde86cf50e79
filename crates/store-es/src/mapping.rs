//! The mappings of the indexes: of a scope, that of seed 001 and nothing else; of a generation's state, the model and
//! the position.

use charter_store::agent_skills::SkillsModel;
use serde_json::{Value, json};

use crate::product::Product;

/// The vector field's name in seed 001.
pub(crate) const VECTOR: &str = "skill_desc_vector";

/// The layout version: an index with another one is rebuilt.
const LAYOUT: u64 = 2;

/// Returns the body that creates the index of a scope.
pub(crate) fn new_index(product: Product, model: &SkillsModel, writes: &str) -> Value {
    json!({
        "settings": product.settings(),
        "mappings": {
            "dynamic": "strict",
            "_meta": meta(model),
            "properties": properties(product, model),
        },
        "aliases": {writes: {}},
    })
}

/// Returns the body that creates the state index of a generation.
pub(crate) fn new_state(model: &SkillsModel, writes: &str) -> Value {
    json!({
        "mappings": {
            "dynamic": "strict",
            "_meta": meta(model),
            "properties": {"position": {"type": "object", "enabled": false}},
        },
        "aliases": {writes: {}},
    })
}

fn meta(model: &SkillsModel) -> Value {
    json!({"charter": {"layout": LAYOUT, "model": model.name, "dims": model.dims}})
}

fn properties(product: Product, model: &SkillsModel) -> Value {
    json!({
        "skill_id": {"type": "keyword"},
        VECTOR: product.vector(model.dims),
        "summary": {"type": "text", "index": false},
        "is_folder": {"type": "boolean"},
        "sub_skills": {"type": "keyword"},
        "instruction": {"type": "text", "index": false},
    })
}

/// Returns the model in the mapping of a state index; `None` if Charter did not create it.
pub(crate) fn model_of(found: &Value) -> Option<SkillsModel> {
    let made_for = &found["_meta"]["charter"];
    Some(SkillsModel {
        name: made_for["model"].as_str()?.to_owned(),
        dims: usize::try_from(made_for["dims"].as_u64()?).ok()?,
    })
}

/// Returns the first difference between the mapping of a state index and the current one; `None` if there is none.
pub(crate) fn difference(model: &SkillsModel, found: &Value) -> Option<String> {
    let Some(made_for) = model_of(found) else {
        return Some("it was not created by Charter".to_owned());
    };
    let layout = &found["_meta"]["charter"]["layout"];
    if layout.as_u64() != Some(LAYOUT) {
        return Some(format!("its layout is {layout}, but {LAYOUT} is in use"));
    }
    if made_for.name != model.name {
        let detail = format!(
            "it was built for the model {}, but {} is in use",
            made_for.name, model.name
        );
        return Some(detail);
    }
    (made_for.dims != model.dims).then(|| {
        format!(
            "its vectors have {} dimensions, but the model has {}",
            made_for.dims, model.dims
        )
    })
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
        let made = new_state(&model(), "w")["mappings"].clone();
        let differs = |change: &dyn Fn(&mut Value)| {
            let mut found = made.clone();
            change(&mut found);
            difference(&model(), &found)
        };
        assert_eq!(differs(&|_| {}), None);
        type Change<'a> = &'a dyn Fn(&mut Value);
        let table: [(Change<'_>, &str); 4] = [
            (
                &|found| found["_meta"] = Value::Null,
                "it was not created by Charter",
            ),
            (
                &|found| found["_meta"]["charter"]["layout"] = json!(1),
                "its layout is 1, but 2 is in use",
            ),
            (
                &|found| found["_meta"]["charter"]["model"] = json!("other"),
                "it was built for the model other, but m/f32 is in use",
            ),
            (
                &|found| found["_meta"]["charter"]["dims"] = json!(8),
                "its vectors have 8 dimensions, but the model has 4",
            ),
        ];
        for (change, expected) in table {
            assert_eq!(differs(change).as_deref(), Some(expected));
        }
    }

    /// Elasticsearch gets the seed's mapping, to the letter but for whole vectors.
    #[test]
    fn seed_001_an_index_of_skills_has_the_seeds_fields_and_no_others() {
        let seed = json!({
            "skill_id": {"type": "keyword"},
            "skill_desc_vector": {
                "type": "dense_vector", "dims": 384, "index": true, "similarity": "cosine"
            },
            "summary": {"type": "text", "index": false},
            "is_folder": {"type": "boolean"},
            "sub_skills": {"type": "keyword"},
            "instruction": {"type": "text", "index": false},
        });
        let model = SkillsModel {
            dims: 384,
            ..model()
        };
        let made = new_index(Product::Elasticsearch, &model, "w");
        let mut fields = made["mappings"]["properties"].clone();
        let vector = fields[VECTOR].as_object_mut().unwrap();
        vector.remove("index_options");
        assert_eq!(fields, seed);
        let made = new_index(Product::OpenSearch, &model, "w");
        let fields = made["mappings"]["properties"].as_object().unwrap();
        assert!(fields.keys().eq(seed.as_object().unwrap().keys()));
    }

    /// Ruling 20: no searchable field contains an instruction.
    #[test]
    fn ruling_20_no_full_text_is_searched() {
        for product in [Product::Elasticsearch, Product::OpenSearch] {
            let made = properties(product, &model());
            for field in ["instruction", "summary"] {
                assert_eq!(made[field]["index"], json!(false), "{field}");
            }
        }
    }
}
