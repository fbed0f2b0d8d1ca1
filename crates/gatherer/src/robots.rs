//! What a page asks of robots: `<meta name=robots>` and `X-Robots-Tag`.
//!
//! Directives only add up: the strictest of all that concern us holds, as Google and the others
//! read them. Those that name another robot do not concern us.

use model::Headers;

const UNAVAILABLE_AFTER: &str = "unavailable_after";
/// The longest way to write a moment has a name of a day and a zone.
const DATE_BYTES_MAX: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Robots {
    pub(crate) noindex: bool,
    pub(crate) nofollow: bool,
    pub(crate) noarchive: bool,
    /// As it is written.
    pub(crate) unavailable_after: Option<String>,
}

impl Robots {
    /// `noindex, nofollow`
    pub(crate) fn read_directives(&mut self, directives: &str) {
        for directive in
            directives.split(|c: char| matches!(c, ',' | ';') || c.is_ascii_whitespace())
        {
            self.read_directive(directive);
        }
        self.read_date(directives);
    }

    /// Every `X-Robots-Tag`; `agent: noindex` speaks to one robot until another is named.
    pub(crate) fn read_headers(&mut self, headers: &Headers, agent: &str) {
        for field in headers.all("x-robots-tag") {
            let mut ours = true;
            let mut rest = Some(field);
            while let Some(text) = rest {
                let (part, more) = text.split_once(',').map_or((text, None), |(p, m)| (p, Some(m)));
                rest = more;
                let mut directive = part.trim();
                if let Some((name, rest)) = directive.split_once(':')
                    && !takes_value(name.trim())
                {
                    ours = is_name(name, agent);
                    directive = rest.trim();
                }
                if ours {
                    self.read_directive(directive);
                }
                if !is_dated(directive) {
                    continue;
                }
                if ours {
                    self.read_date(&format!("{directive},{}", more.unwrap_or_default()));
                }
                // The rest of the date is no directive.
                if directive.split_once(':').is_some_and(|(_, date)| is_name_of_day(date)) {
                    rest = more.and_then(|more| more.split_once(',')).map(|(_, more)| more);
                }
            }
        }
    }

    pub(crate) fn merge(&mut self, other: Robots) {
        self.noindex |= other.noindex;
        self.nofollow |= other.nofollow;
        self.noarchive |= other.noarchive;
        self.unavailable_after = self.unavailable_after.take().or(other.unavailable_after);
    }

    /// `unavailable_after: Friday, 25-Jun-2010 15:00:00 PST, noarchive`: up to the comma that is not that of the
    /// day's name.
    fn read_date(&mut self, text: &str) {
        let found = text.to_ascii_lowercase().find(UNAVAILABLE_AFTER);
        let after = found.map(|at| text[at + UNAVAILABLE_AFTER.len()..].trim_start());
        let Some(date) = after.and_then(|after| after.strip_prefix(':')) else { return };
        let is_end = |c: char| matches!(c, ',' | ';');
        let first = date.find(is_end).unwrap_or(date.len());
        let end = match date.get(first + 1..).filter(|_| is_name_of_day(&date[..first])) {
            Some(more) => first + 1 + more.find(is_end).unwrap_or(more.len()),
            None => first,
        };
        let date = date[..end].trim();
        if !date.is_empty() && date.len() <= DATE_BYTES_MAX {
            self.unavailable_after.get_or_insert_with(|| date.to_owned());
        }
    }

    fn read_directive(&mut self, directive: &str) {
        let is = |word: &str| directive.eq_ignore_ascii_case(word);
        self.noindex |= is("noindex") || is("none");
        self.nofollow |= is("nofollow") || is("none");
        self.noarchive |= is("noarchive");
    }
}

fn is_dated(directive: &str) -> bool {
    let name = directive.get(..UNAVAILABLE_AFTER.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(UNAVAILABLE_AFTER))
}

/// `Friday, 25-Jun-2010` has a comma of its own.
fn is_name_of_day(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphabetic())
}

fn is_name(name: &str, agent: &str) -> bool {
    let name = name.trim();
    name.eq_ignore_ascii_case(agent) || name == "*" || name.eq_ignore_ascii_case("robots")
}

/// Directives that themselves have a colon.
fn takes_value(name: &str) -> bool {
    [UNAVAILABLE_AFTER, "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|directive| name.eq_ignore_ascii_case(directive))
}

#[cfg(test)]
mod tests {
    use model::Headers;

    use super::Robots;

    fn from_headers(fields: &[&str]) -> (bool, bool, bool) {
        let mut headers = Headers::new();
        for field in fields {
            headers.push("X-Robots-Tag", field);
        }
        let mut robots = Robots::default();
        robots.read_headers(&headers, "harvestman");
        (robots.noindex, robots.nofollow, robots.noarchive)
    }

    #[test]
    fn only_what_speaks_to_us_or_to_all_counts() {
        for (fields, expected) in [
            (&["noindex"][..], (true, false, false)),
            (&["NoIndex , nofollow"], (true, true, false)),
            (&["none"], (true, true, false)),
            (&["all, index, follow"], (false, false, false)),
            (&["googlebot: noindex, nofollow"], (false, false, false)),
            (&["googlebot: noindex, harvestman: noarchive"], (false, false, true)),
            (&["Harvestman: noindex, otherbot: nofollow"], (true, false, false)),
            (&["googlebot: noindex", "nofollow"], (false, true, false)),
            (&["unavailable_after: 25 Jun 2010 15:00:00 PST, noarchive"], (false, false, true)),
            (&["max-snippet: 10, noindex"], (true, false, false)),
            (&["*: noindex"], (true, false, false)),
            (&["", ":", ":::noindex,"], (false, false, false)),
        ] {
            assert_eq!(from_headers(fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn directives_of_a_meta_tag_may_be_parted_by_anything() {
        let mut robots = Robots::default();
        robots.read_directives(" NOINDEX;,noarchive  nofollow");
        let all = Robots { noindex: true, nofollow: true, noarchive: true, ..Robots::default() };
        assert_eq!(robots, all);
    }

    #[test]
    fn the_end_of_a_page_is_read_with_and_without_the_name_of_its_day() {
        for (field, date, noarchive) in [
            (
                "unavailable_after: 25 Jun 2010 15:00:00 PST",
                Some("25 Jun 2010 15:00:00 PST"),
                false,
            ),
            ("noarchive, UNAVAILABLE_AFTER: 2030-01-01", Some("2030-01-01"), true),
            (
                "unavailable_after: Friday, 25-Jun-10 15:00 GMT, noarchive",
                Some("Friday, 25-Jun-10 15:00 GMT"),
                true,
            ),
            ("harvestman: unavailable_after: 2030-01-01", Some("2030-01-01"), false),
            ("unavailable_after:, noarchive", None, true),
            ("unavailable_after", None, false),
            ("unavailable_after:", None, false),
        ] {
            let mut of_header = Robots::default();
            let mut headers = Headers::new();
            headers.push("X-Robots-Tag", field);
            of_header.read_headers(&headers, "harvestman");
            assert_eq!(of_header.unavailable_after.as_deref(), date, "{field}");
            assert_eq!(of_header.noarchive, noarchive, "{field}");
            let mut of_meta = Robots::default();
            of_meta.read_directives(field);
            assert_eq!(of_meta.unavailable_after.as_deref(), date, "{field}");
        }
        let mut theirs = Headers::new();
        theirs.push("X-Robots-Tag", "googlebot: unavailable_after: 2030-01-01");
        let mut robots = Robots::default();
        robots.read_headers(&theirs, "harvestman");
        assert_eq!(robots, Robots::default());
    }
}
