//! The input of an expression: values that are borrowed for one evaluation. Only the parts that the expression uses are
//! converted to CEL values, and their texts are not copied.

use std::collections::{BTreeMap, HashMap};

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use cel::common::value::Val;
use charter_contract::parameter::{Parameter, ParameterType};
use serde_json::{Map, Number, Value};

use super::reads::MemberUse;

/// The values of an expression's names.
#[derive(Debug, Clone, Default)]
pub struct Facts<'v>(BTreeMap<&'v str, Fact<'v>>);

/// A value of a name, or of a member.
#[derive(Debug, Clone)]
pub enum Fact<'v> {
    /// A value.
    Value(&'v Value),
    /// Parameters, and the declared types of the numeric ones.
    Parameters(&'v Map<String, Value>, Numbers<'v>),
    /// A text.
    Text(&'v str),
    /// A boolean.
    Flag(bool),
    /// Fields that are assembled for the evaluation.
    Fields(BTreeMap<&'v str, Fact<'v>>),
}

/// The parameters that are declared `number` or `integer`. A `number` becomes a `double` even if it is written `3`, and an
/// `integer` becomes an `int` even if it is written `3.0`, so that the result does not depend on the notation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers<'v>(BTreeMap<&'v str, ParameterType>);

impl<'v> Numbers<'v> {
    /// The numeric parameters of a declaration.
    #[must_use]
    pub fn among(declared: &'v [Parameter]) -> Self {
        let kinds = declared.iter();
        kinds.map(|one| (one.name.as_str(), one.kind)).collect()
    }
}

impl<'v> FromIterator<(&'v str, ParameterType)> for Numbers<'v> {
    fn from_iter<I: IntoIterator<Item = (&'v str, ParameterType)>>(kinds: I) -> Self {
        let is_number =
            |kind: &ParameterType| matches!(kind, ParameterType::Number | ParameterType::Integer);
        let numbers = kinds.into_iter().filter(|(_, kind)| is_number(kind));
        Self(numbers.collect())
    }
}

impl<'v> FromIterator<(&'v str, Fact<'v>)> for Facts<'v> {
    fn from_iter<I: IntoIterator<Item = (&'v str, Fact<'v>)>>(facts: I) -> Self {
        Self(facts.into_iter().collect())
    }
}

impl<'v> From<&'v Map<String, Value>> for Facts<'v> {
    fn from(fields: &'v Map<String, Value>) -> Self {
        let fields = fields.iter();
        fields
            .map(|(name, value)| (name.as_str(), Fact::Value(value)))
            .collect()
    }
}

impl<'v> Facts<'v> {
    pub(super) fn get(&self, name: &str) -> Option<&Fact<'v>> {
        self.0.get(name)
    }
}

impl<'v> Fact<'v> {
    /// A member of an object.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        match self {
            Self::Fields(fields) => fields.get(name).cloned(),
            Self::Value(_) | Self::Parameters(..) | Self::Text(_) | Self::Flag(_) => {
                self.object()?.get(name).map(Self::Value)
            }
        }
    }

    fn object(&self) -> Option<&'v Map<String, Value>> {
        match self {
            Self::Value(value) => value.as_object(),
            Self::Parameters(fields, _) => Some(fields),
            Self::Fields(_) | Self::Text(_) | Self::Flag(_) => None,
        }
    }

    /// An item of a list.
    pub(super) fn item(&self, at: u64) -> Option<Self> {
        match self {
            Self::Value(value) => {
                let at = usize::try_from(at).ok()?;
                value.as_array()?.get(at).map(Self::Value)
            }
            Self::Parameters(..) | Self::Fields(_) | Self::Text(_) | Self::Flag(_) => None,
        }
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self, Self::Value(value) if value.is_array())
    }

    pub(super) fn is_text(&self) -> bool {
        self.text().is_some()
    }

    pub(super) fn text(&self) -> Option<&'v str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Value(value) => value.as_str(),
            Self::Parameters(..) | Self::Fields(_) | Self::Flag(_) => None,
        }
    }

    pub(super) fn size(&self) -> Size {
        match self {
            Self::Value(value) => Size::measure(value),
            Self::Parameters(fields, _) => Size::of_fields(fields),
            Self::Text(text) => Size::of_text(text),
            Self::Flag(_) => Size::SCALAR,
            Self::Fields(fields) => {
                let fields = fields.iter();
                Size::of_named(fields.map(|(name, fact)| (*name, fact.size())))
            }
        }
    }

    /// Converts the part that an expression uses to a CEL value.
    pub(super) fn lent(&self, taken: &MemberUse) -> Box<dyn Val + 'v> {
        let MemberUse::Members(names) = taken else {
            return self.whole();
        };
        if let Self::Fields(fields) = self {
            let named = fields.iter().filter(|(name, _)| names.contains(**name));
            return map(named.map(|(name, fact)| (*name, fact.whole())));
        }
        match self.object() {
            Some(fields) => {
                let named = fields.iter().filter(|(name, _)| names.contains(*name));
                map(named.map(|(name, value)| (name.as_str(), self.lent_field(name, value))))
            }
            None => self.whole(),
        }
    }

    /// A field, with its declared type.
    fn lent_field(&self, name: &str, value: &'v Value) -> Box<dyn Val + 'v> {
        let kind = match self {
            Self::Parameters(_, Numbers(kinds)) => kinds.get(name),
            Self::Value(_) | Self::Text(_) | Self::Flag(_) | Self::Fields(_) => None,
        };
        match (kind, value) {
            (Some(kind), Value::Number(number)) => declared(*kind, number),
            (Some(_) | None, _) => lent(value),
        }
    }

    fn whole(&self) -> Box<dyn Val + 'v> {
        match self {
            Self::Value(value) => lent(value),
            Self::Parameters(fields, _) => {
                let fields = fields.iter();
                map(fields.map(|(name, value)| (name.as_str(), self.lent_field(name, value))))
            }
            Self::Text(text) => Box::new(CelString::from(*text)),
            Self::Flag(flag) => Box::new(CelBool::from(*flag)),
            Self::Fields(fields) => map(fields.iter().map(|(name, fact)| (*name, fact.whole()))),
        }
    }
}

fn lent<'v>(value: &'v Value) -> Box<dyn Val + 'v> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(flag) => Box::new(CelBool::from(*flag)),
        Value::Number(number) => self::number(number),
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => {
            let items: Vec<Box<dyn Val + 'v>> = items.iter().map(lent).collect();
            Box::new(CelList::from(items))
        }
        Value::Object(fields) => object(fields),
    }
}

fn object<'v>(fields: &'v Map<String, Value>) -> Box<dyn Val + 'v> {
    let fields = fields.iter();
    map(fields.map(|(name, value)| (name.as_str(), lent(value))))
}

fn map<'v>(fields: impl Iterator<Item = (&'v str, Box<dyn Val + 'v>)>) -> Box<dyn Val + 'v> {
    let fields: HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = fields
        .map(|(name, value)| (CelMapKey::from(name), value))
        .collect();
    Box::new(CelMap::from(fields))
}

/// A JSON number without a declared type. An integer becomes an `int`, like the literals of an expression; one beyond the
/// range of `int` becomes a `uint`.
fn number(number: &Number) -> Box<dyn Val> {
    if let Some(whole) = number.as_i64() {
        Box::new(CelInt::from(whole))
    } else if let Some(whole) = number.as_u64() {
        Box::new(CelUInt::from(whole))
    } else {
        Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN)))
    }
}

/// A number with a declared type. An integer that a `double` would round keeps its digits.
fn declared(kind: ParameterType, number: &Number) -> Box<dyn Val> {
    /// Below this bound, a `double` represents every integer exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let double = number.as_f64().unwrap_or(f64::NAN);
    match kind {
        ParameterType::Number if number.is_f64() || double.abs() < EXACT => {
            Box::new(CelDouble::from(double))
        }
        ParameterType::Integer
            if number.is_f64() && double.fract() == 0.0 && double.abs() < EXACT =>
        {
            Box::new(CelInt::from(double as i64))
        }
        ParameterType::Number
        | ParameterType::Integer
        | ParameterType::String
        | ParameterType::Boolean
        | ParameterType::Array
        | ParameterType::Object => self::number(number),
    }
}

/// The number of values, and the size of their texts in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) values: u64,
    pub(super) bytes: u64,
}

impl Amount {
    const ONE: Self = Self {
        values: 1,
        bytes: 0,
    };

    pub(super) fn and(self, more: Self) -> Self {
        Self {
            values: self.values.saturating_add(more.values),
            bytes: self.bytes.saturating_add(more.bytes),
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            values: self.values.max(other.values),
            bytes: self.bytes.max(other.bytes),
        }
    }

    /// Returns the work of copying the value, or of comparing it with an equal one.
    pub(super) fn work(self) -> u64 {
        self.values.saturating_add(self.bytes / 64)
    }
}

/// The maximum size of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) whole: Amount,
    /// The number of items that a loop over the value has.
    pub(super) items: u64,
    /// The largest item or field.
    pub(super) item: Amount,
}

impl Size {
    pub(super) const SCALAR: Self = Self {
        whole: Amount::ONE,
        items: 0,
        item: Amount::ONE,
    };

    pub(super) fn of_text(text: &str) -> Self {
        Self {
            whole: Amount {
                values: 1,
                bytes: text.len() as u64,
            },
            ..Self::SCALAR
        }
    }

    fn measure(value: &Value) -> Self {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::SCALAR,
            Value::String(text) => Self::of_text(text),
            Value::Array(items) => {
                Self::of_items(items.iter().map(|item| Self::measure(item).whole))
            }
            Value::Object(fields) => Self::of_fields(fields),
        }
    }

    fn of_fields(fields: &Map<String, Value>) -> Self {
        let fields = fields.iter();
        Self::of_named(fields.map(|(name, value)| (name.as_str(), Self::measure(value))))
    }

    /// A loop over an object iterates over the names.
    fn of_named<'n>(fields: impl Iterator<Item = (&'n str, Self)>) -> Self {
        Self::of_items(fields.map(|(name, field)| {
            let name = Self::of_text(name).whole;
            name.and(field.whole)
        }))
    }

    pub(super) fn of_items(items: impl Iterator<Item = Amount>) -> Self {
        items.fold(Self::SCALAR, |size, item| Self {
            whole: size.whole.and(item),
            items: size.items.saturating_add(1),
            item: size.item.or(item),
        })
    }

    /// The size of a list of equal items.
    pub(super) fn of_times(item: Amount, times: u64) -> Self {
        Self {
            whole: Amount {
                values: item.values.saturating_mul(times).saturating_add(1),
                bytes: item.bytes.saturating_mul(times),
            },
            items: times,
            item,
        }
    }

    /// Returns the size of any part of a value of this size.
    pub(super) fn part(self) -> Self {
        let part = if self.items > 0 {
            self.item
        } else {
            self.whole
        };
        Self {
            whole: part,
            items: part.values,
            item: part,
        }
    }

    /// Returns the size of both values together.
    pub(super) fn and(self, more: Self) -> Self {
        Self {
            whole: self.whole.and(more.whole),
            items: self.items.saturating_add(more.items),
            item: self.item.or(more.item),
        }
    }

    /// Returns an upper bound of both sizes.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            whole: self.whole.or(other.whole),
            items: self.items.max(other.items),
            item: self.item.or(other.item),
        }
    }
}
