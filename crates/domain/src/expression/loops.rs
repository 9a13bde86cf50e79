//! Loops that build lists, as CEL's macros write them.

use cel::common::ast::{ComprehensionExpr, Expr, IdedExpr, operators};

/// What a loop puts into a list for each item, and under which condition: `filter` and `map`.
pub(super) struct Built<'e> {
    pub(super) condition: Option<&'e IdedExpr>,
    pub(super) item: &'e IdedExpr,
}

impl<'e> Built<'e> {
    /// The parts of `condition ? @result + [item] : @result`, or of `@result + [item]`.
    pub(super) fn of(looped: &'e ComprehensionExpr) -> Option<Self> {
        let Expr::Call(step) = &looped.loop_step.expr else {
            return None;
        };
        let (condition, grown) = match step.args.as_slice() {
            [condition, grown, _] if step.func_name == operators::CONDITIONAL => {
                (Some(condition), &grown.expr)
            }
            _ => (None, &looped.loop_step.expr),
        };
        let Expr::Call(grown) = grown else {
            return None;
        };
        match grown.args.as_slice() {
            [_, added] if grown.func_name == operators::ADD => match &added.expr {
                Expr::List(added) => match added.elements.as_slice() {
                    [item] => Some(Self { condition, item }),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a loop puts its items into a list as they are: `filter`.
    pub(super) fn keeps(looped: &ComprehensionExpr) -> bool {
        Built::of(looped).is_some_and(
            |built| matches!(&built.item.expr, Expr::Ident(name) if *name == looped.iter_var),
        )
    }
}
