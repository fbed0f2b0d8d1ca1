//! How the program ends: five exit codes, and failures in two plain lines.
//!
//! The codes are a promise to scripts: 0 done (also when nothing was due or single URLs failed),
//! 1 nothing could be fetched, 2 usage or configuration, 3 stopped by a fault of this machine,
//! 4 stopped before the end by a signal or `harvestman stop`.

use std::{fmt, path::Path, process::ExitCode};

use model::StoreError;
use serde_json::json;

use model::printable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Done = 0,
    NothingFetched = 1,
    Usage = 2,
    Fault = 3,
    /// By a signal or `harvestman stop`; the same command continues.
    Stopped = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command could not do its work, for people and (with `--json`) for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: Exit,
    /// What happened, in one sentence: lower case, no full stop.
    pub sentence: String,
    /// What the user can do about it.
    pub what_to_do: String,
}

impl Failure {
    /// The command line or the configuration is wrong.
    pub fn usage(sentence: impl Into<String>, what_to_do: impl Into<String>) -> Failure {
        Failure { code: Exit::Usage, sentence: sentence.into(), what_to_do: what_to_do.into() }
    }

    /// This machine (disk, database, network set-up) stopped us.
    pub fn fault(sentence: impl Into<String>, what_to_do: impl Into<String>) -> Failure {
        Failure { code: Exit::Fault, sentence: sentence.into(), what_to_do: what_to_do.into() }
    }

    /// The crawl ran, but not one page came back.
    pub fn nothing_fetched(sentence: impl Into<String>, what_to_do: impl Into<String>) -> Failure {
        Failure {
            code: Exit::NothingFetched,
            sentence: sentence.into(),
            what_to_do: what_to_do.into(),
        }
    }

    /// What somebody asks about is no URL; `why` is the seeder's answer to it.
    pub fn no_url(typed: &str, why: &str) -> Failure {
        Failure::usage(
            format!("{typed:?} is no URL: {why}"),
            "give the URL of a page, such as https://example.org/",
        )
    }

    /// What somebody gives as a seed is none; `why` is the seeder's answer to it.
    pub fn bad_url(typed: &str, why: &str) -> Failure {
        Failure::usage(
            format!("cannot crawl {typed:?}: {why}"),
            "give a whole URL such as https://example.org/",
        )
    }

    /// Where it stops nobody: the same two lines, as a warning.
    pub fn warning(&self) -> String {
        let sentence = format!("warning: {}", self.sentence);
        Failure { sentence, ..self.clone() }.to_string()
    }

    pub fn warning_json(&self) -> String {
        json!({ "warning": { "sentence": self.sentence, "what_to_do": self.what_to_do } })
            .to_string()
    }

    /// One JSON object on one line.
    pub fn json(&self) -> String {
        json!({ "error": {
            "exit": self.code as u8,
            "sentence": self.sentence,
            "what_to_do": self.what_to_do,
        }})
        .to_string()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "harvestman: {}", printable(&self.sentence))?;
        if self.what_to_do.is_empty() {
            return Ok(());
        }
        write!(f, "\n            {}", printable(&self.what_to_do))
    }
}

impl std::error::Error for Failure {}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::from(&error)
    }
}

impl From<&StoreError> for Failure {
    fn from(error: &StoreError) -> Failure {
        let sentence = error.to_string();
        match error {
            StoreError::Busy { .. } => Failure::usage(
                sentence,
                "wait for it, stop it with Ctrl-C, or give another folder with -C; \
                 status, show and explain work while it runs",
            ),
            StoreError::Delivering { .. } => Failure::usage(
                sentence,
                "a running crawl delivers by itself: `harvestman webhook` tells how far it is; \
                 give the command again when the other process has ended",
            ),
            StoreError::Removing { .. } => Failure::usage(
                sentence,
                "wait for `harvestman forget` to end; if it was stopped, give the same command \
                 again, or start a crawl, which finishes it",
            ),
            StoreError::Missing { path } => Failure::usage(
                sentence,
                format!(
                    "start one with `harvestman -C {} crawl URL`, or name another folder with -C",
                    path.display()
                ),
            ),
            StoreError::Newer { .. } => {
                Failure::usage(sentence, "use the newer program that wrote it; nothing was changed")
            }
            StoreError::DiskFull { .. } => Failure::fault(
                sentence,
                "make room there and give the same command again; everything settled is safe",
            ),
            StoreError::Corrupt { path, .. } if path.ends_with("crawl.db") => Failure::fault(
                sentence,
                "make it again from the volumes with: harvestman rebuild; or restore crawl.db from a copy",
            ),
            StoreError::Corrupt { .. } => {
                Failure::fault(sentence, "restore it from a copy; sealed volumes were not touched")
            }
            StoreError::DatabaseLost { .. } => Failure::fault(
                sentence,
                "the crawl has stopped, and the volumes hold everything that was fetched; restore \
                 crawl.db from a copy, or make it again with: harvestman rebuild",
            ),
            StoreError::VolumesLost { .. } => Failure::fault(
                sentence,
                "the crawl has stopped; restore the volumes from a copy, then run: harvestman \
                 check --repair, which has pages that are lost fetched again",
            ),
            StoreError::Io { source, .. } => Failure::fault(sentence, io_advice(source.kind())),
            StoreError::Refused { .. } => Failure::usage(
                sentence,
                "nothing was changed; `harvestman spider` lists the spiders there are",
            ),
            StoreError::Fenced { .. } => Failure::fault(
                sentence,
                "another crawl took over; end it and give the same command again",
            ),
            StoreError::Poisoned { .. } | StoreError::Database { .. } => Failure::fault(
                sentence,
                "give the same command again to recover; everything settled is safe",
            ),
        }
    }
}

/// A file or folder that the user named for the result cannot be written.
pub fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    let what_to_do = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "give this user the right to write there, or name another place"
        }
        ErrorKind::NotFound => "make the folder it is to be in first, or name another place",
        ErrorKind::IsADirectory => "there is a folder of that name: name a file",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "something else is in the way there: name another place"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room there and give the same command again"
        }
        _ => "check the disk, or name another place",
    };
    let sentence = format!("cannot write {}: {error}", path.display());
    match error.kind() {
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::NotFound
        | ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::AlreadyExists => Failure::usage(sentence, what_to_do),
        _ => Failure::fault(sentence, what_to_do),
    }
}

/// A file that the user named cannot be read.
pub fn cannot_read(name: &str, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    let what_to_do = match error.kind() {
        ErrorKind::PermissionDenied => "give this user the right to read it, or name another file",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "check the path, or name another file",
        ErrorKind::IsADirectory => "there is a folder of that name: name a file",
        _ => "check the file and the disk, then give the same command again",
    };
    Failure::usage(format!("cannot read {name}: {error}"), what_to_do)
}

/// What to do about trouble with a file or folder of the collection.
pub fn io_advice(kind: std::io::ErrorKind) -> &'static str {
    use std::io::ErrorKind;
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "give this user the right to write there, or name another folder with -C"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room there and give the same command again"
        }
        ErrorKind::NotFound => "check the path, or name another with -C",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "something else is in the way; name another folder with -C"
        }
        _ => "check the disk, then give the same command again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_two_plain_lines_without_control_characters() {
        let failure = Failure::usage("no page at \u{1b}[2Jhttp://x/", "look again");
        assert_eq!(
            failure.to_string(),
            "harvestman: no page at \\u{1b}[2Jhttp://x/\n            look again"
        );
    }

    #[test]
    fn a_failure_as_json_names_its_exit_code() {
        let json: serde_json::Value =
            serde_json::from_str(&Failure::fault("a \"b\"", "c").json()).unwrap();
        assert_eq!(json["error"]["exit"], 3);
        assert_eq!(json["error"]["sentence"], "a \"b\"");
    }

    #[test]
    fn a_result_that_cannot_be_written_says_so_and_blames_no_collection() {
        use std::io::ErrorKind;
        let of = |kind: ErrorKind| cannot_write(Path::new("out/a.svg"), &kind.into());
        for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::NotADirectory] {
            let failure = of(kind);
            assert!(failure.sentence.starts_with("cannot write out/a.svg: "), "{failure}");
            assert!(!failure.what_to_do.contains("-C"), "{failure}");
            assert_eq!(failure.code, Exit::Usage);
        }
        assert_eq!(of(ErrorKind::StorageFull).code, Exit::Fault);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_looked_for_in_the_collection() {
        use std::io::ErrorKind;
        for kind in [ErrorKind::NotFound, ErrorKind::IsADirectory, ErrorKind::Other] {
            let failure = cannot_read("list.txt", &kind.into());
            assert!(failure.sentence.starts_with("cannot read list.txt: "), "{failure}");
            assert!(!failure.what_to_do.contains("-C"), "{failure}");
        }
    }

    #[test]
    fn trouble_of_the_store_keeps_the_promised_exit_codes() {
        let path = std::path::PathBuf::from("harvest");
        let busy = StoreError::Busy { path: path.clone(), holder: "7".into() };
        let full = StoreError::DiskFull { path: path.clone() };
        let newer = StoreError::Newer { path, found: 9, known: 1 };
        assert_eq!(Failure::from(busy).code, Exit::Usage);
        assert_eq!(Failure::from(full).code, Exit::Fault);
        assert_eq!(Failure::from(newer).code, Exit::Usage);
    }
}
