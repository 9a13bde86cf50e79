//! Recognises the loops that CEL's macros `filter` and `map` expand to.

use cel::common::ast::{ComprehensionExpr, Expr, IdedExpr, operators};

/// A loop that builds a list: the value that it appends for each item, and the condition.
pub(super) struct ListComprehension<'e> {
    pub(super) condition: Option<&'e IdedExpr>,
    pub(super) item: &'e IdedExpr,
}

impl<'e> ListComprehension<'e> {
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

    /// Whether the loop appends its items unchanged, as `filter` does.
    pub(super) fn keeps(looped: &ComprehensionExpr) -> bool {
        ListComprehension::of(looped).is_some_and(
            |built| matches!(&built.item.expr, Expr::Ident(name) if *name == looped.iter_var),
        )
    }
}
