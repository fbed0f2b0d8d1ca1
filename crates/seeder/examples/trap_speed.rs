//! What the traps of a site cost, by the link: on a site of which nothing is known, and on one with as many
//! patterns as are noted, some of them stopped. Where the system tells it, the time of the processor is counted, so
//! that a busy machine tells the same. `cargo run --release -p seeder --example trap_speed`

use std::{fs, hint::black_box, time::Instant};

use model::{CrawlUrl, Hazard, PatternNote, Stop, Timestamp, UrlTraps};
use seeder::traps::{TrapRules, Worn, note_taken, objection_to, pattern::Pattern};

const ROUNDS: usize = 200;

fn main() {
    let urls: Vec<CrawlUrl> =
        (0..1_000).filter_map(|n| CrawlUrl::parse(&address(n)).ok()).collect();
    report("a site without traps", &urls, UrlTraps::default());
    let patterns = (0..64).map(|n| note(n, if n % 8 == 0 { Some(stop()) } else { None })).collect();
    report("64 patterns, 8 of them stopped", &urls, UrlTraps { patterns, ..UrlTraps::default() });
}

fn address(n: usize) -> String {
    match n % 3 {
        0 => format!("http://www.a.example/shop/things/{n}/a-thing-of-the-shop"),
        1 => format!("http://www.a.example/list?page={n}&sort=price&dir=up"),
        _ => format!("http://www.a.example/2026/11/{}/what-happened-then.html", n % 30),
    }
}

fn note(n: u32, stopped: Option<Stop>) -> PatternNote {
    let text = format!("/part-{}/*", "x".repeat(n as usize));
    PatternNote { text, near: 12, stopped: stopped.map(Box::new), ..PatternNote::default() }
}

fn stop() -> Stop {
    let (examples, referrers) = (Vec::new(), Vec::new());
    let (hazard, since) = (Hazard::Counter, Timestamp(0));
    Stop { hazard, since, taken: 9, refused: 0, held_back: 0, examples, referrers, all: false }
}

fn report(what: &str, urls: &[CrawlUrl], mut traps: UrlTraps) {
    let rules = TrapRules::default();
    let asked =
        each(urls, |url| drop(black_box(objection_to(url, Some(7), &traps, &rules, false))));
    let near = each(urls, |url| {
        let worn = Worn::of(&traps, 100, 10);
        black_box(worn.and_then(|worn| worn.objection(url)));
    });
    let taken = each(urls, |url| note_taken(&mut traps, &Pattern::of(url)));
    println!("{what}: {asked} ns to ask, {taken} ns to take; {near} ns on a near duplicate");
}

fn each(urls: &[CrawlUrl], mut what: impl FnMut(&CrawlUrl)) -> u64 {
    let (begun, worked) = (Instant::now(), processor());
    for _ in 0..ROUNDS {
        urls.iter().for_each(&mut what);
    }
    let took = match (worked, processor()) {
        (Some(before), Some(after)) => after - before,
        _ => begun.elapsed().as_nanos() as u64,
    };
    took / (ROUNDS * urls.len()) as u64
}

/// Nanoseconds of the processor that this thread has had.
fn processor() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
