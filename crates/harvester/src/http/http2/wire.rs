//! A wire with HTTP/2 on it, polled by whoever uses it; at rest nobody polls it.

use std::{
    future::Future,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};

use super::meter::{Metered, SharedMeter};
use crate::http::{bounds::HEADER_LINES_MAX, connect::Connected};

/// What a server may send before we took it: 2 MB in eight round trips, and this much memory at most for
/// each visit under way.
const WINDOW_BYTES: u32 = 256 * 1024;
/// What a server may say before it is asked anything: its settings.
const GREETING_BYTES_MAX: usize = 64 * 1024;
/// Of streams we gave up, whose last frames may still come: there is one at a time.
const RESET_STREAMS_MAX: usize = 8;
/// A form's fields; a request has no other body.
const SEND_BYTES_MAX: usize = 64 * 1024;

pub struct Wire {
    pub sender: SendRequest<Bytes>,
    connection: Connection<Metered, Bytes>,
    pub meter: SharedMeter,
    pub address: Option<IpAddr>,
    /// The connection is over.
    ended: bool,
}

impl Wire {
    pub async fn open(connected: Connected, head_bytes_max: usize) -> Result<Wire, h2::Error> {
        let meter = SharedMeter::default();
        meter.lock().begin(GREETING_BYTES_MAX);
        let (sender, connection) = Builder::new()
            .enable_push(false)
            .initial_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_header_list_size(header_list_max(head_bytes_max))
            .max_concurrent_reset_streams(RESET_STREAMS_MAX)
            .max_send_buffer_size(SEND_BYTES_MAX)
            .handshake(Metered::new(connected.stream, meter.clone()))
            .await?;
        Ok(Wire { sender, connection, meter, address: connected.address, ended: false })
    }

    /// Moves bytes in both directions as far as they go; true when the connection is over.
    pub fn drive(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.ended {
            self.ended = Pin::new(&mut self.connection).poll(cx).is_ready();
        }
        self.ended
    }

    /// Whether another request can go over it.
    pub fn rests(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let over = self.drive(cx);
        let ready = matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(())));
        Poll::Ready(!over && ready && !self.meter.lock().full)
    }
}

/// RFC 9113 section 6.5.2 counts 32 bytes for each field beside its text.
fn header_list_max(head_bytes_max: usize) -> u32 {
    u32::try_from(head_bytes_max.saturating_add(32 * HEADER_LINES_MAX)).unwrap_or(u32::MAX)
}
