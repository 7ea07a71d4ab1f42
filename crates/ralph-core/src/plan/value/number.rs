//! Whole numbers, amounts of money, shares and factors.

use schemars::{Schema, json_schema};
use serde::Serialize;

use super::{Quantity, Rule, leaf, quantity};

/// A whole number of at least 1, that an unsigned integer holds.
macro_rules! count {
    ($(#[$meta:meta])* $name:ident, $plain:ty, $most:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub $plain);

        quantity!($name);
        leaf!($name, $plain, |it| it.0, |it| Self(*it));

        impl Quantity for $name {
            const SCHEMA_NAME: &'static str = stringify!($name);

            fn expected() -> String {
                "a whole number of at least 1".to_owned()
            }

            fn from_float(_: f64) -> Result<Self, String> {
                Err(format!("expected {}", Self::expected()))
            }

            fn from_int(value: i64) -> Result<Self, String> {
                match u64::try_from(value) {
                    Ok(0) | Err(_) => Err("must be at least 1".to_owned()),
                    Ok(value) if value > $most => Err(format!("must be at most {}", $most)),
                    Ok(_) => <$plain>::try_from(value).map(Self).map_err(|_| format!("must be at most {}", $most)),
                }
            }

            fn schema() -> Schema {
                json_schema!({ "type": "integer", "minimum": 1, "maximum": $most })
            }
        }
    };
}

count!(
    /// A whole number of at least 1.
    Count, u32, u64::from(u32::MAX)
);
count!(
    /// How many things are kept in memory: a whole number of at least 1.
    Size, usize, u64::from(u32::MAX)
);
count!(
    /// How many tokens: a whole number of at least 1. A long run uses more than four billion.
    Tokens, u64, 1_000_000_000_000_000_u64
);

/// An amount of money in US dollars, more than nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Usd(pub f64);

quantity!(Usd);
leaf!(Usd, f64, |it| it.0, |it| Self(*it));

impl Quantity for Usd {
    const SCHEMA_NAME: &'static str = "Usd";

    fn expected() -> String {
        "an amount of US dollars".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value.is_finite() && value > 0.0 {
            true => Ok(Self(value)),
            false => Err("must be more than 0 and finite".to_owned()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0 })
    }
}

/// A whole number, zero included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Amount(pub u32);

quantity!(Amount);
leaf!(Amount, u32, |it| it.0, |it| Self(*it));

impl Quantity for Amount {
    const SCHEMA_NAME: &'static str = "Amount";

    fn expected() -> String {
        "a whole number".to_owned()
    }

    fn from_int(value: i64) -> Result<Self, String> {
        u32::try_from(value).map(Self).map_err(|_| "must be a whole number of at least 0".to_owned())
    }

    fn from_float(_: f64) -> Result<Self, String> {
        Err("must be a whole number of at least 0".to_owned())
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 0 })
    }
}

/// A price in US dollars; nothing is a price too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Price(pub f64);

quantity!(Price);
leaf!(Price, f64, |it| it.0, |it| Self(*it));

impl Quantity for Price {
    const SCHEMA_NAME: &'static str = "Price";

    fn expected() -> String {
        "a price in US dollars".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value.is_finite() && value >= 0.0 {
            true => Ok(Self(value)),
            false => Err("must be at least 0 and finite".to_owned()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}

/// A share: more than 0, at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Ratio(pub f64);

quantity!(Ratio);
leaf!(Ratio, f64, |it| it.0, |it| Self(*it));

impl Quantity for Ratio {
    const SCHEMA_NAME: &'static str = "Ratio";

    fn expected() -> String {
        "a number above 0 and up to 1".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value > 0.0 && value <= 1.0 {
            true => Ok(Self(value)),
            false => Err("must be above 0 and at most 1".to_owned()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 })
    }
}

/// A share that is also written as `80%`: more than 0, at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Share(pub f64);

quantity!(Share);
leaf!(Share, f64, |it| it.0, |it| Self(*it));

impl Quantity for Share {
    const SCHEMA_NAME: &'static str = "Share";

    fn expected() -> String {
        "a share such as 80%".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value > 0.0 && value <= 1.0 {
            true => Ok(Self(value)),
            false => Err("must be above 0% and at most 100%".to_owned()),
        }
    }

    fn from_text(text: &str) -> Option<Result<Self, String>> {
        let percent = text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()?;
        Some(Self::from_float(percent / 100.0))
    }

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "number", "exclusiveMinimum": 0, "maximum": 1 },
                { "type": "string", "pattern": "^ *[0-9.]+ *% *$" },
            ],
            "examples": ["80%"],
        })
    }
}

/// A factor of at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Factor(pub f64);

quantity!(Factor);
leaf!(Factor, f64, |it| it.0, |it| Self(*it));

impl Quantity for Factor {
    const SCHEMA_NAME: &'static str = "Factor";

    fn expected() -> String {
        "a number of at least 1".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value.is_finite() && value >= 1.0 {
            true => Ok(Self(value)),
            false => Err("must be at least 1 and finite".to_owned()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 1 })
    }
}
