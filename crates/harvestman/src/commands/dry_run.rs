//! `crawl --dry-run`: fetches the given pages and shows which of their links a crawl would take.
//!
//! It is a crawl like any other, with robots.txt, pauses and guards, of a collection in a temporary folder
//! that is removed afterwards; the collection it is meant for is only read.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use harvester::clock::RealClock;
use model::{Candidate, Clock, CrawlUrl, Decision, PageState, RefusalReason, Timestamp, limits};
use seeder::Sorted;
use serde_json::{Value, json};
use store::{
    census::{Census, PageEntry},
    collection::Collection,
};

use super::Context;
use crate::{
    crawling::{self, Wanted},
    terminal::print,
};
use config::{
    Config,
    failure::{Exit, Failure, io_advice},
    times,
};
use engine::pipeline::preview::Preview;
use model::printable;

/// URLs shown of each level; JSON has them all.
const URLS_SHOWN: usize = 20;
/// Nobody waits longer for a dry run than the longest delay that robots.txt can ask for.
const WAIT_MAX: Duration = limits::CRAWL_DELAY_MAX;
const SAID_AFTER: Duration = Duration::from_secs(1);
/// The given pages and what they redirect to, or so many of them.
const PAGES_MAX: u32 = 10_000;

pub fn run(context: &Context, config: Config, seeds: Vec<CrawlUrl>) -> Result<Exit, Failure> {
    let preview = Arc::new(preview_for(&context.folder)?);
    wait_for_clocks(context, &seeds)?;
    let delay = config.etiquette.delay;
    let temporary = Temporary::make()?;
    let inside = Context { folder: temporary.0.clone(), named: true, ..context.clone() };
    let wanted = Wanted { seeds, preview: Some(preview.clone()), ..Wanted::default() };
    let ended = crawling::crawl(&inside, config, context.folder.clone(), wanted);
    if matches!(&ended, Err(failure) if failure.code != Exit::NothingFetched) {
        return ended;
    }
    let census = Census::open(&Collection::open(&inside.folder)?)?;
    let outlooks = outlooks(&census, &preview)?;
    if context.json {
        let pages: Vec<Value> = outlooks.iter().map(Outlook::json).collect();
        print(&format!("{:#}\n", json!({ "pages": pages })))?;
    } else {
        print(&outlooks.iter().map(Outlook::text).collect::<String>())?;
        context.say("a dry run: nothing was stored");
    }
    // Its clocks go with it: whoever asks these sites next must not come too early. After a failure, the crawl's
    // own pause before it tries again is much longer than what the server is owed.
    let clock = census.latest_clock()?;
    let owed = if ended.is_err() { clock.min(RealClock::new().now().plus(delay)) } else { clock };
    wait_until(context, owed);
    ended
}

/// What the collection has visited lately has a delay that holds for a dry run too.
fn wait_for_clocks(context: &Context, seeds: &[CrawlUrl]) -> Result<(), Failure> {
    let Ok(collection) = Collection::open(&context.folder) else { return Ok(()) };
    let census = Census::open(&collection)?;
    let mut latest = Timestamp::ZERO;
    for seed in seeds {
        latest = latest.max(census.clock_of(seed.site_text())?.unwrap_or_default());
    }
    let now = RealClock::new().now();
    if latest > now.plus(WAIT_MAX) {
        return Err(Failure::usage(
            format!("a site may not be visited again before {}", times::iso(latest)),
            "give the same command again then",
        ));
    }
    wait_until(context, latest);
    Ok(())
}

fn wait_until(context: &Context, at: Timestamp) {
    let wait = at.since(RealClock::new().now()).min(WAIT_MAX);
    if wait > SAID_AFTER {
        context.say(&format!("waiting {}: the delay between requests", times::span(wait)));
    }
    std::thread::sleep(wait);
}

/// The collection's own seeds widen the scope, its blocks and what it has forgotten hold here too. While it is
/// crawled, its sites have a clock that nobody else can see, so nothing may be visited for it.
fn preview_for(folder: &Path) -> Result<Preview, Failure> {
    let Ok(collection) = Collection::open(folder) else { return Ok(Preview::default()) };
    if collection.is_crawled() {
        return Err(Failure::usage(
            format!("{} is being crawled", folder.display()),
            "wait for the crawl, stop it with Ctrl-C, or ask about one URL with explain",
        ));
    }
    let census = Census::open(&collection)?;
    let mut blocks = Vec::new();
    census.each_block(|entry| blocks.push(entry.pattern))?;
    let seeds = census.seeds()?.into_iter().map(|seed| seed.url).collect();
    Ok(Preview::new(seeds, blocks, census.tombstones()?))
}

/// What one page has to offer.
struct Outlook {
    page: PageEntry,
    answer: String,
    /// By level, and whether they are of the page's own site.
    taken: BTreeMap<(u16, bool), Vec<String>>,
    /// By reason and rule: count and example.
    refused: BTreeMap<(RefusalReason, String), (u64, String)>,
}

fn outlooks(census: &Census, preview: &Preview) -> Result<Vec<Outlook>, Failure> {
    let mut pages = census.pages(None, PAGES_MAX)?;
    pages.sort_by_key(|page| page.found);
    pages.into_iter().map(|page| Outlook::new(census, preview, page)).collect()
}

impl Outlook {
    fn new(census: &Census, preview: &Preview, page: PageEntry) -> Result<Outlook, Failure> {
        let Sorted { internal, external, refused, .. } = preview.of(&page.url);
        let answer = answer(census, &page)?;
        let mut outlook =
            Outlook { page, answer, taken: BTreeMap::new(), refused: BTreeMap::new() };
        internal.into_iter().for_each(|candidate| outlook.take(candidate, true));
        external.into_iter().for_each(|candidate| outlook.take(candidate, false));
        for Decision { reason, rule, count, example, .. } in refused {
            outlook.refused.entry((reason, rule)).or_insert((0, example)).0 += count;
        }
        Ok(outlook)
    }

    fn take(&mut self, candidate: Candidate, own: bool) {
        let urls = self.taken.entry((candidate.level, own)).or_default();
        urls.push(candidate.url.as_str().to_owned());
    }

    fn json(&self) -> Value {
        let site = |own| if own { "same" } else { "other" };
        let taken = self.taken.iter().map(|((level, own), urls)| {
            json!({ "level": level, "site": site(*own), "count": urls.len(), "urls": urls })
        });
        let refused = self.refused.iter().map(|((reason, rule), (count, example))| {
            json!({ "reason": reason, "rule": rule, "count": count, "example": example })
        });
        json!({
            "url": self.page.url,
            "state": self.page.state.word(),
            "answer": self.answer,
            "taken": taken.collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n  {}\n", printable(&self.page.url), printable(&self.answer));
        for ((level, own), urls) in &self.taken {
            let whose = if *own { "this site" } else { "other sites" };
            let _ = writeln!(text, "  would take {} of {whose} at level {level}:", urls.len());
            for url in urls.iter().take(URLS_SHOWN) {
                let _ = writeln!(text, "    {}", printable(url));
            }
            if urls.len() > URLS_SHOWN {
                let _ =
                    writeln!(text, "    … and {} more (all with --json)", urls.len() - URLS_SHOWN);
            }
        }
        for ((_, rule), (count, example)) in &self.refused {
            let (rule, example) = (printable(rule), printable(example));
            let _ = writeln!(text, "  would refuse {count} by {rule}, such as {example}");
        }
        if self.page.state == PageState::Fetched && self.taken.is_empty() && self.refused.is_empty()
        {
            text.push_str("  no links\n");
        }
        text
    }
}

/// How the page's visit went, or why there was none.
fn answer(census: &Census, page: &PageEntry) -> Result<String, Failure> {
    let story = CrawlUrl::stored(&page.url).ok().map(|url| census.page(&url)).transpose()?;
    if let Some(visit) = story.flatten().and_then(|story| story.visits.last().cloned()) {
        return Ok(match visit.failure {
            Some(failure) => failure,
            None => format!("status {}", visit.status),
        });
    }
    let decisions = census.decisions_on(&page.site, 100)?;
    let refused = decisions.into_iter().find(|decision| decision.example == page.url);
    Ok(match refused {
        Some(decision) => format!("not visited: {}", decision.rule),
        None => format!("not visited: {}", page.state.word()),
    })
}

/// A folder of this user's own that goes when it is no longer needed.
struct Temporary(PathBuf);

impl Temporary {
    fn make() -> Result<Temporary, Failure> {
        let (place, process) = (std::env::temp_dir(), std::process::id());
        let mut number = 0;
        loop {
            let path = place.join(format!("harvestman-dry-run-{process}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Temporary(path)),
                // Left by a process of the same number that was killed.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 100 => number += 1,
                Err(e) => {
                    let sentence = format!("cannot make a folder in {}: {e}", place.display());
                    return Err(Failure::fault(sentence, io_advice(e.kind())));
                }
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "this folder could not be removed");
        }
    }
}
