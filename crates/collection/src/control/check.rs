//! What is wrong with a command, found before anything is written; and the command as the collection writes it.

use std::{collections::BTreeMap, path::Path, time::Duration};

use config::{
    Config,
    setup::{self, network},
};
use harvester::clock::RealClock;
use model::{Clock, CrawlUrl, UrlTraps};
use seeder::{Block, Blocks, Seed, UrlForm, parse_seed};
use store::{
    census::Census,
    collection::Collection,
    control::{Command, RefusedSeed, SeedLine, SpiderChange},
    replicas::ReplicaChange,
    spiders::check_name,
};

use super::{SeedRules, spider_named};
use crate::{
    Error,
    explain::{Question, Verdict, explain},
    sites,
};

type Settings = BTreeMap<String, String>;

pub struct Checked {
    pub command: Command,
    /// Seeds of it that are not taken.
    pub refused: Vec<RefusedSeed>,
}

pub fn check(collection: &Collection, command: Command) -> Result<Checked, Error> {
    let command = match command {
        Command::Seed { urls, seeds, spider } => {
            return check_seeds(collection, &urls, &seeds, spider);
        }
        Command::Spider { name, change } => {
            check_change(collection, &name, &change)?;
            Command::Spider { name, change }
        }
        Command::Block { patterns, reason, remove } => {
            let form = form(collection.dir())?;
            let read = |text: &String| read_block(text, &form);
            let patterns = patterns.iter().map(read).collect::<Result<_, _>>()?;
            Command::Block { patterns, reason, remove }
        }
        Command::LiftQuarantine { what } => Command::LiftQuarantine { what: page_or_site(&what)? },
        Command::LiftTrap { site, pattern } => {
            let site = known_trap(collection, &site, pattern.as_deref())?;
            Command::LiftTrap { site, pattern }
        }
        Command::WatchTrap { site, pattern } => {
            let site = lifted_trap(collection, &site, pattern.as_deref())?;
            Command::WatchTrap { site, pattern }
        }
        Command::Replicas { change: ReplicaChange::Lift { site } } => {
            let site = sites::known(&Census::open(collection)?, &site)?;
            Command::Replicas { change: ReplicaChange::Lift { site } }
        }
        Command::VisitNow { url, due } => {
            let url = known_as(collection, &url)?;
            check_visit(collection, &url)?;
            Command::VisitNow { url, due }
        }
        command => command,
    };
    Ok(Checked { command, refused: Vec::new() })
}

fn check_seeds(
    collection: &Collection,
    urls: &[String],
    lines: &[SeedLine],
    spider: Option<String>,
) -> Result<Checked, Error> {
    let rules = SeedRules::of(collection.dir(), spider.as_deref())?;
    let read =
        |text: &String| parse_seed(text).map_err(|why| Error::NoSeed { given: text.clone(), why });
    let mut given = Vec::with_capacity(urls.len() + lines.len());
    for text in urls {
        given.push(Seed::from(read(text)?));
    }
    for line in lines {
        let (level, period) = (line.level, line.period_ms.map(Duration::from_millis));
        given.push(Seed { url: read(&line.url)?, level, period });
    }
    let (mut seeds, mut refused) = (Vec::new(), Vec::new());
    for seed in &given {
        match rules.judge(&rules.in_form(seed)) {
            Ok(line) => seeds.push(line),
            Err(why) => refused.push(why),
        }
    }
    Ok(Checked { command: Command::Seed { urls: Vec::new(), seeds, spider }, refused })
}

fn check_change(collection: &Collection, name: &str, change: &SpiderChange) -> Result<(), Error> {
    let rows = Census::open(collection)?.spiders()?;
    match change {
        SpiderChange::Add { .. } if rows.iter().any(|row| row.name == name) => {
            Err(Error::SpiderExists { name: name.to_owned() })
        }
        SpiderChange::Add { settings } => check_spider(collection.dir(), name, settings),
        SpiderChange::Edit { changes } => {
            let settings = edited(spider_named(rows, name)?.settings, name, changes)?;
            check_spider(collection.dir(), name, &settings)
        }
        SpiderChange::Pause { .. } | SpiderChange::Resume | SpiderChange::Remove => {
            spider_named(rows, name).map(drop)
        }
    }
}

fn edited(
    mut settings: Settings,
    name: &str,
    changes: &BTreeMap<String, Option<String>>,
) -> Result<Settings, Error> {
    if changes.is_empty() {
        return Err(Error::NothingToChange);
    }
    for (key, value) in changes {
        match value {
            Some(value) => drop(settings.insert(key.clone(), value.clone())),
            None if settings.remove(key).is_none() => {
                let (spider, key) = (name.to_owned(), key.clone());
                return Err(Error::SettingUnknown { spider, key });
            }
            None => {}
        }
    }
    Ok(settings)
}

/// Whether a spider can be called so and have these settings: everything in them that can be wrong is made once.
pub fn check_spider(folder: &Path, name: &str, settings: &Settings) -> Result<(), Error> {
    check_name(name)?;
    let config = Config::load(folder, Vec::new())?.for_spider(name, settings)?.config;
    setup::spider_rules(&config, folder, name, &Blocks::default())?;
    setup::gather(&config)?;
    network::cookies(&config, folder)?;
    network::logins(&config, name)?;
    network::profile(&config, folder, name)?;
    Ok(())
}

/// The form in which the collection writes URLs.
pub fn form(folder: &Path) -> Result<UrlForm, Error> {
    Ok(setup::form(&Config::load(folder, Vec::new())?)?)
}

/// A block as the list has it.
pub fn read_block(text: &str, form: &UrlForm) -> Result<String, Error> {
    let block = Block::parse(text);
    let block = block.map_err(|why| Error::NoBlock { given: text.to_owned(), why })?;
    Ok(block.with_form(form).to_string())
}

/// A site as it stands in the collection, else a URL.
fn page_or_site(text: &str) -> Result<String, Error> {
    match text.contains('/') {
        true => Ok(parse_url(text)?.as_str().to_owned()),
        false => Ok(text.to_lowercase()),
    }
}

fn parse_url(text: &str) -> Result<CrawlUrl, Error> {
    parse_seed(text).map_err(|why| Error::NoUrl { given: text.to_owned(), why })
}

/// A URL as the collection writes it. It may have been copied from there, where it is written that way already:
/// rewrites are made once. A mistake in the settings keeps nobody from asking for a visit.
fn known_as(collection: &Collection, text: &str) -> Result<String, Error> {
    let typed = parse_url(text)?;
    let census = Census::open(collection)?;
    let (config, _) = Config::examine(collection.dir(), Vec::new());
    let url = setup::form(&config)?.apply(&typed);
    let as_typed = census.page(&url)?.is_none() && census.page(&typed)?.is_some();
    Ok(if as_typed { typed } else { url }.as_str().to_owned())
}

/// What a rule keeps out is not visited, however due it is. A robots.txt that cannot be read is asked for again.
fn check_visit(collection: &Collection, url: &str) -> Result<(), Error> {
    let url = parse_url(url)?;
    let census = Census::open(collection)?;
    if census.page(&url)?.is_none() {
        return Ok(());
    }
    let (config, mistakes) = Config::examine(collection.dir(), Vec::new());
    let question = Question {
        url: &url,
        spider: None,
        folder: collection.dir(),
        config: &config,
        mistakes,
        now: RealClock::new().now(),
    };
    let explanation = explain(&census, &question)?;
    match &explanation.verdict {
        Verdict::Refused { rule } if !explanation.is_refused_for_now() => {
            Err(Error::NotVisited { url: url.as_str().to_owned(), rule: rule.clone() })
        }
        _ => Ok(()),
    }
}

/// What is to be lifted must be there: a mistyped name lifts nothing, and who lifts what is stopped does not mean to
/// leave alone for ever a site on which nothing is.
fn known_trap(collection: &Collection, site: &str, pattern: Option<&str>) -> Result<String, Error> {
    let census = Census::open(collection)?;
    let site = sites::known(&census, site)?;
    let traps = census.site_traps(&site)?;
    let known = traps.names();
    let is_known = match pattern {
        None => !known.is_empty(),
        Some(pattern) => traps.has(pattern),
    };
    match is_known {
        true => Ok(site),
        false => {
            let (pattern, lifted) =
                (pattern.map(str::to_owned), traps.urls.is_lifted(UrlTraps::SITE));
            let known = known.iter().map(ToString::to_string).collect();
            Err(Error::TrapUnknown { site, pattern, known, lifted })
        }
    }
}

fn lifted_trap(
    collection: &Collection,
    site: &str,
    pattern: Option<&str>,
) -> Result<String, Error> {
    let census = Census::open(collection)?;
    let site = sites::known(&census, site)?;
    let lifted = census.site_traps(&site)?.urls.lifted;
    match lifted.iter().any(|name| pattern.is_none_or(|pattern| pattern == name)) {
        true => Ok(site),
        false => {
            let pattern = pattern.map(str::to_owned);
            Err(Error::NotLifted { site, pattern, lifted })
        }
    }
}
