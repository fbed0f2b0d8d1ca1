//! What `--json` writes is what docs/json.md says, field by field.
//!
//! Each command of [`COMMANDS`] is run on one small collection. Every path of its output is in the
//! table of its section, and every path of the table was seen, except those whose meaning says
//! `(when …)`.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;
use simweb::WebOptions;

use crate::{
    json_of_verbs,
    raw::{Raw, reply},
    world::World,
};

/// A heading of docs/json.md, and the command lines whose output its table describes. In them
/// `{home}` is a page that changed, `{copy}` one with the content of another, `{old}` one that was
/// gone and came back, `{moved}` a redirect, `{part}` a page that was cut; `{out}` a new folder,
/// `{file}` a new file, `{away}` the folder of a batch that was harvested and `{site}` the site.
const COMMANDS: &[(&str, &[&[&str]])] = &[
    ("harvestman pages", &[&["pages"], &["pages", "--limit", "1"]]),
    ("harvestman sites", &[&["sites"]]),
    ("harvestman status", &[&["status"]]),
    ("harvestman explain", &[&["explain", "{home}"], &["explain", "{copy}"]]),
    ("harvestman decisions", &[&["decisions"]]),
    (
        "harvestman history",
        &[&["history", "{home}"], &["history", "{old}"], &["history", "{moved}"]],
    ),
    (
        "harvestman show",
        &[
            &["show", "{home}", "--html"],
            &["show", "{old}", "--headers"],
            &["show", "{old}", "--at", "now"],
        ],
    ),
    ("harvestman diff", &[&["diff", "{home}"], &["diff", "{home}", "1", "2", "--source"]]),
    ("harvestman changes", &[&["changes", "--words"], &["changes", "--limit", "2"]]),
    ("harvestman changes --atom", &[&["changes", "--atom", "{file}"]]),
    ("harvestman pages", &[&["pages"], &["pages", "--limit", "1"]]),
    ("harvestman links", &[&["links", "{old}"], &["links", "{home}", "--limit", "1"]]),
    ("harvestman report broken", &[&["report", "broken"]]),
    ("harvestman report adaptation", &[&["report", "adaptation"]]),
    ("harvestman report hazards", &[&["report", "hazards"]]),
    ("harvestman report duplicates", &[&["report", "duplicates"]]),
    ("harvestman report mirrors", &[&["report", "mirrors", "--heuristic", "same-home"]]),
    ("harvestman export directory", &[&["export", "directory", "--out", "{out}"]]),
    ("harvestman check", &[&["check"]]),
    ("harvestman config", &[&["config", "--delay", "1s"]]),
    ("harvestman config check", &[&["config", "check", "--delay", "soon"]]),
    ("harvestman init", &[&["init"]]),
    ("harvestman webhook list", &[&["webhook"]]),
    ("harvestman webhook test", &[&["webhook", "test"]]),
    ("harvestman webhook dead", &[&["webhook", "dead"]]),
    ("harvestman webhook deliver", &[&["webhook", "deliver"]]),
    ("harvestman webhook retry", &[&["webhook", "retry", "--all"]]),
    ("harvestman rebuild", &[&["rebuild"]]),
    ("harvestman regather", &[&["regather"]]),
    ("harvestman thin", &[&["thin", "--dry-run"], &["thin"]]),
    ("harvestman forget", &[&["forget", "{copy}", "--dry-run"], &["forget", "{copy}"]]),
    ("harvestman forget --list", &[&["forget", "--list"]]),
    ("harvestman forget --undo", &[&["forget", "--undo", "{copy}"]]),
    ("harvestman batch export", &[&["batch", "export", "{file}"]]),
    ("harvestman batch cancel", &[&["batch", "cancel", "1"]]),
    ("harvestman batch import", &[&["batch", "import", "{away}"]]),
    ("harvestman batch list", &[&["batch"]]),
];

#[test]
fn the_json_of_every_command_is_documented() {
    let stage = Stage::new();
    let docs = include_str!("../../../../docs/json.md");
    let mut wrong = Vec::new();
    for (heading, commands) in COMMANDS {
        let section = Section::find(docs, heading);
        let mut seen = BTreeSet::new();
        for command in *commands {
            stage.ask(command).iter().for_each(|value| flatten(value, "", &section, &mut seen));
        }
        for path in seen.iter().filter(|path| !section.knows(path)) {
            wrong.push(format!("{heading}: {path} is not documented"));
        }
        for field in section.fields.iter().filter(|field| !field.sometimes) {
            if !seen.contains(&field.path) {
                wrong.push(format!("{heading}: {} is documented and was not seen", field.path));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_section_documents_a_command_that_is_not_tried() {
    let docs = include_str!("../../../../docs/json.md");
    let headings = docs.lines().filter_map(|line| line.strip_prefix("## harvestman "));
    let tried: BTreeSet<&str> = COMMANDS.iter().map(|(heading, _)| *heading).collect();
    // Those of a crawl's summary: counts.rs.
    let elsewhere =
        |heading: &&str| *heading != "crawl" && !json_of_verbs::COMMANDS.contains(heading);
    for heading in headings.filter(elsewhere) {
        assert!(tried.contains(format!("harvestman {heading}").as_str()), "{heading}");
    }
}

struct Section {
    fields: Vec<Field>,
}

struct Field {
    path: String,
    /// Only under conditions that the collection of the test does not meet.
    sometimes: bool,
}

impl Section {
    #[track_caller]
    fn find(docs: &str, heading: &str) -> Section {
        let mut lines = docs.lines().skip_while(|line| *line != format!("## {heading}"));
        assert!(lines.next().is_some(), "docs/json.md has no section {heading:?}");
        let rows = lines.take_while(|line| !line.starts_with("## "));
        let rows = rows.filter_map(|line| line.strip_prefix("| `"));
        let field = |row: &str| {
            let (path, rest) = row.split_once('`').unwrap();
            Field { path: path.to_owned(), sometimes: rest.contains("(when ") }
        };
        Section { fields: rows.map(field).collect() }
    }

    fn knows(&self, path: &str) -> bool {
        self.fields.iter().any(|field| field.path == path)
    }
}

/// The path of every field, such as `rows[].url`; `name.*` where the names below are data.
fn flatten(value: &Value, at: &str, section: &Section, seen: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let any = if at.is_empty() { "*".to_owned() } else { format!("{at}.*") };
                let path = match (section.knows(&any), at) {
                    (true, _) => any,
                    (false, "") => name.clone(),
                    (false, at) => format!("{at}.{name}"),
                };
                seen.insert(path.clone());
                flatten(value, &path, section, seen);
            }
        }
        Value::Array(rows) => {
            rows.iter().for_each(|row| flatten(row, &format!("{at}[]"), section, seen));
        }
        _ => {}
    }
}

static NAMES: LazyLock<AtomicUsize> = LazyLock::new(|| AtomicUsize::new(0));

/// A collection with versions, a redirect, a page that was gone, duplicates, a page that was cut,
/// and a mirror.
struct Stage {
    world: World,
    port: u16,
}

impl Stage {
    fn new() -> Stage {
        let round = Arc::new(AtomicUsize::new(0));
        let served = Arc::clone(&round);
        let raw = Raw::start(move |place, stream| {
            let html = "Content-Type: text/html; charset=utf-8";
            let path = place.split_once('/').map_or("", |(_, path)| path);
            let (status, fields, body) = page(path, served.load(Ordering::Relaxed));
            reply(stream, status, &format!("{html}{fields}"), body.as_bytes());
        });
        let world = World::new(WebOptions::default());
        fs::create_dir_all(&world.folder).unwrap();
        let settings = format!(
            "[fetch]\nbody_bytes_max = '8KB'\n[etiquette]\ndelay = '0s'\n\
             [revisit]\nperiod = '1s'\nperiod_min = '1s'\n\
             [store]\nkeep = 'all 1s, then 1 per 365d'\n\
             [[webhook]]\nname = 'mine'\nurl = 'http://127.0.0.1:{0}/hook'\nsecret = 'hush'\n\
             tries = 1\nsite = 'a.test:{0}'\n",
            raw.port
        );
        fs::write(world.folder.join("harvest.toml"), settings).unwrap();
        let stage = Stage { world, port: raw.port };
        for visit in 0..4 {
            round.store(visit, Ordering::Relaxed);
            let seeds = [stage.url("a.test", ""), stage.url("b.test", "")];
            let way = ["--delay", "0", "--resolve", "*.test=127.0.0.1"];
            let args = [&["crawl", &seeds[0], &seeds[1], "--fresh"], &way[..]].concat();
            let done = stage.world.run(&args);
            assert!(matches!(done.status.code(), Some(0)), "{done}");
        }
        stage
    }

    fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}/{path}", self.port)
    }

    /// Everything that the command writes, one value or many.
    #[track_caller]
    fn ask(&self, command: &[&str]) -> Vec<Value> {
        let fresh = format!("new-{}", NAMES.fetch_add(1, Ordering::Relaxed));
        let fresh = self.world.temp.path().join(fresh);
        let typed: Vec<String> = command.iter().map(|word| self.typed(word, &fresh)).collect();
        let mut typed: Vec<&str> = typed.iter().map(String::as_str).collect();
        typed.push("--json");
        let done = self.world.run(&typed);
        let values = serde_json::Deserializer::from_str(&done.out).into_iter();
        let values: Vec<Value> = values.collect::<Result<_, _>>().unwrap_or_default();
        assert!(!values.is_empty(), "{typed:?}\n{done}");
        values
    }

    fn typed(&self, word: &str, fresh: &Path) -> String {
        match word {
            "{home}" => self.url("a.test", ""),
            "{old}" => self.url("a.test", "old"),
            "{moved}" => self.url("a.test", "moved"),
            "{copy}" => self.url("a.test", "copy"),
            "{part}" => self.url("a.test", "long"),
            "{site}" => format!("a.test:{}", self.port),
            "{out}" | "{file}" => fresh.display().to_string(),
            "{away}" => self.harvested(fresh),
            word => word.to_owned(),
        }
    }
}

impl Stage {
    /// A batch that was harvested into this folder.
    fn harvested(&self, folder: &Path) -> String {
        let batch = self.world.temp.path().join("away.batch");
        let (batch, out) = (batch.display().to_string(), folder.display().to_string());
        self.world.run(&["batch", "export", &batch]).exits(0);
        let way = ["--resolve", "*.test=127.0.0.1"];
        let args = [&["batch", "harvest", &batch, "--out", &out], &way[..]].concat();
        self.world.run(&args).exits(0);
        out
    }
}

/// What a path answers at a visit: status, more header fields, body.
fn page(path: &str, visit: usize) -> (&'static str, &'static str, String) {
    let story = "<p>Much the same as ever, with words enough to be a page of its own.</p>";
    let body = match path {
        "" => format!(
            "<title>Home {visit}</title><p>edition {visit}</p><a href=/old>old</a> <a href=/same>one</a> \
             <a href=/copy>two</a> <a href=/moved>three</a> <a href=/missing>none</a> \
             <a href=/long>long</a> <a href=/no rel=nofollow>no</a> <a href=/quiet>quiet</a>"
        ),
        "old" if visit == 1 || visit == 3 => return ("404 Not Found", "", "none".to_owned()),
        "old" => format!("<title>Old</title>{story}<p>an old page</p>"),
        "same" | "copy" => format!("<title>Same</title>{}", story.repeat(20)),
        "quiet" => format!("<meta name=robots content=noarchive><title>Quiet</title>{story}"),
        "long" => format!("<title>Long</title>{}", story.repeat(500)),
        "moved" => return ("301 Moved Permanently", "\r\nLocation: /old", String::new()),
        "hook" if visit == 0 => return ("500 Error", "", String::new()),
        "hook" => String::new(),
        _ => return ("404 Not Found", "", "none".to_owned()),
    };
    ("200 OK", "", body)
}
