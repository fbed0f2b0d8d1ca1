//! What tests share. Built with the feature `testing` only, never into the program.
//!
//! A test that cannot run because something is missing says so: by name, in the summary of `./check`. Data is
//! required with `HARVESTMAN_CONFORMANCE=required`, tools that `./check` installs are required with `CI=true`.

use std::{
    env,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;

use crate::{
    BoxFuture, Busy, Clock, CrawlUrl, Exchange, Habit, Headers, Page, PageState, PageTerms,
    Purpose, SpiderId, Timestamp, Timing, WallStep,
};

/// A URL that the test knows to be one.
#[track_caller]
pub fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A URL of the site `http://a.example`, by what comes after that.
#[track_caller]
pub fn example(rest: &str) -> CrawlUrl {
    url(&format!("http://a.example{rest}"))
}

/// A page of the first spider that waits for its first visit.
#[track_caller]
pub fn page(text: &str) -> Page {
    Page {
        url: url(text),
        spider: SpiderId(0),
        state: PageState::Known,
        level: 0,
        hops: 0,
        seed: false,
        due: Timestamp::default(),
        failures: 0,
        terms: PageTerms::default(),
        habit: Habit::default(),
        children: None,
        last: None,
    }
}

/// What a server answered for `http://a.test/dir/page`, without any coding.
pub fn exchange(status: u16, fields: &[(&str, &str)], body: &[u8]) -> Exchange {
    let mut headers = Headers::new();
    fields.iter().for_each(|(name, value)| headers.push(name, value));
    let body = Bytes::copy_from_slice(body);
    Exchange {
        url: url("http://a.test/dir/page"),
        purpose: Purpose::Page,
        started: Timestamp::default(),
        address: None,
        request_head: Bytes::new(),
        response_head: Bytes::new(),
        status,
        headers,
        wire_body: body.clone(),
        entity: body.clone(),
        body,
        stopped: None,
        met: Vec::new(),
        timing: Timing::default(),
        protocol: Default::default(),
    }
}

/// A clock that stands still until the test moves it, for code that waits for nothing; simulated time in which
/// sleepers wake one after the other is `harvester::clock::SimClock`.
pub struct TestClock {
    now: Mutex<Timestamp>,
    wall_step: Mutex<Option<WallStep>>,
    ticks: bool,
    sleep: Sleep,
}

/// What becomes of those who sleep by it.
#[derive(Clone, Copy)]
enum Sleep {
    /// They wake at once, and it stands still.
    AtOnce,
    /// They wake at once, and it is as late as they wanted.
    Jump,
    Never,
}

impl TestClock {
    pub fn at(now: Timestamp) -> TestClock {
        let (now, wall_step) = (Mutex::new(now), Mutex::default());
        TestClock { now, wall_step, ticks: false, sleep: Sleep::AtOnce }
    }

    /// From now on each look at it is a millisecond later.
    pub fn ticking(self) -> TestClock {
        TestClock { ticks: true, ..self }
    }

    /// From now on it jumps to whatever is slept for.
    pub fn jumping(self) -> TestClock {
        TestClock { sleep: Sleep::Jump, ..self }
    }

    /// From now on nobody who sleeps wakes.
    pub fn without_waking(self) -> TestClock {
        TestClock { sleep: Sleep::Never, ..self }
    }

    pub fn advance(&self, by: Duration) {
        let mut now = held(&self.now);
        *now = now.plus(by);
    }

    /// What [`Clock::wall_step`] says from now on.
    pub fn set_wall_step(&self, step: Option<WallStep>) {
        *held(&self.wall_step) = step;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let mut now = held(&self.now);
        now.0 += i64::from(self.ticks);
        *now
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        match self.sleep {
            Sleep::Never => return Box::pin(std::future::pending()),
            Sleep::Jump => {
                let mut now = held(&self.now);
                *now = at.max(*now);
            }
            Sleep::AtOnce => {}
        }
        Box::pin(async {})
    }

    fn wall_step(&self) -> Option<WallStep> {
        *held(&self.wall_step)
    }

    fn busy(&self) -> Busy {
        Busy::none()
    }
}

/// A test that failed while it held it has said so already.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file or folder of the public conformance data, beside the project; `None` where it is not there.
///
/// # Panics
/// Where it is required.
pub fn conformance(path: &str) -> Option<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance");
    let found = Path::new(root).join(path);
    if found.exists() {
        return Some(found);
    }
    assert!(
        env::var_os("HARVESTMAN_CONFORMANCE").is_none_or(|wanted| wanted != "required"),
        "the conformance data {path} is required and not there"
    );
    note_skipped(&format!("conformance data {path}"));
    None
}

/// A tool that `./check` installs is not there.
///
/// # Panics
/// Where `CI=true`: there it must be.
pub fn skip_without(tool: &str) {
    assert!(
        env::var_os("CI").is_none_or(|ci| ci != "true"),
        "{tool} is not there, and ./check should have installed it"
    );
    note_skipped(tool);
}

/// `./check` names a file and prints what is in it at the end.
pub fn note_skipped(what: &str) {
    println!("skipped: {what} is not there");
    let Some(list) = env::var_os("HARVESTMAN_SKIPPED") else { return };
    let list = OpenOptions::new().create(true).append(true).open(list);
    if let Ok(mut list) = list {
        let _ = writeln!(list, "{what}");
    }
}
