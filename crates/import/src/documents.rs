//! The documents of one import, and references between them. Documents beside the first one are loaded by the caller:
//! [`DocumentSet::wanted`] lists those that are referred to and may be loaded.
//!
//! Must not know what a document describes.

mod location;

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::{
    IMPORT_BYTES, IMPORT_BYTES_TOGETHER, IMPORT_DOCUMENTS, IMPORT_REFERENCE_CHAIN, IMPORT_VALUES,
};
use charter_contract::json::{Profile, extent_of};
use charter_domain::cancellation::Cancellation;
use charter_domain::source::{Allowance, SourceError, read_within};
use serde_json::{Map, Value};

pub use location::{Location, LocationError, WebLocation};
pub(crate) use location::{ServerAddress, parse_server};

/// The keyword of a reference.
pub(crate) const REFERENCE: &str = "$ref";

/// The reason why a document cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The document is too long.
    #[error("the document has {bytes} bytes; the limit IMPORT_BYTES is {IMPORT_BYTES}")]
    Bytes {
        /// Its length.
        bytes: usize,
    },
    /// All documents together exceed a limit.
    #[error("the documents up to here exceed the limit {limit}")]
    Together {
        /// The name of the limit.
        limit: &'static str,
    },
    /// The text is neither JSON nor YAML, or exceeds a limit of the reader.
    #[error("line {}, column {}: {}", .0.position.line, .0.position.column, .0.message)]
    Text(SourceError),
}

/// The reason why a reference leads to nothing usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The reference names a document that may not be loaded, or has another form than a pointer.
    #[error("`{reference}`: {reason}")]
    Refused {
        /// The reference.
        reference: String,
        /// The reason.
        reason: String,
    },
    /// The document has no such part.
    #[error("`{reference}` leads to nothing")]
    Dangling {
        /// The reference.
        reference: String,
    },
    /// References lead from one to the next without end, or too often.
    #[error(
        "`{reference}` is part of a chain of more than {IMPORT_REFERENCE_CHAIN} references (IMPORT_REFERENCE_CHAIN)"
    )]
    Chain {
        /// The reference.
        reference: String,
    },
}

/// A part of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'d> {
    /// The document that contains it, against which its references are resolved.
    pub(crate) document: usize,
    /// Its value.
    pub(crate) value: &'d Value,
}

impl<'d> Part<'d> {
    /// Returns the part with another value of the same document.
    pub(crate) const fn with(self, value: &'d Value) -> Self {
        Self { value, ..self }
    }

    /// Returns a member of an object.
    pub(crate) fn member(self, name: &str) -> Option<Self> {
        Some(self.with(self.value.get(name)?))
    }

    /// Returns a text of an object; empty if it is absent or of another type.
    pub(crate) fn text(self, name: &str) -> &'d str {
        self.value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Returns the texts of a list that is a member of an object.
    pub(crate) fn texts(self, name: &str) -> impl Iterator<Item = &'d str> + use<'d> {
        let items = self.value.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns whether a member is `true`.
    pub(crate) fn is_true(self, name: &str) -> bool {
        self.value.get(name) == Some(&Value::Bool(true))
    }

    /// Returns the members of an object; none for another value.
    pub(crate) fn members(self) -> impl Iterator<Item = (&'d str, Self)> {
        let members = self.value.as_object().into_iter().flat_map(Map::iter);
        members.map(move |(name, value)| (name.as_str(), self.with(value)))
    }

    /// Returns the items of a list; none for another value.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> {
        let items = self.value.as_array().into_iter().flatten();
        items.map(move |value| self.with(value))
    }
}

/// The identity of a part that a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    document: usize,
    pointer: String,
}

/// The documents of one import.
#[derive(Debug)]
pub struct DocumentSet {
    documents: Vec<(Location, Value)>,
    refused: BTreeMap<Location, String>,
    allowed_hosts: BTreeSet<String>,
    bytes: usize,
    values: usize,
    /// The number of documents whose references are already known to [`Self::wanted`].
    scanned: usize,
    /// The number of documents that the caller was asked for, with the first one.
    requested: usize,
}

impl DocumentSet {
    /// Reads the first document. References to other hosts are refused, but for those of `allowed_hosts`.
    ///
    /// # Errors
    /// [`DocumentError`].
    pub fn open(
        location: Location,
        text: &str,
        allowed_hosts: impl IntoIterator<Item = String>,
    ) -> Result<Self, DocumentError> {
        let hosts = allowed_hosts.into_iter();
        let mut set = Self {
            documents: Vec::new(),
            refused: BTreeMap::new(),
            allowed_hosts: hosts.map(|host| host.to_ascii_lowercase()).collect(),
            bytes: 0,
            values: 0,
            scanned: 0,
            requested: 1,
        };
        set.add(location, text)?;
        Ok(set)
    }

    /// Adds a document that [`Self::wanted`] listed.
    ///
    /// # Errors
    /// [`DocumentError`]; the set is unchanged.
    pub fn add(&mut self, location: Location, text: &str) -> Result<(), DocumentError> {
        let bytes = text.len();
        if bytes > IMPORT_BYTES {
            return Err(DocumentError::Bytes { bytes });
        }
        let together = |limit| DocumentError::Together { limit };
        if self.bytes + bytes > IMPORT_BYTES_TOGETHER {
            return Err(together("IMPORT_BYTES_TOGETHER"));
        }
        if self.documents.len() >= IMPORT_DOCUMENTS {
            return Err(together("IMPORT_DOCUMENTS"));
        }
        let cancel = Cancellation::default();
        let read = read_within(text, &Allowance::for_import(&cancel));
        let value = read.map_err(DocumentError::Text)?.value;
        let extent = extent_of(&value, Profile::OPERATOR);
        let values = extent.map_or(usize::MAX, |extent| extent.values);
        self.values = match self.values.checked_add(values) {
            Some(all) if all <= IMPORT_VALUES => all,
            Some(_) | None => return Err(together("IMPORT_VALUES")),
        };
        self.bytes += bytes;
        self.documents.push((location, value));
        Ok(())
    }

    /// Records that a document cannot be loaded. References to it are opaque, with this reason.
    pub fn refuse(&mut self, location: Location, reason: impl Into<String>) {
        self.refused.insert(location, reason.into());
    }

    /// Returns the documents that are referred to, may be loaded, and are neither added nor refused, in total at most
    /// [`IMPORT_DOCUMENTS`]. References that may not be followed are left out; they are reported where they are used.
    pub fn wanted(&mut self) -> BTreeSet<Location> {
        let mut wanted = BTreeSet::new();
        for (base, document) in &self.documents[self.scanned..] {
            let mut references = Vec::new();
            collect_references(document, &mut references);
            let located = references
                .iter()
                .filter_map(|reference| self.locate(base, reference).ok());
            wanted.extend(located.map(|(location, _)| location));
        }
        self.scanned = self.documents.len();
        wanted.retain(|location| {
            !self.refused.contains_key(location) && self.position(location).is_none()
        });
        let room = IMPORT_DOCUMENTS.saturating_sub(self.requested);
        if let Some(first) = wanted.iter().nth(room).cloned() {
            let limit = "IMPORT_DOCUMENTS";
            for beyond in wanted.split_off(&first) {
                self.refuse(beyond, DocumentError::Together { limit }.to_string());
            }
        }
        self.requested += wanted.len();
        wanted
    }

    /// Returns the location of the first document.
    #[must_use]
    pub fn root_location(&self) -> &Location {
        &self.documents[0].0
    }

    /// Returns the first document.
    pub(crate) fn root(&self) -> Part<'_> {
        Part {
            document: 0,
            value: &self.documents[0].1,
        }
    }

    /// Follows references until a part that is none.
    pub(crate) fn follow<'d>(&'d self, part: Part<'d>) -> Result<Part<'d>, ReferenceError> {
        let mut part = part;
        for _ in 0..IMPORT_REFERENCE_CHAIN {
            match part.value.get(REFERENCE).and_then(Value::as_str) {
                Some(reference) => part = self.target(part.document, reference)?.1,
                None => return Ok(part),
            }
        }
        Err(ReferenceError::Chain {
            reference: part.text(REFERENCE).to_owned(),
        })
    }

    /// Returns the part that a reference of a document leads to, which may be a reference itself.
    pub(crate) fn target(
        &self,
        document: usize,
        reference: &str,
    ) -> Result<(Target, Part<'_>), ReferenceError> {
        let refused = |reason: String| ReferenceError::Refused {
            reference: quoted(reference),
            reason,
        };
        let base = &self.documents[document].0;
        let (location, pointer) = self
            .locate(base, reference)
            .map_err(|error| refused(error.to_string()))?;
        let Some(document) = self.position(&location) else {
            let reason = self.refused.get(&location).cloned();
            return Err(refused(
                reason.unwrap_or_else(|| "the document was not loaded".to_owned()),
            ));
        };
        match self.documents[document].1.pointer(&pointer) {
            Some(value) => Ok((Target { document, pointer }, Part { document, value })),
            None => Err(ReferenceError::Dangling {
                reference: quoted(reference),
            }),
        }
    }

    fn locate(
        &self,
        base: &Location,
        reference: &str,
    ) -> Result<(Location, String), LocationError> {
        location::resolve(self.root_location(), base, reference, &self.allowed_hosts)
    }

    fn position(&self, location: &Location) -> Option<usize> {
        let mut documents = self.documents.iter();
        documents.position(|(known, _)| known == location)
    }
}

/// Most characters of a reference that a message quotes.
const MAX_QUOTED: usize = 120;

fn quoted(reference: &str) -> String {
    charter_contract::shorten::to_chars(reference, MAX_QUOTED).into_owned()
}

/// Collects the references to other documents. The reader bounds the nesting.
fn collect_references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get(REFERENCE)
                && !reference.starts_with('#')
            {
                found.push(reference);
            }
            for member in members.values() {
                collect_references(member, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_references(item, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
