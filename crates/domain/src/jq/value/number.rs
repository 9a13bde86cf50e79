//! Numbers of filters: integers of any size, and doubles. As in jq, a decimal keeps its digits until it is used in a
//! calculation.

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

use num_bigint::{BigInt, Sign};
use num_traits::{FromPrimitive, ToPrimitive, Zero};

/// The bound from which not every integer is representable as a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A number.
#[derive(Debug, Clone)]
pub(in crate::jq) enum Number {
    /// An integer of 64 bits.
    Int(i64),
    /// A larger integer.
    Big(Rc<BigInt>),
    /// A double, which may be infinite or nan.
    Float(f64),
    /// A decimal as it was written, without an exponent.
    Decimal(Rc<str>),
}

impl Number {
    /// Parses a number in the notation of JSON and jq; `None` for any other text.
    pub(in crate::jq) fn read(text: &str) -> Option<Self> {
        if let Ok(number) = text.parse() {
            return Some(Self::Int(number));
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let negative = text.starts_with('-');
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !digits(whole) || !digits(fraction) {
            return None;
        }
        if let Some(exponent) = exponent {
            let figures = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if figures.is_empty() || !digits(figures) {
                return None;
            }
            return text.parse::<f64>().ok().map(Self::from);
        }
        if fraction.is_empty() {
            let whole = BigInt::parse_bytes(whole.as_bytes(), 10)?;
            return Some(Self::from(if negative { -whole } else { whole }));
        }
        let sign = if negative { "-" } else { "" };
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        Some(Self::Decimal(format!("{sign}{whole}.{fraction}").into()))
    }

    /// Returns the nearest double.
    pub(in crate::jq) fn as_f64(&self) -> f64 {
        match self {
            Self::Int(number) => *number as f64,
            Self::Big(number) => number.to_f64().unwrap_or(f64::NAN),
            Self::Float(number) => *number,
            Self::Decimal(digits) => digits.parse().unwrap_or(f64::NAN),
        }
    }

    /// Returns the number as a 64-bit integer without its fraction, or the nearest one. `None` for nan.
    pub(in crate::jq) fn truncated(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Big(number) if number.sign() == Sign::Minus => Some(i64::MIN),
            Self::Big(_) => Some(i64::MAX),
            Self::Float(_) | Self::Decimal(_) => {
                let number = self.as_f64();
                (!number.is_nan()).then_some(number as i64)
            }
        }
    }

    pub(in crate::jq) fn is_nan(&self) -> bool {
        self.as_f64().is_nan()
    }

    pub(in crate::jq) fn is_zero(&self) -> bool {
        self.as_f64() == 0.0
    }

    pub(in crate::jq) fn is_negative(&self) -> bool {
        self.as_f64() < 0.0
    }

    pub(in crate::jq) fn is_integer(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Big(_))
    }

    /// Returns the number, if it is an integer.
    fn integer(&self) -> Option<BigInt> {
        match self {
            Self::Int(number) => Some(BigInt::from(*number)),
            Self::Big(number) => Some((**number).clone()),
            Self::Float(_) | Self::Decimal(_) => None,
        }
    }

    /// Calculates exactly with two integers, and otherwise with doubles.
    fn calculated(
        &self,
        other: &Self,
        small: fn(i64, i64) -> Option<i64>,
        large: fn(BigInt, BigInt) -> BigInt,
        float: fn(f64, f64) -> f64,
    ) -> Self {
        if let (Self::Int(left), Self::Int(right)) = (self, other)
            && let Some(result) = small(*left, *right)
        {
            return Self::Int(result);
        }
        match (self.integer(), other.integer()) {
            (Some(left), Some(right)) => Self::from(large(left, right)),
            (Some(_) | None, _) => Self::from(float(self.as_f64(), other.as_f64())),
        }
    }

    pub(in crate::jq) fn plus(&self, other: &Self) -> Self {
        self.calculated(other, i64::checked_add, |a, b| a + b, |a, b| a + b)
    }

    pub(in crate::jq) fn minus(&self, other: &Self) -> Self {
        self.calculated(other, i64::checked_sub, |a, b| a - b, |a, b| a - b)
    }

    pub(in crate::jq) fn times(&self, other: &Self) -> Self {
        self.calculated(other, i64::checked_mul, |a, b| a * b, |a, b| a * b)
    }

    /// Returns the quotient; `None` if the divisor is zero.
    pub(in crate::jq) fn divided_by(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        if let (Some(left), Some(right)) = (self.integer(), other.integer())
            && (&left % &right).is_zero()
        {
            return Some(Self::from(left / right));
        }
        Some(Self::from(self.as_f64() / other.as_f64()))
    }

    /// Returns the remainder of both numbers without their fractions; `None` if the divisor is then zero.
    pub(in crate::jq) fn remainder(&self, other: &Self) -> Option<Self> {
        if let (Some(left), Some(right)) = (self.integer(), other.integer()) {
            return (!right.is_zero()).then(|| Self::from(left % right));
        }
        let (Some(left), Some(right)) = (self.truncated(), other.truncated()) else {
            return Some(Self::Float(f64::NAN));
        };
        (right != 0).then(|| Self::Int(left.checked_rem(right).unwrap_or(0)))
    }

    pub(in crate::jq) fn negated(&self) -> Self {
        match self {
            Self::Int(_) | Self::Big(_) => Self::Int(0).minus(self),
            Self::Float(number) => Self::Float(-number),
            Self::Decimal(digits) => match digits.strip_prefix('-') {
                Some(digits) => Self::Decimal(digits.into()),
                None => Self::Decimal(format!("-{digits}").into()),
            },
        }
    }

    /// Rounds with a function of doubles; an integer remains unchanged.
    pub(in crate::jq) fn rounded(&self, round: fn(f64) -> f64) -> Self {
        if self.is_integer() {
            return self.clone();
        }
        Self::from(round(self.as_f64()))
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<BigInt> for Number {
    fn from(number: BigInt) -> Self {
        number
            .to_i64()
            .map_or_else(|| Self::Big(Rc::new(number)), Self::Int)
    }
}

impl From<f64> for Number {
    /// Converts a double to an integer if it is one, within the range in which every integer is a double.
    fn from(number: f64) -> Self {
        if number.fract() == 0.0 && number.abs() < EXACT {
            return Self::Int(number as i64);
        }
        Self::Float(number)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        !self.is_nan() && self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Self::Int(left), Self::Int(right)) = (self, other) {
            return left.cmp(right);
        }
        match (self.integer(), other.integer()) {
            (Some(left), Some(right)) => left.cmp(&right),
            (Some(left), None) => against_double(&left, other.as_f64()),
            (None, Some(right)) => against_double(&right, self.as_f64()).reverse(),
            (None, None) => doubles(self.as_f64(), other.as_f64()),
        }
    }
}

/// Orders doubles; nan precedes every number.
fn doubles(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
    }
}

/// Compares exactly, so that the order of any three numbers is consistent.
fn against_double(integer: &BigInt, double: f64) -> Ordering {
    match BigInt::from_f64(double.trunc()) {
        Some(whole) => integer
            .cmp(&whole)
            .then_with(|| doubles(0.0, double.fract())),
        None if double.is_nan() || double < 0.0 => Ordering::Greater,
        None => Ordering::Less,
    }
}

impl fmt::Display for Number {
    /// Writes the number as jq writes it in JSON: nan as null, and infinities as the largest numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Big(number) => write!(f, "{number}"),
            Self::Float(number) if number.is_nan() => f.write_str("null"),
            Self::Float(number) => write_double(f, number.clamp(f64::MIN, f64::MAX)),
            Self::Decimal(digits) => f.write_str(digits),
        }
    }
}

/// Writes the fewest digits that yield the same double: in full, or with an exponent to avoid many zeros.
fn write_double(f: &mut fmt::Formatter<'_>, number: f64) -> fmt::Result {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    if number.is_sign_negative() {
        f.write_str("-")?;
    }
    let point = exponent + 1;
    if point <= -4 || point > count + 15 {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        return write!(f, "{first}{dot}{rest}e{exponent:+03}");
    }
    if point <= 0 {
        let zeros = "0".repeat(point.unsigned_abs() as usize);
        return write!(f, "0.{zeros}{digits}");
    }
    let before = point.unsigned_abs() as usize;
    match digits.split_at_checked(before) {
        Some((whole, "")) => f.write_str(whole),
        Some((whole, fraction)) => write!(f, "{whole}.{fraction}"),
        None => write!(f, "{digits:0<before$}"),
    }
}
