//! Values of filters: JSON with integers of any size, and the numbers that JSON lacks. They are indexed, sliced and
//! ordered as in jq. Knows no filters.

mod arithmetic;
mod json;
mod number;
mod order;
mod paths;

use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use indexmap::IndexMap;
use jaq_core::box_iter::{BoxIter, box_once};
use jaq_core::path::Opt;
use jaq_core::{Exn, ValX};

pub(super) use arithmetic::split;
pub(super) use number::Number;
pub(super) use paths::{delete, keys_of, modified, set};

/// The failure of a filter, as `catch` receives it.
pub(super) type Error = jaq_core::Error<JqValue>;

/// The result of a function on values.
pub(super) type Outcome<T = JqValue> = Result<T, Error>;

/// The fields of an object, in insertion order.
pub(super) type Fields = IndexMap<Rc<str>, JqValue>;

/// The number of bytes of a value that a message shows.
const SHOWN: usize = 29;

/// A value of a filter.
#[derive(Debug, Clone, Default)]
pub(super) enum JqValue {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(Rc<String>),
    List(Rc<Vec<JqValue>>),
    Object(Rc<Fields>),
}

impl JqValue {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Rc::new(text.into()))
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(items))
    }

    pub(super) fn object(fields: Fields) -> Self {
        Self::Object(Rc::new(fields))
    }

    pub(super) fn number(number: impl Into<Number>) -> Self {
        Self::Number(number.into())
    }

    /// Creates a number from a count of things in memory.
    pub(super) fn count(count: usize) -> Self {
        Self::number(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Returns the name of the value's type in jq.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }

    pub(super) fn is_truthy(&self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false))
    }

    /// Returns the value's type, and the value in short form.
    pub(super) fn described(&self) -> String {
        let text = self.to_string();
        if text.len() <= SHOWN {
            return format!("{} ({text})", self.kind());
        }
        let end = match self {
            Self::Text(_) => "\"",
            Self::List(_) => "]",
            Self::Object(_) => "}",
            Self::Null | Self::Bool(_) | Self::Number(_) => "",
        };
        let shown = text.floor_char_boundary(SHOWN - "...".len() - end.len());
        let (shown, _) = text.split_at(shown);
        format!("{} ({shown}...{end})", self.kind())
    }

    /// Returns the elements of a list, or the values of an object.
    pub(super) fn elements(self) -> Outcome<Vec<Self>> {
        match self {
            Self::List(items) => Ok(Rc::unwrap_or_clone(items)),
            Self::Object(fields) => Ok(Rc::unwrap_or_clone(fields).into_values().collect()),
            other => Err(fault(format!("Cannot iterate over {}", other.described()))),
        }
    }

    /// Converts the value to the name of a field.
    fn into_key(self) -> Outcome<Rc<str>> {
        match self {
            Self::Text(name) => Ok(name.as_str().into()),
            other => Err(fault(format!(
                "Cannot use {} as object key",
                other.described()
            ))),
        }
    }

    /// Returns the part at an index, a key or a slice.
    pub(super) fn at(&self, key: &Self) -> Outcome {
        match (self, key) {
            (Self::Null, Self::Text(_) | Self::Number(_) | Self::Object(_)) => Ok(Self::Null),
            (Self::Object(fields), Self::Text(name)) => {
                Ok(fields.get(name.as_str()).cloned().unwrap_or_default())
            }
            (Self::List(items), Self::Number(index)) => {
                let index = position(index, items.len());
                let item = index.and_then(|index| items.get(index));
                Ok(item.cloned().unwrap_or_default())
            }
            (Self::List(_) | Self::Text(_), Self::Object(slice)) => {
                let missing = Self::Bool(false);
                let bound = |name: &str| slice.get(name).unwrap_or(&missing);
                self.slice(bound("start"), bound("end"))
            }
            (Self::List(items), Self::List(part)) => Ok(positions(items, part)),
            (other, key) => Err(other.not_indexed(key)),
        }
    }

    pub(super) fn not_indexed(&self, key: &Self) -> Error {
        fault(format!(
            "Cannot index {} with {}",
            self.kind(),
            key.described()
        ))
    }

    /// Returns the part of a list or a text between two indices; null means the start or the end.
    fn slice(&self, start: &Self, end: &Self) -> Outcome {
        match self {
            Self::Null => Ok(Self::Null),
            Self::List(items) => {
                let range = bounds(start, end, items.len())?;
                Ok(Self::list(
                    items.get(range).map(<[Self]>::to_vec).unwrap_or_default(),
                ))
            }
            Self::Text(text) => {
                let range = bounds(start, end, text.chars().count())?;
                let part: String = text.chars().skip(range.start).take(range.len()).collect();
                Ok(Self::text(part))
            }
            Self::Bool(_) | Self::Number(_) | Self::Object(_) => {
                let key = Self::from(Some(start.clone())..Some(end.clone()));
                Err(self.not_indexed(&key))
            }
        }
    }
}

/// Creates an error with a message.
pub(super) fn fault(message: impl fmt::Display) -> Error {
    Error::str(message)
}

/// Creates an error that names the invalid value.
pub(super) fn unfit(value: &JqValue, message: &str) -> Error {
    fault(format!("{} {message}", value.described()))
}

/// Returns the index in a list of this length; negative indices count from the end.
fn position(index: &Number, length: usize) -> Option<usize> {
    let index = index.truncated()?;
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

/// Returns the range of a slice of a list or text of this length: the start is rounded down, the end up.
fn bounds(start: &JqValue, end: &JqValue, length: usize) -> Outcome<Range<usize>> {
    let whole = length as f64;
    let bound = |value: &JqValue, default: f64| match value {
        JqValue::Null => Ok(default),
        JqValue::Number(number) if number.is_nan() => Ok(default),
        JqValue::Number(number) => {
            let number = number.as_f64();
            Ok(if number < 0.0 { number + whole } else { number })
        }
        JqValue::Bool(_) | JqValue::Text(_) | JqValue::List(_) | JqValue::Object(_) => {
            Err(fault("Array/string slice indices must be integers"))
        }
    };
    let start = bound(start, 0.0)?.clamp(0.0, whole).floor() as usize;
    let end = bound(end, whole)?.clamp(0.0, whole).ceil() as usize;
    Ok(start..end.max(start))
}

/// Returns the positions of a list within another.
fn positions(items: &[JqValue], part: &[JqValue]) -> JqValue {
    if part.is_empty() {
        return JqValue::list(Vec::new());
    }
    let found = items.windows(part.len()).enumerate();
    let found = found.filter(|(_, window)| *window == part);
    JqValue::list(found.map(|(at, _)| JqValue::count(at)).collect())
}

impl jaq_core::ValT for JqValue {
    fn from_num(digits: &str) -> Outcome {
        let number = Number::read(digits);
        number
            .map(Self::Number)
            .ok_or_else(|| fault(format!("{digits} is not a number")))
    }

    fn from_map<I: IntoIterator<Item = (Self, Self)>>(pairs: I) -> Outcome {
        let pairs = pairs.into_iter();
        let fields = pairs.map(|(key, value)| Ok((key.into_key()?, value)));
        Ok(Self::object(fields.collect::<Outcome<Fields>>()?))
    }

    fn key_values(self) -> BoxIter<'static, Result<(Self, Self), Error>> {
        match self {
            Self::Object(fields) => Box::new(
                Rc::unwrap_or_clone(fields)
                    .into_iter()
                    .map(|(name, value)| Ok((Self::text(&*name), value))),
            ),
            other => match other.elements() {
                Ok(items) => Box::new(
                    items
                        .into_iter()
                        .enumerate()
                        .map(|(at, value)| Ok((Self::count(at), value))),
                ),
                Err(error) => box_once(Err(error)),
            },
        }
    }

    fn values(self) -> Box<dyn Iterator<Item = Outcome>> {
        match self.elements() {
            Ok(items) => Box::new(items.into_iter().map(Ok)),
            Err(error) => box_once(Err(error)),
        }
    }

    fn index(self, key: &Self) -> Outcome {
        self.at(key)
    }

    fn range(self, range: Range<Option<&Self>>) -> Outcome {
        let whole = Self::Null;
        self.slice(range.start.unwrap_or(&whole), range.end.unwrap_or(&whole))
    }

    // Updates use paths, through the filters of `natives::updates`: no program uses jaq's own updates.

    fn map_values<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        _: Opt,
        _: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        Err(Exn::from(Error::path_expr(self)))
    }

    fn map_index<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        _: &Self,
        _: Opt,
        _: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        Err(Exn::from(Error::path_expr(self)))
    }

    fn map_range<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        _: Range<Option<&Self>>,
        _: Opt,
        _: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        Err(Exn::from(Error::path_expr(self)))
    }

    fn as_bool(&self) -> bool {
        self.is_truthy()
    }

    fn into_string(self) -> Self {
        match self {
            Self::Text(_) => self,
            other => Self::text(other.to_string()),
        }
    }
}

impl jaq_std::ValT for JqValue {
    fn into_seq<S: FromIterator<Self>>(self) -> Result<S, Self> {
        match self {
            Self::List(items) => Ok(Rc::unwrap_or_clone(items).into_iter().collect()),
            other => Err(other),
        }
    }

    fn is_int(&self) -> bool {
        matches!(self, Self::Number(number) if number.is_integer())
    }

    fn as_isize(&self) -> Option<isize> {
        let Self::Number(Number::Int(number)) = self else {
            return None;
        };
        isize::try_from(*number).ok()
    }

    fn as_f64(&self) -> Option<f64> {
        let Self::Number(number) = self else {
            return None;
        };
        Some(number.as_f64())
    }

    fn is_utf8_str(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        let Self::Text(text) = self else {
            return None;
        };
        Some(text.as_bytes())
    }

    fn as_sub_str(&self, part: &[u8]) -> Self {
        Self::text(String::from_utf8_lossy(part))
    }

    fn from_utf8_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Self::text(String::from_utf8_lossy(bytes.as_ref()))
    }
}

impl From<bool> for JqValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<isize> for JqValue {
    fn from(value: isize) -> Self {
        i64::try_from(value).map_or_else(|_| Self::Null, Self::number)
    }
}

impl From<usize> for JqValue {
    fn from(value: usize) -> Self {
        Self::count(value)
    }
}

impl From<f64> for JqValue {
    fn from(value: f64) -> Self {
        Self::number(value)
    }
}

impl From<String> for JqValue {
    fn from(value: String) -> Self {
        Self::text(value)
    }
}

impl From<Range<Option<Self>>> for JqValue {
    /// A slice, as a part of a path.
    fn from(range: Range<Option<Self>>) -> Self {
        let bounds = [("start", range.start), ("end", range.end)];
        let bounds = bounds.map(|(name, bound)| (Rc::<str>::from(name), bound.unwrap_or_default()));
        Self::object(bounds.into_iter().collect())
    }
}

impl FromIterator<Self> for JqValue {
    fn from_iter<T: IntoIterator<Item = Self>>(items: T) -> Self {
        Self::list(items.into_iter().collect())
    }
}
