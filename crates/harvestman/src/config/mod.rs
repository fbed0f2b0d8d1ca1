//! Configuration: flags over environment over `harvest.toml` over defaults, merged once.
//!
//! - One table ([`keys::KEYS`]) says what there is; everything else here is made from it.
//! - Unknown keys are refused with the nearest known one, wrong values with what to write instead.
//! - The result is immutable. Lists are replaced by the higher layer, never joined.
//!
//! Not here: what the values mean. Crates have `Options` of their own; the commands fill them from this.

use std::{collections::BTreeMap, path::Path};

use crate::exit::Failure;

mod check;
mod file;
pub mod keys;
mod layers;
mod origin;
mod sections;
mod suggest;
mod table;
mod template;
#[cfg(test)]
mod tests;
pub mod units;
mod value;

pub use check::Wrong;
pub use keys::Key;
pub use layers::FlagValues;
pub use origin::Origin;
pub use sections::{
    Crawl, Etiquette, Expansion, External, Fetch, Gather, Harvester, Policy, Reject, Revisit,
    Scope, Store, Url,
};
pub use template::template;
pub use value::{Raw, Value};

/// The name of the file inside a collection's folder.
pub const FILE_NAME: &str = "harvest.toml";

#[derive(Clone, Debug)]
pub struct Config {
    pub crawl: Crawl,
    pub etiquette: Etiquette,
    pub fetch: Fetch,
    pub url: Url,
    pub gather: Gather,
    pub reject: Reject,
    pub store: Store,
    pub revisit: Revisit,
    pub harvester: Harvester,
    settings: Vec<Setting>,
}

impl Config {
    /// Reads `harvest.toml` in `folder` (if there is one) and the environment, and lays the flags on top.
    pub fn load(folder: &Path, flags: FlagValues) -> Result<Config, Failure> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Config::merge(file::read(&folder.join(FILE_NAME))?, variables, flags)
    }

    /// Nothing but the defaults.
    pub fn defaults() -> Config {
        Config::merge(Vec::new(), [], Vec::new()).expect("defaults are tested to be valid")
    }

    fn merge(
        file: Vec<Written>,
        variables: impl IntoIterator<Item = (String, String)>,
        flags: FlagValues,
    ) -> Result<Config, Failure> {
        let mut layers = file;
        layers.extend(layers::from_environment(variables)?);
        layers.extend(layers::from_flags(flags));
        let mut settings: Vec<Setting> = keys::KEYS.iter().map(Setting::of_default).collect();
        for written in layers {
            // Every layer is checked, also where a higher one wins: a mistake should not lie in wait.
            let value = written.value()?;
            if let Some(setting) = settings.iter_mut().find(|s| s.key.name == written.key.name) {
                *setting =
                    Setting { key: written.key, value, origin: written.origin, raw: written.raw };
            }
        }
        Ok(Config::typed(settings))
    }

    fn typed(settings: Vec<Setting>) -> Config {
        let by_name: BTreeMap<&'static str, Value> =
            settings.iter().map(|s| (s.key.name, s.value.clone())).collect();
        let mut values = sections::Values(by_name);
        let config = Config {
            crawl: values.crawl(),
            etiquette: values.etiquette(),
            fetch: values.fetch(),
            url: values.url(),
            gather: values.gather(),
            reject: values.reject(),
            store: values.store(),
            revisit: values.revisit(),
            harvester: values.harvester(),
            settings,
        };
        assert!(values.0.is_empty(), "keys that no field takes: {:?}", values.0);
        config
    }

    /// Every key with its value and origin, in the order of the table.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    pub fn origin(&self, name: &str) -> &Origin {
        self.setting(name).map_or(&Origin::Default, |setting| &setting.origin)
    }

    /// For crates that parse a value themselves: their refusal of `value` (a text of the key `name`) as
    /// the same sentence, with file and line, that a mistake found here gets.
    pub fn refuse(
        &self,
        name: &str,
        value: &str,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> Failure {
        let wrong = Wrong { what: what.into(), instead: instead.into() };
        match self.setting(name) {
            Some(setting) => {
                refusal(setting.key, &setting.raw, &setting.origin, Some(value), wrong)
            }
            None => Failure::usage(format!("{name} = {value:?}: {}", wrong.what), wrong.instead),
        }
    }

    fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key.name == name)
    }
}

/// One key's value and where it comes from.
#[derive(Clone, Debug)]
pub struct Setting {
    pub key: &'static Key,
    pub value: Value,
    pub origin: Origin,
    raw: Raw,
}

impl Setting {
    fn of_default(key: &'static Key) -> Setting {
        let raw = file::parse_value(key.default).expect("every default is tested to be TOML");
        let value =
            Value::read(key, &raw).unwrap_or_else(|wrong| panic!("{}: {wrong:?}", key.name));
        Setting { key, value, origin: Origin::Default, raw }
    }
}

/// A value somebody wrote for a known key.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    key: &'static Key,
    raw: Raw,
    origin: Origin,
}

impl Written {
    fn value(&self) -> Result<Value, Failure> {
        Value::read(self.key, &self.raw).map_err(|wrong| {
            let item = self.wrong_item();
            refusal(self.key, &self.raw, &self.origin, item.as_deref(), wrong)
        })
    }

    /// In a list, the first item that is wrong.
    fn wrong_item(&self) -> Option<String> {
        let Raw::List(items) = &self.raw else { return None };
        let alone = |item: &String| Value::read(self.key, &Raw::Text(item.clone())).is_err();
        items.iter().map(|(item, _)| item).find(|item| alone(item)).cloned()
    }
}

/// File, line, key, value, what is wrong, what to write.
fn refusal(key: &Key, raw: &Raw, origin: &Origin, item: Option<&str>, wrong: Wrong) -> Failure {
    let shown = item.map_or_else(|| raw.to_string(), value::quoted);
    let sentence = match origin {
        Origin::Default => format!("{} = {shown}: {}", key.name, wrong.what),
        Origin::File { path, line } => {
            let line = item.and_then(|item| raw.line_of(item)).unwrap_or(*line);
            format!("{} line {line}: {} = {shown}: {}", path.display(), key.name, wrong.what)
        }
        Origin::Environment(variable) => format!("{variable}={shown}: {}", wrong.what),
        Origin::Flag(flag) => format!("{flag} {shown}: {}", wrong.what),
    };
    Failure::usage(sentence, wrong.instead)
}
