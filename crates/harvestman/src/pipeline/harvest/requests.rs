//! What other processes ask of a running crawl: more seeds, a pause, a block, a stop.

use model::{Candidate, PageTerms, SpiderId, Verdict};
use seeder::{Block, parse_seed};
use store::control::{Command, Request};

use super::{Harvest, Stopping};
use crate::pipeline::messages::{BlockChange, Order, Settle};

impl Harvest {
    pub(super) fn request(&mut self, request: Request) {
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
            Command::VisitNow { .. } | Command::Spider { .. } | Command::MaxFetches { .. } => {
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
        self.order(Order::Block(id, change));
        // What is judged again may be due now.
        self.state.check_at = Some(self.clock.now());
    }

    pub(super) fn seed(&mut self, urls: &[String]) -> String {
        let now = self.clock.now();
        let mut share = Settle { busy: self.clock.busy(), ..Settle::default() };
        let spider = self.spiders.of(SpiderId(1));
        let (mut taken, mut refused) = (0, Vec::new());
        for text in urls {
            let verdict = parse_seed(text).and_then(|url| {
                let candidate = seed_candidate(spider.rules.form.apply(&url));
                spider.join(&candidate.url);
                match spider.judge(&candidate) {
                    Verdict::Accept => Ok(candidate),
                    Verdict::Reject(refusal) => Err(refusal.rule),
                }
            });
            match verdict {
                Ok(candidate) => {
                    self.admit_elsewhere(candidate, &mut share, now);
                    taken += 1;
                }
                Err(why) => refused.push(format!("{text}: {why}")),
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
