//! The framing of HTTP/1.1 held against hyper's, on answers of all kinds of damage, in pieces of any size.

use std::{
    future::Future,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Instant,
};

use bytes::Bytes;
use http_body_util::Empty;
use hyper::{
    Request,
    body::{Body as _, Incoming},
    client::conn::http1::{Builder, Connection, SendRequest},
    rt::{Read, ReadBufCursor, Write},
};
use model::Headers;
use proptest::prelude::*;

use crate::http::{
    body::Body,
    bounds::HEADER_LINES_MAX,
    chunks::Step,
    framing::{Framing, Said},
    head::HeadSeeker,
    lengths::{Lengths, lengths},
};

/// What is made of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// No good HTTP.
    Bad,
    /// Not all there.
    Partial,
    Answer {
        status: u16,
        body: Vec<u8>,
        end: End,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Whole { keeps: bool },
    Broken,
    Open,
}

/// The bytes, how many of them come at a time, and whether the server hangs up behind them.
#[derive(Clone, Debug)]
struct Delivery {
    bytes: Vec<u8>,
    pieces: Vec<usize>,
    closes: bool,
}

impl Delivery {
    /// Where the pieces end.
    fn ends(&self) -> Vec<usize> {
        let mut ends = vec![0];
        let mut at = 0;
        for piece in self.pieces.iter().cycle() {
            at = (at + piece).min(self.bytes.len());
            ends.push(at);
            if at == self.bytes.len() {
                break;
            }
        }
        ends
    }
}

fn ours(delivery: &Delivery) -> Outcome {
    let (bytes, mut ends) = (&delivery.bytes, delivery.ends().into_iter());
    let mut seeker = HeadSeeker::default();
    let mut received = 0;
    let head = loop {
        if let Some(head) = seeker.seek(&bytes[..received]) {
            break head;
        }
        match ends.next() {
            Some(end) => received = end,
            None => {
                return if Said::read(bytes).is_err() { Outcome::Bad } else { Outcome::Partial };
            }
        }
    };
    let Ok(Some(said)) = Said::read(&bytes[..head.end]) else { return Outcome::Bad };
    let meant = lengths(&Headers::parse(&bytes[head.clone()]));
    let Ok(framing) = said.framing(meant) else { return Outcome::Bad };
    let mut body = Body::new(framing, head.end);
    let (mut content, mut ended) = (Vec::new(), false);
    let end = loop {
        match body.next(&bytes[..received], ended) {
            Step::Data(data) => content.extend_from_slice(&bytes[data]),
            Step::End => {
                let keeps = said.keeps && !delivery.closes && framing != Framing::UntilClose;
                break End::Whole { keeps: keeps && body.at == bytes.len() };
            }
            Step::Broken => break End::Broken,
            Step::More => match ends.next() {
                Some(end) => received = end,
                None if delivery.closes => ended = true,
                None => break End::Open,
            },
        }
    };
    Outcome::Answer { status: said.status, body: content, end }
}

/// Hands hyper the bytes, once the request is written.
struct Mock {
    delivery: Delivery,
    ends: Vec<usize>,
    at: usize,
    asked: bool,
}

impl Read for Mock {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = self.delivery.bytes.len() - self.at;
        if !self.asked || rest == 0 && !self.delivery.closes {
            return Poll::Pending;
        }
        let next = self.ends.iter().copied().find(|end| *end > self.at).unwrap_or(self.at);
        let end = next.min(self.at + buffer.remaining());
        buffer.put_slice(&self.delivery.bytes[self.at..end]);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}

impl Write for Mock {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked = true;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

struct Theirs {
    sender: SendRequest<Empty<Bytes>>,
    connection: Connection<Mock, Empty<Bytes>>,
    over: bool,
    turns: usize,
}

impl Theirs {
    fn outcome(delivery: &Delivery) -> Outcome {
        // The head in one piece, as hyper judges half a head only now and then.
        let head = HeadSeeker::default().seek(&delivery.bytes);
        let head_end = head.map_or(delivery.bytes.len(), |head| head.end);
        let ends = delivery.ends().into_iter().filter(|end| *end >= head_end);
        let ends: Vec<usize> = [head_end].into_iter().chain(ends).collect();
        let turns = 16 + ends.len();
        let mock = Mock { delivery: delivery.clone(), ends, at: 0, asked: false };
        let cx = &mut Context::from_waker(Waker::noop());
        let shaking = Builder::new()
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .max_headers(HEADER_LINES_MAX)
            .handshake(mock);
        let Poll::Ready(Ok((sender, connection))) = pin!(shaking).poll(cx) else {
            panic!("a handshake without a word")
        };
        Theirs { sender, connection, over: false, turns }.answer(cx)
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        self.over = self.over || Pin::new(&mut self.connection).poll(cx).is_ready();
    }

    fn answer(mut self, cx: &mut Context<'_>) -> Outcome {
        let mut answer = pin!(self.sender.send_request(Request::new(Empty::new())));
        for _ in 0..self.turns {
            self.drive(cx);
            match answer.as_mut().poll(cx) {
                Poll::Ready(Ok(response)) => {
                    let status = response.status().as_u16();
                    let (body, end) = self.body(cx, response.into_body());
                    return Outcome::Answer { status, body, end };
                }
                Poll::Ready(Err(error)) if error.is_parse() => return Outcome::Bad,
                Poll::Ready(Err(_)) => return Outcome::Partial,
                Poll::Pending => {}
            }
        }
        Outcome::Partial
    }

    fn body(&mut self, cx: &mut Context<'_>, body: Incoming) -> (Vec<u8>, End) {
        let (mut body, mut content) = (pin!(body), Vec::new());
        let mut idle = 0;
        while idle < self.turns {
            self.drive(cx);
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    content.extend_from_slice(&frame.into_data().unwrap_or_default());
                }
                Poll::Ready(Some(Err(_))) => return (content, End::Broken),
                Poll::Ready(None) => {
                    self.drive(cx);
                    let keeps = !self.over && self.sender.is_ready();
                    return (content, End::Whole { keeps });
                }
                Poll::Pending => idle += 1,
            }
        }
        (content, End::Open)
    }
}

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(texts).prop_map(|text| text.as_bytes().to_vec())
}

fn head() -> impl Strategy<Value = Vec<u8>> {
    let first = one_of(&[
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 200 OK\r\n",
        "HTTP/1.1 404\n",
        "\r\n\nHTTP/1.1 200 \r\n",
        "HTTP/1.1 204 No\r\n",
        "HTTP/1.1 304 No\r\n",
        "HTTP/1.1 101 Go\r\n",
        "HTTP/1.1 099 x\r\n",
        "HTTP/1.1 2000 x\r\n",
        "HTTP/2.0 200 OK\r\n",
        "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK\r\n",
        "HTTP/1.1 103 Hint\r\nLink: x\r\n\r\n\r\nHTTP/1.0 200 OK\r\n",
    ]);
    let line = one_of(&[
        "A: b\r\n",
        "A: b\n",
        "Content-Length: 5\r\n",
        "content-length : 5\r\n",
        "Content-Length:\r\n 5\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: 0\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length: 5\u{1}\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, Chunked\r\n",
        "Transfer-Encoding: gzip,\r\n\tchunked\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: chun\u{e9}ked\r\n",
        "Transfer-Encoding:\r\n",
        "Connection: close\r\n",
        "Connection: a, Keep-Alive\r\n",
        "Connection: Close, keep-alive\r\n",
        " folded\r\n",
        "no colon\r\n",
        "bad\u{1}name: x\r\n",
        "A: \r b\r\n",
        "A: \0\r\n",
        ": empty\r\n",
    ]);
    (first, prop::collection::vec(line, 0..4), one_of(&["\r\n", "\r\n", "\r\n", "\n", ""]))
        .prop_map(|(first, lines, last)| [first, lines.concat(), last].concat())
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let part = one_of(&[
        "5\r\nhello\r\n",
        "1 \t;a=b\r\nx\r\n",
        "0A\r\n0123456789\r\n",
        "0\r\n\r\n",
        "000;x\r\n\r\n",
        "0\r\nA: b\r\n\r\n",
        "0\r\nA: b\r\nC:\r\n\r\n",
        "0\r\nno colon\r\n\r\n",
        "0\r\nA: b\r\n folded\r\n\r\n",
        "0\r\nA: b\n\nc\r\n\r\n",
        "1\nx\r\n",
        "1\r\nxy\r\n",
        "1\r\nx\n",
        "1;a\nb\r\nx\r\n",
        "11111111111111111\r\nx",
        "ffffffffffffffff\r\nx",
        "-1\r\n",
        "\r\n",
        "hello",
        "HTTP/1.1 200 OK\r\n\r\n",
    ]);
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

fn delivery() -> impl Strategy<Value = Delivery> {
    let byte = prop::sample::select(b"\r\n\0 \t:;,0159afxHT/.\x7f\xff".to_vec());
    let damage = prop::collection::vec((any::<prop::sample::Index>(), byte, 0..3u8), 0..3);
    let pieces = prop::collection::vec(1..40usize, 1..8);
    (head(), content(), damage, pieces, any::<bool>()).prop_map(
        |(head, content, damage, pieces, closes)| {
            let mut bytes = [head, content].concat();
            for (place, byte, how) in damage {
                let at = place.index(bytes.len() + 1);
                match how {
                    0 => bytes.insert(at, byte),
                    1 if at < bytes.len() => bytes[at] = byte,
                    _ => bytes.truncate(at),
                }
            }
            Delivery { bytes, pieces, closes }
        },
    )
}

/// Whether we mean to say the same. To us, lengths that are no number mean nothing, and `030` is not `30`; and what is
/// wrong with a head is said when it is whole, or will not be.
fn is_comparable(delivery: &Delivery) -> bool {
    let head = HeadSeeker::default().seek(&delivery.bytes);
    head.map_or(delivery.closes, |head| {
        lengths(&Headers::parse(&delivery.bytes[head])) == Lengths::Clear
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn answers_mean_what_they_mean_to_hyper(delivery in delivery()) {
        let found = ours(&delivery);
        if is_comparable(&delivery) {
            prop_assert_eq!(found, Theirs::outcome(&delivery), "{}", delivery.bytes.escape_ascii());
        }
    }

    #[test]
    fn answers_mean_the_same_in_any_pieces(
        delivery in delivery(),
        other in prop::collection::vec(1..40usize, 1..8),
    ) {
        let whole = Delivery { pieces: vec![usize::MAX / 2], ..delivery.clone() };
        let otherwise = Delivery { pieces: other, ..delivery.clone() };
        prop_assert_eq!(ours(&delivery), ours(&whole));
        prop_assert_eq!(ours(&otherwise), ours(&whole));
    }

    #[test]
    fn no_bytes_at_all_are_too_much(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        start in one_of(&["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]),
        pieces in prop::collection::vec(1..40usize, 1..8),
    ) {
        let delivery = Delivery { bytes: [start, bytes].concat(), pieces, closes: true };
        let found = ours(&delivery);
        if is_comparable(&delivery) {
            prop_assert_eq!(found, Theirs::outcome(&delivery));
        }
    }
}

#[test]
fn what_comes_byte_by_byte_is_looked_at_once() {
    let head = format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(50_000));
    let crumbs = "1;x\r\ny\r\n".repeat(4_000);
    let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{crumbs}");
    let plain = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(300_000));
    for text in [head, chunked, plain, "\r\n".repeat(150_000)] {
        let began = Instant::now();
        let delivery = Delivery { bytes: text.into_bytes(), pieces: vec![1], closes: false };
        ours(&delivery);
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }
}
