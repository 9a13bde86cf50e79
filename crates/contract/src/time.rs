//! Timestamps in the format of every contract: RFC 3339 text, stored as whole microseconds. Reads no clock: the caller
//! supplies the time.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A timestamp, precise to the microsecond; further digits are dropped.
///
/// It is written in UTC with `Z`; an offset is accepted on input and not kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

/// Description of the expected format.
pub(crate) const EXPECTED: &str =
    "a date and time with an offset (RFC 3339), such as 2026-04-14T12:00:00Z";

/// Error: text that is not an RFC 3339 date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {EXPECTED}")]
pub struct TimeError;

impl Timestamp {
    /// Parses an RFC 3339 date and time.
    ///
    /// # Errors
    /// [`TimeError`] for any other format, including those that ISO 8601 allows beyond RFC 3339.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        rfc3339_parts(text).ok_or(TimeError)?;
        let parsed: jiff::Timestamp = text.parse().map_err(|_| TimeError)?;
        Self::from_micros(parsed.as_microsecond())
    }

    /// Returns the time `micros` microseconds after 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    /// [`TimeError`] outside the years of RFC 3339.
    pub fn from_micros(micros: i64) -> Result<Self, TimeError> {
        let time = jiff::Timestamp::from_microsecond(micros).map_err(|_| TimeError)?;
        if (YEAR_0000..YEAR_10000).contains(&time.as_second()) {
            Ok(Self(time))
        } else {
            Err(TimeError)
        }
    }

    /// Returns the microseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn as_micros(self) -> i64 {
        self.0.as_microsecond()
    }

    /// Returns the time as a jiff timestamp.
    #[must_use]
    pub fn as_jiff(self) -> jiff::Timestamp {
        self.0
    }
}

/// Seconds of 0000-01-01T00:00:00Z, the first year of RFC 3339, since 1970.
const YEAR_0000: i64 = -62_167_219_200;
/// Seconds of 10000-01-01T00:00:00Z, which RFC 3339 cannot represent, since 1970.
const YEAR_10000: i64 = 253_402_300_800;

/// Splits `YYYY-MM-DDThh:mm:ss[.f+](Z|±hh:mm)` into the local date and time, and the offset from UTC in seconds. `None`
/// for another format. The caller checks the ranges of the date and time.
#[must_use]
pub fn rfc3339_parts(text: &str) -> Option<(&str, i32)> {
    const FORM: &[u8; 19] = b"dddd-dd-ddTdd:dd:dd";
    let (head, mut rest) = text.as_bytes().split_at_checked(FORM.len())?;
    let shaped = head.iter().zip(FORM).all(|(byte, form)| match form {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't'),
        other => byte == other,
    });
    if !shaped {
        return None;
    }
    if let [b'.', fraction @ ..] = rest {
        let digits = fraction
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if !(1..=MAX_FRACTION_DIGITS).contains(&digits) {
            return None;
        }
        rest = fraction.get(digits..)?;
    }
    let written = text.get(..text.len() - rest.len())?;
    match rest {
        [b'Z' | b'z'] => Some((written, 0)),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let ahead = two_digits(*h1, *h2, 23)? * 3_600 + two_digits(*m1, *m2, 59)? * 60;
            Some((written, if *sign == b'-' { -ahead } else { ahead }))
        }
        _ => None,
    }
}

fn two_digits(tens: u8, ones: u8, most: i32) -> Option<i32> {
    let both = [tens, ones].iter().all(u8::is_ascii_digit);
    let number = i32::from(tens) * 10 + i32::from(ones) - i32::from(b'0') * 11;
    (both && number <= most).then_some(number)
}

/// Maximum number of fraction digits: no clock is finer than a nanosecond.
const MAX_FRACTION_DIGITS: usize = 9;

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::parse(text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        crate::shape::deserialize_str(from, "Timestamp", Self::parse)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_is_read_and_written_in_utc() {
        for (given, written) in [
            ("2026-04-14T12:00:00Z", "2026-04-14T12:00:00Z"),
            ("2026-04-14t12:00:00z", "2026-04-14T12:00:00Z"),
            ("2026-04-14T14:00:00+02:00", "2026-04-14T12:00:00Z"),
            ("2026-04-14T12:00:00.5Z", "2026-04-14T12:00:00.5Z"),
            (
                "2026-04-14T12:00:00.123456789Z",
                "2026-04-14T12:00:00.123456Z",
            ),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
        ] {
            assert_eq!(
                Timestamp::parse(given).map(|time| time.to_string()),
                Ok(written.into())
            );
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in [
            "",
            "2026-04-14",
            "2026-04-14T12:00:00",
            "2026-04-14 12:00:00Z",
            "20260414T120000Z",
            "2026-04-14T12:00Z",
            "2026-02-30T12:00:00Z",
            "2026-04-14T25:00:00Z",
            "2026-04-14T12:00:00.Z",
            "2026-04-14T12:00:00+0200",
            "2026-04-14T12:00:00+24:00",
            "2026-04-14T12:00:00+02:60",
            "9999-12-31T23:59:59-01:00",
            "0000-01-01T00:00:00+01:00",
            "2026-04-14T12:00:00[UTC]",
            "+002026-04-14T12:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(bad), Err(TimeError), "{bad}");
        }
    }

    #[test]
    fn microseconds_survive_a_round_trip() {
        let time = Timestamp::parse("1969-12-31T23:59:59.999999Z").unwrap();
        assert_eq!(time.as_micros(), -1);
        assert_eq!(Timestamp::from_micros(-1), Ok(time));
        assert_eq!(Timestamp::from_micros(i64::MAX), Err(TimeError));
    }
}
