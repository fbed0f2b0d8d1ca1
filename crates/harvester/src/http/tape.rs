//! The tape: what really went over a connection for one request, byte for byte, and when.
//!
//! The request is on it beforehand and is written from it. What comes is read into one scratch buffer a thread, in
//! one large read, until the head is whole; then, where the head says how long the body is, straight into room of that
//! size, which becomes the body that is archived and read. The tape is bounded: when it is full, nothing more is
//! taken from the stream.

use std::{
    cell::RefCell,
    io,
    ops::Range,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{BufMut, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    time::Instant,
};

use super::{head::HeadSeeker, stream::Stream, written::Written};

/// One read takes at most this much: as large as loopback and TLS ever deliver at once.
const READ_BYTES: usize = 64 * 1024;
/// … and where there is room for all of a body, this much: a system may have megabytes of it, and memory for a long
/// body is asked for between two reads.
const ROOMY_READ_BYTES: usize = 256 * 1024;
/// Room behind a body of known length: what comes there should not have, and a read that does not fill its
/// room tells without another call of the system that there is no more.
const BEHIND_BYTES: usize = 64;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

pub struct Tape {
    request: Written,
    /// How much of it the stream has taken.
    written: usize,
    flushed: bool,
    received: BytesMut,
    received_max: usize,
    /// Not a byte more is taken from the stream than may be on the tape.
    exact: bool,
    /// There is room for all that is likely to come.
    roomy: bool,
    seeker: HeadSeeker,
    /// The final head, once it is all there.
    pub head: Option<Range<usize>>,
    pub sent_at: Option<Instant>,
    pub first_at: Option<Instant>,
    pub last_at: Option<Instant>,
}

impl Tape {
    /// No more than `received_max` bytes come before a whole head; `exact` where not a byte more may be read
    /// either.
    pub fn new(request: Written, received_max: usize, exact: bool) -> Tape {
        Tape {
            request,
            written: 0,
            flushed: false,
            received: BytesMut::new(),
            received_max,
            exact,
            roomy: false,
            seeker: HeadSeeker::default(),
            head: None,
            sent_at: None,
            first_at: None,
            last_at: None,
        }
    }

    pub fn received(&self) -> &[u8] {
        &self.received
    }

    /// Something was sent, and something came.
    pub fn is_answered(&self) -> bool {
        self.written > 0 && !self.received.is_empty()
    }

    pub fn is_sent(&self) -> bool {
        self.flushed
    }

    pub fn is_full(&self) -> bool {
        self.received.len() >= self.received_max
    }

    pub fn interims(&self) -> usize {
        self.seeker.interims
    }

    /// Looks at what has come: true when there is a whole head, or there can be none.
    pub fn seek(&mut self) -> bool {
        self.head = self.seeker.seek(&self.received);
        self.head.is_some() || !may_be_http(&self.received[self.seeker.start()..])
    }

    /// From now on this much may be on the tape.
    pub fn allow(&mut self, received_max: usize) {
        self.received_max = received_max;
    }

    /// This much is going to be on the tape.
    pub fn expect(&mut self, likely: usize) {
        if likely <= self.received.len() {
            return;
        }
        let likely = likely.saturating_add(BEHIND_BYTES).min(self.received_max);
        if likely > self.received.capacity() {
            // Not `reserve`, which may make twice the room.
            let mut roomy = BytesMut::with_capacity(likely);
            roomy.extend_from_slice(&self.received);
            self.received = roomy;
        }
        self.roomy = true;
    }

    /// What was written of the request's head.
    pub fn take_head_sent(&mut self) -> Bytes {
        let end = self.request.head_end.min(self.written);
        let mut bytes = std::mem::take(&mut self.request.bytes);
        // A form can be long, and is not to stay in memory with its head.
        if bytes.len() > self.request.head_end {
            return Bytes::copy_from_slice(&bytes[..end]);
        }
        bytes.truncate(end);
        Bytes::from(bytes)
    }

    /// The received bytes up to `end`, without holding much more memory than they need.
    pub fn take_received(&mut self, end: usize) -> Bytes {
        let mut received = std::mem::take(&mut self.received);
        received.truncate(end);
        let unused = received.capacity() - received.len();
        if unused > received.len() / 4 + 1024 {
            Bytes::copy_from_slice(&received)
        } else {
            received.freeze()
        }
    }

    /// Writes as much of the request as the stream takes.
    pub fn poll_send(&mut self, cx: &mut Context<'_>, stream: &mut Stream) -> Poll<io::Result<()>> {
        while let rest @ [_, ..] = &self.request.bytes[self.written..] {
            match ready!(Pin::new(&mut *stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
            self.sent_at = Some(Instant::now());
        }
        if !self.flushed {
            ready!(Pin::new(&mut *stream).poll_flush(cx))?;
            self.flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads once, unless the tape is full. Nothing more will come when nothing came.
    pub fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut Stream,
    ) -> Poll<io::Result<usize>> {
        if self.is_full() {
            return Poll::Pending;
        }
        let count = match ready!(self.poll_read(cx, stream)) {
            // TLS closed without saying so, as many servers do. A body with a length or chunks
            // shows by itself whether it is whole.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            read => read?,
        };
        if count > 0 {
            let now = Instant::now();
            self.first_at.get_or_insert(now);
            self.last_at = Some(now);
        }
        Poll::Ready(Ok(count))
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, stream: &mut Stream) -> Poll<io::Result<usize>> {
        let most = if self.exact { self.received_max - self.received.len() } else { READ_BYTES };
        let room = self.received.capacity() - self.received.len();
        if self.roomy && room > 0 {
            let most = if self.exact { most.min(room) } else { room.min(ROOMY_READ_BYTES) };
            let mut into = (&mut self.received).limit(most);
            return pin!(stream.read_buf(&mut into)).poll(cx);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(&mut scratch[..most.min(READ_BYTES)]);
            ready!(Pin::new(stream).poll_read(cx, &mut buffer))?;
            self.received.extend_from_slice(buffer.filled());
            Poll::Ready(Ok(buffer.filled().len()))
        })
    }
}

/// Whether this can be the beginning of an answer, which is worth waiting for the rest of.
fn may_be_http(received: &[u8]) -> bool {
    const START: &[u8] = b"HTTP/";
    let here = received.len().min(START.len());
    received[..here] == START[..here]
}
