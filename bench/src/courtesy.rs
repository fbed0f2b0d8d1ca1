//! Manners under temptation: 2,000 hosts on 500 addresses, each page linked under many spellings of its address, and
//! pages that robots.txt forbids; 100,000 requests, judged by the servers' log alone.
//!
//! The server writes a request down when it has read it, before it works on any answer, and looks at its sockets
//! after each piece of work; so what it writes is when requests came, within a millisecond or two on a core of
//! its own. The checkers forgive five.

use std::{collections::HashMap, fmt::Write, ops::Range, time::Duration};

use anyhow::ensure;
use simweb::{
    Entry, PageOptions, RobotsPlan, SimWeb, WebOptions,
    checks::{self, Violation},
};

use crate::{
    cases::Place,
    process,
    server::{Kind, Server, Web},
};

/// 49 pages and a robots.txt of each host: 100,000 requests. Four hosts share an address.
const WEB: Web =
    Web { sites: 2_000, pages: 49, addresses: 500, latency_ms: 0, kind: Kind::Tempting };
/// The defaults of the program.
const PAUSE: Duration = Duration::from_secs(2);
const ADDRESS_PAUSE: Duration = Duration::from_millis(250);
const SLACK: Duration = Duration::from_millis(5);

/// What a careless crawler would fall for.
pub fn tempt(options: &mut WebOptions) {
    options.page = PageOptions {
        bytes_mean: 5_000.0,
        alias_share: 0.5,
        redirect_share: 0.02,
        ..PageOptions::default()
    };
    options.robots = RobotsPlan::Disallow(vec!["/private/".to_owned()]);
    options.https_share = 0.1;
}

pub fn measure(place: &Place<'_>) -> anyhow::Result<String> {
    let server = Server::start(place.programs, place.scratch, WEB)?;
    // As everybody has it: no pause is given, the default holds.
    let arguments = place.crawl(&server, &[])?;
    place.configure(&server)?;
    let usage = process::run(&place.programs.join("harvestman"), &arguments)?;
    let log = server.log()?;
    let findings = Findings::of(&log, &server);
    let requests = log.len();
    ensure!(requests >= 100_000, "only {requests} requests");
    Ok(format!(
        "{} hosts on {} addresses, a tenth of them on https; half of the links in another spelling (upper case, `:80` \
         and `:443`, a dot behind the name, escapes in name and path, user names); forbidden pages linked \
         likewise. Pause 2 s for a host, 250 ms between hosts of one address, as by default.\n\n\
         {requests} requests in {:.0} s, CPU {:.0} µs each, peak {} MB. In the server's log, {} ms forgiven:\n\n{}",
        WEB.sites,
        WEB.addresses,
        usage.wall.as_secs_f64(),
        usage.cpu().as_secs_f64() * 1e6 / requests as f64,
        usage.peak_bytes >> 20,
        SLACK.as_millis(),
        findings.text(),
    ))
}

/// What the log shows, one list a promise.
struct Findings(Vec<(&'static str, Vec<Violation>)>);

impl Findings {
    fn of(log: &[Entry], server: &Server) -> Findings {
        Findings(vec![
            ("pauses of a host broken", checks::pauses(log, PAUSE, SLACK)),
            ("pauses of an address broken", checks::address_pauses(log, ADDRESS_PAUSE, SLACK)),
            ("two requests at once at a host", checks::connections_at_once(log, 1)),
            ("disallowed pages fetched", checks::disallowed(log, &server.web)),
            ("robots.txt asked for again within 24 h", checks::robots_too_often(log)),
            ("pages fetched twice", checks::repeats(log)),
            ("pages missed", missed(log, &server.web, 0..server.web.sites())),
        ])
    }

    fn text(&self) -> String {
        let mut text = "| promise | broken | the first |\n| --- | --- | --- |\n".to_owned();
        for (promise, found) in &self.0 {
            let first = found.first().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "| {promise} | {} | {first} |", found.len());
        }
        text
    }
}

/// Pages of these sites that were never given out.
pub fn missed(log: &[Entry], web: &SimWeb, sites: Range<usize>) -> Vec<Violation> {
    let mut by_host: HashMap<&str, Vec<Entry>> = HashMap::new();
    for entry in log {
        by_host.entry(&entry.host).or_default().push(entry.clone());
    }
    let of = |site| {
        let host = web.host(site);
        let log = by_host.get(host.as_str()).map(Vec::as_slice).unwrap_or_default();
        checks::completeness(log, web, &host)
    };
    sites.flat_map(of).collect()
}
