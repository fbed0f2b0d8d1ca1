//! One seed with what is wanted of it alone: how deep to follow its links, how often to come back (Bouras et
//! al., table 1, give every seed a level and a frequency).
//!
//! In a list it is a line `URL level=2 period=1d`; both words may be left out.

use std::time::Duration;

use model::CrawlUrl;

use super::parse_seed;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    pub url: CrawlUrl,
    /// Most links to follow from it.
    pub level: Option<u16>,
    pub period: Option<Duration>,
}

impl From<CrawlUrl> for Seed {
    fn from(url: CrawlUrl) -> Seed {
        Seed { url, level: None, period: None }
    }
}

impl Seed {
    /// The error says what is wrong and what would be right.
    pub fn parse(line: &str) -> Result<Seed, String> {
        let mut words = line.split_whitespace();
        let url = words.next().unwrap_or_default();
        let terms: Vec<&str> = words.collect();
        if terms.iter().any(|term| !term.contains('=')) {
            // Not terms but a URL with white space inside: say that.
            return parse_seed(line).map(Seed::from);
        }
        let mut seed = Seed::from(parse_seed(url)?);
        for term in terms {
            match term.split_once('=') {
                Some(("level", text)) => seed.level = Some(level(text)?),
                Some(("period", text)) => seed.period = Some(period(text)?),
                _ => return Err(format!("{term:?} is not known: write level=2 or period=1d")),
            }
        }
        Ok(seed)
    }
}

fn level(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("level={text}: write a whole number up to 65535"))
}

fn period(text: &str) -> Result<Duration, String> {
    let wrong = || format!("period={text}: write a time such as 30m, 12h or 7d");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let count: u64 = text[..digits].parse().map_err(|_| wrong())?;
    let seconds = match &text[digits..] {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(wrong()),
    };
    match count.checked_mul(seconds) {
        // A millennium: longer times would not fit beside a date.
        Some(total) if (1..=31_557_600_000).contains(&total) => Ok(Duration::from_secs(total)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_say_how_deep_and_how_often() {
        let seed = Seed::parse("http://www.example.org/ level=2 period=12h").unwrap();
        assert_eq!(seed.url.as_str(), "http://www.example.org/");
        assert_eq!((seed.level, seed.period), (Some(2), Some(Duration::from_secs(43_200))));
        let seed = Seed::parse("example.org\tperiod=7d").unwrap();
        assert_eq!((seed.level, seed.period), (None, Some(Duration::from_secs(604_800))));
        let plain = Seed::parse("example.org").unwrap();
        assert_eq!(plain, Seed::from(CrawlUrl::parse("http://example.org/").unwrap()));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        for (line, says) in [
            ("example.org level=x", "whole number"),
            ("example.org level=70000", "whole number"),
            ("example.org period=0d", "30m, 12h or 7d"),
            ("example.org period=5", "30m, 12h or 7d"),
            ("example.org period=99999999999999999999d", "30m, 12h or 7d"),
            ("example.org period=9999999999999w", "30m, 12h or 7d"),
            ("example.org depth=2", "write level=2"),
            ("http://example.org/a b", "spaces as %20"),
            ("level=2", "neither a URL"),
        ] {
            let error = Seed::parse(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
