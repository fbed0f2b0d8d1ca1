//! One connection: requests in, answers out in the manner each asks for. Pipelined requests wait their turn.

use std::{io, net::IpAddr, ops::ControlFlow, time::Duration};

use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep_until},
};
use tokio_rustls::server::TlsStream;

use crate::{Answer, Arrival, Manner, OpenVisit};

use super::{Hall, control, request};

/// Longer request heads are not from a client of ours.
const HEAD_MAX: usize = 64 * 1024;

/// A stream that can be made to end in a reset.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {
    fn reset_when_closed(&self);
}

impl Wire for TcpStream {
    fn reset_when_closed(&self) {
        let _ = self.set_zero_linger();
    }
}

impl Wire for TlsStream<TcpStream> {
    fn reset_when_closed(&self) {
        let _ = self.get_ref().0.set_zero_linger();
    }
}

pub(super) async fn serve(
    mut stream: impl Wire,
    tls: bool,
    address: IpAddr,
    connection: u64,
    hall: &Hall,
) {
    let mut line = Line { buffer: BytesMut::with_capacity(8 * 1024), hold_max: hall.hold_max };
    while let Ok(Some(head)) = line.next_head(&mut stream).await {
        let Some(received) = request::read(&head, tls) else { return };
        if line.pass_over(&mut stream, received.body_bytes).await.is_err() {
            return;
        }
        if let Some(answer) = control::answer(&received.request, hall) {
            let mut bytes = Buf::chain(&answer.head[..], &answer.body[..]);
            if stream.write_all_buf(&mut bytes).await.is_err() {
                return;
            }
            continue;
        }
        let at = (hall.now)();
        let mut visit = hall.log.open(&received.request, Arrival { at, connection, address });
        // Whatever else has come meanwhile is noted before this one is worked on: a moment that is written down
        // late makes two visits look closer than they were.
        tokio::task::yield_now().await;
        let answer = hall.web.answer(&received.request, at);
        let next = line.send(&mut stream, answer, &mut visit).await;
        drop(visit);
        if received.close || !matches!(next, Ok(ControlFlow::Continue(()))) {
            return;
        }
    }
}

/// What has come and was not read yet.
struct Line {
    buffer: BytesMut,
    hold_max: Duration,
}

impl Line {
    /// The next request head, empty line included; `None` when the client is done.
    async fn next_head(&mut self, stream: &mut impl Wire) -> io::Result<Option<BytesMut>> {
        let mut searched = 0;
        loop {
            if let Some(at) = find_end(&self.buffer[searched..]) {
                return Ok(Some(self.buffer.split_to(searched + at)));
            }
            searched = self.buffer.len().saturating_sub(3);
            if self.buffer.len() > HEAD_MAX || stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    async fn pass_over(&mut self, stream: &mut impl Wire, bytes: usize) -> io::Result<()> {
        let mut left = bytes;
        loop {
            let here = left.min(self.buffer.len());
            self.buffer.advance(here);
            left -= here;
            if left == 0 {
                return Ok(());
            }
            if stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Whether the connection may be used again.
    async fn send(
        &mut self,
        stream: &mut impl Wire,
        answer: Answer,
        visit: &mut OpenVisit,
    ) -> io::Result<ControlFlow<()>> {
        if !answer.delay.is_zero() {
            self.wait(stream, answer.delay).await?;
        }
        visit.answered(&answer);
        match answer.manner {
            Manner::Whole => {
                whole(stream, &answer, visit).await?;
                return Ok(ControlFlow::Continue(()));
            }
            Manner::Twice => {
                whole(stream, &answer, visit).await?;
                whole(stream, &answer, visit).await?;
                return Ok(ControlFlow::Continue(()));
            }
            Manner::Hangup => {
                whole(stream, &answer, visit).await?;
                stream.shutdown().await?;
            }
            Manner::Silent => self.wait(stream, self.hold_max).await?,
            Manner::Reset { after } => self.reset(stream, &answer, after, visit).await?,
            Manner::Drip { head, piece, every } => {
                self.drip(stream, &answer, (head, piece, every), visit).await?;
                return Ok(ControlFlow::Continue(()));
            }
            Manner::Endless => {
                stream.write_all(&answer.head).await?;
                self.repeat(stream, visit, |_| answer.body.to_vec()).await?;
            }
            Manner::Flood => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
                let line = |k| format!("X-Flood-{k}: {}\r\n", "flood ".repeat(20)).into_bytes();
                self.repeat(stream, visit, line).await?;
            }
        }
        Ok(ControlFlow::Break(()))
    }

    /// Waits, but not for a client that has gone: its end is then the request's end.
    async fn wait(&mut self, stream: &mut impl Wire, span: Duration) -> io::Result<()> {
        let until = Instant::now() + span.min(self.hold_max);
        loop {
            tokio::select! {
                () = sleep_until(until) => return Ok(()),
                read = stream.read_buf(&mut self.buffer), if self.buffer.len() < HEAD_MAX => {
                    if read? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
        }
    }

    async fn reset(
        &mut self,
        stream: &mut impl Wire,
        answer: &Answer,
        after: usize,
        visit: &mut OpenVisit,
    ) -> io::Result<()> {
        if after > 0 {
            let bytes = [&answer.head[..], &answer.body[..]].concat();
            stream.write_all(&bytes[..after.min(bytes.len())]).await?;
            stream.flush().await?;
            visit.sent(after);
            // A reset overtakes what the client has not read yet.
            self.wait(stream, Duration::from_millis(50)).await?;
        }
        stream.reset_when_closed();
        Ok(())
    }

    async fn drip(
        &mut self,
        stream: &mut impl Wire,
        answer: &Answer,
        (head_too, piece, every): (bool, usize, Duration),
        visit: &mut OpenVisit,
    ) -> io::Result<()> {
        let began = Instant::now();
        if !head_too {
            stream.write_all(&answer.head).await?;
            visit.sent(answer.head.len());
        }
        let dripped = if head_too { &answer.head[..] } else { &[] };
        for part in dripped.chunks(1).chain(answer.body.chunks(piece.max(1))) {
            self.wait(stream, every).await?;
            stream.write_all(part).await?;
            stream.flush().await?;
            visit.sent(part.len());
            if began.elapsed() > self.hold_max {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    async fn repeat(
        &mut self,
        stream: &mut impl Wire,
        visit: &mut OpenVisit,
        piece: impl Fn(u64) -> Vec<u8>,
    ) -> io::Result<()> {
        let until = Instant::now() + self.hold_max;
        let mut count = 0;
        while Instant::now() < until {
            let bytes = piece(count);
            tokio::time::timeout_at(until, stream.write_all(&bytes)).await??;
            visit.sent(bytes.len());
            count += 1;
        }
        Ok(())
    }
}

/// Head and body in one vectored write where the socket takes it.
async fn whole(stream: &mut impl Wire, answer: &Answer, visit: &mut OpenVisit) -> io::Result<()> {
    let mut bytes = Buf::chain(&answer.head[..], &answer.body[..]);
    let count = bytes.remaining();
    stream.write_all_buf(&mut bytes).await?;
    visit.sent(count);
    stream.flush().await
}

fn find_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}
