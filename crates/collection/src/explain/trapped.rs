//! What the traps of its site have, or had, against a URL: the rule, an example, and what lifts it.
//!
//! A verdict may have been taken back, or its evidence may have run out, and what was refused for it stays refused until
//! a link leads there anew: of that the decisions tell.

use model::{CrawlUrl, Hazard, IdleToken, PageState, RefusalReason, StoreError, UrlTraps};
use seeder::{
    RuleStep, SpiderRules, StepVerdict,
    traps::{self, TrapObjection, Worn, pattern::Pattern, token},
};
use store::census::{Census, DecisionEntry, PageStory};

/// Decisions of one site that are looked through: it has 64 patterns at a time.
const DECISIONS_MAX: u32 = 1_000;

/// A URL before the traps of its site.
pub(super) struct Suspect<'a> {
    url: &'a CrawlUrl,
    /// `None`: no page of the collection.
    state: Option<PageState>,
    /// What kind of page led to it first.
    led_by: Option<u32>,
    rules: &'a SpiderRules,
    traps: UrlTraps,
    refused: Vec<DecisionEntry>,
}

impl<'a> Suspect<'a> {
    /// `None`: seeds, parts of pages and what has answered are not held back.
    pub fn find(
        census: &Census,
        url: &'a CrawlUrl,
        story: Option<&PageStory>,
        rules: &'a SpiderRules,
    ) -> Result<Option<Suspect<'a>>, StoreError> {
        let is_free = |story: &PageStory| {
            let has_answered = story.visits.iter().any(|visit| visit.status > 0);
            story.page.seed || story.page.requisite || has_answered
        };
        if story.is_some_and(is_free) {
            return Ok(None);
        }
        let site = url.site_text();
        let traps = census.site_traps(site)?.urls;
        let reason = RefusalReason::Trap.word();
        let refused = census.refusals_of(Some(reason), Some(site), DECISIONS_MAX)?;
        let state = story.map(|story| story.page.state);
        let led_by = story.map(|story| story.page.via);
        Ok(Some(Suspect { url, state, led_by, rules, traps, refused }))
    }

    /// What is against it as things stand.
    pub fn now(&self) -> Option<RuleStep> {
        let waits = self.state == Some(PageState::Known);
        let rules = &self.rules.traps;
        let found = traps::objection_to(self.url, self.led_by, &self.traps, rules, waits);
        match found.or_else(|| self.worn()) {
            Some(objection) if self.is_open(&objection) => {
                let why = "most pages of the site are copies: links that stand on copies, or on pages \
                           of stopped patterns, are left, those on others taken";
                Some(self.step(&objection, StepVerdict::Open, why.to_owned()))
            }
            Some(objection) => {
                let meaning = objection.hazard.meaning().to_owned();
                Some(self.step(&objection, StepVerdict::Decided, meaning))
            }
            None => self.idle(),
        }
    }

    /// It hangs on the page that leads there, and nobody knows of one.
    fn is_open(&self, objection: &TrapObjection) -> bool {
        let is_all = self.traps.stopped.as_ref().is_some_and(|stop| stop.all);
        objection.pattern == UrlTraps::SITE && !is_all && self.state.is_none()
    }

    /// What was against it, or against others of its kind, and may be the reason why it is not there.
    pub fn before(&self) -> Option<RuleStep> {
        if !self.is_out() {
            return None;
        }
        let itself = self.told().find(|(_, example)| *example == self.url.as_str());
        let is_certain = itself.is_some() || self.state.is_some();
        let kind = |name: &String| self.told().find(|(told, _)| told.pattern == *name);
        let (objection, _) = itself.or_else(|| self.names().iter().find_map(kind))?;
        let meaning = objection.hazard.meaning();
        let (verdict, why) = match is_certain {
            true => (StepVerdict::Decided, format!("it was left for this: {meaning}")),
            false => (StepVerdict::Open, format!("links to pages like it were left: {meaning}")),
        };
        Some(self.step(&objection, verdict, why))
    }

    fn is_out(&self) -> bool {
        matches!(self.state, None | Some(PageState::Excluded))
    }

    /// What was ever held against URLs of the site, as far as it is known, with examples.
    fn told(&self) -> impl Iterator<Item = (TrapObjection, &str)> {
        let stops = self.traps.stops().flat_map(|(name, stop)| {
            let of = move || TrapObjection::new(stop.hazard, name);
            stop.examples.iter().map(move |example| (of(), example.as_str()))
        });
        let refused = self.refused.iter();
        let refused =
            refused.filter_map(|entry| Some((read(&entry.rule)?, entry.example.as_str())));
        stops.chain(refused)
    }

    /// Near duplicates lead to no more of it. What waits was led to by other pages.
    fn worn(&self) -> Option<TrapObjection> {
        let worn = Worn::of(&self.traps, u32::MAX, self.rules.near_duplicates_max);
        worn.filter(|_| self.state.is_none())?.objection(self.url)
    }

    /// A part of it makes no difference: it is the same as another. One that waits is judged when its turn comes.
    fn idle(&self) -> Option<RuleStep> {
        if !self.is_out() || !self.rules.traps.on {
            return None;
        }
        let (same, at) = token::rewrite(self.url, &self.traps.tokens)?;
        let token = &self.traps.tokens[at];
        let pattern = token.place.to_string();
        let why = format!("'{pattern}' makes no difference there: it is taken as {same}");
        let objection = TrapObjection::new(token.hazard(), pattern);
        Some(self.step(&objection, StepVerdict::Decided, why))
    }

    /// What a trap may have it under, as what lifts it is called, the narrowest first.
    fn names(&self) -> Vec<String> {
        let pattern = Pattern::of(self.url);
        let (narrow, family) = (pattern.narrow(self.url), pattern.family());
        let has =
            |token: &&IdleToken| token::rewrite(self.url, std::slice::from_ref(*token)).is_some();
        let idle = self.traps.tokens.iter().filter(has).map(|token| token.place.to_string());
        let near = [Hazard::NearDuplicates.word().to_owned()];
        // Of a page that nobody knows this says nothing.
        let site = self.state.map(|_| UrlTraps::SITE.to_owned());
        let own = narrow.into_iter().chain([pattern.text]).chain(family);
        own.chain(idle).chain(near).chain(site).collect()
    }

    fn step(&self, objection: &TrapObjection, verdict: StepVerdict, mut why: String) -> RuleStep {
        let rule = objection.refusal().rule;
        if objection.hazard == Hazard::NearDuplicates {
            why.push_str(
                "; links on such pages to more of them are left (hazards.near_duplicates)",
            );
        }
        if let Some(example) = self.example(objection) {
            why.push_str(&format!("; such as {example}"));
        }
        let pattern = match objection.pattern.as_str() {
            UrlTraps::SITE => String::new(),
            pattern => format!(" '{pattern}'"),
        };
        why.push_str(&format!(
            "; lift it with: harvestman traps lift {}{pattern}",
            self.url.site()
        ));
        RuleStep { rule, verdict, why }
    }

    /// Another that the same was held against.
    fn example(&self, objection: &TrapObjection) -> Option<&str> {
        let is_other = |example: &str| !example.is_empty() && example != self.url.as_str();
        let is_it = |told: &TrapObjection| {
            told.hazard == objection.hazard && told.pattern == objection.pattern
        };
        let mut told = self.told().filter(|(told, _)| is_it(told));
        told.find(|(_, example)| is_other(example)).map(|(_, example)| example)
    }
}

/// What the rule of a decision speaks of; see [`model::Stop::rule`].
fn read(rule: &str) -> Option<TrapObjection> {
    let said = rule.strip_prefix("trap: ")?;
    let (word, name) = match (said.split_once(" at "), said.strip_suffix(" on the whole site")) {
        (Some((word, name)), _) => (word, name),
        (None, Some(word)) => (word, UrlTraps::SITE),
        (None, None) => (said, said),
    };
    Some(TrapObjection::new(Hazard::from_word(word)?, name))
}

#[cfg(test)]
mod tests;
