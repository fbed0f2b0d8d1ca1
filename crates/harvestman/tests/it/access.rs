//! How spiders get in: what a server is told by whom, and what of it stays out of the collection.

use simweb::WebOptions;

use crate::{
    raw::{Asked, Raw, reply},
    world::World,
};

const SITES: [&str; 2] = ["a.raw.test", "b.raw.test"];

#[test]
fn credentials_cookies_and_headers_go_where_they_belong_and_into_no_archive() {
    let raw = links_to_each_other();
    let world = World::new(WebOptions::default());
    std::fs::create_dir_all(&world.folder).unwrap();
    let port = raw.port;
    std::fs::write(
        world.folder.join("cookies.txt"),
        "# Netscape HTTP Cookie File\na.raw.test\tFALSE\t/\tFALSE\t0\tmember\tcookie-5ecret\n",
    )
    .unwrap();
    std::fs::write(
        world.folder.join("harvest.toml"),
        format!(
            "[crawl]\nscope = \"domain\"\n[fetch]\ncookies = \"cookies.txt\"\n\
             [etiquette]\nheaders = [\"Accept-Language: pt\"]\n\
             [[credential]]\norigin = \"http://a.raw.test:{port}\"\nbasic = \"ann:pass-5ecret\"\n\
             [[credential]]\norigin = \"http://a.raw.test:{port}\"\nheader = \"X-Api-Key: env:KEY\"\n\
             [[credential]]\norigin = \"http://b.raw.test:{port}\"\nbearer = \"env:TOKEN\"\n"
        ),
    )
    .unwrap();
    let world = world.variable("TOKEN", "token-5ecret").variable("KEY", "key-5ecret");
    let seed = format!("http://a.raw.test:{port}/");
    let resolve = "*.raw.test=127.0.0.1";
    world.run(&["crawl", &seed, "--delay", "0", "--resolve", resolve]).exits(0);

    let heard = raw.heard();
    let of = |site: &str| heard.iter().filter(|asked| asked.place.starts_with(site)).collect();
    let [a, b]: [Vec<&Asked>; 2] = SITES.map(of);
    assert!(a.len() >= 3 && b.len() >= 3, "{heard:?}");
    for asked in &a {
        assert_eq!(asked.header("authorization"), Some("Basic YW5uOnBhc3MtNWVjcmV0"));
        assert_eq!(asked.header("cookie"), Some("member=cookie-5ecret"));
        assert_eq!(asked.header("x-api-key"), Some("key-5ecret"));
    }
    for asked in &b {
        assert_eq!(asked.header("authorization"), Some("Bearer token-5ecret"));
        assert_eq!(asked.header("x-api-key"), None);
        assert!(asked.header("cookie").is_none_or(|ticket| ticket == "ticket=from-token-5ecret"));
    }
    assert!(b.iter().any(|asked| asked.header("cookie").is_some()), "the ticket is used");
    assert!(heard.iter().all(|asked| asked.header("accept-language") == Some("pt")));
    for secret in ["5ecret", "YW5uOnBhc3MtNWVjcmV0"] {
        let found = holding(&world, secret);
        assert!(found.is_empty(), "{secret} is in {found:?}");
    }
    let shown = world.run(&["config"]);
    assert!(!shown.out.contains("pass-5ecret"), "{shown}");
}

#[test]
fn spiders_differ_in_what_they_tell_servers() {
    let raw = links_to_each_other();
    let world = World::new(WebOptions::default());
    let [a, b] = SITES.map(|site| format!("http://{site}:{}/", raw.port));
    let headers = |name: &str| format!("etiquette.headers=[\"X-Spider: {name}\"]");
    world.run(&["spider", "add", "one", &a, "--set", &headers("one")]).exits(0);
    world.run(&["spider", "add", "two", &b, "--set", &headers("two")]).exits(0);
    world.run(&["crawl", "--delay", "0", "--resolve", "*.raw.test=127.0.0.1"]).exits(0);
    for (site, name) in SITES.iter().zip(["one", "two"]) {
        let heard = raw.heard();
        let mine: Vec<&Asked> = heard.iter().filter(|one| one.place.starts_with(site)).collect();
        assert!(mine.len() >= 3, "{heard:?}");
        assert!(mine.iter().all(|asked| asked.header("x-spider") == Some(name)), "{mine:?}");
    }
}

/// Two sites of one domain, three pages each, that link to each other.
fn links_to_each_other() -> Raw {
    Raw::hearing(|asked, stream| {
        let port = asked.header("host").and_then(|host| host.split(':').nth(1)).unwrap_or("80");
        if asked.place.ends_with("/robots.txt") {
            return reply(stream, "404 Not Found", "Content-Type: text/plain", b"none");
        }
        let away = SITES.map(|site| format!("<a href='http://{site}:{port}/'>{site}</a>")).concat();
        let body = format!("<a href='/1'>one</a> <a href='/2'>two</a> {away}");
        // Whoever shows a token is given a ticket that is as good.
        let fields = match asked.header("authorization") {
            Some(token) if token.starts_with("Bearer") => {
                "Content-Type: text/html\r\nSet-Cookie: ticket=from-token-5ecret"
            }
            _ => "Content-Type: text/html",
        };
        reply(stream, "200 OK", fields, body.as_bytes());
    })
}

/// Files of the collection, but for what the user wrote, that hold this text, packed or not.
fn holding(world: &World, text: &str) -> Vec<String> {
    let mine = ["harvest.toml", "cookies.txt"];
    let script = "grep -rlaF -- \"$1\" . ; for f in volumes/*.gz; do \
                  zcat \"$f\" | grep -qaF -- \"$1\" && echo \"$f\"; done";
    let found = std::process::Command::new("sh")
        .args(["-c", script, "sh", text])
        .current_dir(&world.folder)
        .output()
        .unwrap();
    let lines = String::from_utf8_lossy(&found.stdout).into_owned();
    let found = lines.lines().map(str::to_owned);
    found.filter(|file| !mine.iter().any(|name| file.ends_with(name))).collect()
}
