//! One request and its answer on one wire, within all limits.
//!
//! The tape (`tape.rs`) holds the answer's exact bytes; `framing.rs` says where its body ends, `body.rs` where it lies
//! on the tape. Each time limit ends the waiting at once: before a whole head it is a failure, after it the exchange
//! keeps what came and says why it is not whole.
//!
//! `tokio::time` measures the phases here; the moment of the request comes from the product's clock.

use std::{
    future::{Future, poll_fn},
    io,
    ops::Range,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use model::{
    FailureKind, FetchLimits, FetchRequest, Hazard, Headers, Measure, Met, Protocol, Stopped,
};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    body::Body,
    bounds::{
        DRAIN_BYTES_MAX, DRAIN_TIME, HEADER_LINES_MAX, INTERIMS_MAX, framed_body_max,
        head_bytes_max, wire_bytes_max,
    },
    budget::BodyBudget,
    chunks::Step,
    failure::{HopFailure, bad_http, failure, flood, interim_flood, over_long},
    framing::{Framing, Said},
    head::{refused, unwanted},
    intake::{Bodies, Event, Intake, Took},
    lengths::{self, Lengths},
    line::Line,
    tape::Tape,
    wire::Wire,
    written::Written,
};

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

/// `end` is when the whole fetch must be over.
pub async fn run(
    wire: Wire,
    request: Request<Bytes>,
    asked: &FetchRequest,
    budget: &BodyBudget,
    end: Instant,
) -> Result<Answer, HopFailure> {
    let limits = &*asked.limits;
    let exact = limits.wire_bytes_max.is_some();
    let tape = Tape::new(Written::new(&request, wire.old), head_bytes_max(limits), exact);
    let timer = pin!(None);
    let mut hop = Hop { wire, tape, limits, budget, end, timer };
    let head = hop.head().await.map_err(|failure| hop.counted(failure))?;
    let length = head.framing.length();
    let by_gate = || refused(&head.headers, head.status, length, asked.type_gate.as_deref());
    if let Some(stop) = unwanted(&head.headers, length, asked).or_else(by_gate) {
        let rests = hop.drain(&head).await;
        return Ok(hop.head_only(head, stop, rests));
    }
    let chunked = head.framing == Framing::Chunked;
    let mut intake = Intake::new(&head.headers, chunked, length, limits);
    let mut body = Body::new(head.framing, head.at.end);
    hop.expect(&head);
    let stop = hop.body(&mut body, &mut intake, head.at.end).await;
    Ok(hop.finish(head, &body, intake, stop))
}

/// A final head, and where on the tape it lies.
struct Head {
    at: Range<usize>,
    status: u16,
    headers: Headers,
    framing: Framing,
    /// Another request may follow.
    keeps: bool,
}

struct Hop<'a> {
    wire: Wire,
    tape: Tape,
    limits: &'a FetchLimits,
    budget: &'a BodyBudget,
    end: Instant,
    /// Set when there is something to wait for.
    timer: Pin<&'a mut Option<Sleep>>,
}

impl Hop<'_> {
    async fn head(&mut self) -> Result<Head, HopFailure> {
        let due = Instant::now() + self.limits.first_byte;
        if let Err(error) = self.wire.begin(&mut self.tape) {
            let stray = self.tape.received().is_empty() && self.wire.stream.has_stray_bytes();
            let met = stray.then_some(EXTRA_ANSWER);
            return Err(HopFailure { met, unsent: true, ..self.lost(&error) });
        }
        poll_fn(|cx| self.poll_head(cx, due)).await
    }

    fn poll_head(&mut self, cx: &mut Context<'_>, due: Instant) -> Poll<Result<Head, HopFailure>> {
        if let Poll::Ready(Err(error)) = self.tape.poll_send(cx, &mut self.wire.stream) {
            return Poll::Ready(Err(self.lost(&error)));
        }
        while !self.tape.seek() {
            if self.tape.interims() > INTERIMS_MAX {
                return Poll::Ready(Err(interim_flood()));
            }
            if self.tape.is_full() {
                return Poll::Ready(Err(over_long(self.limits)));
            }
            match self.tape.poll_fill(cx, &mut self.wire.stream) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(self.no_head())),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.lost(&error))),
                Poll::Pending => return self.wait_for_head(cx, due).map(Err),
            }
        }
        Poll::Ready(self.whole_head())
    }

    fn wait_for_head(&mut self, cx: &mut Context<'_>, first_due: Instant) -> Poll<HopFailure> {
        let last_at = self.tape.last_at;
        match self.late(cx, last_at.map_or(first_due, |last| last + self.limits.idle)) {
            true => Poll::Ready(self.silence(last_at.is_some())),
            false => Poll::Pending,
        }
    }

    /// Whether `due` or the end of all has come; otherwise the task is woken then.
    fn late(&mut self, cx: &mut Context<'_>, due: Instant) -> bool {
        let due = due.min(self.end);
        if self.timer.is_none() {
            self.timer.set(Some(sleep_until(due)));
        }
        let Some(mut sleep) = self.timer.as_mut().as_pin_mut() else { return false };
        // Moving the timer costs; as limits move on with each byte, it is let fire early instead.
        if due < sleep.deadline() {
            sleep.as_mut().reset(due);
        }
        while sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= due {
                return true;
            }
            sleep.as_mut().reset(due);
        }
        false
    }

    fn whole_head(&mut self) -> Result<Head, HopFailure> {
        let Some(at) = self.tape.head.clone() else { return Err(self.no_head()) };
        let received = &self.tape.received()[..at.end];
        let said = match Said::read(received) {
            Ok(Some(said)) => said,
            Ok(None) => return Err(self.no_head()),
            Err(wrong) => return Err(self.bad_head(&received[at], &wrong)),
        };
        if self.tape.interims() > INTERIMS_MAX {
            return Err(interim_flood());
        }
        if at.end > head_bytes_max(self.limits) {
            return Err(over_long(self.limits));
        }
        let headers = Headers::parse(&received[at.clone()]);
        let lengths = lengths::lengths(&headers);
        if lengths == Lengths::Differ {
            let failure = bad_http("the answer has several lengths that differ".to_owned());
            return Err(HopFailure { met: Some(lengths::DIFFERING), ..failure });
        }
        let framing = said.framing(lengths).map_err(|wrong| not_good(&wrong))?;
        self.wire.old = said.old;
        Ok(Head { at, status: said.status, headers, framing, keeps: said.keeps })
    }

    fn bad_head(&self, head: &[u8], wrong: &str) -> HopFailure {
        if memchr::memchr_iter(b'\n', head).count() > HEADER_LINES_MAX {
            return flood(self.limits);
        }
        let differ = lengths::lengths(&Headers::parse(head)) == Lengths::Differ;
        HopFailure { met: differ.then_some(lengths::DIFFERING), ..not_good(wrong) }
    }

    /// There is none, and there will be none.
    fn no_head(&self) -> HopFailure {
        match Said::read(self.tape.received()) {
            Err(wrong) => not_good(&wrong),
            Ok(_) => self.hung_up(),
        }
    }

    fn lost(&self, error: &io::Error) -> HopFailure {
        let failure = self.hung_up();
        if failure.kind == FailureKind::Reset { failure.because(error) } else { failure }
    }

    fn hung_up(&self) -> HopFailure {
        let received = self.tape.received();
        let start = &received[..received.len().min(5)];
        let unanswered = !self.tape.is_answered();
        if !unanswered && !b"HTTP/".starts_with(start) {
            return bad_http("the answer is not HTTP".to_owned());
        }
        let detail = if unanswered {
            "the server hung up without an answer"
        } else {
            "the server hung up in the middle of the head"
        };
        HopFailure { unanswered, ..failure(FailureKind::Reset, detail.to_owned()) }
    }

    fn silence(&self, begun: bool) -> HopFailure {
        let detail = match begun {
            _ if Instant::now() >= self.end => {
                format!("no complete headers within {:?}", self.limits.total)
            }
            true => format!("no header byte for {:?}", self.limits.idle),
            false => format!("no answer within {:?}", self.limits.first_byte),
        };
        let hazard = if begun { Hazard::SlowResponse } else { Hazard::NoResponse };
        let met = Some(Met::new(hazard, Measure::Truncated));
        HopFailure { met, ..failure(FailureKind::Timeout, detail) }
    }

    fn counted(&self, failure: HopFailure) -> HopFailure {
        HopFailure { wire_bytes: self.tape.received().len() as u64, ..failure }
    }

    fn expect(&mut self, head: &Head) {
        let received_max = head.at.end.saturating_add(framed_body_max(self.limits));
        self.tape.allow(received_max.min(wire_bytes_max(self.limits)));
        if let Framing::Length(length) = head.framing {
            let likely = usize::try_from(length).unwrap_or(usize::MAX);
            self.tape.expect(head.at.end.saturating_add(likely));
        }
    }

    /// The body, which begins at `start` of the tape.
    async fn body(
        &mut self,
        body: &mut Body,
        intake: &mut Intake,
        start: usize,
    ) -> Option<Stopped> {
        let mut began = Instant::now();
        loop {
            let (stop, mut took) = match poll_fn(|cx| self.poll_body(cx, body, began)).await {
                Event::Data(data) => (None, intake.take(&self.tape.received()[data])),
                Event::End => (Some(None), intake.close()),
                Event::Broken => (Some(Some(Stopped::Disconnect)), intake.close()),
                Event::Late => (Some(Some(Stopped::Time)), intake.close()),
                Event::Full => (Some(Some(Stopped::Length)), intake.close()),
            };
            if took == Took::NeedsMemory {
                let entity = start..body.at;
                match self.wait_for_memory(intake, entity).await {
                    Some(then) => took = then,
                    None => return stop.flatten().or(Some(Stopped::Time)),
                }
                // Meanwhile nothing was read: that was no silence of the server's.
                began = Instant::now();
            }
            match (stop, took) {
                (Some(Some(stop)), _) => return Some(stop),
                (_, Took::Full) => return Some(Stopped::Length),
                (Some(None), _) => return None,
                (None, _) => {}
            }
        }
    }

    /// `None` when there was none in time. The time it takes is ours, not the server's.
    async fn wait_for_memory(&mut self, intake: &mut Intake, entity: Range<usize>) -> Option<Took> {
        let began = Instant::now();
        let reserving = self.budget.reserve(intake.memory_needed(), self.limits.total);
        let reservation = reserving.await?;
        self.end += began.elapsed();
        Some(intake.go_on(reservation, &self.tape.received()[entity]))
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        body: &mut Body,
        began: Instant,
    ) -> Poll<Event<Range<usize>>> {
        let mut ended = false;
        loop {
            match body.next(self.tape.received(), ended) {
                Step::Data(data) => return Poll::Ready(Event::Data(data)),
                Step::End => return Poll::Ready(Event::End),
                Step::Broken => return Poll::Ready(Event::Broken),
                Step::More => {}
            }
            if self.tape.is_full() {
                return Poll::Ready(Event::Full);
            }
            match self.tape.poll_fill(cx, &mut self.wire.stream) {
                Poll::Ready(Ok(count)) => ended = count == 0,
                Poll::Ready(Err(_)) => return Poll::Ready(Event::Broken),
                Poll::Pending => return self.wait_for_body(cx, began),
            }
        }
    }

    fn wait_for_body<D>(&mut self, cx: &mut Context<'_>, began: Instant) -> Poll<Event<D>> {
        // The body may have waited on the tape while its head was judged.
        let last_at = self.tape.last_at.map_or(began, |last| last.max(began));
        match self.late(cx, last_at + self.limits.idle) {
            true => Poll::Ready(Event::Late),
            false => Poll::Pending,
        }
    }

    /// Reads an unwanted body away when it is small; true when the wire can be used again.
    async fn drain(&mut self, head: &Head) -> bool {
        let length = head.framing.length().filter(|length| *length <= DRAIN_BYTES_MAX);
        let Some(length) = length.filter(|_| head.keeps) else { return false };
        let enough = usize::try_from(length).unwrap_or(0) + head.at.end;
        if enough > wire_bytes_max(self.limits) {
            return false;
        }
        self.tape.allow(enough);
        let began = Instant::now();
        self.end = self.end.min(began + DRAIN_TIME);
        let mut body = Body::new(head.framing, head.at.end);
        loop {
            match poll_fn(|cx| self.poll_body(cx, &mut body, began)).await {
                Event::Data(_) => {}
                Event::End => return self.rests(body.at),
                Event::Broken | Event::Full | Event::Late => return false,
            }
        }
    }

    /// Whether the wire can be used again, behind an answer that ended at `end`.
    fn rests(&mut self, end: usize) -> bool {
        end == self.tape.received().len() && self.wire.rests(&mut self.tape)
    }

    fn head_only(mut self, head: Head, stop: Stopped, rests: bool) -> Answer {
        let (bodies, met) = (Bodies::none(stop), framing_met(&head.headers));
        let received = self.tape.take_received(head.at.end);
        let answer = self.answer(head, received, bodies, rests);
        Answer { met: met.into_iter().collect(), download: Duration::ZERO, ..answer }
    }

    fn finish(mut self, head: Head, body: &Body, intake: Intake, stop: Option<Stopped>) -> Answer {
        let sound = stop.is_none() && head.keeps && !ambiguous(&head.headers);
        let rests = sound && head.framing != Framing::UntilClose && self.rests(body.at);
        let end = match stop {
            // What came after the answer, or after the part of it that was taken, is not of it.
            None | Some(Stopped::Length) => body.at,
            _ => self.tape.received().len(),
        };
        let behind = stop.is_none().then(|| more_behind(&self.tape.received()[end..])).flatten();
        let received = self.tape.take_received(end);
        let bodies = intake.finish(received.slice(head.at.end..), stop);
        let met = framing_met(&head.headers).into_iter().chain(behind).chain(bodies.met).collect();
        Answer { met, ..self.answer(head, received, bodies, rests) }
    }

    fn answer(mut self, head: Head, received: Bytes, bodies: Bodies, rests: bool) -> Answer {
        let (first_byte, download) = self.durations();
        Answer {
            status: head.status,
            headers: head.headers,
            request_head: self.tape.take_head_sent(),
            response_head: received.slice(head.at),
            wire_body: bodies.wire_body,
            entity: bodies.entity,
            body: bodies.body,
            stopped: bodies.stopped,
            met: Vec::new(),
            sent: self.tape.sent_at,
            first_byte,
            download,
            line: rests.then_some(Line::One(self.wire)),
            protocol: Protocol::Http1,
        }
    }

    /// To the first byte, and from there to the last.
    fn durations(&self) -> (Duration, Duration) {
        let Some(first) = self.tape.first_at else { return Default::default() };
        let first_byte = self.tape.sent_at.map_or(Duration::ZERO, |sent| first - sent);
        let download = self.tape.last_at.map_or(Duration::ZERO, |last| last - first);
        (first_byte, download)
    }
}

fn not_good(wrong: &str) -> HopFailure {
    bad_http(format!("the response is not valid HTTP: {wrong}"))
}

/// Two ways to tell where the answer ends: whoever stands between us may have taken the other one, so
/// nothing more is asked on that connection (RFC 9112 section 6.1).
fn ambiguous(headers: &Headers) -> bool {
    headers.get("content-length").is_some() && headers.get("transfer-encoding").is_some()
}

/// What is odd about how the answer says where it ends.
fn framing_met(headers: &Headers) -> Option<Met> {
    if ambiguous(headers) {
        return Some(lengths::BESIDE_CHUNKS);
    }
    (lengths::lengths(headers) == Lengths::Meaningless).then_some(lengths::MEANINGLESS)
}

const EXTRA_ANSWER: Met = Met::new(Hazard::UnexpectedResponse, Measure::Refused);

/// What came behind an answer: another one, or a rest of it that was not announced.
fn more_behind(extra: &[u8]) -> Option<Met> {
    match extra.trim_ascii_start() {
        b"" => None,
        text if text.starts_with(b"HTTP/") => Some(EXTRA_ANSWER),
        _ => Some(lengths::TOO_SHORT),
    }
}
