//! What is lost is fetched again: a page whose record is missing or damaged is asked for whole,
//! without validators, and stored whole; until then `show` and `history` say what is wrong.

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use simweb::WebOptions;
use store::warc::Volumes;

use crate::{
    archive::tool,
    audit,
    raw::{Raw, reply},
    world::World,
};

const PAGES: [&str; 4] = ["/", "/a", "/b", "/copy-of-b"];
const KINDS: [&str; 2] = ["gzip", "zstd"];

/// A site whose pages have an ETag, and answer 304 to those who know it.
struct Site {
    world: World,
    raw: Raw,
    edition: Arc<AtomicUsize>,
    asked_before: usize,
}

/// What was asked for since the last time, and whether it was asked with a validator.
type Asked = BTreeSet<(String, bool)>;

impl Site {
    fn crawled(compression: &str) -> Site {
        let edition = Arc::new(AtomicUsize::new(1));
        let served = Arc::clone(&edition);
        let raw = Raw::hearing(move |asked, stream| {
            let edition = served.load(Ordering::Relaxed);
            let Some(body) = body(&asked.place, edition) else {
                return reply(stream, "404 Not Found", "Content-Type: text/html", b"none");
            };
            let tag = format!("\"{edition}\"");
            let fields = format!("Content-Type: text/html\r\nETag: {tag}");
            match asked.header("if-none-match") == Some(&tag) {
                true => reply(stream, "304 Not Modified", &fields, b""),
                false => reply(stream, "200 OK", &fields, body.as_bytes()),
            }
        });
        let world =
            World::new(WebOptions::default()).variable("HARVESTMAN_STORE_COMPRESSION", compression);
        let mut site = Site { world, raw, edition, asked_before: 0 };
        site.world.run(&["crawl", &site.url("/"), "--delay", "0"]).exits(0);
        assert_eq!(site.asked(), asked(&PAGES, false));
        site.world.run(&["check"]).exits(0);
        site
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.raw.port)
    }

    fn asked(&mut self) -> Asked {
        let heard = self.raw.heard().split_off(self.asked_before);
        self.asked_before += heard.len();
        let pages = heard.iter().filter(|asked| !asked.place.ends_with("/robots.txt"));
        let conditional = |name: &str, asked: &crate::raw::Asked| asked.header(name).is_some();
        pages
            .map(|asked| {
                let with =
                    conditional("if-none-match", asked) || conditional("if-modified-since", asked);
                (asked.place.trim_start_matches("127.0.0.1").to_owned(), with)
            })
            .collect()
    }

    fn volume(&self) -> PathBuf {
        let volumes = Volumes::new(self.world.folder.join("volumes")).list().unwrap();
        volumes[0].path.clone()
    }

    #[track_caller]
    fn every_page_is_shown(&self) {
        for path in PAGES {
            let shown = self.world.run(&["show", &self.url(path)]);
            assert!(shown.exits(0).out.contains("words of page"), "{path}: {shown}");
        }
    }

    /// From here on everything is as if nothing had been lost.
    #[track_caller]
    fn is_whole(&mut self) {
        self.every_page_is_shown();
        audit::volumes_are_sound(&self.world);
        self.world.run(&["check"]).exits(0);
        self.asked();
        self.world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
        assert_eq!(self.asked(), asked(&PAGES, true));
        audit::volumes_are_sound(&self.world);
        self.every_page_is_shown();
        let check = self.world.run(&["check"]);
        check.exits(0);
        assert!(!check.out.contains("; harvestman check --repair has"), "{check}");
        if self.volume().extension().is_some_and(|ending| ending == "gz") {
            tool(&self.world, "warc_gate.py");
        }
    }
}

fn asked(paths: &[&str], conditional: bool) -> Asked {
    paths.iter().map(|path| ((*path).to_owned(), conditional)).collect()
}

fn body(place: &str, edition: usize) -> Option<String> {
    let path = place.strip_prefix("127.0.0.1").filter(|path| PAGES.contains(path))?;
    let links: String = PAGES.iter().map(|path| format!("<a href={path}>{path}</a> ")).collect();
    let name = path.trim_start_matches("/copy-of-").trim_matches('/');
    // Bytes that are not packed to nothing, so that damage can be put into the one or the other
    // page.
    let mut number = name.len() as u64 * 31 + name.bytes().map(u64::from).sum::<u64>();
    let noise: String = (0..400)
        .map(|_| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{:x} ", number >> 20)
        })
        .collect();
    Some(format!("<p>words of page {name}, edition {edition}: {noise}</p>{links}"))
}

#[test]
fn a_lost_volume_is_marked_by_check_and_its_pages_are_fetched_whole_by_the_next_crawl() {
    for kind in KINDS {
        let mut site = Site::crawled(kind);
        fs::remove_file(site.volume()).unwrap();
        for path in PAGES {
            let shown = site.world.run(&["show", &site.url(path)]);
            shown.exits(3).says(&["version 1 is lost", "volume 1", "check --repair"]);
        }
        let told = site.world.run(&["history", &site.url("/a")]);
        assert!(told.exits(0).out.contains("its content is lost"), "{told}");
        let told = site.world.run(&["check"]);
        assert!(told.exits(3).out.contains("check --repair has 4 pages fetched again"), "{told}");
        let told = site.world.run(&["check", "--repair"]);
        assert!(told.exits(3).out.contains("4 pages to be fetched again"), "{told}");
        let told = site.world.run(&["check"]);
        assert!(told.exits(0).out.contains("that an earlier check has marked"), "{told}");
        assert_eq!(site.asked(), Asked::new());

        site.world.run(&["crawl", "--delay", "0"]).exits(0);
        assert_eq!(site.asked(), asked(&PAGES, false), "{kind}");
        // The version is the same, and its content is back.
        let told = site.world.run(&["history", &site.url("/a"), "--json"]).json();
        assert_eq!((&told["versions"], &told["rows"][0]["lost"]), (&1.into(), &false.into()));
        site.is_whole();
    }
}

#[test]
fn a_crawl_that_finds_a_volume_missing_asks_for_its_pages_whole_without_any_check() {
    for kind in KINDS {
        let mut site = Site::crawled(kind);
        fs::remove_file(site.volume()).unwrap();
        site.world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
        assert_eq!(site.asked(), asked(&PAGES, false), "{kind}");
        site.is_whole();
    }
}

#[test]
fn a_volume_that_was_cut_short_loses_what_is_behind_the_cut_and_nothing_else() {
    for kind in KINDS {
        let mut site = Site::crawled(kind);
        let volume = site.volume();
        let whole = fs::read(&volume).unwrap();
        fs::write(&volume, &whole[..whole.len() * 2 / 3]).unwrap();
        site.world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
        let told = site.asked();
        let whole = told.iter().filter(|(_, conditional)| !conditional).count();
        assert!((1..4).contains(&whole), "{kind}: {told:?}");
        site.every_page_is_shown();
    }
}

#[test]
fn a_damaged_record_is_marked_with_the_pages_that_refer_to_it_and_no_others() {
    for kind in KINDS {
        let mut site = Site::crawled(kind);
        let volume = site.volume();
        let told = site.world.run(&["history", &site.url("/b"), "--json"]).json();
        let place = &told["rows"][0]["record"];
        let copy = site.world.run(&["history", &site.url("/copy-of-b"), "--json"]).json();
        let copy = &copy["rows"][0]["record"];
        // Which of the two was fetched first has the payload; the other refers to it.
        let [place, other] = match place["length"].as_u64() > copy["length"].as_u64() {
            true => [place, copy],
            false => [copy, place],
        };
        assert!(other["length"].as_u64() < place["length"].as_u64(), "one is a revisit");
        let middle = place["offset"].as_u64().unwrap() + place["length"].as_u64().unwrap() / 2;
        let mut bytes = fs::read(&volume).unwrap();
        bytes[middle as usize..][..8].fill(0xa5);
        fs::write(&volume, &bytes).unwrap();
        let told = site.world.run(&["show", &site.url("/copy-of-b")]);
        told.exits(3).says(&["version 1 is lost"]);
        let told = site.world.run(&["check", "--repair", "--json"]);
        let lost = &told.exits(3).json()["lost"];
        assert_eq!((&lost["records"], &lost["pages"]), (&2.into(), &2.into()), "{told}");
        site.world.run(&["crawl", "--delay", "0"]).exits(0);
        assert_eq!(site.asked(), asked(&["/b", "/copy-of-b"], false), "{kind}");
        site.every_page_is_shown();
        site.world.run(&["crawl", "--fresh", "--delay", "0"]).exits(0);
        assert_eq!(site.asked(), asked(&PAGES, true), "{kind}");
    }
}

#[test]
fn the_history_says_that_an_old_version_is_lost_when_the_page_is_another_by_now() {
    let mut site = Site::crawled("gzip");
    fs::remove_file(site.volume()).unwrap();
    site.world.run(&["check", "--repair"]).exits(3);
    site.edition.store(2, Ordering::Relaxed);
    site.world.run(&["crawl", "--delay", "0"]).exits(0);
    assert_eq!(site.asked(), asked(&PAGES, false));
    let url = site.url("/a");
    let told = site.world.run(&["history", &url, "--json"]).json();
    let lost = |row: usize| told["rows"][row]["lost"].as_bool();
    assert_eq!((lost(0), lost(1)), (Some(true), Some(false)), "{told:#}");
    site.world.run(&["show", &url, "--version", "1"]).exits(3).says(&["version 1 is lost"]);
    let shown = site.world.run(&["show", &url]);
    assert!(shown.exits(0).out.contains("edition 2"), "{shown}");
    site.every_page_is_shown();
    site.world.run(&["check"]).exits(0);
}

#[test]
fn a_volume_that_comes_back_from_a_copy_brings_its_content_back() {
    let site = Site::crawled("zstd");
    let (volume, copy) = (site.volume(), site.world.temp.path().join("copy"));
    fs::rename(&volume, &copy).unwrap();
    site.world.run(&["check", "--repair"]).exits(3);
    fs::rename(&copy, &volume).unwrap();
    site.every_page_is_shown();
    let told = site.world.run(&["check", "--repair"]);
    assert!(told.exits(0).out.contains("readable again"), "{told}");
    let told = site.world.run(&["check"]);
    assert!(!told.exits(0).out.contains("lost"), "{told}");
}
