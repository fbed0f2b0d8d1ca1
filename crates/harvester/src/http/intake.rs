//! What is made of a body while it comes: chunks put together, codings undone, limits held.

use bytes::{Bytes, BytesMut};
use model::{FetchLimits, Hazard, Headers, Measure, Met, Stopped};

use super::decode::{Decoded, Decoder, Flow, codings_of};

/// What is made of a body while it comes.
pub struct Intake {
    /// Collected only where chunks have to be undone; else it is what is on the tape.
    unchunked: Option<BytesMut>,
    count: u64,
    decoder: Option<Decoder>,
    body_bytes_max: u64,
    /// The server said how long it is.
    announced: bool,
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
    pub fn new(headers: &Headers, chunked: bool, limits: &FetchLimits) -> Intake {
        let said = |name| headers.get(name).is_some();
        let decoder = codings_of(headers)
            .map(|codings| Decoder::new(&codings, limits.body_bytes_max, limits.ratio_max));
        Intake {
            unchunked: chunked.then(BytesMut::new),
            count: 0,
            decoder,
            body_bytes_max: limits.body_bytes_max,
            announced: said("content-length") && !said("transfer-encoding"),
        }
    }

    /// True when a size limit is reached.
    pub fn take(&mut self, data: &[u8]) -> bool {
        self.count += data.len() as u64;
        if let Some(unchunked) = &mut self.unchunked {
            unchunked.extend_from_slice(data);
        }
        // A broken coding does not end the reading: the archive keeps the body as it came.
        let full = self.decoder.as_mut().is_some_and(|decoder| decoder.push(data) == Flow::Full);
        full || self.count > self.body_bytes_max
    }

    pub fn finish(self, mut wire_body: Bytes, stop: Option<Stopped>) -> Bodies {
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
            Flow::Full => stop.or(Some(Stopped::Length)),
            Flow::Broken => stop.or(Some(Stopped::Coding)),
        };
        let met = match (stop, met) {
            // A stream that was cut by us or by the wire is not broken.
            (Some(_), Some(met)) if met.hazard == Hazard::BrokenCoding => None,
            (_, met) => met,
        };
        let met = met.or_else(|| over_long(stopped, self.announced));
        Bodies { wire_body, entity, body: snug(body), stopped, met }
    }
}

fn over_long(stopped: Option<Stopped>, announced: bool) -> Option<Met> {
    let hazard = if announced { Hazard::LargeBody } else { Hazard::EndlessBody };
    (stopped == Some(Stopped::Length)).then_some(Met::new(hazard, Measure::Cut))
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
