//! `HttpFetcher`: a request in, an exchange or a failure out.

use std::sync::Arc;

use model::{
    BoxFuture, Clock, Exchange, FailureKind, Fetch, FetchFailure, FetchRequest, Hazard, Measure,
    Met, Purpose, SpiderId, Timestamp, Timing,
};
use tokio::time::Instant;

use super::{
    HttpOptions, HttpSetupError,
    budget::BodyBudget,
    connect::{ConnectFailure, Connector},
    failure::{HopFailure, bad_http},
    hop::Answer,
    line::Line,
    pool::Pool,
    profile::{HttpProfile, origin_of},
    profiles::{Profile, Profiles},
    proxy,
    withheld::Secrets,
};

pub struct HttpFetcher {
    profiles: Profiles,
    connector: Connector,
    pool: Pool<Line>,
    budget: BodyBudget,
    clock: Arc<dyn Clock>,
}

/// Who resolves names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamesBy {
    Us,
    /// The proxy; what we find out besides is for the address guard.
    Proxy,
    /// The proxy, and nobody else is to be asked.
    ProxyAlone,
}

impl HttpFetcher {
    pub fn new(
        options: &HttpOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<HttpFetcher, HttpSetupError> {
        let pool = Pool::new(options.idle_max, options.idle_per_origin_max, options.idle_timeout);
        Ok(HttpFetcher {
            profiles: Profiles::new(options)?,
            connector: Connector::new(options),
            pool,
            budget: BodyBudget::new(options.long_bodies_bytes),
            clock,
        })
    }

    /// Gives a spider a profile of its own, or another one, from its next request on. What is wrong with
    /// it is said and leaves the old one in force.
    pub fn set_profile(
        &self,
        spider: SpiderId,
        profile: &HttpProfile,
    ) -> Result<(), HttpSetupError> {
        if let Some(way) = self.profiles.set(spider, profile)? {
            self.pool.close_way(way);
        }
        Ok(())
    }

    /// The spider is as those without a profile from now on.
    pub fn remove_profile(&self, spider: SpiderId) {
        if let Some(way) = self.profiles.remove(spider) {
            self.pool.close_way(way);
        }
    }

    /// Who resolves the names in this spider's URLs.
    pub fn names_by(&self, spider: SpiderId) -> NamesBy {
        match self.profiles.of(spider).way.proxy() {
            Some(proxy) if proxy.is_http() => NamesBy::Proxy,
            Some(proxy) if proxy.resolves() => NamesBy::ProxyAlone,
            _ => NamesBy::Us,
        }
    }

    /// Closes connections that have rested too long; worth a call now and then while a crawl waits.
    pub fn close_idle(&self) {
        self.pool.expire(Instant::now());
    }

    pub fn idle(&self) -> usize {
        self.pool.len()
    }

    #[cfg(test)]
    pub(super) fn budget(&self) -> &BodyBudget {
        &self.budget
    }

    async fn visit(&self, asked: FetchRequest) -> Result<Exchange, FetchFailure> {
        let profile = self.profiles.of(asked.spider);
        let mut visit = Visit::new(&asked, &profile);
        let mut rested = self.rested(&visit);
        loop {
            visit.timing.reused = rested.is_some();
            let line = match rested.take() {
                Some(line) => line,
                None => self.connect(&mut visit).await?,
            };
            match self.hop(line, &mut visit).await {
                Ok(answer) => return self.exchange(visit, answer),
                // The server closed it while it rested, and nothing was sent: the same visit goes on over a new one.
                Err(failure) if failure.unsent && visit.timing.reused => {
                    visit.met.extend(failure.met);
                }
                Err(failure) if failure.unanswered && visit.timing.reused => {
                    self.pool.distrust(origin_of(&asked.url), Instant::now());
                    return Err(visit.lost(failure));
                }
                Err(failure) => return Err(visit.failed(failure)),
            }
        }
    }

    /// No step of a login goes over a connection that may be dead: nobody could tell whether it arrived.
    fn rested(&self, visit: &Visit<'_>) -> Option<Line> {
        if visit.asked.post.is_some() || visit.asked.purpose == Purpose::Login {
            return None;
        }
        let origin = origin_of(&visit.asked.url);
        let line = self.pool.take(visit.profile.way.number, origin, visit.start)?;
        self.connector.may_reuse(line.address()).then_some(line)
    }

    async fn connect(&self, visit: &mut Visit<'_>) -> Result<Line, FetchFailure> {
        let (asked, way) = (visit.asked, &visit.profile.way);
        let connecting =
            self.connector.connect(way, &asked.url, &asked.addresses, &asked.limits, visit.end);
        let connected = connecting.await.map_err(|failure| visit.not_connected(failure))?;
        tracing::trace!(url = %asked.url, address = ?connected.address, took = ?connected.connect, "connected");
        visit.timing.connect = connected.connect;
        visit.timing.tls = connected.tls;
        let opened = Line::open(connected, &asked.limits, visit.end).await;
        opened.map_err(|detail| visit.failure(FailureKind::Reset, detail))
    }

    async fn hop(&self, line: Line, visit: &mut Visit<'_>) -> Result<Answer, HopFailure> {
        let prepared = visit.profile.form.request(visit.asked).map_err(bad_http)?;
        visit.secrets = prepared.secrets;
        visit.address = line.address();
        visit.started = self.clock.now();
        line.run(prepared.request, visit.asked, &self.budget, visit.end).await
    }

    fn exchange(&self, visit: Visit<'_>, answer: Answer) -> Result<Exchange, FetchFailure> {
        if answer.status == 407 && visit.profile.form.to_proxy(&visit.asked.url) {
            let (kind, detail) = proxy::wants_password();
            return Err(visit.failure(kind, detail));
        }
        let now = Instant::now();
        // The process may have stood still between taking the time and sending: the pause to the next
        // visit counts from what the server saw.
        let sent = answer.sent.map(|sent| self.clock.now().minus(now - sent));
        let started = sent.map_or(visit.started, |sent| sent.max(visit.started));
        if let Some(line) = answer.line {
            let way = visit.profile.way.number;
            self.pool.put(way, origin_of(&visit.asked.url), line, now);
        }
        let mut met = visit.met;
        met.extend(answer.met);
        // Half of what it may take: it answers, but soon may not.
        if answer.first_byte >= visit.asked.limits.first_byte / 2 {
            met.push(Met::new(Hazard::SlowResponse, Measure::Noted));
        }
        let timing = Timing {
            first_byte: answer.first_byte,
            download: answer.download,
            total: now - visit.start,
            ..visit.timing
        };
        Ok(Exchange {
            url: visit.asked.url.clone(),
            purpose: visit.asked.purpose,
            started,
            address: visit.address,
            request_head: visit.secrets.withhold(answer.request_head),
            response_head: visit.secrets.withhold_answer(answer.response_head),
            status: answer.status,
            headers: answer.headers,
            wire_body: answer.wire_body,
            entity: answer.entity,
            body: answer.body,
            stopped: answer.stopped,
            met,
            timing,
            protocol: answer.protocol,
        })
    }
}

impl Fetch for HttpFetcher {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Exchange, FetchFailure>> {
        Box::pin(self.visit(request))
    }
}

/// What is known of a visit while it lasts.
struct Visit<'a> {
    asked: &'a FetchRequest,
    profile: &'a Profile,
    secrets: Secrets,
    start: Instant,
    end: Instant,
    started: Timestamp,
    address: Option<std::net::IpAddr>,
    timing: Timing,
    met: Vec<Met>,
}

impl<'a> Visit<'a> {
    fn new(asked: &'a FetchRequest, profile: &'a Profile) -> Visit<'a> {
        let start = Instant::now();
        let end = start + asked.limits.total;
        let (started, address, timing) = (Timestamp::ZERO, None, Timing::default());
        let secrets = Secrets::default();
        let met = Vec::new();
        Visit { asked, profile, secrets, start, end, started, address, timing, met }
    }

    fn failure(&self, kind: FailureKind, detail: String) -> FetchFailure {
        let timing = Timing { total: self.start.elapsed(), ..self.timing };
        FetchFailure { address: self.address, timing, ..FetchFailure::new(kind, detail) }
    }

    /// Sent at least in part, over a connection that was kept: whether the server saw it cannot be known, so it
    /// counts as a request, and the next one is a visit of its own.
    fn lost(&self, failure: HopFailure) -> FetchFailure {
        let detail = format!("the kept connection ended: {}", failure.detail);
        FetchFailure { met: failure.met, ..self.failure(FailureKind::StaleConnection, detail) }
    }

    fn failed(&self, failure: HopFailure) -> FetchFailure {
        // A proxy asked by the whole URL that says nothing: whatever the server did, it had to tell.
        if failure.unanswered && self.profile.form.to_proxy(&self.asked.url) {
            let detail = "the proxy hung up without an answer".to_owned();
            return self.failure(FailureKind::Proxy, detail);
        }
        let HopFailure { kind, detail, met, wire_bytes, .. } = failure;
        FetchFailure { met, wire_bytes, ..self.failure(kind, detail) }
    }

    fn not_connected(&self, failure: ConnectFailure) -> FetchFailure {
        let mut said = self.failure(failure.kind, failure.detail);
        said.address = failure.address;
        said.met = failure.met;
        said.refusal = failure.refusal;
        said
    }
}
