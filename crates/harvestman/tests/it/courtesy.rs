//! Manners under temptation: addresses in many spellings, hosts that share addresses, forbidden pages linked like
//! others. Small here; `bench/run courtesy` does it with 2,000 hosts and 100,000 requests.

use std::time::Duration;

use simweb::{PageCount, PageOptions, RobotsPlan, WebOptions, checks};

use crate::world::World;

const PAUSE: Duration = Duration::from_millis(2_400);
/// What sockets and schedulers of a busy machine may take from a pause: a request that is read late seems to be followed too
/// soon. Without a pause there would be next to nothing between two.
const SLACK: Duration = Duration::from_millis(1_000);
/// Of the pauses of an address, which are an eighth.
const ADDRESS_SLACK: Duration = Duration::from_millis(220);

#[test]
fn no_spelling_of_an_address_and_no_shared_one_makes_it_impolite() {
    let page = PageOptions {
        bytes_mean: 4_000.0,
        alias_share: 0.6,
        internal_share: 0.4,
        redirect_share: 0.05,
        ..PageOptions::default()
    };
    let world = World::new(WebOptions {
        sites: 20,
        addresses: 5,
        pages: PageCount::Fixed(2),
        page,
        robots: RobotsPlan::Disallow(vec!["/private/".to_owned()]),
        ..WebOptions::default()
    });
    let pause = format!("{}ms", PAUSE.as_millis());
    let mut args = vec!["crawl".to_owned(), "--delay".to_owned(), pause];
    args.extend((0..20).map(|site| spelled(&world.web.host(site), site)));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    world.run(&args).exits(0);
    let log = world.log();
    assert_eq!(checks::pauses(&log, PAUSE, SLACK), []);
    assert_eq!(checks::address_pauses(&log, PAUSE / 8, ADDRESS_SLACK), []);
    assert_eq!(checks::connections_at_once(&log, 1), []);
    assert_eq!(checks::disallowed(&log, &world.web), []);
    assert_eq!(checks::robots_too_often(&log), []);
    assert_eq!(checks::repeats(&log), []);
    for site in 0..20 {
        assert_eq!(checks::completeness(&log, &world.web, &world.web.host(site)), []);
    }
    assert_eq!(world.sites(&[]).len(), 20, "a site however it is spelled");
}

/// A seed as somebody might write it.
fn spelled(host: &str, turn: usize) -> String {
    match turn % 5 {
        0 => format!("HTTP://{}/", host.to_uppercase()),
        1 => format!("http://{host}./"),
        2 => format!("http://{host}:80/"),
        3 => format!("http://%73{}", &host[1..]),
        _ => format!("http://{host}"),
    }
}
