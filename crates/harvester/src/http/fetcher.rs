//! `HttpFetcher`: a request in, an exchange or a failure out.

use std::sync::Arc;

use model::{
    BoxFuture, Clock, CrawlUrl, Exchange, FailureKind, Fetch, FetchFailure, FetchRequest,
    Timestamp, Timing,
};
use tokio::time::Instant;

use super::{
    HttpOptions, HttpSetupError,
    connect::{ConnectFailure, Connector},
    hop::{self, Answer, HopFailure},
    pool::Pool,
    request::RequestForm,
    wire::Wire,
};

pub struct HttpFetcher {
    form: RequestForm,
    connector: Connector,
    pool: Pool<Wire>,
    clock: Arc<dyn Clock>,
    proxied: bool,
}

impl HttpFetcher {
    pub fn new(
        options: &HttpOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<HttpFetcher, HttpSetupError> {
        let pool = Pool::new(options.idle_max, options.idle_per_origin_max, options.idle_timeout);
        Ok(HttpFetcher {
            form: RequestForm::new(options)?,
            connector: Connector::new(options)?,
            pool,
            clock,
            proxied: options.proxy.is_some(),
        })
    }

    /// With a proxy requests need no addresses: names are the proxy's to resolve.
    pub fn proxied(&self) -> bool {
        self.proxied
    }

    /// Closes connections that have rested too long; worth a call now and then while a crawl waits.
    pub fn close_idle(&self) {
        self.pool.expire(Instant::now());
    }

    pub fn idle(&self) -> usize {
        self.pool.len()
    }

    async fn visit(&self, asked: FetchRequest) -> Result<Exchange, FetchFailure> {
        let mut visit = Visit::new(&asked);
        let origin = origin_of(&asked.url);
        let rested = self.pool.take(origin, visit.start);
        if let Some(wire) = rested.filter(|wire| self.connector.may_reuse(wire.address)) {
            visit.timing.reused = true;
            match self.hop(wire, &mut visit).await {
                // The server closed it while it rested: the same visit goes on over a new one.
                Err(failure) if failure.unanswered => visit.timing.reused = false,
                Err(failure) => return Err(visit.failed(failure)),
                Ok(answer) => return Ok(self.exchange(visit, answer)),
            }
        }
        let wire = self.connect(&mut visit).await?;
        match self.hop(wire, &mut visit).await {
            Ok(answer) => Ok(self.exchange(visit, answer)),
            Err(failure) => Err(visit.failed(failure)),
        }
    }

    async fn connect(&self, visit: &mut Visit<'_>) -> Result<Wire, FetchFailure> {
        let asked = visit.asked;
        let connecting =
            self.connector.connect(&asked.url, &asked.addresses, &asked.limits, visit.end);
        let connected = connecting.await.map_err(|failure| visit.not_connected(failure))?;
        visit.timing.connect = connected.connect;
        visit.timing.tls = connected.tls;
        let opened = Wire::open(connected, asked.limits.head_bytes_max).await;
        opened.map_err(|error| visit.failure(FailureKind::Reset, error.to_string()))
    }

    async fn hop(&self, wire: Wire, visit: &mut Visit<'_>) -> Result<Answer, HopFailure> {
        let request = self.form.request(visit.asked).map_err(|detail| HopFailure {
            kind: FailureKind::BadHttp,
            detail,
            unanswered: false,
        })?;
        visit.address = wire.address;
        visit.started = self.clock.now();
        hop::run(wire, request, visit.asked, visit.end).await
    }

    fn exchange(&self, visit: Visit<'_>, answer: Answer) -> Exchange {
        let now = Instant::now();
        // The process may have stood still between taking the time and sending: the pause to the next
        // visit counts from what the server saw.
        let sent = answer.sent.map(|sent| self.clock.now().minus(now - sent));
        let started = sent.map_or(visit.started, |sent| sent.max(visit.started));
        if let Some(wire) = answer.wire {
            self.pool.put(origin_of(&visit.asked.url), wire, now);
        }
        let timing = Timing {
            first_byte: answer.first_byte,
            download: answer.download,
            total: now - visit.start,
            ..visit.timing
        };
        Exchange {
            url: visit.asked.url.clone(),
            purpose: visit.asked.purpose,
            started,
            address: visit.address,
            request_head: answer.request_head,
            response_head: answer.response_head,
            status: answer.status,
            headers: answer.headers,
            wire_body: answer.wire_body,
            entity: answer.entity,
            body: answer.body,
            stopped: answer.stopped,
            timing,
        }
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
    start: Instant,
    end: Instant,
    started: Timestamp,
    address: Option<std::net::IpAddr>,
    timing: Timing,
}

impl<'a> Visit<'a> {
    fn new(asked: &'a FetchRequest) -> Visit<'a> {
        let start = Instant::now();
        let end = start + asked.limits.total;
        let (started, address, timing) = (Timestamp::ZERO, None, Timing::default());
        Visit { asked, start, end, started, address, timing }
    }

    fn failure(&self, kind: FailureKind, detail: String) -> FetchFailure {
        let timing = Timing { total: self.start.elapsed(), ..self.timing };
        FetchFailure { kind, detail, address: self.address, timing }
    }

    fn failed(&self, failure: HopFailure) -> FetchFailure {
        self.failure(failure.kind, failure.detail)
    }

    fn not_connected(&self, failure: ConnectFailure) -> FetchFailure {
        let mut said = self.failure(failure.kind, failure.detail);
        said.address = failure.address;
        said
    }
}

/// The pool's key: scheme, host and port.
fn origin_of(url: &CrawlUrl) -> &str {
    let text = url.as_str();
    &text[..text.len() - url.path_and_query().len()]
}
