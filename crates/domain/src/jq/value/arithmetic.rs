//! The operators of jq for two values.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::rc::Rc;

use charter_contract::bounds::JSON_BYTES;

use super::{Fields, JqValue, Number, Outcome, fault, unfit};

/// Creates the error for two values that an operator does not support.
fn unfit_pair(left: &JqValue, right: &JqValue, message: &str) -> super::Error {
    fault(format!(
        "{} and {} {message}",
        left.described(),
        right.described()
    ))
}

impl Add for JqValue {
    type Output = Outcome;

    fn add(self, other: Self) -> Outcome {
        match (self, other) {
            (Self::Null, value) | (value, Self::Null) => Ok(value),
            (Self::Number(left), Self::Number(right)) => Ok(Self::Number(left.plus(&right))),
            (Self::Text(mut left), Self::Text(right)) => {
                Rc::make_mut(&mut left).push_str(&right);
                Ok(Self::Text(left))
            }
            (Self::List(mut left), Self::List(right)) => {
                Rc::make_mut(&mut left).extend(Rc::unwrap_or_clone(right));
                Ok(Self::List(left))
            }
            (Self::Object(mut left), Self::Object(right)) => {
                Rc::make_mut(&mut left).extend(Rc::unwrap_or_clone(right));
                Ok(Self::Object(left))
            }
            (left, right) => Err(unfit_pair(&left, &right, "cannot be added")),
        }
    }
}

impl Sub for JqValue {
    type Output = Outcome;

    fn sub(self, other: Self) -> Outcome {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => Ok(Self::Number(left.minus(&right))),
            (Self::List(mut left), Self::List(right)) => {
                let mut taken: Vec<&Self> = right.iter().collect();
                taken.sort();
                Rc::make_mut(&mut left).retain(|item| taken.binary_search(&item).is_err());
                Ok(Self::List(left))
            }
            (left, right) => Err(unfit_pair(&left, &right, "cannot be subtracted")),
        }
    }
}

impl Mul for JqValue {
    type Output = Outcome;

    fn mul(self, other: Self) -> Outcome {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => Ok(Self::Number(left.times(&right))),
            (Self::Text(text), Self::Number(times)) | (Self::Number(times), Self::Text(text)) => {
                repeated(&text, &times)
            }
            (Self::Object(left), Self::Object(right)) => {
                let merged = merged(Rc::unwrap_or_clone(left), Rc::unwrap_or_clone(right));
                Ok(Self::object(merged))
            }
            (left, right) => Err(unfit_pair(&left, &right, "cannot be multiplied")),
        }
    }
}

/// Repeats a text this number of times; null for a negative number.
fn repeated(text: &str, times: &Number) -> Outcome {
    if times.is_nan() || times.is_negative() {
        return Ok(JqValue::Null);
    }
    let times = times.truncated().unwrap_or_default();
    let times = usize::try_from(times).unwrap_or(usize::MAX);
    match text.len().checked_mul(times) {
        Some(length) if length <= JSON_BYTES => Ok(JqValue::text(text.repeat(times))),
        Some(_) | None => Err(fault(format!(
            "a repeated string may have at most {JSON_BYTES} bytes (JSON_BYTES)"
        ))),
    }
}

/// Merges two objects, recursively for fields that are objects in both.
fn merged(mut left: Fields, right: Fields) -> Fields {
    for (name, value) in right {
        let old = left.entry(name).or_default();
        *old = match (std::mem::take(old), value) {
            (JqValue::Object(old), JqValue::Object(new)) => {
                JqValue::object(merged(Rc::unwrap_or_clone(old), Rc::unwrap_or_clone(new)))
            }
            (_, new) => new,
        };
    }
    left
}

impl Div for JqValue {
    type Output = Outcome;

    fn div(self, other: Self) -> Outcome {
        match (&self, &other) {
            (Self::Number(left), Self::Number(right)) => {
                let quotient = left.divided_by(right).map(Self::Number);
                let zero = "cannot be divided because the divisor is zero";
                quotient.ok_or_else(|| unfit_pair(&self, &other, zero))
            }
            (Self::Text(text), Self::Text(separator)) => Ok(split(text, separator)),
            _ => Err(unfit_pair(&self, &other, "cannot be divided")),
        }
    }
}

/// Splits a text at separators, or into its characters.
pub(in crate::jq) fn split(text: &str, separator: &str) -> JqValue {
    if separator.is_empty() {
        return text.chars().map(JqValue::text).collect();
    }
    if text.is_empty() {
        return JqValue::list(Vec::new());
    }
    text.split(separator).map(JqValue::text).collect()
}

impl Rem for JqValue {
    type Output = Outcome;

    fn rem(self, other: Self) -> Outcome {
        match (&self, &other) {
            (Self::Number(left), Self::Number(right)) => {
                let remainder = left.remainder(right).map(Self::Number);
                let zero = "cannot be divided (remainder) because the divisor is zero";
                remainder.ok_or_else(|| unfit_pair(&self, &other, zero))
            }
            _ => Err(unfit_pair(&self, &other, "cannot be divided (remainder)")),
        }
    }
}

impl Neg for JqValue {
    type Output = Outcome;

    fn neg(self) -> Outcome {
        match self {
            Self::Number(number) => Ok(Self::Number(number.negated())),
            other => Err(unfit(&other, "cannot be negated")),
        }
    }
}
