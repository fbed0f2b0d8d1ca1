//! The gather threads: started, replaced when one is given up, waited for at the end.
//!
//! A thread that does not come back cannot be ended: it is left to itself, its place is taken by another, and what
//! it brings when it does come back is dropped. Only so many are left so; then the process has to end.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc::Receiver},
    thread::{self, JoinHandle},
    time::Duration,
};

use model::StoreError;
use tokio::sync::mpsc::Sender;

use super::{
    gather::GatherStage,
    marks::Bench,
    messages::{Event, GatherJob},
    start,
};

/// Threads that may be left to themselves: each may hold a page in memory, and a processor for ever.
pub const GIVEN_UP_MAX: usize = 8;
/// How often the end of a thread is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(2);

pub struct Crew {
    stage: Arc<GatherStage>,
    jobs: Arc<Mutex<Receiver<GatherJob>>>,
    events: Sender<Event>,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    at_work: Vec<(Arc<Bench>, JoinHandle<()>)>,
    /// Benches there ever were.
    benches: usize,
    given_up: usize,
}

impl Crew {
    pub fn start(
        stage: Arc<GatherStage>,
        jobs: Receiver<GatherJob>,
        threads: usize,
        events: &Sender<Event>,
    ) -> Result<Arc<Crew>, StoreError> {
        let jobs = Arc::new(Mutex::new(jobs));
        let members = Mutex::default();
        let crew = Arc::new(Crew { stage, jobs, events: events.clone(), members });
        (0..threads.max(1)).try_for_each(|_| crew.hire())?;
        Ok(crew)
    }

    pub fn stage(&self) -> &GatherStage {
        &self.stage
    }

    pub fn benches(&self) -> Vec<Arc<Bench>> {
        self.members().at_work.iter().map(|(bench, _)| bench.clone()).collect()
    }

    /// Another thread for one that was given up; whether there was room for one more.
    pub fn replace(&self, bench: &Arc<Bench>) -> Result<bool, StoreError> {
        let mut members = self.members();
        members.at_work.retain(|(other, _)| !Arc::ptr_eq(other, bench));
        members.given_up += 1;
        if members.given_up > GIVEN_UP_MAX {
            return Ok(false);
        }
        drop(members);
        self.hire().map(|()| true)
    }

    fn hire(&self) -> Result<(), StoreError> {
        let mut members = self.members();
        let bench = Arc::new(Bench::new(members.benches));
        let (stage, jobs, events) = (self.stage.clone(), self.jobs.clone(), self.events.clone());
        let own = bench.clone();
        let work = move || stage.run(&own, &jobs, &events);
        let thread = start("gatherer", &self.events, work)?;
        members.benches += 1;
        members.at_work.push((bench, thread));
        Ok(())
    }

    /// Waits until every thread has put down its work, but for those that are given up.
    pub fn join(&self) {
        loop {
            let mut members = self.members();
            let Some(place) = members.at_work.iter().position(|(_, thread)| thread.is_finished())
            else {
                members.at_work.retain(|(bench, _)| !bench.is_given_up());
                if members.at_work.is_empty() {
                    return;
                }
                drop(members);
                thread::sleep(LOOK_EVERY);
                continue;
            };
            if members.at_work.swap_remove(place).1.join().is_err() {
                tracing::error!("a gather thread panicked");
            }
        }
    }

    fn members(&self) -> std::sync::MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
