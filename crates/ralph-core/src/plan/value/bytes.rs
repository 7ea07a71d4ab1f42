//! A number of bytes: `1048576`, `512M`, `4G`.

use schemars::{Schema, json_schema};
use serde::{Serialize, Serializer};

use super::{Quantity, Rule, leaf, quantity};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

const UNITS: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
/// Less is no limit to work under, more is none.
const LEAST: u64 = 1 << 16;
const MOST: u64 = 1 << 50;

quantity!(Bytes);
leaf!(Bytes, u64, |it| it.0, |it| Self(*it));

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let unit =
            UNITS.iter().rev().find(|(_, shift)| self.0 >= 1 << shift && self.0.is_multiple_of(1 << shift));
        match unit {
            Some((unit, shift)) => to.collect_str(&format_args!("{}{unit}", self.0 >> shift)),
            None => to.serialize_u64(self.0),
        }
    }
}

fn checked(bytes: Option<u64>) -> Result<Bytes, String> {
    match bytes {
        Some(bytes @ LEAST..=MOST) => Ok(Bytes(bytes)),
        _ => Err("must be between 64K and 1024T".to_owned()),
    }
}

impl Quantity for Bytes {
    const SCHEMA_NAME: &'static str = "Bytes";

    fn expected() -> String {
        "a number of bytes such as 512M or 4G".to_owned()
    }

    fn from_float(value: f64) -> Result<Self, String> {
        match value.fract() == 0.0 && (0.0..=1e18).contains(&value) {
            true => checked(Some(value as u64)),
            false => Err("must be a whole number".to_owned()),
        }
    }

    fn from_text(text: &str) -> Option<Result<Self, String>> {
        let text = text.trim();
        let text = text.strip_suffix(['b', 'B']).unwrap_or(text);
        let text = text.strip_suffix('i').unwrap_or(text);
        let unit = text.chars().next_back()?.to_ascii_uppercase();
        let (_, shift) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let number: u64 = text[..text.len() - 1].trim().parse().ok()?;
        Some(checked(number.checked_mul(1 << shift)))
    }

    fn schema() -> Schema {
        json_schema!({ "oneOf": [
            { "type": "integer", "minimum": LEAST, "maximum": MOST },
            { "type": "string", "pattern": "^[0-9]+ ?[KMGTkmgt](i?[Bb])?$" },
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024_and_come_back_as_they_are_best_read() {
        let read = |text: &str| serde_json::from_str::<Bytes>(text).map(|bytes| bytes.0);
        assert_eq!(read("\"4G\"").expect("4G"), 4 << 30);
        assert_eq!(read("\"512 MiB\"").expect("512 MiB"), 512 << 20);
        assert_eq!(read("65537").expect("a number"), 65537);
        let again = |bytes| serde_json::to_string(&Bytes(bytes)).expect("text");
        assert_eq!((again(4 << 30), again(65537)), ("\"4G\"".to_owned(), "65537".to_owned()));
        for wrong in ["\"4Q\"", "\"\"", "\"G\"", "1", "\"99999999999999999999G\"", "\"9999999T\"", "1.5"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
