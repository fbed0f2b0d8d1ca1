//! Logging in by a form: what the site was asked for, in what order and with which cookies, and what stays
//! out of the collection.

use std::{
    collections::BTreeSet,
    net::TcpStream,
    path::Path,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use simweb::WebOptions;

use crate::{
    ask::strings,
    raw::{Asked, Raw, reply},
    world::World,
};

const PASSWORD: &str = "pa55 w0rd&more";
const SENT: &str = "password=pa55+w0rd%26more";
const TOKEN: &str = "tok-7731-abc";
const SESSION: &str = "sess-9e1f-";
const PAUSE: Duration = Duration::from_millis(900);
/// What timers and threads of a busy machine may be off by.
const SLACK: Duration = Duration::from_millis(500);
/// Of the members' pages: `/` links to the others.
const PAGES: [&str; 6] = ["/", "/1", "/2", "/3", "/4", "/home"];

/// A site whose pages are for members only, and another that anybody may see.
struct Club {
    raw: Raw,
    sessions: Arc<Sessions>,
}

#[derive(Default)]
struct Sessions {
    valid: Mutex<BTreeSet<String>>,
    begun: AtomicUsize,
    /// Pages until the session is over, once; the next one lasts.
    lasts: Mutex<Option<usize>>,
    /// It lets people in and does not know them a moment later.
    forgetful: bool,
}

impl Club {
    fn open(robots: &'static str) -> Club {
        Club::with(robots, Sessions::default())
    }

    fn with(robots: &'static str, sessions: Sessions) -> Club {
        let sessions = Arc::new(sessions);
        let doorman = sessions.clone();
        let raw = Raw::hearing(move |asked, stream| {
            let (host, path) = asked.place.split_at(asked.place.find('/').unwrap());
            match (host, path) {
                (_, "/robots.txt") => html(stream, "", robots),
                ("club.raw.test", path) => doorman.answer(asked, path, stream),
                (_, "/") => html(stream, "", "<a href='/x'>x</a>"),
                (_, "/x") => html(stream, "", "public"),
                _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
            }
        });
        Club { raw, sessions }
    }

    fn rule(&self) -> String {
        format!("*.raw.test=127.0.0.1:{}", self.raw.port)
    }

    /// `METHOD /path` of everything asked of the members' site.
    fn asked(&self) -> Vec<String> {
        let club = self.heard("club.raw.test");
        club.iter().map(|asked| format!("{} {}", asked.method, path(asked))).collect()
    }

    fn heard(&self, host: &str) -> Vec<Asked> {
        let mut heard = self.raw.heard();
        heard.retain(|asked| asked.place.starts_with(host));
        heard
    }

    fn posts(&self) -> usize {
        self.raw.heard().iter().filter(|asked| asked.method == "POST").count()
    }
}

impl Sessions {
    fn answer(&self, asked: &Asked, path: &str, stream: &mut TcpStream) {
        let member = self.is_member(asked);
        match (asked.method.as_str(), path.split('?').next().unwrap_or_default()) {
            ("GET", "/login") => {
                let form = format!(
                    "<form action='/search'><input name=q></form>\
                     <form method=post action='/session'><input type=hidden name=csrf value='{TOKEN}'>\
                     <input name=user><input type=password name=password></form>"
                );
                html(stream, "Set-Cookie: before=1", &form);
            }
            ("POST", "/session") => self.let_in(asked, stream),
            ("GET", page) if PAGES.contains(&page) && member => {
                let links = PAGES.map(|page| format!("<a href='{page}'>{page}</a> "));
                let text = if page == "/" { links.concat() } else { format!("members: {page}") };
                // Some servers set the same cookie with every answer.
                let own = asked.header("cookie").and_then(session_of).unwrap_or_default();
                html(stream, &format!("Set-Cookie: session={own}; Path=/; Domain=raw.test"), &text);
            }
            ("GET", page) if PAGES.contains(&page) => {
                let to_login = format!("Location: /login?next={page}");
                reply(stream, "302 Found", &to_login, b"members only");
            }
            _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
        }
    }

    fn let_in(&self, asked: &Asked, stream: &mut TcpStream) {
        let fields: BTreeSet<&str> = asked.body.split('&').collect();
        let token = format!("csrf={TOKEN}");
        let right = BTreeSet::from(["user=me", SENT, &token]);
        if fields != right || asked.header("cookie") != Some("before=1") {
            return html(stream, "", "wrong password");
        }
        let session = format!("{SESSION}{}", self.begun.fetch_add(1, Ordering::SeqCst));
        // As wide as it may be: to other sites of the domain it does not go all the same.
        let fields = format!(
            "Location: /home\r\nSet-Cookie: session={session}; Path=/; Domain=raw.test; HttpOnly"
        );
        self.valid.lock().unwrap().insert(session);
        reply(stream, "302 Found", &fields, b"welcome");
    }

    fn is_member(&self, asked: &Asked) -> bool {
        let Some(session) = asked.header("cookie").and_then(session_of) else { return false };
        let mut lasts = self.lasts.lock().unwrap();
        if *lasts == Some(0) {
            self.valid.lock().unwrap().clear();
            *lasts = None;
        }
        *lasts = lasts.map(|pages| pages - 1);
        !self.forgetful && self.valid.lock().unwrap().contains(&session)
    }
}

#[test]
fn the_form_is_sent_once_and_the_pages_are_asked_for_with_its_session() {
    let club = Club::open("");
    let world = World::new(WebOptions::default()).variable("CLUB_PASSWORD", PASSWORD);
    configure(&world, "", "env:CLUB_PASSWORD");
    let seeds = ["http://club.raw.test/", "http://open.raw.test/"];
    crawl(&world, &club, &seeds, "900ms").exits(0);

    let asked = club.asked();
    let first = ["GET /robots.txt", "GET /login", "POST /session", "GET /home"];
    assert_eq!(asked[..4], first, "{asked:#?}");
    let pages: BTreeSet<&str> = asked[4..].iter().map(|line| &line[4..]).collect();
    assert_eq!(pages, BTreeSet::from(PAGES));
    assert_eq!(asked.len(), 4 + PAGES.len(), "each once: {asked:#?}");
    assert_eq!(club.posts(), 1);

    let heard = club.heard("club.raw.test");
    let session = format!("session={SESSION}0");
    for request in &heard[3..] {
        let cookies = request.header("cookie").unwrap_or_default();
        assert!(cookies.contains(&session), "{} came with {cookies:?}", request.place);
    }
    for pair in heard.windows(2) {
        let pause = pair[1].at - pair[0].at;
        assert!(pause + SLACK >= PAUSE, "{} after {pause:?}", pair[1].place);
    }
    let others = club.heard("open.raw.test");
    assert_eq!(others.len(), 3, "robots.txt and two pages");
    for request in others {
        assert_eq!(request.header("cookie"), None, "{}", request.place);
    }
    assert_eq!(world.status()["pages"]["fetched"], 8);
    holds_no_secrets(&world);
}

#[test]
fn a_wrong_password_pauses_the_spider_and_the_others_go_on() {
    let club = Club::open("");
    let world = World::new(WebOptions::default());
    configure(&world, "spider = \"member\"", "file:password");
    std::fs::write(world.folder.join("password"), "wrong\n").unwrap();
    world.run(&["spider", "add", "member", "http://club.raw.test/"]).exits(0);
    let done = crawl(&world, &club, &["http://open.raw.test/"], "0");
    let why = "login at http://club.raw.test/login failed: the login did not succeed";
    done.exits(0).says(&["spider member is paused", why, "spider resume member"]);
    assert_eq!(club.asked(), ["GET /robots.txt", "GET /login", "POST /session"]);
    assert_eq!(club.heard("open.raw.test").len(), 3, "the other spider has all its pages");

    let list = world.run(&["spider", "list", "--json"]).json();
    assert_eq!(list["rows"][1]["state"], "paused", "{list:#}");
    assert!(list["rows"][1]["why"].as_str().unwrap().starts_with(why), "{list:#}");
    assert!(world.run(&["status"]).exits(0).flat().contains(why));
    let known = world.pages_and_parts();
    assert!(known.iter().all(|page| page["failures"] == 0), "its pages wait as they were");

    std::fs::write(world.folder.join("password"), PASSWORD).unwrap();
    crawl(&world, &club, &[], "0").exits(0);
    assert_eq!(club.posts(), 1, "nobody tries again unasked");
    world.run(&["spider", "resume", "member"]).exits(0);
    crawl(&world, &club, &[], "0").exits(0);
    assert_eq!(club.posts(), 2);
    assert_eq!(world.status()["pages"]["fetched"], 8);
}

#[test]
fn a_login_page_that_robots_txt_forbids_is_not_asked_for() {
    let club = Club::open("User-agent: *\nDisallow: /login\n");
    let world = World::new(WebOptions::default()).variable("CLUB_PASSWORD", PASSWORD);
    configure(&world, "", "env:CLUB_PASSWORD");
    let done = crawl(&world, &club, &["http://club.raw.test/"], "0");
    let why = "login at http://club.raw.test/login failed: robots.txt: ";
    done.exits(1).says(&["nothing could be fetched", "spider default is paused", why, "/login"]);
    assert_eq!(club.asked(), ["GET /robots.txt"]);
    let known = world.pages_and_parts();
    let waits = |page: &Value| page["failures"] == 0 && page["state"] == "known";
    assert!(!known.is_empty() && known.iter().all(waits), "its page waits as it was: {known:?}");
}

#[test]
fn a_missing_secret_is_told_before_anything_is_asked() {
    let club = Club::open("");
    let world = World::new(WebOptions::default());
    configure(&world, "", "env:NOT_SET_ANYWHERE");
    let done = crawl(&world, &club, &["http://club.raw.test/"], "0");
    done.exits(2).says(&["NOT_SET_ANYWHERE", "is not set"]);
    world.run(&["config", "check"]).exits(2);
    assert_eq!(club.asked(), [""; 0]);
}

#[test]
fn a_session_that_ends_is_renewed_and_no_page_is_lost() {
    // The first of them goes to the page after the login.
    let lasts = Mutex::new(Some(3));
    let club = Club::with("", Sessions { lasts, ..Sessions::default() });
    let world = World::new(WebOptions::default()).variable("CLUB_PASSWORD", PASSWORD);
    configure(&world, "", "env:CLUB_PASSWORD");
    let text = std::fs::read_to_string(world.folder.join("harvest.toml")).unwrap();
    std::fs::write(
        world.folder.join("harvest.toml"),
        format!("[fetch]\ncookies = \"off\"\n{text}"),
    )
    .unwrap();
    crawl(&world, &club, &["http://club.raw.test/"], "20ms").exits(0);
    assert_eq!(club.posts(), 2, "{:#?}", club.asked());
    assert_eq!(club.sessions.begun.load(Ordering::SeqCst), 2);
    assert_eq!(world.status()["pages"]["fetched"], PAGES.len());
    for url in strings(&world.pages_and_parts(), "url") {
        let runs = world.history(&url);
        assert!(
            runs.iter().all(|run| run["status"] == 200),
            "no visit without a session: {runs:?}"
        );
    }
    holds_no_secrets(&world);
}

#[test]
fn a_session_that_never_holds_pauses_the_spider() {
    let club = Club::with("", Sessions { forgetful: true, ..Sessions::default() });
    let world = World::new(WebOptions::default()).variable("CLUB_PASSWORD", PASSWORD);
    configure(&world, "", "env:CLUB_PASSWORD");
    let done = crawl(&world, &club, &["http://club.raw.test/"], "0");
    done.exits(1).says(&["spider default is paused", "it asks for a login right after one"]);
    assert_eq!(club.posts(), 2, "once again, and no more");
}

#[test]
fn a_crawl_that_is_killed_logs_in_again_and_goes_on() {
    let club = Club::open("");
    let world = World::new(WebOptions::default()).variable("CLUB_PASSWORD", PASSWORD);
    configure(&world, "", "env:CLUB_PASSWORD");
    let rule = club.rule();
    let command = ["crawl", "http://club.raw.test/", "--delay", "200ms", "--resolve", &rule];
    let crawl = world.start(&command);
    world.wait_for("two pages were asked for", |_| club.asked().len() >= 6);
    crawl.kill();
    holds_no_secrets(&world);
    world.run(&command).exits(0);
    assert_eq!(club.posts(), 2);
    assert_eq!(world.status()["pages"]["fetched"], PAGES.len());
    let known = world.pages_and_parts();
    assert!(known.iter().all(|page| page["visits"].as_u64() < Some(2)), "no page has two visits");
    assert_eq!(world.visits_total(), PAGES.len() as u64);
    holds_no_secrets(&world);
}

fn configure(world: &World, more: &str, password: &str) {
    std::fs::create_dir_all(&world.folder).unwrap();
    let text = format!(
        "[[login]]\npage = \"http://club.raw.test/login\"\n{more}\nsuccess = \"cookie session\"\n\
         fields = {{ user = \"me\", password = \"{password}\" }}\n"
    );
    std::fs::write(world.folder.join("harvest.toml"), text).unwrap();
}

fn crawl(world: &World, club: &Club, seeds: &[&str], delay: &str) -> crate::world::Done {
    let rule = club.rule();
    let options = ["--delay", delay, "--resolve", &rule];
    world.run(&[&["crawl"], seeds, &options].concat())
}

fn html(stream: &mut TcpStream, field: &str, body: &str) {
    let fields = ["Content-Type: text/html", field];
    let fields: Vec<&str> = fields.into_iter().filter(|field| !field.is_empty()).collect();
    reply(stream, "200 OK", &fields.join("\r\n"), body.as_bytes());
}

fn session_of(cookies: &str) -> Option<String> {
    let mut pairs = cookies.split("; ").filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == "session").map(|(_, value)| value.to_owned())
}

fn path(asked: &Asked) -> &str {
    &asked.place[asked.place.find('/').unwrap()..]
}

/// Neither the database nor the volumes, packed or not.
#[track_caller]
fn holds_no_secrets(world: &World) {
    let secrets = [PASSWORD, SENT, SESSION, TOKEN, "/session", "raw.test/login", "before=1"];
    let mut looked_at = 0;
    for_each_file(&world.folder, &mut |file| {
        let unpacked = Command::new("gzip").arg("-dcq").arg(file).output().unwrap();
        looked_at += usize::from(!unpacked.stdout.is_empty());
        for content in [std::fs::read(file).unwrap(), unpacked.stdout] {
            let text = String::from_utf8_lossy(&content);
            for secret in secrets {
                assert!(!text.contains(secret), "{secret} is in {}", file.display());
            }
        }
    });
    assert!(looked_at > 0, "there is a volume");
}

fn for_each_file(folder: &Path, look: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            for_each_file(&path, look);
        } else if path.file_name().is_none_or(|name| name != "harvest.toml") {
            look(&path);
        }
    }
}
