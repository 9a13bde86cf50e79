//! The pattern of a parameter: compiled once, and matched only if that is cheap. Registration rejects a pattern that
//! does not compile or is too large.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use charter_contract::bounds::{PATTERN_CACHE, PATTERN_SIZE};
use charter_contract::foreign_schema::PatternCost;
use regex::{Regex, RegexBuilder};

/// The maximum number of compiled patterns in the cache, for all documents.
const KEPT: usize = 64;
/// The maximum estimated memory of a cached pattern; a larger one is compiled each time.
const KEPT_MEMORY: usize = 1 << 20;

static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Compiled>>>> = LazyLock::new(Mutex::default);

/// A pattern with its matching cost.
#[derive(Debug)]
pub(crate) struct Compiled {
    regex: Regex,
    cost: PatternCost,
}

/// The result of matching a text against a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matched {
    Fits,
    Differs,
    /// Not matched: the text is too long for the pattern's cost per byte.
    Costly,
}

/// Matches a text. A pattern that does not compile matches nothing.
pub(super) fn matched(pattern: &str, text: &str) -> Matched {
    compiled(pattern).map_or(Matched::Differs, |compiled| compiled.matched(text))
}

impl Compiled {
    /// Returns the pattern for whole texts; `None` if it does not compile or is too large.
    pub(crate) fn whole(pattern: &str) -> Option<Arc<Self>> {
        compiled(&format!("^(?:{pattern})$"))
    }

    /// Returns the pattern for a part of a text; `None` as for [`Compiled::whole`].
    pub(super) fn part(pattern: &str) -> Option<Arc<Self>> {
        compiled(pattern)
    }

    /// Returns whether a text matches; false if that would take too long.
    pub(crate) fn fits(&self, text: &str) -> bool {
        self.matched(text) == Matched::Fits
    }

    /// Returns the estimated memory.
    pub(crate) fn memory(&self) -> usize {
        self.cost.memory()
    }

    fn matched(&self, text: &str) -> Matched {
        if !self.cost.covers(text.len()) {
            return Matched::Costly;
        }
        match self.regex.is_match(text) {
            true => Matched::Fits,
            false => Matched::Differs,
        }
    }
}

fn compiled(pattern: &str) -> Option<Arc<Compiled>> {
    // A panic while the lock is held leaves the cache consistent.
    let kept = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept().get(pattern).map(Arc::clone);
    if known.is_some() {
        return known;
    }
    let cost = PatternCost::measure(pattern)?;
    let regex = RegexBuilder::new(pattern)
        .size_limit(PATTERN_SIZE)
        .dfa_size_limit(PATTERN_CACHE)
        .build()
        .ok()?;
    let compiled = Arc::new(Compiled { regex, cost });
    if cost.memory() <= KEPT_MEMORY {
        let mut kept = kept();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(pattern.to_owned(), Arc::clone(&compiled));
    }
    Some(compiled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_compiled_once() {
        let pattern = "^once-[0-9]+$";
        assert_eq!(matched(pattern, "once-7"), Matched::Fits);
        let first = compiled(pattern).unwrap();
        assert!(Arc::ptr_eq(&first, &compiled(pattern).unwrap()));
        assert_eq!(matched(pattern, "twice-7"), Matched::Differs);
        assert_eq!(matched("(", "("), Matched::Differs);
    }

    /// A usual pattern can be matched with the longest text; one with many states per byte is not matched.
    #[test]
    fn a_long_text_is_not_matched_against_a_dear_pattern() {
        let long = "ab".repeat(4 << 20);
        assert_eq!(matched("^[ab]+$", &long), Matched::Fits);
        let dear = "(a|b)*a(a|b){200}";
        assert_eq!(matched(dear, &long), Matched::Costly);
        assert_eq!(matched(dear, &"ab".repeat(200)), Matched::Fits);
    }
}
