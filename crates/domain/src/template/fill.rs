//! A template's structure, parsed once and filled in for each finding. This file fills in texts without expressions;
//! the caller supplies a function for the others.

use std::collections::BTreeSet;

use charter_contract::bounds::{FILLED_BYTES, FILLED_TOGETHER};
use charter_contract::filling::{FillBudget, FillBudgetExceeded};
use minijinja::value::Serde;
use serde_json::{Map, Value};

use super::RenderError;
use super::text::{Piece, Text};
use crate::reference::part_of;

/// A template's structure or summary, by the way in which it is filled in.
#[derive(Debug)]
pub enum Structure<'t> {
    /// Text and names: [`PlainStructure::fill`].
    Plain(PlainStructure<'t>),
    /// Expressions or blocks: [`super::evaluate()`], in a bounded process.
    Program,
}

/// A structure whose texts contain names but no expressions.
#[derive(Debug)]
pub struct PlainStructure<'t>(Part<'t, Vec<Piece<'t>>>);

impl<'t> Structure<'t> {
    /// Parses a structure. If it has expressions, the rest is not examined.
    ///
    /// # Errors
    /// A [`RenderError`] for a part that exceeds a limit, and for a truncated text.
    pub fn read(structure: &'t Value) -> Result<Self, RenderError> {
        let read = Part::read(structure, &|text| match Text::read(text)? {
            Text::Plain(pieces) => Ok(pieces),
            Text::Program(_) => Err(Unread::Program),
        });
        match read {
            Ok(part) => Ok(Self::Plain(PlainStructure(part))),
            Err(Unread::Program) => Ok(Self::Program),
            Err(Unread::Fault(error)) => Err(error),
        }
    }
}

impl PlainStructure<'_> {
    /// Inserts the values. All fillings for one analysis share `together`, of [`FILLED_TOGETHER`] bytes.
    ///
    /// # Errors
    /// [`RenderError::Missing`] with every missing name of the whole structure; [`RenderError::Overfull`].
    pub fn fill(
        &self,
        values: &Map<String, Value>,
        together: &mut FillBudget,
    ) -> Result<Value, RenderError> {
        self.0.fill_once(values, together, &|pieces, level, pass| {
            pass.pieces(pieces, level)
        })
    }
}

/// The reason why a structure is not a plain one.
enum Unread {
    Program,
    Fault(RenderError),
}

impl From<RenderError> for Unread {
    fn from(error: RenderError) -> Self {
        Self::Fault(error)
    }
}

/// A part of a structure, with each text parsed to a `T`.
#[derive(Debug)]
pub(super) enum Part<'t, T> {
    Text(T),
    List(Vec<Self>),
    Fields(Vec<(&'t str, Self)>),
    /// A value without texts, which is kept unchanged.
    Fixed(&'t Value),
}

impl<'t, T> Part<'t, T> {
    /// Parses a structure, with `text` for each text.
    ///
    /// # Errors
    /// [`RenderError::Structure`], and the first failure of `text`.
    pub(super) fn read<E: From<RenderError>>(
        structure: &'t Value,
        text: &impl Fn(&'t str) -> Result<T, E>,
    ) -> Result<Self, E> {
        Self::read_within(
            structure,
            0,
            &mut FillBudget::with_limit(FILLED_BYTES),
            text,
        )
    }

    fn read_within<E: From<RenderError>>(
        structure: &'t Value,
        level: usize,
        room: &mut FillBudget,
        text: &impl Fn(&'t str) -> Result<T, E>,
    ) -> Result<Self, E> {
        let over = |_: FillBudgetExceeded| RenderError::Structure;
        Ok(match structure {
            Value::String(written) => {
                room.take_text(written.len()).map_err(over)?;
                Self::Text(text(written)?)
            }
            Value::Array(items) => {
                let level = room.take_list(level).map_err(over)?;
                let items = items
                    .iter()
                    .map(|item| Self::read_within(item, level, room, text));
                Self::List(items.collect::<Result<_, E>>()?)
            }
            Value::Object(fields) => {
                let names = fields.keys().map(String::as_str);
                let level = room.take_object(level, names).map_err(over)?;
                let fields = fields.iter().map(|(key, field)| {
                    let field = Self::read_within(field, level, room, text)?;
                    Ok::<_, E>((key.as_str(), field))
                });
                Self::Fields(fields.collect::<Result<_, E>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                room.take_text(0).map_err(over)?;
                Self::Fixed(structure)
            }
        })
    }

    /// Fills in the structure, with `text` for each text.
    pub(super) fn fill_once(
        &self,
        values: &Map<String, Value>,
        together: &mut FillBudget,
        text: &impl Fn(&T, usize, &mut Pass<'_>) -> Result<Value, RenderError>,
    ) -> Result<Value, RenderError> {
        if together.is_used_up() {
            return Err(FillBudgetExceeded::Size(FILLED_TOGETHER).into());
        }
        let mut pass = Pass {
            values,
            filling: FillBudget::with_limit(FILLED_BYTES),
            missing: BTreeSet::new(),
        };
        let filled = self.fill(0, &mut pass, text);
        // A failure costs as much as a success.
        let counted = together.take(pass.filling.used());
        let filled = filled?;
        counted?;
        match pass.is_missing_some() {
            true => Err(RenderError::Missing(pass.missing.into_iter().collect())),
            false => Ok(filled),
        }
    }

    fn fill(
        &self,
        level: usize,
        pass: &mut Pass<'_>,
        text: &impl Fn(&T, usize, &mut Pass<'_>) -> Result<Value, RenderError>,
    ) -> Result<Value, RenderError> {
        Ok(match self {
            Self::Text(written) => text(written, level, pass)?,
            Self::List(items) => {
                let level = pass.filling.take_list(level)?;
                let items = items.iter().map(|item| item.fill(level, pass, text));
                Value::Array(items.collect::<Result<_, RenderError>>()?)
            }
            Self::Fields(fields) => {
                let names = fields.iter().map(|(key, _)| *key);
                let level = pass.filling.take_object(level, names)?;
                let fields = fields.iter().map(|(key, field)| {
                    Ok::<_, RenderError>(((*key).to_owned(), field.fill(level, pass, text)?))
                });
                Value::Object(fields.collect::<Result<_, RenderError>>()?)
            }
            Self::Fixed(value) => pass.filling.copy(value, level)?,
        })
    }
}

/// The state of filling in a structure once.
#[derive(Debug)]
pub(super) struct Pass<'v> {
    pub(super) values: &'v Map<String, Value>,
    pub(super) filling: FillBudget,
    missing: BTreeSet<String>,
}

impl Pass<'_> {
    /// Fills in a text without expressions. A text that is only a name becomes the value itself.
    pub(super) fn pieces(
        &mut self,
        pieces: &[Piece<'_>],
        level: usize,
    ) -> Result<Value, RenderError> {
        let values = self.values;
        if let Some(name) = lone(pieces) {
            let Some(value) = lookup(values, name) else {
                self.lacks(name)?;
                return Ok(Value::Null);
            };
            return Ok(self.filling.copy(value, level)?);
        }
        self.filling.take_text(0)?;
        let mut written = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.filling.write(&mut written, text)?,
                Piece::Name(name) => match lookup(values, name) {
                    Some(value) => self.filling.write_value(&mut written, value, shown)?,
                    None => self.lacks(name)?,
                },
            }
        }
        Ok(Value::String(written))
    }

    /// Records a name without a value.
    pub(super) fn lacks(&mut self, name: &str) -> Result<(), RenderError> {
        self.filling.take(name.len())?;
        if !self.missing.contains(name) {
            self.missing.insert(name.to_owned());
        }
        Ok(())
    }

    /// Returns whether any name lacks a value so far.
    pub(super) fn is_missing_some(&self) -> bool {
        !self.missing.is_empty()
    }
}

/// Returns the name, if a text is only a name.
fn lone<'p>(pieces: &'p [Piece<'_>]) -> Option<&'p str> {
    let blank = |piece: &Piece<'_>| matches!(piece, Piece::Text(text) if text.trim().is_empty());
    let mut rest = pieces.iter().filter(|piece| !blank(piece));
    match (rest.next(), rest.next()) {
        (Some(Piece::Name(name)), None) => Some(name.as_str()),
        _ => None,
    }
}

/// Returns the value of a dotted name.
pub(super) fn lookup<'v>(values: &'v Map<String, Value>, dotted: &str) -> Option<&'v Value> {
    let mut keys = dotted.split('.');
    let first = values.get(keys.next()?)?;
    keys.try_fold(first, part_of)
}

/// Writes a value within a text, in the same way as expressions do.
fn shown(value: &Value) -> String {
    minijinja::Value::from(Serde(value)).to_string()
}
