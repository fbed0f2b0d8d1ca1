//! Sites that have more URLs than pages. Each keeps to its place; what is a page of its own there is known, so
//! that a test can ask for all of them.

use std::time::Duration;

use model::Timestamp;

use super::{
    Answer, Request, SimWeb,
    answer::not_found,
    hazards::number,
    page::Dress,
    reply::{Reply, small_page},
};
use crate::{Hazard, dice::mix};

/// Filters of a shop, and values of each (Google's guide has about as many).
const FACETS: u64 = 20;
const VALUES: u64 = 5;
/// Products on a page of a shop.
const SHELF: u64 = 20;
/// Identifiers change this often, in milliseconds.
const SESSION_MS: i64 = 40;

impl SimWeb {
    /// `None`: the hazard is no trap of these; `Some(None)`: the ordinary answer.
    pub(super) fn trap(
        &self,
        hazard: Hazard,
        site: usize,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Option<Option<Answer>> {
        if matches!(request.path(), "/robots.txt") && hazard.is_trap() {
            return Some(None);
        }
        let page =
            |title: &str, body: &str| Reply::new(200, now).html().whole(small_page(title, body));
        let answer = match hazard {
            Hazard::UnknownSession => self.unknown_session(site, request, now),
            Hazard::PathSession => self.path_session(site, request, now),
            Hazard::CookielessSession => self.cookieless(site, request, now),
            Hazard::Facets { products } => shop(request, products, now),
            Hazard::Listing => page("Index of a folder", &listing(request.path())),
            Hazard::Broken => page("Sorry", &broken(request)),
            Hazard::Reescape => page("Search", &reescape(request)),
            Hazard::History => page("Offers", &history(request)),
            Hazard::Tarpit { after } => self.tarpit(request, after, now),
            Hazard::Chain { length } => chain(request, length, now),
            _ => return None,
        };
        Some(Some(answer))
    }

    fn token(&self, now: Timestamp) -> String {
        format!("{:016x}", mix(self.options.seed, (now.0 / SESSION_MS) as u64))
    }

    fn unknown_session(&self, site: usize, request: &Request<'_>, now: Timestamp) -> Answer {
        let suffix = format!("visitor={}", self.token(now));
        self.ordinary(site, request, now, &Dress { suffix, ..Dress::default() })
    }

    /// `/s-TOKEN/path` is the page at `/path`, which itself is there too.
    fn path_session(&self, site: usize, request: &Request<'_>, now: Timestamp) -> Answer {
        let dress = Dress { prefix: format!("/s-{}", self.token(now)), ..Dress::default() };
        let inside = request.target.strip_prefix("/s-").and_then(|rest| rest.find('/'));
        let target = inside.map_or(request.target, |slash| &request.target[slash + 3..]);
        self.ordinary(site, &Request { target, ..*request }, now, &dress)
    }

    fn cookieless(&self, site: usize, request: &Request<'_>, now: Timestamp) -> Answer {
        if request.cookie.is_some_and(|cookie| cookie.contains("sid=")) {
            return self.ordinary(site, request, now, &Dress::default());
        }
        let suffix = format!("sid={}", self.token(now));
        let mut answer = self.ordinary(
            site,
            request,
            now,
            &Dress { suffix: suffix.clone(), ..Dress::default() },
        );
        // In front of the empty line that ends the head.
        let end = answer.head.len().saturating_sub(2);
        let cookie = format!("Set-Cookie: {suffix}; Path=/\r\n");
        answer.head.splice(end..end, cookie.bytes());
        answer
    }

    fn tarpit(&self, request: &Request<'_>, after: Duration, now: Timestamp) -> Answer {
        let draw = mix(self.options.seed, hash(request.target));
        let words = ["mud", "reed", "moss", "peat", "frog", "heron", "mist", "root"];
        let word = |k: u32| words[(draw.rotate_left(k * 7) & 7) as usize];
        let text: String = (0..40).map(|k| format!("{} ", word(k))).collect();
        let folder = request.path().trim_end_matches(|c: char| c != '/');
        let links: String = (0..6u64)
            .map(|k| {
                format!("<a href=\"{folder}{}-{:x}\">on</a> ", word(k as u32), mix(draw, k) >> 24)
            })
            .collect();
        let body = format!("<p>{text}</p>\n<p>{links}</p>");
        let mut answer = Reply::new(200, now).html().whole(small_page(word(9), &body));
        answer.delay += after;
        answer
    }
}

/// The shop itself, its filters, and `/item/N` below it.
fn shop(request: &Request<'_>, products: u64, now: Timestamp) -> Answer {
    let (path, query) = (request.path(), request.query());
    if let Some((_, item)) = path.split_once("/item/") {
        let Some(item) = item.parse::<u64>().ok().filter(|item| *item < products) else {
            return not_found(now);
        };
        let body = format!("<p>This is product {item}, made of {}.</p>", stuff(item));
        return Reply::new(200, now).html().whole(small_page(&format!("Product {item}"), &body));
    }
    let base = path.trim_end_matches('/');
    let chosen: Vec<&str> = query.split('&').filter(|pair| pair.starts_with('f')).collect();
    let fits = |item: &u64| {
        chosen.iter().all(|pair| {
            let (facet, value) = (pair[1..].split('=').next(), pair.rsplit('=').next());
            let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
            mix(*item, number(facet)) % VALUES == number(value)
        })
    };
    let page = number(query, "page=");
    let shelf = (0..products).filter(fits).skip((page * SHELF) as usize).take(SHELF as usize);
    let mut body: String =
        shelf.map(|item| format!("<a href=\"{base}/item/{item}\">{}</a> ", stuff(item))).collect();
    if chosen.is_empty() && (page + 1) * SHELF < products {
        body.push_str(&format!("<a href=\"{path}?page={}\">more</a> ", page + 1));
    }
    for facet in 0..FACETS {
        let name = format!("f{facet}=");
        if chosen.iter().any(|pair| pair.starts_with(&name)) || page > 0 {
            continue;
        }
        for value in 0..VALUES {
            let mut with: Vec<String> = chosen.iter().map(|pair| (*pair).to_owned()).collect();
            with.push(format!("{name}{value}"));
            body.push_str(&format!("<a href=\"{path}?{}\">{name}{value}</a> ", with.join("&amp;")));
        }
    }
    Reply::new(200, now).html().whole(small_page("Shop", &format!("<p>{body}</p>")))
}

fn stuff(item: u64) -> String {
    let things = ["wool", "oak", "glass", "brass", "linen", "clay", "iron", "silk", "cork", "jade"];
    let thing = |k: u64| things[(mix(item, k) % 10) as usize];
    (0..8).map(thing).collect::<Vec<_>>().join(" and ")
}

/// Four folders with three files each, listed in eight orders.
fn listing(path: &str) -> String {
    if path.ends_with(".txt") {
        return format!("<p>The file {path}.</p>");
    }
    let order = |column: char, way: char| format!("<a href=\"?C={column};O={way}\">{column}</a> ");
    let old = |column: char, way: char| format!("<a href=\"?{column}={way}\">{column}</a> ");
    let columns = ['N', 'M', 'S', 'D'];
    let mut body: String = columns.map(|column| order(column, 'A') + &order(column, 'D')).concat();
    body += &columns.map(|column| old(column, 'A') + &old(column, 'D')).concat();
    for n in 0..3 {
        body += &format!("<a href=\"file{n}.txt\">file {n}</a> ");
    }
    if !path.contains("/sub") {
        body += "<a href=\"sub0/\">sub0</a> <a href=\"sub1/\">sub1</a> <a href=\"sub2/\">sub2</a>";
    }
    body
}

/// The same bytes whatever is asked for; the links are relative, so that there are ever more.
fn broken(request: &Request<'_>) -> String {
    let root = request.path().split("/p/").next().unwrap_or_default().trim_end_matches('/');
    let links: String = (0..1_000).map(|n| format!("<a href=\"{root}/p/{n}\">{n}</a> ")).collect();
    format!("<p>The database is not available. Please come back later.</p>{links}")
}

fn reescape(request: &Request<'_>) -> String {
    let query = match request.query() {
        "" => "q=1&amp;a=2".to_owned(),
        // What an author forgets to undo is done once more at every step.
        query => query.replace('%', "%25").replace('&', "&amp;amp%3B"),
    };
    format!("<p>Results of a search.</p><a href=\"{}?{query}\">again</a>", request.path())
}

fn history(request: &Request<'_>) -> String {
    let here = request.target.replace('%', "%25").replace('?', "%3F").replace('=', "%3D");
    let links = ["one", "two"].map(|to| {
        let from = here.replace('/', "%2F").replace('&', "%26");
        format!("<a href=\"{}?offer={to}&amp;from={from}\">{to}</a> ", request.path())
    });
    format!("<p>Offers of the day.</p>{}", links.concat())
}

/// `/N` links to `/N+1`, each with a text of its own.
fn chain(request: &Request<'_>, length: u64, now: Timestamp) -> Answer {
    let (folder, last) = request.path().rsplit_once('/').unwrap_or_default();
    let at: u64 = last.parse().unwrap_or(0);
    if at >= length {
        return not_found(now);
    }
    let next = match at + 1 < length {
        true => format!("<a href=\"{folder}/{}\">next</a>", at + 1),
        false => String::new(),
    };
    let body = format!("<p>Chapter {at}, of {}.</p>{next}", stuff(at));
    Reply::new(200, now).html().whole(small_page(&format!("Chapter {at}"), &body))
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0, |hash, b| mix(hash, u64::from(b)))
}
