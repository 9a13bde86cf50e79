//! Templates with expressions and blocks, evaluated by minijinja. It bounds the number of instructions but not the cost
//! of one: an instruction can double, repeat or pad a text of any size. This therefore runs only in a process with
//! bounded time and memory. Must not know how that process is created.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use charter_contract::bounds::{FILLED_TOGETHER, TEMPLATE_STEPS};
use charter_contract::deeply::deeply;
use charter_contract::filling::{FillBudget, FillBudgetExceeded};
use minijinja::value::{Object, Serde};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::RenderError;
use super::attributes::make_strict;
use super::fill::{Part, Pass, lookup};
use super::text::{Piece, Text};

/// The result of a template for one set of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filled {
    /// The structure with its values.
    Value(Value),
    /// The reason for the failure.
    Fault(String),
}

impl From<Result<Value, RenderError>> for Filled {
    fn from(filled: Result<Value, RenderError>) -> Self {
        match filled {
            Ok(value) => Self::Value(value),
            Err(error) => Self::Fault(error.to_string()),
        }
    }
}

/// Fills in a structure once per set of values. Must run in a process that may be killed.
#[must_use]
pub fn evaluate(structure: &Value, all: &[Map<String, Value>]) -> Vec<Filled> {
    deeply(|| {
        let environment = environment();
        let read = Part::read(structure, &|text| Compiled::read(&environment, text));
        let part = match read {
            Ok(part) => part,
            Err(error) => return vec![Filled::from(Err(error)); all.len()],
        };
        let mut together = FillBudget::with_limit(FILLED_TOGETHER);
        let filled = all.iter().map(|values| {
            let context = minijinja::Value::from(Serde(values));
            let filled = part.fill_once(values, &mut together, &|text, level, pass| {
                text.fill(level, pass, &context)
            });
            Filled::from(filled)
        });
        filled.collect()
    })
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(TEMPLATE_STEPS as u64));
    make_strict(&mut environment);
    environment
}

/// A text that can be filled in many times.
enum Compiled<'e> {
    Plain(Vec<Piece<'e>>),
    Program(Program<'e>),
}

struct Program<'e> {
    source: &'e str,
    template: minijinja::Template<'e, 'e>,
    /// The names that it reads and does not set.
    names: Vec<String>,
}

impl<'e> Compiled<'e> {
    fn read(environment: &'e Environment<'e>, text: &'e str) -> Result<Self, RenderError> {
        let source = match Text::read(text)? {
            Text::Plain(pieces) => return Ok(Self::Plain(pieces)),
            Text::Program(source) => source,
        };
        let template = environment
            .template_from_str(source)
            .map_err(|error| RenderError::syntax(source, &error))?;
        let is_built_in = |name: &String| environment.globals().any(|(global, _)| global == name);
        let names = template.undeclared_variables(true).into_iter();
        Ok(Self::Program(Program {
            source,
            names: names.filter(|name| !is_built_in(name)).collect(),
            template,
        }))
    }

    fn fill(
        &self,
        level: usize,
        pass: &mut Pass<'_>,
        context: &minijinja::Value,
    ) -> Result<Value, RenderError> {
        match self {
            Self::Plain(pieces) => pass.pieces(pieces, level),
            Self::Program(program) => program.fill(pass, context),
        }
    }
}

impl Program<'_> {
    fn fill(&self, pass: &mut Pass<'_>, context: &minijinja::Value) -> Result<Value, RenderError> {
        let values = pass.values;
        let missing = self.names.iter().map(String::as_str);
        let missing: Vec<&str> = missing
            .filter(|name| lookup(values, name).is_none())
            .collect();
        if missing.is_empty() && pass.is_missing_some() {
            return Ok(Value::Null);
        }
        let watched = Arc::new(WatchedValues {
            values: context.clone(),
            read: Mutex::default(),
        });
        let root = if missing.is_empty() {
            context.clone()
        } else {
            minijinja::Value::from_dyn_object(Arc::clone(&watched))
        };
        pass.filling.take_text(0)?;
        let mut written = BoundedOutput {
            text: Vec::new(),
            filling: &mut pass.filling,
            over: None,
        };
        let done = self
            .template
            .render_captured_to(root, &mut written)
            .map(drop);
        let BoundedOutput { text, over, .. } = written;
        if let Some(over) = over {
            return Err(over.into());
        }
        // A program that stops at a name does not reach the others.
        let stopped = done.is_err() && missing.iter().any(|name| watched.has_read(name));
        for name in missing {
            if stopped || watched.has_read(name) {
                pass.lacks(name)?;
            }
        }
        if pass.is_missing_some() {
            return Ok(Value::Null);
        }
        done.map_err(|error| RenderError::syntax(self.source, &error))?;
        Ok(Value::String(String::from_utf8_lossy(&text).into_owned()))
    }
}

/// Values that remember which of them a program reads: a name in a branch that is not taken needs no value. Some
/// filters turn an absent value into an empty text, so a result is no proof that all names have values.
#[derive(Debug)]
struct WatchedValues {
    values: minijinja::Value,
    read: Mutex<BTreeSet<String>>,
}

impl WatchedValues {
    /// Returns whether the first part of a dotted name was read.
    fn has_read(&self, dotted: &str) -> bool {
        let first = dotted.split('.').next().unwrap_or_default();
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.contains(first)
    }
}

impl Object for WatchedValues {
    fn get_value(self: &Arc<Self>, key: &minijinja::Value) -> Option<minijinja::Value> {
        let name = key.as_str()?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if !read.contains(name) {
            read.insert(name.to_owned());
        }
        let value = self.values.get_attr(name).ok()?;
        (!value.is_undefined()).then_some(value)
    }
}

/// The output of a program, within the limit.
struct BoundedOutput<'f> {
    text: Vec<u8>,
    filling: &'f mut FillBudget,
    over: Option<FillBudgetExceeded>,
}

impl io::Write for BoundedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(over) = self.filling.take(bytes.len()) {
            self.over = Some(over.clone());
            return Err(io::Error::other(over));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
