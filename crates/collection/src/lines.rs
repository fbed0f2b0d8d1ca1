//! Lines of lists that could not be taken.

use seeder::SeedError;
use serde::Serialize;

/// Of bad lines, named; the rest is counted.
pub const NAMED_MAX: usize = 20;

/// A line of a list that is not what the list is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// The name of the file, or of standard input.
    pub file: String,
    pub line: u64,
    pub why: String,
}

impl BadLine {
    pub fn of(file: &str, error: &SeedError) -> BadLine {
        let (line, why) = match error {
            SeedError::Bad { line, text, what } => (*line, format!("{what}: {text}")),
            SeedError::Elsewhere { line, text } => {
                (*line, format!("names another sitemap, which is not fetched: {text}"))
            }
            SeedError::Cut { line, what } => (*line, format!("cut after this line: {what}")),
            SeedError::Io { line, source } => (*line, source.to_string()),
        };
        BadLine { file: file.to_owned(), line, why }
    }
}
