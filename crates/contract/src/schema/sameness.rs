//! Equality of values as defined by JSON Schema, at a counted cost: `1` equals `1.0`, and the order of fields is
//! irrelevant. Must not know schemas.
//!
//! The validator's own check of `uniqueItems` hashes with known keys and ignores list boundaries, so an attacker can
//! construct a list whose items all collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use jsonschema::json::cmp;
use serde_json::{Number, Value};

use super::meter::spend;

/// Bytes of text that are compared or hashed per step.
const TEXT_UNIT: usize = 64;

/// Whether two values are equal.
pub(super) fn are_equal(left: &Value, right: &Value) -> bool {
    if !spend(1) {
        return false;
    }
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| are_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, value)| {
                    right.get(name).is_some_and(|other| are_equal(value, other))
                })
        }
        (Value::String(left), Value::String(right)) => {
            left.len() == right.len() && spend_text(left) && left == right
        }
        (left, right) => cmp::equal(left, right),
    }
}

/// Whether all values are distinct.
pub(super) fn all_differ(values: &[Value]) -> bool {
    let keys = RandomState::new();
    let mut seen: HashMap<u64, Vec<&Value>> = HashMap::new();
    for value in values {
        let alike = seen.entry(hash(value, &keys)).or_default();
        if alike.iter().any(|other| are_equal(other, value)) {
            return false;
        }
        alike.push(value);
    }
    true
}

/// Returns a hash that is equal for equal values. The hash keys are new for each list.
fn hash(value: &Value, keys: &RandomState) -> u64 {
    let mut hasher = keys.build_hasher();
    if !spend(1) {
        return 0;
    }
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(yes) => (1_u8, yes).hash(&mut hasher),
        Value::Number(number) => (2_u8, magnitude(number)).hash(&mut hasher),
        Value::String(text) => {
            if spend_text(text) {
                (3_u8, text).hash(&mut hasher);
            }
        }
        Value::Array(items) => {
            (4_u8, items.len()).hash(&mut hasher);
            for item in items {
                hash(item, keys).hash(&mut hasher);
            }
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter(|(name, _)| spend_text(name))
                .map(|(name, value)| keys.hash_one((name, hash(value, keys))));
            (5_u8, fields.fold(0_u64, u64::wrapping_add)).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Returns a number that is equal for equal numbers, in any notation.
fn magnitude(number: &Number) -> u64 {
    match number.as_f64() {
        Some(number) if number != 0.0 => number.to_bits(),
        Some(_) | None => 0,
    }
}

fn spend_text(text: &str) -> bool {
    spend((text.len() / TEXT_UNIT) as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::deeply::deeply;
    use crate::schema::meter::{Budget, Costs, with_budget};

    fn within_steps<T>(steps: u64, work: impl FnOnce() -> T) -> (Option<T>, u64) {
        let budget = Budget { steps, faults: 0 };
        deeply(|| with_budget(budget, Costs::PLAIN, work))
    }

    fn differ(values: &Value) -> bool {
        let values = values.as_array().unwrap();
        within_steps(1_000_000, || all_differ(values)).0.unwrap()
    }

    #[test]
    fn equality_follows_json_schema() {
        for (values, expected) in [
            (json!([1, 1.0]), false),
            (json!([0, -0.0]), false),
            (json!([true, 1, "1", null, [], {}]), true),
            (json!([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]), false),
            (json!([{"a": 1, "b": 2}, {"a": 2, "b": 1}]), true),
            (json!([[[1], 2], [[1, 2]], [1, [2]], [1, 2]]), true),
            (json!([u64::MAX, u64::MAX - 1]), true),
            (json!([]), true),
        ] {
            assert_eq!(differ(&values), expected, "{values}");
            let items = values.as_array().unwrap();
            assert_eq!(
                jsonschema::json::unique::is_unique(items),
                expected,
                "{values}"
            );
        }
    }

    #[test]
    fn rotated_lists_are_compared_in_linear_time() {
        // The same thirteen leaves, in lists with different boundaries.
        let lists: Vec<Value> = (0_u32..4_096)
            .map(|cuts| {
                let mut list = vec![Vec::new()];
                for at in 0..13 {
                    list.last_mut().unwrap().push(at);
                    if (cuts >> at) & 1 == 1 {
                        list.push(Vec::new());
                    }
                }
                json!(list)
            })
            .collect();
        let (differ, took) = within_steps(10_000_000, || all_differ(&lists));
        assert_eq!(differ, Some(true));
        assert!(took < 200_000, "{took}");
    }
}
