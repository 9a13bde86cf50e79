//! Parses timestamps, durations and time zones.

use std::sync::LazyLock;

use cel::ExecutionError;
use cel::common::types::CelString;
use charter_contract::time::rfc3339_parts;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZoneDatabase;

use super::{Duration, EPOCH, Timestamp};

/// Maximum length of a text in an error.
const SHOWN_CHARACTERS: usize = 60;

/// Decimal places of an hour in nanoseconds; further places are dropped.
const PLACES: usize = 15;

pub(super) fn timestamp_of_text(text: &CelString<'_>) -> Result<Timestamp, ExecutionError> {
    let refused = || {
        let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
        let message = format!(
            "`{shown}` is not a date and time with an offset (RFC 3339), such as 2026-04-14T12:00:00Z"
        );
        ExecutionError::function_error("timestamp", message)
    };
    let (written, ahead) = rfc3339_parts(text.inner()).ok_or_else(refused)?;
    let civil: DateTime = written.parse().map_err(|_| refused())?;
    let ahead = SignedDuration::from_secs(i64::from(ahead));
    Timestamp::new(civil.duration_since(EPOCH).checked_sub(ahead))
}

pub(super) fn duration_of_text(text: &CelString<'_>) -> Result<Duration, ExecutionError> {
    let length = parsed(text.inner()).ok_or_else(|| {
        let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
        let message = format!(
            "`{shown}` is not a duration: write numbers with units, such as 1h30m, 1.5s or -200ms (h, m, s, ms, us, ns)"
        );
        ExecutionError::function_error("duration", message)
    })?;
    Duration::new(SignedDuration::try_from_nanos_i128(length))
}

/// Parses a duration to nanoseconds: an optional sign, then `0` or numbers with units. Fractions of a nanosecond are dropped.
fn parsed(text: &str) -> Option<i128> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut nanos = 0_i128;
    let mut rest = if unsigned == "0" { "" } else { unsigned };
    if unsigned.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let (number, _) = rest.split_at(rest.len() - after.len());
        let (unit, after) = unit(after)?;
        nanos = nanos.checked_add(scaled(number, unit)?)?;
        rest = after;
    }
    Some(if text.starts_with('-') { -nanos } else { nanos })
}

/// The unit at the start of a text in nanoseconds, and the rest of the text.
fn unit(text: &str) -> Option<(i128, &str)> {
    const UNITS: [(&str, i128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60 * 1_000_000_000),
        ("h", 3_600 * 1_000_000_000),
    ];
    let mut units = UNITS.into_iter();
    units.find_map(|(name, nanos)| Some((nanos, text.strip_prefix(name)?)))
}

/// A decimal number of units.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, places) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && places.is_empty()) || !is_number(whole) || !is_number(places) {
        return None;
    }
    let value = |text: &str| match text {
        "" => Some(0_i128),
        text => text.parse().ok(),
    };
    let places = places.get(..PLACES).unwrap_or(places);
    let scale = places.bytes().fold(1_i128, |scale, _| scale * 10);
    let fraction = value(places)?.checked_mul(unit)? / scale;
    value(whole)?.checked_mul(unit)?.checked_add(fraction)
}

/// The offset of a time zone from UTC at a point in time, in seconds.
pub(super) fn ahead(zone: &CelString<'_>, time: &Timestamp) -> Result<i32, ExecutionError> {
    static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    let zone = zone.inner();
    if zone.is_empty() {
        return Ok(0);
    }
    if let Some(fixed) = zone.contains(':').then(|| fixed_offset(zone)) {
        return fixed.ok_or_else(|| unknown_zone(zone));
    }
    let found = ZONES.get(zone).map_err(|_| unknown_zone(zone))?;
    // The last timestamp of jiff is a day before the last timestamp of CEL.
    let instant = jiff::Timestamp::from_duration(time.0).unwrap_or(jiff::Timestamp::MAX);
    Ok(found.to_offset(instant).seconds())
}

fn unknown_zone(zone: &str) -> ExecutionError {
    let shown: String = zone.chars().take(SHOWN_CHARACTERS).collect();
    let message = format!("unknown time zone `{shown}`: write UTC, Europe/Paris or +02:00");
    ExecutionError::function_error("timezone", message)
}

/// The seconds of `+hh:mm`, `-hh:mm` or `hh:mm`.
fn fixed_offset(zone: &str) -> Option<i32> {
    let unsigned = zone.strip_prefix(['+', '-']).unwrap_or(zone);
    let (hours, minutes) = unsigned.split_once(':')?;
    let number = |text: &str, most: i32| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: i32 = text.parse().ok().filter(|_| digits)?;
        (number <= most).then_some(number)
    };
    let seconds = number(hours, 23)? * 3_600 + number(minutes, 59)? * 60;
    Some(if zone.starts_with('-') {
        -seconds
    } else {
        seconds
    })
}
