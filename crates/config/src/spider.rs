//! One spider's own values: laid over `harvest.toml` and under environment and flags.
//!
//! Keys that bound the whole crawl bound the spider when they are its own: they stand beside the
//! configuration ([`OwnLimits`]) and replace nothing in it.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Config, Written,
    file::{meant, parse_value},
    keys::{KEYS, Key, Reach},
    layers::from_text,
    origin::Origin,
    refusal,
    sections::narrow,
    suggest::nearest,
    value::{Raw, Value},
};
use crate::failure::Failure;

/// The configuration as one spider sees it.
#[derive(Clone, Debug)]
pub struct SpiderConfig {
    pub config: Config,
    pub own: OwnLimits,
}

/// Bounds of one spider; those of the base still hold for all spiders together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnLimits {
    pub pages: Option<u64>,
    pub bytes: Option<u64>,
    pub time: Option<Duration>,
    pub max_fetches: Option<usize>,
    /// With any of these three its visits are paid from a purse of its own.
    pub visits_per_day: Option<u64>,
    pub bytes_per_day: Option<u64>,
    pub requests_per_second: Option<f64>,
}

impl Config {
    /// `settings`: keys and their values as TOML, as the collection keeps them.
    pub fn for_spider(
        &self,
        name: &str,
        settings: &BTreeMap<String, String>,
    ) -> Result<SpiderConfig, Failure> {
        let mut mistakes = Vec::new();
        let spider = self.examine_spider(name, settings, &mut mistakes);
        mistakes.into_iter().next().map_or(Ok(spider), Err)
    }

    /// The same, with every mistake and not only the first; what is wrong is left out.
    pub fn examine_spider(
        &self,
        name: &str,
        settings: &BTreeMap<String, String>,
        mistakes: &mut Vec<Failure>,
    ) -> SpiderConfig {
        let mut own = OwnLimits::default();
        let mut written = Vec::new();
        for (key, text) in settings {
            match setting(name, key, text) {
                Ok((setting, value)) if !own.take(setting.key.name, &value) => {
                    written.push(setting);
                }
                Ok(_) => {}
                Err(failure) => mistakes.push(failure),
            }
        }
        let config = self.with_spider(&written);
        config.check_periods(Some(name), mistakes);
        SpiderConfig { config, own }
    }
}

impl OwnLimits {
    /// Whether the key is one of these.
    fn take(&mut self, key: &str, value: &Value) -> bool {
        let count = match value {
            Value::Count(n) | Value::Size(n) => Some(*n),
            _ => None,
        };
        match key {
            "crawl.pages" => self.pages = count,
            "crawl.bytes" => self.bytes = count,
            "etiquette.max_fetches" => self.max_fetches = count.map(narrow),
            "revisit.visits_per_day" => self.visits_per_day = count,
            "revisit.bytes_per_day" => self.bytes_per_day = count,
            "revisit.requests_per_second" => {
                self.requests_per_second = match value {
                    Value::Factor(rate) => Some(*rate),
                    _ => None,
                }
            }
            "crawl.for" => {
                self.time = match value {
                    Value::Time(time) => Some(*time),
                    _ => None,
                }
            }
            _ => return false,
        }
        true
    }
}

/// `crawl.scope=domain` from a command line: the key, and its value as TOML. The value may be written
/// bare (`domain`, `5s`, `a,b`) or as in `harvest.toml`.
pub fn parse_setting(text: &str) -> Result<(String, String), Failure> {
    let Some((name, value)) = text.split_once('=') else {
        let example = "write KEY=VALUE such as crawl.scope=domain";
        return Err(Failure::usage(format!("{text:?} has no ="), example));
    };
    let (name, value) = (name.trim(), value.trim());
    let key = spider_key(name, "")?;
    if let Some(read) = parse_value(value).ok().and_then(|raw| Value::read(key, &raw).ok()) {
        return Ok((key.name.to_owned(), read.to_string()));
    }
    let raw = from_text(key, value, key.name)?;
    match Value::read(key, &raw) {
        Ok(read) => Ok((key.name.to_owned(), read.to_string())),
        Err(wrong) => Err(refusal(key, &raw, &Origin::Default, None, wrong)),
    }
}

fn setting(spider: &str, name: &str, text: &str) -> Result<(Written, Value), Failure> {
    // What was stored under an older name is meant as the newer.
    let name = Key::formerly(name).map_or(name, |now| now.name);
    let key = spider_key(name, &format!("spider {spider}: "))?;
    let raw = parse_value(text).unwrap_or_else(|_| Raw::Text(text.to_owned()));
    let written = Written { key, raw, origin: Origin::Spider(spider.to_owned()) };
    let value = written.value()?;
    Ok((written, value))
}

/// The key of this name, if a spider can have it; `whose` begins the sentence of a refusal.
fn spider_key(name: &str, whose: &str) -> Result<&'static Key, Failure> {
    let Some(key) = Key::named(name) else {
        if let Some(now) = Key::formerly(name) {
            let advice = format!("write {}", now.name);
            let what = format!("{whose}{name} is now called {}", now.name);
            return Err(Failure::usage(what, advice));
        }
        let near = nearest(name, KEYS.iter().map(|key| key.name));
        let what_to_do = match (near, name.split_once('.')) {
            (Some(near), _) => format!("did you mean {near:?}?"),
            (None, Some((section, short))) => meant(section, short),
            (None, None) => "write section.key; `harvestman config` lists every key".to_owned(),
        };
        return Err(Failure::usage(format!("{whose}unknown key {name:?}"), what_to_do));
    };
    if key.reach < Reach::Spider {
        return Err(Failure::usage(
            format!("{whose}{name} cannot be set for one spider"),
            "set it in harvest.toml, for the whole collection",
        ));
    }
    Ok(key)
}

#[cfg(test)]
mod tests;
