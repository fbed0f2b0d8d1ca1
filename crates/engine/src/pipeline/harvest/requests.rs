//! What other processes ask of a running crawl: more seeds, a pause, a block, a stop.

use std::time::Duration;

use harvester::workbench::Known;
use model::{Candidate, CrawlUrl, PageTerms, Refusal, Timestamp, Verdict};
use seeder::{Block, Seed, parse_seed};
use store::{
    control::{Command, Outcome, RefusedSeed, Request, SeedLine},
    spiders::DEFAULT_SPIDER,
};

use super::{Harvest, Stopping, admit::new_page};
use crate::pipeline::{
    messages::{Apply, Order},
    spiders::Spider,
};

impl Harvest {
    /// What a command means for what is in memory. What it changes in the database is the writer's, by the same function
    /// as where no crawl runs.
    pub(super) fn request(&mut self, request: Request) {
        let (id, command) = (request.id, request.command);
        match command {
            Command::Pause => self.hold(id, true),
            Command::Resume => self.hold(id, false),
            Command::Stop => {
                self.stop(Stopping::Asked);
                self.answer(id, Outcome::Done);
            }
            Command::MaxFetches { fetches } => {
                let outcome = self.set_fetches(fetches);
                self.answer(id, outcome);
            }
            Command::Seed { urls, seeds, spider } => self.seed(id, &urls, &seeds, spider),
            Command::Block { .. } => self.block(id, command),
            Command::LiftTrap { site, pattern } => self.lift_trap(id, site, pattern),
            Command::WatchTrap { site, pattern } => self.watch_trap(id, site, pattern),
            Command::Spider { name, change } => self.change_spider(Some(id), name, change),
            Command::LiftQuarantine { ref what } => {
                self.spiders.quarantine.lift(what);
                self.state.check_at = Some(self.clock.now());
                self.apply(Some(id), command);
            }
            Command::VisitNow { url, .. } => self.visit_now(id, url),
            Command::Replicas { .. } => self.apply(Some(id), command),
        }
    }

    /// Has the writer carry a command out and answer who asked for it.
    pub(super) fn apply(&mut self, request: Option<i64>, command: Command) {
        let (refused, busy) = (Vec::new(), self.clock.busy());
        self.order(Order::Apply(Box::new(Apply { request, command, refused, busy })));
    }

    fn answer(&mut self, id: i64, outcome: Outcome) {
        self.order(Order::RequestDone(id, outcome));
    }

    /// No visit is begun while the user holds the crawl; what is in flight is finished and settled.
    fn hold(&mut self, id: i64, held: bool) {
        self.state.held_by_user = held;
        self.state.tally.held = held;
        self.answer(id, Outcome::Done);
    }

    /// The page becomes due, and is asked for as other due pages are: by its site's clock and robots.txt.
    fn visit_now(&mut self, id: i64, url: String) {
        let now = self.clock.now();
        let site = CrawlUrl::stored(&url).ok().map(|url| url.site());
        // A single pass visits again only what was due when it began.
        let due = self.pass_until();
        self.apply(Some(id), Command::VisitNow { url, due });
        // Of a site in hand, the store is asked for it.
        if let Some(site) = site {
            self.workbench.expect_more(&site, 0, now);
        }
        self.state.check_at = Some(now);
    }

    /// The page is due. Where visits are held to a budget, the planner would choose when to ask for it; but somebody
    /// wants it now, so it is asked for by name.
    pub(super) fn called(&mut self, url: &CrawlUrl) {
        if self.planning.is_gated() {
            self.state.called.push((url.site(), url.fingerprint()));
        }
    }

    /// In force from here on: for links, for pages that wait, and for answers on their way.
    fn block(&mut self, id: i64, command: Command) {
        let Command::Block { patterns, remove, .. } = &command else { return };
        let read = patterns.iter().filter_map(|text| Block::parse(text).ok());
        let is_lifted = *remove;
        match is_lifted {
            true => self.spiders.blocks.remove(read),
            false => self.spiders.blocks.add(read),
        };
        self.spawner.cut_blocked();
        self.apply(Some(id), command);
        if is_lifted {
            self.forget_dead_ends();
        }
        // What is judged again may be due now.
        self.state.check_at = Some(self.clock.now());
    }

    /// Seeds have been checked by the settings of the collection; this crawl may have others.
    pub(super) fn seed(
        &mut self,
        id: i64,
        urls: &[String],
        lines: &[SeedLine],
        name: Option<String>,
    ) {
        let named = match &name {
            None => Some(self.spiders.of(DEFAULT_SPIDER)),
            Some(name) => self.spiders.named(name),
        };
        let Some(spider) = named else {
            let name = name.unwrap_or_default();
            return self.answer(id, Outcome::refused(format!("there is no spider {name:?}")));
        };
        let now = self.clock.now();
        let (candidates, refused) = judge_seeds(urls, lines, &spider);
        let seeds = candidates.iter().map(seed_line).collect();
        let (busy, urls) = (self.clock.busy(), Vec::new());
        let command = Command::Seed { urls, seeds, spider: name };
        let request = Some(id);
        self.order(Order::Apply(Box::new(Apply { request, command, refused, busy })));
        candidates.into_iter().for_each(|candidate| self.expect_seed(candidate, now));
        self.state.check_at = Some(now);
    }

    /// The database has the seed: where its site is in hand, it is asked for it.
    fn expect_seed(&mut self, candidate: Candidate, now: Timestamp) {
        let site = candidate.url.site();
        let Some(held) = self.state.hand.get(&site) else { return };
        held.seeded = true;
        held.drained = None;
        if self.workbench.known(&site, candidate.url.fingerprint()) == Known::Yes {
            // It may wait at a higher level than that of a seed.
            self.workbench.offer(&site, new_page(candidate, now), now);
        }
        self.workbench.expect_more(&site, 0, now);
    }
}

/// The seeds that the spider takes, and why not the others.
pub fn judge_seeds(
    urls: &[String],
    lines: &[SeedLine],
    spider: &Spider,
) -> (Vec<Candidate>, Vec<RefusedSeed>) {
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for candidate in read_seeds(urls, lines, spider) {
        let verdict = candidate.and_then(|candidate| {
            spider.join(&candidate.url);
            match spider.judge(&candidate) {
                Verdict::Accept => Ok(candidate),
                // The answer is kept: what was forgotten is not named in it.
                Verdict::Reject(refusal) if refusal.is_forgotten() => {
                    Err(RefusedSeed { url: None, rule: Refusal::FORGOTTEN.to_owned() })
                }
                Verdict::Reject(refusal) => {
                    let url = Some(candidate.url.as_str().to_owned());
                    Err(RefusedSeed { url, rule: refusal.rule })
                }
            }
        });
        match verdict {
            Ok(candidate) => taken.push(candidate),
            Err(why) => refused.push(why),
        }
    }
    (taken, refused)
}

/// The seeds of a request as candidates of this spider, and what is none. Lines are in the form of the collection
/// already, and rewriting is done once.
fn read_seeds<'a>(
    urls: &'a [String],
    lines: &'a [SeedLine],
    spider: &'a Spider,
) -> impl Iterator<Item = Result<Candidate, RefusedSeed>> + 'a {
    let read = |text: &str| {
        parse_seed(text).map_err(|rule| RefusedSeed { url: Some(text.to_owned()), rule })
    };
    let plain = urls.iter().map(move |url| Ok(seed_candidate(Seed::from(read(url)?), spider)));
    let checked = lines.iter().map(move |line| {
        let (level, period) = (line.level, line.period_ms.map(Duration::from_millis));
        let url = read(&line.url)?;
        Ok(Candidate { url: url.clone(), ..seed_candidate(Seed { url, level, period }, spider) })
    });
    plain.chain(checked)
}

/// As a command has it.
pub fn seed_line(candidate: &Candidate) -> SeedLine {
    let PageTerms { depth, period, .. } = candidate.terms;
    let period_ms = period.and_then(|period| u64::try_from(period.as_millis()).ok());
    SeedLine { url: candidate.url.as_str().to_owned(), level: depth, period_ms }
}

/// A seed as a candidate of this spider.
pub fn seed_candidate(seed: Seed, spider: &Spider) -> Candidate {
    Candidate {
        url: spider.rules.form.apply_to_seed(&seed.url),
        spider: spider.id,
        level: 0,
        hops: 0,
        seed: true,
        terms: PageTerms { depth: seed.level, period: seed.period, ..PageTerms::default() },
        referrer: None,
    }
}
