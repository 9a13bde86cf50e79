//! The order of all values, as in jq's sort.

use std::cmp::Ordering;
use std::rc::Rc;

use super::{Fields, JqValue};

impl PartialEq for JqValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Number(left), Self::Number(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::List(left), Self::List(right)) => left == right,
            (Self::Object(left), Self::Object(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for JqValue {}

#[allow(
    clippy::non_canonical_partial_ord_impl,
    reason = "nan is less than itself for the operators of jq, and has one place where values are sorted"
)]
impl PartialOrd for JqValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(left), Self::Number(_)) if left.is_nan() => Some(Ordering::Less),
            _ => Some(self.cmp(other)),
        }
    }
}

impl Ord for JqValue {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Number(left), Self::Number(right)) => left.cmp(right),
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            (Self::List(left), Self::List(right)) => left.cmp(right),
            (Self::Object(left), Self::Object(right)) => {
                let (left, right) = (sorted(left), sorted(right));
                let names = left.iter().map(|(name, _)| *name);
                let names = names.cmp(right.iter().map(|(name, _)| *name));
                names.then_with(|| {
                    let values = left.iter().map(|(_, value)| *value);
                    values.cmp(right.iter().map(|(_, value)| *value))
                })
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// Returns the fields sorted by name.
fn sorted(fields: &Fields) -> Vec<(&Rc<str>, &JqValue)> {
    let mut fields: Vec<(&Rc<str>, &JqValue)> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    fields
}

impl JqValue {
    /// Returns the rank of the value's type in the order of all values.
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Number(_) => 2,
            Self::Text(_) => 3,
            Self::List(_) => 4,
            Self::Object(_) => 5,
        }
    }
}
