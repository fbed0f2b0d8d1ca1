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
//! **Scope and external links.** The scope is a border: nothing outside it is admitted but by an `accept`
//! rule, and what a seed redirects to (that joins the seeds). [`ExternalPolicy`] says how a link from one site to
//! another *inside* the scope is taken (VN's home-page, deep and combined policies; seed 003 of the
//! design). So `scope = site` stays on the seeds' sites whatever the policy, and VN's own crawl is
//! `scope = any` with one of its policies. Redirects are no links: they lead where they lead.
//!
//! **Seeds** (and what they redirect to) are in scope on any port, and the shipped reject list does not
//! hold them back, since somebody named them; the user's own blocks, rules, patterns and script do.

use std::{cell::OnceCell, sync::Arc};

use model::{Candidate, Verdict, limits};

use crate::{
    Blocks, RejectList, RuleList, Script, SeedSet, UrlForm, objection::Objection, rulelist::Ruling,
};

#[derive(Clone, Debug)]
pub struct SpiderRules {
    /// Shared with whoever visits: may change while a crawl runs.
    pub blocks: Blocks,
    /// The user's own, asked before the scope.
    pub list: RuleList,
    pub scope: Scope,
    pub external: ExternalPolicy,
    /// Highest level of a page; 0 is the entry page alone.
    pub depth_max: Option<u16>,
    /// The same for pages that are made on demand (WIRE: 15 static, 5 dynamic); without it,
    /// `depth_max` is for both.
    pub depth_dynamic_max: Option<u16>,
    pub url_bytes_max: usize,
    /// Redirects in a row.
    pub redirects_max: u8,
    pub reject: RejectList,
    pub filter: Option<Arc<Script>>,
    pub form: UrlForm,
    pub follow_nofollow: bool,
    /// Unusual ports allowed besides those that seeds name.
    pub ports: Vec<u16>,
    /// URLs of a site that no seed names; counted by the holder of its lease (VN's figure).
    pub discovered_urls_max: u64,
}

impl Default for SpiderRules {
    fn default() -> SpiderRules {
        SpiderRules {
            blocks: Blocks::default(),
            list: RuleList::default(),
            scope: Scope::Site,
            external: ExternalPolicy::Deep,
            depth_max: None,
            depth_dynamic_max: None,
            url_bytes_max: limits::URL_BYTES_MAX,
            redirects_max: limits::REDIRECTS_MAX,
            reject: RejectList::default(),
            filter: None,
            form: UrlForm::default(),
            follow_nofollow: false,
            ports: Vec::new(),
            discovered_urls_max: 5_000,
        }
    }
}

/// The border of a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The seeds' sites.
    #[default]
    Site,
    /// Their registrable domains.
    Domain,
    /// What lies in a seed's folder: its path up to the last slash.
    Prefix,
    Any,
}

impl Scope {
    pub const ALL: [Scope; 4] = [Scope::Site, Scope::Domain, Scope::Prefix, Scope::Any];

    pub fn word(self) -> &'static str {
        match self {
            Scope::Site => "site",
            Scope::Domain => "domain",
            Scope::Prefix => "prefix",
            Scope::Any => "any",
        }
    }

    pub fn from_word(word: &str) -> Option<Scope> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

/// What becomes of a link to another site inside the scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExternalPolicy {
    Ignore,
    /// That site's home page stands for it.
    Home,
    /// The link itself.
    #[default]
    Deep,
    /// Both.
    Combined,
}

impl ExternalPolicy {
    pub const ALL: [ExternalPolicy; 4] = [
        ExternalPolicy::Ignore,
        ExternalPolicy::Home,
        ExternalPolicy::Deep,
        ExternalPolicy::Combined,
    ];

    pub fn word(self) -> &'static str {
        match self {
            ExternalPolicy::Ignore => "ignore",
            ExternalPolicy::Home => "home",
            ExternalPolicy::Deep => "deep",
            ExternalPolicy::Combined => "combined",
        }
    }

    pub fn from_word(word: &str) -> Option<ExternalPolicy> {
        Self::ALL.into_iter().find(|policy| policy.word() == word)
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
    /// This rule refused; those after it were not asked.
    Decided,
}

/// Blocks first: no other rule opens what the user shut. Then cheap and often decisive first: most refused
/// links leave the scope. The script costs most.
const RULES: [Rule; 10] = [
    Rule::Blocks,
    Rule::Length,
    Rule::List,
    Rule::Scope,
    Rule::Port,
    Rule::Depth,
    Rule::Redirects,
    Rule::Patterns,
    Rule::Shipped,
    Rule::Filter,
];

#[derive(Clone, Copy, Debug)]
enum Rule {
    Blocks,
    Length,
    List,
    Scope,
    Port,
    Depth,
    Redirects,
    Patterns,
    Shipped,
    Filter,
}

impl SpiderRules {
    pub fn judge(&self, candidate: &Candidate, seeds: &SeedSet) -> Verdict {
        match self.objection(candidate, seeds) {
            None => Verdict::Accept,
            Some(objection) => Verdict::Reject(objection.refusal()),
        }
    }

    /// Every rule that was asked, in order; the last one says [`StepVerdict::Decided`] if it refused.
    pub fn explain(&self, candidate: &Candidate, seeds: &SeedSet) -> Vec<RuleStep> {
        let inquiry = Inquiry::new(self, candidate, seeds);
        let mut steps = Vec::with_capacity(RULES.len() + self.list.rules().len());
        for rule in RULES {
            let objection = inquiry.ask(rule);
            let decided = objection.is_some();
            inquiry.tell(rule, objection, &mut steps);
            if decided {
                break;
            }
        }
        steps
    }

    pub(crate) fn objection(
        &self,
        candidate: &Candidate,
        seeds: &SeedSet,
    ) -> Option<Objection<'_>> {
        let inquiry = Inquiry::new(self, candidate, seeds);
        RULES.into_iter().find_map(|rule| inquiry.ask(rule))
    }

    /// What blocks, the user's rules and the scope say, without the others.
    pub(crate) fn border(&self, candidate: &Candidate, seeds: &SeedSet) -> Option<Objection<'_>> {
        let inquiry = Inquiry::new(self, candidate, seeds);
        [Rule::Blocks, Rule::List, Rule::Scope].into_iter().find_map(|rule| inquiry.ask(rule))
    }

    fn depth(&self, is_dynamic: bool) -> Option<Objection<'static>> {
        match self.depth_dynamic_max.filter(|_| is_dynamic) {
            Some(max) => Some(Objection::TooDeepDynamic(max)),
            None => self.depth_max.map(Objection::TooDeep),
        }
    }
}

/// One candidate before the rules.
struct Inquiry<'r, 'c> {
    rules: &'r SpiderRules,
    candidate: &'c Candidate,
    seeds: &'c SeedSet,
    /// Asked for by two rules, found once.
    ruling: OnceCell<Option<Ruling<'r>>>,
}

impl<'r, 'c> Inquiry<'r, 'c> {
    fn new(rules: &'r SpiderRules, candidate: &'c Candidate, seeds: &'c SeedSet) -> Self {
        Inquiry { rules, candidate, seeds, ruling: OnceCell::new() }
    }

    fn ruling(&self) -> Option<Ruling<'r>> {
        let Candidate { url, level, .. } = self.candidate;
        *self.ruling.get_or_init(|| self.rules.list.decide(url, *level))
    }

    fn is_accepted(&self) -> bool {
        self.ruling().is_some_and(|ruling| ruling.rule.accept)
    }

    fn ask(&self, rule: Rule) -> Option<Objection<'r>> {
        let Inquiry { rules, candidate, seeds, .. } = self;
        let url = &candidate.url;
        match rule {
            Rule::Blocks if rules.blocks.is_forgotten(url) => Some(Objection::Forgotten),
            Rule::Blocks => rules.blocks.find(url).map(Objection::Blocked),
            Rule::Length => (url.as_str().len() > rules.url_bytes_max)
                .then_some(Objection::TooLong(rules.url_bytes_max)),
            Rule::List => {
                let ruling = self.ruling().filter(|ruling| !ruling.rule.accept)?;
                Some(Objection::Ruled(ruling.number, ruling.rule.text()))
            }
            Rule::Scope => {
                let inside = candidate.seed || seeds.covers(url, rules.scope);
                (!inside && !self.is_accepted()).then_some(Objection::OutOfScope(rules.scope))
            }
            Rule::Port => {
                let port = url.port().filter(|_| !candidate.seed && !seeds.allows_port(url))?;
                (!rules.ports.contains(&port)).then_some(Objection::Port(port))
            }
            Rule::Depth => rules.depth(url.is_dynamic()).filter(|objection| match objection {
                Objection::TooDeep(max) | Objection::TooDeepDynamic(max) => candidate.level > *max,
                _ => false,
            }),
            Rule::Redirects => (candidate.hops > rules.redirects_max)
                .then_some(Objection::Redirects(rules.redirects_max)),
            Rule::Patterns => rules.reject.pattern(url).map(Objection::Pattern),
            Rule::Shipped if candidate.seed => None,
            Rule::Shipped => rules.reject.shipped_rule(url).map(Objection::Shipped),
            Rule::Filter => {
                let script = rules.filter.as_deref()?;
                match script.wants(url, candidate.level) {
                    Ok(true) => None,
                    Ok(false) => Some(Objection::Filtered(script.name())),
                    Err(fault) => Some(Objection::FilterFailed(script.name(), fault)),
                }
            }
        }
    }

    fn tell(&self, rule: Rule, objection: Option<Objection<'r>>, steps: &mut Vec<RuleStep>) {
        if let Rule::List = rule {
            steps.extend(self.listed());
        }
        match objection {
            Some(objection) => steps.push(RuleStep {
                rule: objection.to_string(),
                verdict: StepVerdict::Decided,
                why: objection.why(),
            }),
            None => steps.extend(self.passed(rule).map(|(rule, why)| RuleStep {
                rule,
                verdict: StepVerdict::Passed,
                why,
            })),
        }
    }

    /// The user's rules up to the one that holds; that one too, if it accepts.
    fn listed(&self) -> Vec<RuleStep> {
        let ruling = self.ruling();
        let rules = self.rules.list.rules();
        let asked = ruling.map_or(rules.len(), |ruling| ruling.number - 1);
        let name = |number: usize, text: &str| Objection::Ruled(number, text).to_string();
        let passed = rules.iter().take(asked).enumerate().map(|(at, rule)| RuleStep {
            rule: name(at + 1, rule.text()),
            verdict: StepVerdict::Passed,
            why: "its condition does not hold".to_owned(),
        });
        let accepting = ruling.filter(|ruling| ruling.rule.accept).map(|ruling| RuleStep {
            rule: name(ruling.number, ruling.rule.text()),
            verdict: StepVerdict::Admitted,
            why: "it is the first rule whose condition holds".to_owned(),
        });
        passed.chain(accepting).collect()
    }

    /// The rule and why it has no objection; nothing where there is no rule to tell of.
    fn passed(&self, rule: Rule) -> Option<(String, String)> {
        let Inquiry { rules, candidate, .. } = self;
        let url = &candidate.url;
        Some(match rule {
            Rule::Blocks => ("blocks".to_owned(), "none of them holds it".to_owned()),
            Rule::Length => (
                Objection::TooLong(rules.url_bytes_max).to_string(),
                format!("it has {}", url.as_str().len()),
            ),
            Rule::List => return None,
            Rule::Scope => {
                (Objection::OutOfScope(rules.scope).to_string(), self.why_in_scope().to_owned())
            }
            Rule::Port => (
                "ports named by seeds".to_owned(),
                match crate::seedset::unusual_port(url) {
                    None => "it has a usual port".to_owned(),
                    Some(port) => format!("port {port} was asked for"),
                },
            ),
            Rule::Depth => (
                rules
                    .depth(url.is_dynamic())
                    .map_or("crawl.depth not set".to_owned(), |objection| objection.to_string()),
                format!("its level is {}", candidate.level),
            ),
            Rule::Redirects => (
                Objection::Redirects(rules.redirects_max).to_string(),
                format!("{} redirects in a row led to it", candidate.hops),
            ),
            Rule::Patterns => ("reject.patterns".to_owned(), "no pattern matches".to_owned()),
            Rule::Shipped if candidate.seed => {
                ("reject list".to_owned(), "seeds are not held back by it".to_owned())
            }
            Rule::Shipped => ("reject list".to_owned(), "no rule of it matches".to_owned()),
            Rule::Filter => {
                let script = rules.filter.as_deref()?;
                (Objection::Filtered(script.name()).to_string(), "crawl(url) says yes".to_owned())
            }
        })
    }

    fn why_in_scope(&self) -> &'static str {
        let Inquiry { rules, candidate, seeds, .. } = self;
        let url = &candidate.url;
        match rules.scope {
            _ if candidate.seed => "it is a seed, or a seed redirected to it",
            scope if !seeds.covers(url, scope) => "outside, but a rule of crawl.rules accepts it",
            Scope::Any => "everything is inside",
            Scope::Prefix => "it lies in a seed's folder",
            _ if seeds.has_site(url) => "a seed names its site",
            _ => "a seed names its registrable domain",
        }
    }
}

#[cfg(test)]
mod tests;
