//! A line to a server: one connection, whichever version of HTTP was agreed on.

use std::net::IpAddr;

use bytes::Bytes;
use http::Request;
use model::{FetchLimits, FetchRequest};
use tokio::time::{Instant, timeout_at};

use super::{
    budget::BodyBudget,
    connect::Connected,
    failure::HopFailure,
    hop::{self, Answer},
    http2,
    wire::Wire,
};

pub enum Line {
    One(Wire),
    /// Boxed: a line is moved from hand to hand, and whatever a visit holds is copied when the visit begins.
    Two(Box<http2::Wire>),
}

impl Line {
    /// `end` is when the whole fetch must be over.
    pub async fn open(
        connected: Connected,
        limits: &FetchLimits,
        end: Instant,
    ) -> Result<Line, String> {
        if !connected.stream.is_http2() {
            return Ok(Line::One(Wire::new(connected)));
        }
        match timeout_at(end, http2::Wire::open(connected, limits.head_bytes_max)).await {
            Ok(opened) => {
                opened.map(|wire| Line::Two(Box::new(wire))).map_err(|error| error.to_string())
            }
            Err(_) => Err("no HTTP/2 connection in time".to_owned()),
        }
    }

    /// The server; `None` behind a proxy.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Line::One(wire) => wire.address,
            Line::Two(wire) => wire.address,
        }
    }

    pub async fn run(
        self,
        request: Request<Bytes>,
        asked: &FetchRequest,
        budget: &BodyBudget,
        end: Instant,
    ) -> Result<Answer, HopFailure> {
        match self {
            Line::One(wire) => hop::run(wire, request, asked, budget, end).await,
            Line::Two(wire) => Box::pin(http2::run(*wire, request, asked, budget, end)).await,
        }
    }
}
