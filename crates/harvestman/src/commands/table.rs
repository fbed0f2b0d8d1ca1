//! Answers as CSV: the serialised answer, so that its columns have the names of the JSON.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use crate::csv::write_row;
use config::{
    amounts::{number, some},
    failure::Failure,
};

/// A heading with the names of the fields, then a line a row.
pub fn csv<T: Serialize>(rows: &[T]) -> Result<String, Failure> {
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let fields = fields_of(row).map_err(|error| cannot(&error))?;
        if at == 0 {
            write_row(&mut text, fields.iter().map(|(name, _)| Cow::from(name)));
        }
        write_row(&mut text, fields.iter().map(|(_, value)| cell(value)));
    }
    Ok(text)
}

/// `50 of 1,204 pages, by url`, or without the rest where there is none.
pub fn footer(shown: usize, total: Option<u64>, what: &str, sort: &str) -> String {
    let shown = shown as u64;
    match total {
        Some(total) if total == shown => format!("{}\n", some(total, what)),
        Some(total) => format!("{} of {}, by {sort}\n", number(shown), some(total, what)),
        None => format!("{} shown, by {sort}\n", some(shown, what)),
    }
}

fn cell(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// In the order of the type, which a [`Value`] does not keep.
fn fields_of(row: &impl Serialize) -> serde_json::Result<Vec<(String, Value)>> {
    let fields: Fields = serde_json::from_str(&serde_json::to_string(row)?)?;
    Ok(fields.0)
}

struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fields, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(InOrder)
    }
}

fn cannot(error: &serde_json::Error) -> Failure {
    Failure::fault(format!("the answer cannot be written: {error}"), "please report this")
}
