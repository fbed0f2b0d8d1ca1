//! One candidate before the rules: what each says, and why.

use std::cell::OnceCell;

use model::{Candidate, is_bad_port};

use super::{Expansion, RULES, Rule, RuleStep, Scope, SpiderRules, StepVerdict};
use crate::{SeedSet, condition::Asked, objection::Objection, rulelist::Opinion};

pub(crate) struct Inquiry<'r, 'c> {
    pub(crate) rules: &'r SpiderRules,
    pub(crate) candidate: &'c Candidate,
    pub(crate) seeds: &'c SeedSet,
    /// The texts of the links to it, where links are judged.
    pub(crate) anchors: Option<&'c [&'c str]>,
    /// Of the answer, when it is there.
    pub(crate) media_type: Option<&'c str>,
    /// Asked for by several rules, found once.
    pub(crate) opinion: OnceCell<Opinion<'r>>,
}

impl<'r, 'c> Inquiry<'r, 'c> {
    pub(crate) fn new(
        rules: &'r SpiderRules,
        candidate: &'c Candidate,
        seeds: &'c SeedSet,
    ) -> Inquiry<'r, 'c> {
        let (anchors, media_type) = (None, None);
        Inquiry { rules, candidate, seeds, anchors, media_type, opinion: OnceCell::new() }
    }

    /// What the first rule that objects says.
    pub(crate) fn objection(&self) -> Option<Objection<'r>> {
        let mut rules = RULES.into_iter().filter(|rule| rule.concerns(self.candidate));
        rules.find_map(|rule| self.ask(rule))
    }

    /// Inside the scope, whatever is still to be known.
    pub(crate) fn is_inside(&self) -> bool {
        let Inquiry { rules, candidate, seeds, .. } = self;
        candidate.seed || seeds.covers(&candidate.url, rules.scope) || self.opinion().accepts()
    }

    pub(crate) fn opinion(&self) -> Opinion<'r> {
        *self.opinion.get_or_init(|| self.rules.list.opinion(&self.asked()))
    }

    fn asked(&self) -> Asked<'_> {
        let Candidate { url, level, .. } = self.candidate;
        let asked = Asked {
            marking: &self.rules.marking,
            anchors: self.anchors,
            ..Asked::new(url, *level)
        };
        match self.media_type {
            Some(media_type) => asked.of_type(media_type),
            None => asked,
        }
    }

    pub(super) fn ask(&self, rule: Rule) -> Option<Objection<'r>> {
        let Inquiry { rules, candidate, seeds, .. } = self;
        let url = &candidate.url;
        match rule {
            Rule::Blocks if rules.blocks.is_forgotten(url) => Some(Objection::Forgotten),
            Rule::Blocks => rules.blocks.find(url).map(Objection::Blocked),
            Rule::Notice => {
                let source = candidate.terms.notice?;
                (!rules.notices.wants(source)).then_some(Objection::Notice(source))
            }
            Rule::Length => (url.as_str().len() > rules.url_bytes_max)
                .then_some(Objection::TooLong(rules.url_bytes_max)),
            Rule::List => {
                let ruling = self.opinion().rejecting()?;
                Some(Objection::Ruled(ruling.number, ruling.rule.text()))
            }
            Rule::Scope if self.opinion().may_accept || self.is_inside() => None,
            Rule::Scope => match rules.outside_max {
                0 => Some(Objection::OutOfScope(rules.scope)),
                max if (1..=max).contains(&candidate.terms.outside) => None,
                max => Some(Objection::TooFarOutside(rules.scope, max)),
            },
            Rule::Expansion => {
                let taken = rules.expansion != Expansion::Off || candidate.seed;
                (!taken && !seeds.has_site(url)).then_some(Objection::Expansion)
            }
            // Seeds were named, and requisites are wanted for the page that they are parts of.
            Rule::Logged if candidate.seed || candidate.terms.requisite => None,
            Rule::Logged => rules.logged.find(url).map(Objection::Logged),
            Rule::Port => {
                let bad = url.port().filter(|port| is_bad_port(*port));
                if let Some(port) = bad.filter(|port| !rules.allow_ports.contains(port)) {
                    return Some(Objection::BadPort(port));
                }
                let port = url.port().filter(|_| !candidate.seed && !seeds.allows_port(url))?;
                (!rules.ports.contains(&port)).then_some(Objection::Port(port))
            }
            Rule::Depth => self.depths().into_iter().flatten().find(|objection| match objection {
                Objection::TooDeep(max)
                | Objection::TooDeepDynamic(max)
                | Objection::TooDeepForSeed(max) => candidate.level > *max,
                _ => false,
            }),
            Rule::Redirects => (candidate.hops > rules.redirects_max)
                .then_some(Objection::Redirects(rules.redirects_max)),
            Rule::Patterns => rules.reject.pattern(url).map(Objection::Pattern),
            Rule::Shipped if candidate.seed => None,
            Rule::Shipped => {
                // Who sends on to a view of the page has no other.
                let referrer = candidate.referrer.filter(|_| candidate.hops == 0);
                let found = rules.reject.shipped_rule(url, referrer);
                found.map(Objection::Shipped)
            }
            Rule::Filter => {
                let script = rules.filter.as_deref()?;
                match script.wants(url, candidate.level, rules.marking.is_dynamic(url)) {
                    Ok(true) => None,
                    Ok(false) => Some(Objection::Filtered(script.name())),
                    Err(fault) => Some(Objection::FilterFailed(script.name(), fault)),
                }
            }
        }
    }

    pub(super) fn tell(
        &self,
        rule: Rule,
        objection: Option<Objection<'r>>,
        steps: &mut Vec<RuleStep>,
    ) {
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

    /// The limits on its level: of the seed it came from, and of the crawl.
    fn depths(&self) -> [Option<Objection<'static>>; 2] {
        let Inquiry { rules, candidate, .. } = self;
        let own = candidate.terms.depth.map(Objection::TooDeepForSeed);
        [own, rules.depth(&candidate.url, candidate.level)]
    }

    /// The user's rules up to the one that holds; that one too, unless it refuses.
    fn listed(&self) -> Vec<RuleStep> {
        let opinion = self.opinion();
        let rules = self.rules.list.rules();
        let before = opinion.decided.map_or(rules.len(), |ruling| ruling.number - 1);
        let asked = self.asked();
        let mut steps: Vec<RuleStep> = Vec::new();
        for (at, rule) in rules.iter().take(before).enumerate() {
            let rule_name = Objection::Ruled(at + 1, rule.text()).to_string();
            let (verdict, why) = match rule.condition.truth(&asked) {
                Some(_) => (StepVerdict::Passed, "its condition does not hold"),
                None if rule.condition.asks_type() && asked.media_type.is_none() => {
                    (StepVerdict::Open, "decided when the answer comes, by its media type")
                }
                None => (StepVerdict::Open, "decided where a link to it is found, by its text"),
            };
            steps.push(RuleStep { rule: rule_name, verdict, why: why.to_owned() });
        }
        if let Some(ruling) = opinion.decided.filter(|_| opinion.rejecting().is_none()) {
            let (verdict, why) = match opinion.waiting {
                None => (StepVerdict::Admitted, "it is the first rule that matches"),
                Some(_) => (StepVerdict::Open, "it holds, if none of those before it does"),
            };
            let rule = Objection::Ruled(ruling.number, ruling.rule.text()).to_string();
            steps.push(RuleStep { rule, verdict, why: why.to_owned() });
        }
        steps
    }

    /// The rule and why it has no objection; nothing where there is no rule to tell of.
    fn passed(&self, rule: Rule) -> Option<(String, String)> {
        let Inquiry { rules, candidate, .. } = self;
        let url = &candidate.url;
        Some(match rule {
            Rule::Blocks => ("blocks".to_owned(), "no block matches".to_owned()),
            Rule::Notice => return None,
            Rule::Length => (
                Objection::TooLong(rules.url_bytes_max).to_string(),
                format!("it has {}", url.as_str().len()),
            ),
            Rule::List => return None,
            Rule::Scope => (Objection::OutOfScope(rules.scope).to_string(), self.why_in_scope()),
            Rule::Expansion if rules.expansion != Expansion::Off => return None,
            Rule::Expansion => (
                Objection::Expansion.to_string(),
                match candidate.seed {
                    true => "it is a seed, or a seed redirected to it".to_owned(),
                    false => "a seed names its site".to_owned(),
                },
            ),
            Rule::Logged if rules.logged.is_empty() => return None,
            Rule::Logged => {
                ("crawl.log_extensions".to_owned(), "its extension is not among them".to_owned())
            }
            Rule::Port => (
                "ports named by seeds".to_owned(),
                match crate::seedset::unusual_port(url) {
                    None => "it has a usual port".to_owned(),
                    Some(port) => format!("port {port} was asked for"),
                },
            ),
            Rule::Depth => {
                let limits: Vec<String> =
                    self.depths().iter().flatten().map(ToString::to_string).collect();
                let rule = match limits.is_empty() {
                    true => "crawl.depth not set".to_owned(),
                    false => limits.join(", "),
                };
                (rule, format!("its level is {}", candidate.level))
            }
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

    fn why_in_scope(&self) -> String {
        let Inquiry { rules, candidate, seeds, .. } = self;
        let url = &candidate.url;
        let why = match rules.scope {
            _ if candidate.seed => "it is a seed, or a seed redirected to it",
            scope if !seeds.covers(url, scope) => return self.why_though_outside(),
            Scope::Any => "everything is inside",
            Scope::Listed => "it is a seed, or a seed redirected to it",
            Scope::Prefix => "it lies in a seed's folder",
            _ if seeds.has_site(url) => "a seed names its site",
            _ => "a seed names its registrable domain",
        };
        why.to_owned()
    }

    fn why_though_outside(&self) -> String {
        let opinion = self.opinion();
        if opinion.accepts() {
            return "outside, but a rule of crawl.rules accepts it".to_owned();
        }
        if opinion.may_accept {
            return "outside, but a rule of crawl.rules may still accept it".to_owned();
        }
        format!("outside, but within the links of crawl.outside = {}", self.rules.outside_max)
    }
}
