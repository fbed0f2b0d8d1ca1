//! The settings that say which servers can be reached, and how: what failed under some may not fail under others.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::{Config, Origin};

const KEYS: [&str; 9] = [
    "fetch.allow_address",
    "fetch.proxy",
    "fetch.resolve",
    "fetch.name_servers",
    "fetch.extra_roots",
    "fetch.insecure_tls",
    "fetch.client_certificate",
    "fetch.client_key",
    "fetch.client_certificate_origins",
];

/// Of these settings: other numbers mean other settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReachFingerprint {
    pub all: u64,
    /// Without those that a command line set: a command that only reads is not given them.
    pub kept: u64,
}

impl Config {
    /// `spiders`: their names and own settings.
    pub fn reach<'a>(
        &self,
        spiders: impl IntoIterator<Item = (&'a str, &'a BTreeMap<String, String>)>,
    ) -> ReachFingerprint {
        let (mut all, mut kept) = (String::new(), String::new());
        for setting in self.settings().iter().filter(|setting| KEYS.contains(&setting.key.name)) {
            let line = format!("\n{}={:?}", setting.key.name, setting.value);
            all.push_str(&line);
            if !matches!(setting.origin, Origin::Default | Origin::Flag(_)) {
                kept.push_str(&line);
            }
        }
        for (name, settings) in spiders {
            for (key, value) in settings.iter().filter(|(key, _)| KEYS.contains(&key.as_str())) {
                let line = format!("\n{name}: {key}={value}");
                all.push_str(&line);
                kept.push_str(&line);
            }
        }
        ReachFingerprint { all: xxh3_64(all.as_bytes()), kept: xxh3_64(kept.as_bytes()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;

    #[test]
    fn only_keys_that_exist_count_and_only_those() {
        assert!(KEYS.iter().all(|key| Key::named(key).is_some()));
        let config = Config::defaults();
        let of = |key: &str| {
            let settings = [(key.to_owned(), "'x'".to_owned())].into();
            config.reach([("news", &settings)])
        };
        assert_eq!(of("crawl.pages"), config.reach([]));
        assert_ne!(of("fetch.proxy"), config.reach([]));
    }
}
