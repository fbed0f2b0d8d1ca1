//! What a command changes in the database: the same function for a crawl that runs and for a collection that rests.
//!
//! What has to be checked before (names, settings, patterns, rules for seeds) is checked by `collection::control`.

use std::time::Duration;

use model::{Candidate, CrawlUrl, Frontier, PageTerms, SpiderId, StoreError, Timestamp};

use super::{Command, Outcome, RefusedSeed, SeedLine, SpiderChange, SpiderState};
use crate::{
    frontier::{Called, Lifted, LiftedTraps, SqlFrontier},
    spiders::{DEFAULT_SPIDER, SpiderRow},
};

/// The caller holds the lock of the collection.
///
/// # Errors
/// Trouble with the database. That the command makes no sense is an [`Outcome`].
pub fn apply_to(
    frontier: &mut SqlFrontier,
    command: &Command,
    now: Timestamp,
) -> Result<Outcome, StoreError> {
    if command.is_state() {
        frontier.state.changed();
    }
    match carry_out(frontier, command, now) {
        Err(StoreError::Refused { why }) => Ok(Outcome::refused(why)),
        other => other,
    }
}

fn carry_out(
    frontier: &mut SqlFrontier,
    command: &Command,
    now: Timestamp,
) -> Result<Outcome, StoreError> {
    match command {
        Command::Seed { urls, seeds, spider } => {
            seed(frontier, urls, seeds, spider.as_deref(), now)
        }
        Command::Spider { name, change } => change_spider(frontier, name, change, now),
        Command::Block { patterns, remove: true, .. } => {
            let Lifted { removed, pages } = frontier.unblock(patterns, now)?;
            Ok(Outcome::Blocks { added: 0, removed, pages })
        }
        Command::Block { patterns, reason, remove: false } => {
            let added = frontier.block(patterns, reason, now)?;
            Ok(Outcome::Blocks { added, removed: 0, pages: 0 })
        }
        Command::LiftQuarantine { what } => {
            Ok(Outcome::Lifted { pages: frontier.lift_quarantine(what, now)? })
        }
        Command::Replicas { change } => {
            Ok(Outcome::Mirrors { changed: frontier.change_replicas(change, now)? })
        }
        Command::LiftTrap { site, pattern } => {
            let lifted = frontier.lift_traps(site, pattern.as_deref(), now)?;
            let LiftedTraps { stops, pages } = lifted;
            Ok(Outcome::Traps { lifted: stops, pages })
        }
        Command::WatchTrap { site, pattern } => {
            let patterns = frontier.watch_traps(site, pattern.as_deref(), now)?;
            Ok(Outcome::Watched { patterns })
        }
        Command::VisitNow { url, due } => visit(frontier, url, due.unwrap_or(now), now),
        // They are about a process: nothing of them is written down.
        Command::MaxFetches { .. } | Command::Pause | Command::Resume | Command::Stop => {
            Ok(Outcome::Ended)
        }
    }
}

fn visit(
    frontier: &mut SqlFrontier,
    url: &str,
    due: Timestamp,
    now: Timestamp,
) -> Result<Outcome, StoreError> {
    let unknown = || Outcome::NotFound { url: url.to_owned() };
    let Ok(url) = CrawlUrl::stored(url) else { return Ok(unknown()) };
    Ok(match frontier.call_page(&url, due, now)? {
        Called::Due => Outcome::Visit { url: url.as_str().to_owned() },
        Called::Unknown => unknown(),
        Called::Excluded => Outcome::refused(format!("a rule keeps {url} out")),
        Called::Rests => Outcome::refused(format!("the site of {url} is a mirror of another")),
    })
}

fn seed(
    frontier: &mut SqlFrontier,
    urls: &[String],
    lines: &[SeedLine],
    spider: Option<&str>,
    now: Timestamp,
) -> Result<Outcome, StoreError> {
    let spider = match spider {
        None => DEFAULT_SPIDER,
        Some(name) => named(frontier, name)?.id,
    };
    let plain = urls.iter().map(|url| (url, PageTerms::default()));
    let (mut candidates, mut refused) = (Vec::new(), Vec::new());
    for (url, terms) in plain.chain(lines.iter().map(|line| (&line.url, terms_of(line)))) {
        match CrawlUrl::parse(url) {
            Ok(url) => candidates.push(candidate(url, spider, terms)),
            Err(why) => {
                refused.push(RefusedSeed { url: Some(url.clone()), rule: why.to_string() });
            }
        }
    }
    let new = frontier.admit(&candidates, now)?;
    Ok(Outcome::seeds(candidates.len() as u64, new, refused))
}

fn terms_of(line: &SeedLine) -> PageTerms {
    let period = line.period_ms.map(Duration::from_millis);
    PageTerms { depth: line.level, period, ..PageTerms::default() }
}

fn candidate(url: CrawlUrl, spider: SpiderId, terms: PageTerms) -> Candidate {
    Candidate { url, spider, level: 0, hops: 0, seed: true, terms, referrer: None }
}

fn change_spider(
    frontier: &mut SqlFrontier,
    name: &str,
    change: &SpiderChange,
    now: Timestamp,
) -> Result<Outcome, StoreError> {
    let known = |frontier: &SqlFrontier| named(frontier, name);
    let state = match change {
        SpiderChange::Add { settings } => {
            frontier.add_spider(name, settings, now)?;
            SpiderState::Active
        }
        SpiderChange::Edit { changes } => {
            let row = known(frontier)?;
            frontier.edit_spider(row.id, changes, now)?;
            if row.paused { SpiderState::Paused } else { SpiderState::Active }
        }
        SpiderChange::Pause { why } => {
            frontier.pause_spider(known(frontier)?.id, Some(why), now)?;
            SpiderState::Paused
        }
        SpiderChange::Resume => {
            frontier.pause_spider(known(frontier)?.id, None, now)?;
            SpiderState::Active
        }
        SpiderChange::Remove => {
            frontier.remove_spider(known(frontier)?.id, now)?;
            SpiderState::Removed
        }
    };
    Ok(Outcome::Spider { spider: name.to_owned(), state })
}

fn named(frontier: &SqlFrontier, name: &str) -> Result<SpiderRow, StoreError> {
    let found = frontier.spiders()?.into_iter().find(|row| row.name == name);
    found.ok_or_else(|| StoreError::Refused { why: format!("there is no spider {name:?}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn seeds(urls: &[&str], spider: Option<&str>) -> Command {
        let line = |url: &&str| SeedLine { url: (*url).to_owned(), level: None, period_ms: None };
        let (seeds, spider) = (urls.iter().map(line).collect(), spider.map(str::to_owned));
        Command::Seed { urls: Vec::new(), seeds, spider }
    }

    fn spider(name: &str, change: SpiderChange) -> Command {
        Command::Spider { name: name.to_owned(), change }
    }

    #[test]
    fn seeds_are_counted_as_new_once_and_what_is_no_url_is_refused() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let command = seeds(&["http://a.example/", "http://b.example/", "mailto:x"], None);
        let outcome = apply_to(&mut frontier, &command, NOW).unwrap();
        let Outcome::Seeds { taken, new, refused, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((taken, new, refused), (2, 2, 1));
        let outcome = apply_to(&mut frontier, &command, NOW).unwrap();
        assert!(matches!(outcome, Outcome::Seeds { taken: 2, new: 0, .. }), "{outcome:?}");
    }

    #[test]
    fn what_cannot_be_is_an_outcome_and_no_error() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        for command in [
            seeds(&["http://a.example/"], Some("nobody")),
            spider("nobody", SpiderChange::Resume),
            spider("default", SpiderChange::Remove),
            spider("default", SpiderChange::Add { settings: Default::default() }),
        ] {
            let outcome = apply_to(&mut frontier, &command, NOW).unwrap();
            assert!(matches!(outcome, Outcome::Refused { .. }), "{command:?}: {outcome:?}");
        }
        let visit = Command::VisitNow { url: "http://a.example/".into(), due: None };
        let unknown = Outcome::NotFound { url: "http://a.example/".into() };
        assert_eq!(apply_to(&mut frontier, &visit, NOW).unwrap(), unknown);
        assert_eq!(apply_to(&mut frontier, &Command::Stop, NOW).unwrap(), Outcome::Ended);
    }

    #[test]
    fn a_spider_is_paused_and_edited_and_resumed() {
        let mut frontier = SqlFrontier::open_in_memory().unwrap();
        let state = |frontier: &mut SqlFrontier, change| match apply_to(
            frontier,
            &spider("default", change),
            NOW,
        )
        .unwrap()
        {
            Outcome::Spider { spider, state } if spider == "default" => state,
            other => panic!("{other:?}"),
        };
        let pause = SpiderChange::Pause { why: "enough".into() };
        assert_eq!(state(&mut frontier, pause), SpiderState::Paused);
        let edit =
            SpiderChange::Edit { changes: [("crawl.pages".into(), Some("3".into()))].into() };
        assert_eq!(state(&mut frontier, edit), SpiderState::Paused, "an edit wakes nobody");
        assert_eq!(state(&mut frontier, SpiderChange::Resume), SpiderState::Active);
    }
}
