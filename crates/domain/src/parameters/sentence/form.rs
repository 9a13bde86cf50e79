//! The form of a parameter's values, derived from its declaration, and the extraction of a value in this form at a
//! position of a sentence.

use charter_contract::parameter::{Parameter, ParameterType};
use serde_json::Value;

use super::choices::Choices;
use super::dates::{Dates, Periods};
use super::free::Free;
use super::kinds::Kind;
use super::measures::Measure;
use super::names::Names;
use super::patterns::Pattern;
use super::reader::Reader;
use super::seen::{Misread, PlaceContent, Strength, text};
use super::shapes::Shape;
use super::text::Sentence;
use super::words::{is_capitalised, is_function_word, looks_like_code, may_be_value};

/// The number of groups of forms. A word belongs to only one form of the first group.
pub(super) const GROUPS: usize = 5;

/// The form of a parameter's values.
#[derive(Debug)]
pub(super) enum Form {
    /// An allowed value.
    Choice(Choices),
    /// A text that matches a pattern.
    Pattern(Pattern, Option<Shape>),
    /// A day or a point in time.
    Date(Dates),
    /// A duration, as text.
    Period(Periods),
    /// A text that resembles the example.
    Shaped(Shape),
    /// Any text.
    Free(Free),
    /// A number.
    Measure(Measure),
    /// A boolean.
    Truth,
    /// A list of such values.
    List(Box<Form>),
    /// A map, which is written as JSON.
    Map,
}

impl Form {
    /// Returns the form of a declared parameter.
    pub(super) fn for_parameter(
        parameter: &Parameter,
        names: &Names,
        sentence: &Sentence<'_>,
    ) -> Self {
        if let Some(allowed) = &parameter.allowed
            && parameter.kind != ParameterType::Array
        {
            return Self::Choice(Choices::for_parameter(parameter, allowed));
        }
        match parameter.kind {
            ParameterType::String => Self::of_text(parameter, names, sentence),
            ParameterType::Number => Self::Measure(Measure::for_parameter(parameter, names, false)),
            ParameterType::Integer => Self::Measure(Measure::for_parameter(parameter, names, true)),
            ParameterType::Boolean => Self::Truth,
            ParameterType::Array => Self::List(Box::new(Self::of_element(parameter, names))),
            ParameterType::Object => Self::Map,
        }
    }

    fn of_text(parameter: &Parameter, names: &Names, sentence: &Sentence<'_>) -> Self {
        let shown = [&parameter.example, &parameter.default];
        let shown = shown.into_iter().flatten().filter_map(Value::as_str);
        let shown: Vec<&str> = shown.filter(|text| !text.is_empty()).collect();
        if let Some(dates) = Dates::for_parameter(parameter, names, &shown) {
            return Self::Date(dates);
        }
        if let Some(periods) = Periods::for_parameter(parameter, names, &shown) {
            return Self::Period(periods);
        }
        let shape = shown.iter().find_map(|text| Shape::from_example(text));
        match (Pattern::for_parameter(parameter, sentence), shape) {
            (Some(pattern), shape) => Self::Pattern(pattern, shape),
            (None, Some(shape)) => Self::Shaped(shape),
            (None, None) => Self::Free(Free::for_parameter(parameter, names, &shown)),
        }
    }

    /// Returns the form of a list's elements, from the first element of its example or default.
    fn of_element(parameter: &Parameter, names: &Names) -> Self {
        let lists = [&parameter.example, &parameter.default];
        let lists = lists.into_iter().flatten().filter_map(Value::as_array);
        match lists.flatten().next() {
            Some(Value::Number(number)) => {
                Self::Measure(Measure::for_parameter(parameter, names, !number.is_f64()))
            }
            Some(Value::String(text)) => match Shape::from_example(text) {
                Some(shape) => Self::Shaped(shape),
                None => Self::Free(Free::for_parameter(parameter, names, &[text])),
            },
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
                Self::Free(Free::for_parameter(parameter, names, &[]))
            }
        }
    }

    /// Returns the strength of a value without the parameter's name; `None` if the name is required.
    pub(super) fn unnamed(&self) -> Option<Strength> {
        match self {
            Self::Choice(_) => Some(Strength::Fitting),
            Self::Pattern(pattern, _) if pattern.separates() => Some(Strength::Fitting),
            Self::Pattern(_, Some(_))
            | Self::Shaped(_)
            | Self::Measure(_)
            | Self::Date(_)
            | Self::Period(_) => Some(Strength::Shaped),
            Self::Free(_) => Some(Strength::Likely),
            Self::Pattern(_, None) | Self::Truth | Self::List(_) | Self::Map => None,
        }
    }

    /// Returns the value at a position, if the surrounding words give it this strength.
    pub(super) fn see(
        &self,
        reader: Reader<'_, '_>,
        at: usize,
        strength: Strength,
    ) -> PlaceContent {
        match self {
            Self::Choice(choices) => choices.see(reader.sentence, at, strength),
            Self::Pattern(pattern, shape) => {
                see_pattern(pattern, shape.as_ref(), reader, at, strength)
            }
            Self::Date(dates) => dates.see(reader, at, strength),
            Self::Period(periods) => periods.see(reader, at, strength),
            Self::Shaped(shape) => see_shape(shape, reader, at, strength),
            Self::Free(free) => free.see(reader, at, strength),
            Self::Measure(measure) => measure.see(reader, at, strength),
            Self::Truth | Self::List(_) | Self::Map => PlaceContent::Nothing,
        }
    }

    /// Returns the strength for an allowed value among excluded words: there any mention counts.
    pub(super) fn when_left_out(&self, strength: Strength) -> Strength {
        match self {
            Self::Choice(_) => Strength::Linked,
            Self::Pattern(..)
            | Self::Date(_)
            | Self::Period(_)
            | Self::Shaped(_)
            | Self::Free(_)
            | Self::Measure(_)
            | Self::Truth
            | Self::List(_)
            | Self::Map => strength,
        }
    }

    /// Returns the reason why a word next to the parameter's name is not a value, if all values are known.
    pub(super) fn unknown(&self) -> Option<Misread> {
        match self {
            Self::Choice(choices) => Some(choices.fault()),
            Self::Pattern(..)
            | Self::Date(_)
            | Self::Period(_)
            | Self::Shaped(_)
            | Self::Free(_)
            | Self::Measure(_)
            | Self::Truth
            | Self::List(_)
            | Self::Map => None,
        }
    }

    /// Returns whether its values are texts other than times.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Self::Choice(_) | Self::Pattern(..) | Self::Shaped(_) | Self::Free(_) => true,
            Self::List(element) => element.is_text(),
            Self::Date(_) | Self::Period(_) | Self::Measure(_) | Self::Truth | Self::Map => false,
        }
    }

    /// Returns whether a word differs from the example only in its letters.
    pub(super) fn fits_alike(&self, word: &str) -> bool {
        match self {
            Self::Pattern(_, Some(shape)) | Self::Shaped(shape) => shape.fits_alike(word),
            Self::Choice(_)
            | Self::Pattern(_, None)
            | Self::Date(_)
            | Self::Period(_)
            | Self::Free(_)
            | Self::Measure(_)
            | Self::Truth
            | Self::List(_)
            | Self::Map => false,
        }
    }

    /// Returns whether a person who does not know the values could mean a word as one.
    pub(super) fn may_be_meant(&self, word: &str) -> bool {
        match self {
            Self::Choice(_) | Self::Pattern(..) | Self::Shaped(_) | Self::Free(_) => true,
            Self::Measure(_) | Self::Date(_) | Self::Period(_) => {
                word.contains(|c: char| c.is_ascii_digit())
            }
            Self::List(element) => element.may_be_meant(word),
            Self::Truth | Self::Map => false,
        }
    }

    /// Returns whether a word that looks like a code could be meant as a value of this form: it resembles the example,
    /// if there is one.
    pub(super) fn resembles(&self, word: &str) -> bool {
        match self {
            Self::Pattern(_, Some(shape)) | Self::Shaped(shape) => shape.is_nearly(word),
            Self::List(element) => element.resembles(word),
            Self::Choice(_)
            | Self::Pattern(_, None)
            | Self::Free(_)
            | Self::Measure(_)
            | Self::Date(_)
            | Self::Period(_)
            | Self::Truth
            | Self::Map => self.may_be_meant(word),
        }
    }

    /// Returns the group of forms that share words: "last month" supplies its first day to one parameter and its last
    /// day to another.
    pub(super) fn group(&self) -> usize {
        match self {
            Self::Date(dates) => dates.end(),
            Self::Period(_) => GROUPS - 1,
            Self::Choice(_)
            | Self::Pattern(..)
            | Self::Shaped(_)
            | Self::Free(_)
            | Self::Measure(_)
            | Self::Truth
            | Self::List(_)
            | Self::Map => 0,
        }
    }

    /// Returns whether an ordinary word before the parameter's name is its value.
    pub(super) fn may_follow_its_value(&self) -> bool {
        match self {
            Self::Free(free) => free.may_precede_name(),
            Self::List(element) => element.may_follow_its_value(),
            Self::Choice(_)
            | Self::Pattern(..)
            | Self::Date(_)
            | Self::Period(_)
            | Self::Shaped(_)
            | Self::Measure(_)
            | Self::Truth
            | Self::Map => true,
        }
    }

    /// Returns whether its values are lists.
    pub(super) fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }

    /// Returns whether its values are places.
    pub(super) fn is_place(&self) -> bool {
        match self {
            Self::Pattern(_, Some(shape)) | Self::Shaped(shape) => is_region(shape),
            Self::Free(free) => free.is_place(),
            Self::List(element) => element.is_place(),
            Self::Choice(_)
            | Self::Pattern(_, None)
            | Self::Date(_)
            | Self::Period(_)
            | Self::Measure(_)
            | Self::Truth
            | Self::Map => false,
        }
    }
}

fn is_region(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::Kind(Kind::Region | Kind::Zone | Kind::CloudRegion)
    )
}

fn see_pattern(
    pattern: &Pattern,
    shape: Option<&Shape>,
    reader: Reader<'_, '_>,
    at: usize,
    strength: Strength,
) -> PlaceContent {
    let sentence = reader.sentence;
    if strength == Strength::Written
        && let Some((quoted, words)) = sentence.quotation(at)
        && pattern.fits(quoted)
    {
        return text(quoted, words);
    }
    let word = sentence.written(at);
    let small = sentence.in_small_letters(at);
    let small_first = small.filter(|_| shape.is_some_and(Shape::is_small));
    let fitting = small_first.and_then(|small| pattern.fit(small));
    let fitting = fitting.or_else(|| pattern.fit(word));
    if let Some(value) = fitting.or_else(|| pattern.fit(small?)) {
        let shaped = shape.is_some_and(|shape| shape.fit(word).is_some());
        let named = match strength {
            Strength::Written => true,
            Strength::Linked => looks_like_code(word) || may_be_value(sentence.lower(at)),
            Strength::Beside => looks_like_code(word),
            Strength::Likely | Strength::Shaped | Strength::Fitting => false,
        };
        if pattern.separates() || shaped || named {
            return text(value, 1);
        }
        return PlaceContent::Nothing;
    }
    unfit(shape, reader, at, strength, || pattern.fault())
}

fn see_shape(shape: &Shape, reader: Reader<'_, '_>, at: usize, strength: Strength) -> PlaceContent {
    let word = reader.sentence.written(at);
    let small = reader.sentence.in_small_letters(at);
    let small = small.filter(|_| shape.is_small());
    if let Some(value) = small
        .and_then(|small| shape.fit(small))
        .or_else(|| shape.fit(word))
    {
        return text(value, 1);
    }
    // Any text may follow a colon: "order: shipped".
    let colon = reader.sentence.gap(at).trim() == ":";
    if strength == Strength::Written && (!colon || looks_like_code(word)) {
        return match reader.sentence.quotation(at) {
            Some((quoted, words)) => text(quoted, words),
            None => text(word, 1),
        };
    }
    unfit(
        Some(shape),
        reader,
        at,
        strength.min(Strength::Linked),
        || Misread::NotUnderstood,
    )
}

/// Handles an invalid word that is still meant as a value.
fn unfit(
    shape: Option<&Shape>,
    reader: Reader<'_, '_>,
    at: usize,
    strength: Strength,
    fault: impl Fn() -> Misread,
) -> PlaceContent {
    let sentence = reader.sentence;
    let (word, lower) = (sentence.written(at), sentence.lower(at));
    let code = looks_like_code(word);
    let named = match strength {
        Strength::Written => !word.is_empty(),
        Strength::Linked => code || (may_be_value(lower) && sentence.breaks(at + 1)),
        Strength::Likely | Strength::Shaped | Strength::Fitting | Strength::Beside => false,
    };
    let nearly = code && shape.is_some_and(|shape| shape.is_nearly(word));
    let place = shape.is_some_and(is_region) && is_named_place(sentence, at);
    match named || nearly || place {
        true => PlaceContent::Doubt(fault(), 1),
        false => PlaceContent::Nothing,
    }
}

/// Returns whether the name of a place begins here: "in Frankfurt".
fn is_named_place(sentence: &Sentence<'_>, at: usize) -> bool {
    let led = sentence.preceded(at, &[&["in"]]);
    let alone = !sentence.joins(at + 1) || is_function_word(sentence.lower(at + 1));
    led && alone && is_capitalised(sentence.written(at))
}
