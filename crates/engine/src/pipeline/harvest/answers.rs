//! From an assignment to its check-in: sending a fetcher out, taking its answer, checking in what it brought.

use std::{net::IpAddr, sync::Arc};

use bytes::Bytes;
use harvester::{
    failure::PageAfter,
    workbench::{Assignment, Excluded, Note, Released},
};
use model::{
    Busy, Exchange, FailureKind, FetchFailure, FetchLimits, FetchRequest, Gate, Hazard, Measure,
    Page, Purpose, Refusal, RefusalReason, RobotsAnswer, Sighting, SiteDelta, Stopped, Timestamp,
};

use seeder::traps::{Bearing, Found, near};

use super::{
    Harvest,
    families::{Told, mark_poor},
    login::login_limits,
};
use crate::pipeline::{
    gather::is_lost,
    messages::{GatherJob, Order, PageLinks, PageReport, Report, ReportSubject, Settle, Subject},
    returning,
    sessions::Judgement,
    settle, sightings,
};

impl Harvest {
    pub(super) fn visit(&mut self, assignment: Assignment, now: Timestamp) {
        match assignment.purpose {
            Purpose::Login => self.visit_login(assignment, now),
            Purpose::Page | Purpose::Robots | Purpose::Sitemap => self.send(assignment, None, now),
        }
    }

    /// `post`: the fields of a form.
    pub(super) fn send(&mut self, assignment: Assignment, post: Option<Bytes>, now: Timestamp) {
        let Some(held) = self.state.hand.get(&assignment.site.key) else { return };
        held.drained = None;
        held.in_flight += 1;
        if held.in_flight == 1 {
            self.state.tally.time.pause_ms += now.since(held.free_since).as_millis() as u64;
        }
        let spider = self.spiders.of(assignment.spider);
        let limits = match &assignment.page {
            Some(page) => &spider.limits_of(page),
            None if assignment.purpose == Purpose::Login => &login_limits(&spider),
            None => &self.robots_limits,
        };
        // Where "not modified" was a lie too often, or what has not been modified is lost, pages
        // are asked for whole.
        let last = assignment.page.as_ref().and_then(|page| page.last.as_ref());
        let believed =
            assignment.page.is_none() || manager::may_ask_conditionally(&held.habit, now);
        let believed = believed && !last.is_some_and(|last| is_lost(&*self.archive, last));
        let jar = held.jar(&spider, &self.state.sessions, now);
        let withhold_cookies = jar.as_ref().is_some_and(|jar| jar.withholds(&assignment.url, now));
        let cookies = jar.and_then(|jar| jar.header_for(&assignment.url, now));
        let request = FetchRequest {
            url: assignment.url.clone(),
            purpose: assignment.purpose,
            addresses: assignment.addresses.clone(),
            condition: assignment.condition.clone().filter(|_| believed),
            spider: assignment.spider,
            cookies,
            withhold_cookies,
            post,
            limits: share_of(limits, assignment.wire_bytes_max),
            type_gate: self.type_gate(&spider, assignment.page.as_ref()),
        };
        let url = &request.url;
        tracing::trace!(%url, conditional = request.condition.is_some(), "request");
        self.state.in_flight += 1;
        self.state.tally.requests += 1;
        self.spawner.fetch(assignment, request);
    }

    pub(super) fn fetched(
        &mut self,
        assignment: Assignment,
        answer: Result<Exchange, FetchFailure>,
        busy: Busy,
    ) {
        let now = self.clock.now();
        if let Some(refusal) = self.blocked_meanwhile(&assignment, &answer) {
            return self.drop_answer(assignment, refusal, now);
        }
        self.state.in_flight -= 1;
        let released = self.workbench.release(assignment.id, answer.as_ref(), now);
        self.tell(&assignment, &released);
        if let Ok(exchange) = &answer {
            self.note_health(&assignment, Ok(exchange.status), now);
        }
        if let Some(held) = self.state.hand.get(&assignment.site.key) {
            held.in_flight -= 1;
            held.free_since = now;
            held.worked += released.worked;
        }
        match answer {
            Ok(exchange) => self.answered(assignment, exchange, released, busy, now),
            Err(failure) if assignment.purpose == Purpose::Login => {
                self.login_answered(&assignment, Err(&failure), &released, busy, now);
            }
            Err(failure) if failure.refusal.is_some() && is_new(&assignment) => {
                self.refused(assignment, failure, released, busy, now);
            }
            Err(failure) => self.no_answer(assignment, &failure, released, busy, now),
        }
    }

    /// A rule of ours forbids the request, and none was made: a decision, and no visit. Pages that answered before
    /// have failed like others, because the address of their name may be another tomorrow.
    fn refused(
        &mut self,
        assignment: Assignment,
        failure: FetchFailure,
        released: Released,
        busy: Busy,
        now: Timestamp,
    ) {
        let (url, detail) = (assignment.url.clone(), failure.detail.clone());
        tracing::info!(%url, %detail, "refused");
        let sightings: Vec<_> = sightings::of_failure(&url, &failure).into_iter().collect();
        self.state.tally.requests = self.state.tally.requests.saturating_sub(1);
        self.state.tally.last_refusal = Some((url, detail));
        let Some(held) = self.state.hand.get(&assignment.site.key) else { return };
        let mut delta = held.delta(now);
        delta.robots.extend(released.robots);
        self.settle(Settle { deltas: vec![delta], sightings, busy, ..Settle::default() });
        if let (Some(page), Some(refusal)) = (assignment.page, failure.refusal) {
            self.exclude(Excluded { site: assignment.site, page, refusal: *refusal }, now);
        }
    }

    fn answered(
        &mut self,
        assignment: Assignment,
        exchange: Exchange,
        released: Released,
        busy: Busy,
        now: Timestamp,
    ) {
        let (url, status) = (&exchange.url, exchange.status);
        let (bytes, took) = (exchange.wire_body.len(), exchange.timing.total);
        tracing::debug!(status, %url, bytes, ?took, "answer");
        let tally = &mut self.state.tally;
        tally.bytes += (exchange.response_head.len() + exchange.wire_body.len()) as u64;
        tally.time.download_ms += exchange.timing.total.as_millis() as u64;
        let spider = self.spiders.of(assignment.spider);
        let judgement = self.judge_session(&spider, &assignment, &exchange, now);
        if judgement != Judgement::Keep {
            return self.logged_out(assignment, judgement, (&released, busy), now);
        }
        // What was given to a spider that is gone by now goes into nobody's jar.
        let is_there = self.spiders.get(assignment.spider).is_some();
        let held = self.state.hand.get(&assignment.site.key).filter(|_| is_there);
        let jar = held.and_then(|held| held.jar(&spider, &self.state.sessions, now));
        let login = assignment.purpose == Purpose::Login;
        let known = spider.credentials.contains(&exchange.url.origin());
        match jar {
            Some(jar) if login || known => jar.store_private(&exchange.url, &exchange.headers, now),
            Some(jar) => jar.store(&exchange.url, &exchange.headers, now),
            None => {}
        }
        match login {
            true => self.login_answered(&assignment, Ok(&exchange), &released, busy, now),
            false => self.hand_over(assignment, exchange, released, busy, now),
        }
    }

    /// A block that came while the visit was under way.
    fn blocked_meanwhile(
        &self,
        assignment: &Assignment,
        answer: &Result<Exchange, FetchFailure>,
    ) -> Option<Refusal> {
        let blocks = &self.spiders.blocks;
        let refuses = |address: &IpAddr| blocks.refuses_address(*address);
        let by_address = || match answer {
            Ok(exchange) => exchange.address.as_ref().and_then(refuses),
            // Its other addresses may have failed for reasons of their own.
            Err(failure)
                if matches!(failure.kind, FailureKind::AddressRefused | FailureKind::Aborted) =>
            {
                let refusals: Option<Vec<Refusal>> =
                    assignment.addresses.iter().map(refuses).collect();
                refusals?.pop()
            }
            Err(_) => None,
        };
        blocks.refuses_url(&assignment.url).or_else(by_address)
    }

    /// Nothing of the answer is kept: the page is excluded as if it had never been asked for.
    fn drop_answer(&mut self, mut assignment: Assignment, refusal: Refusal, now: Timestamp) {
        let failure = FetchFailure::new(FailureKind::Aborted, refusal.rule.clone());
        self.state.in_flight -= 1;
        self.workbench.release(assignment.id, Err(&failure), now);
        if let Some(held) = self.state.hand.get(&assignment.site.key) {
            held.in_flight -= 1;
            held.free_since = now;
        }
        if assignment.purpose == Purpose::Login {
            let (site, spider) = (&assignment.site.key, assignment.spider);
            self.login_failed(site, spider, &refusal.rule, now);
        }
        if let Some(page) = assignment.page.take() {
            self.exclude(Excluded { site: assignment.site, page, refusal }, now);
        }
    }

    fn tell(&mut self, assignment: &Assignment, released: &Released) {
        for note in &released.notes {
            let site = &assignment.site.key;
            match note {
                Note::CrawlDelayCapped { asked, kept } => {
                    tracing::info!(%site, ?asked, ?kept, "crawl-delay is capped");
                }
                Note::RetryAfterCapped { asked, kept } => {
                    tracing::info!(%site, ?asked, ?kept, "retry-after is capped");
                }
                Note::SharedAddress { address } => {
                    let met = Sighting::at(&assignment.url, Hazard::SharedAddress, Measure::Noted);
                    let sightings = vec![met.of(address.to_string())];
                    let busy = self.clock.busy();
                    self.settle(Settle { sightings, busy, ..Settle::default() });
                }
            }
        }
    }

    fn hand_over(
        &mut self,
        mut assignment: Assignment,
        exchange: Exchange,
        released: Released,
        busy: Busy,
        now: Timestamp,
    ) {
        let tally = &mut self.state.tally;
        tally.last = Some(exchange.url.clone());
        let subject = match assignment.page.take() {
            Some(page) => {
                if exchange.stopped == Some(Stopped::Type) {
                    tally.left_out(&settle::declared_type(&exchange));
                }
                let after = released.page.unwrap_or(PageAfter::Fine);
                let bytes = exchange.response_head.len() + exchange.wire_body.len();
                self.pay(&page, bytes as u64, now);
                let stakes = Box::new(self.stakes(&page));
                Subject::Page { page: Box::new(page), after, stakes }
            }
            None => {
                let tally = &mut self.state.tally;
                tally.robots += 1;
                if let Some(RobotsAnswer::Unreachable { why }) =
                    released.robots.as_ref().map(|copy| &copy.answer)
                {
                    tally.other_error("robots-unreachable");
                    tally.last_failure = Some((exchange.url.clone(), why.clone()));
                }
                Subject::Robots(released.robots)
            }
        };
        self.state.gathering += 1;
        if let Some(held) = self.state.hand.get(&assignment.site.key) {
            held.gathering += 1;
        }
        let clock = released.clock;
        let assignment = Box::new(assignment);
        let job = GatherJob { assignment, exchange, subject, clock, busy };
        if self.jobs.try_send(job).is_err() {
            tracing::error!("the gather threads do not take jobs any more");
        }
    }

    /// A visit that brought no answer is checked in at once: there is nothing to gather.
    pub(super) fn no_answer(
        &mut self,
        assignment: Assignment,
        failure: &FetchFailure,
        released: Released,
        busy: Busy,
        now: Timestamp,
    ) {
        let (url, kind, detail) = (&assignment.url, failure.kind, &failure.detail);
        tracing::info!(%url, ?kind, %detail, "no answer");
        self.state.tally.last_failure = Some((url.clone(), failure.detail.clone()));
        self.note_health(&assignment, Err(failure.kind), now);
        let Some(held) = self.state.hand.get(&assignment.site.key) else { return };
        let mut delta = held.delta(now);
        delta.clock = Some(released.clock);
        delta.robots.extend(released.robots);
        let after = released.page.unwrap_or(PageAfter::Unchanged);
        let again = after == PageAfter::Again;
        match &assignment.page {
            Some(page) if !is_question(page) && !again => {
                let once_more = is_audit(page);
                self.state.tally.no_answer(kind.word(), page.terms, once_more);
            }
            _ => self.state.tally.other_error(kind.word()),
        }
        if let Some(page) = &assignment.page {
            self.pay(page, 0, now);
            let mut update = settle::failed(page, failure, &after, now);
            if !matches!(after, PageAfter::Later { .. } | PageAfter::Again) {
                let stakes = self.stakes(page);
                returning::decide(page, &mut update, &after, None, &stakes, now);
            }
            if page.terms.requisite
                && !again
                && let Some(page) = self.promote(&mut update, &delta.key, now)
            {
                self.workbench.offer(&delta.key, page, now);
            }
            delta.updates.push(update);
        }
        let mut sightings: Vec<_> =
            sightings::of_failure(&assignment.url, failure).into_iter().collect();
        sightings.extend(delta.robots.iter().flat_map(sightings::of_robots));
        self.note_silence(&assignment.url, &mut delta, &mut sightings, now);
        let key = delta.key.clone();
        self.settle(Settle { deltas: vec![delta], sightings, pages: 1, busy, ..Settle::default() });
        if let Some(page) = assignment.page.filter(|_| again) {
            self.visit_once_more(&key, Page { due: now, ..page }, now);
        }
        self.rest_while_down(&key, now);
    }

    pub(super) fn gathered(&mut self, report: Report) {
        let Report { assignment, subject, location, decisions, clock, took, busy } = report;
        let now = self.clock.now();
        self.state.gathering -= 1;
        self.state.tally.time.parse_us += took.as_micros() as u64;
        let key = assignment.site.key;
        let Some(held) = self.state.hand.get(&key) else { return };
        held.gathering -= 1;
        let mut delta = held.delta(now);
        delta.clock = Some(clock);
        let slowed = clock.backoff > 0;
        let mut share =
            Settle { decisions, record: Some(location), pages: 1, busy, ..Settle::default() };
        match subject {
            ReportSubject::Robots(copy, met) => {
                share.sightings.extend(met);
                if let Some(copy) = &copy {
                    share.sightings.extend(sightings::of_robots(copy));
                    self.admit_notices_of(copy, assignment.spider, &mut delta, &mut share, now);
                }
                delta.robots.extend(copy);
            }
            ReportSubject::Page(report) => self.admit_report(*report, &mut delta, &mut share, now),
        }
        self.note_silence(&assignment.url, &mut delta, &mut share.sightings, now);
        self.share_machine(&delta, took, now);
        share.deltas.insert(0, delta);
        self.settle(share);
        self.clear_traps(&key, now);
        if slowed {
            // That a server asked us to slow down must outlive us.
            self.order(Order::Flush);
        }
        if let Some(held) = self.state.hand.get(&key).filter(|held| held.is_quiet())
            && let Some(reason) = held.drained.take()
        {
            self.put_down(&key, reason, now);
        }
        self.rest_while_down(&key, now);
    }

    fn admit_report(
        &mut self,
        mut report: PageReport,
        delta: &mut SiteDelta,
        share: &mut Settle,
        now: Timestamp,
    ) {
        self.spiders.notes.add(&mut report, delta, &mut share.sightings);
        let PageReport {
            page,
            mut update,
            decided,
            mut internal,
            barred,
            mut external,
            requisites,
            notice,
            links,
            looks,
            duplicate,
            near,
            gist,
            content,
            again,
            lesson,
            html: _,
            sightings: _,
        } = report;
        let visited = update.visit.as_ref().map(|visit| visit.at);
        let fp = page.url.fingerprint();
        self.learn(&page, decided, delta, now);
        tracing::trace!(
            url = %page.url, state = ?update.state, due = ?update.due, links = links.len(),
            new = internal.len(), elsewhere = external.len(), "read"
        );
        if !is_question(&page) {
            self.state.tally.count(&update, page.terms, is_audit(&page));
        }
        let missing = self.is_missing_page(&page, &mut update, &looks, (delta, share), now);
        if missing {
            internal.clear();
            external.clear();
        }
        self.note_type(&page, delta, share);
        let held = self.state.hand.get(&delta.key);
        let lists_barred = held.is_some_and(|held| held.watch.lists_barred(&barred));
        let told = Told { near, gist, content, lists_barred, copy: duplicate || missing };
        let mut left = 0;
        let kin = self.find_family(&page, &mut update, told, delta, share);
        if let Some(family) = kin.family {
            mark_poor(family, &mut internal);
            let links = internal.len();
            internal = self.leave_more_of_the_same((&page, family), internal, delta, share, now);
            left = links - internal.len();
        }
        self.note_copy(&page, &looks, &delta.key);
        let mut found = self.admit_found(&page, internal, delta, share, now);
        if let Some(held) = self.state.hand.get(&delta.key) {
            held.on_copy = false;
            found = held.watch.with_barred(found, lists_barred);
        }
        self.note_breed(&page, left > 0 || found != Found::default(), delta);
        for candidate in external {
            self.admit_elsewhere(candidate, share, now);
        }
        for candidate in requisites {
            self.admit_requisite(candidate, delta, share, now);
        }
        self.hear(notice, delta, share, now);
        if !links.is_empty() {
            // As recovery has it: the moment of the visit.
            let at = visited.unwrap_or(now);
            share.links = Some(PageLinks { source: fp, site: delta.site, at, links });
        }
        self.workbench.gathered(&delta.key, fp, now);
        if page.terms.requisite
            && let Some(page) = self.promote(&mut update, &delta.key, now)
        {
            self.workbench.offer(&delta.key, page, now);
        }
        let mut audit = None;
        if let Some(held) = self.state.hand.get(&delta.key) {
            if lesson.learn(&mut held.habit, now) {
                delta.habit = Some(held.habit.clone());
            }
            audit = lesson.audit(&page, &held.habit, now);
        }
        if let Some(page) = audit {
            self.visit_once_more(&delta.key, page, now);
        }
        self.watch(&page, &update, (looks, found, kin.numbered), delta, share, now);
        if again {
            let page = Page { hops: page.hops + 1, due: now, ..page };
            self.visit_once_more(&delta.key, page, now);
        }
        delta.updates.push(update);
    }

    /// robots.txt or a block forbids the page: recorded, not visited.
    pub(super) fn exclude(&mut self, excluded: Excluded, now: Timestamp) {
        let Excluded { site, page, refusal } = excluded;
        tracing::debug!(url = %page.url, rule = %refusal.rule, "refused");
        self.state.tally.excluded += u64::from(!page.terms.requisite);
        self.refund(&page);
        let (mut update, stakes) = (settle::excluded(&page), self.stakes(&page));
        returning::decide(&page, &mut update, &PageAfter::Unchanged, None, &stakes, now);
        let by_address = refusal.reason == RefusalReason::Address;
        if by_address && page.last.is_none() {
            // Only other settings change that, and they have it judged again.
            update.due = None;
        }
        let Some(held) = self.state.hand.get(&site.key) else { return };
        if refusal.reason == RefusalReason::Trap {
            seeder::traps::note_held_back(&mut held.traps.urls, &refusal.rule);
            held.learned |= held.watch.count_refusal();
        }
        if page.last.is_none() && !page.terms.requisite && !by_address {
            // It leads nobody anywhere.
            near::note_page(&mut held.traps.urls, &page.url, Bearing::Dull);
        }
        let decisions = vec![settle::decision(&page, refusal)];
        let deltas = vec![held.delta_with(update, now)];
        let busy = self.clock.busy();
        self.settle(Settle { deltas, decisions, pages: 1, busy, ..Settle::default() });
    }
}

/// It was called unchanged a moment ago, and is asked for again to see whether that is true.
fn is_audit(page: &Page) -> bool {
    page.last.as_ref().is_some_and(|last| last.audited)
}

/// No answer of the page is known, or it is for a robots.txt.
fn is_new(assignment: &Assignment) -> bool {
    assignment.page.as_ref().is_none_or(|page| page.last.is_none())
}

/// Asked for to see what the site says of pages that it does not have: neither a page nor a part of one.
fn is_question(page: &Page) -> bool {
    page.terms.requisite && seeder::traps::is_probe(&page.url)
}

/// The limits of one visit that may bring only so much of what a limit on bytes has left.
fn share_of(limits: &Arc<FetchLimits>, wire_bytes_max: Option<u64>) -> Arc<FetchLimits> {
    match wire_bytes_max {
        None => limits.clone(),
        wire_bytes_max => Arc::new(FetchLimits { wire_bytes_max, ..(**limits).clone() }),
    }
}
