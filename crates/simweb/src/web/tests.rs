//! The web is a pure function: reachable, repeatable, and of the make-up it promises.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use model::{CrawlUrl, Timestamp};

use super::*;
use crate::{ChangeModel, PageOptions};

const NOW: Timestamp = Timestamp(1_763_000_000_000);

fn web(change: impl FnOnce(&mut WebOptions)) -> SimWeb {
    let mut options = WebOptions::default();
    change(&mut options);
    SimWeb::new(options)
}

fn bench_web() -> SimWeb {
    web(|options| {
        options.sites = 20;
        options.pages = PageCount::Fixed(100);
    })
}

fn bodies(web: &SimWeb) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    for site in 0..web.sites() {
        let host = web.host(site);
        for index in 0..web.pages(site) {
            let path = web.path(site, index);
            let answer = web.answer(&Request::get(&host, &path), NOW);
            assert_eq!(answer.status, 200);
            bodies.push(answer.body.to_vec());
        }
    }
    bodies
}

fn get(web: &SimWeb, path: &str) -> Answer {
    web.answer(&Request::get("s0.sim.test", path), NOW)
}

fn field(answer: &Answer, name: &str) -> Option<String> {
    model::Headers::parse(&answer.head).get(name).map(str::to_owned)
}

/// Addresses in `href` attributes of anchors, comments left out.
fn hrefs(html: &str) -> Vec<String> {
    let mut visible = String::new();
    let mut rest = html;
    while let Some(at) = rest.find("<!--") {
        visible.push_str(&rest[..at]);
        rest = rest[at..].find("-->").map_or("", |end| &rest[at + end + 3..]);
    }
    visible.push_str(rest);
    let anchors = visible.split("<a href=\"").skip(1);
    anchors.map(|tail| tail.split('"').next().unwrap().replace("&amp;", "&")).collect()
}

fn visible_text(html: &str) -> String {
    let (mut text, mut rest) = (String::new(), html);
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let end = match &rest[at..] {
            tag if tag.starts_with("<script") => tag.find("</script>").map(|e| e + 9),
            tag if tag.starts_with("<style") => tag.find("</style>").map(|e| e + 8),
            tag if tag.starts_with("<!--") => tag.find("-->").map(|e| e + 3),
            tag => tag.find('>').map(|e| e + 1),
        };
        rest = &rest[at + end.unwrap()..];
    }
    text + rest
}

#[test]
fn the_next_change_is_the_first_moment_of_another_version() {
    let change = ChangeModel::every(Duration::from_secs(86_400));
    let web = SimWeb::new(WebOptions { change, ..WebOptions::default() });
    let page = PageId { site: 0, index: 3 };
    let mut now = web.options().origin;
    for _ in 0..20 {
        let next = web.next_change(page, now).unwrap();
        assert!(next > now && web.version(page, next) > web.version(page, now));
        let before = Timestamp(next.0 - 1);
        assert_eq!(web.version(page, before), web.version(page, now));
        now = next;
    }
    assert_eq!(web.change_period(page), Some(Duration::from_secs(86_400)));
}

#[test]
fn the_same_request_gets_the_same_bytes() {
    let small = || web(|options| options.sites = 3);
    assert!(bodies(&small()) == bodies(&small()));
    let other = web(|options| options.seed = 2);
    assert_ne!(get(&other, "/").body, get(&web(|_| {}), "/").body);
}

#[test]
fn benchmark_pages_have_the_size_text_and_links_that_were_measured() {
    let bodies = bodies(&bench_web());
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    let mean = bytes as f64 / bodies.len() as f64;
    assert!((16_150.0..17_850.0).contains(&mean), "mean size {mean}");
    let pages: Vec<&str> = bodies.iter().map(|b| std::str::from_utf8(b).unwrap()).collect();
    let text: usize = pages.iter().map(|page| visible_text(page).len()).sum();
    let share = text as f64 / bytes as f64;
    assert!((0.59..0.65).contains(&share), "text share {share}");
    let links: usize = pages.iter().map(|page| hrefs(page).len()).sum();
    let links_mean = links as f64 / pages.len() as f64;
    assert!((19.9..20.1).contains(&links_mean), "{links_mean} links a page");
    let internal = pages.iter().flat_map(|page| hrefs(page)).filter(|h| h.starts_with('/')).count();
    let internal = internal as f64 / links as f64;
    assert!((0.79..0.81).contains(&internal), "internal share {internal}");
}

#[test]
fn benchmark_pages_compress_like_measured_ones() {
    let bodies = bodies(&bench_web());
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    let mut coder = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(1).unwrap());
    let mut out = vec![0; 1 << 20];
    let packed: usize =
        bodies.iter().map(|body| coder.gzip_compress(body, &mut out).unwrap()).sum();
    let ratio = packed as f64 / bytes as f64;
    assert!((0.34..0.42).contains(&ratio), "libdeflate level 1: {ratio}");
}

#[test]
fn every_page_is_reached_from_the_home_page_on_its_level() {
    let web = web(|options| {
        options.sites = 3;
        options.pages = PageCount::Varied { median: 300, sigma: 0.7, max: 2_000 };
        options.page = PageOptions {
            bytes_mean: 3_000.0,
            query_share: 0.2,
            redirect_share: 0.1,
            broken_share: 0.05,
            duplicate_share: 0.1,
            near_duplicate_share: 0.1,
            nofollow_share: 0.1,
            ..PageOptions::default()
        };
    });
    for site in 0..3 {
        let home = CrawlUrl::parse(&web.home(site)).unwrap();
        let mut levels = BTreeMap::from([(home.clone(), 0u16)]);
        let mut queue = VecDeque::from([home.clone()]);
        let mut pages = BTreeMap::new();
        while let Some(url) = queue.pop_front() {
            let level = levels[&url];
            let answer = web.answer(&Request::get(url.host(), url.path_and_query()), NOW);
            if let Some(page) = answer.page {
                assert_eq!(web.page_of(&url), Some(page));
                pages.insert(page.index, level);
            }
            // A redirect keeps the level, so its target comes before the queue's rest.
            let found = match field(&answer, "location") {
                Some(location) => vec![(location, level)],
                None => hrefs(&String::from_utf8_lossy(&answer.body))
                    .into_iter()
                    .map(|href| (href, level + 1))
                    .collect(),
            };
            for (href, level) in found {
                let link = url.join(&href).unwrap();
                let nearer = levels.get(&link).is_none_or(|known| level < *known);
                if link.host() == home.host() && nearer {
                    levels.insert(link.clone(), level);
                    match answer.status {
                        301 | 302 => queue.push_front(link),
                        _ => queue.push_back(link),
                    }
                }
            }
        }
        assert_eq!(pages.len(), web.pages(site), "site {site}");
        for (index, level) in pages {
            assert!(level >= web.level(index), "page {index} found above its level");
            assert_eq!(level, web.level(index), "page {index}");
        }
    }
}

#[test]
fn paths_lead_back_to_their_pages_and_others_nowhere() {
    let web = web(|options| {
        options.pages = PageCount::Fixed(500);
        options.page.query_share = 0.3;
    });
    for index in 0..500 {
        let path = web.path(0, index);
        assert_eq!(web.index_of(0, &path), Some(index), "{path}");
        let tracked = format!("{path}{}utm_source=x", if path.contains('?') { '&' } else { '?' });
        assert_eq!(web.index_of(0, &tracked), Some(index), "{tracked}");
    }
    for path in ["/nowhere", "/coast/amber-17x", "/view?id=3", "/0", "", "/archive/view?id=99999"] {
        assert_eq!(web.index_of(0, path), None, "{path}");
        assert_eq!(get(&web, path).status, 404, "{path}");
    }
}

#[test]
fn conditional_requests_are_answered_by_version() {
    let web = web(|options| options.change = ChangeModel::every(Duration::from_secs(86_400)));
    let page = PageId { site: 0, index: 3 };
    let path = web.path(0, 3);
    let first = get(&web, &path);
    let (etag, modified) =
        (field(&first, "etag").unwrap(), field(&first, "last-modified").unwrap());
    let ask = |etag: Option<&str>, modified: Option<&str>, at: Timestamp| {
        let request = Request {
            if_none_match: etag,
            if_modified_since: modified,
            ..Request::get("s0.sim.test", &path)
        };
        web.answer(&request, at)
    };
    let again = ask(Some(&etag), None, NOW);
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(field(&again, "etag"), Some(etag.clone()));
    assert_eq!(ask(None, Some(&modified), NOW).status, 304);
    assert_eq!(ask(Some(&format!("\"x\", W/{etag}")), None, NOW).status, 304);
    assert_eq!(ask(Some("\"other\""), Some(&modified), NOW).status, 200, "the tag decides alone");

    let later = NOW.plus(Duration::from_secs(30 * 86_400));
    assert!(web.version(page, later) > web.version(page, NOW));
    let changed = ask(Some(&etag), None, later);
    assert_eq!(changed.status, 200);
    assert_ne!(changed.body, first.body);
    assert_eq!(ask(None, Some(&modified), later).status, 200);
}

#[test]
fn a_new_version_changes_some_of_the_text_and_not_all() {
    let web = web(|options| options.change = ChangeModel::every(Duration::from_secs(86_400)));
    for index in 0..40 {
        let page = PageId { site: 0, index };
        let old = web.render(page, 7, &page::Dress::default());
        let new = web.render(page, 8, &page::Dress::default());
        let old = String::from_utf8(old).unwrap();
        let new = String::from_utf8(new).unwrap();
        assert_ne!(visible_text(&old), visible_text(&new), "page {index}");
        assert_eq!(hrefs(&old), hrefs(&new), "page {index}");
    }
}

#[test]
fn copies_are_exact_or_nearly_so() {
    let web = web(|options| {
        options.pages = PageCount::Fixed(1_000);
        options.page.duplicate_share = 0.1;
        options.page.near_duplicate_share = 0.1;
    });
    let show = |page| web.render(page, 0, &page::Dress::default());
    let (mut exact, mut near) = (0, 0);
    for index in 0..1_000 {
        let page = PageId { site: 0, index };
        match web.twin(page) {
            Some(shape::Twin::Exact(original)) => {
                assert!(show(page) == show(original));
                exact += 1;
            }
            Some(shape::Twin::Near(original)) => {
                assert!(show(page) != show(original));
                near += 1;
            }
            None => {}
        }
    }
    assert!((60..140).contains(&exact) && (60..140).contains(&near), "{exact} and {near}");
}

#[test]
fn pages_in_latin_1_say_so_and_are() {
    let web = web(|options| {
        options.languages = vec![Language::Portuguese];
        options.page.latin1_share = 1.0;
    });
    let answer = get(&web, "/");
    assert_eq!(field(&answer, "content-type").unwrap(), "text/html; charset=iso-8859-1");
    assert!(std::str::from_utf8(&answer.body).is_err());
}

#[test]
fn robots_answers_follow_their_plans() {
    let day = Duration::from_secs(86_400);
    let plans = vec![RobotsPlan::AllowAll, RobotsPlan::ForbidAll, RobotsPlan::Status(503)];
    let web = web(|options| options.robots = RobotsPlan::Changing { every: day, plans });
    let origin = web.options().origin;
    let at = |k: u32| web.answer(&Request::get("s0.sim.test", "/robots.txt"), origin.plus(day * k));
    assert!(std::str::from_utf8(&at(0).body).unwrap().contains("Disallow:\n"));
    assert!(std::str::from_utf8(&at(1).body).unwrap().contains("Disallow: /\n"));
    assert_eq!(at(2).status, 503);
    assert_eq!(at(3).status, 200);
}

#[test]
fn redirecting_and_huge_robots_end_in_rules() {
    let web = web(|options| {
        options.sites = 2;
        options.robots = RobotsPlan::Redirecting { hops: 2 };
        options.robots_of.insert("s1.sim.test".into(), RobotsPlan::Huge { bytes: 600_000 });
    });
    assert_eq!(field(&get(&web, "/robots.txt"), "location").unwrap(), "/robots-1.txt");
    assert_eq!(field(&get(&web, "/robots-1.txt"), "location").unwrap(), "/robots-2.txt");
    assert!(get(&web, "/robots-2.txt").body.starts_with(b"User-agent"));
    assert_eq!(get(&web, "/private/1").status, 200);
    let huge = web.answer(&Request::get("s1.sim.test", "/robots.txt"), NOW);
    assert!(huge.body.len() > 600_000);
}

#[test]
fn the_sitemap_names_every_page() {
    let web = web(|options| options.page.query_share = 0.3);
    let body = get(&web, "/sitemap.xml").body;
    let xml = std::str::from_utf8(&body).unwrap();
    assert_eq!(xml.matches("<loc>").count(), 40);
    assert!(xml.contains("<lastmod>2024-01-01</lastmod>"), "{}", &xml[..300]);
    for index in 0..40 {
        assert!(xml.contains(&web.url(PageId { site: 0, index }).replace('&', "&amp;")));
    }
}

#[test]
fn hosts_have_their_names_addresses_and_schemes() {
    let web = web(|options| {
        options.sites = 300;
        options.addresses = 260;
        options.https_share = 0.5;
    });
    assert_eq!(web.site_of("s17.sim.test"), Some(17));
    for stranger in ["s300.sim.test", "s017.sim.test", "sim.test", "s1.other.test", "s.sim.test"] {
        assert_eq!(web.site_of(stranger), None, "{stranger}");
        assert_eq!(web.address(stranger), None, "{stranger}");
    }
    assert_eq!(web.address("s0.sim.test").unwrap().to_string(), "127.0.0.1");
    assert_eq!(web.address("s259.sim.test").unwrap().to_string(), "127.0.1.4");
    assert_eq!(web.address("s260.sim.test"), web.address("www.s0.sim.test"));
    let secure = (0..300).find(|site| web.is_https(*site)).unwrap();
    let host = web.host(secure);
    let answer = web.answer(&Request::get(&host, "/a"), NOW);
    assert_eq!(field(&answer, "location").unwrap(), format!("https://{host}/a"));
    let answer = web.answer(&Request { tls: true, ..Request::get(&host, "/") }, NOW);
    assert_eq!(answer.status, 200);
}

#[test]
fn hazards_are_linked_from_the_home_page_and_only_when_switched_on() {
    let calm = web(|_| {});
    assert_eq!(get(&calm, "/hazard/calendar").status, 404);
    let wild = web(|options| options.put_all("s0.sim.test"));
    let home = get(&wild, "/");
    let links = hrefs(std::str::from_utf8(&home.body).unwrap());
    assert!(links.iter().any(|link| link == "/hazard/calendar"));
    assert!(links.iter().any(|link| link == "/hazard/growing-path/"));
    let month = get(&wild, "/hazard/calendar?month=41");
    assert!(
        hrefs(std::str::from_utf8(&month.body).unwrap())
            .contains(&"/hazard/calendar?month=42".to_owned())
    );
    assert_eq!(
        field(&get(&wild, "/hazard/redirect-loop"), "location").unwrap(),
        "/hazard/redirect-loop"
    );
    assert_eq!(
        field(&get(&wild, "/hazard/redirect-chain?hop=29"), "location").unwrap(),
        "/hazard/redirect-chain?hop=30"
    );
    assert_eq!(get(&wild, "/hazard/redirect-chain?hop=30").status, 200);
    assert_eq!(get(&wild, "/hazard/soft-404/any").status, 200);
}

#[test]
fn bad_spells_come_and_go_and_say_how_long() {
    let hazard =
        Hazard::Unavailable { every: Duration::from_secs(60), lasting: Duration::from_secs(20) };
    let web = web(|options| options.put("s0.sim.test", hazard));
    let at = |seconds: u64| {
        let now = web.options().origin.plus(Duration::from_secs(seconds));
        web.answer(&Request::get("s0.sim.test", "/"), now)
    };
    assert_eq!((at(0).status, at(0).retry_after), (503, Some(20)));
    assert_eq!(field(&at(15), "retry-after").unwrap(), "5");
    assert_eq!(at(20).status, 200);
    assert_eq!(at(59).status, 200);
    assert_eq!(at(61).status, 503);
}

#[test]
fn restless_pages_liars_and_pages_that_come_and_go_are_what_they_are_called() {
    let minute = Duration::from_secs(60);
    let web = web(|options| {
        options.change = ChangeModel::every(minute);
        options.put("s0.sim.test/hazard/restless", Hazard::Restless);
        options.put("s0.sim.test", Hazard::NeverModified);
        options.put("s1.sim.test/there", Hazard::Vanishing { every: 3 * minute, lasting: minute });
    });
    let at = |request: &Request<'_>, minutes: u32| {
        web.answer(request, web.options().origin.plus(minute * minutes))
    };
    let lines = |minutes: u32| {
        let body = at(&Request::get("s0.sim.test", "/hazard/restless"), minutes).body;
        String::from_utf8(body.to_vec()).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (one, two) = (lines(1), lines(2));
    let differing: Vec<_> = one.iter().zip(&two).filter(|(one, two)| one != two).collect();
    assert_eq!((one.len(), differing.len()), (two.len(), 4), "{differing:?}");

    let ask = Request::get("s0.sim.test", "/");
    assert_ne!(at(&ask, 0).body, at(&ask, 60).body, "it has changed");
    assert_eq!(at(&Request { if_none_match: Some("\"x\""), ..ask }, 60).status, 304);
    let statuses: Vec<u16> =
        (0..4).map(|n| at(&Request::get("s1.sim.test", "/there"), n).status).collect();
    assert_eq!(statuses[0], 404);
    assert_eq!(statuses[3], 404);
}

#[test]
fn session_ids_are_in_every_internal_link_and_change_by_the_minute() {
    let web = web(|options| options.put("s0.sim.test", Hazard::SessionIds));
    let links = |at| {
        let answer = web.answer(&Request::get("s0.sim.test", "/"), at);
        hrefs(std::str::from_utf8(&answer.body).unwrap())
    };
    let first = links(NOW);
    assert!(first.iter().filter(|l| l.starts_with('/')).all(|l| l.contains("sid=")), "{first:?}");
    assert_ne!(first, links(NOW.plus(Duration::from_secs(60))));
    assert_eq!(get(&web, &first[0]).status, 200);
}

#[test]
fn every_part_of_a_page_is_served_and_only_when_asked_for() {
    let web = web(|options| (options.sites, options.requisites) = (2, true));
    for part in web.parts(PageId { site: 0, index: 3 }) {
        let (host, path) = part.split_once('/').unwrap();
        let answer = web.answer(&Request::get(host, &format!("/{path}")), NOW);
        assert_eq!(answer.status, 200, "{part}");
    }
    let plain = SimWeb::new(WebOptions { sites: 2, ..WebOptions::default() });
    assert_eq!(plain.parts(PageId { site: 0, index: 3 }).len(), 2);
    let answer = plain.answer(&Request::get("s0.sim.test", "/parts/site.css"), NOW);
    assert_eq!(answer.status, 404);
}

proptest::proptest! {
    #[test]
    fn any_target_and_host_gets_an_answer(
        target in "[/a-z0-9?=&%é.-]{0,40}|(/go/|/robots-|/sitemap-|/hazard/)[0-9a-zé/?=.]{0,20}",
        host in "s[0-9]{0,3}.sim.test|.{0,12}",
    ) {
        static WEB: std::sync::LazyLock<SimWeb> =
            std::sync::LazyLock::new(|| web(|options| options.put_all("s0.sim.test")));
        let answer = WEB.answer(&Request::get(&host, &target), NOW);
        proptest::prop_assert!(answer.status >= 200);
    }
}

#[test]
fn sites_tell_of_their_pages_truly_or_not() {
    const DAY: i64 = 86_400_000;
    let dates = |xml: &str| -> Vec<String> {
        xml.split("<lastmod>").skip(1).map(|rest| rest[..20].to_owned()).collect()
    };
    let at = |dates: crate::Dates, now: i64| {
        let web = web(|options| {
            options.change = crate::ChangeModel::mixed();
            options.notices.dates = dates;
            options.notices.feed = true;
            options.notices.rdf = true;
            options.notices.unlinked = 2;
        });
        let now = Timestamp(NOW.0 + now);
        let text = |path| {
            let answer = web.answer(&Request::get("s0.sim.test", path), now);
            String::from_utf8(answer.body.to_vec()).unwrap()
        };
        (text("/sitemap.xml"), text("/feed.atom"), text("/robots.rdf"), text("/unlinked/1"))
    };
    let (first, feed, rdf, alone) = at(crate::Dates::True, 0);
    let (second, ..) = at(crate::Dates::True, DAY);
    let (before, after) = (dates(&first), dates(&second));
    let moved = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(moved > 0 && moved < 40, "{moved} of 40 changed within a day");
    let newest = before.iter().max().unwrap();
    assert!(feed.contains(newest) && rdf.matches("<dc:date>").count() == 40);
    assert!(first.contains("/unlinked/1</loc>") && alone.contains("number 1"));
    let lies =
        [at(crate::Dates::Lying, 0).0, at(crate::Dates::Lying, DAY).0].map(|xml| dates(&xml));
    assert!(lies[0].iter().zip(&lies[1]).all(|(a, b)| a != b));
    let some = dates(&at(crate::Dates::Partial(0.5), 0).0).len();
    assert!((5..35).contains(&some), "{some}");
}
