//! A crawl at the terminal: progress while it runs, a summary at its end, an exit code.

use std::sync::Arc;

use config::{
    Config, FlagValues, Origin,
    amounts::some,
    failure::{Exit, Failure},
    veiled,
};
use engine::{
    crawl::Crawl,
    observe::{Finished, Observer},
    pipeline::{harvest::Ended, preview::Preview, tally::Progress},
};
use model::{BoxFuture, CrawlUrl, Timestamp};
use store::{
    census::{Census, DecisionEntry},
    frontier::BatchRow,
};
use tokio::sync::watch;

use crate::{
    commands::Context,
    progress::{Display, Mode},
    show_progress::Watcher,
    summary::{BatchOut, EndedBy, Refused, Summary},
    terminal::print,
};

/// What a command asks of a crawl.
#[derive(Default)]
pub struct Wanted {
    pub flags: FlagValues,
    pub seeds: Vec<CrawlUrl>,
    /// Visit all known pages now.
    pub fresh: bool,
    pub forever: bool,
    /// Nothing is kept: only what would be taken is shown.
    pub preview: Option<Arc<Preview>>,
}

/// `paths`: where relative paths of the configuration start.
pub fn crawl(
    context: &Context,
    config: Config,
    paths: std::path::PathBuf,
    wanted: Wanted,
) -> Result<Exit, Failure> {
    let Wanted { flags, seeds, fresh, forever, preview } = wanted;
    let (folder, observer) = (context.folder.clone(), Arc::new(AtTerminal(context.clone())));
    let crawl = Crawl { folder, observer, config, paths, flags, seeds, fresh, forever, preview };
    Ok(match crawl.run()? {
        Ended::Stopped => Exit::Stopped,
        _ => Exit::Done,
    })
}

/// Who hears of a crawl that was started by a command.
pub struct AtTerminal(pub Context);

impl Observer for AtTerminal {
    fn notice(&self, line: &str) {
        self.0.say(line);
    }

    fn follow(
        &self,
        config: &Config,
        progress: watch::Receiver<Progress>,
    ) -> BoxFuture<'static, ()> {
        let display = Display::new(Mode::choose(self.0.quiet, self.0.verbose));
        let watcher = Watcher::new(display, config);
        Box::pin(watcher.run(progress))
    }

    fn finished(&self, finished: &Finished<'_>) -> Result<(), Failure> {
        let Finished { crawl, ended, now, .. } = finished;
        if crawl.preview.is_none() {
            self.summarize(finished)?;
            match ended {
                Ended::PagesLimit => self.0.say("crawl.pages is a total for the collection"),
                Ended::BytesLimit => self.0.say("crawl.bytes is a total for the collection"),
                _ => {}
            }
        }
        nothing_fetched(finished, *now).map_or(Ok(()), Err)
    }
}

impl AtTerminal {
    fn summarize(&self, finished: &Finished<'_>) -> Result<(), Failure> {
        let Finished { ended, collection, now, .. } = finished;
        let next_due = match ended {
            Ended::Done { next_due } => *next_due,
            // It ended before all was done: what is due is left to fetch.
            _ => Census::open(collection)?.next_pages(1, *now)?.first().and_then(|page| page.due),
        };
        let summary = self.summary(finished, next_due)?;
        if self.0.json {
            let json = serde_json::to_string_pretty(&summary.json());
            return print(&format!("{}\n", json.unwrap_or_default()));
        }
        self.0.say(&summary.text());
        Ok(())
    }

    fn summary(
        &self,
        finished: &Finished<'_>,
        next_due: Option<Timestamp>,
    ) -> Result<Summary, Failure> {
        let Finished { crawl, ended, tally, collection, now, .. } = finished;
        let (now, census) = (*now, Census::open(collection)?);
        let mut refused = merged(census.decisions(None, 1_000)?);
        let of_batch = census.is_of_batch()?;
        if of_batch {
            // A batch follows no links: they are judged when it is back.
            refused.retain(|refused| refused.reason != model::RefusalReason::Scope);
        }
        Ok(Summary {
            ended: ended_by(ended, finished.counts.pages_waiting),
            reason: finished.reason.clone(),
            elapsed: finished.elapsed,
            fetched: tally.fetched,
            versions: tally.versions,
            unchanged: tally.unchanged,
            redirected: tally.redirected,
            failed: tally.failed,
            requisites: tally.requisites,
            requisites_failed: tally.requisites_failed,
            bytes: tally.bytes,
            errors: tally.errors.clone().into_iter().collect(),
            other_errors: tally.other_errors.clone().into_iter().collect(),
            left_out: tally.left_out.clone().into_iter().collect(),
            refused,
            refused_total: if of_batch { 0 } else { finished.counts.refused },
            waiting: finished.counts.pages_waiting,
            collection: collection.dir().display().to_string(),
            next_due: next_due.map(|at| (at, config::times::until(at, now))),
            nothing_fetched: nothing_fetched(finished, now).is_some(),
            out: batches_out(&census, now)?,
            resume: resume(&crawl.config, ended),
            paused: finished.paused.clone(),
            forever: crawl.forever,
            of_batch,
            without_contact: crawl.config.etiquette.contact.is_none()
                && crawl.config.etiquette.user_agent.is_none(),
        })
    }
}

fn ended_by(ended: &Ended, waiting: u64) -> EndedBy {
    match ended {
        Ended::Done { .. } if waiting > 0 => EndedBy::Waiting,
        Ended::PagesLimit => EndedBy::PageLimit,
        Ended::BytesLimit => EndedBy::ByteLimit,
        Ended::TimeLimit => EndedBy::TimeLimit,
        Ended::Stopped => EndedBy::Stopped,
        // Pauses and faults have no summary.
        Ended::Done { .. } | Ended::Rest { .. } | Ended::Clock { .. } | Ended::Fault(_) => {
            EndedBy::Done
        }
    }
}

/// The command as it was typed: the same one goes on, with the same flags, but for a limit that is reached.
fn resume(config: &Config, ended: &Ended) -> String {
    let mut typed: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--fresh").collect();
    if matches!(ended, Ended::PagesLimit) {
        typed = without_limit(typed, matches!(config.origin("crawl.pages"), Origin::Flag(_)));
    }
    let words = typed.into_iter();
    // A proxy's password is for nobody's eyes.
    let words = words.map(|word| match word.contains("://") {
        true => veiled(&word),
        false => word,
    });
    let words: Vec<String> = words.map(|word| shell_word(&word)).collect();
    // No flag stands for that one.
    let lifted = match ended {
        Ended::BytesLimit => "HARVESTMAN_CRAWL_BYTES=none ",
        _ => "",
    };
    format!("{lifted}harvestman {}", words.join(" "))
}

/// `by_flag`: the limit on pages was typed; else it stands elsewhere and has to be lifted.
fn without_limit(typed: Vec<String>, by_flag: bool) -> Vec<String> {
    let mut kept = Vec::with_capacity(typed.len() + 2);
    let mut words = typed.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--pages" => drop(words.next()),
            other if other.starts_with("--pages=") => {}
            _ => kept.push(word),
        }
    }
    if !by_flag {
        kept.extend(["--pages".to_owned(), "none".to_owned()]);
    }
    kept
}

/// Batches that keep sites from being visited here.
fn batches_out(census: &Census, now: Timestamp) -> Result<Vec<BatchOut>, Failure> {
    let rows = census.batches()?.into_iter().filter(|row| row.sites_out > 0 && row.until > now);
    let out = |row: BatchRow| BatchOut {
        id: row.id,
        pages: row.pages,
        sites: row.sites_out,
        until: (row.until, config::times::until(row.until, now)),
    };
    Ok(rows.map(out).collect())
}

/// As a shell reads it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Nothing came back although something was tried: an exit of its own, with the last trouble in words.
fn nothing_fetched(finished: &Finished<'_>, now: Timestamp) -> Option<Failure> {
    let Finished { ended, tally, counts, .. } = finished;
    let tried = tally.failed + tally.excluded > 0
        || !(tally.errors.is_empty() && tally.other_errors.is_empty())
        || !tally.paused.is_empty();
    let Ended::Done { next_due } = ended else { return None };
    // Pages wait, and nothing was ever fetched: that nothing was tried now is no success.
    let waits = counts.pages_waiting > 0 && counts.pages_fetched == 0;
    let tried = tried || waits;
    if tally.fetched > 0 || tally.redirected > 0 || !tried {
        return None;
    }
    // A collection with pages of which the rest is refused is done.
    let is_only_refused =
        tally.failed == 0 && tally.other_errors.is_empty() && tally.paused.is_empty();
    if is_only_refused && counts.pages_fetched > 0 {
        return None;
    }
    let when = next_due.map_or(String::new(), |at| format!(" {}", config::times::until(at, now)));
    if let Some((spider, why)) = tally.paused.first_key_value() {
        return Some(Failure::nothing_fetched(
            format!("nothing could be fetched: spider {spider} is paused: {why}"),
            format!("fix it, then: {}", resume_spider(spider)),
        ));
    }
    if let (None, Some((url, detail))) = (&tally.last_failure, &tally.last_refusal) {
        return Some(Failure::nothing_fetched(
            format!("nothing could be fetched: {url} is refused: {detail}"),
            "what another setting allows is tried at once by the same command",
        ));
    }
    Some(match &tally.last_failure {
        Some((url, detail)) => Failure::nothing_fetched(
            format!("nothing could be fetched; the last error was {url}: {detail}"),
            format!("check the URL and the network; the same command tries again{when}"),
        ),
        None if tally.excluded > 0 => Failure::nothing_fetched(
            "nothing could be fetched: everything known is refused",
            "see why with: harvestman explain URL",
        ),
        None if waits && tally.requests == 0 => Failure::nothing_fetched(
            format!("nothing could be fetched: {}", waiting(counts.pages_waiting, &when)),
            "see why with: harvestman explain URL",
        ),
        None => Failure::nothing_fetched(
            "nothing could be fetched: no page answered with content",
            "see why with: harvestman explain URL",
        ),
    })
}

/// `when`: that of the next visit, with a blank before it, or nothing.
fn waiting(pages: u64, when: &str) -> String {
    let (pages, verb) = (some(pages, "page"), if pages == 1 { "waits" } else { "wait" });
    match when {
        "" => format!("{pages} {verb}"),
        when => format!("{pages} {verb}, and the next visit is{when}"),
    }
}

fn resume_spider(name: &str) -> String {
    format!("harvestman spider resume {}", shell_word(name))
}

/// Refusals by one rule are one line, whatever the number of sites.
fn merged(entries: Vec<DecisionEntry>) -> Vec<Refused> {
    let mut merged: Vec<Refused> = Vec::new();
    for entry in entries {
        let Some(reason) = model::RefusalReason::from_word(&entry.reason) else { continue };
        match merged.iter_mut().find(|known| known.reason == reason && known.rule == entry.rule) {
            Some(known) => known.count += entry.count,
            None => {
                let DecisionEntry { rule, count, example, .. } = entry;
                merged.push(Refused { reason, rule, count, example });
            }
        }
    }
    merged.sort_by_key(|refused| std::cmp::Reverse(refused.count));
    merged
}
