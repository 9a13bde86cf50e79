//! The types of the values that a JSON Schema allows. Must not know the schema's syntax.

use serde_json::Value;

use crate::parameter::ParameterType;

/// The types of the values that a schema allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types {
    string: bool,
    number: bool,
    integer: bool,
    boolean: bool,
    array: bool,
    object: bool,
    null: bool,
}

/// The types of a parameter.
pub(super) struct Kinds {
    pub(super) first: ParameterType,
    pub(super) others: Vec<ParameterType>,
}

impl Kinds {
    /// Moves this type before the others, if it is among them.
    pub(super) fn with_first(mut self, kind: Option<ParameterType>) -> Self {
        let at = kind.and_then(|kind| self.others.iter().position(|other| *other == kind));
        if let Some(at) = at
            && let Some(other) = self.others.get_mut(at)
        {
            std::mem::swap(&mut self.first, other);
        }
        self
    }

    pub(super) fn fit(&self, value: &Value) -> bool {
        self.first.fits(value) || self.others.iter().any(|kind| kind.fits(value))
    }
}

impl Types {
    pub(super) const NONE: Self = Self {
        string: false,
        number: false,
        integer: false,
        boolean: false,
        array: false,
        object: false,
        null: false,
    };
    pub(super) const ANY: Self = Self {
        string: true,
        number: true,
        integer: true,
        boolean: true,
        array: true,
        object: true,
        null: true,
    };

    /// Returns the types for a type's name. An unknown name allows all types.
    pub(super) fn from_name(word: &str) -> Self {
        let none = Self::NONE;
        match word {
            "string" => Self {
                string: true,
                ..none
            },
            "number" => Self {
                number: true,
                integer: true,
                ..none
            },
            "integer" => Self {
                integer: true,
                ..none
            },
            "boolean" => Self {
                boolean: true,
                ..none
            },
            "array" => Self {
                array: true,
                ..none
            },
            "object" => Self {
                object: true,
                ..none
            },
            "null" => Self { null: true, ..none },
            _ => Self::ANY,
        }
    }

    pub(super) fn from_schema(value: &Value) -> Self {
        match value {
            Value::Null => Self::from_name("null"),
            Value::Bool(_) => Self::from_name("boolean"),
            Value::Number(_) if ParameterType::Integer.fits(value) => Self::from_name("integer"),
            Value::Number(_) => Self::from_name("number"),
            Value::String(_) => Self::from_name("string"),
            Value::Array(_) => Self::from_name("array"),
            Value::Object(_) => Self::from_name("object"),
        }
    }

    pub(super) fn any_of(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::NONE, |a, b| Self {
            string: a.string || b.string,
            number: a.number || b.number,
            integer: a.integer || b.integer,
            boolean: a.boolean || b.boolean,
            array: a.array || b.array,
            object: a.object || b.object,
            null: a.null || b.null,
        })
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            string: self.string && other.string,
            number: self.number && other.number,
            integer: self.integer && other.integer,
            boolean: self.boolean && other.boolean,
            array: self.array && other.array,
            object: self.object && other.object,
            null: self.null && other.null,
        }
    }

    /// Whether null is named among others, not only allowed because every type is.
    pub(super) fn name_null(self) -> bool {
        self.null && self != Self::ANY
    }

    /// Removes null, which corresponds to an omitted parameter; `None` if no type is left.
    pub(super) fn of_parameter(self) -> Option<Kinds> {
        let all = [
            (self.string, ParameterType::String),
            (self.number, ParameterType::Number),
            // A number type also includes integers.
            (self.integer && !self.number, ParameterType::Integer),
            (self.boolean, ParameterType::Boolean),
            (self.array, ParameterType::Array),
            (self.object, ParameterType::Object),
        ];
        let mut kinds = all.into_iter().filter(|(is, _)| *is).map(|(_, kind)| kind);
        Some(Kinds {
            first: kinds.next()?,
            others: kinds.collect(),
        })
    }
}
