//! Arithmetic over operands of different numeric types. The CEL specification has no such overloads: in it, `1 + 1.0` is an
//! error. Here the inputs are JSON, in which the number 2.0 may be written `2`, so `x * 1.5` would fail for some values only.
//!
//! [`rewrite`] replaces each arithmetic operator by a function. If one operand is a `double`, the function converts the other
//! operand to `double`. All other combinations keep their CEL semantics.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, operators};
use cel::common::types::{CelDouble, CelInt, CelUInt, DYN_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::time;

pub(super) const ADD: &str = "@add";
pub(super) const SUBTRACT: &str = "@subtract";
pub(super) const MULTIPLY: &str = "@multiply";
pub(super) const DIVIDE: &str = "@divide";
pub(super) const REMAINDER: &str = "@remainder";

/// Arithmetic operators and the functions that replace them.
const FUNCTIONS: [(&str, &str); 5] = [
    (operators::ADD, ADD),
    (operators::SUBSTRACT, SUBTRACT),
    (operators::MULTIPLY, MULTIPLY),
    (operators::DIVIDE, DIVIDE),
    (operators::MODULO, REMAINDER),
];

/// Adds the functions that replace operators.
pub(super) fn library(env: &mut Env) -> Result<(), DeclarationError> {
    let both = || vec![DYN_TYPE, DYN_TYPE];
    env.add_overload(ADD, "add_dyn", both(), |args| apply(Operator::Add, &args))?;
    env.add_overload(SUBTRACT, "subtract_dyn", both(), |args| {
        apply(Operator::Subtract, &args)
    })?;
    env.add_overload(MULTIPLY, "multiply_dyn", both(), |args| {
        apply(Operator::Multiply, &args)
    })?;
    env.add_overload(DIVIDE, "divide_dyn", both(), |args| {
        apply(Operator::Divide, &args)
    })?;
    env.add_overload(REMAINDER, "remainder_dyn", both(), |args| {
        apply(Operator::Remainder, &args)
    })
}

/// Replaces the arithmetic operators of an expression. Timestamps and durations in the arguments of `format` become text
/// first, because the crate's `format` only supports its own types.
pub(super) fn rewrite(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => {}
        Expr::Select(select) => rewrite(&mut select.operand),
        Expr::Call(call) => {
            replace(call);
            for part in call.target.as_deref_mut().into_iter().chain(&mut call.args) {
                rewrite(part);
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(rewrite),
        Expr::Map(map) => {
            let entries = map.entries.iter_mut();
            entries.for_each(|entry| rewrite_entry(&mut entry.expr));
        }
        Expr::Struct(made) => {
            let entries = made.entries.iter_mut();
            entries.for_each(|entry| rewrite_entry(&mut entry.expr));
        }
        Expr::Comprehension(looped) => {
            for part in [
                &mut looped.iter_range,
                &mut looped.accu_init,
                &mut looped.loop_cond,
                &mut looped.loop_step,
                &mut looped.result,
            ] {
                rewrite(part);
            }
        }
    }
}

fn rewrite_entry(entry: &mut EntryExpr) {
    match entry {
        EntryExpr::StructField(field) => rewrite(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            rewrite(&mut entry.key);
            rewrite(&mut entry.value);
        }
    }
}

fn replace(call: &mut CallExpr) {
    if call.func_name == "format"
        && call.target.is_some()
        && let [list] = call.args.as_mut_slice()
    {
        let written = std::mem::take(list);
        *list = IdedExpr {
            id: written.id,
            expr: Expr::Call(CallExpr {
                func_name: time::SHOWN.to_owned(),
                target: None,
                args: vec![written],
            }),
        };
    }
    // The crate optimises the list concatenation that its macros generate, and recognises it by this operator.
    let of_macro = call
        .args
        .first()
        .is_some_and(|first| matches!(&first.expr, Expr::Ident(name) if name.starts_with('@')));
    let function = FUNCTIONS
        .iter()
        .find(|(operator, _)| *operator == call.func_name);
    if let Some((_, function)) = function.filter(|_| !of_macro) {
        call.func_name = (*function).to_owned();
    }
}

#[derive(Debug, Clone, Copy)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    const fn name(self) -> &'static str {
        match self {
            Self::Add => operators::ADD,
            Self::Subtract => operators::SUBSTRACT,
            Self::Multiply => operators::MULTIPLY,
            Self::Divide => operators::DIVIDE,
            Self::Remainder => operators::MODULO,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Number {
    Int(i64),
    Uint(u64),
    Double(f64),
}

impl Number {
    fn from_value(value: &dyn Val) -> Option<Self> {
        if let Some(whole) = value.downcast_ref::<CelInt>() {
            return Some(Self::Int(*whole.inner()));
        }
        if let Some(whole) = value.downcast_ref::<CelUInt>() {
            return Some(Self::Uint(*whole.inner()));
        }
        let double = value.downcast_ref::<CelDouble>()?;
        Some(Self::Double(*double.inner()))
    }

    fn double(self) -> f64 {
        match self {
            Self::Int(whole) => whole as f64,
            Self::Uint(whole) => whole as f64,
            Self::Double(double) => double,
        }
    }
}

fn apply<'b, 'v>(
    operator: Operator,
    args: &[CowVal<'b, 'v>],
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let [left, right] = args else {
        return Err(ExecutionError::invalid_argument_count(2, args.len()));
    };
    let numbers = Number::from_value(left.as_ref()).zip(Number::from_value(right.as_ref()));
    match (operator, numbers) {
        (_, Some((Number::Int(left), Number::Uint(right)))) => {
            whole(operator, i128::from(left), i128::from(right))
        }
        (_, Some((Number::Uint(left), Number::Int(right)))) => {
            whole(operator, i128::from(left), i128::from(right))
        }
        // CEL has no remainder of doubles. A declared `number` is a double even if its value is whole.
        (
            Operator::Remainder,
            Some((left @ Number::Double(_), right) | (left, right @ Number::Double(_))),
        )
        | (
            _,
            Some(
                (left @ Number::Double(_), right @ (Number::Int(_) | Number::Uint(_)))
                | (left @ (Number::Int(_) | Number::Uint(_)), right @ Number::Double(_)),
            ),
        ) => double(operator, left.double(), right.double()),
        (_, _) => own(operator, left, right),
    }
}

/// Applies the operator with CEL's own semantics.
fn own<'b, 'v>(
    operator: Operator,
    left: &CowVal<'b, 'v>,
    right: &CowVal<'b, 'v>,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let (left, right) = (left.as_ref(), right.as_ref());
    let unsupported = || {
        let types = [left, right].map(|value| value.get_type().name().to_owned());
        ExecutionError::no_such_overload(operator.name(), types.to_vec())
    };
    let made = match operator {
        Operator::Add => left.as_adder().ok_or_else(unsupported)?.add(right)?,
        Operator::Subtract => left.as_subtractor().ok_or_else(unsupported)?.sub(right)?,
        Operator::Multiply => left.as_multiplier().ok_or_else(unsupported)?.mul(right)?,
        Operator::Divide => left.as_divider().ok_or_else(unsupported)?.div(right)?,
        Operator::Remainder => left.as_modder().ok_or_else(unsupported)?.modulo(right)?,
    };
    Ok(CowVal::Owned(made.into_owned()))
}

fn whole<'b, 'v>(
    operator: Operator,
    left: i128,
    right: i128,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let fault = |what: &str| ExecutionError::function_error(operator.name(), what);
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide | Operator::Remainder if right == 0 => {
            return Err(fault("division by zero"));
        }
        Operator::Divide => left.checked_div(right),
        Operator::Remainder => left.checked_rem(right),
    };
    let result = result.ok_or_else(|| fault("the result is out of range"))?;
    if let Ok(whole) = i64::try_from(result) {
        return Ok(CowVal::owned(CelInt::from(whole)));
    }
    let whole = u64::try_from(result).map_err(|_| fault("the result is out of range"))?;
    Ok(CowVal::owned(CelUInt::from(whole)))
}

fn double<'b, 'v>(
    operator: Operator,
    left: f64,
    right: f64,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::Remainder if right == 0.0 => {
            let fault = "division by zero";
            return Err(ExecutionError::function_error(operator.name(), fault));
        }
        Operator::Remainder => left % right,
    };
    Ok(CowVal::owned(CelDouble::from(result)))
}
