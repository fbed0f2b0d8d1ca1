//! What the fetcher promises, against servers of our own on loopback that misbehave in every way.

mod access;
mod bodies;
mod connections;
mod heads;
mod server;
mod tls;
