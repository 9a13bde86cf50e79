//! Extracts the beginning of a tool's output for a model, with its total size.

use charter_contract::json::text_length;
use serde_json::{Map, Value, json};

/// Returns the part of an output that fits into this many bytes, with the item counts of its lists.
pub(super) fn extract(output: &Value, most: usize) -> Map<String, Value> {
    let mut shown = Map::new();
    match output {
        Value::Array(items) => {
            shown.insert("count".to_owned(), json!(items.len()));
        }
        Value::Object(all) => {
            let lists = all.iter().filter_map(|(name, value)| {
                let items = value.as_array()?;
                Some((name.clone(), json!(items.len())))
            });
            let counts: Map<String, Value> = lists.collect();
            if !counts.is_empty() {
                shown.insert("counts".to_owned(), Value::Object(counts));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    let mut left = most;
    let kept = part(output, &mut left);
    let name = if text_length(&kept) == text_length(output) {
        "output"
    } else {
        "output_begins"
    };
    shown.insert(name.to_owned(), kept);
    shown
}

/// Returns the beginning of a value: whole items of lists, and whole fields of objects, while there is room.
fn part(value: &Value, left: &mut usize) -> Value {
    let whole = text_length(value);
    if whole <= *left {
        *left -= whole;
        return value.clone();
    }
    match value {
        Value::String(text) => {
            let end = text.floor_char_boundary((*left).min(text.len()));
            // A word that is cut off would be another one.
            let end = text[..end].rfind(char::is_whitespace).unwrap_or(0);
            *left = 0;
            Value::String(format!("{}…", &text[..end]))
        }
        Value::Array(items) => {
            let mut kept = Vec::new();
            for item in items {
                if *left == 0 {
                    break;
                }
                kept.push(part(item, left));
            }
            Value::Array(kept)
        }
        Value::Object(all) => {
            let mut kept = Map::new();
            for (name, field) in all {
                if *left == 0 {
                    break;
                }
                *left = left.saturating_sub(name.len() + 3);
                kept.insert(name.clone(), part(field, left));
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            *left = 0;
            Value::Null
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_fits_is_shown_whole() {
        let output = json!({"rows": [1, 2, 3], "at": "noon"});
        let shown = extract(&output, 1_000);
        assert_eq!(
            Value::Object(shown),
            json!({"counts": {"rows": 3}, "output": output})
        );
    }

    #[test]
    fn of_a_large_output_the_beginning_is_shown_and_all_is_counted() {
        let rows: Vec<Value> = (0..500)
            .map(|at| json!({"id": format!("row-{at}")}))
            .collect();
        let shown = extract(&json!(rows), 200);
        assert_eq!(shown["count"], 500);
        let kept = shown["output_begins"].as_array().unwrap();
        assert!(kept.len() < 20, "{}", kept.len());
        assert_eq!(kept[0], rows[0]);
        let long = extract(&json!("many words ".repeat(50)), 12);
        assert_eq!(long["output_begins"], "many words…");
        let id = extract(&json!([{"id": "group-12"}]), 12);
        assert_eq!(id["output_begins"], json!([{"id": "…"}]));
    }
}
