//! What is made of a body while it comes: chunks put together, codings undone, limits held.

use bytes::{Bytes, BytesMut};
use model::{FetchLimits, Hazard, Headers, Measure, Met, Stopped, limits::BODY_FREE_BYTES};

use super::{
    budget::Reservation,
    decode::{Decoded, Decoder, Flow, codings_of},
    engine::Coding,
};

/// What is made of a body while it comes.
pub struct Intake {
    /// Collected only where chunks have to be undone; else it is what is on the tape.
    unchunked: Option<BytesMut>,
    count: u64,
    codings: Option<Vec<Coding>>,
    decoder: Option<Decoder>,
    body_bytes_max: u64,
    ratio_max: u32,
    /// The server said how long it is.
    announced: bool,
    /// As it comes, where that is known.
    length: Option<u64>,
    reservation: Option<Reservation>,
}

/// What became of a piece of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    Go,
    /// A size limit is reached.
    Full,
    /// Nothing more may be taken before there is memory for it ([`Intake::go_on`]).
    NeedsMemory,
}

pub struct Bodies {
    pub wire_body: Bytes,
    pub entity: Bytes,
    pub body: Bytes,
    pub stopped: Option<Stopped>,
    pub met: Option<Met>,
}

impl Bodies {
    /// Nothing was taken of a body.
    pub fn none(stop: Stopped) -> Bodies {
        let (wire_body, entity, body) = (Bytes::new(), Bytes::new(), Bytes::new());
        Bodies { wire_body, entity, body, stopped: Some(stop), met: None }
    }
}

impl Intake {
    /// `length`: of the body as it comes, where that is known.
    pub fn new(
        headers: &Headers,
        chunked: bool,
        length: Option<u64>,
        limits: &FetchLimits,
    ) -> Intake {
        let said = |name| headers.get(name).is_some();
        let codings = codings_of(headers);
        let mut intake = Intake {
            unchunked: chunked.then(BytesMut::new),
            count: 0,
            codings,
            decoder: None,
            body_bytes_max: limits.body_bytes_max,
            ratio_max: limits.ratio_max,
            announced: said("content-length") && !said("transfer-encoding"),
            length,
            reservation: None,
        };
        intake.decoder = intake.decoder().map(|decoder| decoder.free_bytes(BODY_FREE_BYTES));
        intake
    }

    fn decoder(&self) -> Option<Decoder> {
        let codings = self.codings.as_ref()?;
        Some(Decoder::new(codings, self.body_bytes_max, self.ratio_max))
    }

    pub fn take(&mut self, data: &[u8]) -> Took {
        self.count += data.len() as u64;
        if let Some(unchunked) = &mut self.unchunked {
            unchunked.extend_from_slice(data);
        }
        let flow = self.decoder.as_mut().map_or(Flow::Go, |decoder| decoder.push(data));
        self.took(flow)
    }

    /// Nothing more comes.
    pub fn close(&mut self) -> Took {
        let flow = self.decoder.as_mut().map_or(Flow::Go, Decoder::close);
        self.took(flow)
    }

    fn took(&self, flow: Flow) -> Took {
        let copies = if self.unchunked.is_some() { 2 } else { 1 };
        let held = self.count.saturating_mul(copies);
        match flow {
            Flow::NeedsMemory => Took::NeedsMemory,
            Flow::Full => Took::Full,
            // A broken coding does not end the reading: the archive keeps the body as it came.
            Flow::Go | Flow::Broken if self.count > self.body_bytes_max => Took::Full,
            _ if self.reservation.is_none() && held > BODY_FREE_BYTES as u64 => Took::NeedsMemory,
            Flow::Go | Flow::Broken => Took::Go,
        }
    }

    /// All that the body may take, as it comes, without its framing and decoded, and as much again for whoever reads it.
    pub fn memory_needed(&self) -> u64 {
        let max = self.body_bytes_max;
        let wire = self.length.map_or(max.saturating_add(max / 8), |length| length.min(max));
        let (chunked, coded) = (self.unchunked.is_some(), self.codings.is_some());
        let copies = u64::from(chunked) + 2 * u64::from(coded);
        let read = if coded { 0 } else { wire };
        max.saturating_mul(copies).saturating_add(wire).saturating_add(read)
    }

    /// There is memory for all of it. `entity`: what was taken so far, but where chunks are undone, which is kept here.
    pub fn go_on(&mut self, reservation: Reservation, entity: &[u8]) -> Took {
        self.reservation = Some(reservation);
        let begins_again = self.decoder.as_ref().is_some_and(Decoder::needs_memory);
        if let Some(decoder) = self.decoder.as_mut().filter(|_| !begins_again) {
            decoder.free();
            return self.took(Flow::Go);
        }
        let mut decoder = self.decoder();
        let entity = self.unchunked.as_deref().unwrap_or(entity);
        let flow = decoder.as_mut().map_or(Flow::Go, |decoder| decoder.push(entity));
        self.decoder = decoder;
        self.took(flow)
    }

    pub fn finish(mut self, wire_body: Bytes, stop: Option<Stopped>) -> Bodies {
        let reservation = self.reservation.take();
        let bodies = self.bodies(wire_body, stop);
        let Some(reservation) = reservation else { return bodies };
        Bodies {
            wire_body: reservation.keep(bodies.wire_body),
            entity: reservation.keep(bodies.entity),
            body: reservation.keep(bodies.body),
            ..bodies
        }
    }

    fn bodies(self, mut wire_body: Bytes, stop: Option<Stopped>) -> Bodies {
        let most = usize::try_from(self.body_bytes_max).unwrap_or(usize::MAX);
        let entity = match self.unchunked {
            Some(unchunked) => unchunked.freeze(),
            None => {
                wire_body.truncate(most);
                wire_body.clone()
            }
        };
        let Some(decoder) = self.decoder else {
            let body = entity.slice(..entity.len().min(most));
            let met = over_long(stop, self.announced);
            return Bodies { wire_body, entity, body, stopped: stop, met };
        };
        let Decoded { body, end, met } = decoder.finish(&entity);
        let stopped = match end {
            Flow::Go => stop,
            Flow::Full | Flow::NeedsMemory => stop.or(Some(Stopped::Length)),
            Flow::Broken => stop.or(Some(Stopped::Coding)),
        };
        let met = match (stop, met) {
            // A stream that was cut by us or by the wire is not broken.
            (Some(_), Some(met)) if met.hazard == Hazard::BrokenEncoding => None,
            (_, met) => met,
        };
        let met = met.or_else(|| over_long(stopped, self.announced));
        Bodies { wire_body, entity, body: snug(body), stopped, met }
    }
}

fn over_long(stopped: Option<Stopped>, announced: bool) -> Option<Met> {
    let hazard = if announced { Hazard::LargeBody } else { Hazard::EndlessBody };
    (stopped == Some(Stopped::Length)).then_some(Met::new(hazard, Measure::Truncated))
}

/// What the wait for a body brought.
pub enum Event<D> {
    Data(D),
    End,
    Broken,
    Full,
    Late,
}

/// Bodies wait in queues: what they do not fill is given back.
fn snug(mut body: Vec<u8>) -> Bytes {
    if body.capacity() - body.len() > body.len() / 4 + 1024 {
        body.shrink_to_fit();
    }
    Bytes::from(body)
}
