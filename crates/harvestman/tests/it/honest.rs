//! Sites that look like a trap and are none, each beside the trap that it looks like: lists of pages with little to say,
//! pages whose content is numbers. All of the first comes, and the second ends.

use simweb::WebOptions;

use crate::{
    endless::{FRAME, crawl, letters, links_to_real_pages, met, number, real_pages, site, words},
    world::World,
};

/// Figures that stand nowhere else.
fn figures(seed: u64, count: u64) -> String {
    let figure = |k: u64| {
        let n = (seed * 31 + k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
        format!("{},{:03} ", n / 1_000 + 1, n % 1_000)
    };
    (0..count).map(figure).collect()
}

/// Three hundred entries without a word of their own, in lists that are found by a pager. Each leads to more of its kind
/// that no list names, without end.
#[test]
fn what_lists_name_comes_to_their_end_and_what_only_its_like_leads_to_does_not() {
    let raw = site(|path| {
        if path.is_empty() {
            let start = "<a href=/index/1>index</a>";
            return Some(Ok(format!("<p>{}</p>{}{start}", words(1, 60), links_to_real_pages())));
        }
        if let Some(page) = number(path, "index/").filter(|page| *page <= 30) {
            let entries: String =
                (0..10).map(|n| format!("<a href=/entry?n={}>e</a> ", page * 10 + n)).collect();
            let next = format!("<a href=/index/{}>next</a>", page + 1);
            return Some(Ok(format!("<p>{}</p>{entries}{next}", words(page + 50, 40))));
        }
        let Some(n) = number(path, "entry?n=") else { return real_pages(path) };
        let next = format!("<a href=/entry?n={}>next</a>", n + 1_000);
        Some(Ok(format!("<title>Entry {n}</title><p>Entry {n}. Empty.</p>{next}")))
    });
    crawl(&raw, "3000");
    let asked = raw.asked();
    let is_asked = |n: &u64| asked.iter().any(|place| place.ends_with(&format!("/entry?n={n}")));
    let listed = (10..310).filter(is_asked).count();
    let others = met(&raw, "/entry?n=") - listed;
    println!("{listed} listed entries, {others} others");
    assert_eq!((listed, met(&raw, "/real/")), (300, 20));
    assert!((10..150).contains(&others), "{others} others");
}

/// Days and months that lead to each other without end, and say nothing but for the first days.
#[test]
fn two_kinds_of_pages_that_list_each_other_come_to_an_end() {
    let raw = site(|path| {
        if path.is_empty() {
            return Some(Ok(format!(
                "<p>{}</p>{}<a href=/month/1>m</a>",
                words(1, 60),
                links_to_real_pages()
            )));
        }
        if let Some(n) = number(path, "month/") {
            let days: String =
                (0..5).map(|k| format!("<a href=/day/{}>d</a> ", n * 5 + k)).collect();
            return Some(Ok(format!("<title>Month {n}</title><p>Month {n}. {FRAME}</p>{days}")));
        }
        match number(path, "day/") {
            Some(n) => {
                let links =
                    format!("<a href=/month/{}>m</a> <a href=/day/{}>n</a>", n / 5 + 1, n + 1);
                let said = if n < 9 { words(n, 30) } else { String::new() };
                Some(Ok(format!("<title>Day {n}</title><p>Day {n}. {said}{FRAME}</p>{links}")))
            }
            None => real_pages(path),
        }
    });
    crawl(&raw, "3000");
    let pages = met(&raw, "/day/") + met(&raw, "/month/");
    println!("{pages} days and months");
    assert!(pages < 400, "{pages} days and months");
    assert_eq!(met(&raw, "/real/"), 20);
}

/// A census as a tree of regions, and results of a league by "next"; beside them a calendar, and lists that tell when
/// they were made.
#[test]
fn numbers_are_content_and_calendars_and_clocks_are_not() {
    const REGIONS: u64 = 400;
    let raw = site(|path| {
        if path.is_empty() {
            let starts = ["region/1", "round/1", "month?n=1", "list?page=7"];
            let starts: String = starts.iter().map(|to| format!("<a href=/{to}>s</a> ")).collect();
            return Some(Ok(format!("<p>{}</p>{}{starts}", words(1, 60), links_to_real_pages())));
        }
        if let Some(n) = number(path, "region/").filter(|n| *n <= REGIONS) {
            let parts = (n * 3 - 1..n * 3 + 2).filter(|n| *n <= REGIONS);
            let parts: String = parts.map(|n| format!("<a href=/region/{n}>part</a> ")).collect();
            let said = format!("<p>Population, area, density: {}</p>", figures(n, 9));
            return Some(Ok(format!("<title>Region {n}</title>{said}<p>{FRAME}</p>{parts}")));
        }
        if let Some(n) = number(path, "round/").filter(|n| *n <= 150) {
            let result = |k: u64| {
                let n = (n * 31 + k).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                format!("{}:{} ", n % 97 + 60, n / 97 % 97 + 60)
            };
            let results: String = (0..9).map(result).collect();
            let next = format!("<a href=/round/{}>next</a>", n + 1);
            return Some(Ok(format!("<title>Round {n}</title>{results}<p>{FRAME}</p>{next}")));
        }
        if let Some(n) = number(path, "month?n=") {
            let days: String = (1..=28 + n % 4).map(|day| format!("<td>{day}</td> ")).collect();
            let (year, month) = (2026 + n / 12, n % 12 + 1);
            let next = format!("<a href=/month?n={}>next</a>", n + 1);
            let said = format!("{year}/{month} <table><tr>{days}</table>");
            return Some(Ok(format!("<title>{year}/{month}</title>{said}<p>{FRAME}</p>{next}")));
        }
        if let Some(n) = number(path, "list?page=") {
            let made = format!("Made at 12:{:02}:{:02} in 0.00{} s", n / 60 % 60, n % 60, n * 7);
            let place = format!("{} to {} of 90, visitor {}", n * 10, n * 10 + 9, 18_235 + n * 3);
            let next = format!("<a href=/list?page={}>next</a>", n + 1);
            let said = format!("Page {n}: {place}. {made}.");
            return Some(Ok(format!("<title>List</title><p>{said}</p><p>{FRAME}</p>{next}")));
        }
        real_pages(path)
    });
    crawl(&raw, "3000");
    let (months, lists) = (met(&raw, "/month?"), met(&raw, "/list?"));
    println!("{months} months, {lists} lists");
    assert_eq!((met(&raw, "/region/"), met(&raw, "/round/")), (REGIONS as usize, 151));
    assert!((8..100).contains(&months), "{months} months");
    assert!((8..100).contains(&lists), "{lists} lists");
    assert_eq!(met(&raw, "/real/"), 20);
}

/// Of a list of a hundred pages the first eighty name only what is blocked; beside it a counter with a blocked menu.
#[test]
fn a_list_of_what_is_blocked_is_read_to_its_end_and_a_blocked_menu_saves_no_counter() {
    let raw = site(|path| {
        if path.is_empty() {
            let lists = "<a href=/short?page=1>list</a> <a href=/long?page=1>list</a>";
            let starts = format!("{lists} <a href=/q?id=1>q</a>");
            return Some(Ok(format!("<p>{}</p>{starts}", words(1, 60))));
        }
        if let Some(n) = number(path, "q?id=") {
            let menu = "<a href=/old/1>menu</a> <a href=/old/2>menu</a>";
            return Some(Ok(format!("<title>Q</title>{menu}Empty. <a href=/q?id={}>n</a>", n + 1)));
        }
        let (list, n) = path.split_once("?page=").unwrap_or_default();
        if let Some(n) = n.parse::<u64>().ok().filter(|n| *n <= 100) {
            let kind = if n <= 80 { "old" } else { "new" };
            let item = |k| format!("<a href=/{kind}/{list}{}>i</a> ", n * 5 + k);
            let items: String = (0..5).map(item).collect();
            let next = format!("<a href=/{list}?page={}>next</a>", n + 1);
            let frame = if path.starts_with("long") { FRAME } else { "Things" };
            return Some(Ok(format!("<title>Page {n}</title>{frame} {items}{next}")));
        }
        let name = path.strip_prefix("new/")?;
        let n = name.bytes().fold(0, |sum: u64, b| sum * 31 % 1_000_003 + u64::from(b));
        Some(Ok(format!("<title>Thing</title><p>{}</p>", words(n, 60))))
    });
    let world = World::new(WebOptions::default());
    let home = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["block", &format!("{home}old/*")]).exits(0);
    world.run(&["crawl", &home, "--delay", "0", "--pages", "3000"]).exits(0);
    assert_eq!((met(&raw, "/new/"), met(&raw, "/old/")), (200, 0));
    let counted = met(&raw, "/q?id=");
    assert!((10..70).contains(&counted), "{counted} of a counter");
}

/// A list of how to cite sixty sets, in the same words for all; each leads to a view of its own.
#[test]
fn what_is_alike_under_one_name_wears_out_no_other() {
    let raw = site(|path| {
        let id =
            |n: u64| format!("{:08x}-1b2c-4d3e-8f4a-{n:012x}", n * 2_654_435_761 % 0xffff_ffff);
        let to = |n: u64, part: &str| format!("<a href=/set/{}/{part}>{part}</a> ", id(n));
        if path.is_empty() {
            let cites: String = (0..60).map(|n| to(n, "cite")).collect();
            return Some(Ok(format!("<p>{}</p>{cites}", words(1, 60))));
        }
        let (set, part) = path.strip_prefix("set/")?.split_once('/')?;
        let n = u64::from_str_radix(set.rsplit('-').next()?, 16).ok().filter(|n| *n < 60)?;
        Some(Ok(match part {
            "view" => format!("<p>{}</p>{}", words(n + 5, 60), to(n, "data")),
            "cite" => format!("<title>Cite</title><p>Cite as {n}. {FRAME}</p>{}", to(n, "view")),
            _ => format!("<title>Data</title><p>Data {n}. {FRAME} {FRAME}</p>"),
        }))
    });
    crawl(&raw, "3000");
    assert_eq!((met(&raw, "/view"), met(&raw, "/data")), (60, 60));
}

/// Months by "previous" alone, each with its days: with a sentence each, and with one now and then.
#[test]
fn months_are_walked_to_the_first_while_their_days_say_something() {
    for every in [1, 7] {
        let raw = site(move |path| {
            let say = |title: &str, links: &str| {
                Some(Ok(format!("<title>{title}</title><h1>{title}</h1><p>{FRAME}</p>{links}")))
            };
            if path.is_empty() {
                return Some(Ok(format!("<p>{}</p><a href=/month/60>m</a>", words(1, 60))));
            }
            if let Some(month) = number(path, "month/").filter(|month| *month > 0) {
                let day = |day| format!("<a href=/day/{month}/{day}>{day}</a> ");
                let days: String = (1..11).map(day).collect();
                let before = format!("<a href=/month/{}>previous</a>", month - 1);
                return say(&format!("Month {month}"), &format!("{days}{before}"));
            }
            let (month, day) = path.strip_prefix("day/")?.split_once('/')?;
            let n = month.parse::<u64>().ok()? * 10 + day.parse::<u64>().ok()?;
            let said = if n % every == 0 { words(n, 12) } else { "Nothing.".to_owned() };
            say(&format!("Day {month}/{day}"), &format!("<p>{said}</p>"))
        });
        crawl(&raw, "3000");
        println!(
            "{} months, {} days, a sentence every {every}",
            met(&raw, "/month/"),
            met(&raw, "/day/")
        );
        assert_eq!((met(&raw, "/month/"), met(&raw, "/day/")), (61, 600), "every {every}");
    }
}

/// Things that differ in a number, on a few pages of a list.
#[test]
fn a_small_shop_comes_whole() {
    for (pages, things) in [(2, 5), (4, 4), (9, 2), (3, 12)] {
        let raw = site(move |path| {
            if path.is_empty() {
                return Some(Ok(format!("<p>{}</p><a href=/shop?page=1>shop</a>", words(1, 60))));
            }
            if let Some(page) = number(path, "shop?page=").filter(|page| *page <= pages) {
                let thing = |k| format!("<a href=/thing/{}>thing</a> ", (page - 1) * things + k);
                let list: String = (0..things).map(thing).collect();
                let next = format!("<a href=/shop?page={}>next</a>", page + 1);
                return Some(Ok(format!("<title>Shop {page}</title><p>{FRAME}</p>{list}{next}")));
            }
            let n = number(path, "thing/")?;
            Some(Ok(format!("<title>Thing</title><p>It costs {n} Euro. {FRAME}</p>")))
        });
        crawl(&raw, "3000");
        let wanted = (pages * things) as usize;
        assert_eq!(met(&raw, "/thing/"), wanted, "{pages} pages of {things} things");
    }
}

/// Four hundred events with a file each that is not wanted; beside them, what begins with files and goes on with pages.
#[test]
fn files_that_are_not_wanted_are_asked_for_some_fifty_times_and_pages_behind_them_all_come() {
    let film = || Err(("200 OK", "Content-Type: video/mp4".to_owned()));
    let raw = site(move |path| {
        if path.is_empty() {
            let links = |kind: &str, count: u64| -> String {
                (0..count).map(|n| format!("<a href=/{kind}/{n}>e</a> ")).collect()
            };
            let links = [links("event", 400), links("get", 160)].concat();
            return Some(Ok(format!("<p>{}</p>{links}", words(1, 60))));
        }
        if let Some(n) = number(path, "event/") {
            let file = format!("<a href=/film/{n}>film</a>");
            return Some(Ok(format!("<title>Event</title><p>{}</p>{file}", words(n, 40))));
        }
        if number(path, "film/").is_some() {
            return Some(film());
        }
        Some(match number(path, "get/")? {
            n if n < 100 => film(),
            n => Ok(format!("<title>Page</title><p>{}</p>", words(n + 5_000, 40))),
        })
    });
    let world = crawl(&raw, "3000");
    let films = met(&raw, "/film/");
    println!("{films} of 400 films, {} of 160 others", met(&raw, "/get/"));
    assert_eq!(met(&raw, "/event/"), 400);
    assert!((50..120).contains(&films), "{films} of 400 films");
    let asked = raw.asked();
    let is_asked = |n: &u64| asked.iter().any(|place| place.ends_with(&format!("/get/{n}")));
    assert_eq!((100..160).filter(is_asked).count(), 60);
    let refused = world.run(&["decisions", "--json"]).out;
    assert!(refused.contains("has nothing of what /film/* gave so far"), "{refused}");
}

/// Pages by "next" under names that look drawn by lot, each with a text of its own.
#[test]
fn names_of_letters_digits_and_times_are_honest_where_the_pages_differ() {
    for form in ["/doc/{letters}.html", "/{digits}/view", "/doc?_={digits}", "/{letters}/view"] {
        let name = move |n: u64| {
            let digits = (1_763_300_000_123_456 + n * 977).to_string();
            form.replace("{letters}", &letters(n)).replace("{digits}", &digits)
        };
        let raw = site(move |path| {
            let at = (0..150).find(|n| name(*n)[1..] == *path);
            let next = match (path, at) {
                ("", _) => name(0),
                (_, Some(n)) => name(n + 1),
                _ => return None,
            };
            let text = words(at.unwrap_or(900), 40);
            Some(Ok(format!("<title>Page</title><p>{text}</p><a href={next}>next</a>")))
        });
        crawl(&raw, "3000");
        let asked = raw.asked();
        let missing = |n: &u64| !asked.iter().any(|place| place.ends_with(&name(*n)));
        assert_eq!((0..150).filter(missing).count(), 0, "{form}");
    }
}

/// Every page of a shop has one thing, which is blocked: so all pages are alike and lead nowhere.
#[test]
fn what_was_left_because_its_links_were_blocked_comes_when_the_block_is_lifted() {
    let raw = site(|path| {
        if path.is_empty() {
            return Some(Ok(format!("<p>{}</p><a href=/shop?page=1>shop</a>", words(1, 60))));
        }
        if let Some(page) = number(path, "shop?page=").filter(|page| *page <= 40) {
            let links =
                format!("<a href=/thing/{page}>t</a> <a href=/shop?page={}>n</a>", page + 1);
            return Some(Ok(format!("<title>Shop</title><p>Page {page}. {FRAME}</p>{links}")));
        }
        let n = number(path, "thing/")?;
        Some(Ok(format!("<title>Thing</title><p>{}</p>", words(n, 60))))
    });
    let world = World::new(WebOptions::default());
    let home = format!("http://127.0.0.1:{}/", raw.port);
    let things = format!("{home}thing/*");
    world.run(&["block", &things]).exits(0);
    world.run(&["crawl", &home, "--delay", "0"]).exits(0);
    assert!(met(&raw, "/shop?") < 20, "{}", met(&raw, "/shop?"));
    world.run(&["block", "--remove", &things]).exits(0);
    world.run(&["crawl", "--delay", "0"]).exits(0);
    // The last leads to one that is not there. Links of the first, which were read, are found when these are read again.
    assert_eq!(met(&raw, "/shop?"), 41);
    assert!(met(&raw, "/thing/") > 25, "{}", met(&raw, "/thing/"));
}

/// A link without its slash at the beginning, on a server that answers with the same three pages whatever stands before
/// their names: ever deeper folders, a pattern for each, and no content that leads the others. Beside it sixty articles,
/// each of which leads to the next.
#[test]
fn copies_in_ever_deeper_folders_end_and_what_other_pages_lead_to_comes() {
    let raw = site(|path| {
        if path.is_empty() {
            return Some(Ok(format!(
                "<p>{}</p><a href=a/news/>a</a><a href=/art/1>1</a>",
                words(1, 60)
            )));
        }
        if let Some(n) = number(path, "art/").filter(|n| *n <= 60) {
            let next = format!("<a href=/art/{}>next</a>", n + 1);
            return Some(Ok(format!("<title>{n}</title><p>{}</p>{next}", words(n + 100, 80))));
        }
        let name = path.strip_prefix("a/")?.trim_end_matches('/').rsplit('/').next()?;
        let kind = ["news", "about", "shop"].iter().position(|known| *known == name)?;
        let links = "<a href=news/>n</a> <a href=about/>a</a> <a href=shop/>s</a>";
        Some(Ok(format!("<title>{name}</title><p>{}</p>{links}", words(kind as u64 + 10, 80))))
    });
    crawl(&raw, "3000");
    let (articles, copies) = (met(&raw, "/art/"), met(&raw, "/a/"));
    println!("{articles} articles, {copies} copies");
    assert!(articles >= 60, "{articles} of 60 articles");
    assert!(copies < 600, "{copies} copies");
}
