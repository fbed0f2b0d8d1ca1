//! Pages that misbehave stop neither the crawl nor cost it more than bounded time and memory.

use std::{
    io::Write,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use simweb::{Hazard, Odd, PageCount, WebOptions, checks};

use crate::{
    raw::{Raw, reply},
    world::World,
};

#[test]
fn no_misbehaving_page_stops_the_crawl_or_takes_unbounded_time_and_memory() {
    let hazards: Vec<Hazard> = Hazard::ALL
        .iter()
        .copied()
        .filter(|hazard| !hazard.is_of_host() && !is_spell(hazard) && !hazard.is_trap())
        .collect();
    let mut options =
        WebOptions { sites: hazards.len(), pages: PageCount::Fixed(3), ..WebOptions::default() };
    for (site, hazard) in hazards.iter().enumerate() {
        options.put(&format!("{}/hazard/{}", options.host(site), hazard.word()), *hazard);
    }
    let world = World::new(options)
        .variable("HARVESTMAN_FETCH_TIMEOUT", "5s")
        .variable("HARVESTMAN_FETCH_FIRST_BYTE_TIMEOUT", "4s")
        .variable("HARVESTMAN_FETCH_IDLE_TIMEOUT", "3s")
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
    let told = world.run(&["report", "hazards", "--json"]).json()["rows"].clone();
    let missing: Vec<String> = hazards
        .iter()
        .enumerate()
        .filter_map(|(site, hazard)| {
            let (host, name) = (world.web.host(site), reported_as(hazard)?);
            // On a busy machine the first byte of a slow head may not come in time either.
            let slow = name == "slow-response";
            let of_site = |row: &&serde_json::Value| row["site"].as_str() == Some(&*host);
            let names = told.as_array().unwrap().iter().filter(of_site).map(|row| &row["hazard"]);
            let names: Vec<_> = names.collect();
            (!names.iter().any(|n| **n == name || slow && **n == "no-response"))
                .then(|| format!("{}: {names:?}", hazard.word()))
        })
        .collect();
    assert_eq!(missing, [""; 0], "not in the report by their names");
    world.run(&["check"]).exits(0);
}

#[test]
fn what_is_met_on_the_way_to_robots_txt_is_told_too() {
    let hazards = [
        (Hazard::GzipBomb { megabytes: 64 }, "decompression-bomb"),
        (Hazard::HeaderFlood, "header-flood"),
        (Hazard::Odd(Odd::LengthAndChunks), "bad-length"),
        (Hazard::Odd(Odd::BadStatus), "bad-http"),
    ];
    let mut options =
        WebOptions { sites: hazards.len(), pages: PageCount::Fixed(1), ..WebOptions::default() };
    for (site, (hazard, _)) in hazards.iter().enumerate() {
        options.put(&format!("{}/robots.txt", options.host(site)), *hazard);
    }
    let world = World::new(options);
    let seeds = world.web.seeds();
    let mut args = vec!["crawl", "--delay", "0", "http://127.0.0.1:1/"];
    args.extend(seeds.iter().map(String::as_str));
    world.run(&args).exits(0);
    let told = world.run(&["report", "hazards", "--json"]).json()["rows"].clone();
    let told = |host: &str, name: &str| {
        told.as_array().unwrap().iter().any(|row| row["site"] == *host && row["hazard"] == *name)
    };
    for (site, (_, name)) in hazards.iter().enumerate() {
        assert!(told(&world.web.host(site), name), "{name}");
    }
    assert!(told("127.0.0.1:1", "unreachable"));
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

/// What the report must call it; `None` for what is no fault (a cookie that is asked for).
fn reported_as(hazard: &Hazard) -> Option<&'static str> {
    Some(match hazard {
        Hazard::Late { .. } | Hazard::NoResponse => "no-response",
        Hazard::SlowHead { .. } => "slow-response",
        Hazard::Slow { .. } => "slow-body",
        Hazard::Reset | Hazard::ResetInBody | Hazard::Truncated => "disconnected",
        Hazard::WrongLength => "bad-length",
        // Seen where it comes with the answer; on a busy machine it comes when the connection is given up.
        Hazard::UnexpectedResponse => return None,
        Hazard::RedirectLoop => "redirect-loop",
        Hazard::RedirectChain { .. } => "redirect-chain",
        Hazard::RedirectScheme => "unsupported-scheme",
        Hazard::ServerError => "server-error",
        Hazard::GzipBomb { .. } => "decompression-bomb",
        Hazard::BrokenGzip => "broken-encoding",
        Hazard::NestedEncoding => "nested-encoding",
        Hazard::Endless => "endless-body",
        Hazard::HeaderFlood => "header-flood",
        Hazard::Garbage => "bad-http",
        Hazard::CharsetLie => "wrong-charset",
        Hazard::BinaryAsHtml => "wrong-type",
        Hazard::Odd(odd) => return odd_as(*odd),
        _ => return None,
    })
}

fn odd_as(odd: Odd) -> Option<&'static str> {
    Some(match odd {
        Odd::DeflateBomb | Odd::BrotliBomb | Odd::ZstdBomb => "decompression-bomb",
        Odd::LargeWindow => "large-window",
        Odd::JunkBehindGzip | Odd::PlainAsGzip | Odd::WrongChecksum => "broken-encoding",
        Odd::LongBody => "large-body",
        Odd::NonsenseLength | Odd::DifferingLengths | Odd::LengthAndChunks => "bad-length",
        Odd::InterimFlood => "interim-flood",
        Odd::OldHttp | Odd::BadStatus => "bad-http",
        Odd::PdfAsHtml | Odd::ZipAsHtml | Odd::Untyped => "wrong-type",
        Odd::Utf7 => "wrong-charset",
        Odd::MixedText => "malformed-text",
        Odd::DeepNesting => "deep-nesting",
        Odd::LongAttribute | Odd::LongLine | Odd::OpenComment => "long-value",
        Odd::Wordless => "wordless-text",
        Odd::ScriptOnly => "script-only",
        Odd::ManyLinks => "many-links",
        Odd::BadUrls => "invalid-urls",
        Odd::RefreshLoop => "refresh-loop",
        Odd::RedirectPair => "redirect-loop",
        // Stops after its head, which is a decision about its media type; read as what they are.
        Odd::HtmlAsImage | Odd::BareUtf16 | Odd::Nuls => return None,
    })
}

/// These depend on the time of day.
fn is_spell(hazard: &Hazard) -> bool {
    matches!(
        hazard,
        Hazard::TooManyRequests { .. } | Hazard::Unavailable { .. } | Hazard::Vanishing { .. }
    )
}
