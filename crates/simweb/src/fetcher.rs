//! The in-process twin of the loopback server: the same answers, in simulated time.
//!
//! What a real client would make of an answer is worked out at once ([`course`]); then the fetch sleeps on
//! the clock for as long as it would have taken. Nothing but that sleep passes time.

mod course;
#[cfg(test)]
mod tests;

use std::{
    fmt::Write,
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use model::{
    BoxFuture, Clock, Exchange, FailureKind, Fetch, FetchFailure, FetchRequest, Timestamp, Timing,
};

use crate::{Arrival, Hazard, Log, LogOptions, Request, SimWeb};
use course::{Course, Ending, course};

pub struct SimFetcher {
    web: Arc<SimWeb>,
    clock: Arc<dyn Clock>,
    log: Arc<Log>,
    agent: String,
}

impl SimFetcher {
    /// `agent` is the whole User-Agent field.
    pub fn new(
        web: Arc<SimWeb>,
        clock: Arc<dyn Clock>,
        agent: &str,
        log: LogOptions,
    ) -> io::Result<SimFetcher> {
        let began = OnceLock::new();
        let time = Arc::clone(&clock);
        let micros = Arc::new(move || {
            let now = time.now();
            now.since(*began.get_or_init(|| now)).as_micros() as u64
        });
        let log = Log::new(&web, log, micros)?;
        Ok(SimFetcher { web, clock, log, agent: agent.to_owned() })
    }

    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    async fn visit(&self, request: FetchRequest) -> Result<Exchange, FetchFailure> {
        let busy = self.clock.busy();
        let started = self.clock.now();
        let host = request.url.host();
        let known = self.web.address(host);
        let Some(address) = request.addresses.first().copied().filter(|a| known == Some(*a)) else {
            return Err(no_server(&request, known.is_none()));
        };
        if request.url.is_https() && self.web.host_hazard(host) == Some(Hazard::SelfSigned) {
            let detail = "the certificate is signed by nobody".to_owned();
            let failure = FetchFailure::new(FailureKind::Tls, detail);
            return Err(FetchFailure { address: Some(address), ..failure });
        }
        let condition = request.condition.clone().unwrap_or_default();
        let sent = Request {
            method: "GET",
            host: request.url.authority(),
            target: request.url.path_and_query(),
            tls: request.url.is_https(),
            agent: &self.agent,
            if_none_match: condition.etag.as_deref(),
            if_modified_since: condition.last_modified.as_deref(),
            cookie: request.cookies.as_deref(),
            accepts_gzip: true,
        };
        let connection = self.web.site_of(host).map_or(0, |site| site as u64 + 1);
        let mut visit = self.log.open(&sent, Arrival { at: started, connection, address });
        let answer = self.web.answer(&sent, started);
        visit.answered(&answer);
        let course = course(answer, &request.limits);
        let head = request_head(&sent);
        drop(busy);
        self.clock.sleep_until(started.plus(round_up(course.total()))).await;
        visit.sent(course.wire_bytes());
        drop(visit);
        conclude(course, request, started, address, head)
    }
}

impl Fetch for SimFetcher {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Exchange, FetchFailure>> {
        Box::pin(self.visit(request))
    }
}

fn conclude(
    course: Course,
    request: FetchRequest,
    started: Timestamp,
    address: std::net::IpAddr,
    request_head: String,
) -> Result<Exchange, FetchFailure> {
    let timing = Timing {
        first_byte: course.first_byte,
        download: course.download,
        total: course.total(),
        reused: true,
        ..Timing::default()
    };
    match course.ending {
        Ending::Failure(kind, detail) => {
            let failure = FetchFailure::new(kind, detail);
            Err(FetchFailure { address: Some(address), timing, ..failure })
        }
        Ending::Answer(answered) => Ok(Exchange {
            url: request.url,
            purpose: request.purpose,
            started,
            address: Some(address),
            request_head: request_head.into(),
            response_head: answered.head,
            status: answered.status,
            headers: answered.headers,
            wire_body: answered.wire_body,
            entity: answered.entity,
            body: answered.body,
            stopped: answered.stopped,
            met: Vec::new(),
            timing,
            protocol: Default::default(),
        }),
    }
}

fn no_server(request: &FetchRequest, unknown: bool) -> FetchFailure {
    let kind = if unknown { FailureKind::DnsUnknown } else { FailureKind::ConnectRefused };
    let detail = format!("nobody serves {} at {:?}", request.url.host(), request.addresses);
    let address = request.addresses.first().copied();
    FetchFailure { address, ..FetchFailure::new(kind, detail) }
}

fn request_head(request: &Request<'_>) -> String {
    let mut head = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n",
        request.target, request.host, request.agent
    );
    let fields = [
        ("If-None-Match", request.if_none_match),
        ("If-Modified-Since", request.if_modified_since),
        ("Cookie", request.cookie),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            let _ = write!(head, "{name}: {value}\r\n");
        }
    }
    head + "\r\n"
}

/// The clock counts milliseconds, and nothing may seem to have taken less time than it did.
fn round_up(span: Duration) -> Duration {
    Duration::from_millis(span.as_micros().div_ceil(1000) as u64)
}
