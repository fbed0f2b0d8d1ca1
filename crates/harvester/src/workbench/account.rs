//! Accounts: what was drawn from the limits in all, of a spider, of a domain and of a site, and what visits
//! under way may still draw. A visit reserves before it begins and settles when it ends, so no limit is ever
//! exceeded, whatever is under way at once.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use model::{SiteKey, Spent, SpiderId};

use super::{Options, SiteTerms, SpiderLimits, lines::Line};

/// More than any answer brings, and small enough that sums of reservations never overflow.
const SHARE_BYTES_MAX: u64 = 1 << 40;

/// Far more domains than are lent out between a check-out and its arrival.
const CLOSED_MAX: usize = 4_096;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub spent: Spent,
    pub reserved: Spent,
}

/// What a visit may draw, from each of its accounts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub pages: u64,
    pub bytes: u64,
}

/// Whether a spider's pages of a site may be visited now.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// Pages that answered before, and parts of pages: they need bytes only.
    pub known: Entry,
    /// Pages never fetched.
    pub fresh: Entry,
    /// What a visit reserves. Where a limit holds, the answer is cut there.
    pub bytes: u64,
    pub limited: bool,
    /// A limit of the spider, the domain or the site is used up. Those in all do not count: they end the
    /// crawl.
    pub full: bool,
}

/// In order of weight: the heaviest of several decides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entry {
    Open,
    /// Until a visit under way settles.
    Wait(Line),
    /// A limit on pages is used up, or one in all.
    Full,
    /// A spider's or site's limit on bytes is used up.
    Spent,
    Paused,
}

#[derive(Debug, Default)]
pub(super) struct Books {
    pub in_all: Account,
    spiders: BTreeMap<SpiderId, Book>,
    domains: HashMap<Arc<str>, Domain>,
    /// Domains that nobody uses, oldest first; some may be in use again.
    closed: VecDeque<Arc<str>>,
}

#[derive(Debug, Default)]
struct Book {
    limits: SpiderLimits,
    account: Account,
    in_flight: usize,
}

/// Kept while a site of the domain is in hand or a visit to one under way, and a while longer.
#[derive(Debug, Default)]
struct Domain {
    account: Account,
    seats: usize,
}

impl Domain {
    fn is_unused(&self) -> bool {
        self.seats == 0 && self.account.reserved == Spent::default()
    }
}

/// What a visit under way belongs to.
#[derive(Clone, Debug)]
pub(super) struct Payer {
    pub spider: SpiderId,
    pub domain: Arc<str>,
}

impl Account {
    /// The account of a site or domain just lent out. What this process still has under way there is in
    /// nobody else's books, so the larger figure holds.
    pub fn renew(&mut self, spent: Spent) {
        self.spent = match self.reserved == Spent::default() {
            true => spent,
            false => Spent {
                pages: self.spent.pages.max(spent.pages),
                bytes: self.spent.bytes.max(spent.bytes),
            },
        };
    }

    /// What was drawn never becomes less: of two figures the larger is the newer.
    fn raise(&mut self, spent: Spent) {
        self.spent.pages = self.spent.pages.max(spent.pages);
        self.spent.bytes = self.spent.bytes.max(spent.bytes);
    }

    pub fn reserve(&mut self, share: Share) {
        self.reserved.pages += share.pages;
        self.reserved.bytes += share.bytes;
    }

    pub fn settle(&mut self, share: Share, drawn: Spent) {
        self.reserved.pages -= share.pages;
        self.reserved.bytes -= share.bytes;
        self.spent.pages += drawn.pages;
        self.spent.bytes += drawn.bytes;
    }

    fn pages(&self, max: Option<u64>, line: impl FnOnce() -> Line) -> Entry {
        match max {
            // Spiders may have different limits on one account: what others reserve is no reason to wait.
            Some(max) if self.spent.pages >= max => Entry::Full,
            Some(max) if self.spent.pages + self.reserved.pages >= max => Entry::Wait(line()),
            _ => Entry::Open,
        }
    }

    /// The whole of what is wanted, or else all that is left once nobody else may draw on it.
    fn bytes(&self, max: Option<u64>, wanted: &mut u64, line: Line) -> Entry {
        let Some(max) = max else { return Entry::Open };
        let left = max.saturating_sub(self.spent.bytes + self.reserved.bytes);
        if self.spent.bytes >= max {
            Entry::Spent
        } else if left >= *wanted {
            Entry::Open
        } else if self.reserved.bytes > 0 {
            Entry::Wait(line)
        } else {
            *wanted = left;
            Entry::Open
        }
    }
}

impl Entry {
    fn is_full(&self) -> bool {
        matches!(self, Entry::Full | Entry::Spent)
    }
}

impl Access {
    pub const SHUT: Access = Access {
        known: Entry::Paused,
        fresh: Entry::Paused,
        bytes: 0,
        limited: false,
        full: false,
    };
}

impl Books {
    pub fn new(spent: Spent) -> Books {
        Books { in_all: Account { spent, ..Account::default() }, ..Books::default() }
    }

    pub fn spent_by(&self, spider: SpiderId) -> Spent {
        self.spiders.get(&spider).map_or_else(Spent::default, |book| book.account.spent)
    }

    pub fn limits_of(&self, spider: SpiderId) -> (Option<u64>, Option<u64>) {
        let limits = self.spiders.get(&spider).map(|book| &book.limits);
        limits.map_or((None, None), |limits| (limits.pages_max, limits.bytes_max))
    }

    pub fn set_spider(&mut self, spider: SpiderId, limits: SpiderLimits, spent: Option<Spent>) {
        let book = self.spiders.entry(spider).or_default();
        book.limits = limits;
        if let Some(spent) = spent {
            book.account.spent = spent;
        }
    }

    pub fn lend(&mut self, site: &SiteKey, spent: Spent) -> Arc<str> {
        let domain: Arc<str> = Arc::from(site.domain());
        let entry = self.domains.entry(domain.clone()).or_default();
        entry.account.raise(spent);
        entry.seats += 1;
        domain
    }

    pub fn give_back(&mut self, domain: &Arc<str>) {
        if let Some(entry) = self.domains.get_mut(domain) {
            entry.seats -= 1;
        }
        self.close(domain);
    }

    pub fn begin(&mut self, spider: SpiderId) {
        self.spiders.entry(spider).or_default().in_flight += 1;
    }

    pub fn end(&mut self, spider: SpiderId) {
        self.spiders.entry(spider).or_default().in_flight -= 1;
    }

    pub fn reserve(&mut self, payer: &Payer, share: Share) {
        self.each(payer, |account| account.reserve(share));
    }

    pub fn settle(&mut self, payer: &Payer, share: Share, drawn: Spent) {
        self.each(payer, |account| account.settle(share, drawn));
        self.close(&payer.domain);
    }

    pub fn access(
        &self,
        (spider, domain): (SpiderId, &Arc<str>),
        terms: &SiteTerms,
        site: &Account,
        options: &Options,
    ) -> Access {
        let none = Book::default();
        let book = self.spiders.get(&spider).unwrap_or(&none);
        let limits = &book.limits;
        if limits.paused || limits.fetches_max == Some(0) {
            return Access::SHUT;
        }
        let of_spider = || Line::Spider(spider);
        let whole = terms.answer_bytes_max.clamp(1, SHARE_BYTES_MAX);
        let mut bytes = whole;
        // The crawl is over then, and its sites are not to rest for it.
        let bytes_in_all = match self.in_all.bytes(options.bytes_max, &mut bytes, Line::InAll) {
            Entry::Spent => Entry::Full,
            entry => entry,
        };
        let bytes_here = book
            .account
            .bytes(limits.bytes_max, &mut bytes, of_spider())
            .max(site.bytes(terms.bytes_max, &mut bytes, Line::Site));
        let slots = match limits.fetches_max {
            Some(max) if book.in_flight >= max => Entry::Wait(of_spider()),
            _ => Entry::Open,
        };
        let pages_in_all = self.in_all.pages(options.pages_max, || Line::InAll);
        let pages_here = book
            .account
            .pages(limits.pages_max, of_spider)
            .max(self.domain_pages(domain, terms.domain_pages_max))
            .max(site.pages(terms.pages_max, || Line::Site));
        let full = bytes_here.is_full() || pages_here.is_full();
        let known = bytes_in_all.max(bytes_here).max(slots);
        let fresh = known.clone().max(pages_in_all).max(pages_here);
        let limited = options.bytes_max.or(limits.bytes_max).or(terms.bytes_max).is_some();
        Access { known, fresh, bytes, limited, full }
    }

    fn domain_pages(&self, domain: &Arc<str>, max: Option<u64>) -> Entry {
        let account = max.and_then(|_| Some(self.domains.get(domain)?.account));
        account.map_or(Entry::Open, |account| account.pages(max, || Line::Domain(domain.clone())))
    }

    fn each(&mut self, payer: &Payer, mut change: impl FnMut(&mut Account)) {
        change(&mut self.in_all);
        change(&mut self.spiders.entry(payer.spider).or_default().account);
        if let Some(domain) = self.domains.get_mut(&payer.domain) {
            change(&mut domain.account);
        }
    }

    /// A lease on its way may have been written before the last visits were settled: what is known here is
    /// kept a while, so that its older figure does not stand for the newer one.
    fn close(&mut self, domain: &Arc<str>) {
        if !self.domains.get(domain).is_some_and(Domain::is_unused) {
            return;
        }
        self.closed.push_back(domain.clone());
        if self.closed.len() > CLOSED_MAX
            && let Some(oldest) = self.closed.pop_front()
            && self.domains.get(&oldest).is_some_and(Domain::is_unused)
        {
            self.domains.remove(&oldest);
        }
    }
}
