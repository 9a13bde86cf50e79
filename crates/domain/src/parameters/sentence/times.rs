//! Days, points in time and calendar periods in everyday wording, relative to the time of the request: "since Monday",
//! "14 April", "3 days ago", "last month". Days are in UTC.

use charter_contract::time::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Timestamp as Instant};

use super::kinds;
use super::measures::time_of;
use super::quantities::{Limit, quantity};
use super::text::Sentence;
use super::units::{Span as Length, Unit};
use super::words::{month, weekday};

/// A calendar time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// From one day to another, both inclusive; equal for a single day.
    Days(Date, Date),
    /// A point in time.
    Moment(Instant),
    /// The period from a point in time until now.
    Since(Instant),
}

/// The result of reading a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeReading {
    /// A time, with its number of words.
    When(When, usize),
    /// Words with two possible days.
    TwoDates(usize),
    /// Words for a day that does not exist: "31 February".
    NoSuchDate(usize),
}

/// The direction in which an incomplete date is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toward {
    /// To the latest date that is not after today.
    Past,
    /// To the next date that is not before today.
    Future,
    /// Unknown.
    Either,
}

/// Returns the day of a point in time.
pub(super) fn day_of(at: Timestamp) -> Date {
    at.as_jiff().to_zoned(TimeZone::UTC).date()
}

/// Returns the start of a day.
pub(super) fn midnight(day: Date) -> Option<Instant> {
    at_time(day, Time::midnight())
}

/// Returns the time that begins at a word.
pub(super) fn time_at(
    sentence: &Sentence<'_>,
    at: usize,
    now: Timestamp,
    toward: Toward,
) -> Option<TimeReading> {
    let today = day_of(now);
    let whole =
        |found: Option<(When, usize)>| found.map(|(when, words)| TimeReading::When(when, words));
    in_digits(sentence, at)
        .or_else(|| whole(word_of_day(sentence, at, today)))
        .or_else(|| with_month(sentence, at, today, toward))
        .or_else(|| with_weekday(sentence, at, today, toward))
        .or_else(|| whole(counted(sentence, at, now)))
        .or_else(|| whole(year_or_quarter(sentence, at)))
        .or_else(|| whole(period(sentence, at, today)))
}

fn one(day: Date) -> When {
    When::Days(day, day)
}

/// `2026-04-14`, `2026-04-14T09:00:00Z`, `2026-04-14 09:00`, `14.04.2026`, `04/14/2026`.
fn in_digits(sentence: &Sentence<'_>, at: usize) -> Option<TimeReading> {
    let word = sentence.written(at);
    if kinds::is_moment(word) {
        return Some(match moment(word) {
            Some(at) => TimeReading::When(When::Moment(at), 1),
            None => TimeReading::NoSuchDate(1),
        });
    }
    if kinds::is_date(word) {
        let Ok(day) = word.parse::<Date>() else {
            return Some(TimeReading::NoSuchDate(1));
        };
        let time = clock(sentence.written(at + 1)).filter(|_| sentence.joins(at + 1));
        return Some(match time.and_then(|time| at_time(day, time)) {
            Some(at) => TimeReading::When(When::Moment(at), 2),
            None => TimeReading::When(one(day), 1),
        });
    }
    if let Some([day, month, year]) = three_numbers(word, '.') {
        return Some(match date(year, month, day) {
            Some(day) => TimeReading::When(one(day), 1),
            None => TimeReading::NoSuchDate(1),
        });
    }
    let [first, second, year] = three_numbers(word, '/')?;
    match (date(year, first, second), date(year, second, first)) {
        (Some(american), Some(other)) if american != other => Some(TimeReading::TwoDates(1)),
        (Some(day), _) | (None, Some(day)) => Some(TimeReading::When(one(day), 1)),
        (None, None) => Some(TimeReading::NoSuchDate(1)),
    }
}

/// Parses three numbers, the last of which is a year.
fn three_numbers(word: &str, sign: char) -> Option<[i16; 3]> {
    let numbers = word.split(sign).map(|part| part.parse().ok());
    let numbers: Vec<i16> = numbers.collect::<Option<_>>()?;
    let numbers = <[i16; 3]>::try_from(numbers).ok();
    numbers.filter(|[_, _, year]| YEARS.contains(year))
}

/// Years that a number of four digits may mean.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2199;

fn date(year: i16, month: i16, day: i16) -> Option<Date> {
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// Parses a point in time in RFC 3339, or one without an offset, which is in UTC.
fn moment(text: &str) -> Option<Instant> {
    if let Ok(at) = text.parse::<Instant>() {
        return Some(at);
    }
    let (day, time) = text.split_once(['T', 't'])?;
    at_time(day.parse().ok()?, clock(time)?)
}

fn clock(text: &str) -> Option<Time> {
    let numbers = text.split(':').map(|part| {
        let digits = (1..=2).contains(&part.len()) && part.chars().all(|c| c.is_ascii_digit());
        digits.then(|| part.parse().ok()).flatten()
    });
    let numbers: Vec<i8> = numbers.collect::<Option<_>>()?;
    match *numbers.as_slice() {
        [hour, minute] => Time::new(hour, minute, 0, 0).ok(),
        [hour, minute, second] => Time::new(hour, minute, second, 0).ok(),
        _ => None,
    }
}

fn at_time(day: Date, time: Time) -> Option<Instant> {
    Offset::UTC.to_timestamp(day.to_datetime(time)).ok()
}

fn days_from(day: Date, days: i64) -> Option<Date> {
    day.checked_add(Span::new().try_days(days).ok()?).ok()
}

fn months_from(day: Date, months: i64) -> Option<Date> {
    day.checked_add(Span::new().try_months(months).ok()?).ok()
}

/// Reads "today" and similar words.
fn word_of_day(sentence: &Sentence<'_>, at: usize, today: Date) -> Option<(When, usize)> {
    let phrases: [(&[&str], i64); 5] = [
        (&["day", "before", "yesterday"], -2),
        (&["day", "after", "tomorrow"], 2),
        (&["today"], 0),
        (&["yesterday"], -1),
        (&["tomorrow"], 1),
    ];
    let found = phrases.iter().find(|(phrase, _)| sentence.has(at, phrase));
    let (phrase, days) = found?;
    Some((one(days_from(today, *days)?), phrase.len()))
}

/// Words before a month without a day or year. "May" and "March" are verbs too.
const BEFORE_MONTH: [&[&str]; 11] = [
    &["in"],
    &["since"],
    &["of"],
    &["until"],
    &["till"],
    &["for"],
    &["last"],
    &["from"],
    &["during"],
    &["by"],
    &["before"],
];

/// Reads a month with a day or a year, or a month alone.
fn with_month(
    sentence: &Sentence<'_>,
    at: usize,
    today: Date,
    toward: Toward,
) -> Option<TimeReading> {
    let (day, place, words) = match day_of_month(sentence.lower(at)) {
        Some(day) => {
            let place = at + 1 + usize::from(sentence.has(at + 1, &["of"]));
            let near = sentence.joins(place) || sentence.gap(place).trim() == ".";
            (Some(day), place, near.then_some(place + 1 - at)?)
        }
        None => match day_of_month(sentence.lower(at + 1))
            .filter(|day| MONTH_DAYS.contains(day) && sentence.joins(at + 1))
        {
            Some(day) => (Some(day), at, 2),
            None => (None, at, 1),
        },
    };
    let month = month(sentence.lower(place))?;
    // "45 may fail" contains no day.
    if day.is_some_and(|day| !MONTH_DAYS.contains(&day)) && sentence.lower(place) == "may" {
        return None;
    }
    let (year, more) = year_after(sentence, at + words);
    if let Some(day) = day {
        return Some(match in_year(year, month, day, today, toward) {
            Some(day) => TimeReading::When(one(day), words + more),
            None => TimeReading::NoSuchDate(words + more),
        });
    }
    let long = sentence.lower(at).len() > 3 || sentence.lower(at) == "may";
    if year.is_none() && !(long && sentence.preceded(at, &BEFORE_MONTH)) {
        return None;
    }
    let first = in_year(year, month, 1, today, toward)?;
    let days = When::Days(first, first.last_of_month());
    Some(TimeReading::When(days, words + more))
}

/// Valid days of a month.
const MONTH_DAYS: std::ops::RangeInclusive<i8> = 1..=31;

/// Parses `14`, `14th`, `1st`, and numbers that are not days, such as `32`.
fn day_of_month(lower: &str) -> Option<i8> {
    let mut ends = ["st", "nd", "rd", "th"].iter();
    let bare = ends
        .find_map(|end| lower.strip_suffix(end))
        .unwrap_or(lower);
    let digits = (1..=2).contains(&bare.len()) && bare.chars().all(|c| c.is_ascii_digit());
    digits.then(|| bare.parse().ok()).flatten()
}

fn year_after(sentence: &Sentence<'_>, at: usize) -> (Option<i16>, usize) {
    let comma = at < sentence.len() && sentence.gap(at).trim() == ",";
    let year = year(sentence.lower(at)).filter(|_| comma || sentence.joins(at));
    (year, usize::from(year.is_some()))
}

fn year(lower: &str) -> Option<i16> {
    let digits = lower.len() == 4 && lower.chars().all(|c| c.is_ascii_digit());
    let year: i16 = digits.then(|| lower.parse().ok()).flatten()?;
    YEARS.contains(&year).then_some(year)
}

/// Returns a day of a year; without a year, the nearest one in the given direction.
fn in_year(year: Option<i16>, month: i8, day: i8, today: Date, toward: Toward) -> Option<Date> {
    let in_year = |year: i16| Date::new(year, month, day).ok();
    if let Some(year) = year {
        return in_year(year);
    }
    let this = in_year(today.year())?;
    match toward {
        Toward::Past | Toward::Either if this > today => in_year(today.year() - 1),
        Toward::Future if this < today => in_year(today.year() + 1),
        Toward::Past | Toward::Future | Toward::Either => Some(this),
    }
}

/// Reads a weekday, with "last", "this" or "next" before it.
fn with_weekday(
    sentence: &Sentence<'_>,
    at: usize,
    today: Date,
    toward: Toward,
) -> Option<TimeReading> {
    let which = sentence.lower(at);
    let led = matches!(which, "last" | "next" | "this" | "coming") && sentence.joins(at + 1);
    let place = at + usize::from(led);
    let day = weekday(sentence.lower(place)).filter(|_| sentence.lower(place).len() > 3)?;
    let now = usize::try_from(today.weekday().to_monday_zero_offset()).ok()?;
    let ahead = i64::try_from((day + 7 - now) % 7).ok()?;
    let back = if ahead == 0 { 0 } else { ahead - 7 };
    let days = match (led.then_some(which), toward) {
        (Some("last"), _) if ahead == 0 => -7,
        (Some("last"), _) | (None, Toward::Past) => back,
        (Some("next"), _) if ahead == 0 => 7,
        (Some(_), _) | (None, Toward::Future) => ahead,
        (None, Toward::Either) => return Some(TimeReading::TwoDates(1)),
    };
    Some(TimeReading::When(
        one(days_from(today, days)?),
        place + 1 - at,
    ))
}

/// "3 days ago", "the last 7 days", "in 2 weeks".
fn counted(sentence: &Sentence<'_>, at: usize, now: Timestamp) -> Option<(When, usize)> {
    let first = sentence.lower(at);
    let led = usize::from(matches!(first, "last" | "past" | "previous" | "in"));
    let found = quantity(sentence, at + led)?;
    let (count, length) = time_of(&found)?;
    let words = led + found.words;
    match (found.limit, first) {
        (Some(Limit::Ago), _) => Some((ago(now, count, length)?, words + 1)),
        (Some(Limit::Recent), "last" | "past" | "previous") => {
            let since = match ago(now, count, length)? {
                When::Days(day, _) => When::Days(day, day_of(now)),
                When::Moment(at) | When::Since(at) => When::Since(at),
            };
            Some((since, words))
        }
        (_, "in") => Some((ago(now, count.checked_neg()?, length)?, words)),
        _ if sentence.has(at + words, &["from", "now"]) => {
            Some((ago(now, count.checked_neg()?, length)?, words + 2))
        }
        _ => None,
    }
}

/// Returns the day this long ago, or the point in time for short durations.
fn ago(now: Timestamp, count: i64, length: Length) -> Option<When> {
    let span = match length {
        Length::Day => Span::new().try_days(count),
        Length::Week => Span::new().try_weeks(count),
        Length::Month => Span::new().try_months(count),
        Length::Quarter => Span::new().try_months(count.checked_mul(3)?),
        Length::Year => Span::new().try_years(count),
        Length::Hour => Span::new().try_hours(count),
        Length::Minute => Span::new().try_minutes(count),
        Length::Second => Span::new().try_seconds(count),
        Length::Millisecond => Span::new().try_milliseconds(count),
    };
    let span = span.ok()?;
    match length {
        Length::Day | Length::Week | Length::Month | Length::Quarter | Length::Year => {
            Some(one(day_of(now).checked_sub(span).ok()?))
        }
        Length::Hour | Length::Minute | Length::Second | Length::Millisecond => {
            Some(When::Moment(now.as_jiff().checked_sub(span).ok()?))
        }
    }
}

/// "In 2026", "Q1 2026".
fn year_or_quarter(sentence: &Sentence<'_>, at: usize) -> Option<(When, usize)> {
    let lower = sentence.lower(at);
    if let Some(year) = year(lower).filter(|_| sentence.preceded(at, &BEFORE_MONTH)) {
        let first = Date::new(year, 1, 1).ok()?;
        return Some((When::Days(first, first.last_of_year()), 1));
    }
    let nth: i8 = lower.strip_prefix('q')?.parse().ok()?;
    let (year, more) = year_after(sentence, at + 1);
    let first = Date::new(year?, nth.checked_mul(3)?.checked_sub(2)?, 1).ok()?;
    Some((
        When::Days(first, months_from(first, 2)?.last_of_month()),
        1 + more,
    ))
}

/// "This week", "last month", "next quarter".
fn period(sentence: &Sentence<'_>, at: usize, today: Date) -> Option<(When, usize)> {
    let ahead = match sentence.lower(at) {
        "this" => 0,
        "last" | "previous" => -1,
        "next" => 1,
        _ => return None,
    };
    let unit = Unit::of_word(sentence.lower(at + 1)).filter(|_| sentence.joins(at + 1));
    let (first, months) = match unit? {
        Unit::Time(Length::Week) => {
            let monday = -i64::from(today.weekday().to_monday_zero_offset());
            let monday = days_from(today, monday + 7 * ahead)?;
            return Some((When::Days(monday, days_from(monday, 6)?), 2));
        }
        Unit::Time(Length::Month) => (today.first_of_month(), 1),
        Unit::Time(Length::Quarter) => {
            let month = (today.month() - 1) / 3 * 3 + 1;
            (Date::new(today.year(), month, 1).ok()?, 3)
        }
        Unit::Time(Length::Year) => (today.first_of_year(), 12),
        Unit::Time(
            Length::Millisecond | Length::Second | Length::Minute | Length::Hour | Length::Day,
        )
        | Unit::Money(_)
        | Unit::Data(_)
        | Unit::Percent => return None,
    };
    let first = months_from(first, months * ahead)?;
    let last = months_from(first, months - 1)?.last_of_month();
    Some((When::Days(first, last), 2))
}
