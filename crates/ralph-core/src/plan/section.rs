//! A section of settings: one list of fields, from which everything else about them follows.
//!
//! ```text
//! section! {
//!     /// When the loop goes on, waits and stops.
//!     pub struct EventLoop, changed by EventLoopChange {
//!         /// Stop after this many iterations.          the text of the schema and of the docs
//!         max_iterations: Limit<Count> = Some(100),     its key, its rule, its default
//!     }
//! }
//! ```
//!
//! The section holds plain values (`Option<u32>`); it is read and written by the rules of its fields
//! ([`value`](super::value)), in a definition file as in the journal. Its change holds some of the fields: what a resumed run
//! does differently from here on.
//!
//! What stands in a list, such as a gate, is `pub struct Gate, in a list { … }`: a field without a default has to be given, one
//! that is not set is not written, and the list changes as a whole.
//!
//! Keys that a section does not know are for the reader to judge: that of definition files refuses them, the journal of a newer
//! ralph may hold them.

/// What is read of a field: one that has to be given may be missing.
macro_rules! read_as {
    ($rule:ty) => { Option<$rule> };
    ($rule:ty = $default:expr) => { $rule };
}

macro_rules! read_default {
    ($rule:ty) => {
        None
    };
    ($rule:ty = $default:expr) => {
        <$rule as $crate::plan::value::Rule>::of(&$default)
    };
}

macro_rules! written {
    ($value:expr, $rule:ty) => {
        Some(<$rule as $crate::plan::value::Rule>::of($value))
    };
    ($value:expr, $rule:ty = $default:expr) => {
        <$rule as $crate::plan::value::Rule>::of($value)
    };
}

macro_rules! given {
    ($value:expr, $field:ident, $rule:ty) => {
        $value.map(Rule::plain).ok_or_else(|| serde::de::Error::missing_field(stringify!($field)))?
    };
    ($value:expr, $field:ident, $rule:ty = $default:expr) => {
        $value.plain()
    };
}

/// The names of the fields that have to be given.
macro_rules! needed {
    ($names:ident, $field:ident) => {
        $names.push(stringify!($field));
    };
    ($names:ident, $field:ident = $default:expr) => {};
}

macro_rules! section {
    (
        $(#[$about:meta])*
        pub struct $name:ident, in a list {
            $($(#[$meta:meta])* $field:ident: $rule:ty $(= $default:expr)?,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$meta])* pub $field: <$rule as $crate::plan::value::Rule>::Plain,)+
        }

        const _: () = {
            use $crate::plan::section::{given, needed, read_as, read_default, written};
            use $crate::plan::value::Rule;

            // As it is written.
            $(#[$about])*
            #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
            #[serde(default)]
            #[schemars(deny_unknown_fields)]
            struct Written {
                $(
                    $(#[$meta])*
                    #[serde(skip_serializing_if = "Rule::is_unset")]
                    $field: read_as!($rule $(= $default)?),
                )+
            }

            impl Default for Written {
                fn default() -> Self {
                    Self { $($field: read_default!($rule $(= $default)?),)+ }
                }
            }

            struct Visitor;

            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = $name;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a mapping")
                }

                // What is missing is said here, while the reader is still at the item and can tell its place.
                fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$name, A::Error> {
                    let map = serde::de::value::MapAccessDeserializer::new(map);
                    let written = <Written as serde::Deserialize>::deserialize(map)?;
                    Ok($name { $($field: given!(written.$field, $field, $rule $(= $default)?),)+ })
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_struct(stringify!($name), &[$(stringify!($field)),+], Visitor)
                }
            }

            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    let written = Written { $($field: written!(&self.$field, $rule $(= $default)?),)+ };
                    written.serialize(serializer)
                }
            }

            impl schemars::JsonSchema for $name {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }
                // Which fields push a name is known to the macro alone.
                #[allow(clippy::vec_init_then_push)]
                fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    let mut schema = Written::json_schema(generator);
                    let mut names = Vec::new();
                    $(needed!(names, $field $(= $default)?);)+
                    schema.insert("required".to_owned(), names.into());
                    schema
                }
            }

            $crate::plan::value::leaf!($name, $name, |it| it, |it| it.clone());
        };
    };
    (
        $(#[$about:meta])*
        pub struct $name:ident, changed by $change:ident {
            $($(#[$meta:meta])* $field:ident: $rule:ty = $default:expr,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$meta])* pub $field: <$rule as $crate::plan::value::Rule>::Plain,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        #[doc = concat!("What is different about a [`", stringify!($name), "`] from here on.")]
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, expecting = "a mapping")]
        #[schemars(deny_unknown_fields)]
        pub struct $change {
            $(
                $(#[$meta])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<<$rule as $crate::plan::value::Rule>::Change>,
            )+
        }

        impl $change {
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            pub fn apply(&self, to: &mut $name) {
                $(
                    if let Some(change) = &self.$field {
                        <$rule as $crate::plan::value::Rule>::apply(change, &mut to.$field);
                    }
                )+
            }
        }

        impl From<&$name> for $change {
            /// The change that leads to this section, whatever was there before.
            fn from(section: &$name) -> Self {
                Self { $($field: Some(<$rule as $crate::plan::value::Rule>::change_to(&section.$field)),)+ }
            }
        }

        const _: () = {
            use $crate::plan::value::Rule;

            /// The section as it is written.
            #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
            #[serde(default, expecting = "a mapping")]
            #[schemars(deny_unknown_fields)]
            struct Written {
                $($(#[$meta])* $field: $rule,)+
            }

            impl Default for Written {
                fn default() -> Self {
                    Self::from(&$name::default())
                }
            }

            impl From<&$name> for Written {
                fn from(section: &$name) -> Self {
                    Self { $($field: <$rule>::of(&section.$field),)+ }
                }
            }

            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    Written::from(self).serialize(serializer)
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let written = <Written as serde::Deserialize>::deserialize(deserializer)?;
                    Ok(Self { $($field: written.$field.plain(),)+ })
                }
            }

            impl schemars::JsonSchema for $name {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }
                fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    Written::json_schema(generator)
                }
            }

            /// A section may stand inside another.
            impl Rule for $name {
                type Plain = Self;
                type Change = $change;

                fn plain(self) -> Self {
                    self
                }
                fn of(plain: &Self) -> Self {
                    plain.clone()
                }
                fn apply(change: &$change, to: &mut Self) {
                    change.apply(to);
                }
                fn change_to(plain: &Self) -> $change {
                    plain.into()
                }
            }
        };
    };
}
pub(crate) use {given, needed, read_as, read_default, section, written};
