//! Locates a document in the files of its package.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::charset::without_mark;
use charter_contract::lines;
use serde_json::Value;

use super::SourceLocation;
use super::layout::{self, Role};
use super::read::{parts, read_document};
use crate::cancellation::Cancellation;
use crate::source::{self, Allowance, Located, Position};

/// Returns the location of the document of this kind and id; `None` if the files lack it or the search is cancelled.
#[must_use]
pub fn locate(
    files: &BTreeMap<String, String>,
    document: &Document,
    cancel: &Cancellation,
) -> Option<SourceLocation> {
    let allowance = Allowance::new(cancel);
    let names = names(document);
    let mut likely_first: Vec<(&String, &String)> = files.iter().collect();
    // Parsing is slow, and an id is hardly ever written with escapes, so files that contain the id as text come first.
    likely_first.sort_by_key(|(_, text)| !names.iter().all(|name| text.contains(name.as_str())));
    let mut files = likely_first
        .into_iter()
        .take_while(|_| !allowance.is_over());
    files.find_map(|(path, text)| in_file((path, text), document, &names, &allowance))
}

/// Returns the values of the fields that form its id.
fn names(document: &Document) -> Vec<String> {
    match document {
        Document::GraphEdge(edge) => vec![edge.from.to_string(), edge.to.to_string()],
        other => vec![other.id().into_owned()],
    }
}

fn in_file(
    (path, text): (&str, &str),
    document: &Document,
    names: &[String],
    allowance: &Allowance<'_>,
) -> Option<SourceLocation> {
    let role = layout::role(path);
    if !matches!(role, Role::Documents(_) | Role::Graph) {
        return None;
    }
    let text = without_mark(text);
    let Located { value, places } = source::read_file_within(path, text, allowance).ok()?;
    let is_it = |pointer: &String| {
        let part = value.pointer(pointer);
        part.is_some_and(|part| is(part, role, document, names))
    };
    let pointer = parts(&value, role).into_iter().find(is_it)?;
    Some(SourceLocation {
        file: path.into(),
        pointer,
        places: Arc::new(places),
        text: Arc::new(text.into()),
    })
}

/// Returns whether a value is the document, in any version.
fn is(value: &Value, role: Role, document: &Document, names: &[String]) -> bool {
    let kind = match role {
        Role::Documents(kind) => kind,
        Role::Graph => layout::graph_kind(value),
        Role::Manifest | Role::Tests | Role::Opaque | Role::Stray => return false,
    };
    let has = |name: &String| {
        let fields = value.as_object().into_iter().flatten();
        fields.into_iter().any(|(_, field)| {
            // The id of a tool's definition, as far as it differs from the catalogue's.
            let defined = field.as_str().and_then(|text| text.strip_prefix("tool-"));
            let is_defined = kind == DocumentKind::Tool && defined == Some(name.as_str());
            is_defined || field == name.as_str()
        })
    };
    kind == document.kind()
        && names.iter().all(has)
        && read_document(kind, value).is_ok_and(|(found, _)| found.id() == document.id())
}

impl SourceLocation {
    /// Returns the document's text in its file and the number of its first line, from 1. Lines that contain only the
    /// document are complete.
    #[must_use]
    pub fn passage(&self) -> (usize, &str) {
        if self.pointer.is_empty() {
            return (1, &self.text);
        }
        let start = self.position("");
        let end = self.places.end(&self.pointer);
        let end = end.map_or(self.text.len(), |end| border(&self.text, end));
        let passage = self.text.get(border(&self.text, start)..end);
        (start.line, passage.unwrap_or_default().trim_end())
    }
}

/// Returns the start of a part, in bytes: the start of its line, unless other text precedes it there.
fn border(text: &str, at: Position) -> usize {
    let before: usize = lines::with_ends(text).take(at.line - 1).map(str::len).sum();
    let line = lines::first(&text[before..]).map_or("", |(line, _)| lines::without_end(line));
    let column = line.char_indices().nth(at.column - 1);
    let column = column.map_or(line.len(), |(column, _)| column);
    let alone = line[..column].chars().all(|c| c == ' ' || c == '-');
    if alone { before } else { before + column }
}
