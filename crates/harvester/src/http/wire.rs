//! A wire: one connection on which HTTP/1.1 is spoken.
//!
//! It is read and written by whoever uses it, in the same task as the exchange. At rest in the pool it is a
//! socket and nothing else, and nobody looks at it; what the server did meanwhile (hung up, sent something
//! unasked) is found at the next use, before anything is sent.

use std::{
    io,
    net::IpAddr,
    task::{Context, Poll, Waker},
};

use super::{connect::Connected, stream::Stream, tape::Tape};

pub struct Wire {
    pub stream: Stream,
    pub address: Option<IpAddr>,
    /// A request went over it before.
    used: bool,
    /// The server answered in HTTP/1.0.
    pub old: bool,
}

impl Wire {
    pub fn new(connected: Connected) -> Wire {
        let Connected { stream, address, .. } = connected;
        Wire { stream, address, used: false, old: false }
    }

    /// Whether a request may go over it: nothing is there to read that nobody asked for. On a connection that
    /// has rested the socket itself is asked, as the runtime may not have heard of it yet, and then a stray answer
    /// would be taken for the answer to our request.
    pub fn begin(&mut self, tape: &mut Tape) -> io::Result<()> {
        let unasked = || Err(io::ErrorKind::ConnectionAborted.into());
        if std::mem::replace(&mut self.used, true) {
            return if self.stream.is_quiet() { Ok(()) } else { unasked() };
        }
        match tape.poll_fill(&mut Context::from_waker(Waker::noop()), &mut self.stream) {
            Poll::Pending => Ok(()),
            Poll::Ready(Ok(_)) => unasked(),
            Poll::Ready(Err(error)) => Err(error),
        }
    }

    /// Whether another request can go over it, when the answer is through: nothing came after it. What did is on
    /// the tape. Nobody is to be woken when something comes later.
    pub fn rests(&mut self, tape: &mut Tape) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        tape.is_sent() && tape.poll_fill(&mut cx, &mut self.stream).is_pending()
    }
}
