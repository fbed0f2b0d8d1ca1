//! What tests share. Built with the feature `testing` only, never into the program.
//!
//! A test that cannot run because something is missing says so: by name, in the summary of `./check`. Data is
//! required with `HARVESTMAN_CONFORMANCE=required`, tools that `./check` installs are required with `CI=true`.

use std::{
    env,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
};

/// A file or folder of the public conformance data, beside the project; `None` where it is not there.
///
/// # Panics
/// Where it is required.
pub fn conformance(path: &str) -> Option<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance");
    let found = Path::new(root).join(path);
    if found.exists() {
        return Some(found);
    }
    assert!(
        env::var_os("HARVESTMAN_CONFORMANCE").is_none_or(|wanted| wanted != "required"),
        "the conformance data {path} is required and not there"
    );
    note_skipped(&format!("conformance data {path}"));
    None
}

/// A tool that `./check` installs is not there.
///
/// # Panics
/// Where `CI=true`: there it must be.
pub fn skip_without(tool: &str) {
    assert!(
        env::var_os("CI").is_none_or(|ci| ci != "true"),
        "{tool} is not there, and ./check should have installed it"
    );
    note_skipped(tool);
}

/// `./check` names a file and prints what is in it at the end.
pub fn note_skipped(what: &str) {
    println!("skipped: {what} is not there");
    let Some(list) = env::var_os("HARVESTMAN_SKIPPED") else { return };
    let list = OpenOptions::new().create(true).append(true).open(list);
    if let Ok(mut list) = list {
        let _ = writeln!(list, "{what}");
    }
}
