//! Seeds on their way into a collection: judged, counted once, handed over in batches.
//!
//! While nobody crawls, a batch enters the frontier under the crawl's lock; while somebody does, it is left
//! in the control table for that crawl. Each batch chooses anew, so that neither keeps the other waiting for
//! longer than a batch. Memory is a batch and the fingerprints of what came so far, up to [`SEEN_MAX`].

use std::{collections::HashSet, time::Duration};

use foldhash::fast::RandomState;
use harvester::clock::RealClock;
use model::{Candidate, Clock, Fingerprint, Frontier, PageTerms, StoreError, Timestamp, Verdict};
use seeder::{Seed, SeedError, SeedSet, SpiderRules};
use serde_json::{Value, json};
use store::{
    collection::Collection,
    control::{self, Command, SeedLine},
    frontier::SqliteFrontier,
    spiders::DEFAULT_SPIDER,
};

use crate::{commands::Context, terminal::print};
use config::{
    amounts::some,
    failure::{Exit, Failure},
};
use model::printable;

/// One transaction: some tenths of a second, the longest that a crawl waits to begin.
const BATCH: usize = 10_000;
/// One command for a running crawl: also with the longest URLs well below the bound on its size.
const COMMAND_URLS: usize = 2_000;
const COMMAND_BYTES: usize = control::COMMAND_BYTES_MAX / 4;
/// What a seed takes in a command besides its URL.
const LINE_BYTES: usize = 64;
/// Repetitions are told apart among this many seeds (some 40 MB); further apart they are counted twice,
/// and still taken once.
const SEEN_MAX: usize = 4_000_000;
/// Bad lines and refused seeds named; the rest is counted.
const NAMED_MAX: usize = 20;
/// Whoever waits longer than this is told how far it is; then after twice the time, up to the second.
const TOLD_AFTER: Duration = Duration::from_secs(1);
const TOLD_EVERY: Duration = Duration::from_secs(10);

pub struct Seeding<'a> {
    context: &'a Context,
    rules: SpiderRules,
    /// `None`: the first.
    spider: Option<String>,
    clock: RealClock,
    collection: Option<Collection>,
    batch: Vec<Candidate>,
    seen: HashSet<Fingerprint, RandomState>,
    told: Timestamp,
    tell_after: Duration,
    /// A batch was left for a running crawl.
    left: bool,
    counts: Counts,
    bad: Vec<String>,
    refused: Vec<String>,
}

#[derive(Default)]
struct Counts {
    taken: u64,
    new: u64,
    repeated: u64,
    refused: u64,
    bad: u64,
    other_sitemaps: u64,
    cut: u64,
}

impl<'a> Seeding<'a> {
    pub fn new(context: &'a Context, rules: SpiderRules) -> Seeding<'a> {
        let clock = RealClock::new();
        Seeding {
            context,
            rules,
            spider: None,
            told: clock.now(),
            tell_after: TOLD_AFTER,
            clock,
            collection: None,
            batch: Vec::new(),
            seen: HashSet::default(),
            left: false,
            counts: Counts::default(),
            bad: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// For the spider of this name.
    #[must_use]
    pub fn of_spider(self, name: &str) -> Seeding<'a> {
        Seeding { spider: Some(name.to_owned()), ..self }
    }

    pub fn offer(&mut self, seed: &Seed) -> Result<(), Failure> {
        let candidate = Candidate {
            url: self.rules.form.apply_to_seed(&seed.url),
            spider: DEFAULT_SPIDER,
            level: 0,
            hops: 0,
            seed: true,
            terms: PageTerms { depth: seed.level, period: seed.period, ..PageTerms::default() },
            referrer: None,
        };
        if self.seen.len() == SEEN_MAX {
            self.seen.clear();
        }
        if !self.seen.insert(candidate.url.fingerprint()) {
            self.counts.repeated += 1;
            return Ok(());
        }
        // Scope does not concern a seed, so there is no need to know the others.
        match self.rules.judge(&candidate, &SeedSet::default()) {
            Verdict::Accept => {
                self.counts.taken += 1;
                self.batch.push(candidate);
            }
            Verdict::Reject(refusal) => {
                self.counts.refused += 1;
                if self.refused.len() < NAMED_MAX {
                    self.refused.push(format!("{} ({})", candidate.url, refusal.rule));
                }
            }
        }
        if self.batch.len() >= BATCH {
            self.deliver()?;
        }
        self.tell_progress();
        Ok(())
    }

    /// Something in `name` that is no seed.
    pub fn pass_over(&mut self, name: &str, error: &SeedError) {
        match error {
            SeedError::Elsewhere { .. } => self.counts.other_sitemaps += 1,
            SeedError::Cut { .. } => self.counts.cut += 1,
            SeedError::Bad { .. } | SeedError::Io { .. } => self.counts.bad += 1,
        }
        // That a file was cut must not drown in its bad lines.
        if self.bad.len() < NAMED_MAX || matches!(error, SeedError::Cut { .. }) {
            self.bad.push(format!("{name}: {error}"));
        }
        self.tell_progress();
    }

    /// Hands over the rest and says how it went.
    pub fn finish(mut self) -> Result<Exit, Failure> {
        self.deliver()?;
        if self.context.json {
            print(&format!("{}\n", self.json()))?;
        } else {
            self.say();
        }
        let Counts { taken, refused, bad, other_sitemaps, .. } = self.counts;
        let in_vain = taken == 0 && refused + bad + other_sitemaps > 0;
        Ok(if in_vain { Exit::Usage } else { Exit::Done })
    }

    /// Hands over what waits; how many seeds have been taken in all.
    pub fn deliver(&mut self) -> Result<u64, Failure> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(self.counts.taken);
        }
        let collection = match &self.collection {
            Some(collection) => collection.clone(),
            None => Collection::open_or_create(&self.context.folder)?,
        };
        self.collection = Some(collection.clone());
        let now = self.clock.now();
        // Asking first is quick; the lock waits a little for others who only ask.
        if !collection.is_crawled() {
            match collection.lock() {
                Ok(_lock) => {
                    self.counts.new += admit(&collection, batch, self.spider.as_deref(), now)?;
                    return Ok(self.counts.taken);
                }
                Err(StoreError::Busy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.left = true;
        leave(&collection, &batch, self.spider.as_deref(), now)?;
        Ok(self.counts.taken)
    }

    fn tell_progress(&mut self) {
        let Counts { taken, repeated, refused, bad, .. } = self.counts;
        let read = taken + repeated + refused + bad;
        if !read.is_multiple_of(1_000) {
            return;
        }
        let now = self.clock.now();
        if now.since(self.told) >= self.tell_after {
            self.told = now;
            self.tell_after = (2 * self.tell_after).min(TOLD_EVERY);
            self.context.say(&format!("{read} read, {taken} taken …"));
        }
    }

    fn json(&self) -> Value {
        let Counts { taken, new, repeated, refused, bad, other_sitemaps, cut } = self.counts;
        json!({
            "taken": taken,
            "new": (!self.left).then_some(new),
            "repeated": repeated,
            "refused": refused,
            "bad": bad,
            "other_sitemaps": other_sitemaps,
            "cut": cut,
            "examples": self.bad,
            "refused_examples": self.refused,
        })
    }

    fn say(&self) {
        let counts = &self.counts;
        let say = |line: &str| self.context.say(&printable(line));
        let more = |count: u64, named: usize, what: &str| {
            let more = count.saturating_sub(named as u64);
            if more > 0 {
                say(&format!("… and {more} more {what}"));
            }
        };
        self.bad.iter().for_each(|line| say(line));
        more(
            counts.bad + counts.other_sitemaps + counts.cut,
            self.bad.len(),
            "lines that are no seeds",
        );
        self.refused.iter().for_each(|seed| say(&format!("seed refused: {seed}")));
        more(counts.refused, self.refused.len(), "seeds refused");
        let mut asides = String::new();
        for (count, what) in [
            (counts.repeated, "repeated"),
            (counts.refused, "refused"),
            (counts.bad, "bad"),
            (counts.other_sitemaps, "other sitemaps, not fetched"),
        ] {
            if count > 0 {
                asides.push_str(&format!(", {count} {what}"));
            }
        }
        let known = counts.taken - counts.new;
        if !self.left && known > 0 {
            asides.push_str(&format!(", {known} known before"));
        }
        let is_crawled = self.collection.as_ref().is_some_and(Collection::is_crawled);
        let them = if counts.taken == 1 { "it" } else { "them" };
        let when = match self.left && is_crawled {
            true => format!("the running crawl takes {them} up within seconds"),
            false => format!("the next crawl begins with {them}"),
        };
        say(&format!("{} taken{asides}; {when}", some(counts.taken, "seed")));
    }
}

/// Into the frontier; how many were new. The caller holds the crawl's lock.
fn admit(
    collection: &Collection,
    mut batch: Vec<Candidate>,
    spider: Option<&str>,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let mut frontier = SqliteFrontier::open(&collection.database())?;
    if let Some(name) = spider {
        let known = frontier.spiders()?.into_iter().find(|row| row.name == name);
        let Some(row) = known else {
            return Err(StoreError::Refused { why: format!("there is no spider {name:?}") });
        };
        batch.iter_mut().for_each(|candidate| candidate.spider = row.id);
    }
    frontier.admit(&batch, now)
}

/// Into the control table, for the crawl that runs.
fn leave(
    collection: &Collection,
    batch: &[Candidate],
    spider: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (mut seeds, mut bytes) = (Vec::new(), 0);
    let database = collection.database();
    let send = |seeds: &mut Vec<SeedLine>| {
        let (seeds, spider) = (std::mem::take(seeds), spider.map(str::to_owned));
        let command = Command::Seed { urls: Vec::new(), seeds, spider };
        control::request(&database, &command, now).map(drop)
    };
    for candidate in batch {
        let url = candidate.url.as_str();
        if seeds.len() == COMMAND_URLS || (bytes + url.len() > COMMAND_BYTES && !seeds.is_empty()) {
            send(&mut seeds)?;
            bytes = 0;
        }
        bytes += url.len() + LINE_BYTES;
        let PageTerms { depth, period, .. } = candidate.terms;
        let period_ms = period.and_then(|period| u64::try_from(period.as_millis()).ok());
        seeds.push(SeedLine { url: url.to_owned(), level: depth, period_ms });
    }
    send(&mut seeds)
}
