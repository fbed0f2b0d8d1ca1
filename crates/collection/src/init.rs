//! A new collection with a commented `harvest.toml`. Nothing that exists is changed.

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use config::{
    FILE_NAME,
    failure::{Failure, io_advice},
};
use serde::Serialize;
use store::collection::Collection;

use crate::Error;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Initialised {
    /// The configuration.
    pub file: PathBuf,
    /// It was not there before.
    pub created: bool,
}

pub fn init(folder: &Path) -> Result<Initialised, Error> {
    let file = folder.join(FILE_NAME);
    let created = make(folder).map_err(|error| trouble(&file, &error))?;
    Collection::open_or_create(folder)?;
    Ok(Initialised { file, created })
}

/// Whether the file is new. Never overwrites: the file is created or left alone in one step.
fn make(folder: &Path) -> io::Result<bool> {
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
    fn a_file_in_the_way_of_the_folder_is_reported_in_plain_words() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("x");
        fs::write(&folder, "").unwrap();
        let failure = trouble(&folder, &make(&folder).unwrap_err());
        assert!(failure.sentence.contains("cannot make"), "{failure}");
        assert!(failure.what_to_do.contains("-C"), "{failure}");
    }
}
