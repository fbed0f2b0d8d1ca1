//! Writes down every text that a program prepares, for the test that asks another engine about them.
//!
//! In debug builds only, and only where `HARVESTMAN_STATEMENTS` names a file: each text once a process, as a line of
//! JSON with the place that asked for it.

use std::{
    collections::HashSet,
    env,
    fs::{File, OpenOptions},
    io::Write,
    panic::Location,
    sync::{LazyLock, Mutex},
};

struct Record {
    file: File,
    seen: HashSet<String>,
}

static RECORD: LazyLock<Option<Mutex<Record>>> = LazyLock::new(|| {
    let path = env::var_os("HARVESTMAN_STATEMENTS")?;
    let file = OpenOptions::new().create(true).append(true).open(path).ok()?;
    Some(Mutex::new(Record { file, seen: HashSet::new() }))
});

#[track_caller]
pub(super) fn note(text: &str) {
    let Some(record) = &*RECORD else { return };
    let Ok(mut record) = record.lock() else { return };
    let place = Location::caller();
    // Tests ask for the same texts as the product: each place counts.
    if !record.seen.insert(format!("{}:{text}", place.file())) {
        return;
    }
    let line = serde_json::json!([place.file(), place.line(), text]);
    // In one piece: other processes write to the same file.
    let _ = record.file.write_all(format!("{line}\n").as_bytes());
}
