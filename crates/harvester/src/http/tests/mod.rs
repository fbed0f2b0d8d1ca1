//! What the fetcher promises, against servers of our own on loopback that misbehave in every way.

mod access;
mod against_hyper;
mod authority;
mod bodies;
mod connections;
mod hazards;
mod heads;
mod http2;
mod server;
mod spellings;
mod tls;
