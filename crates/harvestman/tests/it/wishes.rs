//! What servers wish, also where they say it badly: robots.txt full of mistakes, robots of single pages, canonical
//! links, and to be left alone while they are down.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use harvester::clock::SimClock;
use model::{
    BoxFuture, Clock, Exchange, Fetch, FetchFailure, FetchRequest, Headers, Resolution, Resolve,
    Timestamp,
};
use serde_json::Value;
use simweb::{Hazard, LogOptions, PageCount, SimFetcher, SimResolver, SimWeb, WebOptions};

use crate::{
    ask::{Questions, seconds, strings},
    raw::{Raw, reply},
    simulated::{self, Errand},
    world::World,
};

const HTML: &str = "Content-Type: text/html";
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn hazard<'a>(rows: &'a Value, word: &str, what: &str) -> Option<&'a Value> {
    let is_it =
        |row: &&Value| row["hazard"] == word && row["detail"].as_str().unwrap_or_default() == what;
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
    let told = world.run(&["report", "hazards", "--json"]).json()["rows"].clone();
    let row = hazard(&told, "robots-errors", "").unwrap_or_else(|| panic!("{told:#}"));
    assert_eq!(
        row["count"], 4,
        "a tag, a greeting, an unknown key, a delay that is none: {told:#}"
    );
    assert_eq!(row["action"], "noted", "they were not obeyed, nor put right: {told:#}");
    let row = hazard(&told, "robots-errors", "lines read as they are meant")
        .unwrap_or_else(|| panic!("{told:#}"));
    assert_eq!((&row["count"], &row["action"]), (&3.into(), &"corrected".into()), "{told:#}");
}

#[test]
fn a_robots_txt_that_announces_more_than_is_read_is_obeyed_as_far_as_it_is_read() {
    let rules = format!("User-agent: *\nDisallow: /private\n{}", "# padding\n".repeat(70_000));
    assert!(rules.len() > 600_000);
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/robots.txt" => {
            reply(stream, "200 OK", "Content-Type: text/plain", rules.as_bytes());
        }
        "127.0.0.1/" => {
            reply(stream, "200 OK", HTML, b"<a href=/private/b>b</a> <a href=/open>c</a>");
        }
        _ => reply(stream, "200 OK", HTML, b"<p>open</p>"),
    });
    let world = World::new(WebOptions::default());
    let seed = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &seed, "--delay", "0"]).exits(0);
    assert_eq!(raw.asked(), ["127.0.0.1/", "127.0.0.1/open"]);
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
    let whole = world.temp.path().join("whole");
    let told = world.run(&["export", "directory", "--out", out.to_str().unwrap(), "--json"]);
    assert_eq!(told.exits(0).json()["noarchive"], 2, "{told}");
    for folder in [out, world.folder.join("directory")] {
        let found = all_text(&folder);
        assert!(!found.contains("secret") && !found.contains("hidden"), "{found}");
        assert!(found.contains("open now"), "{found}");
    }
    let never = format!("{seed}never");
    let args = ["export", "directory", "--include-noarchive", "--out", whole.to_str().unwrap()];
    world.run(&args).exits(0);
    let found = all_text(&whole);
    assert!(found.contains("secret") && found.contains("hidden"), "{found}");
    let shown = world.run(&["show", &never]);
    assert_eq!(shown.exits(0).says(&["the page says noarchive"]).out.trim(), "hidden", "{shown}");
    assert_eq!(world.run(&["show", &never, "--json"]).json()["noarchive"], true);
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
        (&done.json()["versions"], &done.json()["non_canonical"]),
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
        assert!(explained.flat().contains(words), "{path}: {explained}");
    }
    assert!(!world.run(&["explain", &at("/a")]).out.contains("canonical"));
    let told = world.run(&["report", "hazards", "--json"]).json()["rows"].clone();
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
    let told = world.run(&["report", "hazards", "--json"]).json()["rows"].clone();
    assert!(hazard(&told, "server-error", "500").is_some(), "{told:#}");
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
    let collection = Questions::at(folder.path());
    let rows = collection.list(&["report", "hazards", "--hazard", "site-down"]);
    assert!(rows.len() == 1 && rows[0]["count"].as_u64() > Some(2), "{rows:?}");
    assert_eq!(collection.sites(&["--down"]).len(), 0, "it is up again");
}

/// Fetches from the simulated web, and has its servers say something else in one header.
struct Saying {
    fetcher: Arc<SimFetcher>,
    header: &'static str,
    says: fn(&Exchange) -> Option<String>,
}

impl Fetch for Saying {
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Exchange, FetchFailure>> {
        Box::pin(async move {
            let mut exchange = self.fetcher.fetch(request).await?;
            if let Some(text) = (self.says)(&exchange) {
                let mut headers = Headers::new();
                let others = exchange.headers.iter();
                others
                    .filter(|(name, _)| !name.eq_ignore_ascii_case(self.header))
                    .for_each(|(name, value)| headers.push(name, value));
                headers.push(self.header, &text);
                exchange.headers = headers;
            }
            Ok(exchange)
        })
    }
}

/// Resolves as the simulated web does, and remembers what was asked for.
struct Listening {
    names: SimResolver,
    life: Duration,
    clock: Arc<dyn Clock>,
    asked: Mutex<Vec<(String, Timestamp)>>,
}

impl Resolve for Listening {
    fn resolve(&self, host: &str) -> BoxFuture<'_, Result<Resolution, FetchFailure>> {
        let now = self.clock.now();
        self.asked.lock().unwrap().push((host.to_owned(), now));
        let found = self.names.resolve(host);
        Box::pin(async move {
            let found = found.await?;
            Ok(Resolution { expires: now.plus(self.life), ..found })
        })
    }
}

/// What a site that cannot serve for so long is asked, in simulated time, when it says so in the words of `says`: when,
/// and what it answered.
fn unavailable_for(
    lasting: Duration,
    says: fn(&Exchange) -> Option<String>,
) -> Vec<(Duration, u16)> {
    let mut options = WebOptions { sites: 1, pages: PageCount::Fixed(8), ..WebOptions::default() };
    let host = options.host(0);
    options.put(&format!("{host}/*"), Hazard::Unavailable { every: DAY * 1000, lasting });
    let start = options.origin;
    let web = Arc::new(SimWeb::new(options));
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new(start));
    let log = LogOptions::default();
    let fetcher = Arc::new(SimFetcher::new(web.clone(), clock.clone(), "harvestman", log).unwrap());
    let resolve = Arc::new(SimResolver::new(web.clone(), clock.clone()));
    let saying = Saying { fetcher: fetcher.clone(), header: "retry-after", says };
    let folder = tempfile::tempdir().unwrap();
    let errand = Errand::new("policy = 'once'", Some(start.plus(DAY * 3)));
    simulated::crawl_by(&web, folder.path(), &clock, (Arc::new(saying), resolve), &errand);
    let entries = fetcher.log().entries();
    entries.iter().map(|entry| (entry.at.since(start), entry.status)).collect()
}

/// When the site was first refused, and when it was asked the next time.
fn first_wait(asked: &[(Duration, u16)]) -> (Duration, Duration) {
    let refused = asked.iter().position(|(_, status)| *status == 503).expect("it refused");
    let next = asked.get(refused + 1).expect("it is asked again");
    (asked[refused].0, next.0)
}

fn complete(asked: &[(Duration, u16)]) {
    let pages = asked.iter().filter(|(_, status)| *status == 200).count();
    assert!(pages >= 8, "the whole site comes in the end: {asked:?}");
}

/// A moment as HTTP writes it, by the server's own clock.
fn in_http(exchange: &Exchange, ahead: Duration) -> String {
    let date = exchange.headers.get("date").unwrap();
    httpdate::fmt_http_date(httpdate::parse_http_date(date).unwrap() + ahead)
}

#[test]
fn a_server_that_names_a_date_to_come_back_at_is_left_alone_until_then() {
    let asked = unavailable_for(HOUR * 2, |exchange| {
        (exchange.status == 503).then(|| in_http(exchange, HOUR * 2))
    });
    let (refused, next) = first_wait(&asked);
    let waited = next - refused;
    assert!((HOUR * 2..HOUR * 3).contains(&waited), "{waited:?}: {asked:?}");
    complete(&asked);
}

#[test]
fn a_date_that_is_past_and_what_is_no_time_at_all_are_the_ordinary_back_off() {
    let past: fn(&Exchange) -> Option<String> = |exchange| {
        let long_ago = httpdate::fmt_http_date(UNIX_EPOCH + DAY * 8000);
        (exchange.status == 503).then_some(long_ago)
    };
    let minus: fn(&Exchange) -> Option<String> =
        |exchange| (exchange.status == 503).then(|| "-1".to_owned());
    let noise: fn(&Exchange) -> Option<String> =
        |exchange| (exchange.status == 503).then(|| "when the cows come home".to_owned());
    for (name, says) in [("past", past), ("minus", minus), ("noise", noise)] {
        let asked = unavailable_for(HOUR, says);
        let (refused, next) = first_wait(&asked);
        let waited = next - refused;
        assert!(waited >= Duration::from_secs(5), "{name}: {waited:?}");
        let within = asked.iter().filter(|(at, _)| *at < refused + HOUR).count();
        assert!(within <= 30, "{name}: {within} questions in an hour: {asked:?}");
        complete(&asked);
    }
}

#[test]
fn a_server_that_says_ten_years_is_asked_again_after_a_day() {
    let asked = unavailable_for(HOUR, |exchange| {
        (exchange.status == 503).then(|| (10 * 365 * 24 * 3600).to_string())
    });
    let (refused, next) = first_wait(&asked);
    let waited = next - refused;
    assert!((DAY..DAY + HOUR * 2).contains(&waited), "{waited:?}: {asked:?}");
    complete(&asked);
}

#[test]
fn a_site_of_a_hundred_pages_asks_for_its_name_once_in_the_life_of_the_answer() {
    let options = WebOptions { sites: 3, pages: PageCount::Fixed(100), ..WebOptions::default() };
    let (start, hosts) = (options.origin, [0, 1, 2].map(|site| options.host(site)));
    let web = Arc::new(SimWeb::new(options));
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new(start));
    let log = LogOptions::default();
    let fetcher = Arc::new(SimFetcher::new(web.clone(), clock.clone(), "harvestman", log).unwrap());
    let life = Duration::from_secs(60);
    let names = SimResolver::new(web.clone(), clock.clone());
    let listening =
        Arc::new(Listening { names, life, clock: clock.clone(), asked: Mutex::default() });
    let folder = tempfile::tempdir().unwrap();
    let once = Errand::new("policy = 'once'", None);
    simulated::crawl_by(&web, folder.path(), &clock, (fetcher.clone(), listening.clone()), &once);
    let took = clock.now().since(start);
    let lives = took.as_secs().div_ceil(life.as_secs()) as usize;
    let asked = listening.asked.lock().unwrap();
    let visits = fetcher.log().entries().len();
    assert!(visits >= 300, "{visits}");
    for host in hosts {
        let times: Vec<Timestamp> =
            asked.iter().filter(|(name, _)| *name == *host).map(|(_, at)| *at).collect();
        assert!(!times.is_empty() && times.len() <= lives + 1, "{}: {lives}", times.len());
        let early = times.windows(2).find(|pair| pair[1].since(pair[0]) < life);
        assert_eq!(early, None, "not before the answer's life is over");
    }
}

#[test]
fn a_page_that_says_when_it_ends_is_not_looked_after_beyond_that() {
    let raw = Raw::start(|place, stream| match place {
        "127.0.0.1/" => {
            let links =
                b"<a href=/over>1</a><a href=/meta>2</a><a href=/theirs>3</a><a href=/far>4</a>";
            reply(stream, "200 OK", HTML, links);
        }
        "127.0.0.1/over" => {
            let fields = format!(
                "{HTML}\r\nX-Robots-Tag: unavailable_after: Friday, 25-Jun-10 15:00:00 PST"
            );
            reply(stream, "200 OK", &fields, b"<p>an offer that is over</p>");
        }
        "127.0.0.1/meta" => {
            let body = b"<meta name=robots content='unavailable_after: 2011-02-03'><p>another</p>";
            reply(stream, "200 OK", HTML, body);
        }
        "127.0.0.1/theirs" => {
            let fields =
                format!("{HTML}\r\nX-Robots-Tag: googlebot: unavailable_after: 25 Jun 2010");
            reply(stream, "200 OK", &fields, b"<p>over for others</p>");
        }
        "127.0.0.1/far" => {
            let fields =
                format!("{HTML}\r\nX-Robots-Tag: unavailable_after: 25 Jun 2090 15:00 GMT");
            reply(stream, "200 OK", &fields, b"<p>good for long</p>");
        }
        _ => reply(stream, "404 Not Found", HTML, b"none"),
    });
    let world = World::new(WebOptions::default())
        .variable("HARVESTMAN_REVISIT_POLICY", "fixed")
        .variable("HARVESTMAN_REVISIT_PERIOD", "7d");
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", raw.port);
    world.run(&["crawl", &at("/"), "--delay", "0"]).exits(0);
    let days_to_next = |path: &str| {
        let page = world.page(&at(path));
        seconds(&page["visited"], &page["due"]) / 86_400
    };
    for over in ["/over", "/meta"] {
        assert!(days_to_next(over) >= 89, "{over}: {} days", days_to_next(over));
    }
    for on in ["/theirs", "/far"] {
        assert!(days_to_next(on) <= 8, "{on}: {} days", days_to_next(on));
    }
    // What is seen again unchanged still ends when it did.
    world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
    assert!(days_to_next("/over") >= 89 && days_to_next("/far") <= 8);
    let told = world.run(&["explain", &at("/over")]);
    assert!(
        told.flat().contains("the page declares unavailable_after 2010-06-25T23:00:00Z"),
        "{told}"
    );
    assert!(!world.run(&["explain", &at("/theirs")]).out.contains("unavailable_after"));
}

#[test]
fn the_question_for_a_page_that_cannot_exist_is_shown_as_a_question() {
    let mut options = WebOptions { pages: PageCount::Fixed(60), ..WebOptions::default() };
    options.page.broken_share = 0.3;
    let host = options.host(0);
    options.put(&host, Hazard::Soft404);
    let world = World::new(options);
    let done = world.run(&["crawl", &world.web.home(0), "--delay", "0"]);
    done.exits(0);
    assert!(!done.err.contains("parts of pages"), "{done}");
    let parts = strings(&world.pages(&["--requisites"]), "url");
    let asked = parts.iter().find(|url| url.contains("/no-such-page-")).unwrap();
    let told = world.run(&["explain", asked]);
    assert!(told.out.contains("a question to the site, not a page"), "{told}");
    assert!(told.out.contains("asked for once, to see what the site says"), "{told}");
    assert!(!told.out.contains("part of pages"), "{told}");
    assert!(!world.run(&["status"]).out.contains("parts of pages"));
}
