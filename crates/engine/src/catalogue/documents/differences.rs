//! Where two documents differ.

use charter_contract::violation::pointer_segment;
use serde_json::Value;

/// JSON pointers of the parts in which two documents differ; a list is one part.
pub(crate) fn differing_fields(old: &Value, new: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    differing(old, new, String::new(), &mut fields);
    fields
}

fn differing(old: &Value, new: &Value, pointer: String, fields: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let keys = old
                .keys()
                .chain(new.keys().filter(|key| !old.contains_key(*key)));
            for key in keys {
                let here = format!("{pointer}/{}", pointer_segment(key));
                differing(part(old, key), part(new, key), here, fields);
            }
        }
        (old, new) if old != new => fields.push(pointer),
        _ => {}
    }
}

/// A part of a document; one that is not there is `null`.
fn part<'d>(of: &'d serde_json::Map<String, Value>, key: &str) -> &'d Value {
    static ABSENT: Value = Value::Null;
    of.get(key).unwrap_or(&ABSENT)
}
