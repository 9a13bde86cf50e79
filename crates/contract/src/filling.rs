//! Limits on the size and nesting of filled placeholders. A short text that names a large value many times becomes far
//! larger than both, and a value inside a structure adds its nesting to the structure's. Templates, step parameters,
//! HTTP tools and prompts all use this budget. Must not know the syntax of placeholders.

use serde_json::Value;

use crate::bounds::JSON_LEVELS;
use crate::json::{VALUE, memory_beside_values};

/// The budget of one filling, in bytes of memory, estimated.
#[derive(Debug)]
pub struct FillBudget {
    most: usize,
    remaining: usize,
}

/// Error: a filling exceeds its budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillBudgetExceeded {
    /// The filling exceeds this many bytes.
    #[error("the filled-in values take more than {0} bytes: refer to fewer or smaller values")]
    Size(usize),
    /// The filling exceeds [`JSON_LEVELS`] levels of nesting.
    #[error(
        "the filled-in values nest more than {JSON_LEVELS} levels deep: refer to a part of the value"
    )]
    Depth,
}

impl FillBudget {
    /// Creates a budget of `most` bytes.
    #[must_use]
    pub const fn with_limit(most: usize) -> Self {
        Self {
            most,
            remaining: most,
        }
    }

    /// Returns the bytes used so far.
    #[must_use]
    pub const fn used(&self) -> usize {
        self.most - self.remaining
    }

    /// Whether the budget is used up.
    #[must_use]
    pub const fn is_used_up(&self) -> bool {
        self.remaining == 0
    }

    /// Takes `bytes` from the budget.
    ///
    /// # Errors
    /// [`FillBudgetExceeded::Size`]; the budget is then used up.
    pub fn take(&mut self, bytes: usize) -> Result<(), FillBudgetExceeded> {
        take(&mut self.remaining, bytes).ok_or(FillBudgetExceeded::Size(self.most))
    }

    /// Takes the size of a text that is a value of its own.
    ///
    /// # Errors
    /// [`FillBudgetExceeded::Size`].
    pub fn take_text(&mut self, bytes: usize) -> Result<(), FillBudgetExceeded> {
        self.take(VALUE.saturating_add(bytes))
    }

    /// Takes the size of a list inside `level` lists and objects, and returns the number of containers around its
    /// items.
    ///
    /// # Errors
    /// Either [`FillBudgetExceeded`].
    pub fn take_list(&mut self, level: usize) -> Result<usize, FillBudgetExceeded> {
        self.take(VALUE)?;
        deeper(level).ok_or(FillBudgetExceeded::Depth)
    }

    /// Takes the size of an object inside `level` lists and objects, including its field names, and returns the number
    /// of containers around its values.
    ///
    /// # Errors
    /// Either [`FillBudgetExceeded`].
    pub fn take_object<'n>(
        &mut self,
        level: usize,
        names: impl ExactSizeIterator<Item = &'n str>,
    ) -> Result<usize, FillBudgetExceeded> {
        let count = names.len();
        let beside = memory_beside_values(count, names.map(str::len).sum());
        self.take(VALUE.saturating_add(beside))?;
        deeper(level).ok_or(FillBudgetExceeded::Depth)
    }

    /// Copies a value to a position inside `level` lists and objects.
    ///
    /// # Errors
    /// Either [`FillBudgetExceeded`].
    pub fn copy(&mut self, value: &Value, level: usize) -> Result<Value, FillBudgetExceeded> {
        weigh(value, level, self.most, &mut self.remaining)?;
        Ok(value.clone())
    }

    /// Appends `text` to `to`.
    ///
    /// # Errors
    /// [`FillBudgetExceeded::Size`].
    pub fn write(&mut self, to: &mut String, text: &str) -> Result<(), FillBudgetExceeded> {
        self.take(text.len())?;
        to.push_str(text);
        Ok(())
    }

    /// Writes a value into a text: a string as it is, any other value as formatted by `shown`. `shown` is called only
    /// for values that may fit.
    ///
    /// # Errors
    /// Either [`FillBudgetExceeded`].
    pub fn write_value(
        &mut self,
        to: &mut String,
        value: &Value,
        shown: impl FnOnce(&Value) -> String,
    ) -> Result<(), FillBudgetExceeded> {
        if let Value::String(text) = value {
            return self.write(to, text);
        }
        if value.is_array() || value.is_object() {
            let mut remaining = self.remaining;
            weigh(value, 0, self.most, &mut remaining)?;
        }
        self.write(to, &shown(value))
    }
}

/// Subtracts bytes from `left`; leaves 0 and returns `None` if there are too few.
fn take(remaining: &mut usize, bytes: usize) -> Option<()> {
    let rest = remaining.checked_sub(bytes);
    *remaining = rest.unwrap_or(0);
    rest.map(drop)
}

fn deeper(level: usize) -> Option<usize> {
    (level < JSON_LEVELS).then_some(level + 1)
}

/// Subtracts the size of a value from `left`, and stops when the budget is exceeded.
fn weigh(
    value: &Value,
    level: usize,
    most: usize,
    remaining: &mut usize,
) -> Result<(), FillBudgetExceeded> {
    let beside = match value {
        Value::String(text) => text.len(),
        Value::Object(fields) => {
            memory_beside_values(fields.len(), fields.keys().map(String::len).sum())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => 0,
    };
    take(remaining, VALUE.saturating_add(beside)).ok_or(FillBudgetExceeded::Size(most))?;
    match value {
        Value::Array(items) => {
            let level = deeper(level).ok_or(FillBudgetExceeded::Depth)?;
            let mut items = items.iter();
            items.try_for_each(|item| weigh(item, level, most, remaining))
        }
        Value::Object(fields) => {
            let level = deeper(level).ok_or(FillBudgetExceeded::Depth)?;
            let mut fields = fields.values();
            fields.try_for_each(|field| weigh(field, level, most, remaining))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::memory_of;

    /// Returns a value of `levels` nested lists.
    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!([]), |inner, _| json!([inner]))
    }

    #[test]
    fn a_copy_costs_its_contents_and_is_refused_as_a_whole() {
        let value = json!({"name": ["text", 1, null]});
        let cost = 5 * VALUE + "text".len() + memory_beside_values(1, "name".len());
        let mut enough = FillBudget::with_limit(cost + 1);
        assert_eq!(enough.copy(&value, 0), Ok(value.clone()));
        assert_eq!((enough.used(), enough.is_used_up()), (cost, false));
        let mut short = FillBudget::with_limit(cost - 1);
        assert_eq!(
            short.copy(&value, 0),
            Err(FillBudgetExceeded::Size(cost - 1))
        );
        assert!(short.is_used_up());
        assert_eq!(short.take(1), Err(FillBudgetExceeded::Size(cost - 1)));
    }

    /// Objects are the heavier values: each reserves space for further fields, and a table.
    #[test]
    fn an_object_costs_its_memory() {
        let value = json!({"a": {"b": {"c": 1}}, "d": {}, "e": {"f": 1, "g": 2, "h": 3, "i": 4}});
        let mut copied = FillBudget::with_limit(1 << 20);
        assert_eq!(copied.copy(&value, 0), Ok(value.clone()));
        assert_eq!(copied.used(), memory_of(&value));
        let mut built = FillBudget::with_limit(1 << 20);
        assert_eq!(built.take_object(0, ["a", "bc"].into_iter()), Ok(1));
        assert_eq!(built.take_text(3), Ok(()));
        assert_eq!(built.take_text(0), Ok(()));
        let text = 3;
        let plain = json!({"a": 1, "bc": 2});
        assert_eq!(built.used(), memory_of(&plain) + text);
    }

    #[test]
    fn the_nesting_of_a_value_includes_its_enclosing_values() {
        let copied = |levels: usize, within: usize| {
            let copied = FillBudget::with_limit(1 << 20).copy(&nested(levels), within);
            copied.map(drop)
        };
        assert_eq!(copied(64, 0), Ok(()));
        assert_eq!(copied(65, 0), Err(FillBudgetExceeded::Depth));
        assert_eq!(copied(60, 4), Ok(()));
        assert_eq!(copied(60, 5), Err(FillBudgetExceeded::Depth));
        let mut filling = FillBudget::with_limit(1 << 20);
        assert_eq!(filling.take_list(63), Ok(64));
        assert_eq!(
            filling.take_object(64, [].into_iter()),
            Err(FillBudgetExceeded::Depth)
        );
    }

    #[test]
    fn an_oversized_value_is_refused_without_serialising_it() {
        let mut text = String::new();
        let mut filling = FillBudget::with_limit(3 * VALUE);
        let wrote = filling.write_value(&mut text, &json!([[[[]]]]), |_| panic!("it was shown"));
        assert_eq!(wrote, Err(FillBudgetExceeded::Size(3 * VALUE)));
        assert_eq!(
            filling.write_value(&mut text, &json!("a"), Value::to_string),
            Ok(())
        );
        assert_eq!(
            filling.write_value(&mut text, &json!([7]), Value::to_string),
            Ok(())
        );
        assert_eq!((text.as_str(), filling.used()), ("a[7]", 4));
    }
}
