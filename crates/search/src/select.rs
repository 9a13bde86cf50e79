//! The largest of many numbers, without sorting all of them. Must not know their meaning.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The `k`-th largest of `values`; `None` if there are fewer, or `k` is 0.
///
/// A pass keeps the best `k` seen, so nearly all values of a long run cost one comparison.
pub(crate) fn kth_largest(values: impl Iterator<Item = f32>, k: usize) -> Option<f32> {
    let mut best: BinaryHeap<Reverse<Number>> = BinaryHeap::new();
    let mut least = f32::NEG_INFINITY;
    for value in values {
        if best.len() < k {
            best.push(Reverse(Number(value)));
        } else if value > least {
            best.pop();
            best.push(Reverse(Number(value)));
        } else {
            continue;
        }
        if best.len() == k {
            least = best.peek().map_or(least, |Reverse(Number(value))| *value);
        }
    }
    (k > 0 && best.len() == k).then_some(least)
}

/// Returns the `k` items of the largest values, largest first; equal ones in the order of `items`.
pub(crate) fn best_of<T: Copy, I: Iterator<Item = T>>(
    items: impl Fn() -> I,
    value: impl Fn(T) -> f32,
    k: usize,
) -> Vec<T> {
    let least = kth_largest(items().map(&value), k).unwrap_or(f32::NEG_INFINITY);
    let mut best: Vec<T> = items().filter(|item| value(*item) >= least).collect();
    best.sort_by(|a, b| value(*b).total_cmp(&value(*a)));
    best.truncate(k);
    best
}

/// A float in its total order.
#[derive(Clone, Copy, PartialEq)]
struct Number(f32);

impl Eq for Number {}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_what_sorting_finds(values in prop::collection::vec(-4i8..4, 0..40), k in 0usize..45) {
            let values: Vec<f32> = values.into_iter().map(f32::from).collect();
            let mut sorted = values.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let expected = if k == 0 { None } else { sorted.get(k - 1).copied() };
            prop_assert_eq!(kth_largest(values.iter().copied(), k), expected);
            let mut places: Vec<usize> = (0..values.len()).collect();
            places.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
            places.truncate(k);
            prop_assert_eq!(best_of(|| 0..values.len(), |at| values[at], k), places);
        }
    }
}
