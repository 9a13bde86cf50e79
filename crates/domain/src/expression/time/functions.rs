//! The functions of timestamps and durations.

use std::collections::HashMap;

use cel::common::types::{
    CelInt, CelList, CelMap, CelMapKey, CelString, DURATION_TYPE, DYN_TYPE, TIMESTAMP_TYPE,
};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};
use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::read::{ahead, duration_of_text, timestamp_of_text};
use super::{Duration, Timestamp};

/// Converts the timestamps and durations within a value to text, for `format`.
pub(in crate::expression) const SHOWN: &str = "@shown";

fn timestamp_of_int(seconds: &CelInt) -> Result<Timestamp, ExecutionError> {
    Timestamp::new(Some(SignedDuration::from_secs(*seconds.inner())))
}

fn timestamp_of_timestamp(time: &Timestamp) -> Timestamp {
    *time
}

fn duration_of_duration(length: &Duration) -> Duration {
    *length
}

/// Declares a function for each part of a timestamp, in UTC and in a time zone.
macro_rules! parts {
    ($( $name:literal, $in_utc:ident, $in_zone:ident: $part:expr; )+) => {
        $(
            fn $in_utc(time: &Timestamp) -> CelInt {
                let part: fn(DateTime) -> i64 = $part;
                CelInt::from(part(time.civil(0)))
            }

            fn $in_zone(time: &Timestamp, zone: &CelString<'_>) -> Result<CelInt, ExecutionError> {
                let part: fn(DateTime) -> i64 = $part;
                Ok(CelInt::from(part(time.civil(ahead(zone, time)?))))
            }
        )+

        fn add_parts(env: &mut Env) -> Result<(), DeclarationError> {
            $(
                cel::add_member_overload!(env, fn $in_utc: (Timestamp) -> CelInt,
                    name = $name, id = concat!("timestamp_", $name))?;
                cel::add_member_overload!(env, fn $in_zone: (Timestamp, CelString) -> Result<CelInt>,
                    name = $name, id = concat!("timestamp_zone_", $name))?;
            )+
            Ok(())
        }
    };
}

parts! {
    "getFullYear", full_year, full_year_in: |civil| i64::from(civil.year());
    "getMonth", month, month_in: |civil| i64::from(civil.month()) - 1;
    "getDate", date, date_in: |civil| i64::from(civil.day());
    "getDayOfMonth", day_of_month, day_of_month_in: |civil| i64::from(civil.day()) - 1;
    "getDayOfWeek", day_of_week, day_of_week_in:
        |civil| i64::from(civil.weekday().to_sunday_zero_offset());
    "getDayOfYear", day_of_year, day_of_year_in: |civil| i64::from(civil.day_of_year()) - 1;
    "getHours", hours, hours_in: |civil| i64::from(civil.hour());
    "getMinutes", minutes, minutes_in: |civil| i64::from(civil.minute());
    "getSeconds", seconds, seconds_in: |civil| i64::from(civil.second());
    "getMilliseconds", milliseconds, milliseconds_in: |civil| i64::from(civil.millisecond());
}

fn hours_of(length: &Duration) -> CelInt {
    CelInt::from(length.0.as_hours())
}

fn minutes_of(length: &Duration) -> CelInt {
    CelInt::from(length.0.as_mins())
}

fn seconds_of(length: &Duration) -> CelInt {
    CelInt::from(length.0.as_secs())
}

/// The milliseconds beyond the last full second.
fn milliseconds_of(length: &Duration) -> CelInt {
    CelInt::from(i64::from(length.0.subsec_millis()))
}

fn int_of_timestamp(time: &Timestamp) -> CelInt {
    let begun = time.0.as_secs();
    CelInt::from(if time.0.subsec_nanos() < 0 {
        begun - 1
    } else {
        begun
    })
}

fn text_of_timestamp(time: &Timestamp) -> CelString<'static> {
    CelString::from(time.text())
}

fn text_of_duration(length: &Duration) -> CelString<'static> {
    CelString::from(length.text())
}

/// Adds the types and their functions.
pub(in crate::expression) fn library(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(TIMESTAMP_TYPE)?;
    env.add_type(DURATION_TYPE)?;
    cel::add_overload!(env, fn timestamp_of_text: (CelString) -> Result<Timestamp>,
        name = "timestamp", id = "string_to_timestamp")?;
    cel::add_overload!(env, fn timestamp_of_int: (CelInt) -> Result<Timestamp>,
        name = "timestamp", id = "int64_to_timestamp")?;
    cel::add_overload!(env, fn timestamp_of_timestamp: (Timestamp) -> Timestamp,
        name = "timestamp", id = "timestamp_to_timestamp")?;
    cel::add_overload!(env, fn duration_of_text: (CelString) -> Result<Duration>,
        name = "duration", id = "string_to_duration")?;
    cel::add_overload!(env, fn duration_of_duration: (Duration) -> Duration,
        name = "duration", id = "duration_to_duration")?;
    cel::add_overload!(env, fn int_of_timestamp: (Timestamp) -> CelInt,
        name = "int", id = "timestamp_to_int64")?;
    cel::add_overload!(env, fn text_of_timestamp: (Timestamp) -> CelString,
        name = "string", id = "timestamp_to_string")?;
    cel::add_overload!(env, fn text_of_duration: (Duration) -> CelString,
        name = "string", id = "duration_to_string")?;
    cel::add_member_overload!(env, fn hours_of: (Duration) -> CelInt,
        name = "getHours", id = "duration_to_hours")?;
    cel::add_member_overload!(env, fn minutes_of: (Duration) -> CelInt,
        name = "getMinutes", id = "duration_to_minutes")?;
    cel::add_member_overload!(env, fn seconds_of: (Duration) -> CelInt,
        name = "getSeconds", id = "duration_to_seconds")?;
    cel::add_member_overload!(env, fn milliseconds_of: (Duration) -> CelInt,
        name = "getMilliseconds", id = "duration_to_milliseconds")?;
    add_parts(env)?;
    env.add_overload(SHOWN, "shown_dyn", vec![DYN_TYPE], show)
}

fn show<'b, 'v>(mut args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value = args
        .pop()
        .ok_or_else(|| ExecutionError::invalid_argument_count(1, 0))?;
    if !has_time(value.as_ref()) {
        return Ok(value);
    }
    Ok(CowVal::Owned(shown(value.as_ref())))
}

fn has_time(value: &dyn Val) -> bool {
    if let Some(list) = value.downcast_ref::<CelList>() {
        return list.iter().any(|item| has_time(item.as_ref()));
    }
    if let Some(map) = value.downcast_ref::<CelMap>() {
        return map.values().any(|field| has_time(field.as_ref()));
    }
    value.downcast_ref::<Timestamp>().is_some() || value.downcast_ref::<Duration>().is_some()
}

/// A value whose timestamps and durations are replaced by text.
fn shown<'v>(value: &(dyn Val + 'v)) -> Box<dyn Val + 'v> {
    if let Some(list) = value.downcast_ref::<CelList<'v>>() {
        let items: Vec<Box<dyn Val + 'v>> = list.iter().map(|item| shown(item.as_ref())).collect();
        return Box::new(CelList::from(items));
    }
    if let Some(map) = value.downcast_ref::<CelMap<'v>>() {
        let fields = map.iter();
        let fields: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = fields
            .map(|(key, field)| (key.clone(), shown(field.as_ref())))
            .collect();
        return Box::new(CelMap::from(fields));
    }
    if let Some(time) = value.downcast_ref::<Timestamp>() {
        return Box::new(text_of_timestamp(time));
    }
    match value.downcast_ref::<Duration>() {
        Some(length) => Box::new(text_of_duration(length)),
        None => value.clone_as_boxed(),
    }
}
