//! What the parts of a [`serde_json::Value`] take in memory when they are read one by one, as lists and tables grow.
//! Objects that keep their fields in the order in which they came are the heavier ones, and are what is counted.

/// A value without what it holds.
pub(crate) const VALUE: usize = 72;

/// A text without its bytes.
pub(super) const TEXT: usize = 32;

/// A field without its name's bytes.
const FIELD: usize = 104;

/// The first room that a list makes, in items; it doubles from there.
const FIRST_ITEMS: usize = 4;

/// What the items of a list take.
pub(super) fn of_items(count: usize) -> usize {
    match count {
        0 => 0,
        count => VALUE.saturating_mul(count.next_power_of_two().max(FIRST_ITEMS)),
    }
}

/// What the fields of an object take, with the table by which they are found: a place for each field that there is room
/// for, and a table with a byte and an index for each bucket, of which an eighth stays empty.
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
    fn a_value_takes_no_more_than_is_counted() {
        assert!(size_of::<Value>() <= VALUE);
        // Its hash, its name and its value.
        assert!(8 + size_of::<String>() + size_of::<Value>() <= FIELD);
    }

    #[test]
    fn the_room_of_a_list_is_counted_as_it_grows() {
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
