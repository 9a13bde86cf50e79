//! Memory of the parts of a [`serde_json::Value`] while lists and tables grow during parsing. Objects that preserve
//! insertion order are the heavier kind, and are the kind that is counted.

/// Bytes of a value without its contents.
pub(crate) const VALUE: usize = 72;

/// Bytes of a string without its text.
pub(super) const TEXT: usize = 32;

/// Bytes of a field without the text of its name.
const FIELD: usize = 104;

/// Initial capacity of a list, in items; it doubles as the list grows.
const FIRST_ITEMS: usize = 4;

/// Returns the bytes of a list with `count` items.
pub(super) fn of_items(count: usize) -> usize {
    match count {
        0 => 0,
        count => VALUE.saturating_mul(count.next_power_of_two().max(FIRST_ITEMS)),
    }
}

/// Returns the bytes of an object with `count` fields, including its lookup table: capacity for the fields, and for
/// each bucket a byte and an index, with one bucket in eight empty.
pub(super) fn of_fields(count: usize) -> usize {
    let buckets = match count {
        0 => return 0,
        1..4 => 4,
        4..8 => 8,
        count => (count.saturating_mul(8) / 7).next_power_of_two(),
    };
    let room = if buckets < 8 {
        buckets - 1
    } else {
        buckets / 8 * 7
    };
    room.saturating_mul(FIELD)
        .saturating_add(buckets.saturating_mul(9))
        .saturating_add(16)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn the_memory_of_a_value_is_within_the_count() {
        assert!(size_of::<Value>() <= VALUE);
        // A field: hash, name and value.
        assert!(8 + size_of::<String>() + size_of::<Value>() <= FIELD);
    }

    #[test]
    fn the_capacity_of_a_growing_list_is_counted() {
        let mut items: Vec<Value> = Vec::new();
        for count in 1..2_000 {
            items.push(Value::Null);
            assert_eq!(of_items(count), items.capacity() * VALUE, "{count}");
        }
    }

    #[test]
    fn the_fields_of_an_object_are_counted_at_least_and_not_twice_over() {
        assert_eq!(of_fields(Map::new().len()), 0);
        for count in [1_usize, 3, 4, 7, 8, 14, 15, 28, 29, 1_000, 100_000] {
            let counted = of_fields(count);
            assert!(counted >= count * FIELD, "{count}: {counted}");
            assert!(
                counted <= 4 * FIELD + count * FIELD * 5 / 2,
                "{count}: {counted}"
            );
        }
    }
}
