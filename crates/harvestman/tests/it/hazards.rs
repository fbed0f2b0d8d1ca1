//! Pages that misbehave stop neither the crawl nor cost it more than bounded time and memory.

use std::{
    io::Write,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use simweb::{Hazard, PageCount, WebOptions, checks};

use crate::{
    raw::{Raw, reply},
    world::World,
};

#[test]
fn no_misbehaving_page_stops_the_crawl_or_takes_unbounded_time_and_memory() {
    let hazards: Vec<Hazard> = Hazard::ALL
        .iter()
        .copied()
        .filter(|hazard| !hazard.is_of_host() && !is_spell(hazard) && !is_trap(hazard))
        .collect();
    let mut options =
        WebOptions { sites: hazards.len(), pages: PageCount::Fixed(3), ..WebOptions::default() };
    for (site, hazard) in hazards.iter().enumerate() {
        options.put(&format!("{}/hazard/{}", options.host(site), hazard.word()), *hazard);
    }
    let world = World::new(options)
        .variable("HARVESTMAN_FETCH_TIMEOUT", "3s")
        .variable("HARVESTMAN_FETCH_FIRST_BYTE_TIMEOUT", "2s")
        .variable("HARVESTMAN_FETCH_IDLE_TIMEOUT", "1s")
        .variable("HARVESTMAN_ETIQUETTE_BACKOFF_FIRST", "100ms")
        .variable("HARVESTMAN_ETIQUETTE_BACKOFF_MAX", "200ms");
    let seeds = world.web.seeds();
    let mut args = vec!["crawl", "--delay", "50ms"];
    args.extend(seeds.iter().map(String::as_str));
    let mut crawl = world.start(&args);
    let mut peak = 0;
    while crawl.is_running() {
        peak = peak.max(crawl.peak_memory());
        std::thread::sleep(Duration::from_millis(20));
    }
    let done = crawl.wait(Duration::from_secs(1));
    done.exits(0).says(&["all done"]);
    assert!(done.took < Duration::from_secs(45), "{done}");
    assert!(peak > 0 && peak < 300 << 20, "{} MB at most", peak >> 20);
    let log = world.log();
    for (site, hazard) in hazards.iter().enumerate() {
        let host = world.web.host(site);
        let met =
            |entry: &&simweb::Entry| *entry.host == *host && entry.target.starts_with("/hazard/");
        let found = log.iter().find(met);
        let entry = found.unwrap_or_else(|| panic!("{} was not met", hazard.word()));
        assert!(entry.bytes < 64 << 20, "{}: {} bytes taken", hazard.word(), entry.bytes);
        assert_eq!(checks::completeness(&log, &world.web, &host), [], "{}", hazard.word());
    }
    assert_eq!(checks::repeats(&log), []);
    let told = world.run(&["report", "hazards", "--json"]).json();
    let told = |word: &str| told.as_array().unwrap().iter().any(|row| row["hazard"] == word);
    for word in ["slow-answer", "disconnected", "bad-http", "failing-server", "wrong-type"] {
        assert!(told(word), "{word} is not in the report");
    }
    world.run(&["check"]).exits(0);
}

#[test]
fn an_unwanted_media_type_stops_after_the_head_and_is_listed_as_refused() {
    let sent = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&sent);
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/" => {
            let body = b"<a href='/film.bin'>film</a> <a href='/2'>2</a>";
            reply(stream, "200 OK", "Content-Type: text/html", body);
        }
        "127.0.0.1/2" => reply(stream, "200 OK", "Content-Type: text/plain", b"two"),
        "127.0.0.1/film.bin" => {
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 500000000\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            let block = vec![7; 64 << 10];
            for _ in 0..500_000_000 / block.len() {
                if stream.write_all(&block).is_err() {
                    return;
                }
                counter.fetch_add(block.len() as u64, Ordering::Relaxed);
            }
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    let done = world.run(&["crawl", &url, "--delay", "0"]);
    done.exits(0).says(&["video/mp4", "film.bin"]);
    assert_eq!(raw.asked(), ["127.0.0.1/", "127.0.0.1/2", "127.0.0.1/film.bin"]);
    let bytes = sent.load(Ordering::Relaxed);
    assert!(bytes < 32 << 20, "{bytes} bytes went into buffers before the connection was closed");
    let status = world.status();
    assert_eq!(status["pages"]["refused"], 1, "{status:#}");
    assert_eq!(status["pages"]["fetched"], 2, "{status:#}");
}

/// These depend on the time of day.
fn is_spell(hazard: &Hazard) -> bool {
    matches!(
        hazard,
        Hazard::TooManyRequests { .. } | Hazard::Unavailable { .. } | Hazard::Vanishing { .. }
    )
}

/// These are about many pages, not about one that misbehaves.
fn is_trap(hazard: &Hazard) -> bool {
    matches!(
        hazard,
        Hazard::Calendar
            | Hazard::SessionIds
            | Hazard::GrowingPath
            | Hazard::Soft404
            | Hazard::NearDuplicates { .. }
            | Hazard::Sitemap(_)
    )
}
