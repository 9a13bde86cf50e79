//! The filter language: jq 1.8, run by the interpreter of jaq.
//!
//! `parse` reads jq's grammar and translates it to jaq's terms, so that everything is evaluated in jq's order. `value`
//! has jq's arithmetic and order of values, with integers of full precision. `natives` and the prelude have jq's
//! functions. Functions that access anything outside a filter are excluded, and rejected when the filter is compiled.
//!
//! Filters are compiled when a package is registered, after a check that their nesting fits the stack. A running filter
//! may loop or grow, so callers run it in a process with bounded time and memory.

mod faults;
mod natives;
mod parse;
mod shape;
mod value;

use charter_contract::bounds::JQ_BYTES;
use charter_contract::deeply::deeply;
use jaq_core::load::parse::Def;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Exn, Vars};
use serde_json::Value;

use self::natives::Jq;
use self::value::JqValue;
use crate::source::escape;

/// The functions that are written in jq.
const PRELUDE: &str = include_str!("jq/prelude.jq");

/// The name under which a filter is compiled. It has the form of a format, and filters cannot name unknown formats.
const ENTRY: &str = "@entry";

/// The reason why a filter is rejected or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It does not compile.
    #[error("the filter does not compile: {0}")]
    Syntax(String),
    /// It is longer than [`JQ_BYTES`].
    #[error("the filter is longer than {} bytes; split it", JQ_BYTES)]
    TooLong,
    /// It is nested too deeply, or has too many brackets.
    #[error("the filter {0}; split it")]
    TooDeep(String),
    /// It failed on this input.
    #[error("the filter failed: {0}")]
    Failed(String),
    /// It emitted more than the bound.
    #[error("the filter emitted more than {0} values")]
    TooMany(usize),
}

/// A compiled filter.
pub struct Filter {
    filter: jaq_core::Filter<Jq>,
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filter")
    }
}

impl Filter {
    /// Compiles a filter.
    ///
    /// # Errors
    /// [`FilterError::Syntax`], [`FilterError::TooLong`], [`FilterError::TooDeep`].
    pub fn compile(source: &str) -> Result<Self, FilterError> {
        if source.len() > JQ_BYTES {
            return Err(FilterError::TooLong);
        }
        shape::count_brackets(source)?;
        let source = escape::joined(source);
        deeply(|| {
            shape::measure(&source)?;
            Self::compile_shallow(&source)
        })
    }

    /// Compiles a filter whose nesting was checked.
    fn compile_shallow(source: &str) -> Result<Self, FilterError> {
        let refused = |fault: faults::Fault<'_>| FilterError::Syntax(fault.message(source));
        let mut definitions = parse::definitions(PRELUDE)
            .map_err(|fault| FilterError::Syntax(fault.message(PRELUDE)))?;
        let natives = natives::all();
        let mut known: Vec<(&str, usize)> = Vec::new();
        known.extend(
            natives
                .iter()
                .map(|(name, parameters, _)| (*name, parameters.len())),
        );
        known.extend(definitions.iter().map(|def| (def.name, def.args.len())));
        known.retain(|(name, _)| name.starts_with(|first: char| first.is_ascii_alphabetic()));
        definitions.push(Def {
            name: ENTRY,
            args: Vec::new(),
            body: parse::filter(source).map_err(refused)?,
        });
        let arena = Arena::default();
        let entry = File {
            code: ENTRY,
            path: (),
        };
        let modules = Loader::new(definitions)
            .load(&arena, entry)
            .map_err(|_| FilterError::Syntax("its entry cannot be read".to_owned()))?;
        Compiler::default()
            .with_funs(natives)
            .compile(modules)
            .map(|filter| Self { filter })
            .map_err(|errors| FilterError::Syntax(faults::undefined(source, &errors, &known)))
    }

    /// Returns the filter's outputs for an input, at most `limit` values.
    ///
    /// # Errors
    /// [`FilterError::Failed`], [`FilterError::TooMany`].
    pub fn run(&self, input: &Value, limit: usize) -> Result<Vec<Value>, FilterError> {
        deeply(|| {
            let context = Ctx::<Jq>::new(&self.filter.lut, Vars::new([]));
            let mut emitted = Vec::new();
            for output in self.filter.id.run((context, JqValue::from(input))) {
                if emitted.len() == limit {
                    return Err(FilterError::TooMany(limit));
                }
                let value = output.map_err(raised)?;
                let json = value.to_json();
                emitted.push(json.map_err(|error| FilterError::Failed(error.to_string()))?);
            }
            Ok(emitted)
        })
    }
}

/// Returns the failure of a run, from the error that the filter did not catch.
fn raised(exception: Exn<'_, JqValue>) -> FilterError {
    FilterError::Failed(match exception.get_err() {
        Ok(error) => match error.into_val() {
            JqValue::Text(message) => message.as_str().to_owned(),
            other => other.to_string(),
        },
        Err(_) => "it breaks out of a label that does not enclose it".to_owned(),
    })
}

#[cfg(test)]
mod tests;
