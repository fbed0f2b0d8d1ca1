//! `simweb`: the simulated web on loopback, for trying a crawler without harming anybody.

use std::{io::ErrorKind, net::SocketAddr};

use simweb::{PageCount, ServeOptions, WebOptions, serve_forever};

use super::Context;
use crate::cli::SimwebArgs;
use config::failure::{Exit, Failure};

pub fn run(_context: &Context, args: &SimwebArgs) -> Result<Exit, Failure> {
    let listen: SocketAddr = args.listen.parse().map_err(|_| {
        Failure::usage(
            format!("--listen {:?} is not an address with a port", args.listen),
            "write 127.0.0.1:8080, or port 0 for a free one",
        )
    })?;
    if !listen.ip().is_loopback() {
        return Err(Failure::usage(
            format!("--listen {listen} is not a loopback address"),
            "the simulated web is for this machine only: use 127.0.0.1",
        ));
    }
    let options = ServeOptions { web: web(args), port: listen.port(), ..ServeOptions::default() };
    let runtime = tokio::runtime::Runtime::new().map_err(|error| {
        Failure::fault(
            format!("cannot start: {error}"),
            "check the limits on open files and threads",
        )
    })?;
    runtime.block_on(serve_forever(options)).map_err(|error| trouble(listen, &error))?;
    Ok(Exit::Done)
}

fn web(args: &SimwebArgs) -> WebOptions {
    WebOptions {
        seed: args.seed,
        sites: args.sites as usize,
        pages: PageCount::Fixed(args.site_pages as usize),
        ..WebOptions::default()
    }
}

fn trouble(listen: SocketAddr, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AddrInUse => Failure::usage(
            format!("port {} is in use", listen.port()),
            "name another with --listen 127.0.0.1:PORT, or port 0 for a free one",
        ),
        _ => Failure::fault(
            format!("cannot serve on {listen}: {error}"),
            "name another address with --listen",
        ),
    }
}
