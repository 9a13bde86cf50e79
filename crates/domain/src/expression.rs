//! CEL expressions of guardrails and of steps: compiled before they are needed, bounded and total
//! when run.
//!
//! Google's Common Expression Language has no loops beyond its collections and no I/O, so an
//! expression over a bounded context ends. Errors are values: an exception whose condition fails
//! grants nothing (B000-12).

mod reads;

use cel::{Context, Program};
use charter_contract::deeply::deeply;
use serde_json::{Map, Value};

pub use reads::{Reads, STEP_VARIABLES};

/// Longest accepted expression, in bytes.
pub const MAX_EXPRESSION: usize = 4_096;

/// Most operators, brackets and dots of an expression, those inside its texts counted as well: each may nest what
/// follows, and reading, evaluating and dropping go as deep as it is nested.
pub const MAX_OPERATORS: usize = 256;

/// Why an expression is refused or has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It does not compile.
    #[error("the expression does not compile: {0}")]
    Syntax(String),
    /// It is longer than [`MAX_EXPRESSION`].
    #[error("the expression is longer than 4096 bytes")]
    TooLong,
    /// It has more than [`MAX_OPERATORS`].
    #[error("the expression has more than 256 operators, brackets and dots")]
    TooDeep,
    /// It failed on this context.
    #[error("the expression failed: {0}")]
    Failed(String),
    /// It answered something other than true or false.
    #[error("the expression answered {0} instead of true or false")]
    NotBoolean(String),
    /// It uses a name that is not there.
    #[error("the expression uses `{0}`; it may use `parameters` and `steps`")]
    Unknown(String),
    /// It takes all steps or parameters at once, so nobody knows what it waits for.
    #[error("the expression takes `{0}` as a whole; name a member: `{0}[\"name\"]`")]
    Whole(&'static str),
    /// It has a loop within a loop, or builds a list.
    #[error("the expression has a loop within a loop, or a `map`: its work has no bound")]
    Loops,
    /// It would be too much work on these values.
    #[error("the expression would go over too much: it reads long lists or large outputs")]
    Costly,
}

/// A compiled expression that answers true or false.
#[derive(Debug)]
pub struct Condition {
    program: Program,
}

impl Condition {
    /// Compiles an expression.
    ///
    /// # Errors
    /// [`ExpressionError::Syntax`], [`ExpressionError::TooLong`], [`ExpressionError::TooDeep`].
    pub fn compile(source: &str) -> Result<Self, ExpressionError> {
        if source.len() > MAX_EXPRESSION {
            return Err(ExpressionError::TooLong);
        }
        if operators(source) > MAX_OPERATORS {
            return Err(ExpressionError::TooDeep);
        }
        let compiled = deeply(|| Program::compile(source));
        compiled
            .map(|program| Self { program })
            .map_err(|errors| ExpressionError::Syntax(errors.to_string()))
    }

    /// The names that the expression uses and `known` does not have.
    #[must_use]
    pub fn unknown_variables(&self, known: &[&str]) -> Vec<String> {
        let references = deeply(|| self.program.references());
        let used = references.variables().into_iter();
        used.filter(|name| !known.contains(name))
            .map(str::to_owned)
            .collect()
    }

    /// What the expression of a step reads.
    ///
    /// # Errors
    /// [`ExpressionError::Unknown`], [`ExpressionError::Whole`], [`ExpressionError::Loops`].
    pub fn reads(&self) -> Result<Reads, ExpressionError> {
        deeply(|| Reads::of(self.program.expression()))
    }

    /// Answers as [`Condition::holds`] does, unless that could be too much work.
    ///
    /// # Errors
    /// Those of [`Condition::reads`] and [`Condition::holds`], and [`ExpressionError::Costly`].
    pub fn holds_within_bounds(
        &self,
        variables: &Map<String, Value>,
    ) -> Result<bool, ExpressionError> {
        self.reads()?.within_bounds(variables)?;
        self.holds(variables)
    }

    /// Answers on a context whose fields are the expression's variables.
    ///
    /// # Errors
    /// [`ExpressionError::Failed`], [`ExpressionError::NotBoolean`].
    pub fn holds(&self, variables: &Map<String, Value>) -> Result<bool, ExpressionError> {
        let mut context = Context::default();
        for (name, value) in variables {
            context
                .add_variable(name.as_str(), value)
                .map_err(|error| ExpressionError::Failed(error.to_string()))?;
        }
        match deeply(|| self.program.execute(&context)) {
            Ok(cel::Value::Bool(answer)) => Ok(answer),
            Ok(other) => Err(ExpressionError::NotBoolean(other.type_of().to_string())),
            Err(error) => Err(ExpressionError::Failed(error.to_string())),
        }
    }
}

fn operators(source: &str) -> usize {
    let signs = source.matches([
        '(', '[', '{', '.', '?', ':', '!', '&', '|', '<', '>', '=', '+', '-', '*', '/', '%',
    ]);
    signs.count() + source.matches("in").count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(source: &str) -> Result<bool, ExpressionError> {
        let variables = json!({"dry_run": false, "tool": {"id": "aws.x", "class": "write"}, "parameters": {"n": 3}});
        Condition::compile(source)?.holds(variables.as_object().unwrap())
    }

    /// B000-12: what does not compile is refused; what fails has no answer.
    #[test]
    fn b000_12_expressions_answer_true_false_or_an_error() {
        assert_eq!(
            answer("tool.class == 'write' && parameters.n > 2"),
            Ok(true)
        );
        assert_eq!(answer("dry_run == true"), Ok(false));
        assert!(matches!(
            answer("dry_run =="),
            Err(ExpressionError::Syntax(_))
        ));
        assert!(matches!(
            answer("parameters.gone == 1"),
            Err(ExpressionError::Failed(_))
        ));
        assert!(matches!(answer("absent"), Err(ExpressionError::Failed(_))));
        assert_eq!(
            answer("parameters.n"),
            Err(ExpressionError::NotBoolean("uint".into()))
        );
        assert_eq!(answer(&"1+".repeat(3000)), Err(ExpressionError::TooLong));
        assert_eq!(answer(&"1+".repeat(300)), Err(ExpressionError::TooDeep));
    }
}
