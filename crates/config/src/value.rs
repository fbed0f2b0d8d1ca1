//! A value as somebody wrote it ([`Raw`]) and as the program understands it ([`Value`]).

use std::{fmt, time::Duration};

use serde_json::json;

use super::{
    check::{Wrong, veiled_header, wrong},
    keys::{Key, Kind},
    units::{parse_size, parse_time, size_text, time_text},
};

/// What stands in a file, a variable or a flag, before its key says what it should be.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    Integer(i64),
    Float(f64),
    Flag(bool),
    Text(String),
    /// Each item with its line (0 where there are no lines).
    List(Vec<(String, usize)>),
    /// Something no key takes: a date, a table, a list of lists.
    Other(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No limit, or not set.
    None,
    Count(u64),
    Size(u64),
    Time(Duration),
    Factor(f64),
    Flag(bool),
    Text(String),
    List(Vec<String>),
}

impl Value {
    /// What `raw` means for this key, or what is wrong with it and what to write.
    pub fn read(key: &Key, raw: &Raw) -> Result<Value, Wrong> {
        if key.optional && matches!(raw, Raw::Text(text) if text == "none") {
            return Ok(Value::None);
        }
        Value::some(key, raw).map_err(|wrong| match key.optional {
            true => wrong.or_none(),
            false => wrong,
        })
    }

    fn some(key: &Key, raw: &Raw) -> Result<Value, Wrong> {
        match key.kind {
            Kind::Count { min, max } => count(raw, min, max),
            Kind::Size { min } => size(raw, min),
            Kind::Time => time(raw),
            Kind::Period => period(raw, key),
            Kind::Limit => limit(raw),
            Kind::Span { min, max } => span(raw, min, max),
            Kind::Factor { max } => factor(raw, max),
            Kind::Rate { max } => rate(raw, max, key),
            Kind::Flag => flag(raw),
            Kind::Switch => switch(raw),
            Kind::OneOf(words) => one_of(raw, words),
            Kind::Text(check) => match raw {
                Raw::Text(text) => check(text).map(|()| Value::Text(text.clone())),
                other => wrong(
                    format!("it is {}, not text", other.kind()),
                    format!("write it in quotes such as {}", key.example),
                ),
            },
            Kind::List { check, .. } => match raw {
                Raw::List(items) => {
                    items.iter().try_for_each(|(item, _)| check(item))?;
                    Ok(Value::List(items.iter().map(|(item, _)| item.clone()).collect()))
                }
                Raw::Text(text) => check(text).map(|()| Value::List(vec![text.clone()])),
                other => wrong(
                    format!("it is {}, not a list of texts", other.kind()),
                    format!("write a list such as {}", key.example),
                ),
            },
        }
    }

    /// As it is shown: without passwords, where the key's values can carry one.
    pub fn shown(&self, key: &Key) -> Value {
        match self {
            Value::Text(text) if key.secret => Value::Text(veiled(text)),
            other => other.clone(),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        match self {
            Value::None => serde_json::Value::Null,
            Value::Count(n) | Value::Size(n) => json!(n),
            Value::Factor(f) => json!(f),
            Value::Flag(yes) => json!(yes),
            Value::Time(time) => json!(time_text(*time)),
            Value::Text(text) => json!(text),
            Value::List(items) => json!(items),
        }
    }
}

/// As it would stand in `harvest.toml`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("\"none\""),
            Value::Count(n) => write!(f, "{n}"),
            Value::Size(bytes) => write!(f, "\"{}\"", size_text(*bytes)),
            Value::Time(time) => write!(f, "\"{}\"", time_text(*time)),
            Value::Factor(factor) => write!(f, "{factor}"),
            Value::Flag(yes) => write!(f, "{yes}"),
            Value::Text(text) => f.write_str(&quoted(text)),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                write!(f, "[{}]", items.join(", "))
            }
        }
    }
}

impl Raw {
    /// The line on which a list has this item.
    pub fn line_of(&self, item: &str) -> Option<usize> {
        let Raw::List(items) = self else { return None };
        items.iter().find(|(text, line)| text == item && *line > 0).map(|(_, line)| *line)
    }

    /// As it is shown: without passwords, where the key's values can carry one.
    pub fn shown(&self, key: &Key) -> Raw {
        match self {
            Raw::Text(text) if key.secret => Raw::Text(veiled(text)),
            Raw::Text(text) if key.name == "etiquette.headers" => Raw::Text(veiled_header(text)),
            other => other.clone(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Raw::Integer(_) => "a whole number",
            Raw::Float(_) => "a number",
            Raw::Flag(_) => "true or false",
            Raw::Text(_) => "text",
            Raw::List(_) => "a list",
            Raw::Other(kind) => kind,
        }
    }
}

/// As it was written, for messages.
impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Raw::Integer(n) => write!(f, "{n}"),
            Raw::Float(n) => write!(f, "{n}"),
            Raw::Flag(yes) => write!(f, "{yes}"),
            Raw::Text(text) => f.write_str(&quoted(text)),
            Raw::List(items) => {
                let items: Vec<String> = items.iter().map(|(item, _)| quoted(item)).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Raw::Other(kind) => f.write_str(kind),
        }
    }
}

/// A TOML string: literal where backslashes would otherwise be doubled.
pub fn quoted(text: &str) -> String {
    if text.contains('\\') && !text.contains('\'') && !text.chars().any(char::is_control) {
        return format!("'{text}'");
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `http://user:password@host` without what is in front of the host.
pub fn veiled(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    match text.rfind('@').filter(|at| *at >= start) {
        Some(at) => format!("{}***{}", &text[..start], &text[at..]),
        None => text.to_owned(),
    }
}

fn count(raw: &Raw, min: u64, max: u64) -> Result<Value, Wrong> {
    let number = match raw {
        Raw::Integer(n) => u64::try_from(*n).ok(),
        Raw::Text(text) => text.trim().replace('_', "").parse().ok(),
        _ => None,
    };
    let instead = if max < u64::MAX {
        format!("write a whole number from {min} to {max}")
    } else {
        format!("write a whole number, {min} or more")
    };
    match number {
        Some(n) if (min..=max).contains(&n) => Ok(Value::Count(n)),
        Some(_) => wrong("it is out of range", instead),
        None => wrong("it is no whole number", instead),
    }
}

fn size(raw: &Raw, min: u64) -> Result<Value, Wrong> {
    // What is advised must not be refused.
    let instead = match min {
        ..=65_536 => "write a size such as 2MB, 64 KiB or 400000 (bytes)".to_owned(),
        _ => format!("write {} or more, such as {}", size_text(min), size_text(min * 10)),
    };
    let bytes = match raw {
        Raw::Integer(n) => u64::try_from(*n).map_err(|_| "it is below zero".to_owned()),
        Raw::Text(text) => parse_size(text),
        other => Err(format!("it is {}, not a size", other.kind())),
    };
    match bytes {
        Ok(bytes) if bytes >= min => Ok(Value::Size(bytes)),
        Ok(_) => wrong(format!("it is less than {}", size_text(min)), instead),
        Err(what) => wrong(what, instead),
    }
}

fn time(raw: &Raw) -> Result<Value, Wrong> {
    let parsed = match raw {
        Raw::Integer(n) => parse_time(&n.to_string()),
        Raw::Float(n) => parse_time(&n.to_string()),
        Raw::Text(text) => parse_time(text),
        other => Err(format!("it is {}, not a time", other.kind())),
    };
    parsed.map(Value::Time).or_else(|what| {
        wrong(what, "write a time such as 30s, 1m30s, 2h, 7d, 250ms or 2 (seconds)")
    })
}

fn period(raw: &Raw, key: &Key) -> Result<Value, Wrong> {
    match time(raw)? {
        Value::Time(time) if time.is_zero() => wrong(
            "it is zero",
            format!(
                "write a time above zero such as {}; a page that is not to be seen again has \
                 revisit.policy = \"once\"",
                key.example
            ),
        ),
        period => Ok(period),
    }
}

fn limit(raw: &Raw) -> Result<Value, Wrong> {
    match time(raw)? {
        Value::Time(time) if time.is_zero() => wrong(
            "it is zero, and nothing would be done",
            "write a time above zero such as 30s or 2h",
        ),
        limit => Ok(limit),
    }
}

fn span(raw: &Raw, min: Duration, max: Duration) -> Result<Value, Wrong> {
    let [least, most] = [min, max].map(time_text);
    let instead = format!("write a time from {least} to {most}");
    match time(raw)? {
        Value::Time(time) if time < min => wrong(format!("it is shorter than {least}"), instead),
        Value::Time(time) if time > max => wrong(format!("it is longer than {most}"), instead),
        span => Ok(span),
    }
}

fn rate(raw: &Raw, max: f64, key: &Key) -> Result<Value, Wrong> {
    match factor(raw, max)? {
        Value::Factor(0.0) => {
            let instead = format!("write a number above 0 such as {}", key.example);
            wrong("it is zero, and nothing would ever be visited again", instead)
        }
        rate => Ok(rate),
    }
}

fn factor(raw: &Raw, max: f64) -> Result<Value, Wrong> {
    let number = match raw {
        Raw::Integer(n) => Some(*n as f64),
        Raw::Float(n) => Some(*n),
        Raw::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    match number {
        Some(n) if (0.0..=max).contains(&n) => Ok(Value::Factor(n)),
        _ => wrong(
            format!("it is no number from 0 to {max}"),
            format!("write a number from 0 to {max} such as 0.5"),
        ),
    }
}

fn flag(raw: &Raw) -> Result<Value, Wrong> {
    match raw {
        Raw::Flag(yes) => Ok(Value::Flag(*yes)),
        Raw::Text(text) if text == "true" => Ok(Value::Flag(true)),
        Raw::Text(text) if text == "false" => Ok(Value::Flag(false)),
        _ => wrong("it is neither true nor false", "write true or false, without quotes"),
    }
}

fn switch(raw: &Raw) -> Result<Value, Wrong> {
    match raw {
        Raw::Flag(true) => Ok(Value::Text("on".to_owned())),
        Raw::Flag(false) => Ok(Value::Text("off".to_owned())),
        Raw::Text(text) => match text.as_str() {
            "on" | "true" => Ok(Value::Text("on".to_owned())),
            "off" | "false" => Ok(Value::Text("off".to_owned())),
            "" | "yes" | "no" => wrong("it is neither on nor off", "write on, off, or a file"),
            file => Ok(Value::Text(file.to_owned())),
        },
        other => wrong(
            format!("it is {}, not on or off", other.kind()),
            "write \"on\", \"off\", or the name of a file in quotes",
        ),
    }
}

fn one_of(raw: &Raw, words: &'static [&'static str]) -> Result<Value, Wrong> {
    if let Raw::Text(text) = raw
        && words.contains(&text.as_str())
    {
        return Ok(Value::Text(text.clone()));
    }
    let near = match raw {
        Raw::Text(text) => super::suggest::nearest(text, words.iter().copied()),
        _ => None,
    };
    let list = words.join(", ");
    match near {
        Some(word) => wrong(
            "it is not one of the words known here",
            format!("did you mean {word:?}? known are: {list}"),
        ),
        None => wrong("it is not one of the words known here", format!("write one of: {list}")),
    }
}
