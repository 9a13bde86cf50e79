//! The shape of the values of a parameter, for readers that need a type for each value. Must not know JSON Schema.

use crate::parameter::ParameterType;

/// The values that a parameter or a field of an object may have, besides null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Texts.
    Text,
    /// Numbers.
    Number,
    /// Numbers without a fraction.
    Integer,
    /// True and false.
    Boolean,
    /// Lists.
    List,
    /// Objects of unknown fields.
    Object,
    /// Objects with known fields. They may have others.
    Record(Vec<Field>),
    /// Values of several types.
    Mixed,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Whether each object has it, with a value other than null.
    pub required: bool,
    /// The shape of its values.
    pub shape: Shape,
}

impl Shape {
    /// Returns the shape of all values of a type.
    #[must_use]
    pub fn of_type(kind: ParameterType) -> Self {
        match kind {
            ParameterType::String => Self::Text,
            ParameterType::Number => Self::Number,
            ParameterType::Integer => Self::Integer,
            ParameterType::Boolean => Self::Boolean,
            ParameterType::Array => Self::List,
            ParameterType::Object => Self::Object,
        }
    }

    /// Adds the paths of values of several types, below `here`.
    pub fn mixed_below(&self, here: &str, found: &mut Vec<String>) {
        match self {
            Self::Mixed => found.push(here.to_owned()),
            Self::Record(fields) => {
                for field in fields {
                    let here = format!("{here}.{}", field.name);
                    field.shape.mixed_below(&here, found);
                }
            }
            Self::Text
            | Self::Number
            | Self::Integer
            | Self::Boolean
            | Self::List
            | Self::Object => {}
        }
    }

    /// Returns the fields of an object in words: `` `a`, `b`; optional `c` ``. At most `most` names of each.
    pub(super) fn fields_in_words(&self, most: usize) -> Option<String> {
        let Self::Record(fields) = self else {
            return None;
        };
        let named = |required: bool| {
            let names = fields.iter().filter(|field| field.required == required);
            let names: Vec<String> = names.map(|field| format!("`{}`", field.name)).collect();
            match names.len().checked_sub(most) {
                Some(more) if more > 0 => format!("{} and {more} more", names[..most].join(", ")),
                Some(_) | None => names.join(", "),
            }
        };
        Some(match (named(true), named(false)) {
            (required, optional) if optional.is_empty() => required,
            (required, optional) if required.is_empty() => format!("optional {optional}"),
            (required, optional) => format!("{required}; optional {optional}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, required: bool, shape: Shape) -> Field {
        Field {
            name: name.to_owned(),
            required,
            shape,
        }
    }

    #[test]
    fn the_fields_of_an_object_are_named_in_words() {
        let of = |fields: Vec<Field>| Shape::Record(fields).fields_in_words(2).unwrap();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| field(name, name < "d", Shape::Text));
        assert_eq!(of(vec![a.clone(), d.clone()]), "`a`; optional `d`");
        assert_eq!(of(vec![d]), "optional `d`");
        assert_eq!(of(vec![a, b, c]), "`a`, `b` and 1 more");
        assert_eq!(Shape::Object.fields_in_words(2), None);
    }

    #[test]
    fn values_of_several_types_are_found_at_any_depth() {
        let inner = Shape::Record(vec![
            field("x", true, Shape::Mixed),
            field("y", true, Shape::Text),
        ]);
        let mut found = Vec::new();
        Shape::Record(vec![field("a", true, inner)]).mixed_below("p", &mut found);
        Shape::Mixed.mixed_below("q", &mut found);
        assert_eq!(found, ["p.a.x", "q"]);
    }
}
