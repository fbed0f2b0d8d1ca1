//! What servers wish, also where they say it badly: robots.txt full of mistakes, robots of single pages, canonical
//! links, and to be left alone while they are down.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use harvester::clock::SimClock;
use model::{Clock, Timestamp};
use serde_json::Value;
use simweb::{Hazard, LogOptions, PageCount, SimFetcher, SimWeb, WebOptions};

use crate::{
    raw::{Raw, reply},
    simulated::{self, Errand},
    world::{World, rows_of},
};

const HTML: &str = "Content-Type: text/html";
const DAY: Duration = Duration::from_secs(24 * 3600);

fn hazard<'a>(rows: &'a Value, word: &str, what: &str) -> Option<&'a Value> {
    let is_it = |row: &&Value| row["hazard"] == word && row["what"] == what;
    rows.as_array().unwrap().iter().find(is_it)
}

#[test]
fn a_robots_txt_full_of_mistakes_is_obeyed_and_its_mistakes_are_counted() {
    let robots = "<html>\r\nwelcome robots!\nUser agent : *\nDisalow: /private\n\
                  Disallow /trap/\nNoise: yes\nCrawl-delay: fast\n";
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/robots.txt" => {
            reply(stream, "200 OK", "Content-Type: text/plain", robots.as_bytes());
        }
        place if place.starts_with("127.0.0.1/trap/") => {
            let body = format!("<a href='{}x/'>deeper</a>", place.trim_start_matches("127.0.0.1"));
            reply(stream, "200 OK", HTML, body.as_bytes());
        }
        "127.0.0.1/" => {
            let links = "<a href=/trap/>a</a> <a href=/private/b>b</a> <a href=/open>c</a>";
            reply(stream, "200 OK", HTML, links.as_bytes());
        }
        _ => reply(stream, "200 OK", HTML, b"<p>open</p>"),
    });
    let world = World::new(WebOptions::default());
    let seed = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &seed, "--delay", "0"]).exits(0);
    assert_eq!(
        raw.asked(),
        ["127.0.0.1/", "127.0.0.1/open"],
        "nothing of the trap, nothing private"
    );
    let told = world.run(&["report", "hazards", "--json"]).json();
    let row = hazard(&told, "robots-errors", "").unwrap_or_else(|| panic!("{told:#}"));
    assert_eq!(
        row["count"], 4,
        "a tag, a greeting, an unknown key, a delay that is none: {told:#}"
    );
}

#[test]
fn robots_of_a_page_bind_whom_they_name() {
    let raw = Raw::start(|place, stream| {
        let path = place.trim_start_matches("127.0.0.1");
        let link = format!("<a href='/behind{path}'>on</a>");
        let (fields, head) = match path {
            "/" => {
                let all = ["theirs", "ours", "none", "meta-theirs", "meta-ours", "link"];
                let links: String = all.map(|name| format!("<a href=/{name}>x</a> ")).concat();
                return reply(stream, "200 OK", HTML, links.as_bytes());
            }
            "/theirs" => ("X-Robots-Tag: googlebot: noindex, nofollow", ""),
            "/ours" => ("X-Robots-Tag: googlebot: noindex, harvestman: nofollow", ""),
            "/none" => ("X-Robots-Tag: none", ""),
            "/meta-theirs" => ("X-A: b", "<meta name=googlebot content='none'>"),
            "/meta-ours" => ("X-A: b", "<meta name=Harvestman content='NOFOLLOW'>"),
            "/link" => {
                let body = b"<a rel=nofollow href=/behind/link>on</a>";
                return reply(stream, "200 OK", HTML, body);
            }
            _ => ("X-A: b", ""),
        };
        let (fields, body) = (format!("{HTML}\r\n{fields}"), format!("{head}<p>{link}</p>"));
        let body = if path.starts_with("/behind") { "<p>end</p>" } else { &body };
        reply(stream, "200 OK", &fields, body.as_bytes());
    });
    let world = World::new(WebOptions::default());
    let seed = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &seed, "--delay", "0"]).exits(0);
    let asked = raw.asked();
    let behind: Vec<&String> = asked.iter().filter(|place| place.contains("/behind")).collect();
    assert_eq!(behind, ["127.0.0.1/behind/meta-theirs", "127.0.0.1/behind/theirs"]);
}

#[test]
fn what_asked_not_to_be_archived_is_in_no_export_and_in_every_history() {
    let visits = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&visits);
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/" if counter.fetch_add(1, Ordering::Relaxed) == 0 => {
            let fields = format!("{HTML}\r\nX-Robots-Tag: noarchive");
            reply(stream, "200 OK", &fields, b"<p>secret <a href=/never>n</a></p>");
        }
        "127.0.0.1/" => reply(stream, "200 OK", HTML, b"<p>open now</p>"),
        "127.0.0.1/never" => {
            reply(stream, "200 OK", HTML, b"<meta name=robots content=noarchive><p>hidden</p>");
        }
        _ => reply(stream, "404 Not Found", HTML, b"none"),
    });
    let world = World::new(WebOptions::default()).variable("HARVESTMAN_STORE_DIRECTORY", "true");
    let seed = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &seed, "--delay", "0"]).exits(0);
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    let out = world.temp.path().join("out");
    world.run(&["export", "directory", "--out", out.to_str().unwrap()]).exits(0);
    for folder in [out, world.folder.join("directory")] {
        let found = all_text(&folder);
        assert!(!found.contains("secret") && !found.contains("hidden"), "{found}");
        assert!(found.contains("open now"), "{found}");
    }
    let never = format!("{seed}never");
    world.run(&["show", &never]).exits(2).says(&["noarchive", "harvestman history"]);
    let history = world.run(&["history", &never]);
    assert!(history.exits(0).out.contains("first seen"), "{history}");
}

/// The contents of all files below a folder, one after the other.
fn all_text(folder: &std::path::Path) -> String {
    let Ok(entries) = std::fs::read_dir(folder) else { return String::new() };
    let read = |path: std::path::PathBuf| match path.is_dir() {
        true => all_text(&path),
        false => std::fs::read_to_string(&path).unwrap_or_default(),
    };
    entries.map(|entry| read(entry.unwrap().path())).collect()
}

#[test]
fn canonical_pages_stand_for_their_copies_in_exports_and_nowhere_else() {
    let prose = "The mill stands by the river where it stood when the bridge was built, and who goes there \
                 in autumn finds the wheel turning and the miller asleep in the sun beside his door.";
    let canonical = |target: &str| format!("<link rel=canonical href='{target}'>");
    let page = |named: &str, text: &str| format!("{named}<p>{text}</p>");
    let pages = [
        (
            "/".to_owned(),
            ["/a", "/copy", "/x", "/y", "/several", "/other", "/b"]
                .map(|path| format!("<a href='{path}'>x</a> "))
                .concat(),
        ),
        ("/a".to_owned(), page(&canonical("/a"), prose)),
        ("/copy".to_owned(), page(&canonical("/a"), &format!("{prose} Printed."))),
        ("/x".to_owned(), page(&canonical("/y"), &format!("{prose} x"))),
        ("/y".to_owned(), page(&canonical("/x"), &format!("{prose} y"))),
        (
            "/several".to_owned(),
            page(&format!("{}{}", canonical("/a"), canonical("/b")), &format!("{prose} s")),
        ),
        ("/other".to_owned(), page(&canonical("/a"), "Quite another story about ships and sails.")),
        ("/b".to_owned(), page(&canonical("/nowhere"), &format!("{prose} b"))),
    ];
    let placed: Vec<(String, String)> =
        pages.iter().map(|(path, body)| (format!("127.0.0.1{path}"), body.clone())).collect();
    let served: Vec<(&str, &str)> =
        placed.iter().map(|(place, body)| (place.as_str(), body.as_str())).collect();
    let raw = Raw::pages(&served);
    let world = World::new(WebOptions::default());
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", raw.port);
    world.run(&["crawl", &at("/"), "--delay", "0"]).exits(0);
    let asked: BTreeSet<String> = raw.asked().into_iter().collect();
    assert!(served.iter().all(|(place, _)| asked.contains(*place)), "all are crawled: {asked:?}");

    let out = world.temp.path().join("out");
    let done = world.run(&["export", "directory", "--out", out.to_str().unwrap(), "--json"]);
    assert_eq!(
        (&done.json()["versions"], &done.json()["folded"]),
        (&7.into(), &1.into()),
        "{done}"
    );
    assert!(!all_text(&out).contains("Printed."));
    let whole = world.temp.path().join("whole");
    let args = ["export", "directory", "--unfolded", "--out", whole.to_str().unwrap(), "--json"];
    assert_eq!(world.run(&args).json()["versions"], 8);

    for (path, words) in [
        ("/copy", "exports have its canonical page instead"),
        ("/x", "they name each other"),
        ("/several", "contradict each other"),
        ("/other", "its text is another"),
        ("/b", "has not answered with content"),
    ] {
        let explained = world.run(&["explain", &at(path)]);
        assert!(explained.out.contains(words), "{path}: {explained}");
    }
    assert!(!world.run(&["explain", &at("/a")]).out.contains("canonical"));
    let told = world.run(&["report", "hazards", "--json"]).json();
    for what in ["several on one page", "in a circle"] {
        assert!(hazard(&told, "canonical-conflict", what).is_some(), "{what}: {told:#}");
    }
}

#[test]
fn a_server_that_collapses_is_asked_at_half_the_rate_within_ten_requests() {
    let raw = Raw::start(|place, stream| {
        let path = place.trim_start_matches("127.0.0.1");
        if path == "/" {
            let links: String = (0..40).map(|n| format!("<a href=/{n:02}>x</a> ")).collect();
            return reply(stream, "200 OK", HTML, links.as_bytes());
        }
        match path.trim_start_matches('/').parse::<u32>() {
            Ok(n) if n < 10 => reply(stream, "200 OK", HTML, format!("<p>{n}</p>").as_bytes()),
            Ok(_) => reply(stream, "500 Internal Server Error", HTML, b"down"),
            Err(_) => reply(stream, "404 Not Found", HTML, b"none"),
        }
    });
    let world = World::new(WebOptions::default())
        .variable("HARVESTMAN_ETIQUETTE_BACKOFF_FIRST", "60ms")
        .variable("HARVESTMAN_CRAWL_FOR", "4s");
    let seed = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &seed, "--delay", "50ms"]).exits(0);
    let heard = raw.heard();
    let good =
        |place: &str| place.trim_start_matches("127.0.0.1/").parse::<u32>().is_ok_and(|n| n < 10);
    let gap = |asked: &[crate::raw::Asked]| {
        let span = asked[asked.len() - 1].at - asked[0].at;
        span / (asked.len() as u32 - 1)
    };
    let well: Vec<_> = heard.iter().filter(|asked| good(&asked.place)).cloned().collect();
    let bad: Vec<_> = heard.iter().skip_while(|asked| !good(&asked.place)).cloned().collect();
    let bad: Vec<_> = bad.into_iter().filter(|asked| !good(&asked.place)).collect();
    assert!(well.len() == 10 && bad.len() >= 6, "{} and {}", well.len(), bad.len());
    let after = &bad[bad.len().min(10) - 3..bad.len().min(10)];
    assert!(gap(after) >= gap(&well) * 2, "{:?} before, {:?} after", gap(&well), gap(after));
    let told = world.run(&["report", "hazards", "--json"]).json();
    assert!(hazard(&told, "failing-server", "500").is_some(), "{told:#}");
}

#[test]
fn a_site_that_is_down_for_months_is_asked_ever_less_and_found_again_within_a_month() {
    let mut options = WebOptions { sites: 2, pages: PageCount::Fixed(15), ..WebOptions::default() };
    let (gone, back) = (DAY * 10, DAY * 130);
    let host = options.host(0);
    options.put(&format!("{host}/*"), Hazard::Away { after: gone, lasting: back - gone });
    let (start, end) = (options.origin, options.origin.plus(DAY * 200));
    let web = Arc::new(SimWeb::new(options));
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new(start));
    let log = LogOptions::default();
    let fetcher = Arc::new(SimFetcher::new(web.clone(), clock.clone(), "harvestman", log).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let errand = Errand::new("", Some(end));
    simulated::crawl(&web, folder.path(), &clock, fetcher.clone(), &errand);
    let asked: Vec<(Timestamp, u16)> = fetcher
        .log()
        .entries()
        .iter()
        .filter(|entry| *entry.host == *host)
        .map(|entry| (entry.at, entry.status))
        .collect();
    let between = |from: Duration, to: Duration| {
        let span = start.plus(from)..start.plus(to);
        asked.iter().filter(|(at, _)| span.contains(at)).count()
    };
    let months = [10, 40, 70, 100].map(|day| between(DAY * day, DAY * (day + 30)));
    assert!(months.iter().sum::<usize>() < 120, "{months:?}");
    assert!(months[0] > 0 && months[1] <= months[0] && months[3] <= months[1].max(4), "{months:?}");
    assert!(months[1..].iter().all(|asked| *asked <= 8), "{months:?}");
    let found =
        asked.iter().find(|(at, status)| *at >= start.plus(back) && [200, 304].contains(status));
    let found = found.expect("it is never forgotten").0;
    assert!(
        found <= start.plus(back + DAY * 31),
        "{months:?}, found {:?} after it began",
        found.since(start)
    );
    let crawled = between(back, DAY * 200);
    assert!(crawled >= 15, "all of it is visited again: {crawled}");
    let database = folder.path().join("crawl.db");
    let told: Vec<i64> =
        rows_of(&database, "SELECT count FROM hazards WHERE hazard = 'down-for-long'");
    assert!(told.len() == 1 && told[0] > 2, "{told:?}");
    let down: Vec<i64> =
        rows_of(&database, "SELECT count(*) FROM sites WHERE instr(traps, '\"down\":') > 0");
    assert_eq!(down, [0], "it is up again");
}
