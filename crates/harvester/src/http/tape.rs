//! The tape: what really went over a connection, byte for byte.
//!
//! [`Teed`] stands between hyper and the stream (TCP, or TLS's plain side). It reads into one scratch
//! buffer a thread, in one large read where hyper would make several small ones, keeps the bytes on the
//! tape and hands hyper its copy. The tape is bounded: when it is full, reading stops and says so
//! ([`Tape::full`]); whoever runs the exchange then ends it. HTTP/1.1 is serial, so one tape a
//! connection, begun anew for each request, is enough.
//!
//! hyper gets an answer's head only when it is whole (or can be none): the tape judges it first. Lines of
//! `Content-Length` that say nothing go to hyper under another name, as it would refuse the answer for them.
//!
//! Before a request goes over a connection that has rested, the socket itself is asked whether anything
//! came meanwhile: the runtime may not have heard of it yet, and then a stray answer would be taken for
//! the answer to our request.

use std::{
    cell::RefCell,
    io,
    ops::Range,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

use super::{head::HeadSeeker, lengths::lines_without_meaning, stream::Stream};

/// One read takes at most this much: as large as loopback and TLS ever deliver at once.
const READ_BYTES: usize = 64 * 1024;
/// hyper doubles its buffer whenever a read fills it (8 KB at first), and keeps it while the connection rests. A body is
/// given to it in pieces that do not: they cost no call of the system.
const PIECE_BYTES: usize = 8 * 1024 - 1;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

#[derive(Debug, Default)]
pub struct Tape {
    sent: BytesMut,
    received: BytesMut,
    /// How much of `received` hyper has got.
    given: usize,
    received_max: usize,
    /// Not a byte more is taken from the stream than may be on the tape.
    exact: bool,
    /// Nothing must be there to read before the request is sent.
    must_be_quiet: bool,
    seeker: HeadSeeker,
    /// The final head, once it is all there.
    head: Option<Range<usize>>,
    /// Nothing is held back from hyper any more.
    judged: bool,
    /// Lines that hyper is not to understand.
    hidden: Vec<usize>,
    /// Bytes that nobody asked for were there before the request.
    pub stray: bool,
    pub full: bool,
    pub sent_at: Option<Instant>,
    pub first_at: Option<Instant>,
    pub last_at: Option<Instant>,
}

impl Tape {
    pub fn begin(&mut self, received_max: usize, exact: bool, must_be_quiet: bool) {
        *self = Tape { received_max, exact, must_be_quiet, ..Tape::default() };
    }

    pub fn sent(&self) -> &[u8] {
        &self.sent
    }

    pub fn received(&self) -> &[u8] {
        &self.received
    }

    /// Received, but not yet given to hyper.
    pub fn waiting(&self) -> usize {
        self.received.len() - self.given
    }

    /// The final head, when it is all there.
    pub fn head(&self) -> Option<Range<usize>> {
        self.head.clone()
    }

    pub fn interims(&self) -> usize {
        self.seeker.interims
    }

    /// From now on this much may be on the tape, and this much is likely to come.
    pub fn expect(&mut self, received_max: usize, likely: usize) {
        self.received_max = received_max;
        self.full = false;
        let more = likely.min(received_max).saturating_sub(self.received.len());
        self.received.reserve(more);
    }

    pub fn take_sent(&mut self) -> Bytes {
        std::mem::take(&mut self.sent).freeze()
    }

    /// The received bytes up to `end`, without holding much more memory than they need.
    pub fn take_received(&mut self, end: usize) -> Bytes {
        let mut received = std::mem::take(&mut self.received);
        self.given = 0;
        received.truncate(end);
        let unused = received.capacity() - received.len();
        if unused > received.len() / 4 + 1024 {
            Bytes::copy_from_slice(&received)
        } else {
            received.freeze()
        }
    }

    /// How much one read may take.
    fn room(&self) -> usize {
        match self.exact {
            true => (self.received_max - self.received.len()).min(READ_BYTES),
            false => READ_BYTES,
        }
    }

    /// Whether there is something that hyper may have.
    fn is_due(&mut self) -> bool {
        if !self.judged && self.waiting() > 0 {
            self.head = self.seeker.seek(&self.received);
            self.judged = self.head.is_some() || !may_be_http(&self.received);
            if let Some(head) = &self.head {
                let lines = lines_without_meaning(&self.received[head.clone()]);
                self.hidden = lines.into_iter().map(|line| head.start + line).collect();
            }
        }
        self.judged && self.waiting() > 0
    }

    fn give(&mut self, buffer: &mut ReadBufCursor<'_>) {
        let head = self.head.as_ref().map_or(0, |head| head.end.saturating_sub(self.given));
        let piece = PIECE_BYTES.max(head).min(buffer.remaining());
        let end = self.given + self.waiting().min(piece);
        while let Some(&line) = self.hidden.first().filter(|line| **line < end) {
            buffer.put_slice(&self.received[self.given..line]);
            buffer.put_slice(b"X");
            self.given = line + 1;
            self.hidden.remove(0);
        }
        buffer.put_slice(&self.received[self.given..end]);
        self.given = end;
    }

    fn note_read(&mut self, bytes: &[u8]) {
        let now = Instant::now();
        self.first_at.get_or_insert(now);
        self.last_at = Some(now);
        self.received.extend_from_slice(bytes);
    }

    fn note_written(&mut self, bytes: &[u8]) {
        self.sent_at = Some(Instant::now());
        self.sent.extend_from_slice(bytes);
    }
}

/// Whether this can be the beginning of an answer, which is worth waiting for the rest of.
fn may_be_http(received: &[u8]) -> bool {
    const START: &[u8] = b"HTTP/";
    let text = received.trim_ascii_start();
    let here = text.len().min(START.len());
    text[..here] == START[..here]
}

/// One handle for the connection, one for whoever runs the exchange; never contended.
#[derive(Clone, Debug, Default)]
pub struct SharedTape(Arc<Mutex<Tape>>);

impl SharedTape {
    pub fn lock(&self) -> MutexGuard<'_, Tape> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Teed {
    stream: Stream,
    tape: SharedTape,
}

impl Teed {
    pub fn new(stream: Stream, tape: SharedTape) -> Teed {
        Teed { stream, tape }
    }

    fn fill(&mut self, cx: &mut Context<'_>, tape: &mut Tape) -> Poll<io::Result<()>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(&mut scratch[..tape.room()]);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer)) {
                Ok(()) if buffer.filled().is_empty() => {}
                Ok(()) => tape.note_read(buffer.filled()),
                // TLS closed without saying so, as many servers do. A body with a length or chunks
                // shows by itself whether it is whole.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
            Poll::Ready(Ok(()))
        })
    }
}

impl Read for Teed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let shared = self.tape.clone();
        let mut tape = shared.lock();
        if std::mem::take(&mut tape.must_be_quiet) && !self.stream.is_quiet() {
            tape.stray = self.stream.has_stray_bytes();
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        while !tape.is_due() {
            if tape.received.len() >= tape.received_max {
                tape.full = true;
                return Poll::Pending;
            }
            let before = tape.received.len();
            ready!(self.fill(cx, &mut tape))?;
            if tape.received.len() == before {
                // The end: what there is goes to hyper as it is.
                tape.judged = true;
                break;
            }
        }
        tape.give(&mut buffer);
        Poll::Ready(Ok(()))
    }
}

impl Write for Teed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.tape.lock().note_written(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
