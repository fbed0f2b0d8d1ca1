//! What the targets share: their entry, a limit on processor time, inputs made long, and an exchange around bytes.
//!
//! Time is that of the processor, not of the wall: a fuzzer runs beside others, and an input is slow by
//! what it makes us do. The instrumented code is several times slower than what people run, so the limit
//! is stricter than it looks.

use std::time::Duration;

use bytes::Bytes;
use model::{CrawlUrl, Exchange, Headers, Protocol, Purpose, Stopped, Timestamp, Timing};
use rustix::time::{ClockId, clock_gettime};

/// What a target does with an input. Without the fuzzer it does so with the files it is given.
#[macro_export]
macro_rules! target {
    (|$data:ident: &[u8]| $body:block) => {
        fn take($data: &[u8]) $body

        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| take(data));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            $crate::replay(take)
        }
    };
}

/// What one input may cost.
const CPU_MAX: Duration = Duration::from_secs(1);
/// How long an input is made by [`lengthened`]: enough that anything quadratic is over the limit.
const LONG: usize = 256 << 10;

/// Runs `work`; panics when it takes more than a second of processor time.
pub fn timed<T>(work: impl FnOnce() -> T) -> T {
    let before = cpu();
    let done = work();
    let took = cpu().saturating_sub(before);
    assert!(took <= CPU_MAX, "slow input: {took:?} of processor time");
    done
}

/// Takes the inputs that lie in the files named on the command line.
pub fn replay(take: fn(&[u8])) -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        take(&std::fs::read(path)?);
    }
    Ok(())
}

/// Some inputs (one in sixteen by its last byte) are repeated until they are long, so that what grows faster
/// than its input is found although the fuzzer likes short ones.
pub fn lengthened(data: &[u8]) -> Vec<u8> {
    match data.split_last() {
        Some((last, rest)) if last & 15 == 7 && !rest.is_empty() => {
            rest.repeat((LONG / rest.len()).max(1))
        }
        _ => data.to_vec(),
    }
}

/// Takes the first byte as a choice among `count`.
pub fn choice(data: &[u8], count: u8) -> (u8, &[u8]) {
    match data.split_first() {
        Some((first, rest)) => (first % count, rest),
        None => (0, data),
    }
}

/// An answer with this body, as if it had been fetched.
pub fn exchange(url: &CrawlUrl, status: u16, headers: Headers, body: Bytes) -> Exchange {
    Exchange {
        url: url.clone(),
        purpose: Purpose::Page,
        started: Timestamp(1_760_000_000_000),
        address: None,
        request_head: Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n"),
        response_head: Bytes::from_static(b"HTTP/1.1 200 OK\r\n\r\n"),
        status,
        headers,
        wire_body: body.clone(),
        entity: body.clone(),
        body,
        stopped: None::<Stopped>,
        met: Vec::new(),
        timing: Timing::default(),
        protocol: Protocol::Http1,
    }
}

/// A URL the targets stand on.
pub fn here() -> CrawlUrl {
    CrawlUrl::parse("http://www.example.org/a/b?c=d").expect("a valid URL")
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
