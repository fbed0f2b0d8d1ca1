//! Why a URL is or is not crawled, and when it is visited next: from the database and the rules alone, without
//! a request.

use std::path::Path;

use config::{Config, OwnLimits, SpiderConfig, failure::Failure, setup};
use model::{
    Candidate, CrawlUrl, Fingerprint, PageState, PageTerms, RefusalReason, SignalSource,
    StoreError, Timestamp,
};
use seeder::{Block, Blocks, RuleStep, SeedSet, SpiderRules, StepVerdict, traps};
use serde::Serialize;
use store::{
    census::{Census, PageRow, PageStory},
    history::Canonical,
    replicas::{ReplicaRow, ReplicaState},
    spiders::SpiderRow,
};

use crate::{
    Error,
    decisions::{Decided, SiteDecision},
    page::{self, Duplicate},
    status::BatchOut,
};

mod announcement;
mod revisit;
mod steps;
mod trapped;

pub use announcement::{Announcement, SourceTrust};
pub use revisit::Revisit;
use trapped::Suspect;

const DECISIONS_SHOWN: u32 = 20;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub url: &'a CrawlUrl,
    /// As this spider sees it; `None`: the one whose page it is, else all.
    pub spider: Option<&'a str>,
    /// The folder of the collection, which rules may name files in.
    pub folder: &'a Path,
    pub config: &'a Config,
    /// What is wrong with the settings: by rules that are not the ones that were meant nothing is judged.
    pub mistakes: Vec<Failure>,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    pub url: String,
    pub site: String,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// It is a page of the collection.
    pub known: bool,
    pub page: Option<PageRow>,
    /// A mistake in the settings, for which a spider, or all of them, cannot judge.
    pub unjudged: Option<Mistake>,
    /// The spider that would take it, or else the first that was asked.
    pub spider: Option<String>,
    pub spiders: Vec<Opinion>,
    /// When it comes back, if it is a page of one of these spiders.
    pub revisit: Option<Revisit>,
    pub duplicate: Option<Duplicate>,
    pub canonical: Option<CanonicalPage>,
    /// The batch with which its site is out.
    pub batch: Option<BatchOut>,
    /// Its site is, or was, a mirror of another.
    pub mirror: Option<Mirror>,
    /// Its site has not answered since, …
    #[serde(serialize_with = "model::iso::option")]
    pub site_down_since: Option<Timestamp>,
    /// … and was asked so often in vain.
    pub site_down_tries: Option<u32>,
    /// The page says that it ends then.
    #[serde(serialize_with = "model::iso::option")]
    pub unavailable_after: Option<Timestamp>,
    /// Why URLs of its site were refused, most first.
    pub refused_on_site: Vec<SiteDecision>,
}

/// What all of it comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// The settings have a mistake.
    Unjudged,
    Refused {
        rule: String,
    },
    /// A sitemap or feed that is too large, or that robots.txt forbade.
    FeedLeft {
        feed: SignalSource,
    },
    /// Its answer was not wanted: its type or its length.
    Unwanted,
    /// robots.txt or a rule that is no longer there forbade it when it was due.
    WasForbidden,
    /// It could not be reached with other settings; the next crawl tries it.
    TriedAgain,
    /// Read for what it says of other pages.
    Feed {
        feed: SignalSource,
    },
    /// Asked for once, to see what the site says of a page that cannot exist.
    Probe,
    /// A part of pages.
    Requisite,
    Crawled,
    /// It hangs on something that is not known.
    Depends {
        rule: String,
        why: String,
    },
    /// Nothing speaks against it, but no link or seed has led to it.
    NotFound,
}

/// What is wrong with the settings, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    pub what: String,
    pub advice: String,
}

/// What one spider says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Opinion {
    pub spider: String,
    pub refused: bool,
    /// Refused, and not only until a server answers.
    #[serde(skip)]
    pub refused_for_good: bool,
    /// Nothing is visited for it.
    pub paused: bool,
    /// In the order they are asked.
    pub rules: Vec<Step>,
    /// Lines of `harvest.toml` where overrides concern the page.
    pub overrides: Vec<usize>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub rule: String,
    pub verdict: StepWord,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepWord {
    Passed,
    /// The rule lets it in; those after it were not asked.
    Accepted,
    /// The rule asks for something that is not known.
    Open,
    Refused,
}

/// What a page names as its canonical page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CanonicalPage {
    pub url: String,
    /// Exports have that page instead.
    pub followed: bool,
    /// Why it is ignored.
    pub why: Option<&'static str>,
}

/// A site that serves what another serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mirror {
    pub site: String,
    pub original: String,
    /// Of the original: scheme, host and port.
    pub origin: String,
    pub state: ReplicaState,
    /// Documents seen on both, and those among them that are the same.
    pub compared: u32,
    pub same: u32,
    #[serde(serialize_with = "model::iso::time")]
    pub since: Timestamp,
}

impl Explanation {
    /// Only until a robots.txt can be read.
    pub fn is_refused_for_now(&self) -> bool {
        let rules = self.spiders.iter().flat_map(|opinion| &opinion.rules);
        let mut refused = rules.filter(|step| step.verdict == StepWord::Refused).peekable();
        refused.peek().is_some() && refused.all(|step| step.why.starts_with(steps::UNREADABLE))
    }
}

pub fn explain(census: &Census, question: &Question<'_>) -> Result<Explanation, Error> {
    let config = question.config;
    let (url, story) = page::known_as(census, &setup::form(config)?, question.url.clone())?;
    let blocks = blocks(census)?;
    let mut decided = Decided::on_site(census, url.site_text(), DECISIONS_SHOWN)?;
    let spiders = census.spiders()?;
    let reach = config.reach(spiders.iter().map(|row| (row.name.as_str(), &row.settings)));
    let is_reach_new = census.reach_kept()?.is_some_and(|last| last != reach.kept);
    if is_reach_new {
        // The next crawl tries them at once.
        decided.0.retain(|entry| entry.reason != RefusalReason::Address.word());
    }
    let story_of = story.as_ref();
    let case = Case { census, question, blocks: &blocks, url: &url, story: story_of, is_reach_new };
    let asked = asked(spiders, question.spider, story.as_ref())?;
    let (mut opinions, mut revisit) = (Vec::new(), None);
    let mut mistakes = question.mistakes.clone();
    let is_sound = mistakes.is_empty();
    for row in asked.iter().filter(|_| is_sound) {
        match case.bench(row) {
            Ok(bench) => {
                opinions.push(case.opinion(row, &bench, &decided)?);
                revisit = revisit.or(case.revisit(row, &bench)?);
            }
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let facts = story.as_ref().and_then(|story| story.facts.as_ref());
    let down = census.site_traps(url.site_text())?.down;
    let chosen = opinions.iter().find(|opinion| !opinion.refused).or(opinions.first());
    let feed = revisit.as_ref().and_then(|revisit: &Revisit| revisit.feed);
    Ok(Explanation {
        verdict: verdict(chosen, story.as_ref(), feed, &case),
        known: story.is_some(),
        page: census.page_row_of(&url)?,
        unjudged: mistakes.into_iter().next().map(Mistake::of),
        spider: chosen.map(|opinion| opinion.spider.clone()),
        revisit,
        duplicate: match facts {
            Some(facts) => Duplicate::of(census, &url, facts)?,
            None => None,
        },
        canonical: census.canonical(&url)?.map(CanonicalPage::of),
        batch: census.batch_of(url.site_text(), question.now)?.as_ref().map(BatchOut::of),
        mirror: census.replica(url.site_text())?.map(Mirror::of),
        site_down_since: down.map(|down| down.since),
        site_down_tries: down.map(|down| down.tries),
        unavailable_after: facts.and_then(|facts| facts.unavailable_after),
        refused_on_site: decided.rows(),
        spiders: opinions,
        site: url.site_text().to_owned(),
        url: url.to_string(),
    })
}

fn blocks(census: &Census) -> Result<Blocks, StoreError> {
    let blocks = Blocks::default();
    census.each_block(|entry| {
        blocks.add(Block::parse(&entry.pattern));
    })?;
    setup::keep_out_forgotten(&blocks, census.tombstones()?);
    Ok(blocks)
}

/// Who is asked: the one that was named, the one whose page it is, or all.
fn asked(
    rows: Vec<SpiderRow>,
    named: Option<&str>,
    story: Option<&PageStory>,
) -> Result<Vec<SpiderRow>, Error> {
    if let Some(name) = named {
        let found = rows.into_iter().find(|row| row.name == name);
        let unknown = || Error::SpiderUnknown { name: name.to_owned() };
        return Ok(vec![found.ok_or_else(unknown)?]);
    }
    let owner = story.map(|story| story.page.spider);
    match rows.iter().find(|row| Some(row.id) == owner) {
        Some(row) => Ok(vec![row.clone()]),
        None => Ok(rows),
    }
}

/// A URL before the spiders.
struct Case<'a> {
    census: &'a Census,
    question: &'a Question<'a>,
    blocks: &'a Blocks,
    url: &'a CrawlUrl,
    story: Option<&'a PageStory>,
    /// The settings that say which servers can be reached are others than in the last crawl.
    is_reach_new: bool,
}

/// What a spider judges by.
struct Bench {
    config: Config,
    own: OwnLimits,
    rules: SpiderRules,
}

impl Case<'_> {
    /// The mistake in the settings, where there is one.
    fn bench(&self, row: &SpiderRow) -> Result<Bench, Failure> {
        let Question { config, folder, .. } = self.question;
        let SpiderConfig { config, own } = config.for_spider(&row.name, &row.settings)?;
        let rules = setup::spider_rules(&config, folder, &row.name, self.blocks)?;
        Ok(Bench { config, own, rules })
    }

    fn opinion(&self, row: &SpiderRow, bench: &Bench, decided: &Decided) -> Result<Opinion, Error> {
        let candidate = self.candidate(row)?;
        let steps = self.steps(row, bench, &candidate, decided)?;
        let is_final =
            |step: &&RuleStep| step.verdict == StepVerdict::Decided && !steps::is_for_now(step);
        Ok(Opinion {
            spider: row.name.clone(),
            refused: is_refused(&steps),
            refused_for_good: steps.iter().any(|step| is_final(&step)),
            paused: row.paused,
            overrides: bench.config.overrides.lines(&row.name, self.url, candidate.level),
            rules: steps.into_iter().map(Step::of).collect(),
        })
    }

    fn candidate(&self, row: &SpiderRow) -> Result<Candidate, Error> {
        let page = self.story.map(|story| &story.page);
        Ok(Candidate {
            url: self.url.clone(),
            spider: row.id,
            level: page.map_or(0, |page| page.level),
            hops: 0,
            seed: page.is_some_and(|page| page.seed),
            // How far outside it lies is known of links alone: as if a page inside linked to it.
            terms: PageTerms {
                requisite: page.is_some_and(|page| page.requisite),
                outside: 1,
                ..PageTerms::default()
            },
            referrer: self.viewed()?,
        })
    }

    fn steps(
        &self,
        row: &SpiderRow,
        bench: &Bench,
        candidate: &Candidate,
        decided: &Decided,
    ) -> Result<Vec<RuleStep>, Error> {
        let (census, story, rules) = (self.census, self.story, &bench.rules);
        let mine = census.seeds_near(self.url)?.into_iter().filter(|seed| seed.spider == row.id);
        let urls: Vec<CrawlUrl> = mine.map(|seed| seed.url).collect();
        let seeds: SeedSet = urls.iter().collect();
        let media_type = story.and_then(answered_type);
        let mut steps = rules.explain_answer(candidate, media_type, &seeds);
        if let Some(step) = steps::block(census, self.blocks, self.url, story, decided)? {
            steps[0] = step;
            steps.truncate(1);
        } else if let Some(step) = steps::quarantine(census, self.url)? {
            steps.push(step);
        } else if !candidate.seed && census.is_held_back(self.url)? {
            steps.push(steps::wildcard(self.url));
        } else if !is_refused(&steps) {
            // Of what the rules refuse nothing else is ever asked.
            let suspect = Suspect::find(census, self.url, story, rules)?;
            steps.extend(suspect.as_ref().and_then(Suspect::now));
            let token = bench.config.etiquette.robots_token();
            steps.push(steps::robots(census, self.url, &token, self.is_reach_new)?);
            if !is_refused(&steps) {
                steps.extend(suspect.as_ref().and_then(Suspect::before));
            }
        }
        Ok(steps)
    }

    /// When the page comes back, if it is this spider's.
    fn revisit(&self, row: &SpiderRow, bench: &Bench) -> Result<Option<Revisit>, Error> {
        let is_own = self.story.is_some_and(|story| story.page.spider == row.id);
        let who = (row.id, row.name.as_str());
        match is_own {
            true => {
                let settings = (&bench.config, &bench.own);
                Revisit::new(self.census, self.url, who, settings, self.question.now)
            }
            false => Ok(None),
        }
    }

    /// The page of which the URL is another view, as far as one is known: there the link to it stands.
    fn viewed(&self) -> Result<Option<Fingerprint>, StoreError> {
        for page in seeder::viewed(self.url) {
            let fp = page.fingerprint();
            if self.census.url_on(page.site_text(), fp)?.is_some() {
                return Ok(Some(fp));
            }
        }
        Ok(None)
    }
}

fn is_refused(steps: &[RuleStep]) -> bool {
    steps.iter().any(|step| step.verdict == StepVerdict::Decided)
}

/// The media type of its last answer, if it had content.
fn answered_type(story: &PageStory) -> Option<&str> {
    let is_content = story.visits.last().is_some_and(|visit| (200..300).contains(&visit.status));
    let facts = story.facts.as_ref().filter(|facts| is_content && !facts.media_type.is_empty());
    facts.map(|facts| facts.media_type.as_str())
}

fn verdict(
    opinion: Option<&Opinion>,
    story: Option<&PageStory>,
    feed: Option<SignalSource>,
    case: &Case<'_>,
) -> Verdict {
    let Some(Opinion { rules, .. }) = opinion else { return Verdict::Unjudged };
    let first = |word| rules.iter().find(|step| step.verdict == word);
    if let Some(step) = first(StepWord::Refused) {
        return Verdict::Refused { rule: step.rule.clone() };
    }
    let Some(story) = story else {
        return match first(StepWord::Open) {
            Some(Step { rule, why, .. }) => {
                Verdict::Depends { rule: rule.clone(), why: why.clone() }
            }
            None => Verdict::NotFound,
        };
    };
    let has_answered = story.visits.iter().any(|visit| visit.status > 0);
    match (story.page.state, feed, story.page.requisite) {
        (PageState::Excluded, Some(feed), _) => Verdict::FeedLeft { feed },
        (PageState::Excluded, None, _) if has_answered => Verdict::Unwanted,
        (PageState::Excluded, None, _) if case.is_reach_new => Verdict::TriedAgain,
        (PageState::Excluded, None, _) => Verdict::WasForbidden,
        (_, Some(feed), true) => Verdict::Feed { feed },
        (_, None, true) if traps::is_probe(case.url) => Verdict::Probe,
        (_, None, true) => Verdict::Requisite,
        _ => Verdict::Crawled,
    }
}

impl Step {
    fn of(step: RuleStep) -> Step {
        let verdict = match step.verdict {
            StepVerdict::Passed => StepWord::Passed,
            StepVerdict::Admitted => StepWord::Accepted,
            StepVerdict::Open => StepWord::Open,
            StepVerdict::Decided => StepWord::Refused,
        };
        Step { rule: step.rule, verdict, why: step.why }
    }
}

impl Mistake {
    fn of(failure: Failure) -> Mistake {
        Mistake { what: failure.sentence, advice: failure.what_to_do }
    }
}

impl CanonicalPage {
    fn of(canonical: Canonical) -> CanonicalPage {
        match canonical {
            Canonical::Folded(url) => CanonicalPage { url, followed: true, why: None },
            Canonical::Ignored { target, why } => {
                CanonicalPage { url: target, followed: false, why: Some(why) }
            }
        }
    }
}

impl Mirror {
    fn of(row: ReplicaRow) -> Mirror {
        let ReplicaRow { site, original, origin, state, compared, same, since, .. } = row;
        Mirror { site, original, origin, state, compared, same, since }
    }
}
