//! robots.txt comes before any page, and stays in force.

use super::*;

#[test]
fn robots_txt_comes_first_and_obeys_the_clock() {
    let pages = vec![page("http://a.example/1", 0), page("https://a.example/2", 0)];
    let mut bench = Bench::with(vec![lease("a.example", pages, Vec::new())]);
    let robots = bench.visit(START);
    assert_eq!(robots.url.as_str(), "http://a.example/robots.txt");
    bench.idle(at(5000));
    let released = bench.robots(&robots, "User-agent: *\nDisallow: /x\n", at(100));
    assert!(matches!(released.robots.expect("a copy").answer, RobotsAnswer::Rules(_)));
    assert_eq!(bench.wait(at(100)), at(2000));
    let first = bench.visit(at(2000));
    assert_eq!(first.url.as_str(), "http://a.example/1");
    bench.answer(&first, 200, at(2000));
    let other = bench.visit(at(4000));
    assert_eq!(other.url.as_str(), "https://a.example/robots.txt", "each origin its own");
}

#[test]
fn robots_txt_is_asked_for_again_after_a_day_conditionally() {
    let mut bench = Bench::with(vec![open_lease("a.example", &["/1"], "")]);
    let day = 24 * 3600 * 1000;
    let robots = bench.visit(at(day));
    assert_eq!(robots.purpose, Purpose::Robots);
    assert_eq!(robots.condition.clone().and_then(|c| c.etag).as_deref(), Some("\"r\""));
    let released = bench.answer(&robots, 304, at(day));
    assert_eq!(released.robots.expect("renewed").expires, at(2 * day));
    assert_eq!(bench.visit(at(day + 2000)).url.path(), "/1");
}

#[test]
fn a_forbidden_page_is_excluded_without_a_request() {
    let text = "User-agent: *\nDisallow: /x\n";
    let mut bench = Bench::with(vec![open_lease("a.example", &["/x/1", "/y"], text)]);
    let Step::Exclude(excluded) = bench.step(START) else { panic!("not excluded") };
    assert_eq!(excluded.page.url.path(), "/x/1");
    assert_eq!(excluded.refusal.rule, "robots.txt: Disallow: /x");
    assert_eq!(bench.visit(START).url.path(), "/y");
}

#[test]
fn a_robots_redirect_obeys_the_clock_of_the_other_host_and_binds_the_first() {
    let pages = vec![page("http://a.example/1", 0)];
    let mut bench = Bench::with(vec![
        lease("a.example", pages, Vec::new()),
        open_lease("b.example", &["/1", "/2"], ""),
    ]);
    let (mut robots, mut other) = (bench.visit(START), bench.visit(START));
    if robots.purpose != Purpose::Robots {
        std::mem::swap(&mut robots, &mut other);
    }
    bench.answer_with(&robots, 301, &[("Location", "http://b.example/r")], Duration::ZERO, at(10));
    bench.idle(at(1000));
    bench.answer(&other, 200, at(3000));
    let hop = bench.visit(at(3000));
    let next = bench.step(at(3000));
    assert!(matches!(next, Step::Idle), "one connection to b, whoever asks: {next:?}");
    let (hop, page_of_b) = match hop.purpose {
        Purpose::Robots => {
            bench.robots(&hop, "User-agent: *\nDisallow: /1\n", at(3100));
            (hop, None)
        }
        _ => {
            bench.answer(&hop, 200, at(3100));
            let second = bench.visit(at(5000));
            bench.robots(&second, "User-agent: *\nDisallow: /1\n", at(5000));
            (second, Some(hop))
        }
    };
    assert_eq!(hop.url.as_str(), "http://b.example/r");
    assert_eq!(hop.site.key, key("a.example"));
    assert!(matches!(bench.step(at(5000)), Step::Exclude(e) if e.site.key == key("a.example")));
    if page_of_b.is_none() {
        assert_eq!(bench.visit(at(5000)).url.host(), "b.example");
    }
}

#[test]
fn an_unreachable_robots_txt_holds_the_pages_and_hands_the_site_back() {
    let pages = vec![page("http://a.example/1", 0)];
    let mut bench = Bench::with(vec![lease("a.example", pages, Vec::new())]);
    let robots = bench.visit(START);
    let released = bench.fail(&robots, FailureKind::ConnectRefused, START);
    assert!(matches!(released.robots.expect("told").answer, RobotsAnswer::Unreachable { .. }));
    assert_eq!(bench.reasons(), [Reason::RobotsUnreachable(at(60_000))]);
    assert_eq!(bench.wait(START), at(60_000));
    let again = bench.visit(at(60_000));
    assert_eq!(again.purpose, Purpose::Robots);
}

#[test]
fn rules_read_earlier_stay_in_use_while_the_server_is_unreachable() {
    let mut bench =
        Bench::with(vec![open_lease("a.example", &["/x", "/y"], "User-agent: *\nDisallow: /x")]);
    let day = 24 * 3600 * 1000;
    let robots = bench.visit(at(day));
    bench.answer(&robots, 503, at(day));
    assert!(matches!(bench.step(at(day + 5000)), Step::Exclude(_)));
    assert_eq!(bench.visit(at(day + 5000)).url.path(), "/y");
}
