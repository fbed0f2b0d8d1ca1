//! `harvest.toml` and `KEY=VALUE`: any text is understood or refused with what to write instead.
#![cfg_attr(fuzzing, no_main)]

use std::{cell::RefCell, fs, path::Path};

use fuzz::timed;
use config::{Config, FILE_NAME, parse_setting};
use tempfile::TempDir;

thread_local! {
    static FOLDER: RefCell<TempDir> = RefCell::new(tempfile::tempdir().expect("a folder"));
}

fuzz::target!(|data: &[u8]| {
    // Files that the text names are the user's own: which of this machine's it would open is no question here.
    let names_a_file = |word: &str| String::from_utf8_lossy(data).contains(word);
    if ["file", "\\u", "\\U", "\\x"].iter().any(|word| names_a_file(word)) {
        return;
    }
    FOLDER.with_borrow(|folder| {
        fs::write(folder.path().join(FILE_NAME), data).expect("room for a file");
        timed(|| read(folder.path(), data));
    });
});

fn read(folder: &Path, data: &[u8]) {
    let (config, mistakes) = Config::examine(folder, Vec::new());
    for mistake in &mistakes {
        assert!(!mistake.sentence.is_empty() && !mistake.what_to_do.is_empty());
    }
    for setting in config.settings() {
        let _ = format!("{setting:?}");
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = parse_setting(text);
    }
}
