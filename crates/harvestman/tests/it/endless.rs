//! Content without end that is made of next to nothing, and the honest sites beside it that look like it: the first ends
//! within a few hundred pages, the others come whole.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
};

use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::World,
};

pub const FRAME: &str = "All that happens in our town is announced here, week after week, by the office for culture in \
    the old mill. Home, search, contact, help, imprint. Whoever knows of more may write to us.";

/// What a site says of a path: `Ok` is a page, `Err` a status line and header fields.
pub type Said = Result<String, (&'static str, String)>;

pub fn site(said: impl Fn(&str) -> Option<Said> + Send + Sync + 'static) -> Raw {
    let html = "Content-Type: text/html";
    Raw::start(move |place, stream| {
        let path = place.split_once('/').map_or("", |(_, path)| path);
        match said(path) {
            Some(Ok(body)) => reply(stream, "200 OK", html, body.as_bytes()),
            Some(Err((status, fields))) => reply(stream, status, &fields, b"BEGIN:VCALENDAR"),
            None => reply(stream, "404 Not Found", html, b"none"),
        }
    })
}

pub fn crawl(raw: &Raw, pages: &str) -> World {
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0", "--pages", pages]).exits(0);
    world
}

/// Places with this in them, each once.
pub fn met(raw: &Raw, part: &str) -> usize {
    raw.asked().into_iter().filter(|place| place.contains(part)).collect::<BTreeSet<_>>().len()
}

pub fn number(path: &str, before: &str) -> Option<u64> {
    path.strip_prefix(before)?.parse().ok()
}

/// Words that stand nowhere else.
pub fn words(seed: u64, count: u64) -> String {
    let mut text = String::new();
    for k in 0..count {
        let mut bits = (seed * 1_000 + k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for _ in 0..4 {
            bits = (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            text.push(b"bdfgklmnprst"[(bits >> 40) as usize % 12].into());
            text.push(b"aeiou"[(bits >> 50) as usize % 5].into());
        }
        text.push(' ');
    }
    text
}

pub fn real_pages(path: &str) -> Option<Said> {
    let n = number(path, "real/").filter(|n| *n < 20)?;
    Some(Ok(format!("<title>Real {n}</title><p>{}</p>", words(n + 500, 60))))
}

pub fn links_to_real_pages() -> String {
    (0..20).map(|n| format!("<a href=/real/{n}>r</a> ")).collect()
}

/// Twelve years by "previous month" alone, events in every third month.
#[test]
fn an_archive_that_is_walked_backwards_comes_whole_though_most_of_its_months_are_empty() {
    let raw = site(|path| {
        if path.is_empty() {
            return Some(Ok(format!("<p>{}</p><a href=/cal/2024/12>events</a>", words(1, 60))));
        }
        if let Some(event) = number(path, "event/") {
            return Some(Ok(format!("<title>Event</title><p>{}</p>", words(event, 60))));
        }
        let (year, month) = path.strip_prefix("cal/")?.split_once('/')?;
        let (year, month) = (year.parse::<u64>().ok()?, month.parse::<u64>().ok()?);
        let event = |k: u64| format!("<a href=/event/{}>details</a> ", year * 100 + month * 2 + k);
        let events = match month % 3 {
            0 => format!("{}{}", event(0), event(1)),
            _ => "No events this month. ".to_owned(),
        };
        let at = year * 12 + month - 2;
        let before = match year {
            2013.. => format!("<a href=/cal/{}/{}>previous month</a>", at / 12, at % 12 + 1),
            _ => String::new(),
        };
        let title = format!("Events {year}/{month}");
        Some(Ok(format!("<title>{title}</title><h1>{title}</h1>{events}<p>{FRAME}</p>{before}")))
    });
    let world = crawl(&raw, "3000");
    assert_eq!((met(&raw, "/cal/"), met(&raw, "/event/")), (12 * 12 + 1, 12 * 4 * 2 + 2));
    let traps = world.run(&["traps", "--json"]).json();
    assert_eq!(traps["total"], 0, "{traps:#}");
}

/// Days without end that have a second link each: to a file for calendars, to what is forbidden, to what sends on.
#[test]
fn days_without_end_lead_nowhere_by_a_file_an_error_or_a_redirect() {
    let raw = site(|path| {
        if path.is_empty() {
            let kinds =
                ["ics", "new", "book"].map(|kind| format!("<a href=/{kind}/day?n=1>d</a> "));
            let real = links_to_real_pages();
            return Some(Ok(format!("<p>{}</p>{real}{}", words(1, 60), kinds.concat())));
        }
        let (kind, rest) = path.split_once('/')?;
        let html = || "Content-Type: text/html".to_owned();
        if rest.starts_with("side") {
            return Some(Err(match kind {
                "ics" => ("200 OK", "Content-Type: text/calendar".to_owned()),
                "new" => ("403 Forbidden", html()),
                _ => ("302 Found", "Location: /real/1".to_owned()),
            }));
        }
        let Some(n) = number(rest, "day?n=") else { return real_pages(path) };
        let links =
            format!("<a href=/{kind}/day?n={}>next</a> <a href=/{kind}/side?n={n}>add</a>", n + 1);
        Some(Ok(format!("<title>Day {n}</title><p>Day {n}. {FRAME}</p>{links}")))
    });
    crawl(&raw, "3000");
    for kind in ["ics", "new", "book"] {
        let days = met(&raw, &format!("/{kind}/day"));
        println!("{days} days with a link to {kind}");
        assert!((10..300).contains(&days), "{days} days with a link to {kind}");
    }
    assert_eq!(met(&raw, "/real/"), 20);
}

#[test]
fn pages_of_next_to_nothing_come_to_an_end_and_a_gallery_of_pictures_comes_whole() {
    let raw = site(|path| {
        let title = "<title>Item</title>";
        if path.is_empty() {
            let starts = "<a href=/q?id=1>q</a> <a href=/wait/1>w</a> <a href=/photo?n=1>p</a> \
                <a href=/bare/a/b.html>b</a>";
            return Some(Ok(format!("<p>{}</p>{}{starts}", words(1, 60), links_to_real_pages())));
        }
        if let Some(n) = number(path, "q?id=") {
            return Some(Ok(format!("{title}Empty. <a href=/q?id={}>next</a>", n + 1)));
        }
        if let Some(n) = number(path, "wait/") {
            let to = n + 1;
            return Some(Ok(format!(
                "<meta http-equiv=refresh content='0;url=/wait/{to}'>Please wait, or <a href=/wait/{to}>go</a>"
            )));
        }
        if let Some(n) = number(path, "photo?n=").filter(|n| *n <= 150) {
            let next = if n < 150 {
                format!("<a href=/photo?n={}>next</a>", n + 1)
            } else {
                String::new()
            };
            return Some(Ok(format!("<title>My trip</title><img src=/i/{n}.jpg>{next}")));
        }
        if let Some(rest) = path.strip_prefix("bare/") {
            let seed = rest.bytes().fold(7u64, |sum, b| (sum * 31 + u64::from(b)) % 1_000_003);
            let word = words(seed, 2).trim_end().replace(' ', "/");
            return Some(Ok(format!("<a href=/bare/{word}.html>next</a>")));
        }
        real_pages(path)
    });
    let world = crawl(&raw, "4000");
    let (counted, waited, bare) = (met(&raw, "/q?id="), met(&raw, "/wait/"), met(&raw, "/bare/"));
    println!("{counted} of a counter, {waited} waiting rooms, {bare} of one link");
    assert!((10..60).contains(&counted), "{counted} of a counter");
    assert!((8..15).contains(&waited), "{waited} waiting rooms");
    assert!((100..500).contains(&bare), "{bare} of one link");
    assert_eq!((met(&raw, "/real/"), met(&raw, "/photo?n=")), (20, 150));
    let refused = world.run(&["decisions", "--json"]).out;
    assert!(refused.contains("redirects"), "{refused}");
}

/// A name drawn by lot in title and text, on a short page and on a long one; beside them a register of two hundred
/// names, and one of five hundred things that are described in a line each, by "next" alone.
#[test]
fn a_word_drawn_by_lot_is_no_content_and_a_line_of_description_is() {
    let raw = site(|path| {
        if path.is_empty() {
            let starts = ["short/1", "long/1", "name/1", "thing/1"];
            let starts: String = starts.iter().map(|to| format!("<a href=/{to}>s</a> ")).collect();
            return Some(Ok(format!("<p>{}</p>{}{starts}", words(1, 60), links_to_real_pages())));
        }
        let (kind, n) = path.split_once('/')?;
        let Ok(n) = n.parse::<u64>() else { return real_pages(path) };
        let said = match kind {
            "thing" => words(n + 20_000, 9),
            "short" | "long" | "name" => words(n + 10_000, 1),
            _ => return real_pages(path),
        };
        let frame = match kind {
            "long" => FRAME.repeat(6),
            "short" => "Best offers of the week, order now and save money.".to_owned(),
            _ => FRAME.to_owned(),
        };
        let last = match kind {
            "name" => 200,
            "thing" => 500,
            _ => u64::MAX,
        };
        let next =
            if n < last { format!("<a href=/{kind}/{}>next</a>", n + 1) } else { String::new() };
        Some(Ok(format!("<title>Cheap {said}</title><h1>{said}</h1><p>{frame}</p>{next}")))
    });
    crawl(&raw, "4000");
    for kind in ["short", "long"] {
        let pages = met(&raw, &format!("/{kind}/"));
        println!("{pages} {kind} pages with a word of their own");
        assert!((100..420).contains(&pages), "{pages} {kind} pages");
    }
    assert_eq!((met(&raw, "/real/"), met(&raw, "/name/"), met(&raw, "/thing/")), (20, 200, 500));
}

/// The crawl has other things to do on the same site meanwhile.
#[test]
fn near_duplicates_are_lifted_in_a_running_crawl() {
    let raw = site(|path| {
        if path.is_empty() {
            return Some(Ok(
                "<a href=/picture?n=1>pictures</a> <a href=/post/1>blog</a>".to_owned()
            ));
        }
        if let Some(n) = number(path, "post/") {
            let next = format!("<a href=/post/{}>next</a>", n + 1);
            return Some(Ok(format!("<title>Post</title><p>{}</p>{next}", words(n, 60))));
        }
        let n = number(path, "picture?n=")?;
        let next = format!("<a href=/picture?n={}>next</a>", n + 1);
        Some(Ok(format!("<title>Picture {n}</title><p>{FRAME}</p>{next}")))
    });
    let world = World::new(WebOptions::default());
    let site = format!("127.0.0.1:{}", raw.port);
    world.run(&["seed", &format!("http://{site}/")]).exits(0);
    let crawl = world.start(&["crawl", "--delay", "20ms", "--for", "50s"]);
    world.wait_for("the trap", |world| {
        let rows = world.run(&["traps", "--json"]).json();
        rows["total"] != 0
    });
    let stopped = met(&raw, "picture?n=");
    assert!(stopped < 20, "{stopped} pictures");
    world.run(&["traps", "lift", &site, "/picture?n=*"]).exits(0).says(&["1 trap lifted"]);
    world.wait_for("more pictures", |_| met(&raw, "picture?n=") > stopped + 20);
    crawl.signal("INT");
    crawl.wait(crate::world::PATIENCE).exits(4);
}

/// Six hundred stops that differ in numbers alone, listed by thirty lines; each leads to its own Saturday and Sunday.
#[test]
fn pages_of_numbers_that_are_listed_elsewhere_come_whole_though_each_leads_to_more_of_its_kind() {
    let raw = site(|path| {
        if path.is_empty() {
            let lines: String = (0..30).map(|n| format!("<a href=/line/{n}>line</a> ")).collect();
            return Some(Ok(format!("<p>{}</p>{lines}", words(1, 60))));
        }
        if let Some(line) = number(path, "line/").filter(|line| *line < 30) {
            let stop = |n: u64| format!("<a href=/stop?n={}>stop</a> ", line * 20 + n);
            let stops: String = (0..20).map(stop).collect();
            return Some(Ok(format!("<title>Line</title><p>{}</p>{stops}", words(line + 9, 40))));
        }
        let (n, day) = match path.strip_prefix("stop?n=")?.split_once("&day=") {
            Some((n, day)) => (n.parse::<u64>().ok()?, day.parse::<u64>().ok()?),
            None => (path.strip_prefix("stop?n=")?.parse().ok()?, 0),
        };
        let times: String = (0..12).map(|hour| format!("{hour}:{} ", (n * 7 + day) % 60)).collect();
        let days =
            format!("<a href='/stop?n={n}&day=1'>Sat</a> <a href='/stop?n={n}&day=2'>Sun</a>");
        Some(Ok(format!("<title>Stop {n}</title><h1>Departures</h1>{times}<p>{FRAME}</p>{days}")))
    });
    crawl(&raw, "3000");
    assert_eq!(met(&raw, "/stop?"), 600 * 3);
}

/// A picture a day, walked by "yesterday": the frame around it has more words than the page.
#[test]
fn a_book_of_pictures_comes_whole_in_spite_of_the_words_around_each_and_a_banner_saves_no_counter()
{
    let raw = site(|path| {
        if path.is_empty() {
            let links = "<a href=/photo/300>today</a> <a href=/ad/1>ads</a>";
            return Some(Ok(format!("<p>{}</p>{links}", words(1, 60))));
        }
        let frame = format!("<p>{FRAME}</p>");
        if let Some(n) = number(path, "photo/").filter(|n| *n <= 300) {
            let picture = format!("<img src=/pictures/{n}.jpg>");
            let before = n.checked_sub(1).map(|n| format!("<a href=/photo/{n}>yesterday</a>"));
            return Some(Ok(format!("<title>Day {n}</title>{picture}{frame}{}", before?)));
        }
        let n = number(path, "ad/")?;
        let banner = format!("<img src='/banner?shown={}'>", n * 31);
        Some(Ok(format!("<title>Page {n}</title>{banner}{frame}<a href=/ad/{}>next</a>", n + 1)))
    });
    crawl(&raw, "3000");
    // The first one has no yesterday and is not there.
    assert_eq!(met(&raw, "/photo/"), 301);
    assert!(met(&raw, "/ad/") < 100, "{}", met(&raw, "/ad/"));
}

/// Ten letters, digits, or what the time is, in every link anew: fifteen articles under ever new names.
#[test]
fn articles_under_ever_new_names_of_letters_times_and_digits_come_to_an_end() {
    for form in
        ["/art{n}_{letters}.html", "/art/{n}?_={time}", "/{time}/art/{n}", "/{letters}/art/{n}"]
    {
        let visits = AtomicU64::new(0);
        let raw = site(move |path| {
            let n = path.split("art").nth(1).unwrap_or("0").trim_matches('/');
            let n: String = n.chars().take_while(char::is_ascii_digit).collect();
            let link = |n: u64| {
                let seed = visits.fetch_add(1, Ordering::Relaxed);
                let time = 1_763_300_000_123_456 + seed * 977;
                let name = form.replace("{n}", &n.to_string()).replace("{time}", &time.to_string());
                format!("<a href={}>a</a> ", name.replace("{letters}", &letters(seed)))
            };
            let time = visits.load(Ordering::Relaxed);
            let clock = match form.contains("?_=") {
                true => format!("Now it is 12:{:02}:{:02}.", time / 60 % 60, time % 60),
                false => String::new(),
            };
            let links: String = (1..16).map(link).collect();
            let text = words(n.parse().unwrap_or(0) + 77, 60);
            Some(Ok(format!("<title>Article {n}</title><p>{text}</p><p>{clock}</p>{links}")))
        });
        crawl(&raw, "3000");
        let all = met(&raw, "art");
        println!("{all} of {form}");
        assert!((15..1_000).contains(&all), "{all} of {form}");
    }
}

pub fn letters(seed: u64) -> String {
    let mut bits = seed + 1;
    let mut letter = || {
        bits = (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(23);
        char::from(b'a' + (bits >> 32) as u8 % 26)
    };
    (0..16).map(|_| letter()).collect()
}

/// Each page leads to five more of the same, in folders that nobody can foresee.
#[test]
fn what_near_duplicates_led_to_is_not_visited_once_they_are_found_out() {
    let raw = site(|path| {
        if path.is_empty() {
            return Some(Ok(format!(
                "<p>{}</p>{}<a href=/w/x.html>w</a>",
                words(1, 60),
                links_to_real_pages()
            )));
        }
        if !path.ends_with(".html") {
            return real_pages(path);
        }
        let seed = path.bytes().fold(7u64, |sum, b| (sum * 31 + u64::from(b)) % 1_000_003);
        let link =
            |k| format!("<a href=/{}.html>w</a> ", words(seed + k, 3).trim().replace(' ', "/"));
        let links: String = (0..5).map(link).collect();
        Some(Ok(format!("<title>Offer</title><p>Offer {seed}. {FRAME}</p>{links}")))
    });
    crawl(&raw, "4000");
    let pages = met(&raw, ".html");
    println!("{pages} offers");
    assert!(pages < 1_000, "{pages} offers");
    assert_eq!(met(&raw, "/real/"), 20);
}
