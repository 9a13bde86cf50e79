//! Numbers of the contracts. JSON has one kind of number: a JSON Schema treats `3.0` as the integer 3, and so does
//! this file. Integers stay within ±(2^53 − 1), which every JSON reader represents exactly (RFC 8259 §6).

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The largest integer that every JSON reader represents exactly.
pub const MAX_INTEGER: i64 = 9_007_199_254_740_991;

/// Reads an integral JSON number within `min..=max`.
fn deserialize_integer<'de, D: Deserializer<'de>>(
    from: D,
    min: i64,
    max: i64,
) -> Result<i64, D::Error> {
    struct Integral(i64, i64);

    impl Integral {
        fn within<E: Error>(&self, value: i64) -> Result<i64, E> {
            if (self.0..=self.1).contains(&value) {
                Ok(value)
            } else {
                Err(E::invalid_value(Unexpected::Signed(value), self))
            }
        }
    }

    impl Visitor<'_> for Integral {
        type Value = i64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an integer from {} to {}", self.0, self.1)
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<i64, E> {
            self.within(value)
        }

        fn visit_u64<E: Error>(self, value: u64) -> Result<i64, E> {
            let signed = i64::try_from(value)
                .map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))?;
            self.within(signed)
        }

        #[allow(
            clippy::cast_possible_truncation,
            reason = "the range is checked first"
        )]
        fn visit_f64<E: Error>(self, value: f64) -> Result<i64, E> {
            if value.fract() == 0.0 && value.abs() <= MAX_INTEGER as f64 {
                self.within(value as i64)
            } else {
                Err(E::invalid_value(Unexpected::Float(value), &self))
            }
        }
    }

    from.deserialize_i64(Integral(min, max))
}

macro_rules! integer {
    ($( $(#[$meta:meta])* $name:ident($inner:ty, $min:expr) ),+ $(,)?) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($inner);

        impl $name {
            /// The smallest value.
            pub const MIN: $inner = $min as $inner;

            /// Returns the number if it is within `MIN..=MAX_INTEGER`.
            #[must_use]
            pub const fn new(value: $inner) -> Option<Self> {
                if value >= Self::MIN && value <= MAX_INTEGER as $inner {
                    Some(Self(value))
                } else {
                    None
                }
            }

            /// Returns the number.
            #[must_use]
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(to)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                deserialize_integer(from, $min, MAX_INTEGER).map(|value| Self(value as $inner))
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "integer", "minimum": $min, "maximum": MAX_INTEGER })
            }
        }
    )+ };
}

integer! {
    /// An integer of either sign.
    Integer(i64, -MAX_INTEGER),
    /// An amount of items or time, from zero.
    Count(u64, 0),
    /// An amount of items or time, from one.
    Positive(u64, 1),
}

impl Default for Count {
    /// Returns zero.
    fn default() -> Self {
        Self(0)
    }
}

impl Integer {
    /// Returns the number as a count, if it is not negative.
    #[must_use]
    pub fn as_count(self) -> Option<Count> {
        u64::try_from(self.0).ok().and_then(Count::new)
    }
}

/// A confidence or relevance in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// Returns the confidence if `value` is in [0, 1].
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        if (0.0..=1.0).contains(&value) {
            Some(Self(value))
        } else {
            None
        }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

// Never NaN, so equality is total.
impl Eq for Confidence {}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Confidence {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(from)?;
        Self::new(value).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Float(value), &"a number from 0 to 1")
        })
    }
}

impl JsonSchema for Confidence {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Confidence".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

/// An embedding: at least one finite number.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector(Vec<f32>);

impl Vector {
    /// Returns the vector if it has at least one number and all are finite.
    #[must_use]
    pub fn new(values: Vec<f32>) -> Option<Self> {
        let usable = !values.is_empty() && values.iter().all(|value| value.is_finite());
        usable.then_some(Self(values))
    }

    /// Returns the numbers as a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// Whether every number is zero, so that the vector has no direction.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|value| *value == 0.0)
    }
}

// Never NaN, so equality is total.
impl Eq for Vector {}

impl Serialize for Vector {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(from)?).ok_or_else(|| {
            D::Error::custom("expected at least one number, all within 32-bit range")
        })
    }
}

impl JsonSchema for Vector {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Vector".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "minItems": 1,
            "items": { "type": "number", "minimum": f32::MIN, "maximum": f32::MAX },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integral_float_is_an_integer() {
        let read = |text: &str| {
            serde_json::from_str::<Positive>(text)
                .ok()
                .map(Positive::get)
        };
        assert_eq!(read("3"), Some(3));
        assert_eq!(read("3.0"), Some(3));
        assert_eq!(read("9007199254740991"), Some(9_007_199_254_740_991));
        for bad in [
            "0",
            "-1",
            "3.5",
            "9007199254740992",
            "1e300",
            "18446744073709551615",
            "\"3\"",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn vectors_are_finite_and_not_empty() {
        assert!(serde_json::from_str::<Vector>("[0.1,-2]").is_ok());
        for bad in ["[]", "[1e39]", "[\"1\"]", "null"] {
            assert!(serde_json::from_str::<Vector>(bad).is_err(), "{bad}");
        }
    }
}
