//! `history`: all visits of a page as runs: when it was new, changed, gone, back, and how long it stayed as it
//! was.

use std::{collections::HashMap, fmt::Write};

use harvester::clock::RealClock;
use model::{Change, Clock, Timestamp};
use serde_json::{Value, json};

use super::{
    Context,
    lent::{self, Lent},
    story::Story,
};
use crate::{cli::HistoryArgs, terminal::print};
use collection::versions::{Found, Run};
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    times,
};
use model::printable;

/// Redirects whose target is read from the archive, the newest: each is a look into a volume.
const TARGETS_MAX: usize = 200;

pub fn run(context: &Context, args: &HistoryArgs) -> Result<Exit, Failure> {
    let story = Story::find(context, &args.url)?;
    let mut runs = story.versions().runs(&targets(&story));
    let left_out = match args.all {
        true => 0,
        false => runs.len().saturating_sub(usize::try_from(args.limit).unwrap_or(usize::MAX)),
    };
    runs.drain(..left_out);
    let now = RealClock::new().now();
    let lent = Lent::of(&story.census, story.url.site_text(), now)?;
    let listing = Listing { story: &story, runs, left_out, lent, now };
    print(&match context.json {
        true => format!("{:#}\n", listing.json()),
        false => listing.text(),
    })?;
    Ok(Exit::Done)
}

/// Where redirects led, by row.
fn targets(story: &Story) -> HashMap<i64, String> {
    let archived = story.archived();
    let redirects = story.story.visits.iter().rev();
    redirects
        .filter(|visit| visit.change == Change::Redirected)
        .take(TARGETS_MAX)
        .filter_map(|visit| Some((visit.seq, archived.redirect(visit.record?)?)))
        .collect()
}

struct Listing<'a> {
    story: &'a Story,
    runs: Vec<Run>,
    /// Earlier runs that are not shown.
    left_out: usize,
    lent: Option<Lent>,
    now: Timestamp,
}

impl Listing<'_> {
    fn text(&self) -> String {
        let page = &self.story.story.page;
        let mut text = format!("{}\n", printable(self.story.url.as_str()));
        let title = self.story.story.facts.as_ref().map_or("", |facts| facts.title.as_str());
        if !title.is_empty() {
            let _ = writeln!(text, "{}", printable(title));
        }
        let _ = writeln!(
            text,
            "{}, {}, {}; next visit {}\n",
            page.state.word(),
            some(page.visits, "visit"),
            some(self.story.versions().count() as u64, "version"),
            lent::next_visit(page.due, self.lent.as_ref(), "not by itself", self.now),
        );
        if self.runs.is_empty() {
            text.push_str("no visit yet\n");
            return text;
        }
        text.push_str(
            "  #  from                  last seen             visits  status       size  what\n",
        );
        if self.left_out > 0 {
            let _ =
                writeln!(text, "     … {} earlier; --all shows them", number(self.left_out as u64));
        }
        for run in &self.runs {
            write_run(&mut text, run);
        }
        text
    }

    fn json(&self) -> Value {
        let page = &self.story.story.page;
        json!({
            "url": self.story.url.as_str(),
            "site": page.site,
            "state": page.state,
            "visits": page.visits,
            "versions": self.story.versions().count(),
            "found": times::iso(page.found),
            "visited": page.visited.map(times::iso),
            "due": page.due.map(times::iso),
            "batch": self.lent.as_ref().map(Lent::json),
            "left_out": self.left_out,
            "runs": self.runs.iter().map(run_json).collect::<Vec<Value>>(),
        })
    }
}

fn write_run(text: &mut String, run: &Run) {
    let (version, size) = match &run.found {
        Found::Content { number, .. } if *number > 0 => (number.to_string(), bytes(run.body_bytes)),
        Found::Content { .. } => ("-".to_owned(), String::new()),
        _ => ("-".to_owned(), String::new()),
    };
    let status = if run.status == 0 { "-".to_owned() } else { run.status.to_string() };
    let last = if run.visits > 1 { times::iso(run.last) } else { String::new() };
    let words = run.words();
    let _ = write!(
        text,
        "{version:>3}  {:<20}  {last:<20}  {:>6}  {status:>6}  {size:>9}  {}",
        times::iso(run.first),
        number(run.visits as u64),
        printable(&words),
    );
    if let Some(record) = run.record {
        let _ = write!(text, " (volume {} at {})", record.volume, record.offset);
    } else if matches!(run.found, Found::Content { .. }) {
        text.push_str(" (its content is no longer kept)");
    }
    text.push('\n');
}

fn run_json(run: &Run) -> Value {
    let (what, version, same_as, target, failure) = match &run.found {
        Found::Content { number, how, same_as } => {
            (how.word(), Some(*number).filter(|n| *n > 0), *same_as, None, None)
        }
        Found::Gone => ("gone", None, None, None, None),
        Found::Elsewhere(target) => ("redirected", None, None, target.as_deref(), None),
        Found::Nothing(failure) => ("failed", None, None, None, failure.as_deref()),
    };
    json!({
        "what": what, "words": run.words(), "version": version, "same_as": same_as,
        "target": target, "failure": failure, "status": run.status,
        "first": times::iso(run.first), "last": times::iso(run.last), "visits": run.visits,
        "bytes": run.body_bytes, "record": run.record, "seq": run.seq,
    })
}
