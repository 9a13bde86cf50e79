//! Plain scalars of the YAML 1.2 core schema, as far as JSON can represent them.

use serde_json::{Number, Value};

/// An integer with more than 64 bits, which would be rounded to this number; `None` if it exceeds every double.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TooLong(pub(super) Option<Number>);

/// Returns the value of an unquoted scalar. Infinities and not-a-number have no JSON form and remain text.
pub(super) fn plain(text: &str) -> Result<Value, TooLong> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        other => number(other)?.map_or_else(|| Value::String(other.to_owned()), Value::Number),
    })
}

fn number(text: &str) -> Result<Option<Number>, TooLong> {
    if let Some(digits) = text.strip_prefix("0x") {
        return Ok(u64::from_str_radix(digits, 16).ok().map(Number::from));
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return Ok(u64::from_str_radix(digits, 8).ok().map(Number::from));
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !unsigned
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'))
    {
        return Ok(None);
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = text.parse::<i64>() {
        return Ok(Some(Number::from(whole)));
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Ok(Some(Number::from(whole)));
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(TooLong(double(text)));
    }
    Ok(double(text))
}

fn double(text: &str) -> Option<Number> {
    text.parse::<f64>().ok().and_then(Number::from_f64)
}
