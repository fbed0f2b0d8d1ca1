//! What becomes of an answer in the hands of a client with limits: how long it takes and how it ends.

use std::{io::Read, time::Duration};

use bytes::Bytes;
use flate2::read::GzDecoder;
use model::{FailureKind, FetchLimits, Headers, Stopped};

use crate::{Answer, Manner};

/// Bytes a microsecond on simulated lines: 10 MB/s.
const BYTES_PER_MICRO: u64 = 10;
/// Ratios only matter above this many decoded bytes, as the limits say.
const RATIO_FROM: u64 = 1_000_000;

pub(super) struct Course {
    pub first_byte: Duration,
    pub download: Duration,
    pub ending: Ending,
}

pub(super) enum Ending {
    Failure(FailureKind, &'static str),
    Answer(Answered),
}

pub(super) struct Answered {
    pub status: u16,
    pub head: Bytes,
    pub headers: Headers,
    pub wire_body: Bytes,
    pub entity: Bytes,
    pub body: Bytes,
    pub stopped: Option<Stopped>,
}

impl Course {
    pub fn total(&self) -> Duration {
        self.first_byte + self.download
    }

    pub fn wire_bytes(&self) -> usize {
        match &self.ending {
            Ending::Failure(..) => 0,
            Ending::Answer(answered) => answered.head.len() + answered.wire_body.len(),
        }
    }
}

pub(super) fn course(answer: Answer, limits: &FetchLimits) -> Course {
    let patience = limits.first_byte.min(limits.total);
    if answer.delay > patience || answer.manner == Manner::Silent {
        return failed(patience, FailureKind::Timeout, "no answer in time");
    }
    let delay = answer.delay;
    match answer.manner {
        Manner::Reset { after } if after < answer.head.len() => {
            return failed(delay, FailureKind::Reset, "connection reset before the head");
        }
        Manner::Flood => {
            return failed(delay, FailureKind::BadHttp, "the head is over the limit");
        }
        Manner::Drip { head: true, every, .. } => {
            let head_time = every.saturating_mul(answer.head.len() as u32);
            if delay + head_time > limits.total {
                return failed(limits.total, FailureKind::Timeout, "no whole head in time");
            }
        }
        _ => {}
    }
    if !answer.head.starts_with(b"HTTP/") {
        return failed(delay, FailureKind::BadHttp, "what came is not HTTP");
    }
    if answer.head.len() > limits.head_bytes_max {
        return failed(delay, FailureKind::BadHttp, "the head is over the limit");
    }
    answered(answer, limits)
}

fn failed(after: Duration, kind: FailureKind, detail: &'static str) -> Course {
    let ending = Ending::Failure(kind, detail);
    Course { first_byte: after, download: Duration::ZERO, ending }
}

fn answered(answer: Answer, limits: &FetchLimits) -> Course {
    let headers = Headers::parse(&answer.head);
    let announced: Option<u64> = headers.get("content-length").and_then(|n| n.parse().ok());
    let early = if !is_wanted(&headers, limits) { Some(Stopped::Type) } else { None };
    let (wire_body, download, cut) = match early {
        Some(_) => (Bytes::new(), Duration::ZERO, early),
        None => receive(&answer, announced, limits),
    };
    let entity = match headers.get("transfer-encoding") {
        Some(_) => dechunk(&wire_body),
        None => wire_body.clone(),
    };
    let (body, decoded) = decode(&entity, &headers, limits);
    let answered = Answered {
        status: answer.status,
        head: Bytes::from(answer.head),
        headers,
        wire_body,
        entity,
        body,
        // A body that was cut cannot be decoded to its end: the cut is the reason.
        stopped: cut.or(decoded),
    };
    Course { first_byte: answer.delay, download, ending: Ending::Answer(answered) }
}

fn is_wanted(headers: &Headers, limits: &FetchLimits) -> bool {
    let Some(media_type) = headers.get("content-type") else { return true };
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    limits.media_types.iter().any(|wanted| match wanted.strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => media_type.split('/').next() == Some(kind),
        None => *wanted == media_type,
    })
}

/// What comes over the wire before limits, time or the server end it.
fn receive(
    answer: &Answer,
    announced: Option<u64>,
    limits: &FetchLimits,
) -> (Bytes, Duration, Option<Stopped>) {
    let time_left = limits.total.saturating_sub(answer.delay);
    match answer.manner {
        Manner::Endless => {
            let copies = limits.body_bytes_max / answer.body.len().max(1) as u64 + 2;
            let wire = answer.body.repeat(copies as usize);
            let time = transfer(wire.len());
            (Bytes::from(wire), time, Some(Stopped::Length))
        }
        Manner::Drip { piece, every, head } => {
            let piece = if head { 1 } else { piece.max(1) };
            if every > limits.idle {
                return (Bytes::new(), limits.idle, Some(Stopped::Time));
            }
            let pieces = answer.body.len().div_ceil(piece) as u32;
            let whole = every.saturating_mul(pieces);
            if whole <= time_left {
                return (answer.body.clone(), whole, None);
            }
            let got = (time_left.as_nanos() / every.as_nanos().max(1)) as usize * piece;
            (answer.body.slice(..got.min(answer.body.len())), time_left, Some(Stopped::Time))
        }
        Manner::Reset { after } => {
            let got = after.saturating_sub(answer.head.len()).min(answer.body.len());
            (answer.body.slice(..got), transfer(got), Some(Stopped::Disconnect))
        }
        _ => {
            let here = answer.body.len();
            let length = announced.map_or(here, |length| (length as usize).min(here));
            let short = announced.is_some_and(|length| length > here as u64);
            let stopped = (short && answer.status != 304).then_some(Stopped::Disconnect);
            (answer.body.slice(..length), transfer(length), stopped)
        }
    }
}

fn transfer(bytes: usize) -> Duration {
    Duration::from_micros(bytes as u64 / BYTES_PER_MICRO)
}

fn dechunk(wire: &Bytes) -> Bytes {
    let mut entity = Vec::with_capacity(wire.len());
    let mut rest = &wire[..];
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size, 16).ok()).unwrap_or(0);
        let data = &rest[end + 2..];
        let here = size.min(data.len());
        entity.extend_from_slice(&data[..here]);
        if size == 0 || data.len() < size + 2 {
            break;
        }
        rest = &data[size + 2..];
    }
    Bytes::from(entity)
}

/// The decoded body within the limits, and what stopped it.
fn decode(entity: &Bytes, headers: &Headers, limits: &FetchLimits) -> (Bytes, Option<Stopped>) {
    let max = limits.body_bytes_max;
    let coding = headers.get("content-encoding").unwrap_or("identity");
    if coding == "identity" || entity.is_empty() {
        let over = entity.len() as u64 > max;
        let body = if over { entity.slice(..max as usize) } else { entity.clone() };
        return (body, over.then_some(Stopped::Length));
    }
    if coding != "gzip" {
        return (entity.clone(), Some(Stopped::Coding));
    }
    let by_ratio = (entity.len() as u64).saturating_mul(u64::from(limits.ratio_max));
    let max = max.min(by_ratio.max(RATIO_FROM));
    let mut body = Vec::new();
    let read = GzDecoder::new(&entity[..]).take(max + 1).read_to_end(&mut body);
    let stopped = match read {
        Err(_) => Some(Stopped::Coding),
        Ok(_) if body.len() as u64 > max => Some(Stopped::Length),
        Ok(_) => None,
    };
    body.truncate(max as usize);
    (Bytes::from(body), stopped)
}
