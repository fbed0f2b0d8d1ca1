//! Lanes with an entry: what goes out before their pages, and when.

use std::{sync::Arc, time::Duration};

use model::{
    CrawlUrl, FailureKind, Page, Purpose, RefusalReason, SiteKey, Spent, SpiderId, testing::url,
};

use super::{
    Assignment, Options, Reason, SiteTerms, SpiderLimits, Step, Terms, Workbench,
    terms::Same,
    tests::{Bench, START, at, failure, key, lease, page, rules},
};

const A: SpiderId = SpiderId(1);
const B: SpiderId = SpiderId(2);
const LOGIN: &str = "http://a.example/login";

/// Spider A has to log in, at this URL.
struct Guarded(Same, Option<CrawlUrl>);

impl Terms for Guarded {
    fn of(&self, spider: SpiderId, site: &SiteKey) -> SiteTerms {
        self.0.of(spider, site)
    }

    fn entry(&self, spider: SpiderId, _site: &SiteKey) -> Option<CrawlUrl> {
        self.1.clone().filter(|_| spider == A)
    }
}

fn terms(options: &Options, entry: Option<&str>) -> Arc<dyn Terms> {
    Arc::new(Guarded(Same::new(options), entry.map(url)))
}

fn options() -> Options {
    Options { connections: 2, ..Options::default().with_pause(Duration::from_secs(2)) }
}

/// A site with a page of each of these spiders, and this robots.txt, if it is known.
fn bench(spiders: &[SpiderId], robots: Option<&str>) -> Bench {
    let mut bench = Bench::new(options());
    bench.bench =
        Workbench::new(options(), Spent::default()).with_terms(terms(&options(), Some(LOGIN)));
    let page = |spider: &SpiderId| Page {
        spider: *spider,
        ..page(&format!("http://a.example/{}", spider.0), 0)
    };
    let robots = robots.map(|text| rules("http://a.example", text));
    let pages = spiders.iter().map(page).collect();
    bench.bench.add(lease("a.example", pages, robots.into_iter().collect()), START);
    bench
}

#[track_caller]
fn is_login(visit: &Assignment, to: &str) {
    assert_eq!((visit.purpose, visit.url.as_str()), (Purpose::Login, to));
    assert!(visit.page.is_none());
}

#[test]
fn pages_wait_until_every_step_of_the_entry_was_answered_and_the_lane_opened() {
    let mut bench = bench(&[A], Some(""));
    let form = bench.visit(at(0));
    is_login(&form, LOGIN);
    bench.idle(at(500));
    bench.answer(&form, 200, at(1000));
    bench.idle(at(9000));
    let site = key("a.example");
    bench.bench.enter(&site, A, Some(url("http://a.example/send")), at(1500));
    assert_eq!(bench.wait(at(1500)), at(2000), "the site's clock holds for logins");
    let send = bench.visit(at(2000));
    is_login(&send, "http://a.example/send");
    bench.answer(&send, 302, at(2100));
    bench.bench.enter(&site, A, None, at(2100));
    assert_eq!(bench.wait(at(2100)), at(4000), "and for the page after them");
    assert_eq!(bench.visit(at(4000)).url.as_str(), "http://a.example/1");
}

#[test]
fn the_robots_txt_of_the_entry_is_asked_for_first() {
    let mut bench = bench(&[A], None);
    let robots = bench.visit(at(0));
    assert_eq!((robots.purpose, robots.url.path()), (Purpose::Robots, "/robots.txt"));
    bench.robots(&robots, "User-agent: *\nDisallow: /x\n", at(100));
    is_login(&bench.visit(at(2000)), LOGIN);
}

#[test]
fn an_entry_that_robots_txt_forbids_is_told_once_and_the_lane_stays_shut() {
    let mut bench = bench(&[A, B], Some("User-agent: *\nDisallow: /login\n"));
    let Step::Barred { spider, refusal, .. } = bench.step(at(0)) else { panic!("not barred") };
    assert_eq!((spider, refusal.reason), (A, RefusalReason::Robots));
    assert!(refusal.rule.contains("/login"), "{}", refusal.rule);
    let other = bench.visit(at(0));
    assert_eq!(other.spider, B, "the other spider's page goes out at once");
    bench.answer(&other, 200, at(10));
    bench.bench.gathered(&other.site.key, other.url.fingerprint(), at(10));
    bench.idle(at(60_000));
    assert_eq!(bench.reasons(), [], "the caller has the word");
    let paused = SpiderLimits { paused: true, ..SpiderLimits::default() };
    bench.bench.set_spider(A, paused, None, at(60_000));
    assert_eq!(bench.reasons(), [Reason::Paused], "and its site can be given back");
}

#[test]
fn other_spiders_do_not_wait_for_an_entry() {
    let mut bench = bench(&[A, B], Some(""));
    is_login(&bench.visit(at(0)), LOGIN);
    let other = bench.visit(at(2000));
    assert_eq!((other.spider, other.purpose), (B, Purpose::Page));
}

#[test]
fn nobody_logs_in_for_a_spider_that_is_paused() {
    let mut bench = bench(&[A], Some(""));
    let paused = SpiderLimits { paused: true, ..SpiderLimits::default() };
    bench.bench.set_spider(A, paused, None, at(0));
    bench.idle(at(0));
    assert_eq!(bench.reasons(), [Reason::Paused]);
}

#[test]
fn other_terms_try_a_shut_lane_anew_but_leave_alone_what_is_under_way() {
    let mut bench = bench(&[A], Some(""));
    let login = bench.visit(at(0));
    bench.bench.set_terms(terms(&options(), Some(LOGIN)), at(100));
    bench.idle(at(100));
    bench.answer(&login, 200, at(200));
    bench.idle(at(200));
    bench.bench.set_terms(terms(&options(), Some(LOGIN)), at(2000));
    let again = bench.visit(at(2000));
    is_login(&again, LOGIN);
    bench.answer(&again, 200, at(2100));
    bench.bench.set_terms(terms(&options(), None), at(4000));
    assert_eq!(bench.visit(at(4000)).purpose, Purpose::Page, "no entry is asked for any more");
}

#[test]
fn a_lane_can_be_shut_again_while_its_pages_are_open() {
    let mut bench = bench(&[A], Some(""));
    let site = key("a.example");
    bench.bench.enter(&site, A, None, at(0));
    let refused = bench.visit(at(0));
    bench.answer(&refused, 401, at(100));
    bench.bench.enter(&site, A, Some(url(LOGIN)), at(100));
    let taken = refused.page.expect("a page");
    bench.bench.retry(&site, Page { due: at(100), ..taken }, at(100));
    let login = bench.visit(at(2000));
    is_login(&login, LOGIN);
    bench.answer(&login, 200, at(2100));
    bench.bench.enter(&site, A, None, at(2100));
    assert_eq!(bench.visit(at(4000)).url, refused.url, "the page is asked for again");
}

#[test]
fn an_entry_without_an_answer_leaves_the_lane_to_the_caller() {
    let mut bench = bench(&[A], Some(""));
    let login = bench.visit(at(0));
    let refused = failure(FailureKind::Proxy);
    let released = bench.bench.release(login.id, Err(&refused), at(100));
    assert_eq!(released.page, None);
    assert_eq!(released.clock.backoff, 0, "our own way out is no fault of the site");
    bench.idle(at(60_000));
}
