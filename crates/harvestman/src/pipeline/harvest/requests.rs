//! What other processes ask of a running crawl: more seeds, a pause, a block, a stop.

use std::time::Duration;

use model::{Candidate, PageTerms, Refusal, Verdict};
use seeder::{Block, Seed, parse_seed};
use store::{
    control::{Command, Request, SeedLine},
    spiders::DEFAULT_SPIDER,
};

use super::{Harvest, Stopping};
use crate::pipeline::{
    messages::{BlockChange, Order, REFUSED, Settle},
    spiders::Spider,
};

impl Harvest {
    pub(super) fn request(&mut self, request: Request) {
        let result = match request.command {
            Command::Seed { urls, seeds, spider } => self.seed(&urls, &seeds, spider.as_deref()),
            Command::Pause => {
                self.state.held_by_user = true;
                "paused".to_owned()
            }
            Command::Resume => {
                self.state.held_by_user = false;
                "resumed".to_owned()
            }
            Command::Stop => {
                self.stop(Stopping::Asked);
                "stopping".to_owned()
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
            Command::VisitNow { .. } => {
                "this version of the crawl does not know how to do this".to_owned()
            }
        };
        self.order(Order::RequestDone(request.id, result));
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
    ) -> String {
        let named = match spider {
            None => Some(self.spiders.of(DEFAULT_SPIDER)),
            Some(name) => self.spiders.named(name),
        };
        let Some(spider) = named else {
            return format!("{REFUSED}there is no spider {:?}", spider.unwrap_or_default());
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
        if refused.is_empty() {
            return format!("{taken} taken");
        }
        format!("{taken} taken, {} refused: {}", refused.len(), refused.join("; "))
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
