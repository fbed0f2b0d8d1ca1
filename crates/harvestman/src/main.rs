//! The program `harvestman`: everything is in the library beside it, so that tests and benchmarks reach it.

use std::process::ExitCode;

/// Many short-lived buffers of uneven size come from every page; mimalloc gives them back to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    take_small_pages();
    take_long_turns();
    give_memory_back_soon();
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

/// The allocator keeps what was freed for a second before the system gets it back, in which a crawl frees some thousand
/// bodies: with five hundred sites a twentieth of all memory. 50 ms are long enough to be used again; much less
/// would have the system clear pages anew that are wanted at once, which some machines make dear.
fn give_memory_back_soon() {
    const OURS_MS: std::ffi::c_long = 50;
    #[allow(unsafe_code)]
    // SAFETY: a number in the allocator's table of settings, read and written before there are threads.
    unsafe {
        // A value from the environment (`MIMALLOC_PURGE_DELAY`) stays.
        if libmimalloc_sys::mi_option_get(PURGE_DELAY) == PURGE_DELAY_DEFAULT_MS {
            libmimalloc_sys::mi_option_set(PURGE_DELAY, OURS_MS);
        }
    }
}

/// `mi_option_purge_delay` of mimalloc.h, to which libmimalloc-sys gives no name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
const PURGE_DELAY_DEFAULT_MS: std::ffi::c_long = 1_000;

// The next one in mimalloc.h has a name: a version that numbers its settings otherwise does not compile.
const _: () = assert!(libmimalloc_sys::mi_option_use_numa_nodes == PURGE_DELAY + 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_of_the_allocator_is_the_delay_that_is_meant() {
        if std::env::var_os("MIMALLOC_PURGE_DELAY").is_some() {
            return;
        }
        #[allow(unsafe_code)]
        // SAFETY: it reads a number.
        let before = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(before, PURGE_DELAY_DEFAULT_MS, "another default would never be replaced");
        give_memory_back_soon();
        #[allow(unsafe_code)]
        // SAFETY: as above.
        let after = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(after, 50);
    }
}
