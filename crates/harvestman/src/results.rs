//! Results that go where the user says: into a file, or for `-` to standard output.
//!
//! A file is written as a whole or not at all, so that whoever reads the old one never sees half of the new. On
//! standard output, which may be a terminal, signs that drive it are written as markup writes them.

use std::{borrow::Cow, fmt::Write, fs, path::Path};

use crate::terminal::print_bytes;
use config::failure::{Failure, cannot_write};
use model::is_unsafe;

pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A text of markup: HTML, SVG or XML.
pub fn write_markup(path: &Path, text: &str) -> Result<(), Failure> {
    if is_stdout(path) {
        return print_bytes(tamed(text).as_bytes());
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let done = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    done.map_err(|error| {
        // What is left of it is of no use to anybody.
        let _ = fs::remove_file(&beside);
        cannot_write(path, &error)
    })
}

/// Standard output holds one thing: with `--json` that is JSON.
pub fn not_beside_json(flag: &str, path: &Path, json: bool) -> Result<(), Failure> {
    match json && is_stdout(path) {
        false => Ok(()),
        true => Err(Failure::usage(
            format!("{flag} - and --json both want standard output"),
            format!("leave out one of them, or name a file with {flag}"),
        )),
    }
}

/// A folder is asked for: `-` would make one of that name.
pub fn folder(flag: &str, path: &Path) -> Result<(), Failure> {
    match is_stdout(path) {
        false => Ok(()),
        true => Err(Failure::usage(
            format!("{flag} - : a folder cannot be written to standard output"),
            format!("name a folder with {flag}; one that is called so is ./-"),
        )),
    }
}

/// What markup may hold but a terminal obeys, as a reference; what it may not hold, as U+FFFD.
fn tamed(text: &str) -> Cow<'_, str> {
    let wild = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\t');
    if !text.contains(wild) {
        return Cow::Borrowed(text);
    }
    let mut tame = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !wild(c) => tame.push(c),
            c if c < ' ' => tame.push('\u{fffd}'),
            c => drop(write!(tame, "&#x{:x};", u32::from(c))),
        }
    }
    Cow::Owned(tame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_on_standard_output_says_the_same_and_drives_no_terminal() {
        assert!(matches!(tamed("<p>ü\n\t</p>"), Cow::Borrowed(_)));
        assert_eq!(tamed("a\u{200e}b\u{1b}[2Jc\u{9b}"), "a&#x200e;b\u{fffd}[2Jc&#x9b;");
    }

    #[test]
    fn a_file_that_cannot_be_put_in_place_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::create_dir_all(taken.join("by a folder")).unwrap();
        write_markup(&taken, "<p>").unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let file = folder.path().join("a.html");
        write_markup(&file, "<p>").unwrap();
        write_markup(&file, "<b>").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "<b>");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
