//! What a crawl shows while it runs: live lines on a terminal, a plain line now and then elsewhere.
//!
//! The text is a pure function of a [`Snapshot`]; only [`Display`] writes, to standard error. It has no
//! clock: how often plain lines come goes by the snapshots' own `elapsed`.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::terminal::stderr_is_terminal;
use config::amounts::{bytes, clock, number, some};
use engine::remark;
use model::{fit, printable};

/// How often a plain line is written where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// Width of a terminal that does not tell its own.
const WIDTH: usize = 80;
/// Shorter waits for the budget are its usual rhythm.
const TOLD_FROM: Duration = Duration::from_secs(2);
/// Classes of errors named on one line; the rest is summed up.
const CLASSES_SHOWN: usize = 4;

/// A crawl at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub elapsed: Duration,
    /// Pages fetched in all, as `pages_limit` counts them.
    pub pages_fetched: u64,
    pub pages_limit: Option<u64>,
    pub time_limit: Option<Duration>,
    /// Pages a second over the last few seconds.
    pub rate: f64,
    /// Pages known in the collection.
    pub known: u64,
    /// Of them, those that wait to be fetched.
    pub waiting: u64,
    pub sites_in_hand: u64,
    pub in_flight: u64,
    /// Failures by class: `timeout`, `status-404`.
    pub errors: Vec<(String, u64)>,
    pub refused: u64,
    pub bytes: u64,
    /// Why nothing is being fetched just now, if that is so.
    pub paused: Option<String>,
    /// Visits wait for the budget, so long still.
    pub budget: Option<Duration>,
    /// The user asked to stop: what is in flight is being finished.
    pub stopping: bool,
    /// The URL fetched last.
    pub last: Option<String>,
}

impl Snapshot {
    /// The time until the nearest limit, when there is one and it can be known.
    pub fn time_left(&self) -> Option<Duration> {
        let by_time = self.time_limit.map(|limit| limit.saturating_sub(self.elapsed));
        let by_pages = self.pages_limit.filter(|_| self.rate > 0.0).map(|limit| {
            let left = limit.saturating_sub(self.pages_fetched) as f64 / self.rate;
            Duration::from_secs_f64(left.min(1e9))
        });
        match (by_time, by_pages) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        }
    }

    /// How much of the nearest limit is used up, 0 to 1.
    fn done(&self) -> Option<f64> {
        let by_pages = self
            .pages_limit
            .filter(|limit| *limit > 0)
            .map(|limit| self.pages_fetched as f64 / limit as f64);
        let by_time = self
            .time_limit
            .filter(|limit| !limit.is_zero())
            .map(|limit| self.elapsed.as_secs_f64() / limit.as_secs_f64());
        let most = by_pages
            .into_iter()
            .chain(by_time)
            .fold(None, |most: Option<f64>, part| Some(most.map_or(part, |most| most.max(part))));
        most.map(|part| part.clamp(0.0, 1.0))
    }
}

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Nothing,
    Plain,
    Live,
}

impl Mode {
    /// Live on a terminal, unless a log (`-v`) writes there too.
    pub fn choose(quiet: bool, verbose: u8) -> Mode {
        match (quiet, stderr_is_terminal() && verbose == 0) {
            (true, _) => Mode::Nothing,
            (false, true) => Mode::Live,
            (false, false) => Mode::Plain,
        }
    }
}

/// Shows snapshots on standard error; what it drew is removed when it is dropped.
pub struct Display {
    mode: Mode,
    bar: ProgressBar,
    last_plain: Option<Duration>,
    /// The last snapshot was of a paused crawl.
    paused: bool,
    /// It was told that visits wait for the budget.
    told_unpaid: bool,
}

impl Display {
    pub fn new(mode: Mode) -> Display {
        let bar = match mode {
            Mode::Live => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
            Mode::Plain | Mode::Nothing => ProgressBar::hidden(),
        };
        let style =
            ProgressStyle::with_template("{msg}").unwrap_or(ProgressStyle::default_spinner());
        let bar = bar.with_style(style).with_finish(ProgressFinish::AndClear);
        Display { mode, bar, last_plain: None, paused: false, told_unpaid: false }
    }

    /// To be called once a second or more often.
    pub fn show(&mut self, snapshot: &Snapshot) {
        match self.mode {
            Mode::Nothing => {}
            Mode::Live => {
                self.bar.set_message(live_lines(snapshot, terminal_width()).join("\n"));
                self.bar.tick();
            }
            Mode::Plain => {
                let due = |last: Duration| snapshot.elapsed.saturating_sub(last) >= PLAIN_EVERY;
                // A log tells of a pause when it begins and when it is over.
                let paused = snapshot.paused.is_some();
                let turned = std::mem::replace(&mut self.paused, paused) != paused;
                // That nothing happens for want of a budget is told when it is first so; later by the clock.
                let unpaid = snapshot.budget.is_some_and(|wait| wait >= TOLD_FROM);
                let first_unpaid = unpaid && !std::mem::replace(&mut self.told_unpaid, true);
                if self.last_plain.is_none_or(due) || turned || first_unpaid {
                    self.last_plain = Some(snapshot.elapsed);
                    remark(&plain_line(snapshot));
                }
            }
        }
    }

    /// A remark that stays, above the live lines.
    pub fn say(&self, line: &str) {
        match self.mode {
            Mode::Nothing => {}
            Mode::Plain => remark(line),
            Mode::Live => self.bar.suspend(|| remark(line)),
        }
    }

    /// Removes the live lines, or writes the last plain one.
    pub fn finish(self, snapshot: &Snapshot) {
        match self.mode {
            Mode::Nothing => {}
            Mode::Live => self.bar.finish_and_clear(),
            Mode::Plain if self.last_plain == Some(snapshot.elapsed) => {}
            Mode::Plain => remark(&plain_line(snapshot)),
        }
    }
}

/// One line for logs and pipes.
pub fn plain_line(snapshot: &Snapshot) -> String {
    let mut parts = vec![
        pages(snapshot),
        format!("{}/s", rate(snapshot.rate)),
        format!("{} active", some(snapshot.sites_in_hand, "site")),
        format!("{} waiting", number(snapshot.waiting)),
        format!("{} known", number(snapshot.known)),
        bytes(snapshot.bytes),
    ];
    parts.extend(errors(&snapshot.errors));
    parts.extend(snapshot.time_left().map(|left| format!("{} left", clock(left))));
    parts.extend(state(snapshot));
    format!("[{}] {}", clock(snapshot.elapsed), parts.join(", "))
}

/// The lines of the live display, each at most `width` characters.
pub fn live_lines(snapshot: &Snapshot, width: usize) -> Vec<String> {
    let mut first = format!(
        "{}  {}  {}/s  {}",
        clock(snapshot.elapsed),
        pages(snapshot),
        rate(snapshot.rate),
        bytes(snapshot.bytes),
    );
    if let Some(left) = snapshot.time_left() {
        first.push_str(&format!("  {} left", clock(left)));
    }
    let second = format!(
        "active sites {}  in flight {}  waiting {}  known {}  refused {}",
        number(snapshot.sites_in_hand),
        number(snapshot.in_flight),
        number(snapshot.waiting),
        number(snapshot.known),
        number(snapshot.refused),
    );
    let mut lines = vec![first, second];
    lines.extend(errors(&snapshot.errors));
    let last = snapshot.last.as_deref().map(|url| printable(url).into_owned());
    lines.extend(state(snapshot).or(last));
    let mut lines: Vec<String> =
        lines.iter().map(|line| fit(line, width.max(1)).into_owned()).collect();
    if let Some(done) = snapshot.done() {
        lines.insert(1, bar(done, width));
    }
    lines
}

fn pages(snapshot: &Snapshot) -> String {
    match snapshot.pages_limit {
        Some(limit) => format!("{} of {}", number(snapshot.pages_fetched), some(limit, "page")),
        None => some(snapshot.pages_fetched, "page"),
    }
}

fn state(snapshot: &Snapshot) -> Option<String> {
    if snapshot.stopping {
        return Some(format!(
            "stopping: finishing {} in flight (Ctrl-C again leaves at once)",
            number(snapshot.in_flight)
        ));
    }
    let paused = snapshot.paused.as_deref().map(|why| format!("paused: {}", printable(why)));
    let unpaid = snapshot
        .budget
        .filter(|wait| *wait >= TOLD_FROM)
        .map(|wait| format!("visits wait for the budget (revisit.*): the next in {}", clock(wait)));
    paused.or(unpaid)
}

/// The commonest classes with their counts: `12 errors (timeout 7, status-404 5)`.
fn errors(classes: &[(String, u64)]) -> Option<String> {
    let sum: u64 = classes.iter().map(|(_, count)| count).sum();
    if sum == 0 {
        return None;
    }
    let mut sorted: Vec<&(String, u64)> = classes.iter().filter(|(_, count)| *count > 0).collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut named: Vec<String> = sorted
        .iter()
        .take(CLASSES_SHOWN)
        .map(|(class, count)| format!("{} {}", printable(class), number(*count)))
        .collect();
    let rest: u64 = sorted.iter().skip(CLASSES_SHOWN).map(|(_, count)| count).sum();
    if rest > 0 {
        named.push(format!("other {}", number(rest)));
    }
    Some(format!("{} ({})", some(sum, "error"), named.join(", ")))
}

fn bar(done: f64, width: usize) -> String {
    let percent = format!(" {:3.0} %", (done * 100.0).floor());
    let cells = width.saturating_sub(percent.len() + 2).min(50);
    let full = (done * cells as f64) as usize;
    format!("[{}{}]{percent}", "#".repeat(full), "-".repeat(cells - full))
}

fn rate(rate: f64) -> String {
    if rate >= 100.0 { number(rate.round() as u64) } else { format!("{rate:.1}") }
}

pub fn terminal_width() -> usize {
    console::Term::stderr().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> Snapshot {
        Snapshot {
            elapsed: Duration::from_secs(3_725),
            pages_fetched: 12_345,
            pages_limit: Some(20_000),
            rate: 24.5,
            known: 51_200,
            waiting: 38_855,
            sites_in_hand: 118,
            in_flight: 31,
            errors: vec![("timeout".into(), 7), ("status-404".into(), 41), ("tls".into(), 0)],
            refused: 880,
            bytes: 205_300_000,
            last: Some("https://example.org/a\u{1b}[2J".into()),
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_plain_line_says_all_that_counts() {
        assert_eq!(
            plain_line(&busy()),
            "[1h2m] 12,345 of 20,000 pages, 24.5/s, 118 sites active, 38,855 waiting, 51,200 known, \
             205.3 MB, 48 errors (status-404 41, timeout 7), 5m12s left"
        );
    }

    #[test]
    fn live_lines_fit_the_terminal_and_hold_no_control_character() {
        for width in [0, 1, 5, 20, 80, 200] {
            for line in live_lines(&busy(), width) {
                assert!(!line.chars().any(char::is_control), "{line:?}");
                assert!(width < 20 || line.chars().count() <= width, "{width}: {line}");
            }
        }
        let lines = live_lines(&busy(), 60);
        assert_eq!(lines.len(), 5);
        assert!(lines[1].starts_with("[####") && lines[1].ends_with("61 %"), "{}", lines[1]);
    }

    #[test]
    fn the_time_left_is_that_of_the_nearest_limit_and_only_when_knowable() {
        let mut snapshot = busy();
        snapshot.time_limit = Some(Duration::from_secs(3_730));
        assert_eq!(snapshot.time_left(), Some(Duration::from_secs(5)));
        snapshot.time_limit = None;
        snapshot.rate = 0.0;
        assert_eq!(snapshot.time_left(), None);
        snapshot.pages_limit = None;
        assert_eq!(snapshot.done(), None);
    }

    #[test]
    fn a_pause_and_a_stop_are_said() {
        let mut snapshot = Snapshot { paused: Some("the disk is full".into()), ..busy() };
        assert!(plain_line(&snapshot).ends_with("paused: the disk is full"));
        snapshot.stopping = true;
        assert!(plain_line(&snapshot).contains("stopping: finishing 31 in flight"));
    }

    #[test]
    fn visits_that_wait_for_the_budget_are_said_when_that_takes_long() {
        let waiting = |seconds| {
            let budget = Some(Duration::from_secs(seconds));
            plain_line(&Snapshot { budget, ..busy() })
        };
        let told = waiting(864);
        assert!(
            told.ends_with("visits wait for the budget (revisit.*): the next in 14m24s"),
            "{told}"
        );
        assert!(!waiting(1).contains("budget"));
    }

    #[test]
    fn the_rarer_classes_of_errors_are_summed_up() {
        let classes: Vec<(String, u64)> = (1..=6).map(|n| (format!("c{n}"), n)).collect();
        assert_eq!(errors(&classes).unwrap(), "21 errors (c6 6, c5 5, c4 4, c3 3, other 3)");
        assert_eq!(errors(&[]), None);
    }
}
