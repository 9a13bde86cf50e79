//! Numbers in everyday notation: `1,200.50`, `7,99`, `10k`, `twenty-five`.
//!
//! Numbers are exact: a number has its digits and a power of ten, and is converted to a JSON number at the end.

use serde_json::{Number, Value};

/// The maximum number of digits; a longer number is not a quantity.
const MOST_DIGITS: usize = 30;

/// The maximum number of decimal places after the conversion of a unit.
const MOST_PLACES: u32 = 9;

/// An exact decimal number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    places: u32,
}

impl Decimal {
    /// A whole number.
    pub(super) fn whole(number: i128) -> Self {
        Self {
            digits: number,
            places: 0,
        }
    }

    fn new(digits: i128, places: u32) -> Self {
        let mut number = Self { digits, places };
        while number.places > 0 && number.digits % 10 == 0 {
            number.digits /= 10;
            number.places -= 1;
        }
        number
    }

    /// Multiplies by one whole number and divides by another, if the result has few decimal places.
    pub(super) fn scaled(self, times: i128, by: i128) -> Option<Self> {
        let mut digits = self.digits.checked_mul(times)?;
        let mut places = self.places;
        while by != 0 && digits % by != 0 && places < MOST_PLACES {
            digits = digits.checked_mul(10)?;
            places += 1;
        }
        let exact = by != 0 && digits % by == 0;
        exact.then(|| Self::new(digits / by, places))
    }

    /// Adds a whole number, if this number is whole.
    pub(super) fn plus(self, more: i128) -> Option<Self> {
        let sum = self.digits.checked_add(more)?;
        self.is_whole().then(|| Self::whole(sum))
    }

    /// Returns one half.
    pub(super) fn half() -> Self {
        Self::new(5, 1)
    }

    /// Adds two numbers.
    pub(super) fn sum(self, other: Self) -> Option<Self> {
        let places = self.places.max(other.places);
        let grown = |number: Self| {
            let times = 10_i128.checked_pow(places - number.places)?;
            number.digits.checked_mul(times)
        };
        let digits = grown(self)?.checked_add(grown(other)?)?;
        Some(Self::new(digits, places))
    }

    /// Returns whether it is negative.
    pub(super) fn is_negative(self) -> bool {
        self.digits < 0
    }

    /// Returns whether it is a whole number.
    pub(super) fn is_whole(self) -> bool {
        self.places == 0
    }

    /// Returns it as a whole number.
    pub(super) fn as_whole(self) -> Option<i64> {
        let whole = i64::try_from(self.digits).ok();
        whole.filter(|_| self.is_whole())
    }

    /// Returns it as JSON; `None` if JSON cannot represent it.
    pub(super) fn to_value(self) -> Option<Value> {
        if self.is_whole() {
            let signed = i64::try_from(self.digits).ok().map(Value::from);
            return signed.or_else(|| u64::try_from(self.digits).ok().map(Value::from));
        }
        let text = format!("{}e-{}", self.digits, self.places);
        let number: f64 = text.parse().ok()?;
        Number::from_f64(number).map(Value::Number)
    }
}

/// A parsed number, and whether it is ambiguous: `1.200` in German is `1,200` in English.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numeral {
    /// The number.
    pub(super) number: Decimal,
    /// Whether a single point may be a thousands separator.
    pub(super) ambiguous: bool,
}

/// Returns whether digits and commas form one number, rather than a list.
pub(super) fn is_written_number(chunk: &str) -> bool {
    let core = chunk.trim_matches(|c: char| !c.is_ascii_digit());
    written(core).is_some()
}

/// Parses a number in digits, with a sign, a decimal point and thousands separators.
pub(super) fn written(text: &str) -> Option<Numeral> {
    let (sign, bare) = match text.strip_prefix('-') {
        Some(bare) => (-1, bare),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let starts = bare.starts_with(|c: char| c.is_ascii_digit());
    let formed = bare
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '_' | '\'' | '’'));
    if !starts || !formed || bare.len() > MOST_DIGITS {
        return None;
    }
    let (whole, fraction, ambiguous) = point(bare)?;
    let digits: String = [whole.as_str(), fraction].concat();
    let digits: i128 = digits.parse().ok()?;
    let places = u32::try_from(fraction.len()).ok()?;
    let number = Decimal::new(sign * digits, places);
    Some(Numeral { number, ambiguous })
}

/// Returns the digits before and after the point, and whether the point may be a thousands separator.
fn point(text: &str) -> Option<(String, &str, bool)> {
    let commas = text.matches(',').count();
    let points = text.matches('.').count();
    let plain = |whole: &str| grouped(whole, &['_', '\'', '’']);
    match (commas, points) {
        (0, 0) => Some((plain(text)?, "", false)),
        (0, 1) => {
            let (whole, fraction) = text.split_once('.')?;
            let ambiguous = fraction.len() == 3 && whole.len() <= 3 && !whole.starts_with('0');
            let digits = fraction.chars().all(|c| c.is_ascii_digit()) && !fraction.is_empty();
            digits.then_some(())?;
            Some((plain(whole)?, fraction, ambiguous))
        }
        (1, 0) => {
            let (whole, after) = text.split_once(',')?;
            match after.len() {
                1 | 2 => Some((plain(whole)?, after, false)),
                _ => Some((grouped(text, &[','])?, "", false)),
            }
        }
        (_, 0) => Some((grouped(text, &[','])?, "", false)),
        (0, _) => Some((grouped(text, &['.'])?, "", false)),
        (_, 1) if text.rfind('.') > text.rfind(',') => {
            let (whole, fraction) = text.split_once('.')?;
            Some((grouped(whole, &[','])?, digits_of(fraction)?, false))
        }
        (1, _) => {
            let (whole, fraction) = text.split_once(',')?;
            Some((grouped(whole, &['.'])?, digits_of(fraction)?, false))
        }
        _ => None,
    }
}

fn digits_of(text: &str) -> Option<&str> {
    let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    digits.then_some(text)
}

/// Returns digits without their thousands separators; `None` if these are misplaced.
fn grouped(text: &str, separators: &[char]) -> Option<String> {
    let mut groups = text.split(separators);
    let first = groups.next()?;
    let rest: Vec<&str> = groups.collect();
    let right = rest.iter().all(|group| group.len() == 3) && (rest.is_empty() || first.len() <= 3);
    let digits = [first]
        .iter()
        .chain(&rest)
        .all(|group| digits_of(group).is_some());
    let zero = !rest.is_empty() && first.starts_with('0');
    (right && digits && !zero).then(|| [&[first], rest.as_slice()].concat().concat())
}

/// Returns the multiplier of a word or of a number's suffix, such as thousands.
pub(super) fn multiplier(lower: &str) -> Option<i128> {
    match lower {
        "k" | "thousand" | "thousands" | "grand" => Some(1_000),
        "mn" | "mio" | "million" | "millions" => Some(1_000_000),
        "bn" | "billion" | "billions" => Some(1_000_000_000),
        _ => None,
    }
}

/// Parses a number below one hundred in one word.
pub(super) fn below_hundred(word: &str) -> Option<i128> {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let place = |names: &[&str], word: &str| {
        let found = names.iter().position(|name| *name == word);
        found.and_then(|found| i128::try_from(found).ok())
    };
    let tens = |word: &str| place(&TENS, word).map(|found| (found + 2) * 10);
    if let Some((first, second)) = word.split_once('-') {
        let unit = place(&SMALL, second).filter(|unit| (1..10).contains(unit));
        return Some(tens(first)? + unit?);
    }
    place(&SMALL, word).or_else(|| tens(word))
}
