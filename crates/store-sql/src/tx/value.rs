//! Values of placeholders, for both engines.

use std::borrow::Cow;

/// A value that is bound to a placeholder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlValue<'v> {
    Null,
    Text(Cow<'v, str>),
    Integer(i64),
    Bytes(Cow<'v, [u8]>),
    Flag(bool),
    /// A list for [`Dialect::one_of`](crate::tx::Dialect::one_of).
    Texts(Vec<Cow<'v, str>>),
    /// A list for [`Dialect::one_of`](crate::tx::Dialect::one_of).
    Integers(Vec<i64>),
    /// A vector, which only PostgreSQL compares.
    Reals(Cow<'v, [f32]>),
}

impl SqlValue<'_> {
    /// Returns the value with a copy of what it borrows.
    pub(crate) fn to_static(&self) -> SqlValue<'static> {
        match self {
            Self::Null => SqlValue::Null,
            Self::Text(text) => SqlValue::Text(Cow::Owned(text.to_string())),
            Self::Integer(number) => SqlValue::Integer(*number),
            Self::Bytes(bytes) => SqlValue::Bytes(Cow::Owned(bytes.to_vec())),
            Self::Flag(flag) => SqlValue::Flag(*flag),
            Self::Texts(texts) => {
                let owned = texts.iter().map(|text| Cow::Owned(text.to_string()));
                SqlValue::Texts(owned.collect())
            }
            Self::Integers(numbers) => SqlValue::Integers(numbers.clone()),
            Self::Reals(numbers) => SqlValue::Reals(Cow::Owned(numbers.to_vec())),
        }
    }
}

/// The values of a statement: the first one is that of `$1`.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::tx::SqlValue::from($value)),*]
    };
}

pub(crate) use params;

impl<'v> From<&'v str> for SqlValue<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'v> From<&'v String> for SqlValue<'v> {
    fn from(text: &'v String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for SqlValue<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<i64> for SqlValue<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl<'v> From<&'v [u8]> for SqlValue<'v> {
    fn from(bytes: &'v [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<bool> for SqlValue<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'v> From<Vec<&'v str>> for SqlValue<'v> {
    fn from(texts: Vec<&'v str>) -> Self {
        Self::Texts(texts.into_iter().map(Cow::Borrowed).collect())
    }
}

impl From<Vec<i64>> for SqlValue<'_> {
    fn from(numbers: Vec<i64>) -> Self {
        Self::Integers(numbers)
    }
}

impl<'v> From<&'v [f32]> for SqlValue<'v> {
    fn from(numbers: &'v [f32]) -> Self {
        Self::Reals(Cow::Borrowed(numbers))
    }
}

impl<'v, T: Into<SqlValue<'v>>> From<Option<T>> for SqlValue<'v> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
