//! The configuration as typed values, one struct per section: what the rest of the program reads.
//!
//! Fields are named as the keys are; what each means is said in the table of keys. [`Values`] hands
//! every value out exactly once, so a key that no field takes, or a field without a key, cannot be.

use std::{collections::BTreeMap, time::Duration};

use seeder::{NoticeRules, Sitemaps};
use store::warc::Compression;

use super::value::Value;

#[derive(Clone, Debug, PartialEq)]
pub struct Crawl {
    pub pages: Option<u64>,
    pub site_pages: Option<u64>,
    pub domain_pages: Option<u64>,
    pub bytes: Option<u64>,
    pub site_bytes: Option<u64>,
    pub sites: Option<u64>,
    /// Crawled at the same time.
    pub active_sites: usize,
    pub depth: Option<u16>,
    pub depth_dynamic: Option<u16>,
    /// `crawl.for`.
    pub time: Option<Duration>,
    pub site_time: Option<Duration>,
    pub site_time_per_day: Option<Duration>,
    pub scope: Scope,
    pub outside: u8,
    pub expansion: Expansion,
    /// Rules of the seeder's language, checked.
    pub rules: Vec<String>,
    /// Groups and extensions of the seeder's, checked.
    pub log_extensions: Vec<String>,
    pub dynamic_extensions: Vec<String>,
    /// A path, relative to the folder of `harvest.toml`.
    pub filter: Option<String>,
    pub external: External,
    pub discovered_urls: u64,
    pub ports: Vec<u16>,
    pub follow_nofollow: bool,
    pub redirects: u8,
    pub requisites: bool,
    /// `crawl.sitemaps`, `crawl.feeds`, `crawl.robots_rdf`.
    pub notices: NoticeRules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Site,
    Domain,
    Prefix,
    Listed,
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expansion {
    After,
    Mixed,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum External {
    Ignore,
    Home,
    Deep,
    Combined,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Etiquette {
    pub delay: Duration,
    pub big_site_delay: Option<Duration>,
    pub big_site_pages: u64,
    pub response_factor: f64,
    pub address_share: f64,
    pub connections: usize,
    pub max_fetches: usize,
    pub crawl_delay_max: Duration,
    pub backoff_first: Duration,
    pub backoff_max: Duration,
    pub contact: Option<String>,
    pub user_agent: Option<String>,
    /// `Name: value`, checked.
    pub headers: Vec<String>,
}

impl Etiquette {
    /// The user says it is their own site: no pause of any kind (DESIGN: `--delay 0`).
    pub fn no_pauses(&self) -> bool {
        self.delay.is_zero()
    }

    /// The name robots.txt files know us by: the leading letters of the User-Agent line (RFC 9309, 2.2.1).
    pub fn robots_token(&self) -> String {
        let line = self.user_agent.as_deref().unwrap_or_default();
        let letter = |c: &char| c.is_ascii_alphabetic() || matches!(c, '_' | '-');
        let token: String = line.chars().take_while(letter).collect();
        if token.is_empty() { "harvestman".to_owned() } else { token }
    }

    /// The User-Agent line of every request.
    pub fn user_agent_line(&self) -> String {
        let program = concat!("harvestman/", env!("CARGO_PKG_VERSION"));
        match (&self.user_agent, &self.contact) {
            (Some(line), _) => line.clone(),
            (None, Some(contact)) => format!("{program} (+{contact})"),
            (None, None) => program.to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    pub timeout: Duration,
    pub connect_timeout: Duration,
    pub tls_timeout: Duration,
    pub first_byte_timeout: Duration,
    pub idle_timeout: Duration,
    pub body_bytes_max: u64,
    pub requisite_bytes_max: u64,
    pub compression_ratio_max: u32,
    pub media_types: Vec<String>,
    pub accept_encoding: Vec<String>,
    pub proxy: Option<String>,
    /// `PATTERN=ADDRESS`, checked.
    pub resolve: Vec<String>,
    /// Addresses and ranges, checked.
    pub allow_address: Vec<String>,
    pub allow_ports: Vec<u16>,
    /// Checked.
    pub name_servers: Vec<String>,
    /// Paths, relative to the folder of `harvest.toml`.
    pub extra_roots: Vec<String>,
    pub insecure_tls: bool,
    pub cookies: Cookies,
    pub http2: bool,
    /// Paths, relative to the folder of `harvest.toml`.
    pub client_certificate: Option<String>,
    pub client_key: Option<String>,
    /// Checked.
    pub client_certificate_origins: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cookies {
    Off,
    On,
    /// On, beginning with those of this file; relative to the folder of `harvest.toml`.
    File(String),
}

impl Cookies {
    pub fn are_kept(&self) -> bool {
        *self != Cookies::Off
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Url {
    pub bytes_max: usize,
    pub form: model::NormalForm,
    /// Hosts and `*.` domains, checked.
    pub lowercase_paths: Vec<String>,
    /// `regex => replacement`, checked.
    pub rewrite: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parse {
    /// `tag/attribute`, checked.
    pub link_tags: Vec<String>,
    pub log_tags: Vec<String>,
    pub text: bool,
    pub language: bool,
    pub threads: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reject {
    pub use_default: bool,
    pub disable: Vec<String>,
    pub patterns: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    pub volume_bytes_max: u64,
    /// As they are written; relative ones begin at the folder of the collection.
    pub volume_folders: Vec<String>,
    pub compression: Compression,
    pub content_bytes_max: Option<u64>,
    /// A rule for old versions, as it is written.
    pub keep: Option<String>,
    pub versions_bytes_max: Option<u64>,
    /// Pages are kept as files too.
    pub directory: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Revisit {
    pub policy: Policy,
    pub period: Duration,
    pub objective: Objective,
    pub period_min: Duration,
    pub period_max: Duration,
    pub visits_per_day: Option<u64>,
    pub bytes_per_day: Option<u64>,
    pub requests_per_second: Option<f64>,
    pub site_share: f64,
    pub cycle: Duration,
    /// Of `frequency_on`: by the seeds, not by every page.
    pub frequency_on_seeds: bool,
    pub frequency_limit: u8,
    pub frequency_cycles: u16,
    pub children: bool,
    pub batch: u32,
    pub batch_site_max: u32,
    pub importance: f64,
    pub change: ChangeBy,
    /// CSS selectors, checked.
    pub watch: Vec<String>,
    pub ignore: Vec<String>,
}

/// What of a page must differ for it to have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeBy {
    #[default]
    Text,
    Bytes,
    Size,
}

impl ChangeBy {
    pub(super) fn named(word: &str) -> ChangeBy {
        match word {
            "bytes" => ChangeBy::Bytes,
            "size" => ChangeBy::Size,
            _ => ChangeBy::Text,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Value,
    Frequency,
    Profit,
    Fixed,
    Once,
}

impl Policy {
    pub(super) fn named(word: &str) -> Policy {
        match word {
            "frequency" => Policy::Frequency,
            "profit" => Policy::Profit,
            "fixed" => Policy::Fixed,
            "once" => Policy::Once,
            _ => Policy::Value,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    Freshness,
    Age,
    Harmonic,
}

/// Values by key name. Each is taken once; a name or kind that does not fit the table is a mistake of
/// ours and stops the program (a test takes them all).
pub(super) struct Values(pub BTreeMap<&'static str, Value>);

impl Values {
    pub fn crawl(&mut self) -> Crawl {
        Crawl {
            pages: self.count_or_none("crawl.pages"),
            site_pages: self.count_or_none("crawl.site_pages"),
            domain_pages: self.count_or_none("crawl.domain_pages"),
            bytes: self.size_or_none("crawl.bytes"),
            site_bytes: self.size_or_none("crawl.site_bytes"),
            sites: self.count_or_none("crawl.sites"),
            active_sites: narrow(self.count("crawl.active_sites")),
            depth: self.count_or_none("crawl.depth").map(narrow),
            depth_dynamic: self.count_or_none("crawl.depth_dynamic").map(narrow),
            time: self.time_or_none("crawl.for"),
            site_time: self.time_or_none("crawl.site_time"),
            site_time_per_day: self.time_or_none("crawl.site_time_per_day"),
            scope: match self.text("crawl.scope").as_str() {
                "domain" => Scope::Domain,
                "prefix" => Scope::Prefix,
                "listed" => Scope::Listed,
                "any" => Scope::Any,
                _ => Scope::Site,
            },
            outside: narrow(self.count("crawl.outside")),
            expansion: match self.text("crawl.expansion").as_str() {
                "after" => Expansion::After,
                "off" => Expansion::Off,
                _ => Expansion::Mixed,
            },
            rules: self.list("crawl.rules"),
            log_extensions: self.list("crawl.log_extensions"),
            dynamic_extensions: self.list("crawl.dynamic_extensions"),
            filter: self.text_or_none("crawl.filter"),
            external: match self.text("crawl.external").as_str() {
                "ignore" => External::Ignore,
                "home" => External::Home,
                "combined" => External::Combined,
                _ => External::Deep,
            },
            discovered_urls: self.count("crawl.discovered_urls"),
            ports: self.ports("crawl.ports"),
            follow_nofollow: self.flag("crawl.follow_nofollow"),
            redirects: narrow(self.count("crawl.redirects")),
            requisites: self.flag("crawl.requisites"),
            notices: NoticeRules {
                sitemaps: match self.text("crawl.sitemaps").as_str() {
                    "off" => Sitemaps::Off,
                    "guess" => Sitemaps::Guess,
                    _ => Sitemaps::On,
                },
                feeds: self.flag("crawl.feeds"),
                robots_rdf: self.flag("crawl.robots_rdf"),
            },
        }
    }

    pub fn etiquette(&mut self) -> Etiquette {
        Etiquette {
            delay: self.time("etiquette.delay"),
            big_site_delay: self.time_or_none("etiquette.big_site_delay"),
            big_site_pages: self.count("etiquette.big_site_pages"),
            response_factor: self.factor("etiquette.response_factor"),
            address_share: self.factor("etiquette.address_share"),
            connections: narrow(self.count("etiquette.connections")),
            max_fetches: narrow(self.count("etiquette.max_fetches")),
            crawl_delay_max: self.time("etiquette.crawl_delay_max"),
            backoff_first: self.time("etiquette.backoff_first"),
            backoff_max: self.time("etiquette.backoff_max"),
            contact: self.text_or_none("etiquette.contact"),
            user_agent: self.text_or_none("etiquette.user_agent"),
            headers: self.list("etiquette.headers"),
        }
    }

    pub fn fetch(&mut self) -> Fetch {
        Fetch {
            timeout: self.time("fetch.timeout"),
            connect_timeout: self.time("fetch.connect_timeout"),
            tls_timeout: self.time("fetch.tls_timeout"),
            first_byte_timeout: self.time("fetch.first_byte_timeout"),
            idle_timeout: self.time("fetch.idle_timeout"),
            body_bytes_max: self.size("fetch.body_bytes_max"),
            requisite_bytes_max: self.size("fetch.requisite_bytes_max"),
            compression_ratio_max: narrow(self.count("fetch.compression_ratio_max")),
            media_types: self.list("fetch.media_types"),
            accept_encoding: self.list("fetch.accept_encoding"),
            proxy: self.text_or_none("fetch.proxy"),
            resolve: self.list("fetch.resolve"),
            allow_address: self.list("fetch.allow_address"),
            allow_ports: self.ports("fetch.allow_ports"),
            name_servers: self.list("fetch.name_servers"),
            extra_roots: self.list("fetch.extra_roots"),
            insecure_tls: self.flag("fetch.insecure_tls"),
            cookies: match self.text("fetch.cookies") {
                word if word == "off" => Cookies::Off,
                word if word == "on" => Cookies::On,
                file => Cookies::File(file),
            },
            http2: self.flag("fetch.http2"),
            client_certificate: self.text_or_none("fetch.client_certificate"),
            client_key: self.text_or_none("fetch.client_key"),
            client_certificate_origins: self.list("fetch.client_certificate_origins"),
        }
    }

    pub fn url(&mut self) -> Url {
        Url {
            bytes_max: narrow(self.count("url.bytes_max")),
            form: model::NormalForm {
                index_names: self.list("url.index_names"),
                sort_query: self.flag("url.sort_query"),
                strip_query: self.list("url.strip_query"),
            },
            lowercase_paths: self.list("url.lowercase_paths"),
            rewrite: self.list("url.rewrite"),
        }
    }

    pub fn parse(&mut self) -> Parse {
        Parse {
            link_tags: self.list("parse.link_tags"),
            log_tags: self.list("parse.log_tags"),
            text: self.flag("parse.text"),
            language: self.flag("parse.language"),
            threads: self.count_or_none("parse.threads").map(narrow),
        }
    }

    pub fn reject(&mut self) -> Reject {
        Reject {
            use_default: self.flag("reject.use_default"),
            disable: self.list("reject.disable"),
            patterns: self.list("reject.patterns"),
        }
    }

    pub fn store(&mut self) -> Store {
        Store {
            volume_bytes_max: self.size("store.volume_bytes_max"),
            volume_folders: self.list("store.volume_folders"),
            compression: match self.text("store.compression").as_str() {
                "zstd" => Compression::Zstd,
                _ => Compression::Gzip,
            },
            content_bytes_max: self.size_or_none("store.content_bytes_max"),
            keep: self.text_or_none("store.keep"),
            versions_bytes_max: self.size_or_none("store.versions_bytes_max"),
            directory: self.flag("store.directory"),
        }
    }

    pub fn revisit(&mut self) -> Revisit {
        Revisit {
            policy: Policy::named(&self.text("revisit.policy")),
            period: self.time("revisit.period"),
            objective: match self.text("revisit.objective").as_str() {
                "age" => Objective::Age,
                "harmonic" => Objective::Harmonic,
                _ => Objective::Freshness,
            },
            period_min: self.time("revisit.period_min"),
            period_max: self.time("revisit.period_max"),
            visits_per_day: self.count_or_none("revisit.visits_per_day"),
            bytes_per_day: self.size_or_none("revisit.bytes_per_day"),
            requests_per_second: self.factor_or_none("revisit.requests_per_second"),
            site_share: self.factor("revisit.site_share"),
            cycle: self.time("revisit.cycle"),
            frequency_on_seeds: self.text("revisit.frequency_on") == "seeds",
            frequency_limit: narrow(self.count("revisit.frequency_limit")),
            frequency_cycles: narrow(self.count("revisit.frequency_cycles")),
            children: self.flag("revisit.children"),
            batch: narrow(self.count("revisit.batch")),
            batch_site_max: narrow(self.count("revisit.batch_site_max")),
            importance: self.factor("revisit.importance"),
            change: ChangeBy::named(&self.text("revisit.change")),
            watch: self.list("revisit.watch"),
            ignore: self.list("revisit.ignore"),
        }
    }

    fn take(&mut self, name: &'static str) -> Value {
        self.0.remove(name).unwrap_or_else(|| panic!("{name} is not in the table of keys"))
    }

    fn count_or_none(&mut self, name: &'static str) -> Option<u64> {
        match self.take(name) {
            Value::None => None,
            Value::Count(n) => Some(n),
            other => unfit(name, &other),
        }
    }

    pub(super) fn count(&mut self, name: &'static str) -> u64 {
        match self.take(name) {
            Value::Count(n) => n,
            other => unfit(name, &other),
        }
    }

    fn size_or_none(&mut self, name: &'static str) -> Option<u64> {
        match self.take(name) {
            Value::None => None,
            Value::Size(bytes) => Some(bytes),
            other => unfit(name, &other),
        }
    }

    fn size(&mut self, name: &'static str) -> u64 {
        match self.take(name) {
            Value::Size(bytes) => bytes,
            other => unfit(name, &other),
        }
    }

    fn time_or_none(&mut self, name: &'static str) -> Option<Duration> {
        match self.take(name) {
            Value::None => None,
            Value::Time(time) => Some(time),
            other => unfit(name, &other),
        }
    }

    pub(super) fn time(&mut self, name: &'static str) -> Duration {
        match self.take(name) {
            Value::Time(time) => time,
            other => unfit(name, &other),
        }
    }

    fn factor_or_none(&mut self, name: &'static str) -> Option<f64> {
        match self.take(name) {
            Value::None => None,
            Value::Factor(factor) => Some(factor),
            other => unfit(name, &other),
        }
    }

    fn factor(&mut self, name: &'static str) -> f64 {
        match self.take(name) {
            Value::Factor(factor) => factor,
            other => unfit(name, &other),
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        match self.take(name) {
            Value::Flag(yes) => yes,
            other => unfit(name, &other),
        }
    }

    pub(super) fn text(&mut self, name: &'static str) -> String {
        match self.take(name) {
            Value::Text(text) => text,
            other => unfit(name, &other),
        }
    }

    fn text_or_none(&mut self, name: &'static str) -> Option<String> {
        match self.take(name) {
            Value::None => None,
            Value::Text(text) => Some(text),
            other => unfit(name, &other),
        }
    }

    pub(super) fn list(&mut self, name: &'static str) -> Vec<String> {
        match self.take(name) {
            Value::List(items) => items,
            other => unfit(name, &other),
        }
    }

    fn ports(&mut self, name: &'static str) -> Vec<u16> {
        self.list(name).iter().filter_map(|port| port.parse().ok()).collect()
    }
}

fn unfit(name: &str, value: &Value) -> ! {
    panic!("{name} was read as {value:?}, which its field does not take")
}

/// The table's bounds fit the field; where a machine's `usize` is smaller, its largest will do.
pub(super) fn narrow<T: TryFrom<u64> + Bounded>(number: u64) -> T {
    T::try_from(number).unwrap_or(T::LARGEST)
}

pub(super) trait Bounded {
    const LARGEST: Self;
}

impl Bounded for u8 {
    const LARGEST: u8 = u8::MAX;
}

impl Bounded for u16 {
    const LARGEST: u16 = u16::MAX;
}

impl Bounded for u32 {
    const LARGEST: u32 = u32::MAX;
}

impl Bounded for usize {
    const LARGEST: usize = usize::MAX;
}
