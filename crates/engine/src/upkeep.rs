//! What a start does before it crawls: takedowns that a crash cut off are finished, old versions are removed.

use std::{fmt::Write, time::Duration};

use config::{
    Config,
    amounts::{bytes, number, some},
    failure::Failure,
    setup,
};
use harvester::clock::RealClock;
use model::{Clock, StoreError, Timestamp};
use store::{
    collection::{Collection, CrawlLock},
    forget::{self, Step},
    thin::{self, Keep},
};

use crate::observe::Observer;
use collection::{Error, thin::Thinned};

/// Progress of anything that takes longer than this is shown.
const SHOWN_EVERY: Duration = Duration::from_secs(1);
/// All volumes are read again each time.
const FULL_DISK_RETRY: Duration = Duration::from_secs(60);

/// What a process that died during a takedown has left is finished first.
pub fn finish_forgetting(
    observer: &dyn Observer,
    collection: &Collection,
    lock: &CrawlLock,
    now: Timestamp,
) -> Result<(), Failure> {
    let mut steps = StepNotices::new(observer);
    if forget::finish(collection, lock, now, &mut |step| steps.step(&step))? {
        observer.notice("a takedown that was interrupted has been completed");
    }
    Ok(())
}

/// At the start of `run`, where a rule is set; once a day at most, for it reads every visit.
pub fn thin_at_start(
    observer: &dyn Observer,
    config: &Config,
    collection: &Collection,
    lock: &CrawlLock,
    now: Timestamp,
) -> Result<(), Failure> {
    let Some(keep) = setup::keep(config)? else { return Ok(()) };
    if !thin::is_due(collection, now)? {
        return Ok(());
    }
    let mut done = thin_now(observer, collection, lock, &keep, now);
    // As in a crawl, a full disk is waited for.
    while let Err(Error::Store { source: StoreError::DiskFull { path } }) = &done {
        observer.notice(&format!(
            "no space left on the disk that holds {}: old versions are removed when there is room",
            path.display()
        ));
        std::thread::sleep(FULL_DISK_RETRY);
        done = thin_now(observer, collection, lock, &keep, now);
    }
    let done = done?;
    if done.versions + done.copies > 0 {
        observer.notice(&removed_text(&done));
    }
    Ok(())
}

/// Removes old versions, with progress.
pub fn thin_now(
    observer: &dyn Observer,
    collection: &Collection,
    lock: &CrawlLock,
    keep: &Keep,
    now: Timestamp,
) -> Result<Thinned, Error> {
    let mut steps = StepNotices::new(observer);
    collection::thin::thin(collection, lock, keep, now, &mut |step| steps.step(&step))
}

/// How far the rewriting of volumes is, once a second.
pub struct StepNotices<'a> {
    observer: &'a dyn Observer,
    clock: RealClock,
    last: Timestamp,
}

impl<'a> StepNotices<'a> {
    pub fn new(observer: &'a dyn Observer) -> StepNotices<'a> {
        let clock = RealClock::new();
        StepNotices { observer, last: clock.now(), clock }
    }

    pub fn step(&mut self, step: &Step) -> Result<(), StoreError> {
        let now = self.clock.now();
        let line = match step {
            Step::Reading(done, all) => {
                format!("read {} of {} of volumes …", bytes(*done), bytes(*all))
            }
            Step::Writing(done, all) => {
                let (done, all) = (number(*done as u64), some(*all as u64, "volume"));
                format!("{done} of {all} rewritten …")
            }
            Step::Links(done, all) => {
                format!("{done} of {} read …", some(*all as u64, "link segment"))
            }
            Step::Sweeping => "cleaning the database …".to_owned(),
            Step::Rows | Step::Named => return Ok(()),
        };
        if now.since(self.last) >= SHOWN_EVERY {
            self.last = now;
            self.observer.notice(&line);
        }
        Ok(())
    }
}

fn copies(n: u64) -> String {
    if n == 1 { "1 copy".to_owned() } else { format!("{} copies", number(n)) }
}

/// What was removed, or would be, in words.
pub fn removed_text(thinned: &Thinned) -> String {
    let verb = if thinned.dry_run { "would be removed" } else { "removed" };
    let mut text = format!("{verb}: {}", some(thinned.versions, "old version"));
    if thinned.copies > 0 {
        let _ = write!(text, " and {} seen without a change", copies(thinned.copies));
    }
    let _ = write!(text, " ({})", bytes(thinned.bytes));
    if let Some(records @ 1..) = thinned.records {
        let _ = write!(
            text,
            ", with the requests and the visits that saw them again {} ({}) from {}",
            some(records, "record"),
            bytes(thinned.records_bytes.unwrap_or_default()),
            some(thinned.volumes.unwrap_or_default(), "volume")
        );
    }
    let _ = write!(
        text,
        "; {} of versions stay, and every visit stays in history",
        bytes(thinned.left_bytes)
    );
    if thinned.dry_run {
        text.push_str("; nothing was changed");
    }
    text
}
