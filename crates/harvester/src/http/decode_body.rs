//! The content coding of an exchange that was archived: undone after the fact.

use bytes::Bytes;
use model::{Exchange, Stopped};

use super::decode::{Decoder, Flow, codings_of};

/// What is read back from our own volumes was within its ratio when it was fetched.
const RATIO_MAX: u32 = u32::MAX;

/// Makes `body` of `entity`, as the fetcher does while it reads.
pub fn decode_body(exchange: &mut Exchange, body_bytes_max: u64) {
    let Some(codings) = codings_of(&exchange.headers) else {
        exchange.body = exchange.entity.clone();
        return;
    };
    let mut decoder = Decoder::new(&codings, body_bytes_max, RATIO_MAX);
    decoder.push(&exchange.entity);
    let decoded = decoder.finish(&exchange.entity);
    exchange.body = Bytes::from(decoded.body);
    if decoded.end != Flow::Go {
        exchange.stopped.get_or_insert(Stopped::Coding);
    }
}
