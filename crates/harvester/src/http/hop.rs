//! One request and its answer on one wire, within all limits.
//!
//! The answer's exact bytes come from the tape; hyper tells head from body and undoes chunks. Each time
//! limit ends the waiting at once: before a whole head it is a failure, after it the exchange keeps what
//! came and says why it is not whole.
//!
//! `tokio::time` measures the phases here; the moment of the request comes from the product's clock.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Body, Incoming},
};
use model::{
    FailureKind, FetchLimits, FetchRequest, Hazard, Headers, Measure, Met, Protocol, Stopped,
};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    head::{refused, unwanted},
    intake::{Event, Intake, poll_frame},
    lengths::{self, Lengths},
    line::Line,
    tape::SharedTape,
    wire::{HEADER_LINES_MAX, Wire},
};

/// A rest of an unwanted body up to this size is read away to keep the connection: it costs less than
/// a new one with its TLS handshake.
pub const DRAIN_BYTES_MAX: u64 = 64 * 1024;
/// … if it comes at once.
pub const DRAIN_TIME: Duration = Duration::from_secs(1);
/// Interim answers (1xx) before the answer; honest servers send one or two.
pub const INTERIMS_MAX: usize = 16;
/// What framing may cost beside the body before it counts as an attack.
pub const FRAMING_BYTES_MAX: usize = 64 * 1024;

pub struct Answer {
    pub status: u16,
    pub headers: Headers,
    pub request_head: Bytes,
    pub response_head: Bytes,
    pub wire_body: Bytes,
    pub entity: Bytes,
    pub body: Bytes,
    pub stopped: Option<Stopped>,
    pub met: Vec<Met>,
    /// When the last of the request was written.
    pub sent: Option<Instant>,
    pub first_byte: Duration,
    pub download: Duration,
    /// The connection, when another request can go over it.
    pub line: Option<Line>,
    pub protocol: Protocol,
}

pub struct HopFailure {
    pub kind: FailureKind,
    pub detail: String,
    /// The server closed before a byte of an answer: on a wire used before, it had not seen the request.
    pub unanswered: bool,
    /// By name, where that is more than the kind says.
    pub met: Option<Met>,
    /// What came of the answer.
    pub wire_bytes: u64,
}

/// `end` is when the whole fetch must be over.
pub async fn run(
    wire: Box<Wire>,
    request: Request<Full<Bytes>>,
    asked: &FetchRequest,
    end: Instant,
) -> Result<Answer, HopFailure> {
    let tape = wire.tape.clone();
    let sleep = pin!(sleep_until(end));
    let mut hop = Hop { wire, tape, limits: &asked.limits, end, sleep };
    let response = hop.head(request).await.map_err(|failure| hop.counted(failure))?;
    let status = response.status().as_u16();
    let body = response.into_body();
    let length = if body.is_end_stream() { Some(0) } else { body.size_hint().exact() };
    let (head, headers) = hop.parse_head().map_err(|failure| hop.counted(failure))?;
    let by_gate = || refused(&headers, status, length, asked.type_gate.as_deref());
    if let Some(stop) = unwanted(&headers, length, asked).or_else(by_gate) {
        let rests = hop.drain(body, length, head.end).await;
        return Ok(hop.head_only(status, headers, head, stop, rests));
    }
    let mut intake = Intake::new(&headers, &asked.limits);
    hop.expect(head.end, length);
    let stop = hop.body(body, &mut intake).await;
    Ok(hop.finish(status, headers, head, intake, stop).await)
}

struct Hop<'a> {
    wire: Box<Wire>,
    tape: SharedTape,
    limits: &'a FetchLimits,
    end: Instant,
    sleep: Pin<&'a mut Sleep>,
}

impl Hop<'_> {
    async fn head(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, HopFailure> {
        let first_due = Instant::now() + self.limits.first_byte;
        let exact = self.limits.wire_bytes_max.is_some();
        let mut answer = pin!(self.wire.send(head_bytes_max(self.limits), exact, request));
        poll_fn(|cx| {
            let over = self.wire.drive(cx);
            if let Poll::Ready(result) = answer.as_mut().poll(cx) {
                return Poll::Ready(result.map_err(|error| self.judge(&error)));
            }
            let (full, interims, last_at) = {
                let tape = self.tape.lock();
                (tape.full, tape.interims(), tape.last_at)
            };
            if interims > INTERIMS_MAX {
                return Poll::Ready(Err(interim_flood()));
            }
            if full {
                return Poll::Ready(Err(flood(self.limits)));
            }
            if self.late(cx, last_at.map_or(first_due, |last| last + self.limits.idle)) {
                return Poll::Ready(Err(self.silence(last_at.is_some())));
            }
            if over { Poll::Ready(Err(self.hung_up())) } else { Poll::Pending }
        })
        .await
    }

    /// Whether `due` or the end of all has come; otherwise the task is woken then.
    fn late(&mut self, cx: &mut Context<'_>, due: Instant) -> bool {
        let due = due.min(self.end);
        // Moving the timer costs; as limits move on with each byte, it is let fire early instead.
        if due < self.sleep.deadline() {
            self.sleep.as_mut().reset(due);
        }
        while self.sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= due {
                return true;
            }
            self.sleep.as_mut().reset(due);
        }
        false
    }

    fn judge(&self, error: &hyper::Error) -> HopFailure {
        let tape = self.tape.lock();
        if error.is_parse() {
            let failure = bad_http(format!("the answer is not good HTTP: {error}"));
            let Some(head) = tape.head() else { return failure };
            let head = &tape.received()[head];
            if memchr::memchr_iter(b'\n', head).count() > HEADER_LINES_MAX {
                return flood(self.limits);
            }
            let differ = lengths::lengths(&Headers::parse(head)) == Lengths::Differ;
            return HopFailure { met: differ.then_some(lengths::DIFFERING), ..failure };
        }
        let answered = !tape.sent().is_empty() && !tape.received().is_empty();
        let received = tape.received();
        let start = &received[..received.len().min(5)];
        if answered && !b"HTTP/".starts_with(start) && start != b"HTTP/" {
            return bad_http("the answer is not HTTP".to_owned());
        }
        drop(tape);
        let mut failure = self.hung_up();
        if !error.is_incomplete_message() {
            failure.detail = format!("{}: {}", failure.detail, root_cause(error));
        }
        failure
    }

    fn counted(&self, failure: HopFailure) -> HopFailure {
        HopFailure { wire_bytes: self.tape.lock().received().len() as u64, ..failure }
    }

    fn hung_up(&self) -> HopFailure {
        let tape = self.tape.lock();
        let unanswered = tape.sent().is_empty() || tape.received().is_empty();
        let detail = if unanswered {
            "the server hung up without an answer"
        } else {
            "the server hung up in the middle of the head"
        };
        let met = tape.stray.then_some(EXTRA_ANSWER);
        HopFailure { met, unanswered, ..failure(FailureKind::Reset, detail.to_owned()) }
    }

    fn silence(&self, begun: bool) -> HopFailure {
        let detail = match begun {
            _ if Instant::now() >= self.end => {
                format!("no whole head within the {:?} for all", self.limits.total)
            }
            true => format!("the head stopped coming for {:?}", self.limits.idle),
            false => format!("no answer within {:?}", self.limits.first_byte),
        };
        let hazard = if begun { Hazard::SlowAnswer } else { Hazard::Silent };
        let met = Some(Met::new(hazard, Measure::Cut));
        HopFailure { met, ..failure(FailureKind::Timeout, detail) }
    }

    fn parse_head(&self) -> Result<(std::ops::Range<usize>, Headers), HopFailure> {
        let tape = self.tape.lock();
        if tape.interims() > INTERIMS_MAX {
            return Err(interim_flood());
        }
        let head = tape.head().ok_or_else(|| bad_http("the answer has no head".to_owned()))?;
        let headers = Headers::parse(&tape.received()[head.clone()]);
        match lengths::lengths(&headers) {
            Lengths::Differ => {
                let failure = bad_http("the answer has several lengths that differ".to_owned());
                Err(HopFailure { met: Some(lengths::DIFFERING), ..failure })
            }
            Lengths::Clear | Lengths::Meaningless => Ok((head, headers)),
        }
    }

    fn expect(&mut self, head_end: usize, length: Option<u64>) {
        let received_max = head_end.saturating_add(framed_body_max(self.limits));
        let received_max = received_max.min(wire_bytes_max(self.limits));
        let likely = usize::try_from(length.unwrap_or(0)).unwrap_or(usize::MAX);
        self.tape.lock().expect(received_max, head_end.saturating_add(likely));
    }

    async fn body(&mut self, mut body: Incoming, intake: &mut Intake) -> Option<Stopped> {
        let began = Instant::now();
        loop {
            match poll_fn(|cx| self.poll_body(cx, &mut body, began)).await {
                Event::End => return None,
                Event::Broken => return Some(Stopped::Disconnect),
                Event::Late => return Some(Stopped::Time),
                Event::Full => return Some(Stopped::Length),
                Event::Data(data) => {
                    if intake.take(&data) {
                        intake.take_queued(&mut body).await;
                        return Some(Stopped::Length);
                    }
                }
            }
        }
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        body: &mut Incoming,
        began: Instant,
    ) -> Poll<Event> {
        if let Poll::Ready(event) = poll_frame(cx, body) {
            return Poll::Ready(event);
        }
        let over = self.wire.drive(cx);
        if let Poll::Ready(event) = poll_frame(cx, body) {
            return Poll::Ready(event);
        }
        let (full, last_at) = {
            let tape = self.tape.lock();
            (tape.full, tape.last_at)
        };
        if full {
            return Poll::Ready(Event::Full);
        }
        // The body may have waited on the tape while its head was judged.
        let last_at = last_at.map_or(began, |last| last.max(began));
        if self.late(cx, last_at + self.limits.idle) {
            return Poll::Ready(Event::Late);
        }
        if over { Poll::Ready(Event::Broken) } else { Poll::Pending }
    }

    /// Reads an unwanted body away when it is small; true when the wire can be used again.
    async fn drain(&mut self, mut body: Incoming, length: Option<u64>, head_end: usize) -> bool {
        let Some(length) = length.filter(|length| *length <= DRAIN_BYTES_MAX) else { return false };
        let enough = usize::try_from(length).unwrap_or(0) + head_end;
        if enough > wire_bytes_max(self.limits) {
            return false;
        }
        self.tape.lock().expect(enough, 0);
        let began = Instant::now();
        self.end = self.end.min(began + DRAIN_TIME);
        loop {
            match poll_fn(|cx| self.poll_body(cx, &mut body, began)).await {
                Event::Data(_) => {}
                Event::End => return poll_fn(|cx| self.wire.rests(cx)).await,
                Event::Broken | Event::Full | Event::Late => return false,
            }
        }
    }

    fn head_only(
        self,
        status: u16,
        headers: Headers,
        head: std::ops::Range<usize>,
        stop: Stopped,
        rests: bool,
    ) -> Answer {
        let (first_byte, _) = self.durations();
        let mut tape = self.tape.lock();
        let sent = tape.sent_at;
        let request_head = tape.take_sent();
        let response_head = tape.take_received(head.end).slice(head.start..);
        drop(tape);
        let line = rests.then_some(Line::One(self.wire));
        let (wire_body, entity, body) = (Bytes::new(), Bytes::new(), Bytes::new());
        let (stopped, download) = (Some(stop), Duration::ZERO);
        let met = framing(&headers).into_iter().collect();
        Answer {
            status,
            headers,
            request_head,
            response_head,
            wire_body,
            entity,
            body,
            stopped,
            met,
            sent,
            first_byte,
            download,
            line,
            protocol: Protocol::Http1,
        }
    }

    async fn finish(
        mut self,
        status: u16,
        headers: Headers,
        head: std::ops::Range<usize>,
        intake: Intake,
        stop: Option<Stopped>,
    ) -> Answer {
        let sound = stop.is_none() && !ambiguous(&headers);
        let rests = sound && poll_fn(|cx| self.wire.rests(cx)).await;
        let (first_byte, download) = self.durations();
        let tape = self.tape.clone();
        let (line, extra) = match rests {
            true => (Some(Line::One(self.wire)), 0),
            false => (None, self.wire.close()),
        };
        let mut tape = tape.lock();
        let received = tape.received().len();
        let end = match stop {
            // What came after the answer, or after the part of it that was taken, is not of it.
            None | Some(Stopped::Length) => received - extra.min(received - head.end),
            _ => received,
        };
        let behind = stop.is_none().then(|| more_behind(&tape.received()[end..])).flatten();
        let sent = tape.sent_at;
        let request_head = tape.take_sent();
        let bytes = tape.take_received(end);
        drop(tape);
        let (response_head, wire_body) = (bytes.slice(head.clone()), bytes.slice(head.end..));
        let bodies = intake.finish(wire_body, stop);
        let met = framing(&headers).into_iter().chain(behind).chain(bodies.met).collect();
        Answer {
            status,
            headers,
            request_head,
            response_head,
            wire_body: bodies.wire_body,
            entity: bodies.entity,
            body: bodies.body,
            stopped: bodies.stopped,
            met,
            sent,
            first_byte,
            download,
            line,
            protocol: Protocol::Http1,
        }
    }

    /// To the first byte, and from there to the last.
    fn durations(&self) -> (Duration, Duration) {
        let tape = self.tape.lock();
        let Some(first) = tape.first_at else { return Default::default() };
        let first_byte = tape.sent_at.map_or(Duration::ZERO, |sent| first - sent);
        let download = tape.last_at.map_or(Duration::ZERO, |last| last - first);
        (first_byte, download)
    }
}

/// Two ways to tell where the answer ends: whoever stands between us may have taken the other one, so
/// nothing more is asked on that connection (RFC 9112 section 6.1).
fn ambiguous(headers: &Headers) -> bool {
    headers.get("content-length").is_some() && headers.get("transfer-encoding").is_some()
}

/// What is odd about how the answer says where it ends.
fn framing(headers: &Headers) -> Option<Met> {
    if ambiguous(headers) {
        return Some(lengths::BESIDE_CHUNKS);
    }
    (lengths::lengths(headers) == Lengths::Meaningless).then_some(lengths::MEANINGLESS)
}

const EXTRA_ANSWER: Met = Met::new(Hazard::ExtraAnswer, Measure::Refused);

/// What came behind an answer: another one, or a rest of it that was not announced.
fn more_behind(extra: &[u8]) -> Option<Met> {
    match extra.trim_ascii_start() {
        b"" => None,
        text if text.starts_with(b"HTTP/") => Some(EXTRA_ANSWER),
        _ => Some(lengths::TOO_SHORT),
    }
}

/// A body at its limit with all the framing that is let pass.
pub fn framed_body_max(limits: &FetchLimits) -> usize {
    let body_max = usize::try_from(limits.body_bytes_max).unwrap_or(usize::MAX);
    body_max.saturating_add(body_max / 8 + FRAMING_BYTES_MAX)
}

/// What is left for the whole answer. Nothing was said of it: no limit.
pub fn wire_bytes_max(limits: &FetchLimits) -> usize {
    let most = limits.wire_bytes_max.unwrap_or(u64::MAX);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// A head that does not fit into what is left is over the limit like any other: half a head is no answer.
pub fn head_bytes_max(limits: &FetchLimits) -> usize {
    limits.head_bytes_max.min(wire_bytes_max(limits))
}

pub fn bad_http(detail: String) -> HopFailure {
    failure(FailureKind::BadHttp, detail)
}

pub fn failure(kind: FailureKind, detail: String) -> HopFailure {
    HopFailure { kind, detail, unanswered: false, met: None, wire_bytes: 0 }
}

/// A head over the limit of bytes or lines.
pub fn flood(limits: &FetchLimits) -> HopFailure {
    let (bytes, lines) = (head_bytes_max(limits), HEADER_LINES_MAX);
    let failure =
        bad_http(format!("the head is over the limit of {bytes} bytes and {lines} lines"));
    HopFailure { met: Some(Met::new(Hazard::HeaderFlood, Measure::Refused)), ..failure }
}

pub fn interim_flood() -> HopFailure {
    let failure = bad_http(format!("over {INTERIMS_MAX} interim answers came before the answer"));
    HopFailure { met: Some(Met::new(Hazard::InterimFlood, Measure::Refused)), ..failure }
}

fn root_cause(error: &hyper::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}
