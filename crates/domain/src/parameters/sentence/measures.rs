//! Numbers as values of parameters.

use charter_contract::parameter::Parameter;
use serde_json::Value;

use super::names::Names;
use super::quantities::{Limit, Quantity, is_formula, quantity};
use super::reader::Reader;
use super::relations::{Relation, relation, tells_of_state};
use super::seen::{Misread, PlaceContent, Strength};
use super::text::Sentence;
use super::units::{Span, Unit};

/// The unit and the role of a number parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measure {
    whole: bool,
    unit: Option<Unit>,
    /// The name of its unit, for people.
    unit_word: String,
    role: Role,
    /// Whether the declaration allows negative numbers.
    negative: bool,
}

/// The role of a number, from the parameter's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A minimum: `min_age_days`.
    Least,
    /// A maximum: `max_price`.
    Most,
    /// A number of list entries: `limit`.
    Top,
    /// An amount of money without a currency.
    Money,
    /// A calendar year.
    Year,
    /// Any other number.
    Plain,
}

const MONEY: [&str; 9] = [
    "amount", "price", "budget", "cost", "total", "salary", "fee", "sum", "revenue",
];

/// Words before the number of a list's first entries, and the nouns after it.
const FIRST: [&[&str]; 4] = [&["top"], &["first"], &["limit", "to"], &["limited", "to"]];
const ENTRIES: [&str; 9] = [
    "result", "item", "entry", "row", "record", "hit", "line", "match", "entries",
];

impl Measure {
    pub(super) fn for_parameter(parameter: &Parameter, names: &Names, whole: bool) -> Self {
        let first = names.parts.first().map_or("", String::as_str);
        let only = names.parts.len() == 1;
        let role = match first {
            "limit" | "top" | "n" if only => Role::Top,
            _ if names.has_part(&["limit", "top"])
                && names.has_part(&["result", "results", "n", "items", "rows"]) =>
            {
                Role::Top
            }
            "max" if names.has_part(&["results", "items", "rows", "entries"]) => Role::Top,
            "min" | "minimum" | "least" => Role::Least,
            "max" | "maximum" | "most" => Role::Most,
            "year" if only => Role::Year,
            _ if names.has_part(&["older", "over", "above", "exceeding", "longer"]) => Role::Least,
            _ if names.has_part(&["newer", "under", "below", "within"]) => Role::Most,
            _ if names.has_part(&MONEY) => Role::Money,
            _ => Role::Plain,
        };
        Self {
            whole,
            unit: names.unit.filter(|_| role != Role::Year),
            unit_word: names.parts.last().cloned().unwrap_or_default(),
            role,
            negative: may_be_negative(parameter, names),
        }
    }

    /// Returns the number at a position.
    pub(super) fn see(
        &self,
        reader: Reader<'_, '_>,
        at: usize,
        strength: Strength,
    ) -> PlaceContent {
        let sentence = reader.sentence;
        let Some(found) = quantity(sentence, at) else {
            return self.no_number(sentence, at, strength);
        };
        let seen = self.contents(sentence, at, found, strength);
        match seen {
            PlaceContent::Value(..) | PlaceContent::Converted(..) => {
                let doubt = self.doubt(sentence, at, found, strength);
                doubt.unwrap_or(seen)
            }
            PlaceContent::Doubt(..) | PlaceContent::Other(_) | PlaceContent::Nothing => seen,
        }
    }

    /// Handles words in the position of a number: a formula such as `20+5`, or none.
    fn no_number(&self, sentence: &Sentence<'_>, at: usize, strength: Strength) -> PlaceContent {
        let unit = sentence
            .joins(at + 1)
            .then(|| Unit::of_word(sentence.lower(at + 1)))
            .flatten();
        let like = self
            .unit
            .zip(unit)
            .is_some_and(|(wanted, unit)| unit.is_like(wanted));
        if is_formula(sentence.lower(at)) && (like || strength >= Strength::Beside) {
            return PlaceContent::Doubt(Misread::Computed, 1 + usize::from(like));
        }
        match strength == Strength::Written && !sentence.lower(at).is_empty() {
            true => PlaceContent::Doubt(Misread::Unfit("it must be a number".to_owned()), 1),
            false => PlaceContent::Nothing,
        }
    }

    /// Returns the reason why a possible number is not accepted, or is not a number.
    fn doubt(
        &self,
        sentence: &Sentence<'_>,
        at: usize,
        found: Quantity,
        strength: Strength,
    ) -> Option<PlaceContent> {
        let measured = self.unit.is_some() || self.is_money();
        if measured {
            match relation(sentence, at, found.words) {
                Relation::Alone => {}
                Relation::Whole => return Some(PlaceContent::Other(found.words)),
                Relation::Operand => {
                    return Some(PlaceContent::Doubt(Misread::Computed, found.words));
                }
            }
        }
        let minus = sentence.preceded(at, &[&["minus"], &["negative"]]);
        if (found.number.is_negative() && !self.negative) || minus {
            return Some(PlaceContent::Doubt(Misread::Negative, found.words));
        }
        if found.approximate && self.role != Role::Top {
            return Some(PlaceContent::Doubt(Misread::Approximate, found.words));
        }
        let timed = matches!(self.unit, Some(Unit::Time(_)));
        let tells = timed
            && self.role == Role::Plain
            && found.limit.is_none()
            && strength < Strength::Beside
            && tells_of_state(sentence, at, found.words);
        tells.then_some(PlaceContent::Other(found.words))
    }

    /// Returns the meaning of a number for the parameter, from its unit and the comparison in the words.
    fn contents(
        &self,
        sentence: &Sentence<'_>,
        at: usize,
        found: Quantity,
        strength: Strength,
    ) -> PlaceContent {
        if !self.compares(found.limit, strength) {
            return PlaceContent::Nothing;
        }
        if found.article && found.limit.is_none() && strength < Strength::Beside {
            return PlaceContent::Nothing;
        }
        match (self.unit, found.unit) {
            (Some(wanted), Some(unit)) if unit.is_like(wanted) => {
                self.converted(found, unit, wanted, strength)
            }
            (Some(_) | None, Some(Unit::Time(_) | Unit::Data(_))) => match strength {
                Strength::Linked | Strength::Written => self.in_other_unit(found),
                Strength::Likely | Strength::Shaped | Strength::Fitting | Strength::Beside => {
                    PlaceContent::Nothing
                }
            },
            (None, Some(Unit::Money(_))) if self.is_money() => self.value(found),
            (None, Some(Unit::Percent)) if strength >= Strength::Beside => self.value(found),
            (_, Some(Unit::Money(_) | Unit::Percent)) => PlaceContent::Nothing,
            (_, None) if strength >= Strength::Beside || self.is_counted(sentence, at, found) => {
                self.value(found)
            }
            (_, None) => PlaceContent::Nothing,
        }
    }

    fn is_money(&self) -> bool {
        matches!(self.role, Role::Money | Role::Least | Role::Most)
    }

    /// Returns whether the comparison in the words matches the parameter's role.
    fn compares(&self, limit: Option<Limit>, strength: Strength) -> bool {
        let timed = matches!(self.unit, Some(Unit::Time(_)));
        match (self.role, limit) {
            (_, None) => true,
            (_, Some(Limit::Ago)) => false,
            (Role::Least, Some(Limit::Most | Limit::Recent)) | (Role::Most, Some(Limit::Least)) => {
                false
            }
            (Role::Least | Role::Most | Role::Top, Some(_)) => true,
            (Role::Money | Role::Year | Role::Plain, Some(_)) => {
                timed || strength >= Strength::Linked
            }
        }
    }

    /// Returns whether a bare number counts the parameter's things: "top 5", "in 2026".
    fn is_counted(&self, sentence: &Sentence<'_>, at: usize, found: Quantity) -> bool {
        let after = at + found.words;
        match self.role {
            Role::Top => {
                let noun = super::words::singular(sentence.lower(after));
                sentence.preceded(at, &FIRST) || (sentence.joins(after) && ENTRIES.contains(&noun))
            }
            Role::Year => {
                let year = found
                    .number
                    .as_whole()
                    .is_some_and(|year| (1900..2200).contains(&year));
                year && sentence.preceded(at, &[&["in"], &["for"], &["of"], &["year"]])
            }
            Role::Least | Role::Most | Role::Money | Role::Plain => false,
        }
    }

    fn converted(
        &self,
        found: Quantity,
        unit: Unit,
        wanted: Unit,
        strength: Strength,
    ) -> PlaceContent {
        let number = unit.convert(found.number, wanted);
        let Some(number) = number.filter(|number| number.is_whole() || !self.whole) else {
            let long = matches!(unit, Unit::Time(Span::Month | Span::Quarter | Span::Year));
            return match long
                || found.limit.is_some()
                || !matches!(unit, Unit::Time(_))
                || strength >= Strength::Beside
            {
                true => self.in_other_unit(found),
                false => PlaceContent::Nothing,
            };
        };
        match self.value(Quantity { number, ..found }) {
            PlaceContent::Value(value, words) if unit != wanted => {
                PlaceContent::Converted(value, words)
            }
            seen => seen,
        }
    }

    fn in_other_unit(&self, found: Quantity) -> PlaceContent {
        let word = match self.unit {
            Some(_) => self.unit_word.clone(),
            None => "its unit".to_owned(),
        };
        PlaceContent::Doubt(Misread::Unit(word), found.words)
    }

    fn value(&self, found: Quantity) -> PlaceContent {
        let money = self.is_money() || matches!(self.unit, Some(Unit::Money(_)));
        if found.ambiguous && (self.whole || money) {
            return PlaceContent::Doubt(Misread::TwoWays, found.words);
        }
        let number = found.number;
        match number
            .to_value()
            .filter(|_| number.is_whole() || !self.whole)
        {
            Some(value) => PlaceContent::Value(value, found.words),
            None => PlaceContent::Doubt(
                Misread::Unfit("it must be a whole number".to_owned()),
                found.words,
            ),
        }
    }
}

/// Returns whether a declaration allows negative numbers.
fn may_be_negative(parameter: &Parameter, names: &Names) -> bool {
    const SIGNED: [&str; 14] = [
        "offset",
        "delta",
        "change",
        "difference",
        "diff",
        "adjustment",
        "balance",
        "temperature",
        "shift",
        "latitude",
        "longitude",
        "lat",
        "lon",
        "lng",
    ];
    let below = |value: &Value| value.as_f64().is_some_and(|number| number < 0.0);
    let shown = parameter.example.iter().chain(&parameter.default);
    let mut shown = shown.chain(parameter.allowed.iter().flatten());
    let listed = |value: &Value| value.as_array().is_some_and(|all| all.iter().any(below));
    let described = parameter.description.to_lowercase();
    shown.any(|value| below(value) || listed(value))
        || names.has_part(&SIGNED)
        || described.contains("negative")
        || described.contains("below zero")
}

/// Converts a duration to a whole number of a unit, a smaller one if necessary: half a year is 6 months.
pub(super) fn time_of(found: &Quantity) -> Option<(i64, Span)> {
    let Some(Unit::Time(mut span)) = found.unit else {
        return None;
    };
    loop {
        let number = found.unit?.convert(found.number, Unit::Time(span))?;
        if let Some(count) = number.as_whole() {
            return (count > 0).then_some((count, span));
        }
        span = span.smaller()?;
    }
}
