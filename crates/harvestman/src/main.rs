//! The program `harvestman`: everything is in the library beside it, so that tests and benchmarks reach it.

use std::process::ExitCode;

/// Many short-lived buffers of uneven size come from every page; mimalloc gives them back to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    take_small_pages();
    harvestman::commands::main()
}

/// The system gives a program that asks for a few bytes 2 MB at a time where it may, cleared whole. Bodies come and go
/// in all sizes, so that much of that is never used: a crawl of one site needs a third less memory without.
fn take_small_pages() {
    // Where it cannot be had, the crawl is larger and nothing else.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
