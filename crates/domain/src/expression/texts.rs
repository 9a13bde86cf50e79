//! How much the functions of texts do and make, by what they are given. Some make more than they are given: a replacement
//! may stand behind every character. A loop cannot let texts grow from turn to turn, so what one call makes is all.

use cel::common::ast::CallExpr;

use super::facts::{Amount, Size};
use super::time;
use super::work::literal;

/// Bytes of a number as text: a `double` has no exponent there.
const NUMBER: u64 = 330;

/// Bytes of a number that `format` writes with all the decimal places that it may have.
const FORMATTED: u64 = 420;

/// Bytes of text that are looked at, character by character, in a step.
const LOOKED_AT: u64 = 16;

/// Characters that are compared in a step, where a text is looked for at every place of another.
const COMPARED: u64 = 256;

/// Steps of looking up a time zone and the offset that it has.
const TIME_ZONE: u64 = 100;

/// What a call does and makes.
pub(super) struct Made {
    pub(super) work: u64,
    pub(super) size: Size,
}

/// What a function of texts does and makes, by the sizes of what it is called on and of its arguments; none for others.
pub(super) fn made(name: &str, sizes: &[Size], call: &CallExpr) -> Option<Made> {
    let bytes = |at: usize| sizes.get(at).map_or(0, |size| size.whole.bytes);
    let text = bytes(0);
    let walked = text / LOOKED_AT + 1;
    let of_text = |work: u64, bytes: u64| Made {
        work: work.saturating_add(bytes / LOOKED_AT),
        size: Size {
            whole: Amount { values: 1, bytes },
            ..Size::SCALAR
        },
    };
    let scalar = |work: u64| Made {
        work,
        size: Size::SCALAR,
    };
    Some(match name {
        "charAt" | "lowerAscii" | "reverse" | "substring" | "trim" | "upperAscii" => {
            of_text(walked, text)
        }
        // Its namespace stands before its argument.
        "quote" => of_text(walked, bytes(1).saturating_mul(2).saturating_add(2)),
        "bytes" | "string" => of_text(walked, text.saturating_add(NUMBER)),
        "indexOf" | "lastIndexOf" => {
            scalar(walked.saturating_add(text.saturating_mul(bytes(1)) / COMPARED))
        }
        "replace" => {
            let known = call.args.first().and_then(literal).map_or(0, str::len);
            // Nothing is found before, between and behind all characters.
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
            Made {
                work: given.whole.work(),
                size: given,
            }
        }
        "timestamp" | "duration" => scalar(walked),
        name if name.starts_with("get") && sizes.len() > 1 => scalar(TIME_ZONE),
        _ => return None,
    })
}
