//! The rules of a spider, in the order in which they judge a candidate.
//!
//! There is one list of rules ([`RULES`]) with two readers: [`SpiderRules::judge`] stops at the first
//! objection, [`SpiderRules::explain`] tells of every step on the way there. Neither knows more rules
//! than the other.
//!
//! **Rules and scope.** The user's [`RuleList`] is asked before the scope, and its first rule that holds
//! decides between them: `reject` keeps a URL out, inside the scope or not, seed or not; `accept` lets one
//! in that lies outside. Where no rule holds the scope decides. All other rules (length, port, depth,
//! redirects, reject lists, the user's script) hold for what a rule accepted as for anything else.
//!
//! A rule may ask for what is not known yet (a link's text, the answer's media type). Then a URL is let
//! in if something still to be known could accept it, and [`SpiderRules::judge_answer`] decides when the
//! head of the answer is there.
//!
//! **Scope and external links.** The scope is a border: nothing outside it is admitted but by an `accept`
//! rule, what a seed redirects to (that joins the seeds), and what lies within `outside_max` links of it
//! (counted in [`model::PageTerms::outside`]). [`ExternalPolicy`] says how a link from one site to
//! another *inside* the scope is taken (VN's home-page, deep and combined policies; seed 003 of the
//! design). So `scope = site` stays on the seeds' sites whatever the policy, and VN's own crawl is
//! `scope = any` with one of its policies. Redirects are no links: they lead where they lead.
//!
//! **Seeds** (and what they redirect to) are in scope on any port but those that browsers refuse, and the shipped reject list does not
//! hold them back, since somebody named them; the user's own blocks, rules, patterns and script do.
//!
//! **Parts of pages** belong to their pages: of them only blocks, length, ports and redirects are asked.

mod border;
mod inquiry;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use model::{Candidate, CrawlUrl, Page, Refusal, Verdict, limits};

pub use self::border::{Expansion, ExternalPolicy, Scope};
pub(crate) use self::inquiry::Inquiry;
use crate::{
    Blocks, Depths, Folds, LogList, Marking, NoticeRules, RejectList, RuleList, Script, SeedSet,
    UrlForm, Wildcards, objection::Objection, traps::TrapRules,
};

#[derive(Clone, Debug)]
pub struct SpiderRules {
    /// Shared with whoever visits: may change while a crawl runs.
    pub blocks: Blocks,
    /// Likewise: sites whose URLs are rewritten to those of their originals.
    pub folds: Folds,
    /// Likewise: domains under which every name resolves.
    pub wildcards: Wildcards,
    /// The user's own, asked before the scope.
    pub list: RuleList,
    pub scope: Scope,
    /// Links to follow beyond the scope.
    pub outside_max: u8,
    pub external: ExternalPolicy,
    pub expansion: Expansion,
    /// Extensions whose links are only logged.
    pub logged: LogList,
    /// What counts as made on demand.
    pub marking: Marking,
    /// Highest level of a page; 0 is the entry page alone.
    pub depth_max: Option<u16>,
    /// The same for pages that are made on demand (WIRE: 15 static, 5 dynamic); without it,
    /// `depth_max` is for both.
    pub depth_dynamic_max: Option<u16>,
    /// For pages of which the user says otherwise.
    pub other_depths: Option<Arc<dyn Depths>>,
    pub url_bytes_max: usize,
    /// Redirects in a row.
    pub redirects_max: u8,
    pub reject: RejectList,
    pub filter: Option<Arc<Script>>,
    pub form: UrlForm,
    pub follow_nofollow: bool,
    /// Unusual ports allowed besides those that seeds name.
    pub ports: Vec<u16>,
    /// Ports that browsers refuse, and that may be visited all the same.
    pub allow_ports: Vec<u16>,
    /// URLs of a site that no seed names; counted by the holder of its lease (VN's figure).
    pub discovered_urls_max: u64,
    /// Pages of one pattern that a family of near duplicates has before more are refused; 0: no end.
    pub near_duplicates_max: u32,
    /// What sites say of their own pages.
    pub notices: NoticeRules,
    /// When URLs are a trap; asked by the holder of the site's lease.
    pub traps: TrapRules,
}

impl Default for SpiderRules {
    fn default() -> SpiderRules {
        SpiderRules {
            blocks: Blocks::default(),
            folds: Folds::default(),
            wildcards: Wildcards::default(),
            list: RuleList::default(),
            scope: Scope::Site,
            outside_max: 0,
            external: ExternalPolicy::Deep,
            expansion: Expansion::Mixed,
            logged: LogList::default(),
            marking: Marking::default(),
            depth_max: None,
            depth_dynamic_max: None,
            other_depths: None,
            url_bytes_max: limits::URL_BYTES_MAX,
            redirects_max: limits::REDIRECTS_MAX,
            reject: RejectList::default(),
            filter: None,
            form: UrlForm::default(),
            follow_nofollow: false,
            ports: Vec::new(),
            allow_ports: Vec::new(),
            discovered_urls_max: 5_000,
            near_duplicates_max: 10,
            notices: NoticeRules::default(),
            traps: TrapRules::default(),
        }
    }
}

/// One rule's part in a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleStep {
    /// In the configuration's words.
    pub rule: String,
    pub verdict: StepVerdict,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepVerdict {
    Passed,
    /// This rule lets it in; the scope was not asked.
    Admitted,
    /// This rule asks for something that is not known yet.
    Open,
    /// This rule refused; those after it were not asked.
    Decided,
}

/// Blocks first: no other rule opens what the user shut. Then cheap and often decisive first: most refused
/// links leave the scope. The script costs most.
const RULES: [Rule; 13] = [
    Rule::Blocks,
    Rule::Notice,
    Rule::Length,
    Rule::List,
    Rule::Scope,
    Rule::Expansion,
    Rule::Logged,
    Rule::Port,
    Rule::Depth,
    Rule::Redirects,
    Rule::Patterns,
    Rule::Shipped,
    Rule::Filter,
];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    Blocks,
    Notice,
    Length,
    List,
    Scope,
    Expansion,
    Logged,
    Port,
    Depth,
    Redirects,
    Patterns,
    Shipped,
    Filter,
}

impl Rule {
    /// Parts of a page belong to it: only what protects others is asked about them.
    fn concerns(self, candidate: &Candidate) -> bool {
        let is_part = candidate.terms.requisite;
        match self {
            Rule::Blocks | Rule::Length | Rule::Port | Rule::Redirects => true,
            // One that is a page besides is asked for as a page.
            Rule::Notice => is_part && candidate.terms.notice.is_some(),
            _ => !is_part,
        }
    }
}

impl SpiderRules {
    /// A link as the collection writes it: in its form, and where its site is a replica, at the original.
    #[must_use]
    pub fn in_form(&self, url: &CrawlUrl) -> CrawlUrl {
        self.fold(self.form.apply(url))
    }

    /// At the original, where its site is a replica.
    pub(crate) fn fold(&self, url: CrawlUrl) -> CrawlUrl {
        self.folds.fold(&url).unwrap_or(url)
    }

    pub fn judge(&self, candidate: &Candidate, seeds: &SeedSet) -> Verdict {
        match self.objection(candidate, seeds) {
            None => Verdict::Accept,
            Some(objection) => Verdict::Reject(objection.refusal()),
        }
    }

    /// Every rule that was asked, in order; the last one says [`StepVerdict::Decided`] if it refused.
    pub fn explain(&self, candidate: &Candidate, seeds: &SeedSet) -> Vec<RuleStep> {
        self.explain_answer(candidate, None, seeds)
    }

    /// The same for a page whose answer was of this media type.
    pub fn explain_answer(
        &self,
        candidate: &Candidate,
        media_type: Option<&str>,
        seeds: &SeedSet,
    ) -> Vec<RuleStep> {
        let inquiry = Inquiry { media_type, ..Inquiry::new(self, candidate, seeds) };
        let mut steps = Vec::with_capacity(RULES.len() + self.list.rules().len());
        for rule in RULES.into_iter().filter(|rule| rule.concerns(candidate)) {
            let objection = inquiry.ask(rule);
            let decided = objection.is_some();
            inquiry.tell(rule, objection, &mut steps);
            if decided {
                break;
            }
        }
        steps
    }

    /// Whether what becomes of this page depends on its answer's media type.
    pub fn waits_for_type(&self, page: &Page) -> bool {
        self.list.asks_type() && {
            let candidate = Candidate::from(page);
            // Only what the URL says is asked for: the seeds do not matter.
            Inquiry::new(self, &candidate, &SeedSet::default()).opinion().waiting.is_some()
        }
    }

    /// The head of the answer is there: what was let in for the time being may be refused now.
    pub fn judge_answer(&self, page: &Page, media_type: &str, seeds: &SeedSet) -> Option<Refusal> {
        if !self.waits_for_type(page) {
            return None;
        }
        let candidate = Candidate::from(page);
        let media_type = Some(media_type);
        let inquiry = Inquiry { media_type, ..Inquiry::new(self, &candidate, seeds) };
        let objection = [Rule::List, Rule::Scope].into_iter().find_map(|rule| inquiry.ask(rule));
        objection.map(|objection| objection.refusal())
    }

    pub(crate) fn objection(
        &self,
        candidate: &Candidate,
        seeds: &SeedSet,
    ) -> Option<Objection<'_>> {
        Inquiry::new(self, candidate, seeds).objection()
    }

    /// What blocks, the user's rules and the scope say, without the others.
    pub(crate) fn border(&self, candidate: &Candidate, seeds: &SeedSet) -> Option<Objection<'_>> {
        let inquiry = Inquiry::new(self, candidate, seeds);
        let rules = [Rule::Blocks, Rule::List, Rule::Scope, Rule::Expansion];
        rules.into_iter().find_map(|rule| inquiry.ask(rule))
    }

    fn depth(&self, url: &CrawlUrl, level: u16) -> Option<Objection<'static>> {
        let other = self.other_depths.as_ref().map(|depths| depths.of(url, level));
        let other = other.unwrap_or_default();
        let dynamic = other.dynamic.unwrap_or(self.depth_dynamic_max);
        match dynamic.filter(|_| self.marking.is_dynamic(url)) {
            Some(max) => Some(Objection::TooDeepDynamic(max)),
            None => other.all.unwrap_or(self.depth_max).map(Objection::TooDeep),
        }
    }
}
