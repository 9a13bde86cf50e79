//! A cache of the compiled conditions of plans: a run evaluates them again after each of its events. Total memory is
//! bounded, because any caller may send a plan. Must not know the results of expressions.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cel::IdedExpr;
use charter_contract::bounds::CEL_PATTERN_MEMORY;
use charter_contract::deeply::deeply;

use super::patterns::parts;
use super::{Condition, ExpressionError, Roots};

/// The estimated memory of the cached conditions, in bytes: 8 MiB.
const KEPT_MEMORY: usize = 8 << 20;

/// The estimated memory of a node of a compiled expression without its texts, in bytes.
const PART_MEMORY: usize = 2 * size_of::<IdedExpr>();

/// The cache of this process.
static KEPT: LazyLock<Mutex<KeptConditions>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct KeptConditions {
    by_source: HashMap<String, Arc<Condition>>,
    memory: usize,
}

impl KeptConditions {
    /// Adds a condition to the cache. If it does not fit, the cache is cleared first; a condition that is too large is
    /// not cached.
    fn keep(&mut self, source: &str, condition: &Arc<Condition>) {
        let memory = condition.memory().saturating_add(source.len());
        if memory > KEPT_MEMORY || self.by_source.contains_key(source) {
            return;
        }
        if self.memory.saturating_add(memory) > KEPT_MEMORY {
            self.by_source.clear();
            self.memory = 0;
        }
        self.by_source
            .insert(source.to_owned(), Arc::clone(condition));
        self.memory += memory;
    }
}

impl Condition {
    /// Returns the condition of a plan, which is compiled on first use. The caller must charge the work in both cases.
    ///
    /// # Errors
    /// As for [`Condition::compile`].
    pub(crate) fn of_plan(source: &str) -> Result<Arc<Self>, ExpressionError> {
        // A panic while the lock is held leaves the cache consistent.
        let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().by_source.get(source).map(Arc::clone);
        if let Some(condition) = known {
            return Ok(condition);
        }
        let condition = Arc::new(Self::compile(source, Roots::Steps)?);
        kept().keep(source, &condition);
        Ok(condition)
    }

    /// Estimates the memory of the condition without its source. A regular expression needs the same amount again for
    /// matching.
    fn memory(&self) -> usize {
        let parts = deeply(|| count(&self.expression));
        let expression = parts.saturating_mul(PART_MEMORY);
        let patterns = self.patterns.count().saturating_mul(2 * CEL_PATTERN_MEMORY);
        expression.saturating_add(patterns)
    }
}

fn count(expression: &IdedExpr) -> usize {
    let below = parts(expression).into_iter().map(count);
    below.fold(1, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_of_a_plan_is_compiled_once() {
        let source = "steps.compiled_once.state == 'succeeded'";
        let first = Condition::of_plan(source).unwrap();
        assert!(Arc::ptr_eq(&first, &Condition::of_plan(source).unwrap()));
        assert_eq!(first.reads().steps.len(), 1);
        let refused = Condition::of_plan("steps.a.state ==").unwrap_err();
        assert!(matches!(refused, ExpressionError::Syntax(_)), "{refused}");
    }

    #[test]
    fn the_memory_of_kept_conditions_is_bounded() {
        let mut kept = KeptConditions::default();
        // The expressions contain operators and patterns, so that a few dozen fill the memory.
        let source = |at: usize| format!("'{at}'.matches('{at}') && parameters.n > {at}");
        let mut forgotten = 0;
        for at in 0..100 {
            let condition = Arc::new(Condition::compile(&source(at), Roots::Steps).unwrap());
            let before = kept.by_source.len();
            kept.keep(&source(at), &condition);
            forgotten += usize::from(kept.by_source.len() <= before);
            let held = kept.by_source.iter();
            let held = held.map(|(source, condition)| source.len() + condition.memory());
            assert_eq!(kept.memory, held.sum::<usize>());
            assert!(kept.memory <= KEPT_MEMORY, "{}", kept.memory);
            assert!(kept.by_source.contains_key(&source(at)));
        }
        assert!(forgotten > 0, "the memory was never full");
        let patterns: Vec<String> = (0..20).map(|at| format!("'a'.matches('{at}')")).collect();
        let large = patterns.join(" || ");
        let condition = Arc::new(Condition::compile(&large, Roots::Steps).unwrap());
        kept.keep(&large, &condition);
        assert!(!kept.by_source.contains_key(&large), "it is too large");
    }
}
