//! What other processes ask of a running crawl: more seeds, a pause, a block, a stop.

use std::sync::PoisonError;

use model::{Candidate, PageTerms, Refusal, SpiderId, Verdict};
use seeder::{Block, parse_seed};
use store::control::{Command, Request};

use super::{Harvest, Stopping};
use crate::pipeline::messages::{BlockChange, Order, Settle};

impl Harvest {
    pub(super) fn request(&mut self, request: Request) {
        if request.id <= self.state.requested {
            return;
        }
        self.state.requested = request.id;
        let result = match request.command {
            Command::Seed { urls, .. } => self.seed(&urls),
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
            true => self.rules.blocks.remove(read),
            false => self.rules.blocks.add(read),
        };
        self.order(Order::Block(id, change));
        // What is judged again may be due now.
        self.state.check_at = Some(self.clock.now());
    }

    pub(super) fn seed(&mut self, urls: &[String]) -> String {
        let now = self.clock.now();
        let mut share = Settle { busy: self.clock.busy(), ..Settle::default() };
        let (mut taken, mut refused) = (0, Vec::new());
        for text in urls {
            let verdict = parse_seed(text).map_err(Some).and_then(|url| {
                let candidate = seed_candidate(self.rules.form.apply(&url));
                let mut seeds = self.seeds.write().unwrap_or_else(PoisonError::into_inner);
                seeds.join(&candidate.url);
                match self.rules.judge(&candidate, &seeds) {
                    Verdict::Accept => Ok(candidate),
                    // The answer is kept: what was forgotten is not named in it.
                    Verdict::Reject(refusal) if refusal.is_forgotten() => Err(None),
                    Verdict::Reject(refusal) => Err(Some(refusal.rule)),
                }
            });
            match verdict {
                Ok(candidate) => {
                    self.admit_elsewhere(candidate, &mut share, now);
                    taken += 1;
                }
                Err(Some(why)) => refused.push(format!("{text}: {why}")),
                Err(None) => refused.push(format!("one {}", Refusal::FORGOTTEN)),
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

/// A seed as a candidate of the collection's first spider.
pub fn seed_candidate(url: model::CrawlUrl) -> Candidate {
    Candidate {
        url,
        spider: SpiderId(1),
        level: 0,
        hops: 0,
        seed: true,
        terms: PageTerms::default(),
        referrer: None,
    }
}
