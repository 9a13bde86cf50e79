//! Functions of numbers in addition to jaq's: they round integers of any size.

use jaq_core::native::{bome, v};

use super::Plain;
use crate::jq::value::{JqValue, Number, Outcome, unfit};

pub(super) fn filters() -> Box<[Plain]> {
    Box::new([
        ("floor", v(0), |cv| bome(rounded(&cv.1, f64::floor))),
        ("ceil", v(0), |cv| bome(rounded(&cv.1, f64::ceil))),
        ("round", v(0), |cv| bome(rounded(&cv.1, f64::round))),
        ("trunc", v(0), |cv| bome(rounded(&cv.1, f64::trunc))),
        ("nan", v(0), |_| bome(Ok(JqValue::number(f64::NAN)))),
        ("infinite", v(0), |_| {
            bome(Ok(JqValue::number(f64::INFINITY)))
        }),
        ("isnan", v(0), |cv| bome(is(&cv.1, f64::is_nan))),
        ("isinfinite", v(0), |cv| bome(is(&cv.1, f64::is_infinite))),
        ("isnormal", v(0), |cv| bome(is(&cv.1, f64::is_normal))),
        ("tonumber", v(0), |cv| bome(parsed(cv.1))),
    ])
}

fn rounded(value: &JqValue, round: fn(f64) -> f64) -> Outcome {
    match value {
        JqValue::Number(number) => Ok(JqValue::Number(number.rounded(round))),
        other => Err(unfit(other, "number required")),
    }
}

fn is(value: &JqValue, test: fn(f64) -> bool) -> Outcome {
    match value {
        JqValue::Number(number) => Ok(JqValue::Bool(test(number.as_f64()))),
        JqValue::Null
        | JqValue::Bool(_)
        | JqValue::Text(_)
        | JqValue::List(_)
        | JqValue::Object(_) => Ok(JqValue::Bool(false)),
    }
}

fn parsed(value: JqValue) -> Outcome {
    let number = match &value {
        JqValue::Number(_) => return Ok(value),
        JqValue::Text(text) if text.as_str() == "nan" => Some(Number::Float(f64::NAN)),
        JqValue::Text(text) => Number::read(text),
        JqValue::Null | JqValue::Bool(_) | JqValue::List(_) | JqValue::Object(_) => None,
    };
    number
        .map(JqValue::Number)
        .ok_or_else(|| unfit(&value, "cannot be parsed as a number"))
}
