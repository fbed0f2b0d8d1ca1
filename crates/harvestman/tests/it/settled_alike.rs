//! An answer is settled alike by a visit and by recovery after a crash: the same site is crawled in
//! peace, and by processes that die between archiving and committing, and what the two collections
//! know is compared field by field.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use simweb::WebOptions;
use store::warc::Record;

use crate::{
    audit,
    raw::{Asked, Raw, reply},
    world::World,
};

/// Answers in the volumes when a process is killed. Parts of pages, and what is behind them, are
/// asked for once their pages are settled: they are for the second.
const LIVES: [usize; 2] = [12, 15];

/// What is compared: a name, and a query whose rows are texts. Times are not, nor where records
/// lie.
const QUESTIONS: [(&str, &str); 8] = [
    (
        "pages",
        "SELECT url || ' state ' || state || ' level ' || level || ' hops ' || hops || ' seed ' || seed \
         || ' requisite ' || requisite || ' notice ' || notice || ' outside ' || outside \
         || ' via ' || via || ' fetched ' || fetched || ' failures ' || failures \
         || ' visits ' || visits || ' turn ' || turn || ' compared ' || compared \
         || ' changes ' || changes || ' signals ' || signals || ' due ' || (due IS NOT NULL) FROM pages",
    ),
    (
        "facts",
        "SELECT p.url || ' type ' || media_type || ' charset ' || charset || ' title ' || title \
         || ' language ' || language || ' canonical ' || coalesce(canonical, '-') \
         || ' etag ' || coalesce(etag, '-') || ' location ' || coalesce(location, '-') \
         || ' text ' || text_bytes || ' internal ' || links_internal || ' external ' || links_external \
         || ' noindex ' || noindex || ' duplicate ' || coalesce(duplicate_of, '-') \
         || ' near ' || coalesce(near_of, '-') \
         FROM page_facts f JOIN pages p ON p.site = f.site AND p.fp = f.fp",
    ),
    (
        "visits",
        "SELECT p.url || ' change ' || change || ' status ' || status || ' failure ' || coalesce(failure, '-') \
         || ' count ' || count || ' wire ' || wire_bytes || ' body ' || body_bytes \
         || ' digest ' || coalesce(hex(payload_digest), '-') || ' content ' || content_hash \
         || ' text ' || text_hash || ' simhash ' || simhash || ' record ' || (record_id IS NOT NULL) \
         || ' revisit ' || revisit || ' lost ' || coalesce(lost, '-') \
         FROM visits v JOIN pages p ON p.site = v.site AND p.fp = v.fp",
    ),
    (
        "sites",
        "SELECT key || ' pages ' || pages || ' known ' || known || ' waiting ' || waiting \
         || ' fetched ' || fetched || ' failed ' || failed || ' requisites ' || requisites \
         || ' duplicates ' || duplicates || ' visits ' || visits || ' bytes ' || bytes FROM sites",
    ),
    (
        "totals",
        "SELECT 'known ' || pages_known || ' fetched ' || pages_fetched || ' redirected ' || pages_redirected \
         || ' gone ' || pages_gone || ' requisites ' || requisites || ' visits ' || visits \
         || ' versions ' || versions || ' bytes ' || bytes FROM totals",
    ),
    (
        "hazards",
        "SELECT site || ' ' || hazard || ' ' || what || ' ' || measure || ' ' || count FROM hazards",
    ),
    ("decisions", "SELECT site || ' ' || reason || ' ' || rule || ' ' || count FROM decisions"),
    ("robots", "SELECT origin || ' ' || answer || ' ' || coalesce(status, '-') FROM robots"),
];

fn answer(asked: &Asked, stream: &mut std::net::TcpStream) {
    let words = "so many words that nobody takes it for a short answer ".repeat(20);
    let html = "Content-Type: text/html";
    let mut page = |body: &str| reply(stream, "200 OK", html, body.as_bytes());
    match asked.place.strip_prefix("127.0.0.1").unwrap_or_default() {
        "/" => page(
            "<title>home</title><a href=/go>r</a><a href=/loop1>l</a><a href=/copy1>1</a>\
             <a href=/copy2>2</a><a href=/canon1>c</a><a href=/canon2>c</a><a href=/gone>g</a>\
             <a href=/pictures>p</a><a href=http://elsewhere.example/>e</a><a href=/nofollow>n</a>",
        ),
        "/copy1" | "/copy2" => page(&format!("<title>copy</title><p>{words}</p>")),
        "/canon1" => page("<link rel=canonical href=/canon2><p>the first of three</p>"),
        "/canon2" => page("<link rel=canonical href=/canon1><p>the second of three things</p>"),
        "/pictures" => page("<p>two of the same</p><img src=/one.png><img src=/two.png>"),
        "/deep" => page("<title>deep</title><p>behind a redirect</p><a href=/deeper>d</a>"),
        "/deeper" => page("<meta name=robots content=noindex><p>deeper</p>"),
        "/nofollow" => page("<meta name=robots content=nofollow><a href=/never>n</a>"),
        "/go" => reply(stream, "302 Found", "Location: /deep", b""),
        "/loop1" => reply(stream, "302 Found", "Location: /loop2", b""),
        "/loop2" => reply(stream, "302 Found", "Location: /loop1", b""),
        "/one.png" | "/two.png" => {
            reply(stream, "200 OK", "Content-Type: image/png", &[7; 900]);
        }
        _ => reply(stream, "404 Not Found", html, b"none"),
    }
}

/// Pages and parts that are in the volumes.
fn archived(world: &World) -> usize {
    let records = audit::read_so_far(world);
    let answers = records.iter().filter(|record| matches!(record.kind(), "response" | "revisit"));
    let urls: BTreeSet<&str> =
        answers.filter_map(|record| record.field("WARC-Target-URI")).collect();
    urls.into_iter().filter(|url| !url.ends_with("/robots.txt")).count()
}

fn lines(world: &World, query: &str) -> BTreeSet<String> {
    world.rows::<String>(query).into_iter().collect()
}

/// Crawls in peace, and through the death of a process for each of `lives`: the number of answers
/// in the volumes when it is killed. Says what the two collections have not in common.
fn differences(
    answer: impl Fn(&Asked, &mut std::net::TcpStream) + Send + Sync + 'static,
    lives: &[usize],
) -> Vec<String> {
    let raw = Raw::hearing(answer);
    let url = format!("http://127.0.0.1:{}/", raw.port);
    let args = ["crawl", &url, "--delay", "30ms", "--requisites"];
    let peace = World::new(WebOptions::default());
    peace.run(&args).exits(0);

    let crashes =
        World::new(WebOptions::default()).variable("HARVESTMAN_TEST_POISON", "hang:writer:commit");
    for answers in lives {
        let running = crashes.start(&args);
        crashes.wait_for("all of it is archived", |world| archived(world) >= *answers);
        running.kill();
    }
    let crashes = crashes.variable("HARVESTMAN_TEST_POISON", "none:");
    crashes.run(&args).exits(0);
    assert_eq!(Some(&archived(&crashes)), lives.last());
    crashes.run(&["check"]).exits(0);

    let mut differ = Vec::new();
    for (name, query) in QUESTIONS {
        let [visited, adopted] = [&peace, &crashes].map(|world| lines(world, query));
        differ.extend(visited.difference(&adopted).map(|line| format!("{name}: visited {line}")));
        differ.extend(adopted.difference(&visited).map(|line| format!("{name}: adopted {line}")));
    }
    differ
}

#[test]
fn what_a_crash_left_is_settled_as_a_visit_would_have_settled_it() {
    let differ = differences(answer, &LIVES);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// Pages that it has: enough for a crawl to wonder about others.
const OWN: &str = "ash birch cedar elm fir hazel juniper larch maple oak palm pine plum poplar rowan \
     spruce sycamore teak walnut willow yew linden";

/// Whatever it does not have it calls sorry, with links to more of it.
fn sorry(asked: &Asked, stream: &mut std::net::TcpStream, edition: usize) {
    let words = "what you were looking for is not here any more ".repeat(20);
    let body = match asked.place.strip_prefix("127.0.0.1").unwrap_or_default() {
        "/robots.txt" => {
            return reply(stream, "404 Not Found", "Content-Type: text/plain", b"none");
        }
        "/" => {
            let missing = ["old", "archive/index", "news", "the/shop", "contact"];
            let all = OWN.split(' ').chain(missing[..3 + edition].iter().copied());
            all.map(|name| format!("<a href=/{name}>n</a>")).collect()
        }
        path if OWN.split(' ').any(|name| path == format!("/{name}")) => {
            format!("<title>{path}</title><p>{}</p>", format!("all of {path} is here ").repeat(9))
        }
        path => format!("<title>sorry</title><p>{words}</p><a href={path}/more>more</a>"),
    };
    reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
}

#[test]
fn what_looks_like_a_missing_page_leads_nowhere_after_a_crash_either() {
    let edition = Arc::new(AtomicUsize::new(1));
    let served = Arc::clone(&edition);
    let raw = Raw::hearing(move |asked, stream| {
        sorry(asked, stream, served.load(Ordering::Relaxed));
    });
    let url = format!("http://127.0.0.1:{}/", raw.port);
    let world = World::new(WebOptions::default());
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    let soft = "SELECT coalesce(sum(count), 0) FROM hazards WHERE hazard = 'soft-404'";
    let before = world.number(soft);
    assert!(before > 0, "the site's way with missing pages is known");

    edition.store(2, Ordering::Relaxed);
    let world = world.variable("HARVESTMAN_TEST_POISON", "hang:writer:commit");
    let new = format!("{url}contact");
    let lives = [
        (&["crawl", "--fresh", "--delay", "0"][..], &url, 2),
        (&["crawl", "--delay", "0"], &new, 1),
    ];
    for (args, wanted, times) in lives {
        let running = world.start(args);
        world.wait_for("it is archived", |world| {
            let records = audit::read_so_far(world);
            let is_wanted = |record: &&Record| {
                record.kind() != "request" && record.field("WARC-Target-URI") == Some(wanted)
            };
            records.iter().filter(is_wanted).count() == times
        });
        running.kill();
    }
    let world = world.variable("HARVESTMAN_TEST_POISON", "none:");
    // It recovers, and visits nothing that it does not have to.
    world.run(&["crawl", "--delay", "0"]);
    assert!(world.number(soft) > before);
    let more = format!("SELECT count(*) FROM pages WHERE url LIKE '{new}/%'");
    assert_eq!(world.number(&more), 0);
}
