//! `history`: all visits of a page as runs: when it was new, changed, gone, back, and how long it stayed as it
//! was.

use std::fmt::Write;

use harvester::clock::RealClock;
use model::{Clock, Timestamp, fit, printable};

use super::{Context, next_visit::next_visit, story::Story};
use crate::{
    cli::HistoryArgs,
    terminal::{print, print_json},
};
use collection::{
    history::{History, history},
    status::BatchOut,
    versions::{Run, RunKind},
};
use config::{
    amounts::{bytes, number, some},
    failure::{Exit, Failure},
    times::{self, span},
};

const LINE_WIDTH: usize = 80;
/// Where it is said what the visits of a run found.
const INDENT: usize = 5;

pub fn run(context: &Context, args: &HistoryArgs) -> Result<Exit, Failure> {
    let story = Story::find(context, &args.url)?;
    let limit = (!args.all).then(|| usize::try_from(args.limit).unwrap_or(usize::MAX));
    let now = RealClock::new().now();
    let history = history(&story.census, &story.archived()?, &story.story, limit, now)?;
    if context.json {
        print_json(&history)?;
        return Ok(Exit::Done);
    }
    let batch = story.census.batch_of(&history.site, now)?.as_ref().map(BatchOut::of);
    print(&text(&history, batch.as_ref(), now))?;
    Ok(Exit::Done)
}

fn text(history: &History, batch: Option<&BatchOut>, now: Timestamp) -> String {
    let mut text = format!("{}\n", printable(&history.url));
    if !history.title.is_empty() {
        let _ = writeln!(text, "{}", printable(&history.title));
    }
    let _ = writeln!(
        text,
        "{}, {}, {}; next visit {}\n",
        history.state.word(),
        some(history.visits, "visit"),
        some(history.versions as u64, "version"),
        next_visit(history.due, batch, "not by itself", now),
    );
    if history.rows.is_empty() {
        text.push_str("no visit yet\n");
        return text;
    }
    text.push_str("  #  from                  last seen             visits  status       size\n");
    let hidden = history.total - history.rows.len();
    if hidden > 0 {
        let _ = writeln!(text, "     … {} earlier; --all shows them", number(hidden as u64));
    }
    for run in &history.rows {
        write_run(&mut text, run);
    }
    text
}

fn write_run(text: &mut String, run: &Run) {
    let (version, size) = match run.version {
        Some(number) => (number.to_string(), bytes(run.bytes)),
        None => ("-".to_owned(), String::new()),
    };
    let status = if run.status == 0 { "-".to_owned() } else { run.status.to_string() };
    let last = if run.visits > 1 { times::iso(run.last) } else { String::new() };
    let (first, visits) = (times::iso(run.first), number(run.visits as u64));
    let _ = writeln!(
        text,
        "{version:>3}  {first:<20}  {last:<20}  {visits:>6}  {status:>6}  {size:>9}",
    );
    let place = match run.record {
        Some(_) if run.lost => " (its content is lost)".to_owned(),
        Some(record) => format!(" (volume {} at {})", record.volume, record.offset),
        None if run.has_content() => " (its content is no longer kept)".to_owned(),
        None => String::new(),
    };
    let words = words(run);
    let room = LINE_WIDTH.saturating_sub(INDENT + place.chars().count());
    let _ = writeln!(text, "{:INDENT$}{}{place}", "", fit(&printable(&words), room));
}

/// `changed; unchanged for 3d`.
fn words(run: &Run) -> String {
    let lasted = span(run.lasted);
    let what = match run.kind {
        RunKind::New => "first seen".to_owned(),
        RunKind::Changed => match run.same_as {
            Some(version) => format!("changed, back to version {version}"),
            None => "changed".to_owned(),
        },
        RunKind::Returned => match run.same_as {
            Some(version) => format!("returned, as version {version} was"),
            None => "returned, changed".to_owned(),
        },
        RunKind::Again => match run.version {
            Some(version) => format!("again version {version}"),
            None => "unchanged since before the history".to_owned(),
        },
        RunKind::Gone => "gone".to_owned(),
        RunKind::Redirected => match &run.target {
            Some(target) => format!("redirected to {target}"),
            None => "redirected".to_owned(),
        },
        RunKind::Failed => match &run.failure {
            Some(failure) => format!("failed: {failure}"),
            None if (200..300).contains(&run.status) => "its answer was not wanted".to_owned(),
            None => format!("failed: status {}", run.status),
        },
    };
    match (run.visits, run.kind) {
        (0 | 1, _) => what,
        (_, RunKind::Gone) => format!("{what}; still gone after {lasted}"),
        (_, RunKind::Redirected | RunKind::Failed) => format!("{what}; for {lasted}"),
        _ => format!("{what}; unchanged for {lasted}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::RecordLocation;

    use super::*;

    fn run(kind: RunKind, visits: usize) -> Run {
        Run {
            kind,
            version: Some(2),
            same_as: None,
            target: None,
            failure: None,
            status: 200,
            first: Timestamp(0),
            last: Timestamp(0),
            lasted: Duration::from_secs(3 * 86_400),
            visits,
            bytes: 5,
            record: None,
            lost: false,
            seq: 1,
        }
    }

    #[test]
    fn a_run_says_what_happened_and_for_how_long() {
        let said = |run: Run| words(&run);
        assert_eq!(said(run(RunKind::New, 2)), "first seen; unchanged for 3d");
        assert_eq!(said(run(RunKind::Changed, 1)), "changed");
        let back = Run { same_as: Some(1), ..run(RunKind::Changed, 1) };
        assert_eq!(said(back), "changed, back to version 1");
        let back = Run { same_as: Some(1), ..run(RunKind::Returned, 1) };
        assert_eq!(said(back), "returned, as version 1 was");
        assert_eq!(said(run(RunKind::Again, 1)), "again version 2");
        assert_eq!(said(run(RunKind::Gone, 3)), "gone; still gone after 3d");
        let failure = Some("connection-refused".to_owned());
        let failed = Run { failure, status: 0, ..run(RunKind::Failed, 2) };
        assert_eq!(said(failed), "failed: connection-refused; for 3d");
        let target = Some("http://b.example/".to_owned());
        let led = Run { target, ..run(RunKind::Redirected, 1) };
        assert_eq!(said(led), "redirected to http://b.example/");
    }

    #[test]
    fn lines_fit_a_terminal() {
        let target = Some(format!("https://b.example/{}", "long/".repeat(40)));
        let record = Some(RecordLocation { volume: 123, offset: 1 << 40, length: 1 });
        let bytes = 1 << 40;
        let long = Run { target, record, bytes, ..run(RunKind::Redirected, 1_234_567) };
        let mut text = String::new();
        write_run(&mut text, &long);
        write_run(&mut text, &Run { version: Some(999), ..run(RunKind::Changed, 9_999) });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("(volume 123 at "), "{text}");
    }
}
