//! Configuration: flags over environment over `harvest.toml` over defaults, merged once.
//!
//! - One table ([`keys::KEYS`]) says what there is; everything else here is made from it.
//! - Unknown keys are refused with the nearest known one, wrong values with what to write instead.
//! - A spider's own values lie between file and environment ([`Config::for_spider`]); what is otherwise
//!   on some sites or pages is asked of [`Overrides`].
//! - The result is immutable. Lists are replaced by the higher layer, never joined.
//!
//! Not here: what the values mean. Crates have `Options` of their own; the commands fill them from this.

use std::{collections::BTreeMap, fmt, path::Path, sync::Arc};

use crate::failure::Failure;

pub mod access;
pub mod amounts;
mod check;
mod duplicate;
pub mod failure;
mod file;
mod hazards;
mod item;
pub mod keys;
mod layers;
pub mod moments;
mod origin;
pub mod overrides;
mod periods;
mod reach;
mod sections;
pub mod setup;
mod spider;
mod suggest;
mod table;
mod template;
#[cfg(test)]
mod tests;
pub mod times;
pub mod units;
mod value;
mod webhook;

pub use access::{Credential, Login, Secret};
pub use check::Wrong;
pub use hazards::{Hazards, Replicas};
pub use keys::{Key, Reach};
pub use layers::FlagValues;
pub use origin::Origin;
pub use overrides::{Overrides, PageOverride, SiteOverride};
pub use reach::ReachFingerprint;
pub use sections::{
    ChangeBy, Cookies, Crawl, Etiquette, Expansion, External, Fetch, Objective, Parse, Policy,
    Reject, Revisit, Scope, Store, Url,
};
pub use spider::{OwnLimits, SpiderConfig, parse_setting};
pub use template::template;
pub use value::{Raw, Value, quoted, veiled};
pub use webhook::{Kind, Webhook};

/// The name of the file inside a collection's folder.
pub const FILE_NAME: &str = "harvest.toml";

#[derive(Clone, Debug)]
pub struct Config {
    pub crawl: Crawl,
    pub etiquette: Etiquette,
    pub fetch: Fetch,
    pub url: Url,
    pub parse: Parse,
    pub reject: Reject,
    pub store: Store,
    pub revisit: Revisit,
    pub hazards: Hazards,
    pub overrides: Overrides,
    pub credentials: Vec<Credential>,
    pub logins: Vec<Login>,
    pub webhooks: Vec<Webhook>,
    settings: Vec<Setting>,
    layers: Arc<Layers>,
}

/// What the values were merged from, so that a spider's can be laid between.
#[derive(Debug)]
struct Layers {
    file: Vec<Written>,
    /// Environment and flags.
    above: Vec<Written>,
}

impl Config {
    /// Reads `harvest.toml` in `folder` (if there is one) and the environment, and lays the flags on top.
    pub fn load(folder: &Path, flags: FlagValues) -> Result<Config, Failure> {
        let (config, mistakes) = Config::examine(folder, flags);
        mistakes.into_iter().next().map_or(Ok(config), Err)
    }

    /// The same, with every mistake and not only the first; what is wrong is left out.
    pub fn examine(folder: &Path, flags: FlagValues) -> (Config, Vec<Failure>) {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let mut mistakes = Vec::new();
        let document = file::read(&folder.join(FILE_NAME), &mut mistakes);
        let config = Config::build(document, variables, flags, &mut mistakes);
        (config, mistakes)
    }

    /// Nothing but the defaults.
    pub fn defaults() -> Config {
        Config::merge(Vec::new(), [], Vec::new()).expect("defaults are tested to be valid")
    }

    fn merge(
        document: impl Into<file::Document>,
        variables: impl IntoIterator<Item = (String, String)>,
        flags: FlagValues,
    ) -> Result<Config, Failure> {
        let mut mistakes = Vec::new();
        let config = Config::build(document.into(), variables, flags, &mut mistakes);
        mistakes.into_iter().next().map_or(Ok(config), Err)
    }

    fn build(
        document: file::Document,
        variables: impl IntoIterator<Item = (String, String)>,
        flags: FlagValues,
        mistakes: &mut Vec<Failure>,
    ) -> Config {
        let mut above = layers::from_environment(variables, mistakes);
        above.extend(layers::from_flags(flags));
        let layers = Arc::new(Layers { file: document.written, above });
        let settings = layers.settings(&[], mistakes);
        let config = Config {
            overrides: overrides::read(document.overrides, mistakes),
            credentials: access::credentials(document.credentials, mistakes),
            logins: access::logins(document.logins, mistakes),
            webhooks: webhook::webhooks(document.webhooks, mistakes),
            ..Config::typed(settings, layers)
        };
        config.check_periods(None, mistakes);
        config
    }

    /// What was read from the other layers was checked when this was made.
    fn with_spider(&self, spider: &[Written]) -> Config {
        Config {
            overrides: self.overrides.clone(),
            credentials: self.credentials.clone(),
            logins: self.logins.clone(),
            webhooks: self.webhooks.clone(),
            ..Config::typed(self.layers.settings(spider, &mut Vec::new()), self.layers.clone())
        }
    }

    fn typed(settings: Vec<Setting>, layers: Arc<Layers>) -> Config {
        let by_name: BTreeMap<&'static str, Value> =
            settings.iter().map(|s| (s.key.name, s.value.clone())).collect();
        let mut values = sections::Values(by_name);
        let mut config = Config {
            crawl: values.crawl(),
            etiquette: values.etiquette(),
            fetch: values.fetch(),
            url: values.url(),
            parse: values.parse(),
            reject: values.reject(),
            store: values.store(),
            revisit: values.revisit(),
            hazards: values.hazards(),
            overrides: Overrides::default(),
            credentials: Vec::new(),
            logins: Vec::new(),
            webhooks: Vec::new(),
            settings,
            layers,
        };
        assert!(values.0.is_empty(), "keys that no field takes: {:?}", values.0);
        config.revisit.policy = config.policy_by_period().unwrap_or(config.revisit.policy);
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

impl Layers {
    /// Every layer is checked, also where a higher one wins: a mistake should not lie in wait.
    fn settings(&self, spider: &[Written], mistakes: &mut Vec<Failure>) -> Vec<Setting> {
        let mut settings: Vec<Setting> = keys::KEYS.iter().map(Setting::of_default).collect();
        for written in self.file.iter().chain(spider).chain(&self.above) {
            let value = match written.value() {
                Ok(value) => value,
                Err(failure) => {
                    mistakes.extend(written.mistakes(failure));
                    continue;
                }
            };
            if let Some(setting) = settings.iter_mut().find(|s| s.key.name == written.key.name) {
                let (origin, raw) = (written.origin.clone(), written.raw.clone());
                *setting = Setting { key: written.key, value, origin, raw };
            }
        }
        settings
    }
}

/// One key's value and where it comes from.
#[derive(Clone)]
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

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({})", self.key.name, self.value.shown(self.key), self.origin)
    }
}

/// A value somebody wrote for a known key.
#[derive(Clone)]
pub(crate) struct Written {
    key: &'static Key,
    raw: Raw,
    origin: Origin,
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({})", self.key.name, self.raw.shown(self.key), self.origin)
    }
}

impl Written {
    fn value(&self) -> Result<Value, Failure> {
        Value::read(self.key, &self.raw).map_err(|wrong| {
            let item = self.wrong_item();
            refusal(self.key, &self.raw, &self.origin, item.as_deref(), wrong)
        })
    }

    /// In a list, one for each item that is wrong; else the one that was found.
    fn mistakes(&self, found: Failure) -> Vec<Failure> {
        let Raw::List(items) = &self.raw else { return vec![found] };
        let mut wrong: Vec<Failure> = Vec::new();
        for (item, _) in items {
            let Err(what) = Value::read(self.key, &Raw::Text(item.clone())) else { continue };
            let failure = refusal(self.key, &self.raw, &self.origin, Some(item), what);
            if !wrong.contains(&failure) {
                wrong.push(failure);
            }
        }
        if wrong.is_empty() { vec![found] } else { wrong }
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
    let shown = match item {
        Some(item) => Raw::Text(item.to_owned()).shown(key).to_string(),
        None => raw.shown(key).to_string(),
    };
    let sentence = match origin {
        Origin::Default => format!("{} = {shown}: {}", key.name, wrong.what),
        Origin::File { path, line } => {
            let line = item.and_then(|item| raw.line_of(item)).unwrap_or(*line);
            format!("{} line {line}: {} = {shown}: {}", path.display(), key.name, wrong.what)
        }
        Origin::Spider(name) => format!("spider {name}: {} = {shown}: {}", key.name, wrong.what),
        Origin::Environment(variable) => format!("{variable}={shown}: {}", wrong.what),
        Origin::Flag(flag) => format!("{flag} {shown}: {}", wrong.what),
    };
    Failure::usage(sentence, wrong.instead)
}
