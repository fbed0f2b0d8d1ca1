//! The rules of a spider, in the order in which they judge a candidate.
//!
//! There is one list of rules ([`RULES`]) with two readers: [`SpiderRules::judge`] stops at the first
//! objection, [`SpiderRules::explain`] tells of every step on the way there. Neither knows more rules
//! than the other.
//!
//! **Scope and external links.** The scope is a border: nothing outside it is ever admitted, except
//! what a seed redirects to (that joins the seeds). [`ExternalPolicy`] says how a link from one site to
//! another *inside* the scope is taken (VN's home-page, deep and combined policies; seed 003 of the
//! design). So `scope = site` stays on the seeds' sites whatever the policy, and VN's own crawl is
//! `scope = any` with one of its policies. Redirects are no links: they lead where they lead.
//!
//! **Seeds** (and what they redirect to) are in scope on any port, and the shipped reject list does not
//! hold them back, since somebody named them; the user's own patterns do.

use model::{Candidate, NormalForm, Verdict, limits};

use crate::{RejectList, SeedSet, objection::Objection};

#[derive(Clone, Debug)]
pub struct SpiderRules {
    pub scope: Scope,
    pub external: ExternalPolicy,
    /// Highest level of a page; 0 is the entry page alone.
    pub depth_max: Option<u16>,
    pub url_bytes_max: usize,
    /// Redirects in a row.
    pub redirects_max: u8,
    pub reject: RejectList,
    pub form: NormalForm,
    pub follow_nofollow: bool,
    /// Unusual ports allowed besides those that seeds name.
    pub ports: Vec<u16>,
    /// URLs of a site that no seed names; counted by the holder of its lease (VN's figure).
    pub discovered_urls_max: u64,
}

impl Default for SpiderRules {
    fn default() -> SpiderRules {
        SpiderRules {
            scope: Scope::Site,
            external: ExternalPolicy::Deep,
            depth_max: None,
            url_bytes_max: limits::URL_BYTES_MAX,
            redirects_max: limits::REDIRECTS_MAX,
            reject: RejectList::default(),
            form: NormalForm::default(),
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
    /// This rule refused; those after it were not asked.
    Decided,
}

/// Cheap and often decisive first: most refused links leave the scope.
const RULES: [Rule; 7] = [
    Rule::Length,
    Rule::Scope,
    Rule::Port,
    Rule::Depth,
    Rule::Redirects,
    Rule::Patterns,
    Rule::Shipped,
];

#[derive(Clone, Copy, Debug)]
enum Rule {
    Length,
    Scope,
    Port,
    Depth,
    Redirects,
    Patterns,
    Shipped,
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
        let mut steps = Vec::with_capacity(RULES.len());
        for rule in RULES {
            let objection = self.ask(rule, candidate, seeds);
            steps.push(match objection {
                None => self.passed(rule, candidate, seeds),
                Some(objection) => RuleStep {
                    rule: objection.to_string(),
                    verdict: StepVerdict::Decided,
                    why: objection.why(),
                },
            });
            if objection.is_some() {
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
        RULES.into_iter().find_map(|rule| self.ask(rule, candidate, seeds))
    }

    fn ask(&self, rule: Rule, candidate: &Candidate, seeds: &SeedSet) -> Option<Objection<'_>> {
        let url = &candidate.url;
        match rule {
            Rule::Length => (url.as_str().len() > self.url_bytes_max)
                .then_some(Objection::TooLong(self.url_bytes_max)),
            Rule::Scope => (!candidate.seed && !seeds.covers(url, self.scope))
                .then_some(Objection::OutOfScope(self.scope)),
            Rule::Port => {
                let port = url.port().filter(|_| !candidate.seed && !seeds.allows_port(url))?;
                (!self.ports.contains(&port)).then_some(Objection::Port(port))
            }
            Rule::Depth => {
                self.depth_max.filter(|max| candidate.level > *max).map(Objection::TooDeep)
            }
            Rule::Redirects => (candidate.hops > self.redirects_max)
                .then_some(Objection::Redirects(self.redirects_max)),
            Rule::Patterns => self.reject.pattern(url).map(Objection::Pattern),
            Rule::Shipped if candidate.seed => None,
            Rule::Shipped => self.reject.shipped_rule(url).map(Objection::Shipped),
        }
    }

    fn passed(&self, rule: Rule, candidate: &Candidate, seeds: &SeedSet) -> RuleStep {
        let url = &candidate.url;
        let (rule, why) = match rule {
            Rule::Length => (
                Objection::TooLong(self.url_bytes_max).to_string(),
                format!("it has {}", url.as_str().len()),
            ),
            Rule::Scope => (
                Objection::OutOfScope(self.scope).to_string(),
                match () {
                    () if candidate.seed => "it is a seed, or a seed redirected to it",
                    () if self.scope == Scope::Any => "everything is inside",
                    () if self.scope == Scope::Prefix => "it lies in a seed's folder",
                    () if seeds.has_site(url) => "a seed names its site",
                    () => "a seed names its registrable domain",
                }
                .to_owned(),
            ),
            Rule::Port => (
                "ports named by seeds".to_owned(),
                match crate::seedset::unusual_port(url) {
                    None => "it has a usual port".to_owned(),
                    Some(port) => format!("port {port} was asked for"),
                },
            ),
            Rule::Depth => (
                self.depth_max.map_or("crawl.depth not set".to_owned(), |max| {
                    Objection::TooDeep(max).to_string()
                }),
                format!("its level is {}", candidate.level),
            ),
            Rule::Redirects => (
                Objection::Redirects(self.redirects_max).to_string(),
                format!("{} redirects in a row led to it", candidate.hops),
            ),
            Rule::Patterns => ("reject.patterns".to_owned(), "no pattern matches".to_owned()),
            Rule::Shipped if candidate.seed => {
                ("reject list".to_owned(), "seeds are not held back by it".to_owned())
            }
            Rule::Shipped => ("reject list".to_owned(), "no rule of it matches".to_owned()),
        };
        RuleStep { rule, verdict: StepVerdict::Passed, why }
    }
}

#[cfg(test)]
mod tests;
