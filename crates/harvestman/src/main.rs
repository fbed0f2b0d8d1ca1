//! The program `harvestman`: everything is in the library beside it, so that tests and benchmarks reach it.

use std::process::ExitCode;

/// Many short-lived buffers of uneven size come from every page; mimalloc gives them back to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    take_small_pages();
    take_long_turns();
    harvestman::commands::main()
}

/// The system gives a program that asks for a few bytes 2 MB at a time where it may, cleared whole. Bodies come and go
/// in all sizes, so that much of that is never used: a crawl of one site needs a third less memory without.
fn take_small_pages() {
    // Where it cannot be had, the crawl is larger and nothing else.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Every answer and every page that was read wakes a thread, which the system would let interrupt the one at work: on a
/// single core twice a page each way, with the caches turned over. A crawl wants its core for milliseconds at a time, and
/// none of its threads minds to wait for so long; its share of the processor stays what it is.
fn take_long_turns() {
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    // SAFETY: both calls touch nothing but the scheduling of this thread, and the parameters outlive the call.
    unsafe {
        // Whoever was given another policy (`chrt`) keeps it. Where it is refused, the crawl is slower and nothing else.
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            let parameters = libc::sched_param { sched_priority: 0 };
            libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters);
        }
    }
}
