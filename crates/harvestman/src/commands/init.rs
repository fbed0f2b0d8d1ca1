//! `init`: a new collection with a commented `harvest.toml`. Nothing that exists is changed.

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind, Write},
    path::Path,
};

use serde_json::json;
use store::collection::Collection;

use super::Context;
use crate::terminal::print;
use config::{
    self, FILE_NAME,
    failure::{Exit, Failure, io_advice},
};
use model::printable;

pub fn run(context: &Context) -> Result<Exit, Failure> {
    let path = context.folder.join(FILE_NAME);
    let made = make(&context.folder).map_err(|error| trouble(&path, &error))?;
    Collection::open_or_create(&context.folder)?;
    let shown = path.to_string_lossy();
    if context.json {
        print(&format!("{}\n", json!({ "file": shown, "made": made })))?;
    } else if made {
        context.say(&format!("made {}", printable(&shown)));
        let folder = context.folder.to_string_lossy();
        let place =
            if context.named { format!(" -C {}", printable(&folder)) } else { String::new() };
        context.say(&format!("next: harvestman{place} crawl https://example.org"));
    } else {
        context.say(&format!("{} is there already and was left as it is", printable(&shown)));
    }
    Ok(Exit::Done)
}

/// Whether the file is new. Never overwrites: the file is created or left alone in one step.
pub fn make(folder: &Path) -> io::Result<bool> {
    fs::create_dir_all(folder)?;
    match OpenOptions::new().write(true).create_new(true).open(folder.join(FILE_NAME)) {
        Ok(mut file) => file.write_all(config::template().as_bytes()).map(|()| true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn trouble(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot make {}: {error}", path.display()), io_advice(error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/b");
        assert!(make(&folder).unwrap());
        fs::write(folder.join(FILE_NAME), "# mine\n").unwrap();
        assert!(!make(&folder).unwrap());
        assert_eq!(fs::read_to_string(folder.join(FILE_NAME)).unwrap(), "# mine\n");
    }

    #[test]
    fn a_file_in_the_way_of_the_folder_is_told_in_plain_words() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("x");
        fs::write(&folder, "").unwrap();
        let failure = trouble(&folder, &make(&folder).unwrap_err());
        assert!(failure.sentence.contains("cannot make"), "{failure}");
        assert!(failure.what_to_do.contains("-C"), "{failure}");
    }
}
