//! Steering while running: limits and terms may change at any time, and hold from the next
//! [`Workbench::acquire`] on. What is under way ends as it began.

use std::{sync::Arc, time::Duration};

use model::{RobotsAnswer, Site, SiteKey, Spent, SpiderId, Timestamp};

use super::{LimitInAll, SpiderLimits, Terms, Workbench, bench::Name, seat::Seat};
use crate::robots::Robots;

const DAY: Duration = Duration::from_secs(86_400);

impl Workbench {
    /// Other terms for spiders and sites: everything in hand is asked about again.
    pub fn set_terms(&mut self, terms: Arc<dyn Terms>, now: Timestamp) {
        for seat in self.seats.values_mut() {
            seat.frontier.set_terms(&terms);
        }
        self.terms = terms;
        self.look_at_all(now);
    }

    /// A spider's limits, for the first time with what it has spent so far. Until they are set, a spider has
    /// none.
    pub fn set_spider(
        &mut self,
        spider: SpiderId,
        limits: SpiderLimits,
        spent: Option<Spent>,
        now: Timestamp,
    ) {
        self.books.set_spider(spider, limits, spent);
        self.look_at(|seat| seat.frontier.lane(spider).is_some(), now);
    }

    /// Visits in all at once.
    pub fn set_fetches_max(&mut self, fetches_max: usize) {
        self.options.fetches_max = fetches_max;
    }

    /// The limits in all.
    pub fn set_limits(&mut self, pages_max: Option<u64>, bytes_max: Option<u64>) {
        self.options.pages_max = pages_max;
        self.options.bytes_max = bytes_max;
        self.changed = true;
    }

    /// A limit in all is reached by what did come; nothing new will be handed out.
    pub fn limit_reached(&self) -> bool {
        self.which_limit().is_some()
    }

    pub fn which_limit(&self) -> Option<LimitInAll> {
        reached((self.options.pages_max, self.options.bytes_max), self.spent())
    }

    /// The spider's own limit that is reached. One that has brought all its bytes has nothing to visit
    /// anywhere, as if it were paused; one that has brought all its pages still visits those again.
    pub fn which_limit_of(&self, spider: SpiderId) -> Option<LimitInAll> {
        let limits = self.books.limits_of(spider);
        let bytes_first = reached((None, limits.1), self.spent_by(spider));
        bytes_first.or_else(|| reached(limits, self.spent_by(spider)))
    }

    /// Names are resolved anew: who resolves them may be another now.
    pub fn forget_names(&mut self) {
        for host in self.hosts.values_mut() {
            if matches!(host.name, Name::Resolved(_) | Name::Failed(_)) {
                host.name = Name::Unknown;
            }
        }
    }

    /// What the whole crawl has brought.
    pub fn spent(&self) -> Spent {
        self.books.in_all.spent
    }

    /// What a spider has brought.
    pub fn spent_by(&self, spider: SpiderId) -> Spent {
        self.books.spent_by(spider)
    }

    /// The most visits a day that a site's pauses allow, where these spiders have pages of it: the most careful
    /// of them binds. Infinite where none is kept.
    pub fn visits_a_day(&self, site: &Site, spiders: impl Iterator<Item = SpiderId>) -> f64 {
        let terms = spiders.map(|spider| self.terms.of(spider, &site.key));
        let pauses = terms.map(|terms| {
            let connections = u32::try_from(terms.connections.max(1)).unwrap_or(u32::MAX);
            terms.pause_of(site.counters.known) / connections
        });
        let pause = pauses.max().unwrap_or(self.options.pause);
        if pause.is_zero() {
            return f64::INFINITY;
        }
        let delay = self.crawl_delay_of(site).min(self.options.crawl_delay_max);
        let rest = site.clock.last_response.mul_f64(self.options.response_factor);
        DAY.as_secs_f64() / pause.max(delay).max(rest).as_secs_f64()
    }

    /// Few files have one: the others are not read for it.
    fn crawl_delay_of(&self, site: &Site) -> Duration {
        let asks = |text: &&str| text.to_ascii_lowercase().contains("crawl-delay");
        let texts = site.robots.iter().filter_map(|copy| match &copy.answer {
            RobotsAnswer::Rules(text) => Some(text.as_str()),
            _ => None,
        });
        let delays = texts
            .filter(asks)
            .filter_map(|text| Robots::read(text).crawl_delay(&self.options.token));
        delays.max().unwrap_or_default()
    }

    pub(super) fn look_at_all(&mut self, now: Timestamp) {
        self.look_at(|_| true, now);
    }

    /// In order of their names: what happens must not hang on the order of a hash table.
    fn look_at(&mut self, concerned: impl Fn(&Seat) -> bool, now: Timestamp) {
        let sites = self.seats.iter().filter(|(_, seat)| concerned(seat));
        let mut sites: Vec<SiteKey> = sites.map(|(site, _)| site.clone()).collect();
        sites.sort_unstable();
        sites.iter().for_each(|site| self.reschedule(site, now));
    }
}

fn reached((pages_max, bytes_max): (Option<u64>, Option<u64>), spent: Spent) -> Option<LimitInAll> {
    let pages = pages_max.is_some_and(|max| spent.pages >= max).then_some(LimitInAll::Pages);
    let bytes = bytes_max.is_some_and(|max| spent.bytes >= max).then_some(LimitInAll::Bytes);
    pages.or(bytes)
}
