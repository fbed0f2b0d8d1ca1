//! A site in memory: its pages, and two queues of them by when they are due.
//!
//! - A page with a due is in exactly one queue: `Turn::First` until it was fetched, `Turn::Again` from then on,
//!   and while all it says is that it is elsewhere or gone.
//! - Counters follow from each page's standing before and after a change.

mod lending;

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use model::{
    Candidate, Change, Children, Condition, Counts, Fingerprint, Habit, LastVersion, NewPage, Page,
    PageState, PageTerms, PageUpdate, Signal, Site, SiteClock, SiteCounters, SiteDelta, SiteHabit,
    SiteId, SiteKey, SiteTraps, SpiderId, Timestamp, Visit, limits,
};

pub(in crate::frontier::memory) use self::lending::{Lot, Wish};

pub(super) const DAY: i64 = 86_400_000;

/// Which of its two queues a page waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// To be judged or fetched for the first time.
    First = 0,
    /// To be seen again.
    Again = 1,
}

pub(super) struct MemorySite {
    pub site: Site,
    pub fence: u64,
    /// In hand until.
    pub leased: Option<Timestamp>,
    pub not_before: Timestamp,
    /// Given back to rest, and nothing came since.
    pub resting: bool,
    /// Something came while the site was in hand.
    pub stirred: bool,
    pub full: Vec<SpiderId>,
    /// The day, and how long the site was visited on it.
    pub worked: (i64, Duration),
    /// Under which moments the frontier has noted the site.
    pub noted: [Option<Timestamp>; 2],
    rows: Vec<Row>,
    by_fp: HashMap<Fingerprint, u32>,
    queues: [BTreeSet<(Timestamp, i64, u32)>; 2],
}

struct Row {
    page: Page,
    /// `page.due` means something.
    waits: bool,
    /// Answered with content at least once.
    fetched: bool,
    visited: Option<Timestamp>,
    /// The internal pages it links to, where somebody noted them.
    children: Option<Vec<Fingerprint>>,
}

impl Row {
    fn turn(&self) -> Turn {
        let answered = matches!(self.page.state, PageState::Redirected | PageState::Gone);
        if self.fetched || answered { Turn::Again } else { Turn::First }
    }

    fn key(&self, index: u32) -> (Timestamp, i64, u32) {
        (self.page.due, self.page.url.fingerprint().0 as i64, index)
    }
}

impl MemorySite {
    pub fn new(id: SiteId, key: SiteKey) -> MemorySite {
        MemorySite {
            site: Site {
                id,
                key,
                seeded: false,
                counters: SiteCounters::default(),
                clock: SiteClock::default(),
                habit: SiteHabit::default(),
                traps: SiteTraps::default(),
                robots: Vec::new(),
            },
            fence: 0,
            leased: None,
            not_before: Timestamp::ZERO,
            resting: false,
            stirred: false,
            full: Vec::new(),
            worked: (0, Duration::ZERO),
            noted: [None; 2],
            rows: Vec::new(),
            by_fp: HashMap::new(),
            queues: [BTreeSet::new(), BTreeSet::new()],
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn has(&self, fp: Fingerprint) -> bool {
        self.by_fp.contains_key(&fp)
    }

    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        self.rows.iter().map(|row| &row.page)
    }

    /// Those that were inserted after this one, in that order.
    pub fn pages_behind(&self, after: Option<Fingerprint>) -> impl Iterator<Item = &Page> {
        let from = after.and_then(|fp| self.by_fp.get(&fp)).map_or(0, |index| index + 1);
        self.rows[from as usize..].iter().map(|row| &row.page)
    }

    /// Pages that were fetched before and are no parts of others.
    pub fn fetched(&self) -> impl Iterator<Item = &Page> {
        let rows = self.rows.iter().filter(|row| row.fetched && !row.page.terms.requisite);
        rows.map(|row| &row.page)
    }

    pub fn named(&self, fp: Fingerprint) -> Option<Page> {
        self.by_fp.get(&fp).map(|index| self.lent(&self.rows[*index as usize]))
    }

    /// All fingerprints but those of parts of pages.
    pub fn known(&self) -> Vec<Fingerprint> {
        let pages = self.pages().filter(|page| !page.terms.requisite);
        pages.map(|page| page.url.fingerprint()).collect()
    }

    fn change(&mut self, index: u32, counts: &mut Counts, change: impl FnOnce(&mut Row)) {
        let row = &mut self.rows[index as usize];
        let (key, turn) = (row.key(index), row.turn());
        let waited = row.waits;
        tally(counts, &mut self.site.counters, row, -1);
        change(row);
        tally(counts, &mut self.site.counters, row, 1);
        let now = (row.key(index), row.turn());
        if waited && (!row.waits || (key, turn) != now) {
            self.queues[turn as usize].remove(&key);
        }
        if row.waits && (!waited || (key, turn) != now) {
            self.queues[now.1 as usize].insert(now.0);
        }
    }

    fn insert(&mut self, page: Page, counts: &mut Counts) {
        let index = self.rows.len() as u32;
        self.by_fp.insert(page.url.fingerprint(), index);
        let row = Row { page, waits: true, fetched: false, visited: None, children: None };
        tally(counts, &mut self.site.counters, &row, 1);
        self.queues[row.turn() as usize].insert(row.key(index));
        self.rows.push(row);
    }

    /// The site has as many notices as are taken of one.
    fn refuses(&self, fp: Fingerprint, terms: &PageTerms) -> bool {
        let is_one = |row: &Row| row.page.terms.notice.is_some();
        let held = self.by_fp.get(&fp).map(|index| &self.rows[*index as usize]);
        terms.notice.is_some()
            && !held.is_some_and(is_one)
            && self.rows.iter().filter(|row| is_one(row)).count() as u64
                >= limits::NOTICES_PER_SITE_MAX
    }

    /// (It is new, it may be due earlier than before.)
    pub fn meet(&mut self, found: &Candidate, counts: &mut Counts, now: Timestamp) -> (bool, bool) {
        if self.refuses(found.url.fingerprint(), &found.terms) {
            counts.refused += 1;
            return (false, false);
        }
        self.site.seeded |= found.seed;
        let Some(index) = self.by_fp.get(&found.url.fingerprint()).copied() else {
            self.insert(candidate_page(found, now), counts);
            return (true, true);
        };
        let mut awake = false;
        self.change(index, counts, |row| {
            let page = &mut row.page;
            // Nothing takes the mark of a notice away.
            page.terms.notice = found.terms.notice.or(page.terms.notice);
            if page.terms.requisite && !found.terms.requisite {
                let (seed, notice) = (page.seed || found.seed, page.terms.notice);
                *page = Page { seed, ..candidate_page(found, now) };
                page.terms.notice = notice;
                (row.fetched, row.waits, awake) = (false, true, true);
                return;
            }
            if !found.terms.requisite && !row.fetched {
                page.level = page.level.min(found.level);
            }
            if !found.seed {
                return;
            }
            let changes_hands = !page.seed && page.spider != found.spider;
            page.seed = true;
            if changes_hands {
                (page.spider, page.level) = (found.spider, page.level.min(found.level));
            }
            if changes_hands || page.state == PageState::Excluded {
                (page.due, row.waits, awake) = (now, true, true);
                if page.state == PageState::Excluded {
                    page.state = PageState::Candidate;
                }
            } else if let Some(period) = found.terms.period {
                let seen = page.last.as_ref().map_or(Timestamp::ZERO, |last| last.visited);
                let due = seen.plus(period).max(now);
                page.terms.period = Some(period);
                if !row.waits || page.due > due {
                    (page.due, row.waits, awake) = (due, true, true);
                }
            }
        });
        (false, awake)
    }

    /// A page that the holder of the lease lets in.
    pub fn accept(&mut self, new: &NewPage, counts: &mut Counts) {
        if self.refuses(new.url.fingerprint(), &new.terms) {
            counts.refused += 1;
            return;
        }
        let page = Page {
            url: new.url.clone(),
            spider: new.spider,
            state: PageState::Known,
            level: new.level,
            hops: new.hops,
            seed: new.seed,
            due: new.due,
            failures: 0,
            terms: new.terms,
            habit: Habit::default(),
            children: None,
            last: None,
        };
        let Some(index) = self.by_fp.get(&new.url.fingerprint()).copied() else {
            return self.insert(page, counts);
        };
        self.change(index, counts, |row| {
            let held = &mut row.page;
            let notice = new.terms.notice.or(held.terms.notice);
            held.terms.notice = notice;
            if new.terms.requisite && !held.terms.requisite {
                return;
            }
            if held.terms.requisite && !new.terms.requisite {
                *held = Page { seed: held.seed || new.seed, ..page };
                held.terms.notice = notice;
                (row.fetched, row.waits) = (false, true);
                return;
            }
            let level = if row.fetched { held.level } else { held.level.min(new.level) };
            held.level = level;
            if held.state == PageState::Candidate {
                let seed = held.seed || new.seed;
                let (habit, last) = (held.habit, held.last.take());
                *held = Page { level, seed, habit, last, ..page };
                row.waits = true;
            }
        });
    }

    /// What a visit or a verdict changes. The page is there: see [`MemorySite::has`].
    pub fn update(&mut self, update: &PageUpdate, counts: &mut Counts) {
        let Some(index) = self.by_fp.get(&update.fp).copied() else { return };
        self.change(index, counts, |row| {
            row.page.state = update.state;
            row.page.failures = update.failures;
            row.waits = update.due.is_some();
            row.page.due = update.due.unwrap_or(row.page.due);
            row.fetched |= update.state == PageState::Fetched;
            if let Some(habit) = update.habit {
                // What was told once is no news to the next poll, whatever the visit made of it.
                let announced = habit.announced.max(row.page.habit.announced);
                row.page.habit = Habit { announced, ..habit };
            }
            if let Some(children) = &update.children {
                let kept = &children[..children.len().min(Children::MAX)];
                row.children = (!kept.is_empty()).then(|| kept.to_vec());
            }
            if let Some(visit) = &update.visit {
                row.visited = Some(visit.at);
                keep_version(&mut row.page, visit, update);
            }
        });
        if let Some(visit) = &update.visit {
            self.site.counters.visits += 1;
            self.site.counters.bytes += visit.wire_bytes;
            counts.visits += 1;
            counts.bytes += visit.wire_bytes;
            counts.versions += u64::from(visit.change.is_version());
        }
    }

    /// What the holder of the lease learned of the site as a whole.
    pub fn learn(&mut self, delta: &SiteDelta, now: Timestamp) {
        let site = &mut self.site;
        site.seeded |= delta.seeded;
        site.counters.duplicates += delta.duplicates;
        site.clock = delta.clock.unwrap_or(site.clock);
        if let Some(traps) = &delta.traps {
            site.traps = traps.clone();
        }
        if let Some(habit) = &delta.habit {
            site.habit = habit.clone();
        }
        for copy in &delta.robots {
            site.robots.retain(|held| held.origin != copy.origin);
            site.robots.push(copy.clone());
        }
        site.robots.sort_by(|a, b| a.origin.cmp(&b.origin));
        let today = now.0.div_euclid(DAY);
        let earlier = if self.worked.0 == today { self.worked.1 } else { Duration::ZERO };
        self.worked = (today, earlier.saturating_add(delta.worked));
    }

    /// Noted if the page is known and it is news. A believed one makes the page due, for its value has to be
    /// reckoned anew: one whose due was reckoned by value, and that answers.
    pub fn announce(&mut self, signal: &Signal, counts: &mut Counts, now: Timestamp) {
        let Some(index) = self.by_fp.get(&signal.fp).copied() else { return };
        self.change(index, counts, |row| {
            let answers = matches!(row.page.state, PageState::Fetched | PageState::Redirected);
            let by_value = answers && row.page.habit.price > 0.0;
            if row.page.habit.hear(signal, now) && signal.believed && by_value {
                row.page.due = row.page.due.min(now);
            }
        });
    }

    /// Children of `parent` that were not visited since are due now.
    pub fn call_children(
        &mut self,
        parent: Fingerprint,
        since: Timestamp,
        counts: &mut Counts,
        now: Timestamp,
    ) {
        let Some(index) = self.by_fp.get(&parent).copied() else { return };
        let children = self.rows[index as usize].children.clone().unwrap_or_default();
        for child in children {
            let Some(index) = self.by_fp.get(&child).copied() else { continue };
            let row = &self.rows[index as usize];
            let waits = !row.waits || row.page.due > now;
            let seen = row.visited.is_some_and(|visited| visited > since);
            if waits && !seen && (1..=5).contains(&(row.page.state as u8)) {
                self.change(index, counts, |row| {
                    (row.page.due, row.waits) = (now.min(since), true)
                });
            }
        }
    }

    /// The page is due at `now`; false where it is not known, due already, or was visited after `since`.
    pub fn call(
        &mut self,
        fp: Fingerprint,
        counts: &mut Counts,
        since: Timestamp,
        now: Timestamp,
    ) -> bool {
        let Some(index) = self.by_fp.get(&fp).copied() else { return false };
        let row = &self.rows[index as usize];
        let visited = row.visited.is_some_and(|at| at > since && at <= now);
        if visited || row.waits && row.page.due <= now {
            return false;
        }
        self.change(index, counts, |row| (row.page.due, row.waits) = (now, true));
        true
    }
}

fn candidate_page(found: &Candidate, now: Timestamp) -> Page {
    Page {
        url: found.url.clone(),
        spider: found.spider,
        state: PageState::Candidate,
        level: found.level,
        hops: found.hops,
        seed: found.seed,
        due: now,
        failures: 0,
        terms: found.terms,
        habit: Habit::default(),
        children: None,
        last: None,
    }
}

/// The version at hand after this visit, as the history keeps it: what shows the same again only moves the
/// time, unless its bytes are others.
fn keep_version(page: &mut Page, visit: &Visit, update: &PageUpdate) {
    let shows = page.last.as_ref().is_some_and(|last| {
        visit.change == Change::NotModified || last.payload_digest == visit.payload_digest
    });
    if visit.change.folds() && shows {
        if let Some(last) = &mut page.last {
            last.visited = visit.at;
            last.seen += 1;
            last.fresh = false;
            // It holds until the version is seen again.
            last.sketch = last.sketch.take().map(|_| Vec::new());
        }
    } else if visit.change == Change::Gone {
        if let Some(last) = &mut page.last {
            last.gone = true;
        }
    } else if visit.change.is_version() || visit.change == Change::Unchanged {
        let facts = update.facts.as_ref();
        page.last = Some(LastVersion {
            visited: visit.at,
            condition: Condition {
                etag: facts.and_then(|facts| facts.etag.clone()),
                last_modified: facts.and_then(|facts| facts.last_modified.clone()),
            },
            payload_digest: visit.payload_digest,
            content_hash: visit.content_hash,
            text_hash: visit.text_hash,
            record: visit.record,
            record_date: visit.at,
            whole: !visit.revisit,
            body_bytes: visit.body_bytes,
            seen: 1,
            fresh: visit.change == Change::Changed,
            sketch: facts.and_then(|facts| facts.sketch.clone()),
            unavailable_after: facts.and_then(|facts| facts.unavailable_after),
            ..LastVersion::default()
        });
    }
}

/// What a page adds to the counters, or with `sign` -1 takes from them.
fn tally(counts: &mut Counts, counters: &mut SiteCounters, row: &Row, sign: i64) {
    let state = row.page.state;
    let add = |counter: &mut u64| *counter = counter.saturating_add_signed(sign);
    let is_known = !matches!(state, PageState::Candidate | PageState::Excluded);
    if row.page.terms.requisite {
        if is_known {
            add(&mut counts.requisites);
            add(&mut counters.requisites);
        }
        return;
    }
    if is_known {
        add(&mut counts.pages_known);
        add(&mut counters.known);
    }
    if row.fetched {
        add(&mut counters.fetched);
    }
    match state {
        PageState::Candidate => add(&mut counts.candidates),
        PageState::Known => {
            add(&mut counts.pages_waiting);
            add(&mut counters.waiting);
        }
        PageState::Fetched => add(&mut counts.pages_fetched),
        PageState::Redirected => add(&mut counts.pages_redirected),
        PageState::Failing => {
            add(&mut counts.pages_failed);
            add(&mut counters.failed);
        }
        PageState::Gone => add(&mut counts.pages_gone),
        PageState::Excluded => add(&mut counts.pages_excluded),
    }
}
