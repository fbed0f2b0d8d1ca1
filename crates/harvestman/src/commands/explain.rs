//! `explain`: why a URL is or is not crawled, and when it will be visited next.

use harvester::clock::RealClock;
use model::{Clock, SignalSource, Timestamp, printable};
use store::{census::Census, collection::Collection, replicas::ReplicaState};

use super::{Context, duplicate_words, next_visit::next_visit, outlook};
use crate::{
    cli::ExplainArgs,
    layout::paragraph,
    terminal::{print, print_json},
};
use collection::{
    explain::{Explanation, Mirror, Opinion, Question, StepWord, Verdict, explain},
    page,
    pages::PageRow,
};
use config::{
    amounts::some,
    failure::{Exit, Failure},
    times,
};

pub fn run(context: &Context, args: &ExplainArgs) -> Result<Exit, Failure> {
    let url = page::url_of(&args.url)?;
    let census = Census::open(&Collection::open(&context.folder)?)?;
    let (config, mistakes) = context.config_to_read();
    let now = RealClock::new().now();
    let question = Question {
        url: &url,
        spider: args.spider.as_deref(),
        folder: &context.folder,
        config: &config,
        mistakes,
        now,
    };
    let explanation = explain(&census, &question)?;
    match context.json {
        true => print_json(&explanation)?,
        false => {
            print(&Telling { it: &explanation, verbose: context.verbose > 0, now }.text())?;
        }
    }
    Ok(Exit::Done)
}

/// An explanation for people.
struct Telling<'a> {
    it: &'a Explanation,
    verbose: bool,
    now: Timestamp,
}

impl Telling<'_> {
    fn text(&self) -> String {
        let it = self.it;
        let mut text = String::new();
        line(&mut text, &printable(&it.url));
        line(&mut text, &self.verdict());
        if let Some(mirror) = &it.mirror {
            line(&mut text, &mirror_line(mirror, &it.url));
        }
        if let Some(page) = &it.page {
            self.write_page(&mut text, page);
        }
        if let Some(mistake) = &it.unjudged {
            let what = printable(&mistake.what);
            line(&mut text, &format!("cannot be judged by all rules: {what}"));
            paragraph(&mut text, "  ", 2, &printable(&mistake.advice));
        }
        for opinion in &it.spiders {
            match it.spiders.len() {
                1 => line(&mut text, "rules, in order:"),
                _ => line(&mut text, &format!("rules of spider {}, in order:", opinion.spider)),
            }
            write_opinion(&mut text, opinion);
        }
        self.write_refused(&mut text);
        text
    }

    fn write_page(&self, text: &mut String, page: &PageRow) {
        let it = self.it;
        let visits = some(page.visits, "visit");
        let (state, kind) = (page.state.word(), self.kind(page));
        line(text, &format!("state {state}, level {}, {visits}{kind}", page.level));
        if let Some(at) = page.visited {
            let outcome = match (&page.failure, page.status) {
                (Some(failure), _) => failure.clone(),
                (None, status) => format!("status {}", status.unwrap_or_default()),
            };
            line(text, &format!("last visit {}: {outcome}", times::ago(at, self.now)));
        }
        if let Some(duplicate) = &it.duplicate {
            line(text, &printable(&duplicate_words(duplicate)));
        }
        if let Some(canonical) = &it.canonical {
            let url = printable(&canonical.url);
            line(
                text,
                &match canonical.why {
                    Some(why) => {
                        format!("names {url} as its canonical page, which is ignored: {why}")
                    }
                    None => format!("exports have its canonical page instead: {url}"),
                },
            );
        }
        self.write_down(text);
        if let Some(end) = it.unavailable_after.map(times::iso) {
            let declared = format!("the page declares unavailable_after {end}");
            line(text, &format!("{declared}; it is not revisited after that"));
        }
        self.write_next(text, page);
    }

    fn write_down(&self, text: &mut String) {
        if let (Some(since), Some(tries)) = (self.it.site_down_since, self.it.site_down_tries) {
            let (since, tries) = (times::iso(since), some(u64::from(tries), "time"));
            line(
                text,
                &format!(
                    "its site has not answered since {since} (asked {tries}): asked less and less \
                 often, at least once a month; crawl --fresh asks at once"
                ),
            );
        }
    }

    /// Of what is refused nothing else decides.
    fn write_next(&self, text: &mut String, page: &PageRow) {
        let it = self.it;
        let chosen = it.spiders.iter().find(|one| Some(&one.spider) == it.spider.as_ref());
        let is_refused = chosen.is_some_and(|opinion| opinion.refused_for_good);
        let revisit = it.revisit.as_ref().filter(|_| !is_refused);
        let undated = revisit.map_or("not by itself", outlook::undated);
        let next = next_visit(page.due, it.batch.as_ref(), undated, self.now);
        let what = if is_refused { "judged again" } else { "next visit" };
        match revisit {
            Some(revisit) => line(text, &format!("{what} {next}: {}", outlook::reason(revisit))),
            None => line(text, &format!("{what} {next}")),
        }
        for words in revisit.iter().flat_map(|one| outlook::lines(one, self.verbose, self.now)) {
            line(text, &words);
        }
    }

    fn kind(&self, page: &PageRow) -> &'static str {
        match (page.seed, page.requisite, &self.it.verdict) {
            (true, ..) => ", a seed",
            (_, true, Verdict::Feed { .. } | Verdict::FeedLeft { .. }) => ", tells of other pages",
            (_, true, Verdict::Probe) => ", a question to the site, not a page",
            (_, true, _) => ", a part of pages, not a page",
            _ => "",
        }
    }

    fn verdict(&self) -> String {
        match &self.it.verdict {
            Verdict::Unjudged => {
                let known = match self.it.page.as_ref().map(|page| page.visits) {
                    None => "no link or seed has led to it yet",
                    Some(0) => "known, and not visited yet",
                    Some(_) => "known, and visited before",
                };
                format!(
                    "{known}; whether it is crawled cannot be said: the settings have a mistake"
                )
            }
            Verdict::Refused { rule } => format!("not crawled: {}", printable(rule)),
            Verdict::FeedLeft { feed } => format!(
                "not read: a {} of more than 20 MB is left alone; or robots.txt forbade it when \
                 it was due",
                feed_word(*feed)
            ),
            Verdict::Unwanted => "not crawled: its answer was not wanted (fetch.media_types, \
                                  fetch.body_bytes_max); crawl --fresh asks again"
                .to_owned(),
            Verdict::WasForbidden => "not crawled: robots.txt or a rule that is no longer there \
                                      forbade it when it was due; crawl --fresh asks again"
                .to_owned(),
            Verdict::TriedAgain => "crawled: settings have changed that decide how servers are \
                                    reached; the next crawl tries it"
                .to_owned(),
            Verdict::Feed { feed } => format!(
                "read as a {}, not as a page: for new pages and announced changes",
                feed_word(*feed)
            ),
            Verdict::Probe => "asked for once, to see what the site says of a page that cannot \
                               exist (hazards.soft_404): no page, and counted as none"
                .to_owned(),
            Verdict::Requisite => "fetched as a part of pages, not a page: not read for links, \
                                   and counted as none"
                .to_owned(),
            Verdict::Crawled => "crawled: every rule lets it pass".to_owned(),
            Verdict::Depends { rule, why } => {
                format!("depends on {}: {}", printable(rule), printable(why))
            }
            Verdict::NotFound => {
                "would be crawled, but no link or seed has led to it yet".to_owned()
            }
        }
    }

    fn write_refused(&self, text: &mut String) {
        let refused = &self.it.refused_on_site;
        if self.it.known || refused.is_empty() {
            return;
        }
        line(text, "refused on this site so far:");
        for row in refused {
            let (rule, example) = (printable(&row.rule), printable(&row.example));
            let words = format!("{} ({rule}), such as {example}", row.reason);
            paragraph(text, &format!("  {:>8}  ", row.count), 12, &words);
        }
    }
}

fn line(text: &mut String, words: &str) {
    paragraph(text, "", 2, words);
}

fn feed_word(feed: SignalSource) -> &'static str {
    feed.word()
}

fn write_opinion(text: &mut String, opinion: &Opinion) {
    for step in &opinion.rules {
        let sign = match step.verdict {
            StepWord::Passed => "passed",
            StepWord::Accepted => "accepts",
            StepWord::Open => "open",
            StepWord::Refused => "refused",
        };
        let words = format!("{}: {}", printable(&step.rule), printable(&step.why));
        paragraph(text, &format!("  {sign:<9}"), 11, &words);
    }
    if opinion.paused {
        let name = &opinion.spider;
        let words = format!("but spider {name} is paused: nothing is visited until it is resumed");
        paragraph(text, "  ", 2, &words);
    }
    if !opinion.overrides.is_empty() {
        let lines: Vec<String> = opinion.overrides.iter().map(ToString::to_string).collect();
        let words = format!("overrides of harvest.toml concern it: line {}", lines.join(", "));
        paragraph(text, "  ", 2, &words);
    }
}

fn mirror_line(mirror: &Mirror, url: &str) -> String {
    let (site, original) = (printable(&mirror.site), printable(&mirror.original));
    let documents = some(u64::from(mirror.compared), "document");
    let evidence = format!("the same: {} of {documents}", mirror.same);
    match mirror.state {
        ReplicaState::Folded => {
            let path = url.split_once("://").map_or(url, |(_, rest)| rest);
            let path = path.find('/').map_or("/", |at| &path[at..]);
            format!(
                "{site} serves what {original} serves ({evidence}): links to it are taken as \
                 {}{}; lift it with: harvestman mirrors lift {site}",
                printable(&mirror.origin),
                printable(path)
            )
        }
        ReplicaState::Reported => {
            format!("{site} serves what {original} serves ({evidence}); it is crawled all the same")
        }
        ReplicaState::Dropped => {
            format!("{site} served what {original} serves, and no longer does")
        }
        ReplicaState::Lifted => format!("{site} is never taken for a mirror: you said so"),
    }
}
