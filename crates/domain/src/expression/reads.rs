//! What an expression of a step reads, known before it is evaluated, and how much work it may be.
//!
//! A step waits for every step that its expression names, so an expression has to name them: one
//! that takes `steps` as a whole is refused. So is a loop within a loop, and `map`, which builds
//! lists: what is left is work that a bound can be set to (B003-9).

use std::collections::BTreeSet;

use cel::IdedExpr;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators,
};
use serde_json::{Map, Value};

use super::ExpressionError;

/// The names that expressions of steps may use.
pub const STEP_VARIABLES: [&str; 2] = [PARAMETERS, STEPS];
const PARAMETERS: &str = "parameters";
const STEPS: &str = "steps";

/// Most work that evaluating an expression may be: its length in nodes, times the size of what it
/// reads in bytes, times the longest list there if it loops.
const MAX_WORK: u64 = 2_000_000_000;

/// What an expression reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// Ids of the steps that it names.
    pub steps: BTreeSet<String>,
    /// Names of the parameters that it needs; one that it only asks for with `has` is not needed.
    pub parameters: BTreeSet<String>,
    nodes: u64,
    loops: bool,
}

impl Reads {
    /// What the expression reads.
    ///
    /// # Errors
    /// [`ExpressionError::Unknown`], [`ExpressionError::Whole`], [`ExpressionError::Loops`].
    pub(super) fn of(expression: &IdedExpr) -> Result<Self, ExpressionError> {
        let mut reader = Reader::default();
        reader.read(expression)?;
        Ok(reader.reads)
    }

    /// # Errors
    /// [`ExpressionError::Costly`] when evaluating it on these values could be too much work.
    pub(super) fn within_bounds(
        &self,
        variables: &Map<String, Value>,
    ) -> Result<(), ExpressionError> {
        let mut extent = Extent::default();
        variables.values().for_each(|value| extent.add(value));
        let turns = if self.loops { extent.longest.max(1) } else { 1 };
        let work = self.nodes.saturating_mul(extent.bytes);
        if work.saturating_mul(turns) > MAX_WORK {
            return Err(ExpressionError::Costly);
        }
        Ok(())
    }
}

/// How large values are.
#[derive(Default)]
struct Extent {
    bytes: u64,
    longest: u64,
}

impl Extent {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.bytes += 8,
            Value::String(text) => self.bytes += 8 + text.len() as u64,
            Value::Array(items) => {
                self.longest = self.longest.max(items.len() as u64);
                self.bytes += 8;
                items.iter().for_each(|item| self.add(item));
            }
            Value::Object(fields) => {
                self.longest = self.longest.max(fields.len() as u64);
                self.bytes += 8;
                for (name, field) in fields {
                    self.bytes += name.len() as u64;
                    self.add(field);
                }
            }
        }
    }
}

/// Reads one expression from the root down.
#[derive(Default)]
struct Reader<'e> {
    reads: Reads,
    /// Names that a loop around this place brings.
    bound: Vec<&'e str>,
    looping: bool,
}

impl<'e> Reader<'e> {
    fn read(&mut self, expression: &'e IdedExpr) -> Result<(), ExpressionError> {
        self.reads.nodes += 1;
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.ident(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => list.elements.iter().try_for_each(|item| self.read(item)),
            Expr::Map(map) => map.entries.iter().try_for_each(|e| self.entry(&e.expr)),
            Expr::Struct(made) => made.entries.iter().try_for_each(|e| self.entry(&e.expr)),
            Expr::Comprehension(looped) => self.comprehension(looped),
        }
    }

    fn entry(&mut self, entry: &'e EntryExpr) -> Result<(), ExpressionError> {
        match entry {
            EntryExpr::StructField(field) => self.read(&field.value),
            EntryExpr::MapEntry(entry) => {
                self.read(&entry.key)?;
                self.read(&entry.value)
            }
        }
    }

    fn ident(&self, name: &str) -> Result<(), ExpressionError> {
        if self.bound.contains(&name) {
            return Ok(());
        }
        match STEP_VARIABLES.iter().find(|known| **known == name) {
            Some(root) => Err(ExpressionError::Whole(root)),
            None => Err(ExpressionError::Unknown(name.to_owned())),
        }
    }

    fn select(&mut self, select: &'e SelectExpr) -> Result<(), ExpressionError> {
        match self.root(&select.operand) {
            Some(root) => {
                self.member(root, &select.field, select.test);
                Ok(())
            }
            None => self.read(&select.operand),
        }
    }

    /// `steps["a"]`, which is a call of the index operator, or any other call.
    fn call(&mut self, call: &'e CallExpr) -> Result<(), ExpressionError> {
        let indexes = [
            operators::INDEX,
            operators::OPT_INDEX,
            operators::OPT_SELECT,
        ];
        if indexes.contains(&call.func_name.as_str())
            && let [of, key] = call.args.as_slice()
            && let Some(root) = self.root(of)
        {
            let Expr::Literal(LiteralValue::String(name)) = &key.expr else {
                return Err(ExpressionError::Whole(root));
            };
            self.member(root, name.inner(), false);
            return Ok(());
        }
        let mut parts = call.target.iter().map(AsRef::as_ref).chain(&call.args);
        parts.try_for_each(|part| self.read(part))
    }

    fn comprehension(&mut self, looped: &'e ComprehensionExpr) -> Result<(), ExpressionError> {
        self.read(&looped.iter_range)?;
        if self.looping || builds(looped) {
            return Err(ExpressionError::Loops);
        }
        self.reads.loops = true;
        self.looping = true;
        self.bound
            .extend([looped.iter_var.as_str(), looped.accu_var.as_str()]);
        self.bound.extend(looped.iter_var2.as_deref());
        let body = [
            &looped.accu_init,
            &looped.loop_cond,
            &looped.loop_step,
            &looped.result,
        ];
        body.into_iter().try_for_each(|part| self.read(part))?;
        self.looping = false;
        self.bound.clear();
        Ok(())
    }

    fn root(&self, expression: &IdedExpr) -> Option<&'static str> {
        let Expr::Ident(name) = &expression.expr else {
            return None;
        };
        let free = !self.bound.contains(&name.as_str());
        STEP_VARIABLES.into_iter().find(|root| free && root == name)
    }

    fn member(&mut self, root: &'static str, name: &str, only_asked_for: bool) {
        if root == STEPS {
            self.reads.steps.insert(name.to_owned());
        } else if !only_asked_for {
            self.reads.parameters.insert(name.to_owned());
        }
    }
}

/// Whether a loop builds a list of anything but the items that it goes over: `map` does, `filter`
/// does not.
fn builds(looped: &ComprehensionExpr) -> bool {
    if !matches!(looped.accu_init.expr, Expr::List(_)) {
        return false;
    }
    let Expr::Call(chosen) = &looped.loop_step.expr else {
        return true;
    };
    let Some(Expr::Call(grown)) = chosen.args.get(1).map(|kept| &kept.expr) else {
        return true;
    };
    let Some(Expr::List(added)) = grown.args.get(1).map(|added| &added.expr) else {
        return true;
    };
    let is_item =
        |item: &IdedExpr| matches!(&item.expr, Expr::Ident(name) if *name == looped.iter_var);
    !(added.elements.len() == 1 && added.elements.iter().all(is_item))
}

#[cfg(test)]
mod tests;
