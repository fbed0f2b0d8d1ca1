//! Traps as they come, page after page, and ordinary sites that must not be taken for such.

use std::time::{Duration, Instant};

use model::{CrawlUrl, Hazard, Looks, Timestamp, TokenPlace, UrlTraps, testing::example as url};
use proptest::prelude::*;

use super::{
    growth::growing,
    looks,
    order::without_order,
    pattern::{Pattern, via},
    session::SessionNames,
    token, *,
};

mod urls;
mod verdicts;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// As the gatherer makes it: the words without their digits.
fn skeleton(text: &str) -> u64 {
    hash(&text.replace(|c: char| c.is_ascii_digit(), ""))
}

/// Pages that come one after the other.
struct Site {
    traps: UrlTraps,
    watch: Watch,
    rules: TrapRules,
    tripped: Vec<Tripped>,
    seeded: bool,
    elapsed: Duration,
    /// What led to each; nothing: the one before it, of its own kind.
    via: Option<u32>,
}

impl Site {
    fn new() -> Site {
        Site {
            traps: UrlTraps::default(),
            watch: Watch::default(),
            rules: TrapRules::default(),
            tripped: Vec::new(),
            seeded: true,
            via: None,
            elapsed: Duration::from_millis(10),
        }
    }

    /// Each is found by the one before it.
    fn page(&mut self, rest: &str, text: &str, inside: u32, outside: u32) {
        self.page_of(rest, text, text, inside, outside);
    }

    /// `bytes`: what stands around the text.
    fn page_of(&mut self, rest: &str, text: &str, bytes: &str, inside: u32, outside: u32) {
        let words = words(text, &url(rest));
        let looks = Looks {
            words,
            content: hash(bytes),
            text: hash(text),
            skeleton: skeleton(text),
            text_bytes: text.len() as u64,
            shown: crate::shown(bytes.as_bytes(), text, hash(bytes)),
        };
        let found = Found { inside, outside };
        let (seeded, elapsed) = (self.seeded, self.elapsed);
        let via = self.via.unwrap_or_else(|| via::of(&Pattern::of(&url(rest)).text));
        let (seed, numbered) = (false, false);
        let seen = Observation { looks, via, numbered, seed, seeded, found, elapsed, now: NOW };
        let tripped = self.watch.observe(&mut self.traps, &self.rules, &url(rest), &seen);
        self.tripped.extend(tripped);
    }

    fn refuses(&self, rest: &str) -> Option<Hazard> {
        objection(&url(rest), &self.traps, &self.rules, false).map(|objection| objection.hazard)
    }

    fn hazards(&self) -> Vec<Hazard> {
        self.tripped.iter().map(|tripped| tripped.hazard).collect()
    }
}

fn looks_of(url: &CrawlUrl, text: &str) -> Looks {
    let (content, text_bytes) = (hash(text), text.len() as u64);
    let (skeleton, words) = (skeleton(text), words(text, url));
    Looks { content, text: hash(text), skeleton, text_bytes, shown: 0, words }
}

#[test]
fn the_page_for_nothing_is_known_though_it_tells_the_time_an_identifier_and_what_was_asked_for() {
    let mut site = Site::new();
    let sorry = |asked: &str, n: u64| {
        format!(
            "Sorry, there is nothing at {asked} on this server. Asked at 10:0{n}, as request {:x}a{n}.",
            n * 77_777
        )
    };
    for n in 0..20 {
        site.page(&format!("/a/{n}"), &prose(n), 1, 0);
    }
    for n in 0..4 {
        let path = format!("/dead/end-{n}");
        site.page(&path, &sorry(&path, n), 0, 2);
    }
    assert!(site.watch.wants_probe(&site.traps, &site.rules));
    let probe = probe(&url("/a/1")).unwrap();
    let looks = looks_of(&probe, &sorry(probe.path(), 9));
    site.watch.probe_answered(&mut site.traps, Some(looks), NOW);
    let is_missing = |site: &Site, path: &str, text: &str| {
        site.watch.is_missing(&site.traps, &site.rules, &looks_of(&url(path), text))
    };
    assert!(is_missing(&site, "/dead/horse", &sorry("/dead/horse", 3)));
    assert!(is_missing(&site, "/dead/horse", &sorry("horse", 3)), "its name alone");
    assert!(!is_missing(&site, "/dead/horse", &sorry("/dead/horse and there never was", 3)));
    assert!(!is_missing(&site, "/a/1", &prose(1)));
}

#[test]
fn a_session_that_is_also_written_on_the_page_is_found_out() {
    let mut site = Site::new();
    for n in 0..4u64 {
        for visit in 0..2u64 {
            let id = format!("k{:015x}7", (n * 2 + visit + 1) * 0x0123_4567_89ab);
            let text = format!("{} Your visit is {id}, keep it.", prose(n));
            site.page(&format!("/thing/{n}?visit={id}"), &text, 1, 1);
        }
    }
    assert_eq!(site.hazards(), [Hazard::SessionIds]);
    assert_eq!(site.tripped[0].what, "?visit=*");
    let other = |n: u64| format!("/doc?key=c{:015x}9", (n + 1) * 0x0123_4567_89ab);
    let mut site = Site::new();
    for n in 0..40 {
        let rest = other(n);
        let text = format!("The paper kept under {} is here, and may be read.", &rest[9..]);
        site.page(&rest, &text, 0, 1);
    }
    assert!(!site.hazards().contains(&Hazard::SessionIds), "here it is the name of a thing");
}

fn hash(text: &str) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn prose(seed: u64) -> String {
    let words = ["river", "stone", "bread", "lamp", "mill", "cloud", "tree", "road", "wind", "sea"];
    let word = |k: u64| words[(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (k % 60)) as usize % 10];
    (0..60).map(|k| format!("{} ", word(k))).collect()
}

#[test]
fn ten_of_the_same_content_stop_the_pattern_and_twenty_more_the_site() {
    let mut site = Site::new();
    for n in 0..30 {
        site.page(&format!("/about/{}", ["us", "team", "jobs"][n % 3]), &prose(n as u64), 0, 1);
    }
    for n in 0..11 {
        site.page(&format!("/product/{n}"), "the database is not available", 0, 3);
    }
    assert_eq!(site.hazards(), [Hazard::ManyDuplicates]);
    assert_eq!(site.refuses("/product/4711"), Some(Hazard::ManyDuplicates));
    assert_eq!(site.refuses("/about/else"), None, "the rest of the site goes on");
    for n in 0..24 {
        let part = ["offers", "gifts"][n / 12];
        site.page(&format!("/{part}/{n}"), "the database is not available", 0, 3);
    }
    assert_eq!(
        site.refuses("/about/else"),
        Some(Hazard::ManyDuplicates),
        "now the site is stopped"
    );
    assert_eq!(
        objection(&url("/about/else"), &site.traps, &site.rules, true),
        None,
        "what is known is still visited"
    );
    site.traps.lift(None);
    assert_eq!(site.refuses("/product/4711"), None);
    for n in 20..60 {
        site.page(&format!("/product/{n}"), "the database is not available", 0, 3);
    }
    assert_eq!(site.refuses("/product/4711"), None, "what was lifted is left alone");
}

#[test]
fn a_calendar_without_end_is_stopped_and_its_neighbours_are_not() {
    let mut site = Site::new();
    let months = ["January", "May", "June", "December"];
    for n in 0..60 {
        site.page(
            &format!("/cal?y={}&m={n}", 2026 + n),
            &format!("Nothing happens in {} {n}, this calendar is empty.", months[n % 4]),
            1,
            0,
        );
    }
    assert_eq!(site.hazards(), [Hazard::Counter]);
    assert_eq!(site.refuses("/cal?m=999&y=9999"), Some(Hazard::Counter));
    assert_eq!(site.refuses("/cal?event=9"), None);
}

#[test]
fn a_counter_of_next_to_nothing_is_stopped_and_a_gallery_of_pictures_is_not() {
    let mut counter = Site::new();
    for n in 0..60 {
        let bytes = format!("<a href=/q?id={}>next</a>", n + 1);
        counter.page_of(&format!("/q?id={n}"), "Item Empty.", &bytes, 1, 0);
    }
    assert_eq!(counter.hazards(), [Hazard::Counter]);
    let mut gallery = Site::new();
    for n in 0..300 {
        let bytes = format!("<a href=/view?img={}><img src=/i/{n}.jpg></a>", n + 1);
        gallery.page_of(&format!("/view?img={n}"), "My trip", &bytes, 1, 0);
    }
    assert_eq!(gallery.tripped, []);
}

#[test]
fn ordinary_sites_do_not_trip() {
    let mut blog = Site::new();
    for n in 0..2_000u64 {
        blog.page(&format!("/post/{n}"), &format!("Post {n}: {}", prose(n)), 1, 0);
    }
    assert_eq!(blog.tripped, []);
    let mut shop = Site::new();
    for n in 0..2_000 {
        // Part numbers and prices only, but found in lists, not by each other.
        shop.page(
            &format!("/part/{n}"),
            &format!("Part {n} costs {} and is on stock, order it now.", n * 3),
            0,
            0,
        );
    }
    assert_eq!(shop.tripped, []);
    let mut wiki = Site::new();
    for n in 0..2_000u64 {
        let text = if n % 3 == 0 {
            "There is no such article yet, write it!".to_owned()
        } else {
            prose(n)
        };
        wiki.page(&format!("/wiki/word{n}"), &text, 2, 0);
    }
    assert_eq!(wiki.tripped, []);
    let mut gallery = Site::new();
    for n in 0..300 {
        gallery.page_of(&format!("/photo/{n}"), "next previous", &format!("<img src={n}>"), 0, 0);
    }
    assert_eq!(gallery.tripped, []);
}

#[test]
fn an_unknown_session_is_found_by_evidence_and_rewritten() {
    let mut site = Site::new();
    let token = |k: u64| format!("{:016x}", hash(&k.to_string()));
    for k in 0..3 {
        for page in ["a", "b", "c", "d"] {
            let text =
                format!("This is page {page} and it has a text of its own: {}", prose(hash(page)));
            let bytes = format!("{text} <a href=?visitor={}>", token(k));
            site.page_of(&format!("/{page}?visitor={}", token(k)), &text, &bytes, 1, 0);
        }
    }
    assert_eq!(site.hazards(), [Hazard::SessionIds]);
    let tokens = &site.traps.tokens;
    assert_eq!(tokens[0].place, TokenPlace::Query("visitor".to_owned()));
    let next = url(&format!("/e?x=1&visitor={}", token(9)));
    let (rewritten, _) = token::rewrite(&next, tokens).unwrap();
    assert_eq!(rewritten, url(&format!("/e?x=1&visitor={}", token(0))));
    assert_eq!(token::rewrite(&rewritten, tokens), None, "once is enough");
    assert_eq!(token::rewrite(&url("/e?x=1"), tokens), None);
    let others: Vec<CrawlUrl> = token::others(&rewritten, tokens).collect();
    assert!(others.contains(&url(&format!("/e?x=1&visitor={}", token(1)))));
}

#[test]
fn a_session_in_the_path_is_found_too() {
    let mut site = Site::new();
    let token = |k: u64| format!("s-{:016x}", hash(&k.to_string()));
    for k in 0..3 {
        for page in ["a", "b", "c"] {
            let text =
                format!("This is page {page} and it has a text of its own: {}", prose(hash(page)));
            site.page_of(&format!("/shop/{}/{page}", token(k)), &text, &format!("{text}{k}"), 1, 0);
        }
    }
    assert_eq!(site.hazards(), [Hazard::SessionIds]);
    let next = url(&format!("/shop/{}/zzz", token(77)));
    let (rewritten, _) = token::rewrite(&next, &site.traps.tokens).unwrap();
    assert_eq!(rewritten, url(&format!("/shop/{}/zzz", token(0))));
}

#[test]
fn what_matters_on_some_pages_is_no_session() {
    let mut site = Site::new();
    let id = |k: u64| format!("{:016x}", hash(&k.to_string()));
    for k in 0..20 {
        site.page(&format!("/product?id={}", id(k)), &prose(k + 1_000), 3, 0);
        for part in ["reviews", "photos", "questions"] {
            let empty = format!("There are no {part} of this product yet, be the first!");
            site.page(&format!("/product/{part}?id={}", id(k)), &empty, 0, 0);
        }
    }
    assert_eq!(site.traps.tokens, [], "the same empty lists under all products");
    let mut broken = Site::new();
    for k in 0..9 {
        broken.page(
            &format!("/product?id={}", id(k)),
            "the database is not available, sorry!",
            0,
            0,
        );
    }
    assert_eq!(broken.traps.tokens, []);
}

#[test]
fn a_print_button_that_changes_nothing_is_left_out_and_other_values_stay() {
    let mut site = Site::new();
    for n in 0..8u64 {
        let text = format!("Article {n}: {}", prose(n));
        site.page(&format!("/article-{n}"), &text, 1, 0);
        site.page(&format!("/article-{n}?print=1"), &text, 0, 0);
    }
    assert_eq!(site.hazards(), [Hazard::Variants]);
    let rewrite = |rest: &str| token::rewrite(&url(rest), &site.traps.tokens).map(|(url, _)| url);
    assert_eq!(rewrite("/article-99?print=1"), Some(url("/article-99")));
    assert_eq!(rewrite("/article-99?print=2"), None);
    assert_eq!(rewrite("/article-99?print=1&print=2"), Some(url("/article-99?print=2")));
}

#[test]
fn combinations_of_parameters_are_stopped_when_they_lead_nowhere_new() {
    let mut site = Site::new();
    let mut fetched = 0;
    'all: for a in 0..20 {
        for b in 0..20 {
            if site.refuses(&format!("/shop?f{a}=1&f{b}=2&z={a}{b}")).is_some() {
                break 'all;
            }
            let rest = format!("/shop?f{a}=1&f{b}=2&z={a}{b}");
            site.page(&rest, &prose(a * 20 + b), 5, u32::from(fetched < 50));
            site.page(
                &format!("/shop?cat=1&page={fetched}"),
                &prose(fetched + 5_000),
                1,
                u32::from(fetched % 3 == 0),
            );
            fetched += 1;
        }
    }
    assert_eq!(site.tripped, [], "new things come now and then");
    for a in 0..20 {
        for b in 0..20 {
            site.page(&format!("/shop?f{a}=1&f{b}=3&z={a}"), &prose(a * 20 + b), 5, 0);
        }
    }
    assert_eq!(site.hazards(), [Hazard::Variants]);
    assert_eq!(site.refuses("/shop?f1=9&f2=9"), Some(Hazard::Variants));
    assert_eq!(site.refuses("/shop?cat=1&page=77"), None, "what led to something is taken");
    assert_eq!(site.refuses("/shop?cat=1"), None);
    assert_eq!(site.refuses("/product/1"), None);
}

#[test]
fn a_slow_site_without_end_is_left_alone_unless_a_seed_names_it() {
    let slow = |seeded| {
        let mut site = Site::new();
        (site.seeded, site.elapsed) = (seeded, Duration::from_secs(20));
        for n in 0..60 {
            site.page(&format!("/x/{n}"), &prose(n), 3, 3);
        }
        site
    };
    let site = slow(false);
    assert_eq!(site.hazards(), [Hazard::Tarpit]);
    assert!(objection(&url("/x/77"), &site.traps, &site.rules, true).is_some());
    assert_eq!(slow(true).tripped, []);
}

#[test]
fn a_site_is_asked_for_nothing_only_when_its_pages_are_alike() {
    let mut site = Site::new();
    for n in 0..30 {
        site.page(&format!("/a/{n}"), &prose(n), 1, 0);
    }
    assert!(!site.watch.wants_probe(&site.traps, &site.rules));
    let sorry = "We could not find it, but look what else we have for you today";
    for n in 0..4 {
        site.page(&format!("/dead/{n}"), sorry, 0, 2);
    }
    assert!(site.watch.wants_probe(&site.traps, &site.rules));
    let probe = probe(&url("/a/1")).unwrap();
    assert!(looks::is_probe(&probe) && !looks::is_probe(&url("/a/1")), "{probe}");
    let looks = looks_of(&probe, sorry);
    site.watch.probe_answered(&mut site.traps, Some(looks), NOW);
    assert!(!site.watch.wants_probe(&site.traps, &site.rules), "once");
    let is_missing = |site: &Site, looks| site.watch.is_missing(&site.traps, &site.rules, &looks);
    let same = Looks { content: 2, ..looks };
    assert!(is_missing(&site, same));
    assert!(!is_missing(&site, looks_of(&url("/a/1"), &prose(1))));
    for rules in [
        TrapRules { soft_404: false, ..TrapRules::default() },
        TrapRules { on: false, ..TrapRules::default() },
    ] {
        assert!(!site.watch.is_missing(&site.traps, &rules, &same), "switched off");
    }
    site.traps.lift(Some("soft-404"));
    assert!(!is_missing(&site, same) && !site.watch.wants_probe(&site.traps, &site.rules));
    site.watch.probe_answered(&mut site.traps, Some(looks), NOW);
    assert!(!is_missing(&site, same), "an answer that was on its way");
}

#[test]
fn a_page_with_a_name_that_waits_is_visited_unless_most_beside_it_are_copies() {
    let mut site = Site::new();
    for n in 0..30u8 {
        let name = char::from(b'a' + n % 26);
        site.page(
            &format!("/page-{name}{}", ["x", "y"][usize::from(n / 26)]),
            &prose(n.into()),
            0,
            1,
        );
    }
    let copy = |site: &mut Site, n: u8| {
        let name: String = [n / 26, n % 26].iter().map(|k| char::from(b'a' + k)).collect();
        site.page(&format!("/gone-{name}"), "the database is not available", 0, 0);
    };
    (0..11).for_each(|n| copy(&mut site, n));
    assert_eq!(site.refuses("/about"), Some(Hazard::ManyDuplicates), "no new ones");
    let waits = |site: &Site, rest: &str| objection(&url(rest), &site.traps, &site.rules, true);
    assert_eq!(waits(&site, "/about"), None, "it is known");
    site.watch.has_news();
    (11..40).for_each(|n| copy(&mut site, n));
    assert!(waits(&site, "/about").is_some(), "most of what came were copies");
    assert!(site.watch.has_news(), "the gate must be told");
}

#[test]
fn pages_with_next_to_no_text_are_no_counter() {
    let mut site = Site::new();
    for n in 0..300 {
        site.page_of(&format!("/photo/{n}"), "next", &format!("<img src={n}>"), 1, 0);
    }
    assert_eq!(site.tripped, []);
}

#[test]
fn an_identifier_that_is_idle_in_one_folder_may_matter_elsewhere() {
    let mut site = Site::new();
    let id = |k: u64| format!("{:016x}", hash(&k.to_string()));
    for k in 0..4 {
        for part in ["reviews", "photos", "questions", "offers", "videos"] {
            let empty = format!("There are no {part} of this product yet, be the first!");
            site.page(&format!("/product/{part}?id={}", id(k)), &empty, 0, 0);
        }
        site.page(&format!("/shop/item?id={}", id(k)), &prose(k + 1_000), 3, 0);
    }
    let tokens = &site.traps.tokens;
    assert_eq!(tokens[0].folders, ["/product/*"]);
    assert_eq!(token::rewrite(&url(&format!("/shop/item?id={}", id(9))), tokens), None);
    assert_eq!(token::rewrite(&url(&format!("/item?id={}", id(9))), tokens), None);
    assert!(token::rewrite(&url(&format!("/product/photos?id={}", id(9))), tokens).is_some());
}

#[test]
fn an_identifier_that_is_idle_in_three_folders_and_matters_in_none_is_idle_everywhere() {
    let mut site = Site::new();
    let id = |k: u64| format!("{:016x}", hash(&k.to_string()));
    for k in 0..3 {
        for folder in ["a", "b", "c"] {
            let text = format!("Welcome to {folder}: {}", prose(hash(folder)));
            site.page_of(
                &format!("/{folder}/x?visit={}", id(k)),
                &text,
                &format!("{text}{k}"),
                1,
                0,
            );
        }
    }
    assert_eq!(site.hazards(), [Hazard::SessionIds]);
    let next = url(&format!("/z/x?visit={}", id(9)));
    assert!(token::rewrite(&next, &site.traps.tokens).is_some());
}

#[test]
fn what_is_kept_of_a_site_is_bounded() {
    let mut site = Site::new();
    for n in 0..3_000u64 {
        site.page(
            &format!("/{}/x{n}?p{n}=1&q{}=2", "d".repeat((n % 90) as usize), n % 7),
            "the same everywhere, whatever is asked",
            1,
            0,
        );
    }
    assert!(site.traps.patterns.len() <= 64 && site.traps.tokens.len() <= 32);
    let text = format!("{:?}", site.traps);
    assert!(text.len() < 200_000, "{} bytes", text.len());
    trim(&mut site.traps);
    let mut quiet = Site::new();
    quiet.page("/a", &prose(1), 1, 1);
    trim(&mut quiet.traps);
    assert_eq!(quiet.traps, UrlTraps::default(), "nothing to tell of an ordinary site");
}

/// Prints what a link and a page cost.
#[test]
fn a_link_and_a_page_cost_little() {
    let urls: Vec<CrawlUrl> =
        (0..1_000).map(|n| url(&format!("/section/article-{n}.html?id={n}&view=full"))).collect();
    let mut site = Site::new();
    for n in 0..11 {
        site.page(&format!("/product/{n}"), "the database is not available", 0, 3);
    }
    let begun = Instant::now();
    let refused =
        urls.iter().filter(|url| objection(url, &site.traps, &site.rules, false).is_some());
    assert_eq!(refused.count(), 0);
    let link = begun.elapsed() / 1_000;
    let begun = Instant::now();
    for n in 0..1_000u64 {
        site.page(&format!("/post/{n}"), "x", 1, 0);
    }
    println!("{link:?} a link, {:?} a page", begun.elapsed() / 1_000);
}

proptest! {
    #[test]
    fn a_pattern_never_fails_and_is_bounded(rest in "\\PC{0,300}") {
        if let Ok(url) = CrawlUrl::parse(&format!("http://a.example/{rest}")) {
            let pattern = Pattern::of(&url);
            prop_assert!(pattern.text.len() <= pattern::BYTES_MAX);
            let _ = growing(&url, 3);
            let _ = SessionNames::shipped().strip(&url);
        }
    }

    #[test]
    fn another_number_or_value_is_the_same_pattern(a in 0u64..1_000_000, b in 0u64..1_000_000) {
        for form in ["/p/{}", "/p-{}.html", "/x/{}/y", "/x?id={}&b={}", "/2026/{}/{}"] {
            let of = |n: u64| Pattern::of(&url(&form.replace("{}", &n.to_string()))).text;
            prop_assert_eq!(of(a), of(b));
        }
    }

    #[test]
    fn taking_sessions_out_once_is_enough(rest in "[a-z0-9;=?&()S/]{0,60}") {
        let names = SessionNames::shipped();
        if let Some((once, _)) = names.strip(&url(&format!("/{rest}"))) {
            let twice = names.strip(&once).map(|(url, _)| url);
            prop_assert_eq!(twice, None);
        }
    }
}
