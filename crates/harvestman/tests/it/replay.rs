//! Pages that were seen again replay in the readers that people use, at the moment of every visit and without a date.
//!
//! What is compared is what the server meant at each visit: also where it said 304, or sent the same bytes again.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufReader, Write},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use flate2::{Compression, write::GzEncoder};
use simweb::WebOptions;
use store::{
    testing,
    warc::{Record, Volumes, WarcReader},
};

use crate::{
    raw::{Asked, Raw, reply},
    world::{World, next_second},
};

/// By path: whether it answers 304, whether it is chunked, whether it changes at the third pass.
const PAGES: [(&str, bool, bool, bool); 8] = [
    ("/", true, false, false),
    ("/valid", true, false, true),
    ("/valid-chunked", true, true, true),
    ("/valid-steady", true, true, false),
    ("/same", false, false, true),
    ("/same-chunked", false, true, true),
    ("/same-steady", false, false, false),
    ("/copy", false, true, true),
];

type Sent = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// A site that was visited four times, and what it meant each time.
fn visited() -> (World, PathBuf) {
    let (pass, sent) = (Arc::new(AtomicUsize::new(1)), Sent::default());
    let (served, noted) = (pass.clone(), sent.clone());
    let raw = Raw::hearing(move |asked, stream| {
        answer(asked, stream, served.load(Ordering::Relaxed), &noted);
    });
    let world = World::new(WebOptions::default());
    let url = format!("http://127.0.0.1:{}/", raw.port);
    for number in 1..=4 {
        pass.store(number, Ordering::Relaxed);
        world.run(&["crawl", &url, "--fresh", "--delay", "0"]).exits(0);
        next_second();
    }
    let by_url: BTreeMap<String, Vec<String>> = sent
        .lock()
        .unwrap()
        .iter()
        .map(|(path, bodies)| (format!("http://127.0.0.1:{}{path}", raw.port), bodies.clone()))
        .collect();
    assert_eq!(by_url.len(), PAGES.len(), "{by_url:?}");
    assert!(by_url.values().all(|bodies| bodies.len() >= 4), "{by_url:?}");
    let file = world.temp.path().join("sent.json");
    fs::write(&file, serde_json::to_string(&by_url).unwrap()).unwrap();
    (world, file)
}

fn answer(asked: &Asked, stream: &mut std::net::TcpStream, pass: usize, sent: &Sent) {
    let path = asked.place.trim_start_matches("127.0.0.1");
    let Some(&(_, validates, chunked, changes)) = PAGES.iter().find(|page| page.0 == path) else {
        return reply(stream, "404 Not Found", "Content-Type: text/html", b"none");
    };
    let edition = if changes && pass > 2 { 2 } else { 1 };
    let links: String = PAGES.iter().map(|page| format!("<a href={0}>{0}</a>", page.0)).collect();
    // The same for two pages, so that one is a revisit of the other.
    let name = if path == "/copy" { "/same-chunked" } else { path };
    let more = "<p>enough to be worth a revisit</p>".repeat(20);
    let body = format!("<title>{name}</title><p>edition {edition} of {name}</p>{links}{more}");
    sent.lock().unwrap().entry(path.to_owned()).or_default().push(body.clone());
    let tag = format!("\"{edition}\"");
    if validates && asked.header("if-none-match") == Some(tag.as_str()) {
        let _ = write!(stream, "HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n");
        return;
    }
    let mut head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n".to_owned();
    if validates {
        head += &format!("ETag: {tag}\r\n");
    }
    let _ = match chunked {
        true => write!(
            stream,
            "{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        ),
        false => write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()),
    };
}

#[test]
fn pywb_replays_every_visit_as_the_server_meant_it() {
    let (world, sent) = visited();
    world.run(&["check"]).exits(0);
    pywb(&world, &sent, true);
}

#[test]
fn wabac_replays_every_visit_as_the_server_meant_it() {
    let (world, sent) = visited();
    let root = root();
    if !root.join(".node/package.done").exists() {
        return missing("tools/node.sh");
    }
    let mut command = Command::new("node");
    command.arg(root.join("tools/wabac_replay.mjs")).arg(&sent).arg(world.folder.join("volumes"));
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("replayed as they were sent"), "{said}");
}

#[test]
fn a_collection_of_the_old_form_replays_after_a_repair() {
    let (world, sent) = visited();
    let old = age(&world);
    assert!(old >= 6, "{old} answers of 304");
    let told = world.run(&["check"]);
    told.exits(0);
    assert!(told.out.contains(&format!("{old} revisits in a form that pywb does not replay")));
    assert!(told.out.contains("harvestman check --repair") && told.out.contains("sound"), "{told}");
    pywb(&world, &sent, false);
    let shown = world.run(&["check", "--repair"]);
    assert!(shown.exits(0).out.contains(&format!("rewrote {old} revisits in ")), "{shown}");
    let told = world.run(&["check"]);
    assert!(!told.exits(0).out.contains("pywb"), "{told}");
    pywb(&world, &sent, true);
}

fn pywb(world: &World, sent: &Path, replays: bool) {
    let root = root();
    if !root.join(".venv/requirements.done").exists() {
        return missing("tools/venv.sh");
    }
    let mut command = Command::new(root.join(".venv/bin/python"));
    command.arg(root.join("tools/pywb_replay.py")).arg(world.folder.join("volumes"));
    let done = command.arg("--sent").arg(sent).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let trouble = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.success(), replays, "{said}\n{trouble}");
    assert!(replays || said.contains("replayed 304 and 0 bytes"), "{said}\n{trouble}");
}

fn root() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect()
}

fn missing(script: &str) {
    model::testing::skip_without(&format!("what {script} installs"));
}

/// Writes the revisits of 304s as they were written at first; says how many there are.
fn age(world: &World) -> usize {
    let mut count = 0;
    for volume in Volumes::new(world.folder.join("volumes")).list().unwrap() {
        let bytes = fs::read(&volume.path).unwrap();
        let (mut aged, mut moved) = (Vec::new(), Vec::new());
        for record in WarcReader::new(BufReader::new(&bytes[..])).map(Result::unwrap) {
            let at = aged.len();
            let same = &bytes[record.offset as usize..record.end() as usize];
            let old = in_old_form(&record);
            count += usize::from(old.is_some());
            aged.extend(old.unwrap_or_else(|| same.to_vec()));
            moved.push((record.offset, at as u64, (aged.len() - at) as u64));
        }
        testing::move_records(&world.folder, volume.number, &moved, aged.len() as u64);
        fs::write(&volume.path, aged).unwrap();
        // There was neither index nor register then.
        fs::remove_file(format!("{}.idx", volume.path.display())).unwrap();
    }
    testing::drop_register(&world.folder);
    count
}

fn in_old_form(record: &Record) -> Option<Vec<u8>> {
    record.field("Harvestman-Not-Modified")?;
    let head = record.http().head;
    let mut text = b"WARC/1.1\r\n".to_vec();
    for (name, value) in record.fields.iter() {
        match name {
            "Harvestman-Not-Modified" => {}
            "Content-Length" => write!(
                text,
                "Content-Type: application/http; msgtype=response\r\n{name}: {}\r\n",
                head.len()
            )
            .unwrap(),
            _ => write!(text, "{name}: {value}\r\n").unwrap(),
        }
    }
    text.extend_from_slice(&[b"\r\n", &head[..], b"\r\n\r\n"].concat());
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&text).unwrap();
    Some(packed.finish().unwrap())
}
