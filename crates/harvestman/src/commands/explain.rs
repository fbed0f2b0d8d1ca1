//! `explain`: why a URL is or is not crawled, and when it will be visited next; from the database and the
//! rules alone, without a request.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{
    Candidate, Clock, CrawlUrl, Down, Fingerprint, PageState, PageTerms, SignalSource, Timestamp,
};
use seeder::{Block, Blocks, RuleStep, SeedSet, SpiderRules, StepVerdict, parse_seed, traps};
use serde_json::{Value, json};
use store::{
    census::{Census, DecisionEntry, PageStory},
    collection::Collection,
    history::Canonical,
    replicas::{ReplicaRow, ReplicaState},
    spiders::SpiderRow,
};

use super::{
    Context,
    alike::Alike,
    known_as,
    lent::{self, Lent},
    outlook::Outlook,
};
use crate::{cli::ExplainArgs, terminal::print};
use config::{
    Config, OwnLimits, SpiderConfig,
    amounts::some,
    failure::{Exit, Failure},
    setup, times,
};
use model::printable;

mod steps;
mod trapped;

use trapped::Suspect;

const DECISIONS_SHOWN: u32 = 20;

pub fn run(context: &Context, args: &ExplainArgs) -> Result<Exit, Failure> {
    let url = parse_seed(&args.url).map_err(|why| Failure::no_url(&args.url, &why))?;
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let (config, mut mistakes) = context.config_to_read();
    let blocks = Blocks::default();
    census.each_block(|entry| {
        blocks.add(Block::parse(&entry.pattern));
    })?;
    setup::keep_out_forgotten(&blocks, census.tombstones()?);
    let (url, story) = known_as(&census, &setup::form(&config)?, url)?;
    let decisions = census.decisions_on(url.site().as_str(), DECISIONS_SHOWN)?;
    let now = RealClock::new().now();
    let case = Case { context, census: &census, config: &config, blocks: &blocks, url: &url, now };
    let asked = asked(census.spiders()?, args.spider.as_deref(), story.as_ref())?;
    // By rules that are not the ones that were meant nothing is judged.
    let (mut opinions, is_sound) = (Vec::new(), mistakes.is_empty());
    for row in asked.iter().filter(|_| is_sound) {
        match case.bench(row) {
            Ok(bench) => opinions.push(case.opinion(row, &bench, story.as_ref(), &decisions)?),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let unjudged = mistakes.into_iter().next();
    let replica = census.replica(url.site_text())?;
    let alike = story.as_ref().and_then(|story| story.facts.as_ref());
    let alike = alike.map(|facts| Alike::of(&census, &url, facts)).transpose()?.flatten();
    let canonical = census.canonical(&url)?;
    let down = census.site_traps(url.site_text())?.down;
    let lent = Lent::of(&census, url.site_text(), now)?;
    let explanation = Explanation {
        url,
        story,
        opinions,
        unjudged,
        decisions,
        replica,
        alike,
        canonical,
        down,
        lent,
        now,
    };
    print(&match context.json {
        true => format!("{:#}\n", explanation.json()),
        false => explanation.text(),
    })?;
    Ok(Exit::Done)
}

/// Who is asked: the one that was named, the one whose page it is, or all.
fn asked(
    rows: Vec<SpiderRow>,
    named: Option<&str>,
    story: Option<&PageStory>,
) -> Result<Vec<SpiderRow>, Failure> {
    if let Some(name) = named {
        return Ok(vec![super::spider::find(rows, name)?]);
    }
    let owner = story.map(|story| story.page.spider);
    match rows.iter().find(|row| Some(row.id) == owner) {
        Some(row) => Ok(vec![row.clone()]),
        None => Ok(rows),
    }
}

/// A URL before the spiders.
struct Case<'a> {
    context: &'a Context,
    census: &'a Census,
    config: &'a Config,
    blocks: &'a Blocks,
    url: &'a CrawlUrl,
    now: Timestamp,
}

/// What a spider judges by.
struct Bench {
    config: Config,
    own: OwnLimits,
    rules: SpiderRules,
}

/// What one spider says.
struct Opinion {
    spider: String,
    steps: Vec<RuleStep>,
    /// Of `harvest.toml`, where overrides concern the page.
    overrides: Vec<usize>,
    /// Nothing is visited for it.
    paused: bool,
    /// When the page comes back, if it is this spider's.
    outlook: Option<Outlook>,
}

impl Case<'_> {
    /// The mistake in the settings, where there is one.
    fn bench(&self, row: &SpiderRow) -> Result<Bench, Failure> {
        let SpiderConfig { config, own } = self.config.for_spider(&row.name, &row.settings)?;
        let rules = setup::spider_rules(&config, &self.context.folder, &row.name, self.blocks)?;
        Ok(Bench { config, own, rules })
    }

    fn opinion(
        &self,
        row: &SpiderRow,
        bench: &Bench,
        story: Option<&PageStory>,
        decisions: &[DecisionEntry],
    ) -> Result<Opinion, Failure> {
        let Bench { config, own, rules } = bench;
        let mine = self.census.seeds()?.into_iter().filter(|seed| seed.spider == row.id);
        let urls: Vec<CrawlUrl> = mine.map(|seed| seed.url).collect();
        let seeds: SeedSet = urls.iter().collect();
        let level = story.map_or(0, |story| story.page.level);
        let candidate = Candidate {
            url: self.url.clone(),
            spider: row.id,
            level,
            hops: 0,
            seed: story.is_some_and(|story| story.page.seed),
            // How far outside it lies is known of links alone: as if a page inside linked to it.
            terms: PageTerms {
                requisite: story.is_some_and(|story| story.page.requisite),
                outside: 1,
                ..PageTerms::default()
            },
            referrer: self.viewed()?,
        };
        let media_type = story.and_then(answered_type);
        let mut steps = rules.explain_answer(&candidate, media_type, &seeds);
        if let Some(step) = steps::block(self.census, self.blocks, self.url, story, decisions)? {
            steps[0] = step;
            steps.truncate(1);
        } else if let Some(step) = super::quarantine::step(self.census, self.url)? {
            steps.push(step);
        } else if !candidate.seed && self.census.is_held_back(self.url)? {
            steps.push(steps::wildcard(self.url));
        } else if !is_refused(&steps) {
            // Of what the rules refuse nothing else is ever asked.
            let suspect = Suspect::find(self.census, self.url, story, rules)?;
            steps.extend(suspect.as_ref().and_then(Suspect::now));
            let token = config.etiquette.robots_token();
            steps.push(steps::robots(self.census, self.url, &token)?);
            if !is_refused(&steps) {
                steps.extend(suspect.as_ref().and_then(Suspect::before));
            }
        }
        let overrides = config.overrides.lines(&row.name, self.url, level);
        let outlook = match story {
            Some(story) if story.page.spider == row.id => {
                let who = (row.id, row.name.as_str());
                Outlook::new(self.census, self.url, who, (config, own), self.now)?
            }
            _ => None,
        };
        Ok(Opinion { spider: row.name.clone(), steps, overrides, paused: row.paused, outlook })
    }
}

impl Case<'_> {
    /// The page of which the URL is another view, as far as one is known: there the link to it stands.
    fn viewed(&self) -> Result<Option<Fingerprint>, Failure> {
        for page in seeder::viewed(self.url) {
            let fp = page.fingerprint();
            if self.census.url_on(page.site_text(), fp)?.is_some() {
                return Ok(Some(fp));
            }
        }
        Ok(None)
    }
}

impl Opinion {
    fn refuses(&self) -> bool {
        is_refused(&self.steps)
    }

    fn refuses_for_good(&self) -> bool {
        let mut decided = self.steps.iter().filter(|step| step.verdict == StepVerdict::Decided);
        decided.any(|step| !steps::is_for_now(step))
    }

    fn json(&self) -> Value {
        let steps: Vec<Value> = self
            .steps
            .iter()
            .map(|step| {
                let is = |verdict| step.verdict == verdict;
                json!({
                    "rule": step.rule, "refused": is(StepVerdict::Decided),
                    "admitted": is(StepVerdict::Admitted), "open": is(StepVerdict::Open),
                    "why": step.why,
                })
            })
            .collect();
        Value::from(steps)
    }

    fn write(&self, text: &mut String) {
        for step in &self.steps {
            let sign = match step.verdict {
                StepVerdict::Passed => "passed ",
                StepVerdict::Admitted => "accepts",
                StepVerdict::Open => "open   ",
                StepVerdict::Decided => "refused",
            };
            let _ =
                writeln!(text, "  {sign}  {:<36} {}", printable(&step.rule), printable(&step.why));
        }
        if self.paused {
            let name = &self.spider;
            let _ = writeln!(
                text,
                "  but spider {name} is paused: nothing is visited until it is resumed"
            );
        }
        if !self.overrides.is_empty() {
            let lines: Vec<String> = self.overrides.iter().map(ToString::to_string).collect();
            let lines = lines.join(", ");
            let _ = writeln!(text, "  overrides of harvest.toml concern it: line {lines}");
        }
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

struct Explanation {
    url: CrawlUrl,
    story: Option<PageStory>,
    opinions: Vec<Opinion>,
    /// A mistake in the settings, for which a spider, or all of them, cannot judge.
    unjudged: Option<Failure>,
    decisions: Vec<DecisionEntry>,
    /// Its site is, or was, taken for the same as another.
    replica: Option<ReplicaRow>,
    alike: Option<Alike>,
    canonical: Option<Canonical>,
    down: Option<Down>,
    lent: Option<Lent>,
    now: Timestamp,
}

impl Explanation {
    /// That of the spider that would take it, or else the first.
    fn opinion(&self) -> Option<&Opinion> {
        let taker = self.opinions.iter().find(|opinion| !opinion.refuses());
        taker.or(self.opinions.first())
    }

    fn notice(&self) -> Option<SignalSource> {
        self.outlook().and_then(Outlook::notice)
    }

    fn outlook(&self) -> Option<&Outlook> {
        self.opinions.iter().find_map(|opinion| opinion.outlook.as_ref())
    }

    fn json(&self) -> Value {
        let spiders: Vec<Value> = self
            .opinions
            .iter()
            .map(|opinion| {
                json!({ "spider": opinion.spider, "refuses": opinion.refuses(),
                        "paused": opinion.paused,
                        "rules": opinion.json(), "overrides": opinion.overrides })
            })
            .collect();
        json!({
            "url": self.url.as_str(),
            "site": self.url.site().as_str(),
            "verdict": self.verdict(),
            "known": self.story.is_some(),
            "unjudged": self.unjudged.as_ref().map(|mistake| &mistake.sentence),
            "page": self.story.as_ref().map(|story| {
                times::iso_fields(json!(story.page), &["found", "visited", "due"])
            }),
            "facts": self.story.as_ref().and_then(|story| story.facts.as_ref()),
            "visits": self.story.as_ref().map(|story| {
                let row = |visit| times::iso_fields(json!(visit), &["times", "record_date"]);
                story.visits.iter().map(row).collect::<Vec<Value>>()
            }),
            "spider": self.opinion().map(|opinion| &opinion.spider),
            "rules": self.opinion().map_or_else(|| json!([]), Opinion::json),
            "spiders": spiders,
            "alike": self.alike.as_ref().map(Alike::json),
            "canonical": self.canonical.as_ref().map(canonical_words),
            "batch": self.lent.as_ref().map(Lent::json),
            "site_down_since": self.down.map(|down| times::iso(down.since)),
            "decisions_on_site": self.decisions.iter()
                .map(|entry| times::iso_fields(json!(entry), &["last"])).collect::<Vec<Value>>(),
            "coming_back": self.outlook().map(Outlook::json),
            "replica": self.replica.as_ref()
                .map(|row| times::iso_fields(json!(row), &["since", "looked"])),
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", printable(self.url.as_str()), self.verdict());
        if let Some(row) = &self.replica {
            text.push_str(&replica_line(row, &self.url));
        }
        if let Some(story) = &self.story {
            self.write_story(&mut text, story);
        }
        text.extend(self.unjudged.as_ref().map(unjudged_line));
        let several = self.opinions.len() > 1;
        for opinion in &self.opinions {
            match several {
                true => drop(writeln!(text, "rules of spider {}, in order:", opinion.spider)),
                false => text.push_str("rules, in order:\n"),
            }
            opinion.write(&mut text);
        }
        if self.story.is_none() && !self.decisions.is_empty() {
            text.push_str("refused on this site so far:\n");
            for entry in &self.decisions {
                let _ = writeln!(
                    text,
                    "  {:>8}  {} ({}), such as {}",
                    entry.count,
                    entry.reason,
                    printable(&entry.rule),
                    printable(&entry.example)
                );
            }
        }
        text
    }

    /// What is recorded, without the rules.
    fn no_verdict(&self) -> String {
        let known = match self.story.as_ref().map(|story| story.page.visits) {
            None => "no link or seed has led to it yet",
            Some(0) => "known, and not visited yet",
            Some(_) => "known, and visited before",
        };
        format!("{known}; whether it is crawled cannot be said: the settings have a mistake")
    }

    fn write_story(&self, text: &mut String, story: &PageStory) {
        let page = &story.page;
        let _ = writeln!(
            text,
            "state {}, level {}, {}{}",
            page.state.word(),
            page.level,
            some(page.visits, "visit"),
            match (page.seed, page.requisite) {
                (true, _) => ", a seed",
                (_, true) if self.notice().is_some() => ", tells of other pages",
                (_, true) if traps::is_probe(&self.url) => ", a question to the site, not a page",
                (_, true) => ", a part of pages, not a page",
                _ => "",
            }
        );
        if let Some(last) = story.visits.last() {
            let when = last.times.last().map_or_else(String::new, |at| times::ago(*at, self.now));
            let outcome = match &last.failure {
                Some(failure) => failure.clone(),
                None => format!("status {}", last.status),
            };
            let _ = writeln!(text, "last visit {when}: {outcome}");
        }
        if let Some(alike) = &self.alike {
            let _ = writeln!(text, "{}", printable(&alike.words()));
        }
        if let Some(canonical) = &self.canonical {
            let _ = writeln!(text, "{}", printable(&canonical_words(canonical)));
        }
        if let Some(down) = self.down {
            let _ = writeln!(
                text,
                "its site has not answered since {} (asked {}): asked ever less often, at least \
                 once a month; crawl --fresh asks at once",
                times::iso(down.since),
                some(u64::from(down.tries), "time")
            );
        }
        if let Some(end) = story.facts.as_ref().and_then(|facts| facts.unavailable_after) {
            let end = times::iso(end);
            let _ = writeln!(
                text,
                "it says that it ends at {end} (unavailable_after): not looked after beyond"
            );
        }
        // Of what is refused nothing else decides.
        let is_refused = self.opinion().is_some_and(Opinion::refuses_for_good);
        let outlook = self.outlook().filter(|_| !is_refused);
        let undated = outlook.map_or("not by itself", Outlook::undated);
        let next = lent::next_visit(page.due, self.lent.as_ref(), undated, self.now);
        let what = if is_refused { "judged again" } else { "next visit" };
        let _ = writeln!(text, "{what} {next}");
        if let Some(outlook) = outlook {
            outlook.write(text);
        }
    }

    fn verdict(&self) -> String {
        let Some(Opinion { steps, .. }) = self.opinion() else { return self.no_verdict() };
        let refused = steps.iter().find(|step| step.verdict == StepVerdict::Decided);
        let open = steps.iter().find(|step| step.verdict == StepVerdict::Open);
        match (refused, &self.story) {
            (Some(step), _) => format!("not crawled: {}", step.rule),
            (None, Some(story))
                if story.page.state == PageState::Excluded && self.notice().is_some() =>
            {
                let word = self.notice().map_or("notice", SignalSource::word);
                format!(
                    "not read: a {word} of more than 20 MB is left alone; or robots.txt forbade it when it was due"
                )
            }
            (None, Some(story)) if story.page.state == PageState::Excluded => {
                let why = match story.visits.iter().any(|visit| visit.status > 0) {
                    true => "its answer was not wanted (fetch.media_types, fetch.body_bytes_max)",
                    false => {
                        "robots.txt or a rule that is no longer there forbade it when it was due"
                    }
                };
                format!("not crawled: {why}; crawl --fresh asks again")
            }
            (None, Some(story)) if story.page.requisite && self.notice().is_some() => {
                let word = self.notice().map_or("notice", SignalSource::word);
                format!("read as a {word}, not a page: for new pages and changes that it tells of")
            }
            (None, Some(story)) if story.page.requisite && traps::is_probe(&self.url) => {
                "asked for once, to see what the site says of a page that cannot exist \
                 (hazards.soft_404): no page, and counted as none"
                    .to_owned()
            }
            (None, Some(story)) if story.page.requisite => {
                "fetched as a part of pages, not a page: not read for links, and counted as none"
                    .to_owned()
            }
            (None, Some(_)) => "crawled: every rule lets it pass".to_owned(),
            (None, None) => match open {
                Some(step) => format!("depends on {}: {}", step.rule, step.why),
                None => "would be crawled, but no link or seed has led to it yet".to_owned(),
            },
        }
    }
}

/// What a spider whose settings are wrong would say is not known.
fn unjudged_line(mistake: &Failure) -> String {
    let (what, advice) = (printable(&mistake.sentence), printable(&mistake.what_to_do));
    format!("cannot be judged by all rules: {what}\n  {advice}\n")
}

fn replica_line(row: &ReplicaRow, url: &CrawlUrl) -> String {
    let (site, original) = (printable(&row.site), printable(&row.original));
    let evidence =
        format!("the same: {} of {}", row.same, some(u64::from(row.compared), "document"));
    match row.state {
        ReplicaState::Folded => format!(
            "{site} serves what {original} serves ({evidence}): links to it are taken as {}{}; \
             lift it with: harvestman mirrors lift {site}\n",
            printable(&row.origin),
            printable(url.path_and_query()),
        ),
        ReplicaState::Reported => {
            format!(
                "{site} serves what {original} serves ({evidence}); it is crawled all the same\n"
            )
        }
        ReplicaState::Dropped => {
            format!("{site} served what {original} serves, and no longer does\n")
        }
        ReplicaState::Lifted => format!("{site} is never taken for a replica: you said so\n"),
    }
}

fn canonical_words(canonical: &Canonical) -> String {
    match canonical {
        Canonical::Folded(target) => format!("exports have its canonical page instead: {target}"),
        Canonical::Ignored { target, why } => {
            format!("names {target} as its canonical page, which is ignored: {why}")
        }
    }
}
