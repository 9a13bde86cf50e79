//! The contents of a place of a sentence: a value, or words that name one and do not give it.

use serde_json::Value;

use super::scope::Scope;

/// How surely words give a parameter its value, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// The words before it make it likely: "in Berlin".
    Likely,
    /// It looks like the parameter's example, or has its unit.
    Shaped,
    /// It is one of the allowed values, or fits a pattern that words do not.
    Fitting,
    /// It is right beside the parameter's name: "order A-1002".
    Beside,
    /// The words around the name make it the value: "with profile prod".
    Linked,
    /// It is written as the value: `profile=prod`, `profile: "prod"`.
    Written,
}

/// The contents of a place.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlaceContent {
    /// A value in so many words.
    Value(Value, usize),
    /// A value that had to be converted, so that another parameter may rather have it.
    Converted(Value, usize),
    /// Words that name a value and do not give it.
    Doubt(Misread, usize),
    /// So many words that are something else as a whole.
    Other(usize),
    /// Neither.
    Nothing,
}

/// A text of so many words as a value.
pub(super) fn text(value: impl Into<String>, words: usize) -> PlaceContent {
    PlaceContent::Value(Value::String(value.into()), words)
}

impl PlaceContent {
    /// How many words it has, at least one.
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

/// Why words that name a value do not give it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misread {
    /// They give several, and the parameter has one.
    #[error("it may be {}", any_of(.0))]
    Several(Vec<Value>),
    /// They give one that is not accepted.
    #[error("{0}")]
    Unfit(String),
    /// The number may be read in two ways, such as `1.200`.
    #[error("the number is ambiguous; write it without a separator")]
    TwoWays,
    /// The number has a unit that is not exactly so many of the parameter's.
    #[error("it is not an exact number of {0}")]
    Unit(String),
    /// The date may be read in two ways, such as `04/05/2026`.
    #[error("the date is ambiguous; write it as YYYY-MM-DD")]
    TwoDates,
    /// A list that is written as a range.
    #[error("a range is not a list; list each value")]
    Range,
    /// They name a day that the calendar does not have, such as 31 February.
    #[error("the date does not exist")]
    NoSuchDate,
    /// The number has to be computed from others.
    #[error("it is a calculation; write the result")]
    Computed,
    /// The number is an approximate one.
    #[error("the number is approximate; write the exact one")]
    Approximate,
    /// The number is negative, and nothing in the declaration shows that it may be.
    #[error("the number is negative")]
    Negative,
    /// They leave the only value out that is known.
    #[error("it excludes something; name the values instead")]
    LeftOut,
    /// They look like a value and are none.
    #[error("it cannot be parsed")]
    NotUnderstood,
}

fn any_of(values: &[Value]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    values.join(" or ")
}

/// A value that a place of the sentence gives a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) first: usize,
    pub(super) words: usize,
    pub(super) value: Value,
    pub(super) strength: Strength,
}

/// A place that names a value of a parameter and does not give it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Doubt {
    pub(super) first: usize,
    pub(super) words: usize,
    pub(super) why: Misread,
    pub(super) strength: Strength,
}

/// The values of a sentence for one parameter.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ParameterReading {
    pub(super) candidates: Vec<Candidate>,
    pub(super) doubts: Vec<Doubt>,
    /// The values of places that the sentence leaves out.
    pub(super) left_out: Vec<LeftOut>,
}

/// A value that a place gives and the sentence leaves out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeftOut {
    pub(super) first: usize,
    pub(super) value: Value,
}

impl ParameterReading {
    /// Notes the contents of a place that the sentence leaves out.
    pub(super) fn note_left_out(&mut self, first: usize, seen: PlaceContent) {
        match seen {
            PlaceContent::Value(value, _) | PlaceContent::Converted(value, _) => {
                self.left_out.push(LeftOut { first, value });
            }
            PlaceContent::Doubt(..) | PlaceContent::Other(_) | PlaceContent::Nothing => {}
        }
    }

    /// Takes values away that the sentence leaves out elsewhere: "restart web-01 and web-02. Not web-02, though." What
    /// follows a later correction stays.
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

    /// Notes the contents of a place.
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
