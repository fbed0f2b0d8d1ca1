//! What other processes ask of a running crawl: more seeds, a pause, a block, a stop.

use std::time::Duration;

use model::{Candidate, CrawlUrl, PageTerms, Refusal, Verdict};
use seeder::{Block, Seed, parse_seed};
use store::{
    control::{Command, Outcome, Request, SeedLine},
    spiders::DEFAULT_SPIDER,
};

use super::{Harvest, Stopping};
use crate::pipeline::{
    messages::{BlockChange, Order, Settle},
    spiders::Spider,
};

impl Harvest {
    pub(super) fn request(&mut self, request: Request) {
        let result = match request.command {
            Command::Seed { urls, seeds, spider } => self.seed(&urls, &seeds, spider.as_deref()),
            Command::Pause => self.hold(true),
            Command::Resume => self.hold(false),
            Command::Stop => {
                self.stop(Stopping::Asked);
                Outcome::Done
            }
            Command::Block { patterns, reason, remove } => {
                return self.block(request.id, BlockChange { patterns, reason, remove });
            }
            Command::LiftTrap { site, pattern } => {
                return self.lift_trap(request.id, site, pattern);
            }
            Command::Spider { name, change } => {
                return self.change_spider(Some(request.id), name, change);
            }
            Command::LiftQuarantine { what } => {
                self.spiders.quarantine.lift(&what);
                self.state.check_at = Some(self.clock.now());
                return self.order(Order::LiftQuarantine(request.id, what));
            }
            Command::Replicas { change } => return self.order(Order::Replicas(request.id, change)),
            Command::MaxFetches { fetches } => self.set_fetches(fetches),
            Command::VisitNow { url } => match CrawlUrl::stored(&url) {
                Ok(url) => return self.visit_now(request.id, url),
                Err(_) => Outcome::NotFound,
            },
        };
        self.order(Order::RequestDone(request.id, result));
    }

    /// No visit is begun while the user holds the crawl; what is in flight is finished and settled.
    fn hold(&mut self, held: bool) -> Outcome {
        self.state.held_by_user = held;
        self.state.tally.held = held;
        Outcome::Done
    }

    /// The page becomes due, and is asked for as other due pages are: by its site's clock and robots.txt.
    fn visit_now(&mut self, id: i64, url: CrawlUrl) {
        let (now, site) = (self.clock.now(), url.site());
        // A single pass visits again only what was due when it began.
        let due = self.pass_until().unwrap_or(now);
        self.order(Order::Visit(id, url, due));
        // Of a site in hand, the store is asked for it.
        self.workbench.expect_more(&site, 0, now);
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
    fn block(&mut self, id: i64, change: BlockChange) {
        let read = change.patterns.iter().filter_map(|text| Block::parse(text).ok());
        match change.remove {
            true => self.spiders.blocks.remove(read),
            false => self.spiders.blocks.add(read),
        };
        self.spawner.cut_blocked();
        let is_lifted = change.remove;
        self.order(Order::Block(id, change));
        if is_lifted {
            self.forget_dead_ends();
        }
        // What is judged again may be due now.
        self.state.check_at = Some(self.clock.now());
    }

    pub(super) fn seed(
        &mut self,
        urls: &[String],
        lines: &[SeedLine],
        spider: Option<&str>,
    ) -> Outcome {
        let named = match spider {
            None => Some(self.spiders.of(DEFAULT_SPIDER)),
            Some(name) => self.spiders.named(name),
        };
        let Some(spider) = named else {
            let name = spider.unwrap_or_default();
            return Outcome::refused(format!("there is no spider {name:?}"));
        };
        let now = self.clock.now();
        let mut share = Settle { busy: self.clock.busy(), ..Settle::default() };
        let (mut taken, mut refused) = (0, Vec::new());
        for seed in read_seeds(urls, lines) {
            let verdict = seed.and_then(|seed| {
                let candidate = seed_candidate(seed, &spider);
                spider.join(&candidate.url);
                match spider.judge(&candidate) {
                    Verdict::Accept => Ok(candidate),
                    // The answer is kept: what was forgotten is not named in it.
                    Verdict::Reject(refusal) if refusal.is_forgotten() => {
                        Err(format!("one {}", Refusal::FORGOTTEN))
                    }
                    Verdict::Reject(refusal) => Err(format!("{}: {}", candidate.url, refusal.rule)),
                }
            });
            match verdict {
                Ok(candidate) => {
                    self.admit_elsewhere(candidate, &mut share, now);
                    taken += 1;
                }
                Err(why) => refused.push(why),
            }
        }
        self.state.check_at = Some(now);
        self.settle(share);
        self.order(Order::Flush);
        Outcome::seeds(taken, refused)
    }
}

/// The seeds of a request; what is none, in words.
pub fn read_seeds<'a>(
    urls: &'a [String],
    lines: &'a [SeedLine],
) -> impl Iterator<Item = Result<Seed, String>> + 'a {
    let read = |text: &str| parse_seed(text).map_err(|why| format!("{text}: {why}"));
    let plain = urls.iter().map(move |url| read(url).map(Seed::from));
    let wished = lines.iter().map(move |line| {
        let (level, period) = (line.level, line.period_ms.map(Duration::from_millis));
        read(&line.url).map(|url| Seed { url, level, period })
    });
    plain.chain(wished)
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
