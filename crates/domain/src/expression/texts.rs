//! Estimates of the work and the result size of string functions. A result can be larger than the arguments: `replace` can
//! insert text after every character. Loops cannot accumulate strings, so the estimate of a single call is enough.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue};

use super::facts::{Amount, Size};
use super::time;

/// Maximum bytes of a number as text: a `double` is written without an exponent.
const NUMBER: u64 = 330;

/// Maximum bytes of a number that `format` writes with all decimal places.
const FORMATTED: u64 = 420;

/// Bytes of text per step, if a function decodes characters.
const LOOKED_AT: u64 = 16;

/// Comparisons of characters per step, in a search.
const COMPARED: u64 = 256;

/// Steps for finding a time zone and its offset.
const TIME_ZONE: u64 = 100;

/// The estimate for a call.
pub(super) struct TextEstimate {
    pub(super) work: u64,
    pub(super) size: Size,
}

/// The estimate for a string function, from the sizes of the receiver and the arguments. `None` for other functions.
pub(super) fn made(name: &str, sizes: &[Size], call: &CallExpr) -> Option<TextEstimate> {
    let bytes = |at: usize| sizes.get(at).map_or(0, |size| size.whole.bytes);
    let text = bytes(0);
    let walked = text / LOOKED_AT + 1;
    let of_text = |work: u64, bytes: u64| TextEstimate {
        work: work.saturating_add(bytes / LOOKED_AT),
        size: Size {
            whole: Amount { values: 1, bytes },
            ..Size::SCALAR
        },
    };
    let scalar = |work: u64| TextEstimate {
        work,
        size: Size::SCALAR,
    };
    Some(match name {
        "charAt" | "lowerAscii" | "reverse" | "substring" | "trim" | "upperAscii" => {
            of_text(walked, text)
        }
        // The parser makes the namespace the receiver.
        "quote" => of_text(walked, bytes(1).saturating_mul(2).saturating_add(2)),
        "bytes" | "string" => of_text(walked, text.saturating_add(NUMBER)),
        "indexOf" | "lastIndexOf" => {
            scalar(walked.saturating_add(text.saturating_mul(bytes(1)) / COMPARED))
        }
        "replace" => {
            let known = call.args.first().and_then(literal).map_or(0, str::len);
            // The empty text matches before, between and after all characters.
            let places = (text / (known.max(1) as u64)).saturating_add(1);
            of_text(walked, text.saturating_add(places.saturating_mul(bytes(2))))
        }
        "join" => {
            let list = sizes.first().copied().unwrap_or(Size::SCALAR);
            let between = list.items.saturating_mul(bytes(1));
            of_text(list.whole.values, text.saturating_add(between))
        }
        "format" => {
            let given = sizes.get(1).copied().unwrap_or(Size::SCALAR).whole;
            let numbers = given.values.saturating_mul(FORMATTED);
            let written = given.bytes.saturating_mul(3).saturating_add(numbers);
            let work = walked.saturating_add(given.values);
            of_text(work, text.saturating_add(written))
        }
        time::SHOWN => {
            let given = sizes.first().copied().unwrap_or(Size::SCALAR);
            TextEstimate {
                work: given.whole.work(),
                size: given,
            }
        }
        "timestamp" | "duration" => scalar(walked),
        name if name.starts_with("get") && sizes.len() > 1 => scalar(TIME_ZONE),
        _ => return None,
    })
}

/// The value of a string literal.
pub(super) fn literal(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}
