//! No byte of the web drives a terminal: every command that tells of crawled strings is run on a collection
//! full of hostile ones.

use std::io::Write;

use simweb::WebOptions;

use crate::{
    ask::strings,
    raw::{Raw, reply},
    world::{Done, World},
};

/// Titles, type, languages, links; the bell, colours, a cleared screen, a new title, C1 controls, turned and
/// invisible text.
const HOSTILE: &str = "\u{1b}]0;pwned\u{7}\u{1b}[2J\u{1b}[31mred\u{9b}1m\u{202e}deb\u{7f}\u{8}\u{85}\u{feff}pay\u{200b}\u{e0041}pal\r";

/// The big list of naughty strings, where it is at hand.
fn naughty() -> Vec<String> {
    let Some(path) = model::testing::conformance("strings/blns.json") else { return Vec::new() };
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn server() -> Raw {
    let naughty: Vec<String> = naughty().chunks(20).map(|some| some.join(" ")).collect();
    let pages = naughty.len();
    Raw::start(move |place, stream| {
        let path = place.split_once('/').map_or("", |(_, path)| path);
        let number = path.strip_prefix('n').and_then(|n| n.parse::<usize>().ok());
        match (path, number) {
            ("robots.txt", _) => {
                let text = format!("User-agent: *\nDisallow: /no{HOSTILE}\nDisallow: /forbidden\n");
                reply(stream, "200 OK", "Content-Type: text/plain", text.as_bytes());
            }
            ("", _) => {
                let many: String = (0..pages).map(|n| format!("<a href=/n{n}>{n}</a>")).collect();
                let body = format!(
                    "<html lang='{HOSTILE}'><title>{HOSTILE}</title>\
                     <meta name=description content='{HOSTILE}'>\
                     <link rel=canonical href='/{HOSTILE}'><a href='/x{HOSTILE}'>{HOSTILE}</a>\
                     <a href='/forbidden/{HOSTILE}'>f</a><a href='/status'>s</a><a href='/type'>t</a>\
                     <a href='/to'>r</a><a href='http://[{HOSTILE}'>i</a><a href='/gone'>g</a>\
                     <a href='http://out.example/{HOSTILE}'>o</a>{many}<p>{HOSTILE}</p>"
                );
                let fields = "Content-Type: text/html\r\nServer: \u{1b}[2Jserver\u{9b}\r\nETag: \"\u{1b}[5m\"";
                reply(stream, "200 OK", fields, body.as_bytes());
            }
            ("status", _) => {
                let _ = stream.write_all(format!("HTTP/1.1 2{HOSTILE}\r\n\r\n").as_bytes());
            }
            ("type", _) => reply(stream, "200 OK", "Content-Type: \u{1b}[31mx/y\u{7}", b"?"),
            ("to", _) => reply(stream, "302 Found", "Location: /to\u{1b}[31m\u{7}", b""),
            ("gone", _) => reply(stream, "410 \u{1b}[31mGone", "Content-Type: text/html", b"x"),
            (_, Some(n)) => {
                let body = format!("<title>{}</title>", naughty[n].replace('<', "&lt;"));
                reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
            }
            _ => {
                let body = format!("<title>{HOSTILE}</title>{HOSTILE}");
                reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes());
            }
        }
    })
}

/// Only line breaks and tabs are left; where people read, nothing that turns the text either.
fn is_tame(args: &[&str], done: &Done) {
    let json = args.contains(&"--json");
    for (name, text) in [("out", &done.out), ("err", &done.err)] {
        let wild = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        let turned = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let hidden = |c: char| matches!(c, '\u{feff}' | '\u{200b}' | '\u{e0000}'..='\u{e007f}');
        let found = text.chars().find(|c| wild(*c) || (!json && (turned(*c) || hidden(*c))));
        assert_eq!(found, None, "{args:?}, standard {name}:\n{text:?}");
    }
}

#[test]
fn no_command_lets_what_was_crawled_drive_the_terminal() {
    let raw = server();
    let world = World::new(WebOptions::default());
    let rule = format!("*.raw.test=127.0.0.1:{}", raw.port);
    let home = "http://a.raw.test/";
    let crawl = ["-vvv", "crawl", home, "--delay", "0", "--resolve", &rule];
    // The world looks at the first word for what to add.
    let mut command = world.command(&["crawl", home, "--delay", "0", "--resolve", &rule, "-vvv"]);
    let done = crate::world::Running::new(&mut command).wait(crate::world::PATIENCE);
    is_tame(&crawl, done.exits(0));
    is_tame(&crawl, &world.run(&["crawl", home, "--fresh", "--delay", "0", "--resolve", &rule]));
    let urls = strings(&world.pages(&[]), "url");
    let url = urls.into_iter().find(|url| url.contains("/x")).unwrap();
    let commands: &[&[&str]] = &[
        &["status"],
        &["decisions"],
        &["decisions", "--site", "a.raw.test"],
        &["report", "hazards"],
        &["report", "hazards", "--site", "a.raw.test"],
        &["report", "adaptation"],
        &["explain", home],
        &["explain", &url],
        &["explain", "http://a.raw.test/status"],
        &["explain", "http://a.raw.test/forbidden/x"],
        &["history", home],
        &["history", &url],
        &["history", "http://a.raw.test/to"],
        &["show", home],
        &["show", home, "--headers"],
        &["show", &url],
        &["show", "http://a.raw.test/\u{1b}[2J"],
        &["diff", home],
        &["changes"],
        &["changes", "--words"],
        &["quarantine"],
        &["block", "--list"],
        &["forget", "--list"],
        &["forget", "--dry-run", &url],
        &["spider"],
        &["webhook"],
        &["batch"],
        &["config"],
        &["thin", "--dry-run"],
        &["check"],
        &["crawl", "http://a.raw.test/\u{1b}[2J", "--dry-run", "--delay", "0"],
        &["explain", "\u{1b}[2J"],
        &["block", "\u{1b}[2J\u{9b}"],
    ];
    for args in commands {
        is_tame(args, &world.run(args));
        let with_json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        is_tame(&with_json, &world.run(&with_json));
    }
    let met = world.run(&["report", "hazards", "--hazard", "control-characters", "--json"]).json()
        ["rows"]
        .clone();
    assert!(!met.as_array().unwrap().is_empty());
}

/// Runs a command with a terminal as its standard output: what the terminal would get.
#[cfg(target_os = "linux")]
fn on_terminal(command: &mut std::process::Command) -> Vec<u8> {
    use std::io::Read;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut child = command.stdout(theirs).spawn().unwrap();
    // Or its end of the terminal stays open here.
    command.stdout(std::process::Stdio::null());
    let (mut terminal, mut out, mut piece) = (std::fs::File::from(ours), Vec::new(), [0; 4096]);
    // Its end is an error (EIO) once nobody has the other side open.
    while let Ok(count @ 1..) = terminal.read(&mut piece) {
        out.extend_from_slice(&piece[..count]);
    }
    assert!(child.wait().unwrap().success());
    out
}

#[test]
#[cfg(target_os = "linux")]
fn a_source_is_escaped_for_a_terminal_and_whole_for_a_pipe() {
    let body = "<p>\u{1b}]0;pwned\u{7}\u{1b}[2J\0\u{9b}é\u{feff}\t</p>\n";
    let raw = Raw::start(move |place, stream| match place {
        "127.0.0.1/" => {
            let fields = "Content-Type: text/html; charset=utf-8";
            reply(stream, "200 OK", fields, body.as_bytes());
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    world.run(&["crawl", &url, "--delay", "0"]).exits(0);
    assert_eq!(world.run(&["show", &url, "--html"]).exits(0).out, body);
    let shown = on_terminal(&mut world.command(&["show", &url, "--html"]));
    let shown = String::from_utf8(shown).unwrap().replace("\r\n", "\n");
    // A terminal makes blanks of tabs, or not.
    let (start, end) = ("<p>\\u{1b}]0;pwned\\u{7}\\u{1b}[2J\\u{0}\\u{9b}é\\u{feff}", "</p>\n");
    assert!(shown.starts_with(start) && shown.ends_with(end), "{shown:?}");
    assert!(!shown.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{shown:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn messages_break_between_words_where_the_terminal_ends() {
    let world = World::new(WebOptions::default());
    let args = ["crawl", "http://127.0.0.7:4/", "--delay", "0", "--allow-address", "127.0.0.0/8"];
    let mut typed = format!("stty cols 80; {}", env!("CARGO_BIN_EXE_harvestman"));
    for word in ["-C", &world.folder.to_string_lossy()].iter().chain(&args) {
        typed.push_str(&format!(" {word}"));
    }
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &typed, "/dev/null"]).current_dir(world.temp.path());
    let done = crate::world::Running::new(&mut command).wait(crate::world::PATIENCE);
    let said = done.out.rsplit_once("harvestman: nothing").unwrap_or_else(|| panic!("{done}")).1;
    assert!(said.lines().count() > 2, "it takes several rows: {said}");
    for row in said.lines().skip(1) {
        let row = row.trim_end();
        assert!(row.chars().count() <= 80 && row.starts_with("            "), "{row:?}");
    }
}
