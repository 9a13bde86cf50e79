//! The positions of a value's parts, as a tree in the shape of the value. A position costs the same at any depth, and a
//! long key is stored once, however many values are below it.

use charter_contract::violation::pointer_segment;

use super::Position;

/// The position of a part, and of the parts in it.
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
    /// The fields of a mapping, in the order of the text.
    pub(super) fn fields(mut fields: Vec<(Box<str>, Places)>) -> Self {
        fields.sort_by(|(one, _), (other, _)| one.cmp(other));
        Self::Fields(fields.into())
    }
}

/// A field's name as [`Parts::fields`] takes it.
pub(super) fn name_of(key: &str) -> Box<str> {
    pointer_segment(key).into()
}

impl Places {
    pub(super) fn new(at: Position, parts: Parts) -> Self {
        Self { at, parts }
    }

    /// Where the part at `pointer` stands; where its nearest enclosing part does when there is no
    /// such part (a missing field is shown at the object that lacks it).
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

    /// Where what follows the part at `pointer` begins; nothing follows the last one.
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
