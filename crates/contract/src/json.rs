//! The one JSON reader, for input and for storage. It measures the size, nesting and memory of a document before
//! parsing it.
//!
//! serde_json recurses up to 127 levels on the caller's stack and can turn seven bytes of text into half a KiB. A
//! [`Profile`] limits a source; a [`JsonText`] is a text that was measured in one pass without recursion and is within
//! its profile, so that it can be parsed. [`decode`] does both at once. [`Lines`] measures messages that arrive in
//! pieces, [`extent_of`] measures a value in memory.

mod lines;
mod meter;
mod numbers;
mod weight;

use std::borrow::Cow;
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

/// Limits on JSON from one kind of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    bytes: usize,
    levels: usize,
    memory: usize,
}

impl Profile {
    /// A message of an interface: a request, a response, or a message from another server.
    pub const MESSAGE: Self = Self {
        bytes: bounds::JSON_BYTES,
        levels: bounds::JSON_LEVELS + bounds::JSON_ENVELOPE_LEVELS,
        memory: bounds::JSON_MEMORY,
    };

    /// A message of the Model Context Protocol, from a client or from a server. While the SDK parses it, it holds up to
    /// five copies of each value in addition to the value itself: about three times the estimate.
    pub const MCP_MESSAGE: Self = Self {
        memory: bounds::MCP_MEMORY,
        ..Self::MESSAGE
    };

    /// A tool's output, or another value that is kept inside a record.
    pub const OUTPUT: Self = Self {
        levels: bounds::JSON_LEVELS,
        ..Self::MESSAGE
    };

    /// A tool's output that an evidence record contains in full.
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

    /// A data part of A2A; the size of its source document was already checked.
    pub const A2A_DATA: Self = Self {
        levels: bounds::A2A_DATA_LEVELS,
        ..Self::STORED
    };

    /// A short fetched document.
    pub const NOTICE: Self = Self {
        bytes: bounds::NOTICE_BYTES,
        levels: bounds::NOTICE_LEVELS,
        memory: bounds::NOTICE_MEMORY,
    };

    /// The lines of a mission's bundle, possibly of an older version.
    pub const BUNDLE: Self = Self {
        memory: bounds::BUNDLE_MEMORY,
        ..Self::STORED
    };

    /// A file of documents. Its reader checks the size and the number of values.
    pub const FILE: Self = Self {
        levels: bounds::YAML_LEVELS,
        ..Self::STORED
    };

    /// A document to be written to storage.
    const WRITTEN: Self = Self {
        levels: bounds::STORED_LEVELS,
        ..Self::STORED
    };

    /// Returns the profile with another limit on bytes, from a setting or from the reader of the source.
    #[must_use]
    pub const fn of_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// A stored document. Its size in bytes was checked when it was written.
    pub const STORED: Self = Self {
        bytes: usize::MAX,
        levels: bounds::STORED_LEVELS_READ,
        memory: bounds::STORED_MEMORY,
    };

    /// A file from the operator, or a response from a server that the operator configured. Its reader checks the size
    /// in bytes.
    pub const OPERATOR: Self = Self {
        memory: usize::MAX,
        ..Self::STORED
    };
}

/// The measured size of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Maximum nesting of lists and objects.
    pub levels: usize,
    /// Number of values, including nested ones.
    pub values: usize,
    /// Memory of the document as a [`Value`], in bytes, estimated.
    pub memory: usize,
}

impl Extent {
    /// A document with one value that contains no others.
    const PLAIN: Self = Self {
        levels: 0,
        values: 1,
        memory: VALUE,
    };

    fn check_memory(&self, profile: Profile) -> Result<(), JsonLimitExceeded> {
        let limit = profile.memory;
        if self.memory > limit {
            return Err(JsonLimitExceeded::Memory { limit });
        }
        Ok(())
    }
}

/// The reason why a document exceeds its profile, or would be changed by parsing. The message continues a sentence
/// that names the document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonLimitExceeded {
    /// The document is too long.
    #[error("has {bytes} bytes; the limit is {limit}")]
    Bytes {
        /// Number of bytes read.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The document nests too deeply.
    #[error("nests more than {limit} levels deep; flatten it")]
    Levels {
        /// The limit.
        limit: usize,
    },
    /// The document contains too many values.
    #[error("has so many values that it takes more than {limit} bytes of memory; send fewer")]
    Memory {
        /// The limit.
        limit: usize,
    },
    /// The document contains a number that neither a 64-bit integer nor a double can represent.
    #[error(
        "has the number {number}{}, which would be rounded: an integer has at most 64 bits, any other number is at \
         most 1.8e308; send it as text",
        at_pointer(.pointer)
    )]
    Number {
        /// Text of the number, truncated.
        number: String,
        /// JSON pointer to the number.
        pointer: String,
    },
}

/// Formats a pointer as part of a message; empty for the root.
fn at_pointer(pointer: &str) -> String {
    match pointer {
        "" => String::new(),
        pointer => format!(" at `{pointer}`"),
    }
}

/// The reason why a document cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum JsonFault {
    /// The document exceeds its profile.
    #[error("the document {0}")]
    TooMuch(JsonLimitExceeded),
    /// The document is not JSON, or not of the expected type.
    #[error(transparent)]
    Form(#[from] serde_json::Error),
}

impl From<JsonLimitExceeded> for JsonFault {
    fn from(much: JsonLimitExceeded) -> Self {
        Self::TooMuch(much)
    }
}

/// Measures a text. For invalid JSON, it counts at least the part that a parser reads before it detects the error.
///
/// # Errors
/// [`JsonLimitExceeded`] as soon as the text exceeds the profile.
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
/// [`JsonLimitExceeded`] as soon as the value exceeds the profile, except for its length in bytes, which is not
/// measured.
pub fn extent_of(value: &Value, profile: Profile) -> Result<Extent, JsonLimitExceeded> {
    let mut extent = Extent::PLAIN;
    let mut open: Vec<Parts<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next
            && let Some(parts) = count_value(value, &mut extent)
        {
            open.push(parts);
            extent.levels = extent.levels.max(open.len());
            if extent.levels > profile.levels {
                let limit = profile.levels;
                return Err(JsonLimitExceeded::Levels { limit });
            }
        }
        extent.check_memory(profile)?;
        let Some(parts) = open.last_mut() else {
            return Ok(extent);
        };
        next = parts.next();
        if next.is_none() {
            open.pop();
        }
    }
}

/// Estimates the memory of a value, in bytes. For a value nested deeper than storage allows, it returns the maximum.
#[must_use]
pub fn memory_of(value: &Value) -> usize {
    extent_of(value, Profile::OPERATOR).map_or(usize::MAX, |extent| extent.memory)
}

/// Estimates the memory of an object's fields, in bytes.
#[must_use]
pub fn memory_of_fields(fields: &Map<String, Value>) -> usize {
    let each = fields.iter().map(|(name, value)| {
        let name = TEXT.saturating_add(name.len());
        name.saturating_add(memory_of(value))
    });
    each.fold(of_fields(fields.len()), usize::saturating_add)
}

/// Estimates the memory of an object without its values, in bytes: space for its fields, its lookup table, and its
/// names, which have `name_bytes` in total.
#[must_use]
pub(crate) fn memory_beside_values(fields: usize, name_bytes: usize) -> usize {
    let names = TEXT.saturating_mul(fields).saturating_add(name_bytes);
    let values = VALUE.saturating_mul(fields);
    let beside = of_fields(fields).saturating_sub(values);
    beside.saturating_add(names)
}

/// Returns the length in bytes of a value's JSON text, without building the text.
#[must_use]
pub fn text_length(value: &Value) -> usize {
    let mut length = Length(0);
    match serde_json::to_writer(&mut length, value) {
        Ok(()) => length.0,
        // Every value has a text, and counting it cannot fail.
        Err(_) => usize::MAX,
    }
}

/// A writer that counts bytes.
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

/// The rest of a list or an object that is still to be measured.
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

/// Counts a value without its parts, and returns the parts.
fn count_value<'v>(value: &'v Value, extent: &mut Extent) -> Option<Parts<'v>> {
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

/// A text within its profile. It is measured once, however often it is parsed.
#[derive(Debug, Clone)]
pub struct JsonText<'d> {
    text: Cow<'d, str>,
    extent: Extent,
}

impl<'d> JsonText<'d> {
    /// Measures a document in UTF-8 or in the encoding of its byte order mark.
    ///
    /// # Errors
    /// [`JsonFault`], if the bytes do not fit the encoding or the text exceeds the profile.
    pub fn measure(bytes: &'d [u8], profile: Profile) -> Result<Self, JsonFault> {
        let limit = profile.bytes;
        if bytes.len() > limit {
            let bytes = bytes.len();
            return Err(JsonFault::TooMuch(JsonLimitExceeded::Bytes {
                bytes,
                limit,
            }));
        }
        let text = charset::document(bytes, None).map_err(serde_json::Error::custom)?;
        Self::of_text(text, profile)
    }

    fn of_text(text: Cow<'d, str>, profile: Profile) -> Result<Self, JsonFault> {
        let extent = extent(charset::without_mark(&text).as_bytes(), profile)?;
        Ok(Self { text, extent })
    }

    /// Returns its measured size.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Parses it. A value may borrow its texts.
    ///
    /// # Errors
    /// If it is not JSON, or not of the expected type.
    pub fn parse<'t, T: Deserialize<'t>>(&'t self) -> Result<T, serde_json::Error> {
        read(
            Deserializer::from_str(charset::without_mark(&self.text)),
            self.extent,
        )
    }
}

/// Parses a document in UTF-8 or in the encoding of its byte order mark.
///
/// # Errors
/// [`JsonFault`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8], profile: Profile) -> Result<T, JsonFault> {
    Ok(JsonText::measure(bytes, profile)?.parse()?)
}

/// Parses a document from decoded text, which may begin with a byte order mark.
///
/// # Errors
/// [`JsonFault`].
pub fn decode_text<T: DeserializeOwned>(text: &str, profile: Profile) -> Result<T, JsonFault> {
    Ok(JsonText::of_text(Cow::Borrowed(text), profile)?.parse()?)
}

/// Parses fields of a document without checking the range of its numbers, such as the id of a message that was refused
/// for another number.
///
/// # Errors
/// [`JsonFault`], except [`JsonLimitExceeded::Number`].
pub fn decode_beside_numbers<T: DeserializeOwned>(
    bytes: &[u8],
    profile: Profile,
) -> Result<T, JsonFault> {
    let mut meter = Meter::new(profile);
    meter.feed(bytes)?;
    Ok(read(Deserializer::from_slice(bytes), meter.extent())?)
}

/// Parses a document from storage.
///
/// # Errors
/// [`JsonFault`], also for a document that takes more than [`bounds::STORED_MEMORY`].
pub fn decode_stored<T: DeserializeOwned>(text: &str) -> Result<T, JsonFault> {
    decode_text(text, Profile::STORED)
}

fn read<'d, T: Deserialize<'d>>(
    mut deserializer: Deserializer<impl Read<'d>>,
    extent: Extent,
) -> Result<T, serde_json::Error> {
    // serde_json's own limit and the thread's stack allow this depth.
    if extent.levels <= bounds::STORED_LEVELS {
        return read_to_end(deserializer);
    }
    deserializer.disable_recursion_limit();
    deeply(|| read_to_end(deserializer))
}

fn read_to_end<'d, T: Deserialize<'d>>(
    mut deserializer: Deserializer<impl Read<'d>>,
) -> Result<T, serde_json::Error> {
    let value = T::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Serialises a document for storage, and refuses one that could not be parsed again or returned to every client.
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
