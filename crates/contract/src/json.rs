//! The one reader of JSON, from outside and from storage: how large, how deep and how heavy a document is gets measured
//! before anything is made of it.
//!
//! serde_json reads 127 levels on the caller's stack and turns seven bytes of text into half a KiB. A [`Profile`] names
//! what a source may send; [`decode`] measures the text in one pass without recursion and reads it only within the
//! profile. [`Lines`] measures messages that arrive in pieces, [`extent_of`] a value that was made here.

mod lines;
mod meter;
mod numbers;
mod weight;

use std::io::{self, Write};
use std::slice;

use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, Error as _};
use serde_json::de::{Deserializer, Read};
use serde_json::{Map, Value, map};

use self::weight::{TEXT, of_fields, of_items};
use crate::bounds;
use crate::charset;
use crate::deeply::deeply;

pub use lines::{Line, Lines};
pub use meter::Meter;
pub(crate) use weight::VALUE;

/// What a source of JSON may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    bytes: usize,
    levels: usize,
    memory: usize,
}

impl Profile {
    /// A message of an interface: a request, an answer, a message of another server.
    pub const MESSAGE: Self = Self {
        bytes: bounds::JSON_BYTES,
        levels: bounds::JSON_LEVELS + bounds::JSON_ENVELOPE_LEVELS,
        memory: bounds::JSON_MEMORY,
    };

    /// A message of the Model Context Protocol to the server. The SDK reads it twice, each time by way of a copy.
    pub const MCP_MESSAGE: Self = Self {
        memory: bounds::MCP_MEMORY,
        ..Self::MESSAGE
    };

    /// A tool's output, and any other value that is kept as a part of something.
    pub const OUTPUT: Self = Self {
        levels: bounds::JSON_LEVELS,
        ..Self::MESSAGE
    };

    /// What an evidence record holds whole of a tool's output.
    pub const EVIDENCE: Self = Self {
        memory: bounds::EVIDENCE_MEMORY,
        ..Self::OUTPUT
    };

    /// The value of a run's parameter.
    pub const PARAMETER: Self = Self {
        levels: bounds::PARAMETER_LEVELS,
        ..Self::MESSAGE
    };

    /// A model's draft.
    pub const DRAFT: Self = Self {
        bytes: bounds::JSON_BYTES,
        levels: bounds::DRAFT_LEVELS,
        memory: bounds::DRAFT_MEMORY,
    };

    /// A data part of A2A, whose size the document that it shows has bounded.
    pub const A2A_DATA: Self = Self {
        levels: bounds::A2A_DATA_LEVELS,
        ..Self::STORED
    };

    /// A short document that is fetched.
    pub const NOTICE: Self = Self {
        bytes: bounds::NOTICE_BYTES,
        levels: bounds::NOTICE_LEVELS,
        memory: bounds::NOTICE_MEMORY,
    };

    /// The lines of a mission's bundle, which may be of an older version.
    pub const BUNDLE: Self = Self {
        memory: bounds::BUNDLE_MEMORY,
        ..Self::STORED
    };

    /// A file of documents. Its reader bounds its size and its values.
    pub const FILE: Self = Self {
        levels: bounds::YAML_LEVELS,
        ..Self::STORED
    };

    /// What is written to storage.
    const WRITTEN: Self = Self {
        levels: bounds::STORED_LEVELS,
        ..Self::STORED
    };

    /// The same for a source of which a setting, or its reader, says how many bytes it may send.
    #[must_use]
    pub const fn of_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// A stored document. Its size in bytes was bounded when it was written.
    pub const STORED: Self = Self {
        bytes: usize::MAX,
        levels: bounds::STORED_LEVELS_READ,
        memory: bounds::STORED_MEMORY,
    };

    /// A file of the operator's, or an answer of a server that the operator chose. Its reader bounds its size in bytes.
    pub const OPERATOR: Self = Self {
        memory: usize::MAX,
        ..Self::STORED
    };
}

/// How large a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The deepest nesting of lists and objects.
    pub levels: usize,
    /// Values, those inside of lists and objects included.
    pub values: usize,
    /// Bytes of memory that a [`Value`] of it takes, by estimate.
    pub memory: usize,
}

impl Extent {
    /// A document of one value with nothing in it.
    const PLAIN: Self = Self {
        levels: 0,
        values: 1,
        memory: VALUE,
    };

    fn within(&self, profile: Profile) -> Result<(), JsonLimitExceeded> {
        let limit = profile.memory;
        if self.memory > limit {
            return Err(JsonLimitExceeded::Memory { limit });
        }
        Ok(())
    }
}

/// Why a document exceeds its profile, or would be changed by reading it. The message continues a sentence that names the
/// document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonLimitExceeded {
    /// It is too long.
    #[error("has {bytes} bytes; the limit is {limit}")]
    Bytes {
        /// Bytes of it that were seen.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// It nests too deeply.
    #[error("nests more than {limit} levels deep; flatten it")]
    Levels {
        /// The limit.
        limit: usize,
    },
    /// It holds too many values.
    #[error("has so many values that it takes more than {limit} bytes of memory; send fewer")]
    Memory {
        /// The limit.
        limit: usize,
    },
    /// It has a number that a 64-bit integer or a double cannot represent.
    #[error(
        "has the number {number}{}, which would be rounded: an integer has at most 64 bits, any other number is at \
         most 1.8e308; send it as text",
        placed(.pointer)
    )]
    Number {
        /// The number's text, truncated.
        number: String,
        /// JSON pointer to it.
        pointer: String,
    },
}

/// A pointer as a part of a message; empty for the root.
fn placed(pointer: &str) -> String {
    match pointer {
        "" => String::new(),
        pointer => format!(" at `{pointer}`"),
    }
}

/// Why a document is not read.
#[derive(Debug, thiserror::Error)]
pub enum JsonFault {
    /// It is more than its profile allows.
    #[error("the document {0}")]
    TooMuch(JsonLimitExceeded),
    /// It is no JSON, or not of the type that is read.
    #[error(transparent)]
    Form(#[from] serde_json::Error),
}

impl From<JsonLimitExceeded> for JsonFault {
    fn from(much: JsonLimitExceeded) -> Self {
        Self::TooMuch(much)
    }
}

/// Measures a text. Where it is no JSON, at least the part is counted that a reader takes in before it finds that out.
///
/// # Errors
/// [`TooMuch`] as soon as the text is more than the profile allows.
pub fn extent(text: &[u8], profile: Profile) -> Result<Extent, JsonLimitExceeded> {
    let mut meter = Meter::new(profile);
    meter.feed(text)?;
    if meter.may_hold_long_numbers() {
        numbers::check(text)?;
    }
    Ok(meter.extent())
}

/// Measures a value.
///
/// # Errors
/// [`TooMuch`] as soon as the value is more than the profile allows, whose length in bytes is not looked at.
pub fn extent_of(value: &Value, profile: Profile) -> Result<Extent, JsonLimitExceeded> {
    let mut extent = Extent::PLAIN;
    let mut open: Vec<Parts<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next
            && let Some(parts) = entered(value, &mut extent)
        {
            open.push(parts);
            extent.levels = extent.levels.max(open.len());
            if extent.levels > profile.levels {
                let limit = profile.levels;
                return Err(JsonLimitExceeded::Levels { limit });
            }
        }
        extent.within(profile)?;
        let Some(parts) = open.last_mut() else {
            return Ok(extent);
        };
        next = parts.next();
        if next.is_none() {
            open.pop();
        }
    }
}

/// Bytes of memory that a value takes, by estimate. What nests deeper than storage reads takes more than there is.
#[must_use]
pub fn memory_of(value: &Value) -> usize {
    extent_of(value, Profile::OPERATOR).map_or(usize::MAX, |extent| extent.memory)
}

/// The same of the fields of an object.
#[must_use]
pub fn memory_of_fields(fields: &Map<String, Value>) -> usize {
    let each = fields.iter().map(|(name, value)| {
        let name = TEXT.saturating_add(name.len());
        name.saturating_add(memory_of(value))
    });
    each.fold(of_fields(fields.len()), usize::saturating_add)
}

/// Bytes of memory that an object takes beside its values, by estimate: room for its fields, the table by which they are
/// found, and their names, which have `name_bytes` together.
#[must_use]
pub(crate) fn memory_beside_values(fields: usize, name_bytes: usize) -> usize {
    let names = TEXT.saturating_mul(fields).saturating_add(name_bytes);
    let values = VALUE.saturating_mul(fields);
    let beside = of_fields(fields).saturating_sub(values);
    beside.saturating_add(names)
}

/// The length in bytes of a value's JSON text, which is not made.
#[must_use]
pub fn text_length(value: &Value) -> usize {
    let mut length = Length(0);
    match serde_json::to_writer(&mut length, value) {
        Ok(()) => length.0,
        // A value has a text, and counting it does not fail.
        Err(_) => usize::MAX,
    }
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is left to look at of a list or an object.
enum Parts<'v> {
    Items(slice::Iter<'v, Value>),
    Fields(map::Values<'v>),
}

impl<'v> Parts<'v> {
    fn next(&mut self) -> Option<&'v Value> {
        match self {
            Self::Items(items) => items.next(),
            Self::Fields(fields) => fields.next(),
        }
    }
}

/// Counts a value but for its parts, and returns these.
fn entered<'v>(value: &'v Value, extent: &mut Extent) -> Option<Parts<'v>> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
        Value::String(text) => {
            extent.memory += TEXT + text.len();
            None
        }
        Value::Array(items) => {
            extent.values += items.len();
            extent.memory += of_items(items.len());
            Some(Parts::Items(items.iter()))
        }
        Value::Object(fields) => {
            let names = fields.keys().map(|name| TEXT + name.len());
            extent.values += fields.len();
            extent.memory += of_fields(fields.len()) + names.sum::<usize>();
            Some(Parts::Fields(fields.values()))
        }
    }
}

/// Reads a document. Its bytes are UTF-8, or in the encoding of their byte order mark.
///
/// # Errors
/// [`JsonFault`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8], profile: Profile) -> Result<T, JsonFault> {
    let limit = profile.bytes;
    if bytes.len() > limit {
        let bytes = bytes.len();
        return Err(JsonFault::TooMuch(JsonLimitExceeded::Bytes {
            bytes,
            limit,
        }));
    }
    let text = charset::document(bytes, None).map_err(serde_json::Error::custom)?;
    decode_text(&text, profile)
}

/// Reads a document that is text already. It may begin with a byte order mark.
///
/// # Errors
/// [`JsonFault`].
pub fn decode_text<T: DeserializeOwned>(text: &str, profile: Profile) -> Result<T, JsonFault> {
    let text = charset::without_mark(text);
    let extent = extent(text.as_bytes(), profile)?;
    read(Deserializer::from_str(text), extent)
}

/// Reads fields of a document without checking the range of its numbers, such as the id of a message that was refused for a
/// number elsewhere in it.
///
/// # Errors
/// [`JsonFault`], except [`TooMuch::Number`].
pub fn decode_beside_numbers<T: DeserializeOwned>(
    bytes: &[u8],
    profile: Profile,
) -> Result<T, JsonFault> {
    let mut meter = Meter::new(profile);
    meter.feed(bytes)?;
    read(Deserializer::from_slice(bytes), meter.extent())
}

/// Reads a document that storage has.
///
/// # Errors
/// [`JsonFault`], also for one that takes more than [`bounds::STORED_MEMORY`].
pub fn decode_stored<T: DeserializeOwned>(text: &str) -> Result<T, JsonFault> {
    decode_text(text, Profile::STORED)
}

fn read<'d, T: Deserialize<'d>>(
    mut deserializer: Deserializer<impl Read<'d>>,
    extent: Extent,
) -> Result<T, JsonFault> {
    // serde_json's own limit and the thread's stack take this much.
    if extent.levels <= bounds::STORED_LEVELS {
        return Ok(whole(deserializer)?);
    }
    deserializer.disable_recursion_limit();
    Ok(deeply(|| whole(deserializer))?)
}

fn whole<'d, T: Deserialize<'d>>(
    mut deserializer: Deserializer<impl Read<'d>>,
) -> Result<T, serde_json::Error> {
    let value = T::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Writes a document as storage keeps it: the last line before it. What could not be read again, or not be answered to
/// every client, is never written.
///
/// # Errors
/// [`JsonFault`].
pub fn to_stored<T: Serialize + ?Sized>(value: &T) -> Result<String, JsonFault> {
    let text = serde_json::to_string(value)?;
    extent(text.as_bytes(), Profile::WRITTEN)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
