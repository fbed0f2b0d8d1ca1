//! Changes of course while the crawl runs: spiders added, edited, paused or removed, another `harvest.toml`.
//!
//! A change is first tried (what cannot be must not stand in the collection), then written down by the writer,
//! and takes effect when that is done. Requests that come meanwhile wait for it: the seeds of a new spider
//! come right behind it.

use std::sync::Arc;

use harvester::workbench::{LimitInAll, SpiderLimits};
use manager::Policy;
use model::{SpiderId, Timestamp};
use store::{
    control::{Command, Outcome, Request, SpiderChange},
    spiders::SpiderRow,
};

use super::Harvest;
use crate::pipeline::{course::Course, messages::Order, sessions::Guarded, spiders::Spider};

impl Harvest {
    /// Takes up requests in the order they came; one is told again until the writer has marked it as done.
    pub(super) fn take_requests(&mut self, requests: Vec<Request>) {
        for request in requests {
            if request.id > self.state.requested {
                self.state.requested = request.id;
                self.state.requests.push_back(request);
            }
        }
        self.serve_requests();
    }

    fn serve_requests(&mut self) {
        while !self.state.changing {
            if let Some((name, why)) = self.state.pauses.pop_front() {
                self.change_spider(None, name, SpiderChange::Pause { why });
            } else if let Some(request) = self.state.requests.pop_front() {
                self.request(request);
            } else {
                break;
            }
        }
    }

    /// The crawl itself has a reason: in force at once, and written down when no other change is.
    pub(super) fn pause_spider(&mut self, id: SpiderId, why: String, now: Timestamp) {
        // It may have been removed while its login was under way.
        let Some(name) = self.spiders.get(id).map(|spider| spider.name.clone()) else { return };
        tracing::warn!(spider = %name, %why, "paused");
        if self.state.pausing.insert(id) {
            self.state.tally.paused.insert(name.clone(), why.clone());
            self.set_limits_of(id, false, now);
            self.state.pauses.push_back((name, why));
            self.serve_requests();
        }
    }

    /// `request`: who asked for it; nobody when the crawl itself has a reason.
    pub(super) fn change_spider(
        &mut self,
        request: Option<i64>,
        name: String,
        change: SpiderChange,
    ) {
        if change == SpiderChange::Resume
            && let Some(row) = self.state.rows.iter().find(|row| row.name == name)
        {
            self.state.pausing.remove(&row.id);
        }
        let tried = changed(&self.state.rows, &name, &change)
            .and_then(|rows| self.helm.course(&rows).map(drop));
        match (tried, request) {
            (Ok(()), request) => {
                self.state.changing = true;
                self.apply(request, Command::Spider { name, change });
            }
            (Err(why), Some(id)) => self.order(Order::RequestDone(id, Outcome::refused(why))),
            (Err(why), None) => tracing::warn!("spider {name} is unchanged: {why}"),
        }
    }

    /// The change is written down: these are the spiders now.
    pub(super) fn spiders_changed(&mut self, rows: Vec<SpiderRow>) {
        self.state.changing = false;
        let is_to_be = |id: &SpiderId| rows.iter().any(|row| row.id == *id && !row.paused);
        self.state.pausing.retain(is_to_be);
        let rests = |name: &String| rows.iter().any(|row| row.name == *name && row.paused);
        let pausing = !self.state.pausing.is_empty();
        self.state.tally.paused.retain(|name, _| pausing || rests(name));
        self.state.rows = rows;
        self.steer(self.clock.now());
        self.serve_requests();
    }

    /// Looks whether the configuration is another, and follows it.
    pub(super) fn look_at_helm(&mut self, now: Timestamp) {
        if self.helm.has_changed() {
            tracing::info!("harvest.toml changed: the new settings are in force");
            self.steer(now);
        }
    }

    pub(super) fn steer(&mut self, now: Timestamp) {
        match self.helm.course(&self.state.rows) {
            Ok(course) => self.set_course(course, now),
            Err(why) => tracing::warn!("the crawl continues with the old settings: {why}"),
        }
    }

    pub(super) fn set_course(&mut self, course: Course, now: Timestamp) {
        let gone: Vec<SpiderId> = self
            .state
            .bounds
            .keys()
            .filter(|id| course.ids().all(|is| is != **id))
            .copied()
            .collect();
        for id in gone {
            self.state.bounds.remove(&id);
            self.spiders.remove(id);
            let limits = SpiderLimits { paused: true, ..Default::default() };
            self.workbench.set_spider(id, limits, None, now);
        }
        for (spider, bounds) in course.spiders {
            let id = spider.id;
            self.spiders.set(spider);
            self.state.timed_out.remove(&id);
            let first = self.state.bounds.insert(id, bounds.clone()).is_none();
            self.set_limits_of(id, first, now);
        }
        let (spiders, sessions) = (self.spiders.clone(), self.state.sessions.clone());
        let terms = Guarded { terms: course.terms, spiders, sessions };
        self.workbench.forget_names();
        self.workbench.set_terms(Arc::new(terms), now);
        self.workbench.set_limits(course.pages_max, course.bytes_max);
        // The channels between the stages were made for so many.
        self.plan.fetches_max = course.fetches_max.min(self.plan.fetches_room);
        self.plan.fetches_asked = None;
        self.workbench.set_fetches_max(self.plan.fetches_max);
        self.plan.seeded_first = course.seeded_first;
        let goes_by_value = |spider: &Arc<Spider>| {
            matches!(spider.returns.policies.chosen(), Policy::Value(_))
                || !spider.overrides.is_empty()
        };
        let by_value = self.spiders.all().iter().any(goes_by_value);
        self.planning.set_budgets(course.budgets, by_value, now);
        self.count_known();
        if self.workbench.which_limit() != Some(LimitInAll::Pages) {
            self.state.parts_only = false;
        }
        if self.state.fingerprint.as_ref() != Some(&course.fingerprint) {
            self.state.fingerprint = Some(course.fingerprint.clone());
            self.order(Order::Limits(course.fingerprint));
        }
        self.state.check_at = Some(now);
    }

    /// For the rest of this crawl, or until the configuration is changed.
    pub(super) fn set_fetches(&mut self, fetches: u64) -> Outcome {
        let wanted = usize::try_from(fetches).unwrap_or(usize::MAX).max(1);
        self.plan.fetches_max = wanted.min(self.plan.fetches_room);
        self.plan.fetches_asked = Some(fetches);
        self.workbench.set_fetches_max(self.plan.fetches_max);
        Outcome::Fetches { max: self.plan.fetches_max as u64 }
    }

    fn set_limits_of(&mut self, id: SpiderId, first: bool, now: Timestamp) {
        let paused = self.is_paused(id, now);
        let Some(bounds) = self.state.bounds.get(&id) else { return };
        let limits = SpiderLimits { paused, ..bounds.limits.clone() };
        self.workbench.set_spider(id, limits, first.then_some(bounds.spent), now);
    }

    /// Spiders whose time of this crawl is over rest from now on.
    pub(super) fn end_times(&mut self, now: Timestamp) {
        let over: Vec<SpiderId> = self
            .state
            .bounds
            .iter()
            .filter(|(id, bounds)| bounds.time.is_some() && !self.state.timed_out.contains(id))
            .map(|(id, _)| *id)
            .filter(|id| self.is_paused(*id, now))
            .collect();
        for id in over {
            self.state.timed_out.insert(id);
            self.set_limits_of(id, false, now);
        }
    }

    pub(super) fn is_paused(&self, id: SpiderId, now: Timestamp) -> bool {
        let Some(bounds) = self.state.bounds.get(&id) else { return true };
        let begun = self.plan.begun.unwrap_or(self.state.started);
        let over = |time| now >= begun.plus(time);
        bounds.limits.paused || self.state.pausing.contains(&id) || bounds.time.is_some_and(over)
    }

    /// Whose pages are to stay where they are: also of those that may bring no byte more.
    pub(super) fn paused(&self, now: Timestamp) -> Vec<SpiderId> {
        let spent = |id| self.workbench.which_limit_of(id) == Some(LimitInAll::Bytes);
        let rests = |id: &SpiderId| self.is_paused(*id, now) || spent(*id);
        self.state.bounds.keys().copied().filter(rests).collect()
    }
}

/// The spiders as the change would leave them.
fn changed(
    rows: &[SpiderRow],
    name: &str,
    change: &SpiderChange,
) -> Result<Vec<SpiderRow>, String> {
    let mut rows = rows.to_vec();
    let at = rows.iter().position(|row| row.name == name);
    let unknown = || format!("there is no spider {name:?}");
    match change {
        SpiderChange::Add { .. } if at.is_some() => {
            return Err(format!("there is a spider {name} already"));
        }
        SpiderChange::Add { settings } => {
            // Its number is the store's to give; nobody sees this one.
            let id = SpiderId(u32::MAX);
            let (name, settings) = (name.to_owned(), settings.clone());
            rows.push(SpiderRow { id, name, settings, ..SpiderRow::default() });
        }
        SpiderChange::Edit { changes } => {
            let row = &mut rows[at.ok_or_else(unknown)?];
            for (key, value) in changes {
                match value {
                    Some(value) => drop(row.settings.insert(key.clone(), value.clone())),
                    None => drop(row.settings.remove(key)),
                }
            }
        }
        SpiderChange::Pause { .. } => rows[at.ok_or_else(unknown)?].paused = true,
        SpiderChange::Resume => rows[at.ok_or_else(unknown)?].paused = false,
        SpiderChange::Remove => drop(rows.remove(at.ok_or_else(unknown)?)),
    }
    Ok(rows)
}
