//! What the web can make the crawler do to others, or to whoever runs it: nothing. The witnesses are servers that
//! must not be asked.

use std::{
    collections::BTreeSet,
    io::Write,
    net::TcpListener,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;
use simweb::{Hazard, Odd, PageCount, WebOptions, checks};

use crate::{
    ask::{strings, was_fetched},
    raw::{Asked, Raw, reply},
    world::{Done, Running, World},
};

const RESOLVE: &str = "*.raw.test=127.0.0.1";
const HTML: &str = "Content-Type: text/html";

/// Counts who connects to it, and is never to be connected to.
struct Canary {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Canary {
    fn at(address: &str) -> Canary {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        std::thread::spawn(move || {
            for _stream in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Canary { port, connections }
    }

    fn sang(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn met(world: &World, hazard: &str) -> Vec<Value> {
    let told = world.run(&["report", "hazards", "--hazard", hazard, "--json"]);
    told.exits(0).json()["rows"].as_array().unwrap().clone()
}

fn kinds(world: &World, hazard: &str) -> Vec<String> {
    let rows = met(world, hazard);
    let mut kinds: Vec<String> =
        rows.iter().map(|row| row["detail"].as_str().unwrap_or_default().to_owned()).collect();
    kinds.sort();
    kinds
}

fn crawl(world: &World, seed: &str, more: &[&str]) -> Done {
    let mut args = vec!["crawl", seed, "--delay", "0"];
    if !more.contains(&"--resolve") {
        args.extend(["--resolve", RESOLVE]);
    }
    args.extend(more);
    world.run(&args)
}

/// A page that is asked for in place of `robots.txt` too, unless it is one.
fn plain(place: &str) -> bool {
    !place.ends_with("/robots.txt")
}

#[test]
fn nothing_inside_the_network_is_asked_whatever_links_redirects_and_names_say() {
    let canary = Canary::at("127.0.0.2");
    let spellings = [
        "127.0.0.2",
        "127.2",
        "127.0.2",
        "2130706434",
        "0x7f000002",
        "017700000002",
        "0x7f.2",
        "0177.0.0.2",
        "127.0.0.0x2",
        "%31%32%37.0.0.2",
        "１２７.0.0.2",
        "127。0。0。2",
        "127．0.0.2",
        "[::ffff:127.0.0.2]",
        "[::ffff:7f00:2]",
        "[::127.0.0.2]",
        "[64:ff9b::7f00:2]",
        "[64:ff9b:1::7f00:2]",
        "[2002:7f00:2::]",
        "[::ffff:0:7f00:2]",
        "inner.raw.test",
    ];
    let port = canary.port;
    let place = move |n: usize| format!("http://{}:{port}/{n}", spellings[n]);
    let many = spellings.len();
    let raw = Raw::start(move |asked, stream| {
        let path = asked.split_once('/').map_or("", |(_, path)| path);
        let number = path.strip_prefix("to/").and_then(|n| n.parse().ok());
        match (path, number) {
            ("", _) => {
                let links: String = (0..many)
                    .map(|n| format!("<a href='{}'>{n}</a><a href='/to/{n}'>{n}</a>", place(n)))
                    .collect();
                reply(stream, "200 OK", HTML, links.as_bytes());
            }
            (_, Some(n)) => {
                let fields = format!("Location: {}r", place(n));
                let bytes = fields.as_bytes();
                let _ = stream.write_all(b"HTTP/1.1 302 Found\r\n");
                let _ = stream.write_all(bytes);
                let _ = stream.write_all(b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
            _ => reply(stream, "404 Not Found", HTML, b"none"),
        }
    });
    let world = World::new(WebOptions::default());
    // Not through the world's own command: that allows all of 127.0.0.0/8.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_harvestman"));
    let (seed, ports) = (format!("http://127.0.0.1:{}/", raw.port), format!("[\"{port}\"]"));
    command.arg("-C").arg(&world.folder).args(["crawl", &seed, "--delay", "0", "--scope", "any"]);
    command.args(["--allow-address", "127.0.0.1", "--resolve", "inner.raw.test=127.0.0.2"]);
    command.env("HARVESTMAN_CRAWL_PORTS", ports).current_dir(world.temp.path());
    Running::new(&mut command).wait(Duration::from_secs(60)).exits(0);
    assert_eq!(canary.sang(), 0, "a byte reached the inner server");
    assert_eq!(raw.asked().len(), 1 + many, "all redirects were met");
    let refused = met(&world, "private-address");
    assert!(refused.iter().any(|row| row["detail"] == "link"), "{refused:?}");
    let ways: u64 = refused.iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert!(ways as usize > many, "{refused:#?}");
    let inside = format!(":{port}/");
    let known = world.pages_and_parts();
    let fetched: Vec<_> = known.iter().filter(|page| was_fetched(page)).collect();
    assert!(!fetched.is_empty(), "the page that links to them");
    assert!(!fetched.iter().any(|page| page["url"].as_str().unwrap().contains(&inside)));
}

#[test]
fn redirects_out_of_the_web_open_nothing_and_unusual_ports_are_asked_for_by_name_only() {
    let canary = Canary::at("127.0.0.1");
    let port = canary.port;
    let targets = [
        "file:///etc/passwd".to_owned(),
        format!("ftp://127.0.0.1:{port}/x"),
        "data:text/html,<a href=/no>x</a>".to_owned(),
        "javascript:alert(1)".to_owned(),
        format!("gopher://127.0.0.1:{port}/x"),
        format!("FILE://127.0.0.1:{port}/x"),
        format!("  ws://127.0.0.1:{port}/x"),
    ];
    let count = targets.len();
    let raw = Raw::start(move |asked, stream| {
        let path = asked.split_once('/').map_or("", |(_, path)| path);
        match path.parse().ok().and_then(|n: usize| targets.get(n)) {
            Some(target) => reply(stream, "302 Found", &format!("Location: {target}"), b""),
            None if path.is_empty() => {
                let links: String = (0..count).map(|n| format!("<a href=/{n}>{n}</a>")).collect();
                let odd = format!("<a href='http://other.raw.test:{port}/'>odd</a>");
                reply(stream, "200 OK", HTML, [links, odd].concat().as_bytes());
            }
            None => reply(stream, "404 Not Found", HTML, b"none"),
        }
    });
    let world = World::new(WebOptions::default());
    let seed = format!("http://a.raw.test:{}/", raw.port);
    crawl(&world, &seed, &["--scope", "any"]).exits(0);
    assert_eq!(raw.asked().len(), 1 + count);
    assert_eq!(canary.sang(), 0);
    let schemes = ["data", "file", "ftp", "gopher", "javascript", "ws"];
    assert_eq!(kinds(&world, "unsupported-scheme"), schemes);
    let odd = met(&world, "unusual-port");
    assert_eq!(odd[0]["examples"][0], format!("http://other.raw.test:{port}/"));
}

#[test]
fn credentials_cookies_and_referrers_never_cross_an_origin() {
    let other = Raw::pages(&[]);
    let away = other.port;
    // To another port, another host, a host below and the domain above; by each way of redirecting.
    let raw = Raw::hearing(move |asked, stream| {
        let port = asked.header("host").and_then(|host| host.split(':').nth(1)).unwrap_or("80");
        let hosts = [
            format!("in.a.raw.test:{away}"),
            format!("b.raw.test:{port}"),
            format!("below.in.a.raw.test:{port}"),
            format!("a.raw.test:{port}"),
        ];
        let ways = ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"];
        let (host, path) = asked.place.split_once('/').unwrap();
        let number: Option<usize> = path.strip_prefix("go/").and_then(|n| n.parse().ok());
        match number {
            _ if !plain(&asked.place) => reply(stream, "404 Not Found", HTML, b"none"),
            _ if host != "in.a.raw.test" => reply(stream, "200 OK", HTML, b"elsewhere"),
            Some(n) => {
                let target = &hosts[n % hosts.len()];
                let fields = format!("Location: http://{target}/got/{n}\r\nSet-Cookie: own=s3cret");
                reply(stream, ways[n / hosts.len()], &fields, b"");
            }
            None => {
                let mut body: String =
                    (0..20).map(|n| format!("<a href=/go/{n}>{n}</a>")).collect();
                for (n, host) in hosts.iter().enumerate() {
                    body += &format!("<a href='http://{host}/linked/{n}'>x</a>");
                }
                reply(
                    stream,
                    "200 OK",
                    &format!("{HTML}\r\nSet-Cookie: own=s3cret"),
                    body.as_bytes(),
                );
            }
        }
    });
    let world = World::new(WebOptions::default());
    std::fs::create_dir_all(&world.folder).unwrap();
    let port = raw.port;
    let cookies =
        "# Netscape HTTP Cookie File\nin.a.raw.test\tFALSE\t/\tFALSE\t0\tmember\ts3cret\n";
    std::fs::write(world.folder.join("cookies.txt"), cookies).unwrap();
    let config = format!(
        "[fetch]\ncookies = \"cookies.txt\"\n[crawl]\nscope = \"domain\"\nports = [\"{away}\"]\n\
         [[credential]]\norigin = \"http://in.a.raw.test:{port}\"\nbasic = \"ann:s3cret\"\n\
         [[credential]]\norigin = \"http://in.a.raw.test:{port}\"\nheader = \"X-Api-Key: s3cret\"\n"
    );
    std::fs::write(world.folder.join("harvest.toml"), config).unwrap();
    // The name and password in a seed are for nobody else either.
    let seed = format!("http://ann:s3cret@in.a.raw.test:{port}/");
    let done = crawl(&world, &seed, &[]);
    if done.status.code() == Some(2) {
        crawl(&world, &format!("http://in.a.raw.test:{port}/"), &[]).exits(0);
    }
    let own = |asked: &Asked| asked.header("host") == Some(&format!("in.a.raw.test:{port}"));
    let heard: Vec<Asked> = raw.heard().into_iter().chain(other.heard()).collect();
    let (home, others): (Vec<&Asked>, Vec<&Asked>) = heard.iter().partition(|asked| own(asked));
    let got = others.iter().filter(|asked| asked.place.contains("/got/")).count();
    assert_eq!(got, 20, "every redirect was followed");
    assert!(home.iter().all(|asked| asked.header("authorization").is_some()), "{home:#?}");
    assert!(home.iter().all(|asked| asked.header("x-api-key") == Some("s3cret")), "{home:#?}");
    for asked in others {
        for name in ["authorization", "proxy-authorization", "cookie", "referer", "x-api-key"] {
            assert_eq!(asked.header(name), None, "{asked:?}");
        }
        assert!(!asked.head.join("\n").contains("s3cret"), "{asked:?}");
    }
    for asked in &heard {
        assert_eq!(asked.header("referer"), None);
        let agent = asked.header("user-agent").unwrap_or_default();
        assert!(agent.starts_with("Harvestman/") || agent.starts_with("harvestman/"), "{agent}");
    }
}

#[test]
fn headers_that_are_secrets_are_refused_where_they_would_go_to_every_server() {
    let raw = Raw::pages(&[("a.raw.test/", "<p>home")]);
    let world = World::new(WebOptions::default());
    let seed = format!("http://a.raw.test:{}/", raw.port);
    for line in [
        "Authorization: Bearer s3cret",
        "Cookie: member=s3cret",
        "Proxy-Authorization: Basic s3cret",
        "X-Api-Key: s3cret",
        "PRIVATE-TOKEN: s3cret",
        "X-Amz-Security-Token: s3cret",
        "X-Client-Secret: s3cret",
        "X-Custom: Bearer s3cret",
    ] {
        let list = format!("[{line:?}]");
        let mut command = world.command(&["crawl", &seed, "--delay", "0", "--resolve", RESOLVE]);
        command.env("HARVESTMAN_ETIQUETTE_HEADERS", list);
        let done = Running::new(&mut command).wait(Duration::from_secs(60));
        done.exits(2).says(&["would go to every site"]);
        let where_to = if line.starts_with("Cookie") { "fetch.cookies" } else { "[[credential]]" };
        done.says(&[where_to]);
        assert!(!done.err.contains("s3cret"), "{done}");
    }
    let header = "etiquette.headers=[\"X-Api-Key: s3cret\"]";
    let done = world.run(&["spider", "add", "one", &seed, "--set", header]);
    done.exits(2).says(&["[[credential]]"]);
    assert_eq!(raw.heard().len(), 0, "nobody was asked anything");
}

#[test]
fn cookies_for_others_and_floods_of_them_are_refused_and_told() {
    let raw = Raw::hearing(|asked, stream| {
        let mut fields = HTML.to_owned();
        let flood = asked.place == "a.raw.test/";
        if flood {
            for n in 0..100 {
                fields += &format!("\r\nSet-Cookie: c{n}={n}");
            }
            fields += &format!("\r\nSet-Cookie: long={}", "x".repeat(5_000));
            for domain in ["test", ".com", "co.uk", "b.raw.test", "raw.test.", "w.test"] {
                fields += &format!("\r\nSet-Cookie: super=1; Domain={domain}");
            }
        }
        let body = b"<a href=/1>1</a><a href=http://b.raw.test/>b</a>";
        match plain(&asked.place) {
            true => reply(stream, "200 OK", &fields, body),
            false => reply(stream, "404 Not Found", HTML, b"none"),
        }
    });
    let world = World::new(WebOptions::default());
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let more = ["--scope", "domain", "--resolve", &rule];
    crawl(&world, "http://a.raw.test/", &more).exits(0);
    let heard = raw.heard();
    let of = |place: &str| heard.iter().find(|asked| asked.place == place).unwrap();
    let sent = of("a.raw.test/1").header("cookie").unwrap();
    let pairs: Vec<&str> = sent.split("; ").collect();
    assert!(pairs.len() <= 50 && sent.len() <= 8 << 10, "{} cookies", pairs.len());
    assert!(!sent.contains("super") && !sent.contains("long"), "{sent}");
    assert_eq!(of("b.raw.test/").header("cookie"), None);
    let kinds = kinds(&world, "cookie-refused");
    assert_eq!(kinds, ["for another domain", "too long", "too many"]);
}

#[test]
fn circles_and_endless_chains_of_redirects_and_refreshes_end() {
    let raw = Raw::hearing(|asked, stream| {
        let (host, path) = asked.place.split_once('/').unwrap();
        let to = |stream: &mut std::net::TcpStream, target: &str, more: &str| {
            reply(stream, "302 Found", &format!("Location: {target}{more}"), b"");
        };
        if let Some(n) =
            host.strip_suffix(".chain.raw.test").and_then(|h| h[1..].parse::<u32>().ok())
            && path != "robots.txt"
        {
            return to(stream, &format!("http://h{}.chain.raw.test/", n + 1), "");
        }
        let body = match path {
            "" => {
                "<a href=/self>1</a><a href=/a>2</a><a href=/cookie>3</a><a href=/r/self>4</a>\
                   <a href=/r/a>5</a><a href=http://h1.chain.raw.test/>6</a><a href='//a.raw.test//a.raw.test//x'>7</a>"
            }
            "self" => return to(stream, "/self", ""),
            "a" => return to(stream, "/b", ""),
            "b" => return to(stream, "/a", ""),
            "cookie" => return to(stream, "/cookie", "\r\nSet-Cookie: n=1"),
            "r/self" => "<meta http-equiv=refresh content='0'>again",
            "r/a" => "<meta http-equiv=refresh content='0;url=/r/b'>b",
            "r/b" => "<meta http-equiv=refresh content='0;url=/r/a'>a",
            "/a.raw.test//x" => "<a href='//a.raw.test//a.raw.test//x'>again</a>",
            _ => return reply(stream, "404 Not Found", HTML, b"none"),
        };
        reply(stream, "200 OK", HTML, body.as_bytes());
    });
    let world = World::new(WebOptions::default());
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let more = ["--scope", "domain", "--resolve", &rule];
    crawl(&world, "http://a.raw.test/", &more).exits(0);
    let asked = raw.asked();
    let times = |place: &str| asked.iter().filter(|asked| *asked == place).count();
    for once in ["self", "a", "b", "r/self", "r/a", "r/b", "/a.raw.test//x"] {
        assert_eq!(times(&format!("a.raw.test/{once}")), 1, "{once}");
    }
    assert_eq!(times("a.raw.test/cookie"), 2, "once more with its cookie");
    let chain = asked.iter().filter(|place| place.contains(".chain.")).count();
    assert_eq!(chain, 11, "the first and ten more");
    assert_eq!(met(&world, "redirect-loop")[0]["count"].as_u64().unwrap().min(3), 3);
    assert!(!met(&world, "redirect-chain").is_empty());
    assert!(met(&world, "refresh-loop")[0]["count"].as_u64().unwrap() >= 2);
}

#[test]
fn the_robots_txt_of_where_a_redirect_leads_is_read_before_anything_there() {
    let raw = Raw::hearing(|asked, stream| match asked.place.as_str() {
        "a.raw.test/" => reply(stream, "200 OK", HTML, b"<a href=/go>go</a>"),
        "a.raw.test/go" => {
            reply(stream, "302 Found", "Location: http://b.raw.test/secret/1", b"");
        }
        "b.raw.test/robots.txt" => {
            reply(
                stream,
                "200 OK",
                "Content-Type: text/plain",
                b"User-agent: *\nDisallow: /secret/",
            );
        }
        _ => reply(stream, "404 Not Found", HTML, b"none"),
    });
    let world = World::new(WebOptions::default());
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    crawl(&world, "http://a.raw.test/", &["--scope", "any", "--resolve", &rule]).exits(0);
    let heard = raw.heard();
    assert!(heard.iter().any(|asked| asked.place == "b.raw.test/robots.txt"));
    assert_eq!(raw.asked(), ["a.raw.test/", "a.raw.test/go"]);
}

#[test]
fn every_attack_of_the_simulated_web_is_told_by_its_name() {
    let attacks = [
        (Hazard::RedirectLoop, "redirect-loop"),
        (Hazard::RedirectChain { hops: 30 }, "redirect-chain"),
        (Hazard::RedirectScheme, "unsupported-scheme"),
        (Hazard::Odd(Odd::RefreshLoop), "refresh-loop"),
        (Hazard::CookieFlood, "cookie-refused"),
        (Hazard::EscapeSequences, "control-characters"),
        (Hazard::PrivateLinks, "private-address"),
        (Hazard::OddPorts, "unusual-port"),
    ];
    let mut options = WebOptions { sites: 1, pages: PageCount::Fixed(3), ..WebOptions::default() };
    for (hazard, _) in &attacks {
        options.put(&format!("s0.sim.test/hazard/{}", hazard.word()), *hazard);
    }
    let world = World::new(options);
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0"]).exits(0);
    assert_eq!(checks::completeness(&world.log(), &world.web, "s0.sim.test"), []);
    assert!(!met(&world, "unusual-port").is_empty(), "also where the scope ends at the site");
    world.run(&["crawl", "http://s0.sim.test/", "--delay", "0", "--scope", "domain", "--fresh"]);
    for (hazard, name) in &attacks {
        assert!(!met(&world, name).is_empty(), "{} is not told", hazard.word());
    }
}

#[test]
fn a_hundred_thousand_links_to_one_url_are_one_visit() {
    let raw = Raw::start(|place, stream| {
        let path = place.split_once('/').map_or("", |(_, path)| path);
        let body = match path {
            "" => (0..10).map(|n| format!("<a href=/list{n}>{n}</a>")).collect(),
            _ if path.starts_with("list") => "<a href=/one>one</a>".repeat(10_000),
            _ => "one".to_owned(),
        };
        reply(stream, "200 OK", HTML, body.as_bytes());
    });
    let world = World::new(WebOptions::default());
    crawl(&world, &format!("http://a.raw.test:{}/", raw.port), &[]).exits(0);
    let ones = raw.asked().iter().filter(|place| place.ends_with("/one")).count();
    assert_eq!((ones, raw.asked().len()), (1, 12));
}

#[test]
fn a_visit_under_way_to_what_is_blocked_is_cut_within_seconds_and_not_kept() {
    let gone = Arc::new(AtomicBool::new(false));
    let noticed = gone.clone();
    let raw = Raw::start(move |place, stream| {
        if place.ends_with("/drip") {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>";
            let _ = stream.write_all(head.as_bytes());
            while stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
            return noticed.store(true, Ordering::SeqCst);
        }
        reply(stream, "200 OK", HTML, b"<a href=/drip>drip</a>");
    });
    let world = World::new(WebOptions::default()).variable("HARVESTMAN_FETCH_TIMEOUT", "2m");
    let seed = format!("http://a.raw.test:{}/", raw.port);
    let crawl = world.start(&["crawl", &seed, "--delay", "0", "--resolve", RESOLVE]);
    world.wait_for("the page is asked for", |_| {
        raw.asked().iter().any(|place| place.ends_with("/drip"))
    });
    world.run(&["block", &format!("{seed}drip")]).exits(0).says(&["in force"]);
    // From when the block is in force, not from when a process was begun on a busy machine. What is not cut goes on for
    // fetch.timeout, two minutes here.
    let in_force = Instant::now();
    world.wait_for("the connection is cut", |_| gone.load(Ordering::SeqCst));
    assert!(in_force.elapsed() < Duration::from_secs(20), "{:?}", in_force.elapsed());
    crawl.wait(Duration::from_secs(30)).exits(0);
    assert_eq!(world.visits_total(), 1, "the home page alone");
    world.run(&["show", &format!("{seed}drip")]).exits(2);
    world.run(&["check"]).exits(0);
}

#[test]
fn hosts_that_never_answer_or_drip_do_not_keep_the_others_from_being_finished() {
    let raw = Raw::hearing(|asked, stream| {
        let (host, path) = asked.place.split_once('/').unwrap();
        match (host, path) {
            ("h1.raw.test", _) => std::thread::sleep(Duration::from_secs(20)),
            ("h2.raw.test", _) => {
                for _ in 0..200 {
                    if stream.write_all(b"H").is_err() {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
            (_, "robots.txt") => reply(stream, "404 Not Found", HTML, b"none"),
            ("home.raw.test", "") => {
                let links: String =
                    (1..=100).map(|n| format!("<a href='http://h{n}.raw.test/'>{n}</a>")).collect();
                reply(stream, "200 OK", HTML, links.as_bytes());
            }
            _ => reply(stream, "200 OK", HTML, b"<a href=/2>2</a>"),
        }
    });
    let world = World::new(WebOptions::default())
        .variable("HARVESTMAN_FETCH_TIMEOUT", "2s")
        .variable("HARVESTMAN_FETCH_FIRST_BYTE_TIMEOUT", "1s");
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let more = ["--scope", "domain", "--resolve", &rule];
    crawl(&world, "http://home.raw.test/", &more).exits(0);
    let pages = raw.asked();
    let good = pages.iter().filter(|place| !place.starts_with("h1.") && !place.starts_with("h2."));
    assert_eq!(good.count(), 1 + 98 * 2, "every good page was fetched");
    let mut left = world.pages_and_parts();
    left.retain(|page| !was_fetched(page) && page["state"] != "excluded");
    let left: BTreeSet<String> = strings(&left, "site").into_iter().collect();
    assert_eq!(left.len(), 2, "exactly the bad hosts are left: {left:?}");
}

#[test]
fn no_url_has_a_file_outside_the_folder_of_pages() {
    let nasty = [
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/x",
        "..%5c..%5cx",
        "..\\..\\x",
        "%2e%2e%5cx",
        "....//....//x",
        "a/../../b",
        "./../x",
        "%00",
        "a%00.html",
        "a%0ab",
        "a%0d%0ab",
        "CON",
        "con.html",
        "NUL.txt",
        "AUX/",
        "COM1.log",
        "LPT9",
        "a.",
        "a%20",
        "a.html.",
        "~root/x",
        "$HOME",
        "`id`",
        "$(id)",
        "a;b",
        "a|b",
        "a&b",
        "-rf",
        "--help",
        ".htaccess",
        ".git/config",
        ".ssh/authorized_keys",
        "a:b",
        "C:/x",
        "C%3a%5cx",
        "%5c%5chost%5cshare",
        "//x//y",
        "%e2%80%ae/x",
        "%1b%5b2J",
        "a*b?c=d",
        "a\"b",
        "a<b>c",
        "%c0%ae%c0%ae/x",
        "%252e%252e/x",
        "..;/x",
        "..%00/x",
        "x/%2e",
        "x/%2e%2e",
        "index.html/../..",
        "?../../x",
        "?q=%2e%2e%2f",
        "x%2f..%2f..",
    ];
    let links: String = nasty
        .iter()
        .map(|path| format!("<a href=\"/{}\">x</a>", path.replace('"', "&quot;")))
        .collect();
    let long = format!("<a href=/{}>long</a>", "y/".repeat(600));
    let raw = Raw::start(move |place, stream| match place.split_once('/') {
        Some((_, "robots.txt")) => reply(stream, "404 Not Found", HTML, b"none"),
        Some((_, "")) => reply(stream, "200 OK", HTML, format!("{links}{long}").as_bytes()),
        _ => reply(stream, "200 OK", HTML, format!("a page: {place}").as_bytes()),
    });
    let world = World::new(WebOptions::default()).variable("HARVESTMAN_STORE_DIRECTORY", "true");
    let seed = format!("http://a.raw.test:{}/", raw.port);
    crawl(&world, &seed, &[]).exits(0);
    let pages = world.fetched();
    assert!(pages > 45, "{pages}");
    let mut inside = 0;
    let mut elsewhere = Vec::new();
    walk(world.temp.path(), &mut |path| {
        let text = std::fs::read(path).unwrap();
        match path.starts_with(world.folder.join("directory")) {
            true => inside += 1,
            false if text.starts_with(b"a page") => elsewhere.push(path.to_owned()),
            false => {}
        }
    });
    assert_eq!(elsewhere, Vec::<std::path::PathBuf>::new());
    assert_eq!(inside, pages, "a file a page");
    let top: Vec<_> = std::fs::read_dir(world.temp.path()).unwrap().flatten().collect();
    assert_eq!(top.len(), 1, "nothing beside the collection: {top:?}");
}

fn walk(folder: &Path, take: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        assert!(!path.is_symlink());
        if path.is_dir() { walk(&path, take) } else { take(&path) }
    }
}
