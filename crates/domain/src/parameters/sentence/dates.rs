//! Days, points in time and durations as values of text parameters, in the format of the example.

use charter_contract::parameter::{Parameter, ParameterType};
use jiff::Timestamp as Instant;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::kinds::{self, Kind};
use super::measures::time_of;
use super::names::Names;
use super::quantities::{Limit, quantity};
use super::reader::Reader;
use super::relations::tells_of_state;
use super::seen::{Misread, PlaceContent, Strength};
use super::text::Sentence;
use super::times::{TimeReading, Toward, When, day_of, midnight, time_at};
use super::units::{Span, Unit};
use crate::parameters::matches;

/// The format of a parameter's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeFormat {
    /// `2026-04-14`
    Day,
    /// `2026-04-14T00:00:00Z`
    Moment,
}

/// The meaning of a time for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The start of a period.
    From,
    /// The end of a period.
    Until,
    /// A point in time, in the past or the future, depending on the name.
    At(Toward),
}

/// The relation that the words before a time express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cue {
    From,
    /// "Until", "by".
    Until,
    /// "Before", which refers to the past.
    Before,
}

/// A parameter whose values are days or points in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dates {
    written: TimeFormat,
    role: Role,
}

const FROM: [&str; 8] = [
    "since", "from", "start", "begin", "after", "newer", "earliest", "starting",
];
const UNTIL: [&str; 8] = [
    "until", "till", "to", "end", "before", "latest", "older", "ending",
];
const FUTURE: [&str; 11] = [
    "due",
    "deadline",
    "delivery",
    "scheduled",
    "schedule",
    "effective",
    "expiry",
    "expires",
    "departure",
    "return",
    "remind",
];
const PAST: [&str; 6] = ["created", "ordered", "hired", "opened", "updated", "birth"];
const OF_TIME: [&str; 8] = [
    "date",
    "datetime",
    "timestamp",
    "since",
    "until",
    "deadline",
    "day",
    "due",
];

impl Dates {
    /// Returns the form of a text parameter whose example, pattern or name shows that it is a time.
    pub(super) fn for_parameter(
        parameter: &Parameter,
        names: &Names,
        shown: &[&str],
    ) -> Option<Self> {
        let pattern = parameter.pattern.as_deref();
        let takes = |text: &str| pattern.is_none_or(|pattern| matches(pattern, text));
        let written = match shown.first().map(|text| kinds::kind(text)) {
            Some(Some(Kind::Date)) => TimeFormat::Day,
            Some(Some(Kind::Moment)) => TimeFormat::Moment,
            Some(_) => return None,
            None if !is_time(parameter, names) => return None,
            None if takes("2026-01-31") && !names.has_part(&["timestamp", "datetime", "at"]) => {
                TimeFormat::Day
            }
            None if takes("2026-01-31T00:00:00Z") => TimeFormat::Moment,
            None => return None,
        };
        let role = if names.has_part(&FROM) {
            Role::From
        } else if names.has_part(&UNTIL) {
            Role::Until
        } else if names.has_part(&FUTURE) {
            Role::At(Toward::Future)
        } else if names.has_part(&PAST) {
            Role::At(Toward::Past)
        } else {
            Role::At(Toward::Either)
        };
        Some(Self { written, role })
    }

    /// Returns the number of the parameter's role, from 1.
    pub(super) fn end(&self) -> usize {
        match self.role {
            Role::From => 1,
            Role::Until => 2,
            Role::At(_) => 3,
        }
    }

    /// Returns the time at a position, if its relation matches the parameter's role.
    pub(super) fn see(
        &self,
        reader: Reader<'_, '_>,
        at: usize,
        strength: Strength,
    ) -> PlaceContent {
        let cue = cue(reader.sentence, at);
        let named = strength >= Strength::Beside;
        let toward = match (self.role, cue) {
            (Role::At(toward), _) => toward,
            (_, Some(Cue::Until)) => Toward::Future,
            (Role::From | Role::Until, _) => Toward::Past,
        };
        let (when, words) = match time_at(reader.sentence, at, reader.now, toward) {
            Some(TimeReading::When(when, words)) => (when, words),
            Some(TimeReading::TwoDates(words)) => {
                let fits = match (self.role, cue) {
                    (Role::From, Some(Cue::Until | Cue::Before))
                    | (Role::Until, Some(Cue::From) | None) => false,
                    (Role::From | Role::Until | Role::At(_), _) => true,
                };
                return if fits {
                    PlaceContent::Doubt(Misread::TwoDates, words)
                } else {
                    PlaceContent::Other(words)
                };
            }
            Some(TimeReading::NoSuchDate(words)) => {
                let other = matches!(
                    (self.role, cue),
                    (Role::From, Some(Cue::Until | Cue::Before)) | (Role::Until, Some(Cue::From))
                );
                let led = cue.is_some() || named || matches!(self.role, Role::At(_));
                return match led && !other {
                    true => PlaceContent::Doubt(Misread::NoSuchDate, words),
                    false => PlaceContent::Nothing,
                };
            }
            None => return PlaceContent::Nothing,
        };
        let today = day_of(reader.now);
        let value = match (self.role, cue) {
            (Role::From, Some(Cue::Until | Cue::Before)) | (Role::Until, Some(Cue::From)) => None,
            (Role::From, Some(Cue::From)) => self.first(when),
            (Role::From, None) => self.first(when).filter(|_| named || is_span(when)),
            (Role::Until, Some(Cue::Until | Cue::Before)) => {
                self.last(when, cue == Some(Cue::Before))
            }
            (Role::Until, None) => {
                let over = matches!(when, When::Days(first, last) if first < last && last < today);
                self.last(when, false).filter(|_| named || over)
            }
            (Role::At(Toward::Future), Some(Cue::From)) | (Role::At(_), Some(Cue::Before)) => None,
            (Role::At(Toward::Past | Toward::Either), Some(_)) if !named => None,
            (Role::At(_), _) => self.first(when).filter(|_| !is_span(when)),
        };
        value.map_or(PlaceContent::Other(words), |value| {
            PlaceContent::Value(value.into(), words)
        })
    }

    fn first(&self, when: When) -> Option<String> {
        match when {
            When::Days(first, _) => self.write(first),
            When::Moment(at) | When::Since(at) => Some(self.write_moment(at)),
        }
    }

    /// Returns the end of a time; after "before", the beginning.
    fn last(&self, when: When, before: bool) -> Option<String> {
        match (when, self.written) {
            (When::Days(first, _), _) if before => self.write(first),
            (When::Days(_, last), TimeFormat::Day) => self.write(last),
            (When::Days(_, last), TimeFormat::Moment) => {
                let next = midnight(last.tomorrow().ok()?)?;
                let end = next
                    .checked_sub(jiff::Span::new().try_seconds(1).ok()?)
                    .ok()?;
                Some(self.write_moment(end))
            }
            (When::Moment(at), _) => Some(self.write_moment(at)),
            (When::Since(_), _) => None,
        }
    }

    fn write(&self, day: Date) -> Option<String> {
        match self.written {
            TimeFormat::Day => Some(day.to_string()),
            TimeFormat::Moment => midnight(day).map(|at| self.write_moment(at)),
        }
    }

    fn write_moment(&self, at: Instant) -> String {
        match self.written {
            TimeFormat::Day => at.to_zoned(TimeZone::UTC).date().to_string(),
            TimeFormat::Moment => at.to_string(),
        }
    }
}

fn is_span(when: When) -> bool {
    match when {
        When::Days(first, last) => first < last,
        When::Moment(_) => false,
        When::Since(_) => true,
    }
}

/// Returns whether the name of a parameter without an example refers to a time.
fn is_time(parameter: &Parameter, names: &Names) -> bool {
    let last = names.parts.last().map_or("", String::as_str);
    let described = parameter.description.to_lowercase();
    let told = ["date", "when", "time", "day"]
        .iter()
        .any(|word| described.contains(word));
    parameter.kind == ParameterType::String
        && (names.has_part(&OF_TIME) || (matches!(last, "at" | "on") && told))
}

/// Returns the relation that the words before a time express.
fn cue(sentence: &Sentence<'_>, at: usize) -> Option<Cue> {
    let mut at = at;
    while sentence.joins(at) && matches!(sentence.lower(at - 1), "the" | "end" | "of" | "beginning")
    {
        at -= 1;
    }
    let from: [&[&str]; 8] = [
        &["since"],
        &["from"],
        &["after"],
        &["starting"],
        &["beginning"],
        &["between"],
        &["as", "of"],
        &["newer", "than"],
    ];
    let until: [&[&str]; 6] = [
        &["until"],
        &["till"],
        &["by"],
        &["through"],
        &["up", "to"],
        &["ending"],
    ];
    if sentence.preceded(at, &from) {
        Some(Cue::From)
    } else if sentence.preceded(at, &until) {
        Some(Cue::Until)
    } else if sentence.preceded(at, &[&["before"], &["older", "than"]]) {
        Some(Cue::Before)
    } else if sentence.preceded(at, &[&["and"], &["to"]]) && opened(sentence, at) {
        Some(Cue::Until)
    } else {
        None
    }
}

/// The maximum number of words between "from" or "between" and the second end of a period.
const BETWEEN: usize = 6;

fn opened(sentence: &Sentence<'_>, at: usize) -> bool {
    let before = at.saturating_sub(BETWEEN)..at;
    before
        .into_iter()
        .any(|at| matches!(sentence.lower(at), "between" | "from" | "since"))
}

/// The format of a parameter's durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Periods {
    /// `P7D`, as in ISO 8601.
    Standard,
    /// `7d`
    Short,
}

const OF_LENGTH: [&str; 9] = [
    "window",
    "period",
    "duration",
    "interval",
    "ttl",
    "timeout",
    "lookback",
    "retention",
    "range",
];

impl Periods {
    /// Returns the form of a text parameter whose example or pattern shows that it is a duration.
    pub(super) fn for_parameter(
        parameter: &Parameter,
        names: &Names,
        shown: &[&str],
    ) -> Option<Self> {
        if let Some(example) = shown.first() {
            let short = example.len() > 1 && Span::of_letter(example).is_some();
            let standard = kinds::kind(example) == Some(Kind::Period);
            return match (standard, short) {
                (true, _) => Some(Self::Standard),
                (false, true) => Some(Self::Short),
                (false, false) => None,
            };
        }
        let pattern = parameter
            .pattern
            .as_deref()
            .filter(|_| names.has_part(&OF_LENGTH))?;
        [(Self::Standard, "P7D"), (Self::Short, "7d")]
            .into_iter()
            .find_map(|(form, text)| matches(pattern, text).then_some(form))
    }

    /// Returns the duration at a position.
    pub(super) fn see(self, reader: Reader<'_, '_>, at: usize, strength: Strength) -> PlaceContent {
        let sentence = reader.sentence;
        let word = sentence.written(at);
        if self == Self::Standard && kinds::kind(word) == Some(Kind::Period) {
            return PlaceContent::Value(word.into(), 1);
        }
        let Some(found) = quantity(sentence, at) else {
            return PlaceContent::Nothing;
        };
        let named = strength >= Strength::Beside;
        let meant = !matches!(found.limit, Some(Limit::Ago))
            && (!found.article || found.limit.is_some() || named);
        if !named && found.limit.is_none() && tells_of_state(sentence, at, found.words) {
            return PlaceContent::Nothing;
        }
        let is_time = matches!(found.unit, Some(Unit::Time(_)));
        if found.approximate && is_time && meant {
            return PlaceContent::Doubt(Misread::Approximate, found.words);
        }
        let asked = is_time && (named || sentence.preceded(at, &[&["for"]]));
        match time_of(&found)
            .filter(|_| meant)
            .and_then(|(count, span)| self.write(count, span))
        {
            Some(text) if found.limit == Some(Limit::Recent) => {
                PlaceContent::Value(text.into(), found.words)
            }
            Some(text) => PlaceContent::Converted(text.into(), found.words),
            None if meant && asked => PlaceContent::Doubt(Misread::NotUnderstood, found.words),
            None => PlaceContent::Nothing,
        }
    }

    fn write(self, count: i64, span: Span) -> Option<String> {
        let (standard, letter) = match span {
            Span::Second => (format!("PT{count}S"), Some('s')),
            Span::Minute => (format!("PT{count}M"), Some('m')),
            Span::Hour => (format!("PT{count}H"), Some('h')),
            Span::Day => (format!("P{count}D"), Some('d')),
            Span::Week => (format!("P{count}W"), Some('w')),
            Span::Month => (format!("P{count}M"), None),
            Span::Quarter => (format!("P{}M", count.checked_mul(3)?), None),
            Span::Year => (format!("P{count}Y"), None),
            Span::Millisecond => return None,
        };
        match self {
            Self::Standard => Some(standard),
            Self::Short => letter.map(|letter| format!("{count}{letter}")),
        }
    }
}
