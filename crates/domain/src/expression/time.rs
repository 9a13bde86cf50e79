//! Timestamps and durations of the CEL specification. The crate's own types deviate from it: `getHours` uses the offset of
//! the text instead of UTC, `1h x` is read as an hour, and durations have no `getMilliseconds`.
//!
//! The time zone database is compiled into the program, so results do not depend on the machine.

mod functions;
mod read;

use std::any::Any;
use std::cmp::Ordering;

use cel::ExecutionError;
use cel::common::traits::{Adder, Comparer, Subtractor};
use cel::common::types::{DURATION_TYPE, TIMESTAMP_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use jiff::SignedDuration;
use jiff::civil::DateTime;

pub(super) use functions::{SHOWN, library};

/// 0001-01-01T00:00:00Z, the first timestamp.
const FIRST: SignedDuration = SignedDuration::from_secs(-62_135_596_800);

/// 9999-12-31T23:59:59.999999999Z, the last timestamp.
const LAST: SignedDuration = SignedDuration::new(253_402_300_799, 999_999_999);

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

static TIMESTAMP: Type = TIMESTAMP_TYPE;
static DURATION: Type = DURATION_TYPE;

/// A point in time: the duration since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timestamp(SignedDuration);

/// A duration of at most `int` nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Duration(SignedDuration);

impl Timestamp {
    fn new(since_epoch: Option<SignedDuration>) -> Result<Self, ExecutionError> {
        let since_epoch = since_epoch.filter(|since| (FIRST..=LAST).contains(since));
        let message = "range: a timestamp must be within the years 1 to 9999";
        since_epoch
            .map(Self)
            .ok_or_else(|| ExecutionError::function_error("timestamp", message))
    }

    /// The date and time at an offset from UTC in seconds.
    fn civil(self, ahead: i32) -> DateTime {
        EPOCH.saturating_add(
            self.0
                .saturating_add(SignedDuration::from_secs(i64::from(ahead))),
        )
    }

    fn text(self) -> String {
        format!("{}Z", self.civil(0))
    }
}

impl Duration {
    fn new(length: Option<SignedDuration>) -> Result<Self, ExecutionError> {
        let length = length.filter(|length| i64::try_from(length.as_nanos()).is_ok());
        let message = "range: a duration must be shorter than 292 years";
        length
            .map(Self)
            .ok_or_else(|| ExecutionError::function_error("duration", message))
    }

    /// Seconds with all decimal places, and the unit `s`.
    fn text(self) -> String {
        let (seconds, nanos) = (self.0.as_secs(), self.0.subsec_nanos());
        let sign = if self.0.is_negative() { "-" } else { "" };
        let (seconds, nanos) = (seconds.unsigned_abs(), nanos.unsigned_abs());
        let places = format!("{nanos:09}");
        match places.trim_end_matches('0') {
            "" => format!("{sign}{seconds}s"),
            places => format!("{sign}{seconds}.{places}s"),
        }
    }
}

fn no_overload(operator: &str, left: &dyn Val, right: &dyn Val) -> ExecutionError {
    let types = [left, right].map(|value| value.get_type().name().to_owned());
    ExecutionError::no_such_overload(operator, types.to_vec())
}

impl Val for Timestamp {
    fn get_type(&self) -> &Type {
        &TIMESTAMP
    }

    fn cel_type() -> &'static Type {
        &TIMESTAMP
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        Some(self)
    }

    fn as_subtractor<'b, 'v>(&'b self) -> Option<&'b (dyn Subtractor + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>() == Some(self)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(*self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Timestamp {}

impl Adder for Timestamp {
    fn add<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match other.downcast_ref::<Duration>() {
            Some(duration) => Self::new(self.0.checked_add(duration.0)).map(CowVal::owned),
            None => Err(no_overload("_+_", self, other)),
        }
    }
}

impl Comparer for Timestamp {
    fn compare(&self, other: &dyn Val) -> Result<Ordering, ExecutionError> {
        let other = other
            .downcast_ref::<Self>()
            .ok_or_else(|| no_overload("compare", self, other))?;
        Ok(self.cmp(other))
    }
}

impl Subtractor for Timestamp {
    fn sub<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        if let Some(duration) = other.downcast_ref::<Duration>() {
            return Self::new(self.0.checked_sub(duration.0)).map(CowVal::owned);
        }
        match other.downcast_ref::<Self>() {
            Some(before) => Duration::new(self.0.checked_sub(before.0)).map(CowVal::owned),
            None => Err(no_overload("_-_", self, other)),
        }
    }
}

impl Val for Duration {
    fn get_type(&self) -> &Type {
        &DURATION
    }

    fn cel_type() -> &'static Type {
        &DURATION
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        Some(self)
    }

    fn as_subtractor<'b, 'v>(&'b self) -> Option<&'b (dyn Subtractor + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>() == Some(self)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(*self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Duration {}

impl Adder for Duration {
    fn add<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        if let Some(time) = other.downcast_ref::<Timestamp>() {
            return Timestamp::new(time.0.checked_add(self.0)).map(CowVal::owned);
        }
        match other.downcast_ref::<Self>() {
            Some(more) => Self::new(self.0.checked_add(more.0)).map(CowVal::owned),
            None => Err(no_overload("_+_", self, other)),
        }
    }
}

impl Comparer for Duration {
    fn compare(&self, other: &dyn Val) -> Result<Ordering, ExecutionError> {
        let other = other
            .downcast_ref::<Self>()
            .ok_or_else(|| no_overload("compare", self, other))?;
        Ok(self.cmp(other))
    }
}

impl Subtractor for Duration {
    fn sub<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match other.downcast_ref::<Self>() {
            Some(less) => Self::new(self.0.checked_sub(less.0)).map(CowVal::owned),
            None => Err(no_overload("_-_", self, other)),
        }
    }
}
