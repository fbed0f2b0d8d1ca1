//! What the hot functions cost, each beside the libraries that were not taken: `bench/micro` runs it and writes the
//! table. Rows that begin with `harvestman` are the crawler's own; a group asks all its rows to do the same work,
//! unless their names say otherwise.
//!
//! Pages are those of the other measurements, so that a figure here can be held against a page's cost there.

// divan finds its benchmarks by a section of the linker's, which counts as unsafe.
#![allow(unsafe_code)]

use std::time::Duration;

mod archive;
mod frontier;
mod hashes;
mod html;
mod language;
mod packing;
mod pages;
mod robots;
mod urls;
mod workbench;

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// For each benchmark: enough samples for a median that stands still.
const TIME: Duration = Duration::from_secs(2);

fn main() {
    pages::tell_makeup();
    packing::tell_ratios();
    divan::Divan::from_args().max_time(TIME).run_benches();
}
