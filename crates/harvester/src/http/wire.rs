//! A wire: one connection with hyper's HTTP/1.1 on it and the tape under it.
//!
//! The connection is polled by whoever uses the wire, in the same task as the exchange: no task of its
//! own, no waking across tasks. At rest in the pool nobody polls it; what the server did meanwhile
//! (hung up, sent something unasked) is found at the next use, before anything is sent.

use std::{
    future::Future,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::http1::{Builder, Connection, SendRequest},
};

use super::{
    connect::Connected,
    tape::{SharedTape, Teed},
};

/// hyper's smallest buffer.
const BUFFER_BYTES_MIN: usize = 8 * 1024;
/// Lines in a head: twice what the largest honest sites send.
pub const HEADER_LINES_MAX: usize = 256;

pub struct Wire {
    sender: SendRequest<Full<Bytes>>,
    connection: Connection<Teed, Full<Bytes>>,
    pub tape: SharedTape,
    pub address: Option<IpAddr>,
    /// A request went over it before.
    used: bool,
    /// hyper is done with it.
    ended: bool,
}

impl Wire {
    pub async fn open(connected: Connected, head_bytes_max: usize) -> Result<Wire, hyper::Error> {
        let tape = SharedTape::default();
        let (sender, connection) = Builder::new()
            // What browsers take from real servers, we take too.
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .title_case_headers(true)
            .writev(false)
            .max_headers(HEADER_LINES_MAX)
            .max_buf_size(head_bytes_max.max(BUFFER_BYTES_MIN))
            .handshake(Teed::new(connected.stream, tape.clone()))
            .await?;
        Ok(Wire { sender, connection, tape, address: connected.address, used: false, ended: false })
    }

    /// Begins a new tape, on which no more than `received_max` bytes come before a whole head; `exact`
    /// where not a byte more may be read either.
    pub fn send(
        &mut self,
        received_max: usize,
        exact: bool,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + use<> {
        self.tape.lock().begin(received_max, exact, self.used);
        self.used = true;
        self.sender.send_request(request)
    }

    /// Moves bytes in both directions as far as they go; true when the connection is over.
    pub fn drive(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.ended {
            self.ended = Pin::new(&mut self.connection).poll(cx).is_ready();
        }
        self.ended
    }

    /// Whether another request can go over it: the answer is through and nothing came after it.
    pub fn rests(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let over = self.drive(cx);
        Poll::Ready(!over && self.sender.is_ready() && self.tape.lock().waiting() == 0)
    }

    /// Gives the connection up; how many bytes came after what hyper took for the answer.
    pub fn close(self) -> usize {
        let waiting = self.tape.lock().waiting();
        self.connection.into_parts().read_buf.len() + waiting
    }
}
