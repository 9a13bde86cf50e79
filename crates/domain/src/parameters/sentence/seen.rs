//! The contents of a position in a sentence: a value, or words for a value that cannot be determined.

use serde_json::Value;

use super::scope::Scope;

/// How strongly words assign a value to a parameter, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// The preceding words make it likely: "in Berlin".
    Likely,
    /// It resembles the parameter's example, or has its unit.
    Shaped,
    /// It is an allowed value, or matches a pattern that ordinary words do not match.
    Fitting,
    /// It is next to the parameter's name: "order A-1002".
    Beside,
    /// The words around the name make it the value: "with profile prod".
    Linked,
    /// It is written explicitly: `profile=prod`, `profile: "prod"`.
    Written,
}

/// The contents of a position.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlaceContent {
    /// A value, and its number of words.
    Value(Value, usize),
    /// A value that was converted, so that another parameter may match better.
    Converted(Value, usize),
    /// Words for a value that cannot be determined.
    Doubt(Misread, usize),
    /// A phrase with another meaning, and its number of words.
    Other(usize),
    /// None of these.
    Nothing,
}

/// A text of so many words as a value.
pub(super) fn text(value: impl Into<String>, words: usize) -> PlaceContent {
    PlaceContent::Value(Value::String(value.into()), words)
}

impl PlaceContent {
    /// Returns the number of words, at least one.
    pub(super) fn words(&self) -> usize {
        match self {
            Self::Value(_, words)
            | Self::Converted(_, words)
            | Self::Doubt(_, words)
            | Self::Other(words) => (*words).max(1),
            Self::Nothing => 1,
        }
    }
}

/// The reason why the words do not determine a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misread {
    /// There are several values, and the parameter accepts one.
    #[error("it may be {}", any_of(.0))]
    Several(Vec<Value>),
    /// The value is invalid.
    #[error("{0}")]
    Unfit(String),
    /// The number is ambiguous, such as `1.200`.
    #[error("the number is ambiguous; write it without a separator")]
    TwoWays,
    /// The number has a unit that cannot be converted exactly to the parameter's unit.
    #[error("it is not an exact number of {0}")]
    Unit(String),
    /// The date is ambiguous, such as `04/05/2026`.
    #[error("the date is ambiguous; write it as YYYY-MM-DD")]
    TwoDates,
    /// The list is written as a range.
    #[error("a range is not a list; list each value")]
    Range,
    /// The day does not exist in the calendar, such as 31 February.
    #[error("the date does not exist")]
    NoSuchDate,
    /// The number must be computed from others.
    #[error("it is a calculation; write the result")]
    Computed,
    /// The number is approximate.
    #[error("the number is approximate; write the exact one")]
    Approximate,
    /// The number is negative, and the declaration does not allow that.
    #[error("the number is negative")]
    Negative,
    /// The words exclude the only known value.
    #[error("it excludes something; name the values instead")]
    LeftOut,
    /// The words look like a value but are invalid.
    #[error("it cannot be parsed")]
    NotUnderstood,
}

fn any_of(values: &[Value]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    values.join(" or ")
}

/// A value for a parameter at a position of the sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) first: usize,
    pub(super) words: usize,
    pub(super) value: Value,
    pub(super) strength: Strength,
}

/// A position with words for a value that cannot be determined.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Doubt {
    pub(super) first: usize,
    pub(super) words: usize,
    pub(super) why: Misread,
    pub(super) strength: Strength,
}

/// The values for one parameter in a sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ParameterReading {
    pub(super) candidates: Vec<Candidate>,
    pub(super) doubts: Vec<Doubt>,
    /// The excluded values.
    pub(super) left_out: Vec<LeftOut>,
}

/// An excluded value at a position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeftOut {
    pub(super) first: usize,
    pub(super) value: Value,
}

impl ParameterReading {
    /// Records the contents of an excluded position.
    pub(super) fn note_left_out(&mut self, first: usize, seen: PlaceContent) {
        match seen {
            PlaceContent::Value(value, _) | PlaceContent::Converted(value, _) => {
                self.left_out.push(LeftOut { first, value });
            }
            PlaceContent::Doubt(..) | PlaceContent::Other(_) | PlaceContent::Nothing => {}
        }
    }

    /// Removes values that the sentence excludes elsewhere: "restart web-01 and web-02. Not web-02, though." Values
    /// after a later correction are kept.
    pub(super) fn drop_left_out(&mut self, scope: &Scope) {
        let Self {
            candidates,
            left_out,
            ..
        } = self;
        candidates.retain(|one| {
            let corrected = scope.correction_before(one.first);
            let mut same = left_out.iter().filter(|left| left.value == one.value);
            same.all(|left| corrected.is_some_and(|from| left.first < from))
        });
    }

    /// Records the contents of a position.
    pub(super) fn note(&mut self, first: usize, seen: PlaceContent, strength: Strength) {
        match seen {
            PlaceContent::Value(value, words) => self.candidates.push(Candidate {
                first,
                words,
                value,
                strength,
            }),
            PlaceContent::Converted(value, words) => {
                let strength = if strength == Strength::Shaped {
                    Strength::Likely
                } else {
                    strength
                };
                self.candidates.push(Candidate {
                    first,
                    words,
                    value,
                    strength,
                });
            }
            PlaceContent::Doubt(why, words) => self.doubts.push(Doubt {
                first,
                words,
                why,
                strength,
            }),
            PlaceContent::Other(_) | PlaceContent::Nothing => {}
        }
    }
}
