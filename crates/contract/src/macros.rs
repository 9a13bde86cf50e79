//! Macros that declare the closed vocabularies and the checked strings of the contracts. They know no contract.

/// Declares an enum whose values are fixed strings on the wire.
///
/// Each variant names its stored spelling; spellings after `|` are accepted on input and never written.
macro_rules! string_enum {
    ($(#[$meta:meta])* pub enum $name:ident {
        $( $(#[$vmeta:meta])* $variant:ident = $text:literal $(| $alias:literal)* ),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $( $(#[$vmeta])* $variant ),+ }

        impl $name {
            /// All values, in declaration order.
            pub const ALL: &'static [Self] = &[$( Self::$variant ),+];

            /// Returns the stored spelling.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text ),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::shape::UnknownValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $( $text $(| $alias)* => Ok(Self::$variant), )+
                    _ => Err($crate::shape::UnknownValue::new(
                        stringify!($name), text, &[$( $text ),+],
                    )),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::shape::deserialize_str(from, stringify!($name), |text| text.parse::<Self>())
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "enum": [$( $text $(, $alias)* ),+],
                })
            }
        }
    };
}

/// Declares newtypes over a string of one checked shape (`shape::Shape`).
macro_rules! string_newtype {
    ($shape:expr; $( $(#[$meta:meta])* $name:ident ),+ $(,)?) => { $(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// Parses the text, which must have the expected shape.
            ///
            /// # Errors
            /// [`IdError`](crate::shape::IdError) names the type and the shape it expects.
            pub fn parse(text: &str) -> Result<Self, $crate::shape::IdError> {
                if $shape.accepts(text) {
                    Ok(Self(text.into()))
                } else {
                    Err($crate::shape::IdError::new(stringify!($name), text, &$shape))
                }
            }

            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Wraps text that is known to have the shape.
            #[allow(dead_code, reason = "only some kinds are made by mapping")]
            pub(crate) fn from_checked(text: String) -> Self {
                debug_assert!($shape.accepts(&text), "{text} is not a {}", stringify!($name));
                Self(text.into())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.0, f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::shape::IdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::shape::IdError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.into_string()
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::shape::deserialize_str(from, stringify!($name), Self::parse)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $shape.json_schema()
            }
        }
    )+ };
}
