//! Converts values from and to JSON. Integers keep their digits or are rejected.

use std::fmt::{self, Write as _};

use charter_contract::json::{Profile, decode_text};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{Fields, JqValue, Number};

/// The reason why a value cannot be converted to JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::jq) enum NotJson {
    /// It contains an integer that other parsers would round.
    #[error(
        "it emitted the integer {0}, which has more than 64 bits: emit it as a string, with `tostring`"
    )]
    Integer(String),
    /// The parser of outputs rejects it.
    #[error("its output is invalid: {0}")]
    Refused(String),
}

impl JqValue {
    /// Converts the value to JSON, within the limits of an output.
    ///
    /// # Errors
    /// [`NotJson`].
    pub(in crate::jq) fn to_json(&self) -> Result<Value, NotJson> {
        if let Some(number) = self.too_large() {
            return Err(NotJson::Integer(number.to_string()));
        }
        decode_text(&self.to_string(), Profile::OUTPUT)
            .map_err(|error| NotJson::Refused(error.to_string()))
    }

    /// Returns an integer in the value that has more than 64 bits.
    fn too_large(&self) -> Option<&Number> {
        match self {
            Self::Number(number @ Number::Big(digits)) => {
                u64::try_from(&**digits).is_err().then_some(number)
            }
            Self::List(items) => items.iter().find_map(Self::too_large),
            Self::Object(fields) => fields.values().find_map(Self::too_large),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => None,
        }
    }
}

impl From<&Value> for JqValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => {
                Number::read(&number.to_string()).map_or(Self::Null, Self::Number)
            }
            Value::String(text) => Self::text(text.as_str()),
            Value::Array(items) => items.iter().map(Self::from).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                Self::object(
                    fields
                        .map(|(name, value)| (name.as_str().into(), Self::from(value)))
                        .collect(),
                )
            }
        }
    }
}

impl fmt::Display for JqValue {
    /// Writes the value as JSON, without spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write_text(f, text),
            Self::List(items) => {
                f.write_char('[')?;
                for (at, item) in items.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(f, "{comma}{item}")?;
                }
                f.write_char(']')
            }
            Self::Object(fields) => {
                f.write_char('{')?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    write_text(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\0'..='\u{1f}' | '\u{7f}' => write!(f, "\\u{:04x}", u32::from(c))?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}

/// Reads a value as `fromjson` does, and keeps the order of its fields.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = JqValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<JqValue, E> {
        Ok(JqValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JqValue, E> {
        Ok(JqValue::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<JqValue, E> {
        Ok(JqValue::number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<JqValue, E> {
        Ok(JqValue::number(num_bigint::BigInt::from(number)))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<JqValue, E> {
        // Converted through its digits: a decimal remains a decimal, even if its value is an integer.
        let digits = Value::from(number).to_string();
        let number = Number::read(&digits);
        number
            .map(JqValue::Number)
            .ok_or_else(|| E::custom("a number is too large"))
    }

    fn visit_str<E>(self, text: &str) -> Result<JqValue, E> {
        Ok(JqValue::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JqValue, A::Error> {
        let mut read = Vec::new();
        while let Some(item) = items.next_element()? {
            read.push(item);
        }
        Ok(JqValue::list(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<JqValue, A::Error> {
        let mut read = Fields::default();
        while let Some((name, value)) = fields.next_entry::<String, JqValue>()? {
            read.insert(name.into(), value);
        }
        Ok(JqValue::object(read))
    }
}

impl<'de> Deserialize<'de> for JqValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}
