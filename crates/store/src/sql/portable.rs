//! The texts of this program are asked of a real PostgreSQL, and both schemas are compared.
//!
//! The texts come from two sides. What is prepared while the tests of this crate run is recorded by the place that asked
//! (`record.rs`), and so is, under `./check`, what the program prepares in the tests of whole crawls. And the source is
//! searched: a literal that is a whole statement is asked as it stands, one with gaps must have been recorded with
//! something in them. So a statement that nothing runs is found all the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

mod literals;

use literals::{Literal, literals_of};

/// A private server that ends with the test.
struct Cluster {
    folder: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn script() -> Command {
    let mut command = Command::new("sh");
    command.arg(root().join("tools/postgres.sh"));
    command
}

impl Cluster {
    /// `None` where PostgreSQL is not installed, which is an error where it has to be.
    fn start() -> Option<Cluster> {
        let started = script().arg("start").output().unwrap();
        if started.status.code() == Some(3) {
            model::testing::skip_without("PostgreSQL");
            return None;
        }
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        let folder = String::from_utf8(started.stdout).unwrap().trim().to_owned();
        let cluster = Cluster { folder };
        let (_, errors) = cluster.psql(include_str!("../schema/postgres/0001_collection.sql"));
        assert_eq!(errors, "", "the schema is not taken");
        Some(cluster)
    }

    /// What it answers, and its errors.
    fn psql(&self, input: &str) -> (String, String) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), input).unwrap();
        let done = Command::new("psql")
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-F",
                "\t",
                "-U",
                "harvestman",
                "-h",
                &self.folder,
                "-f",
            ])
            .arg(file.path())
            .arg("harvestman")
            .env("PGOPTIONS", "-c client_min_messages=warning")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(done.stdout), text(done.stderr))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = script().args(["stop", &self.folder]).status();
    }
}

#[test]
fn a_real_postgresql_takes_every_statement() {
    let Some(cluster) = Cluster::start() else { return };
    let recorded = recorded();
    let literals: Vec<Literal> = store_sources().iter().flat_map(literals_of).collect();
    let unseen: Vec<&Literal> =
        literals.iter().filter(|one| one.has_gaps() && !one.is_among(&recorded)).collect();
    let whole = literals.iter().filter(|one| !one.has_gaps());
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for literal in whole {
        for text in statements(&literal.text) {
            texts.entry(text).or_insert_with(|| literal.place.clone());
        }
    }
    for (text, place) in &recorded {
        for text in statements(text) {
            texts.entry(text).or_insert_with(|| place.clone());
        }
    }
    assert!(texts.len() > 300, "only {} texts were found", texts.len());
    let refused = refused(&cluster, &texts);
    let places: Vec<&str> = unseen.iter().map(|one| one.place.as_str()).collect();
    assert!(refused.is_empty(), "{} of {}:\n{}", refused.len(), texts.len(), refused.join("\n"));
    assert!(places.is_empty(), "no test runs these composed statements: {places:#?}");
}

/// Those that are not taken, with their place and what is said of them.
fn refused(cluster: &Cluster, texts: &BTreeMap<String, String>) -> Vec<String> {
    let lines: Vec<(&String, &String)> = texts.iter().collect();
    let prepare = |(n, (text, _)): (usize, &(&String, &String))| {
        format!("PREPARE s{n} AS {};\n", numbered(text))
    };
    let input: String = lines.iter().enumerate().map(prepare).collect();
    let (_, errors) = cluster.psql(&input);
    let of_line = |error: &str| -> Option<String> {
        let (at, what) = error.split_once(": ERROR:")?;
        let line: usize = at.rsplit(':').next()?.parse().ok()?;
        let (text, place) = lines.get(line - 1)?;
        Some(format!("{place}:{what}\n    {text}"))
    };
    errors.lines().filter_map(of_line).collect()
}

/// Parameters as PostgreSQL writes them.
fn numbered(text: &str) -> String {
    let (mut made, mut count, mut quoted) = (String::new(), 0, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        quoted ^= c == '\'';
        match c {
            '?' if !quoted && chars.peek().is_some_and(char::is_ascii_digit) => made.push('$'),
            '?' if !quoted => {
                count += 1;
                made.push_str(&format!("${count}"));
            }
            c => made.push(c),
        }
    }
    made
}

/// The single statements of a text, each on one line.
fn statements(text: &str) -> Vec<String> {
    let (mut found, mut quoted) = (vec![String::new()], false);
    for word in text.split_whitespace() {
        for c in word.chars() {
            quoted ^= c == '\'';
            match (c, found.last_mut()) {
                (';', _) if !quoted => found.push(String::new()),
                (c, Some(last)) => last.push(c),
                _ => {}
            }
        }
        if let Some(last) = found.last_mut() {
            last.push(' ');
        }
    }
    let found = found.into_iter().map(|text| text.trim().to_owned());
    found.filter(|text| !text.is_empty()).collect()
}

/// Runs the other tests of this crate and takes what the product asked for, by its text.
fn recorded() -> BTreeMap<String, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let tests = ["blocks::", "census::", "control::", "directory::", "forget::", "frontier::"];
    let more =
        ["history::", "runs::", "spiders::", "state::", "thin::", "tombstones::", "volumes::"];
    let more = [&more[..], &["webhooks::"]].concat();
    // Sweeps and models run the same statements over and over.
    let skip = ["memory::", "plain::", "on_disk::", "histories::", "at_any_step", "overlapping"];
    let mut run = Command::new(std::env::current_exe().unwrap());
    run.args(tests.iter().chain(&more)).env("HARVESTMAN_STATEMENTS", file.path());
    run.args(skip.iter().flat_map(|part| ["--skip", part]));
    if Path::new("/dev/shm").is_dir() {
        // Nothing here has to last.
        run.env("TMPDIR", "/dev/shm");
    }
    let run = run.output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    let mut lines = fs::read_to_string(file.path()).unwrap();
    if let Some(others) = std::env::var_os("HARVESTMAN_STATEMENTS") {
        lines.push_str(&fs::read_to_string(others).unwrap_or_default());
    }
    let mut ends = BTreeMap::new();
    let mut found = BTreeMap::new();
    for line in lines.lines() {
        // Another process may be writing its line just now.
        let Ok((file, line, text)) = serde_json::from_str::<(String, usize, String)>(line) else {
            continue;
        };
        let end = *ends.entry(file.clone()).or_insert_with(|| end_of_product(&file));
        if line < end {
            found.insert(text, format!("{file}:{line}"));
        }
    }
    found
}

/// The line where a file's tests begin; 0 for a file of tests.
fn end_of_product(file: &str) -> usize {
    let is_test = ["tests", "testing", "suite", "plain", "examples", "histories", "portable"]
        .iter()
        .any(|word| file.contains(&format!("/{word}")));
    if is_test || !file.contains("store/src/") {
        return 0;
    }
    let text = fs::read_to_string(root().join(file)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let begins =
        |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].contains("mod tests {");
    lines.windows(2).position(begins).map_or(usize::MAX, |at| at + 1)
}

/// Of the product: path from the root and text.
fn store_sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates/store/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            let end = end_of_product(&name);
            // What only SQLite understands stands in the file of that engine.
            if name.ends_with(".rs") && end > 0 && !name.ends_with("sql/lite.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let product = text.lines().take(end - 1).collect::<Vec<_>>().join("\n");
                found.push((name, product));
            }
        }
    }
    found
}

#[test]
fn both_schemas_have_the_same_tables_and_columns() {
    let Some(cluster) = Cluster::start() else { return };
    let (columns, errors) = cluster.psql(
        "SELECT table_name || '.' || column_name FROM information_schema.columns \
         WHERE table_schema = 'public';",
    );
    assert_eq!(errors, "");
    let postgres: BTreeSet<String> = columns.lines().map(str::to_owned).collect();
    let sqlite = super::open_in_memory().unwrap();
    crate::migrate::migrate(&sqlite, Path::new("x")).unwrap();
    let sqlite: BTreeSet<String> = sqlite
        .prepare_own(
            "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c \
             WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite_%'",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<super::Result<_>>()
        .unwrap();
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> Vec<String> {
        a.difference(b).cloned().collect()
    };
    assert_eq!(only(&sqlite, &postgres), [""; 0], "only SQLite has them");
    assert_eq!(only(&postgres, &sqlite), [""; 0], "only PostgreSQL has them");
}
