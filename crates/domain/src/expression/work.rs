//! Computes an upper bound of the work of evaluating an expression, from its text and its input values, and charges it
//! to a budget.
//!
//! A step is about one value visited, copied or compared, or 64 bytes of text. Every operator is charged for its worst
//! case: a failing operator copies its operands into its error.

use cel::IdedExpr;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators,
};
use charter_contract::bounds::CEL_STEPS;

use super::facts::{Amount, Fact, Facts, Size};
use super::loops::ListComprehension;
use super::reads::{MemberUse, index};
use super::texts::{self, TextEstimate, literal};
use super::{Condition, ExpressionError, arithmetic, patterns};

/// The work of compiling a byte of an expression.
const COMPILED_BYTE: u64 = 5;

/// The number of values whose size can be computed with the work of visiting one.
const WEIGHED: u64 = 16;

/// The remaining work for all expressions of one evaluation.
#[derive(Debug)]
pub struct Budget {
    left: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            left: CEL_STEPS as u64,
        }
    }
}

impl Budget {
    /// Charges the work of compiling an expression.
    ///
    /// # Errors
    /// [`ExpressionError::Costly`] if less is left.
    pub fn compile(&mut self, source: &str) -> Result<(), ExpressionError> {
        self.spend(COMPILED_BYTE.saturating_mul(source.len() as u64))
    }

    /// Charges the work of evaluating a condition on these facts.
    pub(super) fn cover(
        &mut self,
        condition: &Condition,
        facts: &Facts<'_>,
    ) -> Result<(), ExpressionError> {
        self.spend(condition.patterns.work())?;
        let mut estimate = Estimate {
            facts,
            bound: Vec::new(),
            most: self.left,
            work: 0,
            effort: 0,
        };
        let estimated = estimate.condition(condition);
        // The estimate is charged even if the result exceeds the budget.
        let (work, effort) = (estimate.work, estimate.effort);
        self.left = self.left.saturating_sub(effort);
        estimated.and_then(|()| self.spend(work))
    }

    fn spend(&mut self, work: u64) -> Result<(), ExpressionError> {
        match self.left.checked_sub(work) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(ExpressionError::Costly),
        }
    }
}

/// The static knowledge about a part's value.
enum Shape<'v> {
    /// The value itself.
    Known(Fact<'v>),
    /// A value that the expression creates, of at most this size.
    Made(Size),
}

impl Shape<'_> {
    const SCALAR: Self = Self::Made(Size::SCALAR);
}

/// Adds up the work of one expression.
struct Estimate<'e, 'v> {
    facts: &'e Facts<'v>,
    /// Variables of the enclosing loops.
    bound: Vec<(&'e str, Size)>,
    most: u64,
    work: u64,
    /// The work of the estimate itself.
    effort: u64,
}

impl<'e, 'v> Estimate<'e, 'v> {
    fn condition(&mut self, condition: &'e Condition) -> Result<(), ExpressionError> {
        for (name, taken) in condition.reads.taken() {
            if let Some(fact) = self.facts.get(name) {
                self.lending(fact, taken)?;
            }
        }
        self.read(&condition.expression).map(drop)
    }

    /// Charges the conversion of the used parts to CEL values. Texts are not copied.
    fn lending(&mut self, fact: &Fact<'v>, taken: &MemberUse) -> Result<(), ExpressionError> {
        match taken {
            MemberUse::Whole => {
                let size = self.weighed(fact);
                self.add(size.whole.values)
            }
            MemberUse::Members(names) => {
                let mut members = names.iter().filter_map(|name| fact.field(name));
                members.try_for_each(|member| {
                    let size = self.weighed(&member);
                    self.add(size.whole.values)
                })
            }
        }
    }

    fn add(&mut self, work: u64) -> Result<(), ExpressionError> {
        self.work = self.work.saturating_add(work);
        if self.work > self.most {
            return Err(ExpressionError::Costly);
        }
        Ok(())
    }

    fn weighed(&mut self, fact: &Fact<'v>) -> Size {
        let size = fact.size();
        self.effort = self.effort.saturating_add(size.whole.values / WEIGHED);
        size
    }

    fn size(&mut self, shape: &Shape<'v>) -> Size {
        match shape {
            Shape::Known(fact) => self.weighed(fact),
            Shape::Made(size) => *size,
        }
    }

    fn read(&mut self, expression: &'e IdedExpr) -> Result<Shape<'v>, ExpressionError> {
        self.effort = self.effort.saturating_add(1);
        self.add(1)?;
        match &expression.expr {
            Expr::Unspecified => Ok(Shape::SCALAR),
            Expr::Literal(literal) => Ok(Shape::Made(written(literal))),
            Expr::Ident(name) => Ok(self.named(name)),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(&list.elements),
            Expr::Map(map) => self.entries(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(made) => self.entries(made.entries.iter().map(|entry| &entry.expr)),
            Expr::Comprehension(looped) => self.comprehension(looped),
        }
    }

    /// An unknown name fails, which costs nothing.
    fn named(&self, name: &str) -> Shape<'v> {
        let bound = self.bound.iter().rev().find(|(bound, _)| *bound == name);
        match (bound, self.facts.get(name)) {
            (Some((_, size)), _) => Shape::Made(*size),
            (None, Some(fact)) => Shape::Known(fact.clone()),
            (None, None) => Shape::SCALAR,
        }
    }

    fn select(&mut self, select: &'e SelectExpr) -> Result<Shape<'v>, ExpressionError> {
        let operand = self.read(&select.operand)?;
        Ok(if select.test {
            Shape::SCALAR
        } else {
            field(&operand, &select.field)
        })
    }

    /// Estimates a list literal, into which the items are copied.
    fn list(&mut self, elements: &'e [IdedExpr]) -> Result<Shape<'v>, ExpressionError> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            items.push(self.copied(element)?);
        }
        Ok(Shape::Made(Size::of_items(items.into_iter())))
    }

    fn entries(
        &mut self,
        entries: impl Iterator<Item = &'e EntryExpr>,
    ) -> Result<Shape<'v>, ExpressionError> {
        let mut fields = Vec::new();
        for entry in entries {
            fields.push(match entry {
                EntryExpr::StructField(field) => self.copied(&field.value)?,
                EntryExpr::MapEntry(entry) => {
                    let key = self.copied(&entry.key)?;
                    key.and(self.copied(&entry.value)?)
                }
            });
        }
        Ok(Shape::Made(Size::of_items(fields.into_iter())))
    }

    fn copied(&mut self, expression: &'e IdedExpr) -> Result<Amount, ExpressionError> {
        let shape = self.read(expression)?;
        let whole = self.size(&shape).whole;
        self.add(whole.work())?;
        Ok(whole)
    }

    fn call(&mut self, call: &'e CallExpr) -> Result<Shape<'v>, ExpressionError> {
        if let Some((of, key)) = index(call) {
            return self.indexed(of, key);
        }
        let parts = call.target.iter().map(AsRef::as_ref).chain(&call.args);
        let mut shapes = Vec::new();
        for part in parts {
            shapes.push(self.read(part)?);
        }
        match (call.func_name.as_str(), shapes.as_slice()) {
            (
                operators::LOGICAL_AND
                | operators::LOGICAL_OR
                | operators::LOGICAL_NOT
                | operators::NOT_STRICTLY_FALSE,
                _,
            ) => Ok(Shape::SCALAR),
            (operators::CONDITIONAL, [_, then, otherwise]) => {
                let (then, otherwise) = (self.size(then), self.size(otherwise));
                Ok(Shape::Made(then.or(otherwise)))
            }
            (operators::IN, [needle, Shape::Known(fact)]) if !fact.is_list() => {
                let needle = self.size(needle).whole;
                self.add(needle.work())?;
                Ok(Shape::SCALAR)
            }
            (operators::IN, [needle, list]) => {
                let (needle, list) = (self.size(needle).whole, self.size(list));
                self.add(list.whole.work())?;
                self.add(needle.work().saturating_mul(list.items))?;
                Ok(Shape::SCALAR)
            }
            ("size", [Shape::Known(fact)]) if !fact.is_text() => Ok(Shape::SCALAR),
            ("matches", [text, _]) => {
                let text = self.size(text).whole;
                let literal = call.args.last().is_some_and(|part| literal(part).is_some());
                self.add(patterns::work_on(text.bytes, literal))?;
                Ok(Shape::SCALAR)
            }
            ("split", [text, ..]) => {
                let size = self.split(text, call);
                self.add(size.whole.work())?;
                Ok(Shape::Made(size))
            }
            (name, shapes) => {
                let sizes: Vec<Size> = shapes.iter().map(|shape| self.size(shape)).collect();
                if let Some(TextEstimate { work, size }) = texts::made(name, &sizes, call) {
                    self.add(work)?;
                    return Ok(Shape::Made(size));
                }
                let all = sizes.into_iter().reduce(Size::and).unwrap_or(Size::SCALAR);
                self.add(all.whole.work())?;
                Ok(Shape::Made(if makes_scalar(name) {
                    Size::SCALAR
                } else {
                    all
                }))
            }
        }
    }

    /// The parts of a split text: exact if the text and the separator are literals, else an upper bound.
    fn split(&mut self, text: &Shape<'v>, call: &'e CallExpr) -> Size {
        let whole = self.size(text).whole;
        let separator = call.args.first().and_then(literal);
        match (text, separator) {
            (Shape::Known(fact), Some(separator)) if !separator.is_empty() => {
                let text = fact.text().unwrap_or_default();
                self.effort = self.effort.saturating_add(whole.work());
                Size::of_items(text.split(separator).map(|part| Size::of_text(part).whole))
            }
            (Shape::Known(_) | Shape::Made(_), _) => {
                let most = separator.map_or(0, str::len).max(1) as u64;
                let items = (whole.bytes / most).saturating_add(1);
                Size {
                    whole: Amount {
                        values: items.saturating_add(1),
                        bytes: whole.bytes,
                    },
                    items,
                    item: Amount {
                        values: 1,
                        bytes: whole.bytes,
                    },
                }
            }
        }
    }

    /// A computed key may fail, and the error contains a copy of the indexed value.
    fn indexed(
        &mut self,
        of: &'e IdedExpr,
        key: &'e IdedExpr,
    ) -> Result<Shape<'v>, ExpressionError> {
        let of = self.read(of)?;
        self.read(key)?;
        match (&of, &key.expr) {
            (_, Expr::Literal(LiteralValue::String(name))) => Ok(field(&of, name.inner())),
            (Shape::Known(fact), Expr::Literal(LiteralValue::Int(at))) => {
                let item = u64::try_from(*at.inner()).ok().and_then(|at| fact.item(at));
                Ok(item.map_or(Shape::SCALAR, Shape::Known))
            }
            (_, _) => {
                let size = self.size(&of);
                self.add(size.whole.work())?;
                Ok(Shape::Made(size.part()))
            }
        }
    }

    fn comprehension(
        &mut self,
        looped: &'e ComprehensionExpr,
    ) -> Result<Shape<'v>, ExpressionError> {
        let range = self.read(&looped.iter_range)?;
        let range = self.size(&range);
        // Each item is copied into the loop's variable.
        self.add(range.whole.work())?;
        let begun = self.read(&looped.accu_init)?;
        let begun = self.size(&begun);
        let item = Size {
            whole: range.item,
            items: range.item.values,
            item: range.item,
        };
        let around = self.bound.len();
        self.bound.push((looped.iter_var.as_str(), item));
        self.bound.push((looped.accu_var.as_str(), begun));
        let before = std::mem::take(&mut self.work);
        let built = match ListComprehension::of(looped) {
            Some(ListComprehension { condition, item }) => {
                if let Some(condition) = condition {
                    self.read(condition)?;
                }
                Some(self.copied(item)?)
            }
            None => {
                self.read(&looped.loop_cond)?;
                self.read(&looped.loop_step)?;
                None
            }
        };
        let turn = std::mem::replace(&mut self.work, before);
        self.add(turn.saturating_add(2).saturating_mul(range.items))?;
        let result = match built {
            // A filtered list is at most as large as the original.
            Some(_) if ListComprehension::keeps(looped) => Shape::Made(range),
            Some(item) => Shape::Made(Size::of_times(item, range.items)),
            None => self.read(&looped.result)?,
        };
        self.bound.truncate(around);
        Ok(result)
    }
}

fn written(literal: &LiteralValue) -> Size {
    match literal {
        LiteralValue::String(text) => Size::of_text(text.inner()),
        LiteralValue::Bytes(bytes) => Size {
            whole: Amount {
                values: 1,
                bytes: bytes.inner().len() as u64,
            },
            ..Size::SCALAR
        },
        LiteralValue::Boolean(_)
        | LiteralValue::Double(_)
        | LiteralValue::Int(_)
        | LiteralValue::Null
        | LiteralValue::UInt(_) => Size::SCALAR,
    }
}

/// A missing member fails, which costs nothing.
fn field<'v>(of: &Shape<'v>, name: &str) -> Shape<'v> {
    match of {
        Shape::Known(fact) => fact.field(name).map_or(Shape::SCALAR, Shape::Known),
        Shape::Made(size) => Shape::Made(size.part()),
    }
}

/// Returns whether a function or operator returns neither a list nor a map nor a text.
fn makes_scalar(name: &str) -> bool {
    let scalar = [
        operators::EQUALS,
        operators::NOT_EQUALS,
        operators::LESS,
        operators::LESS_EQUALS,
        operators::GREATER,
        operators::GREATER_EQUALS,
        operators::NEGATE,
        arithmetic::SUBTRACT,
        arithmetic::MULTIPLY,
        arithmetic::DIVIDE,
        arithmetic::REMAINDER,
        "size",
        "contains",
        "startsWith",
        "endsWith",
        "int",
        "uint",
        "double",
        "bool",
        "type",
        "timestamp",
        "duration",
    ];
    scalar.contains(&name) || name.starts_with("get")
}
