//! One request and its answer on one HTTP/2 connection, within all limits.
//!
//! Times are stricter than with HTTP/1.1 where a server could play with frames that carry nothing: the
//! whole head must come within the time for the first byte, and silence is the time without DATA.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use h2::{RecvStream, client::ResponseFuture};
use http::{Request, Response, Uri, Version, header};
use model::{
    FailureKind, FetchLimits, FetchRequest, Hazard, Headers, Measure, Met, Protocol, Stopped,
};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{Wire, heads};
use crate::http::{
    bounds::{
        DRAIN_BYTES_MAX, DRAIN_TIME, FRAMING_BYTES_MAX, HEADER_LINES_MAX, INTERIMS_MAX,
        framed_body_max, head_bytes_max, wire_bytes_max,
    },
    budget::BodyBudget,
    failure::{HopFailure, bad_http, failure, flood, interim_flood, over_long},
    head::unwanted,
    hop::Answer,
    intake::{Event, Intake, Took},
    line::Line,
};

/// `end` is when the whole fetch must be over.
pub async fn run(
    wire: Wire,
    request: Request<Bytes>,
    asked: &FetchRequest,
    budget: &BodyBudget,
    end: Instant,
) -> Result<Answer, HopFailure> {
    let (request, post) = translated(request, asked)?;
    let target = asked.url.path_and_query();
    let request_head =
        heads::request_head(request.method(), target, asked.url.authority(), request.headers());
    let sleep = pin!(sleep_until(end));
    let mut hop = Hop { wire, limits: &asked.limits, budget, end, sleep, played: None };
    let response = hop.head(request, post).await?;
    let head_at = Instant::now();
    let status = response.status().as_u16();
    let response_head = heads::response_head(response.status(), response.headers());
    let headers = Headers::parse(&response_head);
    if response_head.len() > head_bytes_max(hop.limits) || headers.len() > HEADER_LINES_MAX {
        // A head is packed on the wire: of a limit on bytes it takes what it says.
        let wire_bytes = response_head.len().min(wire_bytes_max(hop.limits)) as u64;
        let too_many = headers.len() > HEADER_LINES_MAX;
        let failure = if too_many { flood(hop.limits) } else { over_long(hop.limits) };
        return Err(HopFailure { wire_bytes, ..failure });
    }
    let body = response.into_body();
    let length = if body.is_end_stream() { Some(0) } else { said_length(&headers) };
    let room = wire_bytes_max(hop.limits) - response_head.len().min(wire_bytes_max(hop.limits));
    let (intake, taken, stop) = match unwanted(&headers, length, asked) {
        Some(stop) => {
            let whole = hop.drain(body, length, room).await;
            let taken = Taken { whole, ..Taken::default() };
            (None, taken, Some(stop))
        }
        None => {
            let mut intake = Intake::new(&headers, false, length, hop.limits);
            let (taken, stop) = hop.body(body, &mut intake, room).await;
            (Some(intake), taken, stop)
        }
    };
    let sent = hop.wire.meter.lock().sent_at;
    let played = hop.played;
    let line = hop.line(taken.whole).await;
    let abused = taken.abused.then_some("frames without content").or(played).map(abuse);
    let (wire_body, entity, body, stopped, met) = match intake {
        None => (Bytes::new(), Bytes::new(), Bytes::new(), stop, None),
        Some(intake) => {
            let bodies = intake.finish(taken.bytes.freeze(), stop);
            (bodies.wire_body, bodies.entity, bodies.body, bodies.stopped, bodies.met)
        }
    };
    let met = abused.or(met).into_iter().collect();
    Ok(Answer {
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
        first_byte: sent.map_or(Duration::ZERO, |sent| head_at - sent),
        download: taken.last_at.map_or(Duration::ZERO, |last| last - head_at),
        line,
        protocol: Protocol::Http2,
    })
}

struct Hop<'a> {
    wire: Wire,
    limits: &'a FetchLimits,
    budget: &'a BodyBudget,
    end: Instant,
    sleep: Pin<&'a mut Sleep>,
    /// The game with frames over which we ended the connection while the body came.
    played: Option<&'static str>,
}

/// What came of a body.
#[derive(Default)]
struct Taken {
    bytes: BytesMut,
    last_at: Option<Instant>,
    /// To its end.
    whole: bool,
    /// More came over the connection than any body with its framing.
    abused: bool,
}

impl Hop<'_> {
    async fn head(
        &mut self,
        request: Request<()>,
        post: Bytes,
    ) -> Result<Response<RecvStream>, HopFailure> {
        let due = Instant::now() + self.limits.first_byte;
        self.wire.meter.lock().begin(head_bytes_max(self.limits) + FRAMING_BYTES_MAX);
        // What is found dead here has not seen the request.
        let dead = |failure: HopFailure| HopFailure { unsent: failure.unanswered, ..failure };
        self.ready(due).await.map_err(dead)?;
        let sent = self.wire.sender.send_request(request, post.is_empty());
        let (answer, mut body) = sent.map_err(|error| self.broken(&error))?;
        if !post.is_empty() {
            body.send_data(post, true).map_err(|error| self.broken(&error))?;
        }
        self.response(answer, due).await
    }

    /// The server may have closed the connection while it rested, or let nobody in.
    async fn ready(&mut self, due: Instant) -> Result<(), HopFailure> {
        poll_fn(|cx| {
            let over = self.wire.drive(cx);
            match self.wire.sender.poll_ready(cx) {
                Poll::Ready(Ok(())) if !over => Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => Poll::Ready(Err(self.broken(&error))),
                _ => self.stopped(cx, over, due).map(Err),
            }
        })
        .await
    }

    async fn response(
        &mut self,
        mut answer: ResponseFuture,
        due: Instant,
    ) -> Result<Response<RecvStream>, HopFailure> {
        let mut interims = 0;
        poll_fn(|cx| {
            let over = self.wire.drive(cx);
            while let Poll::Ready(Some(Ok(_))) = answer.poll_informational(cx) {
                interims += 1;
                if interims > INTERIMS_MAX {
                    return Poll::Ready(Err(interim_flood()));
                }
            }
            match Pin::new(&mut answer).poll(cx) {
                Poll::Ready(Ok(response)) => Poll::Ready(Ok(response)),
                Poll::Ready(Err(error)) => Poll::Ready(Err(self.broken(&error))),
                Poll::Pending => self.stopped(cx, over, due).map(Err),
            }
        })
        .await
    }

    /// Whether there is no head to wait for any more.
    fn stopped(&mut self, cx: &mut Context<'_>, over: bool, due: Instant) -> Poll<HopFailure> {
        if self.wire.meter.lock().full {
            return Poll::Ready(abusive("too much came before the head"));
        }
        if self.late(cx, due) {
            let detail = match Instant::now() >= self.end {
                true => format!("no complete headers within {:?}", self.limits.total),
                false => format!("no answer within {:?}", self.limits.first_byte),
            };
            let met = Some(Met::new(Hazard::NoResponse, Measure::Truncated));
            let late = failure(FailureKind::Timeout, detail);
            return Poll::Ready(HopFailure { met, ..late });
        }
        if over {
            Poll::Ready(hung_up("the server hung up without an answer"))
        } else {
            Poll::Pending
        }
    }

    /// Whether `due` or the end of all has come; otherwise the task is woken then.
    fn late(&mut self, cx: &mut Context<'_>, due: Instant) -> bool {
        let due = due.min(self.end);
        if due != self.sleep.deadline() {
            self.sleep.as_mut().reset(due);
        }
        self.sleep.as_mut().poll(cx).is_ready()
    }

    fn broken(&self, error: &h2::Error) -> HopFailure {
        // A stream refused, or a connection given up: the server did nothing about the request (RFC 9113 section
        // 8.7), but it was sent, and counts as one for the delay.
        let refused = error.reason() == Some(h2::Reason::REFUSED_STREAM);
        if refused || error.is_go_away() && error.is_remote() || error.is_io() {
            return hung_up(&format!("the server ended the connection: {error}"));
        }
        if error.is_reset() && error.is_remote() {
            let detail = format!("the server broke off the response: {error}");
            return failure(FailureKind::Reset, detail);
        }
        let what = game(error).unwrap_or("frames out of order");
        HopFailure {
            met: Some(abuse(what)),
            ..bad_http(format!("the response is not valid HTTP/2: {error}"))
        }
    }

    /// At most `room` bytes are taken, exactly.
    async fn body(
        &mut self,
        mut body: RecvStream,
        intake: &mut Intake,
        room: usize,
    ) -> (Taken, Option<Stopped>) {
        self.wire.meter.lock().allow(framed_body_max(self.limits));
        let mut taken = Taken::default();
        let mut since = Instant::now();
        loop {
            let mut data = match poll_fn(|cx| self.poll_body(cx, &mut body, since)).await {
                Event::Data(data) => data,
                Event::End => {
                    taken.whole = true;
                    let stop = self.close(intake, &taken.bytes).await;
                    return (taken, stop);
                }
                Event::Broken => {
                    self.close(intake, &taken.bytes).await;
                    return (taken, Some(Stopped::Disconnect));
                }
                Event::Late => {
                    self.close(intake, &taken.bytes).await;
                    return (taken, Some(Stopped::Time));
                }
                Event::Full => {
                    taken.abused = true;
                    return (taken, Some(Stopped::Length));
                }
            };
            // A frame of nothing is no sign of life.
            if data.is_empty() {
                continue;
            }
            since = Instant::now();
            taken.last_at = Some(since);
            let over = data.len() > room - taken.bytes.len();
            data.truncate(room - taken.bytes.len());
            taken.bytes.extend_from_slice(&data);
            let mut took = intake.take(&data);
            if took == Took::NeedsMemory {
                let Some(then) = self.wait_for_memory(intake, &taken.bytes).await else {
                    return (taken, Some(Stopped::Time));
                };
                took = then;
                since = Instant::now();
            }
            if took == Took::Full || over {
                return (taken, Some(Stopped::Length));
            }
        }
    }

    /// Nothing more comes.
    async fn close(&mut self, intake: &mut Intake, entity: &[u8]) -> Option<Stopped> {
        let took = match intake.close() {
            Took::NeedsMemory => self.wait_for_memory(intake, entity).await,
            took => Some(took),
        };
        match took {
            None => Some(Stopped::Time),
            Some(Took::Full) => Some(Stopped::Length),
            Some(_) => None,
        }
    }

    /// `None` when there was none in time. The time it takes is ours, not the server's.
    async fn wait_for_memory(&mut self, intake: &mut Intake, entity: &[u8]) -> Option<Took> {
        let began = Instant::now();
        let reserving = self.budget.reserve(intake.memory_needed(), self.limits.total);
        let reservation = reserving.await?;
        self.end += began.elapsed();
        Some(intake.go_on(reservation, entity))
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        body: &mut RecvStream,
        since: Instant,
    ) -> Poll<Event<Bytes>> {
        let over = self.wire.drive(cx);
        match body.poll_data(cx) {
            Poll::Ready(None) => return Poll::Ready(Event::End),
            Poll::Ready(Some(Err(error))) => {
                self.played = game(&error).filter(|_| error.is_library());
                return Poll::Ready(Event::Broken);
            }
            Poll::Ready(Some(Ok(data))) => {
                // What was taken may be sent again; it fails only where there is nothing to wait for.
                let _ = body.flow_control().release_capacity(data.len());
                return Poll::Ready(Event::Data(data));
            }
            Poll::Pending => {}
        }
        if self.wire.meter.lock().full {
            return Poll::Ready(Event::Full);
        }
        if self.late(cx, since + self.limits.idle) {
            return Poll::Ready(Event::Late);
        }
        if over { Poll::Ready(Event::Broken) } else { Poll::Pending }
    }

    /// Reads an unwanted body away when it is small; true when it came to its end.
    async fn drain(&mut self, mut body: RecvStream, length: Option<u64>, room: usize) -> bool {
        let small = |length: &u64| *length <= DRAIN_BYTES_MAX && *length <= room as u64;
        if length.filter(small).is_none() {
            return false;
        }
        self.wire.meter.lock().allow(DRAIN_BYTES_MAX as usize + FRAMING_BYTES_MAX);
        self.end = self.end.min(Instant::now() + DRAIN_TIME);
        loop {
            let since = Instant::now();
            match poll_fn(|cx| self.poll_body(cx, &mut body, since)).await {
                Event::Data(_) => {}
                Event::End => return true,
                Event::Broken | Event::Full | Event::Late => return false,
            }
        }
    }

    /// The line, when another request can go over it: with the answer whole, nothing is left of it.
    async fn line(mut self, whole: bool) -> Option<Line> {
        let rests = whole && poll_fn(|cx| self.wire.rests(cx)).await;
        rests.then(|| Line::Two(Box::new(self.wire)))
    }
}

/// HTTP/2 names the server in the URL and has no fields about the connection.
fn translated(
    request: Request<Bytes>,
    asked: &FetchRequest,
) -> Result<(Request<()>, Bytes), HopFailure> {
    let uri: Result<Uri, _> = asked.url.as_str().parse();
    let uri = uri.map_err(|error| bad_http(format!("the URL cannot be asked for: {error}")))?;
    let (mut parts, body) = request.into_parts();
    parts.uri = uri;
    parts.version = Version::HTTP_2;
    parts.headers.remove(header::HOST);
    Ok((Request::from_parts(parts, ()), body))
}

fn said_length(headers: &Headers) -> Option<u64> {
    headers.get("content-length")?.parse().ok()
}

fn hung_up(detail: &str) -> HopFailure {
    HopFailure { unanswered: true, ..failure(FailureKind::Reset, detail.to_owned()) }
}

/// What no server sends that means to answer; other errors in frames may be mistakes.
fn game(error: &h2::Error) -> Option<&'static str> {
    match error.reason()? {
        h2::Reason::ENHANCE_YOUR_CALM => Some("frames that only cost"),
        h2::Reason::FLOW_CONTROL_ERROR => Some("more than the window"),
        _ => None,
    }
}

/// Frames that no client needs.
fn abuse(what: &'static str) -> Met {
    Met::new(Hazard::Http2Abuse, Measure::Refused).of(what)
}

fn abusive(what: &'static str) -> HopFailure {
    HopFailure { met: Some(abuse(what)), ..bad_http(what.to_owned()) }
}
