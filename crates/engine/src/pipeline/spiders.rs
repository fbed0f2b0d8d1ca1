//! The spiders of a crawl: whose rules judge a page's links, and whose policy says when it is visited again.
//!
//! A page belongs to the spider that admitted it. A spider that is edited while the crawl runs is replaced as
//! a whole; whoever works with one at that moment finishes with what it took. What its seeds cover outlives
//! the edit.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use gatherer::GatherOptions;
use harvester::login::LoginForm;
use manager::{FrequencyOn, Policy, Stake};
use model::{Candidate, CrawlUrl, FetchLimits, Origin, Page, Refusal, SiteKey, SpiderId, Verdict};
use seeder::{Blocks, Folds, SeedSet, SpiderRules, Wildcards};

use store::replicas::{ReplicaRow, ReplicaState};

use super::{
    answer_notes::AnswerNotes, guards::Guards, notices::Vouchers, quarantine::Quarantine,
    stops::Stops,
};
use config::{
    Overrides, PageOverride,
    setup::{ChangeCriteria, network::CookieStock, returns::Returns},
};

/// Where no cycle says more.
const TURN: Duration = Duration::from_secs(43_200);

pub struct Spider {
    pub id: SpiderId,
    pub name: String,
    pub rules: SpiderRules,
    pub seeds: Arc<RwLock<SeedSet>>,
    /// When its pages are visited again.
    pub returns: Returns,
    /// What is otherwise with some pages.
    pub overrides: Overrides,
    /// What counts as a change.
    pub notion: ChangeCriteria,
    pub gather: GatherOptions,
    pub fetch_limits: Arc<FetchLimits>,
    /// Of a part of a page, in bytes; its type is not asked for.
    pub requisite_bytes_max: u64,
    pub cookies: CookieStock,
    /// Where it shows who it is: cookies from there are as good as the password.
    pub credentials: Vec<Origin>,
    /// At most one counts for each site: the first.
    pub logins: Vec<LoginForm>,
}

impl Spider {
    pub fn judge(&self, candidate: &Candidate) -> Verdict {
        let seeds = self.seeds.read().unwrap_or_else(PoisonError::into_inner);
        self.rules.judge(candidate, &seeds)
    }

    /// What the rules say of an answer of this type, where they had to wait for it.
    pub fn judge_answer(&self, page: &Page, media_type: &str) -> Option<Refusal> {
        let seeds = self.seeds.read().unwrap_or_else(PoisonError::into_inner);
        self.rules.judge_answer(page, media_type, &seeds)
    }

    /// What a seed names, or redirects to, belongs to what the seeds cover.
    pub fn join(&self, url: &CrawlUrl) {
        self.seeds.write().unwrap_or_else(PoisonError::into_inner).join(url);
    }

    /// What the user wants of this page stands over what the spider does with others.
    pub fn policy_of(&self, page: &Page) -> Policy {
        self.returns.policy(page, self.other_terms_of(page).as_ref())
    }

    /// Whether the page comes back by itself, and not with a batch, with its seed or not at all.
    pub fn has_return(&self, page: &Page) -> bool {
        match self.policy_of(page) {
            Policy::Value(_) | Policy::Fixed { .. } => true,
            Policy::Frequency(frequency) => frequency.on == FrequencyOn::Pages || page.seed,
            Policy::Profit(_) | Policy::Once => false,
        }
    }

    /// Visits of the page and of those that go along with it that are less than this apart belong to one turn.
    pub fn turn_of(&self, page: &Page) -> Duration {
        match self.policy_of(page) {
            Policy::Frequency(frequency) => frequency.cycle / 2,
            _ => TURN,
        }
    }

    /// What decides about the page besides its habit.
    pub fn stake_of(&self, page: &Page) -> Stake {
        self.returns.stake(page, self.other_terms_of(page).as_ref())
    }

    /// What counts as a change of this page, and how it is read to see that.
    pub fn reading_of(&self, page: &Page) -> (Cow<'_, ChangeCriteria>, Cow<'_, GatherOptions>) {
        let usual = || (Cow::Borrowed(&self.notion), Cow::Borrowed(&self.gather));
        let Some(other) = self.other_terms_of(page) else { return usual() };
        if other.change.is_none() && other.watch.is_none() && other.ignore.is_none() {
            return usual();
        }
        let notion = ChangeCriteria {
            by: other.change.unwrap_or(self.notion.by),
            watch: other.watch.unwrap_or_else(|| self.notion.watch.clone()),
            ignore: other.ignore.unwrap_or_else(|| self.notion.ignore.clone()),
        };
        let gather = GatherOptions { selection: notion.selection(), ..self.gather.clone() };
        (Cow::Owned(notion), Cow::Owned(gather))
    }

    /// How much one visit to the page may take and bring.
    pub fn limits_of(&self, page: &Page) -> Arc<FetchLimits> {
        let other = self.other_terms_of(page);
        let is_notice = page.terms.notice.is_some();
        if other.is_none() && !page.terms.requisite && !is_notice {
            return self.fetch_limits.clone();
        }
        let mut limits: FetchLimits = (*self.fetch_limits).clone();
        if let Some(other) = other {
            other.limit(&mut limits);
        }
        if page.terms.requisite {
            limits.body_bytes_max = self.requisite_bytes_max;
            limits.media_types = vec!["*/*".to_owned()];
        }
        if is_notice {
            limits.body_bytes_max = model::limits::NOTICE_BYTES_MAX;
            limits.media_types = vec!["*/*".to_owned()];
        }
        Arc::new(limits)
    }

    /// The form to send before its pages of this site are asked for.
    pub fn login_at(&self, site: &SiteKey) -> Option<&LoginForm> {
        self.logins.iter().find(|form| form.page.site() == *site)
    }

    fn other_terms_of(&self, page: &Page) -> Option<PageOverride> {
        if self.overrides.is_empty() {
            return None;
        }
        Some(self.overrides.page(&self.name, &page.url, page.level))
    }
}

pub struct Spiders {
    all: RwLock<BTreeMap<SpiderId, Arc<Spider>>>,
    /// Shared by all: what is kept away from.
    pub blocks: Blocks,
    /// Shared by all: sites whose URLs are rewritten to those of their originals.
    pub folds: Folds,
    /// Shared by all: domains under which every name resolves.
    pub wildcards: Wildcards,
    /// Shared by all: which sites named a notice on another host as theirs.
    pub vouchers: Vouchers,
    /// Shared by all: what broke its reading down.
    pub quarantine: Quarantine,
    pub guards: Guards,
    /// Shared by all: what the traps of sites in hand have against their URLs.
    pub stops: Stops,
    /// Shared by all: what answers have shown so far.
    pub notes: AnswerNotes,
}

impl Spiders {
    pub fn new(blocks: Blocks, spiders: impl IntoIterator<Item = Spider>) -> Spiders {
        let made = Spiders {
            all: RwLock::default(),
            blocks,
            folds: Folds::default(),
            wildcards: Wildcards::default(),
            vouchers: Vouchers::default(),
            quarantine: Quarantine::default(),
            guards: Guards::default(),
            stops: Stops::default(),
            notes: AnswerNotes::default(),
        };
        spiders.into_iter().for_each(|spider| made.set(spider));
        made
    }

    /// The list of replicas as it stands: exactly the folded ones are rewritten.
    pub fn fold(&self, rows: &[ReplicaRow]) {
        for row in rows {
            match row.state {
                ReplicaState::Folded => self.folds.add(&row.site, &row.origin),
                _ => self.folds.remove(&row.site),
            }
        }
    }

    /// The page's spider; where it is gone (its record is adopted after a crash), the first one.
    ///
    /// # Panics
    /// When there is no spider at all: a collection always has the first.
    pub fn of(&self, id: SpiderId) -> Arc<Spider> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let found = all.get(&id).or_else(|| all.values().next());
        found.expect("a collection has at least its first spider").clone()
    }

    pub fn get(&self, id: SpiderId) -> Option<Arc<Spider>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    pub fn named(&self, name: &str) -> Option<Arc<Spider>> {
        self.all().into_iter().find(|spider| spider.name == name)
    }

    pub fn set(&self, mut spider: Spider) {
        spider.rules.folds = self.folds.clone();
        spider.rules.wildcards = self.wildcards.clone();
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(spider.id, Arc::new(spider));
    }

    pub fn remove(&self, id: SpiderId) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    pub fn all(&self) -> Vec<Arc<Spider>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
