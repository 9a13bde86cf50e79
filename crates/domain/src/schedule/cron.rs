//! Cron expressions of five fields in a time zone: `0 2 * * MON-FRI`.
//!
//! Time zones come from the bundled database, so that a schedule does not depend on the machine; the crates for cron
//! expressions read that of the machine, or need a second database. Where clocks change, an expression with an hour
//! keeps to the clock on the wall: a time that is left out fires later by the length of the gap, and a time that occurs
//! twice fires once, at the first. An expression for every hour keeps to the elapsed time.

use std::sync::LazyLock;

use charter_contract::catalogue::schedule::CronTiming;
use charter_contract::time::Timestamp;
use jiff::civil::Date;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// Days in which an expression must have an occurrence: eight years, the longest time between two 29ths of February.
const HORIZON_DAYS: usize = 8 * 366;

/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;

/// Minutes of the longest day: 24 hours, and those that a change of the clock repeats.
const DAY_MINUTES: i64 = 26 * 60;

const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];

const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Error: an expression that cannot be read, or that has no occurrence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// The number of fields.
    #[error(
        "a cron expression has five fields (minute, hour, day of the month, month, day of the week); this one has {0}"
    )]
    Fields(usize),
    /// A field that cannot be read.
    #[error(
        "the {field} `{text}` is not a list of values, ranges and steps from {least} to {most}"
    )]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Its text.
        text: String,
        /// Smallest value.
        least: u8,
        /// Largest value.
        most: u8,
    },
    /// An unknown time zone.
    #[error(
        "unknown time zone `{0}`: write a name of the IANA database, such as UTC or Europe/Paris"
    )]
    TimeZone(String),
    /// No occurrence.
    #[error("the expression has no occurrence within eight years")]
    Never,
}

impl CronError {
    /// Returns the place of the error in a `CronTiming`, as a JSON pointer.
    #[must_use]
    pub const fn pointer(&self) -> &'static str {
        match self {
            Self::Fields(_) | Self::Field { .. } | Self::Never => "/expression",
            Self::TimeZone(_) => "/time_zone",
        }
    }
}

/// A cron expression in a time zone.
#[derive(Debug, Clone)]
pub struct CronSchedule {
    minutes: Values,
    hours: Values,
    days: Values,
    months: Values,
    weekdays: Values,
    zone: TimeZone,
}

/// The values of a field, as a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Values {
    bits: u64,
    /// Whether the field begins with `*`.
    any: bool,
}

/// A field's name and its range.
struct Field {
    name: &'static str,
    least: u8,
    most: u8,
    /// Names of values, the first of which is the least value.
    names: &'static [&'static str],
}

impl CronSchedule {
    /// Parses an expression and its time zone.
    ///
    /// # Errors
    /// [`CronError`] for an invalid expression, an unknown time zone, and an expression without an occurrence.
    pub fn parse(timing: &CronTiming) -> Result<Self, CronError> {
        let zone = time_zone(timing.time_zone.as_str())?;
        let fields: Vec<&str> = timing
            .expression
            .as_str()
            .split_ascii_whitespace()
            .collect();
        let &[minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return Err(CronError::Fields(fields.len()));
        };
        let field = |name, least, most, names| Field {
            name,
            least,
            most,
            names,
        };
        let mut weekdays = field("day of the week", 0, 7, &DAYS).parse(weekdays)?;
        // 7 is Sunday, as 0 is.
        weekdays.bits |= (weekdays.bits >> 7) & 1;
        let schedule = Self {
            minutes: field("minute", 0, 59, &[]).parse(minutes)?,
            hours: field("hour", 0, 23, &[]).parse(hours)?,
            days: field("day of the month", 1, 31, &[]).parse(days)?,
            months: field("month", 1, 12, &MONTHS).parse(months)?,
            weekdays,
            zone,
        };
        let epoch = Timestamp::from_micros(0).map_err(|_| CronError::Never)?;
        schedule.next_after(epoch).ok_or(CronError::Never)?;
        Ok(schedule)
    }

    /// Returns the first occurrence after a time; `None` if there is none within eight years.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let mut date = self.zone.to_datetime(after.as_jiff()).date();
        // A time that is left out may be moved into the next day.
        date = date.yesterday().ok()?;
        for _ in 0..HORIZON_DAYS {
            if self.has_day(date)
                && let Some(found) = self.first_of_day(date, after.as_micros())
            {
                return Timestamp::from_micros(found).ok();
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// Whether the expression has occurrences on a day. As in cron, a day matches either of both day fields where both
    /// are restricted.
    fn has_day(&self, date: Date) -> bool {
        let day = self.days.has(date.day());
        let weekday = self.weekdays.has(date.weekday().to_sunday_zero_offset());
        let days = if self.days.any || self.weekdays.any {
            day && weekday
        } else {
            day || weekday
        };
        self.months.has(date.month()) && days
    }

    /// Returns the first occurrence of a day after a time, in microseconds.
    fn first_of_day(&self, date: Date, after: i64) -> Option<i64> {
        if self.hours.any {
            self.first_by_elapsed_time(date, after)
        } else {
            self.first_by_wall_clock(date, after)
        }
    }

    fn first_by_elapsed_time(&self, date: Date, after: i64) -> Option<i64> {
        let start = self.instant(date, 0, 0)?;
        let skipped = (after - start).max(-1).div_euclid(MINUTE) + 1;
        let minutes = skipped..DAY_MINUTES;
        let mut instants = minutes.map(|minute| start + minute * MINUTE);
        instants.find_map(|micros| {
            let instant = jiff::Timestamp::from_microsecond(micros).ok()?;
            let local = self.zone.to_datetime(instant);
            let is_due = local.date() == date
                && self.hours.has(local.hour())
                && self.minutes.has(local.minute());
            is_due.then_some(micros)
        })
    }

    fn first_by_wall_clock(&self, date: Date, after: i64) -> Option<i64> {
        let hours = (0..24).filter(|hour| self.hours.has(*hour));
        let times = hours.flat_map(|hour| {
            let minutes = (0..60).filter(|minute| self.minutes.has(*minute));
            minutes.filter_map(move |minute| self.instant(date, hour, minute))
        });
        times.filter(|instant| *instant > after).min()
    }

    /// Returns the instant of a local time: the first of two, and the time after a gap for one that is left out.
    fn instant(&self, date: Date, hour: i8, minute: i8) -> Option<i64> {
        let local = date.at(hour, minute, 0, 0);
        let instant = self.zone.to_ambiguous_timestamp(local).compatible().ok()?;
        Some(instant.as_microsecond())
    }
}

/// Returns a time zone of the bundled database.
fn time_zone(name: &str) -> Result<TimeZone, CronError> {
    static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    let unknown = || CronError::TimeZone(name.to_owned());
    ZONES.get(name).map_err(|_| unknown())
}

impl Values {
    fn has(self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| (self.bits >> value) & 1 == 1)
    }
}

impl Field {
    fn parse(&self, text: &str) -> Result<Values, CronError> {
        let invalid = || CronError::Field {
            field: self.name,
            text: text.to_owned(),
            least: self.least,
            most: self.most,
        };
        let mut bits = 0;
        for part in text.split(',') {
            bits |= self.part(part).ok_or_else(invalid)?;
        }
        let any = text.starts_with('*');
        Ok(Values { bits, any })
    }

    /// The values of `*`, `5`, `1-5`, and of `*/15` and `1-30/5`.
    fn part(&self, part: &str) -> Option<u64> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (first, last) = match (range, range.split_once('-'), step) {
            ("*", _, _) => (self.least, self.most),
            (_, Some((first, last)), _) => (self.value(first)?, self.value(last)?),
            (_, None, Some(_)) => (self.value(range)?, self.most),
            (_, None, None) => (self.value(range)?, self.value(range)?),
        };
        if first > last {
            return None;
        }
        let values = (first..=last).step_by(usize::from(step.unwrap_or(1)));
        Some(values.fold(0, |bits, value| bits | (1_u64 << value)))
    }

    fn value(&self, text: &str) -> Option<u8> {
        let names = (self.least..).zip(self.names);
        let mut named = names.filter(|(_, name)| name.eq_ignore_ascii_case(text));
        let value = named.next().map(|(value, _)| value);
        let value = value.or_else(|| number(text))?;
        (self.least..=self.most).contains(&value).then_some(value)
    }
}

fn number(text: &str) -> Option<u8> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}
