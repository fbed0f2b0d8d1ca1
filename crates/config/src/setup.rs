//! From configuration to the parts of a crawl: the one place that knows both.
//!
//! What can be wrong with a value is found here before anything on disk is touched.

use std::{
    fs::File,
    io::{self, Read},
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use gatherer::{GatherOptions, LinkTags, Selection};
use harvester::{
    http::{Cidr, DnsOptions, HttpOptions, Override, Overrides},
    workbench,
};
use model::{FetchLimits, limits};
use seeder::{
    Blocks, Depths, Expansion, ExternalPolicy, Folds, Forgotten, LogList, Marking, RejectList,
    Rewrite, RuleList, RuleListError, SCRIPT_BYTES_MAX, Scope, Script, SpiderRules, UrlForm,
    Wildcards, parse_host_pattern,
    traps::{SessionNames, TrapRules},
};
use store::{
    tombstones::{Tombstone, TombstoneKey},
    warc::WarcOptions,
};

mod change;
mod depths;
mod keep;
pub mod network;
pub mod returns;

pub use self::{change::ChangeCriteria, keep::keep};
use crate as config;
use crate::{Config, check, failure::Failure, setup::depths::OverriddenDepths};

/// Everything that all spiders of a crawl share and that comes from the configuration alone.
pub struct Setup {
    pub blocks: Blocks,
    pub workbench: workbench::Options,
    pub gather_threads: usize,
    pub robots_limits: FetchLimits,
    pub http: HttpOptions,
    pub dns: DnsOptions,
    pub warc: WarcOptions,
}

impl Setup {
    /// `folder`: where relative paths of the configuration start.
    pub fn new(config: &Config, folder: &Path) -> Result<Setup, Failure> {
        let overrides = Arc::new(overrides(config)?);
        let blocks = Blocks::default();
        let http = HttpOptions {
            gate: Arc::new(blocks.clone()),
            ..http(config, folder, overrides.clone())?
        };
        Ok(Setup {
            blocks,
            workbench: workbench_options(config),
            gather_threads: config.parse.threads.unwrap_or_else(default_threads),
            robots_limits: FetchLimits {
                body_bytes_max: limits::ROBOTS_BYTES_MAX,
                media_types: vec!["*/*".to_owned()],
                ..fetch_limits(config)
            },
            http,
            dns: DnsOptions { overrides, servers: name_servers(config), ..DnsOptions::default() },
            warc: warc(config),
        })
    }
}

/// Everything that would keep a crawl from starting, part by part: not only the first.
pub fn mistakes(config: &Config, folder: &Path) -> Vec<Failure> {
    let network = || network::check(&http(config, folder, Arc::new(overrides(config)?))?, config);
    [
        rule_list(config).map(drop),
        script(config, folder).map(drop),
        form(config).map(drop),
        reject(config).map(drop),
        gather(config).map(drop),
        network(),
        network::certificate(config, folder).map(drop),
        network::cookies(config, folder).map(drop),
    ]
    .into_iter()
    .filter_map(Result::err)
    .collect()
}

/// What is worth knowing of `crawl.rules` that is no mistake.
pub fn remarks(config: &Config) -> Vec<String> {
    rule_list(config).map(|list| list.remarks()).unwrap_or_default()
}

/// What the collection was told to forget is refused from now on.
pub fn keep_out_forgotten(blocks: &Blocks, stones: Option<(TombstoneKey, Vec<Tombstone>)>) {
    let Some((key, stones)) = stones else { return };
    let mut forgotten = Forgotten::new(key);
    stones.iter().for_each(|stone| forgotten.add(&stone.kind, stone.hash));
    blocks.set_forgotten(forgotten);
}

/// The rules of the spider of this name, with the overrides that are for it.
pub fn spider_rules(
    config: &Config,
    folder: &Path,
    name: &str,
    blocks: &Blocks,
) -> Result<SpiderRules, Failure> {
    let (overrides, spider) = (config.overrides.clone(), name.to_owned());
    let depths = || Arc::new(OverriddenDepths { overrides, spider }) as Arc<dyn Depths>;
    Ok(SpiderRules {
        blocks: blocks.clone(),
        other_depths: (!config.overrides.is_empty()).then(depths),
        ..rules(config, folder)?
    })
}

/// `folder`: where the path of a script starts.
pub fn rules(config: &Config, folder: &Path) -> Result<SpiderRules, Failure> {
    let crawl = &config.crawl;
    Ok(SpiderRules {
        blocks: Blocks::default(),
        folds: Folds::default(),
        wildcards: Wildcards::default(),
        list: rule_list(config)?,
        scope: match crawl.scope {
            config::Scope::Site => Scope::Site,
            config::Scope::Domain => Scope::Domain,
            config::Scope::Prefix => Scope::Prefix,
            config::Scope::Listed => Scope::Listed,
            config::Scope::Any => Scope::Any,
        },
        outside_max: crawl.outside,
        expansion: match crawl.expansion {
            config::Expansion::After => Expansion::After,
            config::Expansion::Mixed => Expansion::Mixed,
            config::Expansion::Off => Expansion::Off,
        },
        logged: LogList::parse(&crawl.log_extensions).map_err(|what| {
            let value = crawl.log_extensions.join(", ");
            config.refuse("crawl.log_extensions", &value, what, "name groups, or .extensions")
        })?,
        marking: Marking::new(&crawl.dynamic_extensions),
        external: match crawl.external {
            config::External::Ignore => ExternalPolicy::Ignore,
            config::External::Home => ExternalPolicy::Home,
            config::External::Deep => ExternalPolicy::Deep,
            config::External::Combined => ExternalPolicy::Combined,
        },
        depth_max: crawl.depth,
        depth_dynamic_max: crawl.depth_dynamic,
        other_depths: None,
        url_bytes_max: config.url.bytes_max,
        redirects_max: crawl.redirects,
        reject: reject(config)?,
        filter: script(config, folder)?,
        form: form(config)?,
        follow_nofollow: crawl.follow_nofollow,
        ports: crawl.ports.clone(),
        allow_ports: config.fetch.allow_ports.clone(),
        discovered_urls_max: crawl.discovered_urls,
        near_duplicates_max: config.hazards.near_duplicates,
        notices: crawl.notices,
        traps: traps(config),
    })
}

fn traps(config: &Config) -> TrapRules {
    let hazards = &config.hazards;
    TrapRules {
        on: hazards.traps,
        duplicates: hazards.duplicates,
        site_duplicates: hazards.site_duplicates,
        repeated_segments: hazards.repeated_segments,
        counter: hazards.counter_pages,
        pattern_urls: hazards.pattern_urls,
        soft_404: hazards.soft_404,
        slow_time: hazards.slow_time,
    }
}

fn rule_list(config: &Config) -> Result<RuleList, Failure> {
    let rules = &config.crawl.rules;
    RuleList::parse(rules).map_err(|error| {
        let text = match &error {
            RuleListError::Rule { text, .. } => text.clone(),
            RuleListError::TooMany => format!("{} rules", rules.len()),
        };
        let instead = "write fewer rules: one can name many hosts, extensions or parameters";
        config.refuse("crawl.rules", &text, error.to_string(), instead)
    })
}

fn script(config: &Config, folder: &Path) -> Result<Option<Arc<Script>>, Failure> {
    let Some(name) = &config.crawl.filter else { return Ok(None) };
    let refuse = |what: String, instead: &str| config.refuse("crawl.filter", name, what, instead);
    let source = read_script(&folder.join(name)).map_err(|error| {
        refuse(format!("it cannot be read: {error}"), "name a script next to harvest.toml")
    })?;
    let script = Script::compile(name, &source).map_err(|error| {
        refuse(error.to_string(), "mend the script: docs/configuration.md shows one")
    })?;
    Ok(Some(Arc::new(script)))
}

/// No more than one byte too many, so that the compiler can say that it is too large.
fn read_script(path: &Path) -> io::Result<String> {
    let mut source = String::new();
    File::open(path)?.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_string(&mut source)?;
    Ok(source)
}

/// How URLs are written before they are judged or looked up.
pub fn form(config: &Config) -> Result<UrlForm, Failure> {
    let refuse = |key: &str, text: &str, what: String| {
        config.refuse(key, text, what, "docs/configuration.md shows how it is written")
    };
    let rewrite =
        |text: &String| Rewrite::parse(text).map_err(|what| refuse("url.rewrite", text, what));
    let host = |text: &String| {
        parse_host_pattern(text).map_err(|what| refuse("url.lowercase_paths", text, what))
    };
    let url = &config.url;
    let form = UrlForm::new(
        url.form.clone(),
        url.lowercase_paths.iter().map(host).collect::<Result<_, _>>()?,
        url.rewrite.iter().map(rewrite).collect::<Result<_, _>>()?,
    );
    Ok(form.mending(SessionNames::new(&config.hazards.session_names)))
}

fn reject(config: &Config) -> Result<RejectList, Failure> {
    let wanted = &config.reject;
    let list = if wanted.use_default { RejectList::default() } else { RejectList::none() };
    let list = list.without(&wanted.disable).map_err(|error| {
        let value = wanted.disable.join(", ");
        config.refuse("reject.disable", &value, error.to_string(), "name rules of the shipped list")
    })?;
    list.with_patterns(&wanted.patterns).map_err(|error| {
        let value = wanted.patterns.join(", ");
        config.refuse("reject.patterns", &value, error.to_string(), "write a regular expression")
    })
}

fn workbench_options(config: &Config) -> workbench::Options {
    let etiquette = &config.etiquette;
    let usual = workbench::Options::default().pause;
    let pause = if etiquette.no_pauses() { usual } else { etiquette.delay };
    workbench::Options {
        pause: etiquette.delay,
        token: config.etiquette.robots_token(),
        pause_big: etiquette.big_site_delay,
        big_site_pages: etiquette.big_site_pages,
        response_factor: etiquette.response_factor,
        crawl_delay_max: etiquette.crawl_delay_max,
        backoff_first: etiquette.backoff_first,
        backoff_max: etiquette.backoff_max,
        // Where the base wants no pauses, spiders and sites with a delay of their own still do.
        address_pause: Some(pause.mul_f64(etiquette.address_share)),
        connections: etiquette.connections,
        fetches_max: etiquette.max_fetches,
        site_pages_max: config.crawl.site_pages,
        pages_max: config.crawl.pages,
        ..workbench::Options::default()
    }
}

/// How answers are read.
pub fn gather(config: &Config) -> Result<GatherOptions, Failure> {
    let (tags, logged) = (&config.parse.link_tags, &config.parse.log_tags);
    let refuse = |key, tags: &[String], what| {
        config.refuse(key, &tags.join(", "), what, "write tag/attribute, as a/href")
    };
    // What is only logged is not followed, even where it is by default.
    let followed: Vec<&String> = tags.iter().filter(|tag| !logged.contains(tag)).collect();
    let link_tags =
        LinkTags::parse(&followed).map_err(|what| refuse("parse.link_tags", tags, what))?;
    let log_tags =
        LinkTags::names(logged).map_err(|what| refuse("parse.log_tags", logged, what))?;
    Ok(GatherOptions {
        media_types: config.fetch.media_types.clone(),
        link_tags,
        log_tags,
        url_bytes_max: config.url.bytes_max,
        agent: config.etiquette.robots_token(),
        text: config.parse.text,
        language: config.parse.language,
        requisites: config.crawl.requisites,
        selection: selection(config)?,
        ..GatherOptions::default()
    })
}

/// What of a page's text tells of changes. Each selector was read before; together they may be too many.
fn selection(config: &Config) -> Result<Option<Arc<Selection>>, Failure> {
    for (key, list) in
        [("revisit.watch", &config.revisit.watch), ("revisit.ignore", &config.revisit.ignore)]
    {
        Selection::new(list, &[])
            .map_err(|what| config.refuse(key, &list.join(", "), what, "write fewer selectors"))?;
    }
    Ok(ChangeCriteria::new(config).selection())
}

pub fn fetch_limits(config: &Config) -> FetchLimits {
    let fetch = &config.fetch;
    FetchLimits {
        body_bytes_max: fetch.body_bytes_max,
        head_bytes_max: limits::HEAD_BYTES_MAX,
        connect: fetch.connect_timeout,
        tls: fetch.tls_timeout,
        first_byte: fetch.first_byte_timeout,
        idle: fetch.idle_timeout,
        total: fetch.timeout,
        media_types: fetch.media_types.clone(),
        ratio_max: fetch.compression_ratio_max,
        wire_bytes_max: None,
    }
}

/// How requests show themselves and get in.
fn http(config: &Config, folder: &Path, overrides: Arc<Overrides>) -> Result<HttpOptions, Failure> {
    let (etiquette, fetch) = (&config.etiquette, &config.fetch);
    Ok(HttpOptions {
        extra_roots: fetch
            .extra_roots
            .iter()
            .map(|path| folder.join(path))
            .collect::<Vec<PathBuf>>(),
        accept_invalid_certificates: fetch.insecure_tls,
        allow: allowed(config)?,
        allow_ports: fetch.allow_ports.clone(),
        overrides,
        // A site in hand keeps its connection for its next visit.
        idle_max: config.crawl.active_sites.clamp(64, 4_096),
        idle_per_origin_max: etiquette.connections.max(1) + 1,
        long_bodies_bytes: limits::long_bodies_bytes(etiquette.max_fetches),
        ..HttpOptions::default()
    })
}

pub fn header(line: &str) -> (String, String) {
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    (name.trim().to_owned(), value.trim().to_owned())
}

fn allowed(config: &Config) -> Result<Vec<Cidr>, Failure> {
    let ranges = &config.fetch.allow_address;
    ranges.iter().map(|text| parsed(config, "fetch.allow_address", text)).collect()
}

fn name_servers(config: &Config) -> Vec<SocketAddr> {
    config.fetch.name_servers.iter().filter_map(|text| check::name_server_address(text)).collect()
}

fn overrides(config: &Config) -> Result<Overrides, Failure> {
    let rules = &config.fetch.resolve;
    let rules: Result<Vec<Override>, Failure> =
        rules.iter().map(|text| parsed(config, "fetch.resolve", text)).collect();
    rules.map(Overrides::new)
}

/// A text that another crate reads; its refusal gets the key, the file and the line.
pub fn parsed<T>(config: &Config, key: &str, text: &str) -> Result<T, Failure>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    let instead = match key {
        "fetch.proxy" => "write http://host:port, socks5://host:port or socks5h://host:port",
        "fetch.resolve" => "write PATTERN=ADDRESS, such as *.example=127.0.0.1",
        _ => "write an address or a range, such as 127.0.0.1 or 10.0.0.0/8",
    };
    text.parse().map_err(|error: T::Err| {
        // A proxy's text may hold a password, and the parser's sentence the text.
        let what = match key {
            "fetch.proxy" => "it is no proxy the crawler can use".to_owned(),
            _ => error.to_string(),
        };
        config.refuse(key, text, what, instead)
    })
}

fn warc(config: &Config) -> WarcOptions {
    WarcOptions {
        software: concat!("Harvestman/", env!("CARGO_PKG_VERSION")).to_owned(),
        user_agent: config.etiquette.user_agent_line(),
        operator: config.etiquette.contact.clone().unwrap_or_default(),
        volume_bytes_max: config.store.volume_bytes_max,
        compression: config.store.compression,
        ..WarcOptions::default()
    }
}

/// One core is left to fetching and writing.
fn default_threads() -> usize {
    std::thread::available_parallelism()
        .map_or(1, |cores| cores.get().saturating_sub(1).clamp(1, 8))
}
