//! Functions of texts.

use charter_contract::json::{Profile, decode_text};
use jaq_core::native::{bome, unary, v};

use super::Plain;
use crate::jq::value::{JqValue, Number, Outcome, fault, split, unfit};

/// The number of lines of its input, a text, plus one.
pub(in crate::jq) const LINE: &str = "!line";

pub(super) fn filters() -> Box<[Plain]> {
    Box::new([
        ("startswith", v(1), |cv| {
            unary(cv, |text, part| {
                compared(
                    &text,
                    &part,
                    "startswith() requires string inputs",
                    |text, part| text.starts_with(part),
                )
            })
        }),
        ("endswith", v(1), |cv| {
            unary(cv, |text, part| {
                compared(
                    &text,
                    &part,
                    "endswith() requires string inputs",
                    |text, part| text.ends_with(part),
                )
            })
        }),
        ("split", v(1), |cv| unary(cv, |text, at| parts(&text, &at))),
        ("join", v(1), |cv| {
            unary(cv, |value, separator| joined(value, &separator))
        }),
        ("explode", v(0), |cv| bome(exploded(&cv.1))),
        ("implode", v(0), |cv| bome(imploded(&cv.1))),
        ("ascii_downcase", v(0), |cv| {
            let message = "explode input must be a string";
            bome(changed(&cv.1, message, str::to_ascii_lowercase))
        }),
        ("ascii_upcase", v(0), |cv| {
            let message = "explode input must be a string";
            bome(changed(&cv.1, message, str::to_ascii_uppercase))
        }),
        ("trim", v(0), |cv| {
            let message = "trim input must be a string";
            bome(changed(&cv.1, message, |text| text.trim().to_owned()))
        }),
        ("ltrim", v(0), |cv| {
            let message = "trim input must be a string";
            bome(changed(&cv.1, message, |text| text.trim_start().to_owned()))
        }),
        ("rtrim", v(0), |cv| {
            let message = "trim input must be a string";
            bome(changed(&cv.1, message, |text| text.trim_end().to_owned()))
        }),
        ("utf8bytelength", v(0), |cv| bome(bytes(&cv.1))),
        ("fromjson", v(0), |cv| bome(read(&cv.1))),
        ("toboolean", v(0), |cv| bome(boolean(cv.1))),
        (LINE, v(0), |cv| bome(Ok(line(&cv.1)))),
    ])
}

fn compared(
    text: &JqValue,
    part: &JqValue,
    message: &str,
    compare: fn(&str, &str) -> bool,
) -> Outcome {
    match (text, part) {
        (JqValue::Text(text), JqValue::Text(part)) => Ok(JqValue::Bool(compare(text, part))),
        _ => Err(fault(message)),
    }
}

fn changed(text: &JqValue, message: &str, change: fn(&str) -> String) -> Outcome {
    let JqValue::Text(text) = text else {
        return Err(fault(message));
    };
    Ok(JqValue::text(change(text)))
}

fn parts(text: &JqValue, separator: &JqValue) -> Outcome {
    match (text, separator) {
        (JqValue::Text(text), JqValue::Text(separator)) => Ok(split(text, separator)),
        _ => Err(fault("split input and separator must be strings")),
    }
}

/// Joins texts, numbers and booleans with a separator; null counts as an empty text.
fn joined(value: JqValue, separator: &JqValue) -> Outcome {
    let mut whole = None;
    for item in value.elements()? {
        let item = match item {
            JqValue::Bool(_) | JqValue::Number(_) => JqValue::text(item.to_string()),
            JqValue::Null => JqValue::text(""),
            JqValue::Text(_) | JqValue::List(_) | JqValue::Object(_) => item,
        };
        let before = match whole.take() {
            None => JqValue::text(""),
            Some(whole) => (whole + separator.clone())?,
        };
        whole = Some((before + item)?);
    }
    Ok(whole.unwrap_or_else(|| JqValue::text("")))
}

fn exploded(text: &JqValue) -> Outcome {
    let JqValue::Text(text) = text else {
        return Err(fault("explode input must be a string"));
    };
    let codes = text
        .chars()
        .map(|c| JqValue::number(i64::from(u32::from(c))));
    Ok(codes.collect())
}

fn imploded(codes: &JqValue) -> Outcome {
    let JqValue::List(codes) = codes else {
        return Err(fault("implode input must be an array"));
    };
    let character = |code: &JqValue| {
        let JqValue::Number(code) = code else {
            let message = "can't be imploded, unicode codepoint needs to be numeric";
            return Err(unfit(code, message));
        };
        let code = code.truncated().and_then(|code| u32::try_from(code).ok());
        let character = code.and_then(char::from_u32);
        Ok(character.unwrap_or(char::REPLACEMENT_CHARACTER))
    };
    Ok(JqValue::text(
        codes.iter().map(character).collect::<Outcome<String>>()?,
    ))
}

fn bytes(text: &JqValue) -> Outcome {
    let JqValue::Text(text) = text else {
        return Err(unfit(text, "only strings have UTF-8 byte length"));
    };
    Ok(JqValue::count(text.len()))
}

fn read(text: &JqValue) -> Outcome {
    let JqValue::Text(text) = text else {
        return Err(unfit(text, "only strings can be parsed"));
    };
    if text.trim().eq_ignore_ascii_case("nan") {
        return Ok(JqValue::Number(Number::Float(f64::NAN)));
    }
    decode_text(text, Profile::OUTPUT)
        .map_err(|error| fault(format!("{error} (while parsing '{text}')")))
}

fn boolean(value: JqValue) -> Outcome {
    match &value {
        JqValue::Bool(_) => Ok(value),
        JqValue::Text(text) if text.as_str() == "true" => Ok(JqValue::Bool(true)),
        JqValue::Text(text) if text.as_str() == "false" => Ok(JqValue::Bool(false)),
        other => Err(unfit(other, "cannot be parsed as a boolean")),
    }
}

fn line(before: &JqValue) -> JqValue {
    let JqValue::Text(before) = before else {
        return JqValue::Null;
    };
    JqValue::count(before.matches('\n').count() + 1)
}
