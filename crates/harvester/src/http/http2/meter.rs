//! How much came over a connection, and when something was sent.
//!
//! When more came than may, reading stops and says so ([`Meter::full`]); whoever runs the exchange then
//! ends it.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

use super::super::stream::Stream;

#[derive(Debug, Default)]
pub struct Meter {
    received: usize,
    received_max: usize,
    pub full: bool,
    /// The first write since the meter was set: that of the request.
    pub sent_at: Option<Instant>,
}

impl Meter {
    /// From now on this much more may come.
    pub fn allow(&mut self, more: usize) {
        self.received_max = self.received.saturating_add(more);
        self.full = false;
    }

    pub fn begin(&mut self, more: usize) {
        *self = Meter { received_max: more, ..Meter::default() };
    }
}

/// One handle for the connection, one for whoever runs the exchange; never contended.
#[derive(Clone, Debug, Default)]
pub struct SharedMeter(Arc<Mutex<Meter>>);

impl SharedMeter {
    pub fn lock(&self) -> MutexGuard<'_, Meter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Metered {
    stream: Stream,
    meter: SharedMeter,
}

impl Metered {
    pub fn new(stream: Stream, meter: SharedMeter) -> Metered {
        Metered { stream, meter }
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let shared = self.meter.clone();
        let mut meter = shared.lock();
        if meter.received > meter.received_max {
            meter.full = true;
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        match ready!(Pin::new(&mut self.stream).poll_read(cx, buffer)) {
            // TLS closed without saying so, as many servers do; a stream shows whether it is whole.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
            Ok(()) => {
                meter.received += buffer.filled().len() - before;
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.meter.lock().sent_at.get_or_insert_with(Instant::now);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
