//! Regular expressions of the user's, bounded: all of them are compiled here.
//!
//! The engine takes time linear in the text whatever the pattern is, but by a factor that grows with the
//! compiled size: a pattern that repeats repetitions is refused before it can make every URL slow.

use regex::{Regex, RegexBuilder, bytes};

/// Of a compiled pattern: refuses `(a{100}){100}`, takes all that people write, and keeps the worst that
/// passes below a tenth of a second for the longest URL (`(.*a){1000}x` takes 50 ms).
const PATTERN_BYTES_MAX: usize = 256 << 10;
/// With the letters of all scripts `\w` alone is large.
const UNICODE_BYTES_MAX: usize = 1 << 20;
/// Groups and repetitions inside each other.
const NESTING_MAX: u32 = 50;

/// For parts of URLs, byte by byte: they are ASCII, which keeps `\d` and `\w` small.
pub(crate) fn of_url(text: &str) -> Result<bytes::Regex, String> {
    let mut builder = bytes::RegexBuilder::new(text);
    builder.unicode(false).size_limit(PATTERN_BYTES_MAX).nest_limit(NESTING_MAX);
    builder.build().map_err(|error| what(&error))
}

/// For what people write on pages.
pub(crate) fn of_prose(text: &str) -> Result<bytes::Regex, String> {
    let mut builder = bytes::RegexBuilder::new(text);
    builder.size_limit(UNICODE_BYTES_MAX).nest_limit(NESTING_MAX);
    builder.build().map_err(|error| what(&error))
}

/// For whole URLs as text, where it is changed.
pub(crate) fn of_text(text: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(UNICODE_BYTES_MAX).nest_limit(NESTING_MAX);
    builder.build().map_err(|error| what(&error))
}

/// In one line; the regex crate draws a picture first and says what is wrong in the last one.
pub(crate) fn what(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(_) = error {
        return "it repeats too much: repetitions inside each other multiply".to_owned();
    }
    let text = error.to_string();
    let line = text.lines().last().unwrap_or(&text).trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_explodes_is_refused_in_words() {
        for text in ["((a{99}){99}){99}", "(a{1000}){1000}", "(([a-z]{1,9}){1,99}){1,99}"] {
            assert!(of_url(text).expect_err(text).contains("repeats too much"), "{text}");
            assert!(of_prose(text).expect_err(text).contains("repeats too much"), "{text}");
            assert!(of_text(text).expect_err(text).contains("repeats too much"), "{text}");
        }
        assert!(of_url("(a{100}){100}").is_err());
        let deep = format!("{}a{}", "(".repeat(100), ")".repeat(100));
        assert!(of_url(&deep).expect_err("deep").contains("nest"));
        assert_eq!(of_prose("(a").expect_err("open"), "unclosed group");
    }

    #[test]
    fn what_people_write_is_taken() {
        let words: Vec<String> = (0..200).map(|at| format!("section-{at}")).collect();
        for text in [&words.join("|"), r"^/(\d{4}/){1,3}[\w-]+\.html?$", r"(?i)\bpage\b"] {
            for read in [of_url(text).err(), of_prose(text).err(), of_text(text).err()] {
                assert_eq!(read, None, "{text}");
            }
        }
        assert!(of_url(r"^/[\w-]{1,200}/(\d{4}/){1,9}$").is_ok());
    }
}
