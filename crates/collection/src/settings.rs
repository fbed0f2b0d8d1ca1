//! The configuration of a collection: every key with its value and where that comes from, and
//! everything that is wrong in what a crawl would read.

use std::{collections::BTreeMap, path::Path};

use config::{Config, FlagValues, Key, Origin, Setting, failure::Failure, setup};
use serde::Serialize;
use store::{census::Census, collection::Collection};

use crate::{Error, listing::Listing};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingRow {
    pub key: &'static str,
    /// Without passwords. `null`: none.
    pub value: serde_json::Value,
    pub origin: SettingOrigin,
    /// As it would be written in `harvest.toml`.
    pub default: &'static str,
    pub about: &'static str,
    /// The smallest thing it can be set for: `collection`, `spider`, `site`, `page`.
    pub set_for: &'static str,
    /// A change takes effect while a crawl runs.
    pub live: bool,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingOrigin {
    pub kind: OriginKind,
    /// Of the spider, the variable or the flag; of a file its path.
    pub name: Option<String>,
    /// In the file, from 1.
    pub line: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OriginKind {
    Default,
    File,
    Spider,
    Environment,
    Flag,
}

/// Every key.
pub fn settings(config: &Config) -> Listing<SettingRow> {
    Listing::whole(config.settings().iter().map(row).collect())
}

fn row(setting: &Setting) -> SettingRow {
    SettingRow {
        key: setting.key.name,
        value: setting.value.shown(setting.key).json(),
        origin: origin(&setting.origin),
        default: setting.key.default,
        about: setting.key.doc,
        set_for: setting.key.reach.word(),
        live: setting.key.live,
    }
}

fn origin(origin: &Origin) -> SettingOrigin {
    let (kind, name, line) = match origin {
        Origin::Default => (OriginKind::Default, None, None),
        Origin::File { path, line } => {
            (OriginKind::File, Some(path.to_string_lossy().into_owned()), Some(*line))
        }
        Origin::Spider(name) => (OriginKind::Spider, Some(name.clone()), None),
        Origin::Environment(name) => (OriginKind::Environment, Some(name.clone()), None),
        Origin::Flag(name) => (OriginKind::Flag, Some(name.clone()), None),
    };
    SettingOrigin { kind, name, line }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SettingsCheck {
    pub mistakes: Vec<Mistake>,
    /// Worth knowing, and no mistakes.
    pub remarks: Vec<String>,
    /// What is set and takes effect with the next start of a crawl.
    pub restart: Vec<SetKey>,
    /// What is set and takes effect while a crawl runs.
    pub live: Vec<SetKey>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    pub sentence: String,
    pub what_to_do: String,
}

impl From<Failure> for Mistake {
    fn from(failure: Failure) -> Mistake {
        Mistake { sentence: failure.sentence, what_to_do: failure.what_to_do }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetKey {
    pub key: String,
    /// `None`: for the collection.
    pub spider: Option<String>,
}

/// A spider's name and its own values, as the collection keeps them.
pub type SpiderSettings = (String, BTreeMap<String, String>);

/// Everything that is wrong in what a crawl of this folder would read, with these flags.
pub fn check(folder: &Path, flags: FlagValues) -> Result<SettingsCheck, Error> {
    // None where there is no collection yet.
    let spiders = match Collection::open(folder) {
        Ok(collection) => Census::open(&collection)?.spiders()?,
        Err(_) => Vec::new(),
    };
    let spiders: Vec<SpiderSettings> =
        spiders.into_iter().map(|row| (row.name, row.settings)).collect();
    Ok(check_with(folder, flags, &spiders))
}

/// The same with the spiders of a collection that is open already.
pub fn check_with(folder: &Path, flags: FlagValues, spiders: &[SpiderSettings]) -> SettingsCheck {
    let (config, mistakes) = Config::examine(folder, flags);
    let mut found = Findings { mistakes, answer: SettingsCheck::default() };
    found.look_at(&config, folder);
    found.secrets(&config);
    found.answer.remarks.extend(setup::remarks(&config));
    let is_set = |setting: &&Setting| matches!(setting.origin, Origin::File { .. });
    for setting in config.settings().iter().filter(is_set) {
        found.takes_effect(setting.key, None);
    }
    for (name, settings) in spiders {
        let spider = config.examine_spider(name, settings, &mut found.mistakes);
        found.look_at(&spider.config, folder);
        for key in settings.keys().filter_map(|name| Key::named(name)) {
            found.takes_effect(key, Some(name.clone()));
        }
    }
    found.unknown_spiders(&config, spiders);
    let mistakes = found.mistakes.into_iter().map(Mistake::from).collect();
    SettingsCheck { mistakes, ..found.answer }
}

struct Findings {
    mistakes: Vec<Failure>,
    /// All but the mistakes.
    answer: SettingsCheck,
}

impl Findings {
    /// What a crawl would make of the values. A mistake of the base is not repeated for each
    /// spider.
    fn look_at(&mut self, config: &Config, folder: &Path) {
        for mistake in setup::mistakes(config, folder) {
            if !self.mistakes.contains(&mistake) {
                self.mistakes.push(mistake);
            }
        }
    }

    fn secrets(&mut self, config: &Config) {
        let credentials = config.credentials.iter().map(|one| one.authorization().map(drop));
        let logins = config.logins.iter().map(|login| login.values().map(drop));
        let webhooks = config.webhooks.iter().map(|webhook| webhook.key().map(drop));
        let all = credentials.chain(logins).chain(webhooks);
        self.mistakes.extend(all.filter_map(Result::err));
    }

    fn takes_effect(&mut self, key: &Key, spider: Option<String>) {
        let place = if key.live { &mut self.answer.live } else { &mut self.answer.restart };
        place.push(SetKey { key: key.name.to_owned(), spider });
    }

    /// Only where the spiders are known.
    fn unknown_spiders(&mut self, config: &Config, spiders: &[SpiderSettings]) {
        if spiders.is_empty() {
            return;
        }
        let credentials =
            config.credentials.iter().filter_map(|c| Some((c.spider.as_deref()?, c.at.line)));
        let logins = config.logins.iter().filter_map(|l| Some((l.spider.as_deref()?, l.at.line)));
        let webhooks =
            config.webhooks.iter().filter_map(|w| Some((w.spider.as_deref()?, w.at.line)));
        let tables = credentials.chain(logins).chain(webhooks);
        for (name, line) in config.overrides.spiders().chain(tables) {
            if !spiders.iter().any(|(known, _)| known == name) {
                let remark = format!("line {line} names spider {name}, and there is none");
                self.answer.remarks.push(remark);
            }
        }
    }
}
