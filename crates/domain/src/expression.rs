//! CEL expressions of guardrails and steps: compiled in advance, bounded and total when evaluated.
//!
//! Google's Common Expression Language has no loops beyond its collections and no I/O, so an expression over a bounded
//! context terminates. Its cost is known in advance: a [`Condition`] is evaluated only if a [`Budget`] covers its work
//! on the current values. Errors are values: an exception whose condition fails grants nothing (B000-12).
//!
//! There are two differences from the CEL specification: arithmetic may mix `int` and `double` (`arithmetic`), and the
//! current time is not available (`calls`).

mod arithmetic;
mod calls;
mod facts;
mod kept;
mod loops;
mod patterns;
mod reads;
mod texts;
mod time;
mod work;

use std::fmt::{self, Write};
use std::sync::{Arc, OnceLock};

use cel::common::ast::IdedExpr;
use cel::common::types::CelBool;
use cel::extractors::This;
use cel::parser::Parser;
use cel::{Context, ExecutionError, Value};
use charter_contract::bounds::{CEL_BYTES, CEL_OPERATORS};
use charter_contract::deeply::deeply;

pub use calls::CallFault;
pub use facts::{Fact, Facts, Numbers};
use patterns::Patterns;
pub use reads::{ReadSet, Roots};
pub use work::Budget;

/// The maximum length of an error's reason, in bytes. A failing operator includes its operands in the reason.
const MAX_REASON: usize = 500;

/// The reason why an expression is rejected or cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It does not compile.
    #[error("the expression does not compile: {0}")]
    Syntax(String),
    /// It is longer than [`CEL_BYTES`].
    #[error("the expression is longer than {} bytes; split it", CEL_BYTES)]
    TooLong,
    /// It has more than [`CEL_OPERATORS`].
    #[error(
        "the expression has more than {} operators, brackets and dots; split it",
        CEL_OPERATORS
    )]
    TooDeep,
    /// Its evaluation failed on this context.
    #[error("the expression failed: {0}")]
    Failed(String),
    /// It returned a value that is not a boolean.
    #[error("the expression returned {0} instead of true or false")]
    NotBoolean(String),
    /// It uses an unknown name.
    #[error("unknown name `{name}`: use {}", .roots.names().join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The known names.
        roots: Roots,
    },
    /// It uses all steps or parameters at once, so its dependencies are unknown.
    #[error("the expression uses all of `{0}`; name a member: `{0}[\"name\"]`")]
    Whole(&'static str),
    /// It calls an unknown function, or a function with the wrong arguments.
    #[error(transparent)]
    Call(#[from] CallFault),
    /// It contains an invalid or unsupported regular expression.
    #[error("the regular expression `{pattern}`: {reason}")]
    Pattern {
        /// The regular expression, shortened.
        pattern: String,
        /// The problem.
        reason: String,
    },
    /// Its cost on these values exceeds the budget.
    #[error("the expression reads too much data: long lists or large values")]
    Costly,
}

/// A compiled boolean expression with bounded cost.
#[derive(Debug)]
pub struct Condition {
    expression: IdedExpr,
    reads: ReadSet,
    patterns: Arc<Patterns>,
}

impl Condition {
    /// Compiles an expression over `roots`.
    ///
    /// # Errors
    /// Each [`ExpressionError`] except those of evaluation, [`ExpressionError::Failed`] and [`ExpressionError::NotBoolean`].
    /// [`ExpressionError::Costly`] here means that the work exceeds the budget for every input.
    pub fn compile(source: &str, roots: Roots) -> Result<Self, ExpressionError> {
        if source.len() > CEL_BYTES {
            return Err(ExpressionError::TooLong);
        }
        if operators(source) > CEL_OPERATORS {
            return Err(ExpressionError::TooDeep);
        }
        deeply(|| {
            let mut expression = Parser::new()
                .parse(source)
                .map_err(|errors| ExpressionError::Syntax(shortened(&errors)))?;
            calls::check(&expression)?;
            let reads = ReadSet::of(&expression, roots)?;
            let patterns = Arc::new(Patterns::compile(&expression)?);
            arithmetic::rewrite(&mut expression);
            let condition = Self {
                expression,
                reads,
                patterns,
            };
            Budget::default().cover(&condition, &Facts::default())?;
            Ok(condition)
        })
    }

    /// Returns the names and paths that the expression reads.
    #[must_use]
    pub fn reads(&self) -> &ReadSet {
        &self.reads
    }

    /// Evaluates the expression on these facts, if the budget covers the work.
    ///
    /// # Errors
    /// [`ExpressionError::Failed`], [`ExpressionError::NotBoolean`], [`ExpressionError::Costly`].
    pub fn holds(&self, facts: &Facts<'_>, budget: &mut Budget) -> Result<bool, ExpressionError> {
        deeply(|| {
            budget.cover(self, facts)?;
            self.answer(facts)
        })
    }

    fn answer(&self, facts: &Facts<'_>) -> Result<bool, ExpressionError> {
        let mut context = Context::with_env(calls::environment());
        let patterns = Arc::clone(&self.patterns);
        let matches = move |This(text): This<Arc<String>>,
                            pattern: Arc<String>|
              -> Result<bool, ExecutionError> {
            let matched = patterns.matches(&text, &pattern);
            matched.map_err(|error| ExecutionError::function_error("matches", error))
        };
        context
            .add_function("matches", matches)
            .map_err(|error| ExpressionError::Failed(shortened(&error)))?;
        for (name, taken) in self.reads.taken() {
            if let Some(fact) = facts.get(name) {
                context.add_variable_as_val(name, fact.lent(taken));
            }
        }
        let answer = Value::resolve_val(&self.expression, &context)
            .map_err(|error| ExpressionError::Failed(shortened(&error)))?;
        match answer.downcast_ref::<CelBool>() {
            Some(answer) => Ok(*answer.inner()),
            None => Err(ExpressionError::NotBoolean(
                answer.get_type().name().to_owned(),
            )),
        }
    }
}

/// An expression of a document in force, which is compiled on first use.
#[derive(Debug)]
pub struct LazyCondition {
    source: String,
    roots: Roots,
    compiled: OnceLock<Result<Condition, ExpressionError>>,
}

impl LazyCondition {
    /// Wraps an expression over `roots`.
    #[must_use]
    pub fn new(source: &str, roots: Roots) -> Self {
        Self {
            source: source.to_owned(),
            roots,
            compiled: OnceLock::new(),
        }
    }

    /// Evaluates the expression on these facts, if the budget covers both compilation and the work. Compilation is
    /// charged every time, so that the result does not depend on earlier calls.
    ///
    /// # Errors
    /// Each [`ExpressionError`].
    pub fn holds(&self, facts: &Facts<'_>, budget: &mut Budget) -> Result<bool, ExpressionError> {
        budget.compile(&self.source)?;
        let compile = || Condition::compile(&self.source, self.roots);
        match self.compiled.get_or_init(compile) {
            Ok(condition) => condition.holds(facts, budget),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns whether the expression uses one of these names. An expression that is not compiled yet, or does not
    /// compile, uses none.
    #[must_use]
    pub fn uses(&self, names: &[&str]) -> bool {
        match self.compiled.get() {
            Some(Ok(condition)) => condition.reads.names().any(|name| names.contains(&name)),
            Some(Err(_)) | None => false,
        }
    }
}

fn operators(source: &str) -> usize {
    let signs = source.matches([
        '(', '[', '{', '.', '?', ':', '!', '&', '|', '<', '>', '=', '+', '-', '*', '/', '%',
    ]);
    signs.count() + source.matches("in").count()
}

/// Returns the beginning of an error's text. The rest, which may be a large value, is not formatted at all.
fn shortened(error: &dyn fmt::Display) -> String {
    struct Beginning(String);
    impl Write for Beginning {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let left = MAX_REASON.saturating_sub(self.0.len());
            let end = text.floor_char_boundary(left);
            self.0.push_str(text.get(..end).unwrap_or_default());
            if end < text.len() {
                self.0.push('…');
                return Err(fmt::Error);
            }
            Ok(())
        }
    }
    let mut beginning = Beginning(String::new());
    // An error means that the text was cut, which the ellipsis shows.
    match write!(beginning, "{error}") {
        Ok(()) | Err(fmt::Error) => beginning.0,
    }
}

#[cfg(test)]
mod tests;
