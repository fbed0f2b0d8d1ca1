//! The folder in which a batch is harvested: a collection that knows the pages of the batch and nothing else.
//!
//! Its pages are its seeds, its scope is what is listed, and it follows no redirects: what it visits is what the
//! batch names. It is made site by site, and what the batch says of itself is written down last: until that is
//! there, making it is begun anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::Path,
    time::Duration,
};

use model::{
    Candidate, Change, CheckOut, CrawlUrl, Frontier, NewPage, PageFacts, PageState, PageTerms,
    PageUpdate, Release, Settlement, SiteClock, SiteDelta, SiteKey, SiteLease, Timestamp, Visit,
};
use seeder::Block;
use serde_json::Value;
use store::{collection::Collection, frontier::SqlFrontier, spiders::DEFAULT_SPIDER};

use super::{
    file::{BatchFile, Header, LastLine, PageLine, SiteLine},
    reach::{Offline, Reach},
};
use config::{
    Config, FILE_NAME, FlagValues,
    failure::{Failure, io_advice},
    quoted,
    units::time_text,
};

/// What a batch takes along of its collection's configuration: how it behaves towards sites and shows itself to
/// them, and how much of a page it takes. Nothing that names files or passwords of the machine at home.
const MANNERS: [&str; 21] = [
    "etiquette.delay",
    "etiquette.response_factor",
    "etiquette.address_share",
    "etiquette.connections",
    "etiquette.crawl_delay_max",
    "etiquette.backoff_first",
    "etiquette.backoff_max",
    "etiquette.contact",
    "etiquette.user_agent",
    "fetch.timeout",
    "fetch.connect_timeout",
    "fetch.tls_timeout",
    "fetch.first_byte_timeout",
    "fetch.idle_timeout",
    "fetch.body_bytes_max",
    "fetch.requisite_bytes_max",
    "fetch.compression_ratio_max",
    "fetch.media_types",
    "fetch.accept_encoding",
    "fetch.cookies",
    "fetch.http2",
];

/// What makes a collection harvest its batch and nothing else, whatever else is configured.
const CLOSED: [(&str, &str); 12] = [
    ("crawl.scope", "listed"),
    ("crawl.outside", "0"),
    ("crawl.expansion", "off"),
    ("crawl.redirects", "0"),
    ("crawl.depth", "none"),
    ("crawl.requisites", "false"),
    ("crawl.sitemaps", "off"),
    ("crawl.feeds", "false"),
    ("crawl.robots_rdf", "false"),
    ("crawl.filter", "none"),
    ("reject.use_default", "false"),
    ("revisit.policy", "once"),
];

/// The manners of a configuration, as far as they are not the usual ones.
pub fn manners(config: &Config) -> BTreeMap<String, Value> {
    let usual = Config::defaults();
    let value = |config: &Config, name: &str| {
        let mut settings = config.settings().iter();
        settings.find(|setting| setting.key.name == name).map(|setting| setting.value.json())
    };
    let own = MANNERS.iter().filter_map(|name| {
        let mine = value(config, name)?;
        (Some(&mine) != value(&usual, name).as_ref()).then(|| ((*name).to_owned(), mine))
    });
    own.collect()
}

/// Flags that close the collection, over those that were typed; it ends when the leases do.
pub fn flags(typed: FlagValues, header: &Header, now: Timestamp) -> FlagValues {
    let mut flags = typed;
    let left = header.until.since(now);
    match flags.iter_mut().find(|(name, values)| *name == "crawl.for" && !values.is_empty()) {
        Some((_, values)) => {
            let asked = values.first().and_then(|text| config::units::parse_time(text).ok());
            // What cannot be read is told when the configuration is.
            if asked.is_some_and(|asked| asked > left) {
                *values = vec![time_text(left)];
            }
        }
        None => flags.push(("crawl.for", vec![time_text(left)])),
    }
    flags.extend(CLOSED.iter().map(|(name, value)| (*name, vec![(*value).to_owned()])));
    flags
}

/// The folder of the batch, made if need be; one that is there must be of the same batch.
pub fn prepare(dir: &Path, mut batch: BatchFile, now: Timestamp) -> Result<Header, Failure> {
    let header = batch.header.clone();
    if Collection::open(dir).is_ok()
        && let Some(found) = harvested(dir)?
    {
        return match found == header {
            true => Ok(header),
            false => Err(Failure::usage(
                format!("{} holds another batch", dir.display()),
                "give another folder with --out",
            )),
        };
    }
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
        && !dir.join(UNFINISHED).is_file()
    {
        return Err(Failure::usage(
            format!("{} is not empty and holds no batch", dir.display()),
            "give a new folder with --out",
        ));
    }
    let io = |error: std::io::Error| {
        Failure::fault(format!("cannot make {}: {error}", dir.display()), io_advice(error.kind()))
    };
    fs::create_dir_all(dir).map_err(io)?;
    fs::write(dir.join(UNFINISHED), "this folder is being made; give the same command again\n")
        .map_err(io)?;
    let pauses = fill(dir, &mut batch, now)?;
    fs::write(dir.join(FILE_NAME), configuration(&header, &pauses)).map_err(io)?;
    let text = serde_json::to_string(&header).expect("a header is plain data");
    Collection::open(dir)?.frontier()?.harvests_batch(&text, now)?;
    fs::remove_file(dir.join(UNFINISHED)).map_err(io)?;
    Ok(header)
}

/// Its presence says that a folder is ours and not yet whole.
const UNFINISHED: &str = "batch.unfinished";

/// What batch a folder was made for; `None` where it was made for none, or is not whole.
pub fn harvested(dir: &Path) -> Result<Option<Header>, Failure> {
    batch_of(&Collection::open(dir)?.frontier()?)
}

/// The same of a folder that is open.
pub fn batch_of(frontier: &SqlFrontier) -> Result<Option<Header>, Failure> {
    let text = frontier.harvested_batch()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// What a machine without a network has tried is to be tried again.
pub fn try_again(dir: &Path, made: Timestamp, now: Timestamp) -> Result<(Reach, Offline), Failure> {
    let collection = Collection::open(dir)?;
    let _lock = collection.lock()?;
    let mut frontier = collection.frontier()?;
    let reach = Reach::of(&frontier, made)?;
    let offline = reach.offer_again(&mut frontier, now)?;
    Ok((reach, offline))
}

/// Hosts by the pause that is kept there.
type Pauses = BTreeMap<Duration, BTreeSet<String>>;

fn fill(dir: &Path, batch: &mut BatchFile, now: Timestamp) -> Result<Pauses, Failure> {
    let collection = Collection::create(dir)?;
    let _lock = collection.lock()?;
    let mut frontier = collection.frontier()?;
    frontier.recover_leases(now)?;
    let blocks = &batch.header.blocks;
    if let Some(text) = blocks.iter().find(|text| Block::parse(text).is_err()) {
        return Err(Failure::usage(
            format!("the batch blocks {text:?}, which is not a valid block"),
            "export it again with the same version of this program",
        ));
    }
    frontier.block(blocks, "as at home", now)?;
    let (made, mut longest) = (batch.header.made, BTreeMap::<String, Duration>::new());
    while let Some((site, urls)) = batch.next_site()? {
        enter(&mut frontier, &site, &urls, made, now)?;
        let pause = longest.entry(site.key.host().to_owned()).or_default();
        *pause = site.pause.max(*pause);
    }
    let mut pauses = Pauses::new();
    for (host, pause) in longest {
        pauses.entry(pause).or_default().insert(host);
    }
    Ok(pauses)
}

fn enter(
    frontier: &mut SqlFrontier,
    site: &SiteLine,
    urls: &[CrawlUrl],
    made: Timestamp,
    now: Timestamp,
) -> Result<(), Failure> {
    let pages = || site.pages.iter().zip(urls);
    let candidates: Vec<Candidate> = pages().map(|(page, url)| candidate(page, url)).collect();
    frontier.admit(&candidates, now)?;
    let Some(lease) = frontier.check_out(&check_out(&site.key, now))?.pop() else {
        return Ok(());
    };
    let delta = SiteDelta {
        admitted: pages().map(|(page, url)| new_page(page, url, made)).collect(),
        updates: pages().filter_map(|(page, url)| update(page, url, made)).collect(),
        robots: site.robots.clone(),
        // Whoever visited it last may have done so a moment ago: the full pause is owed.
        clock: Some(SiteClock { interrupted: true, ..site.clock }),
        habit: Some(site.habit.clone()),
        ..empty(&lease)
    };
    frontier.check_in(&Settlement { now, deltas: vec![delta], ..Settlement::default() })?;
    Ok(())
}

fn empty(lease: &SiteLease) -> SiteDelta {
    let release = Release::NotBefore(Timestamp::ZERO);
    SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release)
}

fn check_out(key: &SiteKey, now: Timestamp) -> CheckOut {
    CheckOut { only: Some(vec![key.clone()]), ..CheckOut::at(now, "set-up") }
}

/// Level and redirects were judged at home.
fn terms(page: &PageLine) -> PageTerms {
    PageTerms { requisite: page.requisite, notice: page.notice, ..PageTerms::default() }
}

fn candidate(page: &PageLine, url: &CrawlUrl) -> Candidate {
    Candidate {
        url: url.clone(),
        spider: DEFAULT_SPIDER,
        level: 0,
        hops: 0,
        seed: true,
        terms: terms(page),
        referrer: None,
    }
}

/// Due since the batch was made: what is so still is still to be visited.
fn new_page(page: &PageLine, url: &CrawlUrl, made: Timestamp) -> NewPage {
    NewPage {
        url: url.clone(),
        spider: DEFAULT_SPIDER,
        level: 0,
        hops: 0,
        seed: true,
        terms: terms(page),
        due: made,
    }
}

/// The version at hand, as if it had been visited here; of a failing page, how often it failed.
fn update(page: &PageLine, url: &CrawlUrl, made: Timestamp) -> Option<PageUpdate> {
    let state = match &page.last {
        Some(_) => PageState::Fetched,
        None if page.failures > 0 => PageState::Failing,
        None => return None,
    };
    Some(PageUpdate {
        fp: url.fingerprint(),
        state,
        due: Some(made),
        failures: page.failures,
        visit: page.last.as_ref().map(visit),
        habit: None,
        children: None,
        facts: page.last.as_ref().map(|last| PageFacts {
            etag: last.etag.clone(),
            last_modified: last.last_modified.clone(),
            ..PageFacts::default()
        }),
    })
}

fn visit(last: &LastLine) -> Visit {
    Visit {
        at: last.record_date,
        status: 200,
        failure: None,
        change: Change::First,
        record: None,
        record_id: None,
        revisit: !last.whole,
        lost_before: false,
        wire_bytes: 0,
        body_bytes: last.body_bytes,
        payload_digest: last.payload_sha1,
        content_hash: last.content_hash,
        text_hash: last.text_hash,
        simhash: 0,
        latency: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

/// `harvest.toml` of the folder: the collection's manners, and where a site is to be treated otherwise.
fn configuration(header: &Header, pauses: &Pauses) -> String {
    let mut text =
        format!("# Settings of the collection that batch {} was exported from.\n", header.batch);
    let known = MANNERS.iter().filter_map(|name| Some((*name, header.manners.get(*name)?)));
    for (name, value) in known {
        let _ = writeln!(text, "{name} = {}", toml(value));
    }
    let delay = header.manners.get("etiquette.delay").and_then(Value::as_str);
    let usual = delay.and_then(|text| config::units::parse_time(text).ok());
    let usual = usual.unwrap_or_else(|| Config::defaults().etiquette.delay);
    for (pause, hosts) in pauses.iter().filter(|(pause, _)| **pause != usual) {
        let hosts: Vec<String> = hosts.iter().map(|host| quoted(&format!("host {host}"))).collect();
        let _ = write!(
            text,
            "\n[[override]]\nwhen = [{}]\netiquette.delay = \"{}\"\n",
            hosts.join(", "),
            time_text(*pause)
        );
    }
    text
}

/// Values of manners are numbers, words and lists of words.
fn toml(value: &Value) -> String {
    match value {
        Value::Null => quoted("none"),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Object(_) => quoted(""),
    }
}
