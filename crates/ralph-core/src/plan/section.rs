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

macro_rules! section {
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
        #[serde(default, deny_unknown_fields, expecting = "a mapping")]
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
            #[serde(default, deny_unknown_fields, expecting = "a mapping")]
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
pub(crate) use section;
