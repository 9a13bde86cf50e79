//! The names and paths that an expression reads, determined before evaluation.
//!
//! A step waits for every step that its expression names. An expression that uses `steps` as a whole is therefore
//! rejected.

use std::collections::{BTreeMap, BTreeSet};

use cel::IdedExpr;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators,
};

use super::{CallFault, ExpressionError, calls};

const PARAMETERS: &str = "parameters";
const STEPS: &str = "steps";

/// The context of an expression: the names that it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots {
    /// Ended steps of a plan, and the run's parameters. An expression must name members of both.
    Steps,
    /// A call at the gate: the tool's document, the resolved parameters, the dry-run flag, and the request that the
    /// call is for. For an answer without a call, only the request is available.
    Gate,
}

impl Roots {
    /// The names.
    #[must_use]
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Steps => &[PARAMETERS, STEPS],
            Self::Gate => &[
                "tool", PARAMETERS, "dry_run", "flow", "domain", "persona", "tier",
            ],
        }
    }

    fn find(self, name: &str) -> Option<&'static str> {
        let mut names = self.names().iter();
        names.find(|known| **known == name).copied()
    }
}

/// The part of a name's value that an expression uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MemberUse {
    /// All of it.
    Whole,
    /// Members of these names.
    Members(BTreeSet<String>),
}

/// The names and paths that an expression reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// Ids of the steps that the expression names.
    pub steps: BTreeSet<String>,
    /// Names of the required parameters. A parameter that is only tested with `has` is not required.
    pub parameters: BTreeSet<String>,
    taken: BTreeMap<&'static str, MemberUse>,
}

impl ReadSet {
    /// Collects the names and paths that an expression reads.
    ///
    /// # Errors
    /// [`ExpressionError::Unknown`], [`ExpressionError::Whole`], [`ExpressionError::Call`] for the current time.
    pub(super) fn of(expression: &IdedExpr, roots: Roots) -> Result<Self, ExpressionError> {
        let mut reader = Reader {
            roots,
            reads: Self::default(),
            bound: Vec::new(),
        };
        reader.read(expression)?;
        Ok(reader.reads)
    }

    /// Returns the names that the expression uses.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.taken.keys().copied()
    }

    /// Returns the names that the expression uses, each with the used part of its value.
    pub(super) fn taken(&self) -> impl Iterator<Item = (&'static str, &MemberUse)> {
        self.taken.iter().map(|(name, taken)| (*name, taken))
    }
}

/// Reads one expression from the root down.
struct Reader<'e> {
    roots: Roots,
    reads: ReadSet,
    /// Variables of the enclosing loops.
    bound: Vec<&'e str>,
}

impl<'e> Reader<'e> {
    fn read(&mut self, expression: &'e IdedExpr) -> Result<(), ExpressionError> {
        if self.is_type(expression) {
            return Ok(());
        }
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

    fn ident(&mut self, name: &str) -> Result<(), ExpressionError> {
        if self.bound.contains(&name) {
            return Ok(());
        }
        match self.roots.find(name) {
            Some(root) => self.whole(root),
            None if calls::is_clock(name) => Err(CallFault::Clock(name.to_owned()).into()),
            None => Err(ExpressionError::Unknown {
                name: name.to_owned(),
                roots: self.roots,
            }),
        }
    }

    fn whole(&mut self, root: &'static str) -> Result<(), ExpressionError> {
        match self.roots {
            Roots::Steps => Err(ExpressionError::Whole(root)),
            Roots::Gate => {
                self.reads.taken.insert(root, MemberUse::Whole);
                Ok(())
            }
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

    /// Reads `steps["a"]`, which is a call of the index operator, or any other call.
    fn call(&mut self, call: &'e CallExpr) -> Result<(), ExpressionError> {
        if let Some((of, key)) = index(call)
            && let Some(root) = self.root(of)
        {
            return match &key.expr {
                Expr::Literal(LiteralValue::String(name)) => {
                    self.member(root, name.inner(), false);
                    Ok(())
                }
                _ => {
                    self.whole(root)?;
                    self.read(key)
                }
            };
        }
        // The namespace is not a variable.
        let target = call
            .target
            .iter()
            .filter(|_| calls::qualified(call).is_none());
        let mut parts = target.map(AsRef::as_ref).chain(&call.args);
        parts.try_for_each(|part| self.read(part))
    }

    fn comprehension(&mut self, looped: &'e ComprehensionExpr) -> Result<(), ExpressionError> {
        self.read(&looped.iter_range)?;
        self.read(&looped.accu_init)?;
        let around = self.bound.len();
        self.bound
            .extend([looped.iter_var.as_str(), looped.accu_var.as_str()]);
        self.bound.extend(looped.iter_var2.as_deref());
        let body = [&looped.loop_cond, &looped.loop_step, &looped.result];
        body.into_iter().try_for_each(|part| self.read(part))?;
        self.bound.truncate(around);
        Ok(())
    }

    /// Whether an expression names a type that no variable shadows.
    fn is_type(&self, expression: &IdedExpr) -> bool {
        match &expression.expr {
            Expr::Ident(name) if self.bound.contains(&name.as_str()) => false,
            _ => calls::is_type(expression),
        }
    }

    fn root(&self, expression: &IdedExpr) -> Option<&'static str> {
        let Expr::Ident(name) = &expression.expr else {
            return None;
        };
        let free = !self.bound.contains(&name.as_str());
        self.roots.find(name).filter(|_| free)
    }

    fn member(&mut self, root: &'static str, name: &str, only_asked_for: bool) {
        let members = || MemberUse::Members(BTreeSet::new());
        if let MemberUse::Members(names) = self.reads.taken.entry(root).or_insert_with(members) {
            names.insert(name.to_owned());
        }
        if root == STEPS {
            self.reads.steps.insert(name.to_owned());
        } else if root == PARAMETERS && !only_asked_for {
            self.reads.parameters.insert(name.to_owned());
        }
    }
}

/// Returns the indexed expression and the key, if a call is the index operator.
pub(super) fn index(call: &CallExpr) -> Option<(&IdedExpr, &IdedExpr)> {
    let indexes = [
        operators::INDEX,
        operators::OPT_INDEX,
        operators::OPT_SELECT,
    ];
    match call.args.as_slice() {
        [of, key] if indexes.contains(&call.func_name.as_str()) => Some((of, key)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
