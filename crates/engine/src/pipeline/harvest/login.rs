//! Logging in: the requests of a login go out as any other visit of the site does; what they bring is
//! neither archived nor gathered. A spider that cannot log in is paused, and the others go on.

use std::sync::Arc;

use bytes::Bytes;
use harvester::{
    login::{Login, LoginStep},
    workbench::{Assignment, Released},
};
use model::{
    Busy, Exchange, FailureKind, FetchFailure, FetchLimits, Page, Purpose, SiteKey, SpiderId,
    Timestamp,
};

use super::Harvest;
use crate::pipeline::{
    messages::{Order, Settle},
    sessions::{Judgement, Sign},
    spiders::Spider,
};

impl Harvest {
    pub(super) fn visit_login(&mut self, assignment: Assignment, now: Timestamp) {
        match self.login_request(&assignment) {
            Some(post) => self.send(assignment, post, now),
            None => self.nothing_to_log_in_to(&assignment, now),
        }
    }

    /// What to post; a login that is not at this URL begins anew.
    fn login_request(&mut self, assignment: &Assignment) -> Option<Option<Bytes>> {
        let spider = self.spiders.of(assignment.spider);
        let form = spider.login_at(&assignment.site.key)?;
        let lane = (assignment.site.key.clone(), assignment.spider);
        let fresh = || Login::new(form.clone());
        let login = self.state.logins.entry(lane).or_insert_with(fresh);
        match login.next() {
            LoginStep::Request { url, post } if url == assignment.url => Some(post),
            _ => {
                *login = fresh();
                Some(None)
            }
        }
    }

    /// The login was taken out of the configuration meanwhile.
    fn nothing_to_log_in_to(&mut self, assignment: &Assignment, now: Timestamp) {
        let failure = FetchFailure::new(FailureKind::Aborted, "");
        self.workbench.release(assignment.id, Err(&failure), now);
        self.workbench.enter(&assignment.site.key, assignment.spider, None, now);
    }

    pub(super) fn login_answered(
        &mut self,
        assignment: &Assignment,
        answer: Result<&Exchange, &FetchFailure>,
        released: &Released,
        busy: Busy,
        now: Timestamp,
    ) {
        self.keep_clock(assignment, released, busy, now);
        let (site, spider) = (&assignment.site.key, assignment.spider);
        let lane = (site.clone(), spider);
        let Some(mut login) = self.state.logins.remove(&lane) else {
            // Its name could not be resolved, so it never began.
            let what = answer.err().map_or("it was not asked for", |failure| &failure.detail);
            return self.login_failed(site, spider, what, now);
        };
        login.answered(answer);
        match login.next() {
            LoginStep::Request { url, .. } => {
                self.state.logins.insert(lane, login);
                self.workbench.enter(site, spider, Some(url), now);
            }
            LoginStep::In => {
                tracing::info!(%site, spider = spider.0, "logged in");
                let name = self.spiders.of(spider);
                let sessions = self.state.sessions.clone();
                let held = self.state.hand.get(site);
                let jar = held.and_then(|held| held.jar(&name, &sessions, now));
                let cookies = jar.map(|jar| jar.private(now)).unwrap_or_default();
                sessions.begin(lane, cookies, now);
                self.workbench.enter(site, spider, None, now);
            }
            LoginStep::Failed(why) => self.login_failed(site, spider, &why, now),
        }
    }

    /// The spider rests until somebody resumes it; its pages stay due.
    pub(super) fn login_failed(&mut self, site: &SiteKey, id: SpiderId, why: &str, now: Timestamp) {
        self.log_out(site, id);
        self.state.sessions.forget(&(site.clone(), id));
        let spider = self.spiders.of(id);
        let page = spider.login_at(site).map_or(site.as_str(), |form| form.page.as_str());
        self.pause_spider(id, format!("login at {page} failed: {why}"), now);
    }

    /// Whether the answer to a page is its own, or says that its spider is not logged in any more.
    pub(super) fn judge_session(
        &self,
        spider: &Spider,
        assignment: &Assignment,
        exchange: &Exchange,
        now: Timestamp,
    ) -> Judgement {
        let site = &assignment.site.key;
        let Some(form) = spider.login_at(site).filter(|_| assignment.purpose == Purpose::Page)
        else {
            return Judgement::Keep;
        };
        let (lane, sign) = ((site.clone(), spider.id), Sign::of(form, exchange));
        self.state.sessions.judge(&lane, sign, exchange.started, now)
    }

    /// The answer is nobody's: the page is asked for again once its spider is logged in.
    pub(super) fn logged_out(
        &mut self,
        mut assignment: Assignment,
        judgement: Judgement,
        (released, busy): (&Released, Busy),
        now: Timestamp,
    ) {
        self.keep_clock(&assignment, released, busy, now);
        let (site, id) = (assignment.site.key.clone(), assignment.spider);
        let spider = self.spiders.of(id);
        match judgement {
            Judgement::Keep | Judgement::Again => {}
            Judgement::LogIn => {
                tracing::info!(%site, url = %assignment.url, "the session has ended: logging in again");
                self.log_out(&site, id);
                let entry = spider.login_at(&site).map(|form| form.page.clone());
                self.workbench.enter(&site, id, entry, now);
            }
            Judgement::GiveUp(why) => {
                self.login_failed(&site, id, &format!("{}: {why}", assignment.url), now);
            }
        }
        if let Some(page) = assignment.page.take() {
            self.workbench.retry(&site, Page { due: now, ..page }, now);
        }
    }

    /// What was set for the session that ended, or never began, is not sent any more.
    fn log_out(&mut self, site: &SiteKey, spider: SpiderId) {
        self.state.logins.remove(&(site.clone(), spider));
        if let Some(held) = self.state.hand.get(site) {
            held.empty_jar(spider);
        }
    }

    /// Nothing but the site's clock is checked in.
    fn keep_clock(
        &mut self,
        assignment: &Assignment,
        released: &Released,
        busy: Busy,
        now: Timestamp,
    ) {
        let Some(held) = self.state.hand.get(&assignment.site.key) else { return };
        let mut delta = held.delta(now);
        delta.clock = Some(released.clock);
        self.settle(Settle { deltas: vec![delta], busy, ..Settle::default() });
        if released.clock.backoff > 0 {
            self.order(Order::Flush);
        }
    }
}

/// Of a step of a login: whatever type the server says it is.
pub(super) fn login_limits(spider: &Spider) -> Arc<FetchLimits> {
    let media_types = vec!["*/*".to_owned()];
    Arc::new(FetchLimits { media_types, ..(*spider.fetch_limits).clone() })
}
