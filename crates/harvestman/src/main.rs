//! The program `harvestman`: everything is in the library beside it, so that tests and benchmarks reach it.

use std::process::ExitCode;

/// Many short-lived buffers of uneven size come from every page; mimalloc gives them back to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    harvestman::commands::main()
}
