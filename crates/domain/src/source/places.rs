//! The positions of a value's parts, as a tree with the structure of the value. A position has the same cost at any
//! depth, and a long key is stored once, regardless of the number of values below it.

use charter_contract::violation::pointer_segment;

use super::Position;

/// The position of a part, and of its own parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Places {
    at: Position,
    parts: Parts,
}

/// The parts of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Parts {
    None,
    Items(Box<[Places]>),
    /// Sorted by name, as a pointer spells it.
    Fields(Box<[(Box<str>, Places)]>),
}

impl Parts {
    /// Creates the fields of a mapping, from the order of the text.
    pub(super) fn fields(mut fields: Vec<(Box<str>, Places)>) -> Self {
        fields.sort_by(|(one, _), (other, _)| one.cmp(other));
        Self::Fields(fields.into())
    }
}

/// Returns a field's name in the form for [`Parts::fields`].
pub(super) fn name_of(key: &str) -> Box<str> {
    pointer_segment(key).into()
}

impl Places {
    pub(super) fn new(at: Position, parts: Parts) -> Self {
        Self { at, parts }
    }

    /// Returns the position of the part at `pointer`, or else of its nearest enclosing part (a missing field is shown
    /// at the object that lacks it).
    #[must_use]
    pub fn position(&self, pointer: &str) -> Position {
        let mut here = self;
        for segment in segments(pointer) {
            match here.part(segment) {
                Some(part) => here = part,
                None => break,
            }
        }
        here.at
    }

    /// Returns the start of the part after the one at `pointer`; `None` for the last part.
    #[must_use]
    pub fn end(&self, pointer: &str) -> Option<Position> {
        let start = self.position(pointer);
        let mut here = self;
        let mut after = None;
        for segment in segments(pointer) {
            let later = here.children().filter(|part| part.at > start);
            // A later sibling at a deeper level comes first in the text.
            after = later.map(|part| part.at).min().or(after);
            let Some(part) = here.part(segment) else {
                break;
            };
            here = part;
        }
        after
    }

    fn part(&self, segment: &str) -> Option<&Self> {
        match &self.parts {
            Parts::None => None,
            Parts::Items(items) => items.get(segment.parse::<usize>().ok()?),
            Parts::Fields(fields) => {
                let at = fields.binary_search_by(|(name, _)| (**name).cmp(segment));
                fields.get(at.ok()?).map(|(_, part)| part)
            }
        }
    }

    fn children(&self) -> impl Iterator<Item = &Self> {
        let (items, fields): (&[Self], &[(Box<str>, Self)]) = match &self.parts {
            Parts::None => (&[], &[]),
            Parts::Items(items) => (items, &[]),
            Parts::Fields(fields) => (&[], fields),
        };
        items.iter().chain(fields.iter().map(|(_, part)| part))
    }
}

fn segments(pointer: &str) -> impl Iterator<Item = &str> {
    pointer.split('/').skip(1)
}
