//! The two layers above the file: variables of the environment, and flags.

use super::{
    Written,
    file::{meant, parse_value},
    keys::{KEYS, Key, Kind, RENAMED, sections, variable_of},
    origin::Origin,
    value::Raw,
};
use crate::failure::Failure;

/// What `crawl --pages 5` says: the key's name and each time its flag was given.
pub type FlagValues = Vec<(&'static str, Vec<String>)>;

/// Values of `HARVESTMAN_SECTION_KEY`. A variable that begins like a section but names no key is refused
/// as a slip; other variables of our prefix (tests have some) are none of ours to judge.
pub fn from_environment(
    variables: impl IntoIterator<Item = (String, String)>,
    mistakes: &mut Vec<Failure>,
) -> Vec<Written> {
    let mut written = Vec::new();
    for (variable, text) in variables {
        let Some(rest) = variable.strip_prefix("HARVESTMAN_") else { continue };
        if let Some(key) = KEYS.iter().find(|key| key.variable() == variable) {
            match from_text(key, &text, &format!("the variable {variable}")) {
                Ok(raw) => {
                    written.push(Written { key, raw, origin: Origin::Environment(variable) });
                }
                Err(failure) => mistakes.push(failure),
            }
        } else if let Some(now) = formerly(&variable) {
            mistakes.push(Failure::usage(
                format!("the variable {variable} is now called {}", now.variable()),
                "set it under the new name",
            ));
        } else if let Some((section, name)) = slip(rest) {
            mistakes.push(Failure::usage(
                format!("the variable {variable} names no key of [{section}]"),
                meant(section, &name),
            ));
        }
    }
    written
}

pub fn from_flags(flags: FlagValues) -> Vec<Written> {
    let written = |(name, texts): (&'static str, Vec<String>)| {
        let key = Key::named(name)?;
        let raw = match (key.kind, texts.as_slice()) {
            (_, []) => return None,
            (Kind::List { .. }, texts) => {
                Raw::List(texts.iter().map(|text| (text.clone(), 0)).collect())
            }
            (_, texts) => Raw::Text(texts.last()?.clone()),
        };
        Some(Written { key, raw, origin: Origin::Flag(format!("--{}", key.flag.unwrap_or(name))) })
    };
    flags.into_iter().filter_map(written).collect()
}

/// A value outside a file: lists as in TOML or, where the key takes it so, with commas. `place` begins a
/// sentence about it.
pub(super) fn from_text(key: &'static Key, text: &str, place: &str) -> Result<Raw, Failure> {
    let Kind::List { commas, .. } = key.kind else { return Ok(Raw::Text(text.to_owned())) };
    if text.trim_start().starts_with('[') {
        return parse_value(text.trim()).map_err(|error| {
            Failure::usage(
                format!("{place} holds a broken list: {error}"),
                format!("write a list such as {}", key.example),
            )
        });
    }
    if !commas {
        return Ok(Raw::Text(text.to_owned()));
    }
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    Ok(Raw::List(items.map(|item| (item.to_owned(), 0)).collect()))
}

/// The key that once had this variable.
fn formerly(variable: &str) -> Option<&'static Key> {
    let (old, _) = RENAMED.iter().find(|(old, _)| variable_of(old) == variable)?;
    Key::formerly(old)
}

/// The section and name that a variable of no key seems to be meant for.
fn slip(rest: &str) -> Option<(&'static str, String)> {
    let rest = rest.to_lowercase();
    sections().into_iter().find_map(|section| {
        let name = rest.strip_prefix(section)?.strip_prefix('_')?;
        Some((section, name.to_owned()))
    })
}
