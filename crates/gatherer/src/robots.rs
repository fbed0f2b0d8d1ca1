//! What a page asks of robots: `<meta name=robots>` and `X-Robots-Tag`.
//!
//! Directives only add up: the strictest of all that concern us holds, as Google and the others
//! read them. Those that name another robot do not concern us.

use model::Headers;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Robots {
    pub(crate) noindex: bool,
    pub(crate) nofollow: bool,
    pub(crate) noarchive: bool,
}

impl Robots {
    /// `noindex, nofollow`
    pub(crate) fn read_directives(&mut self, directives: &str) {
        for directive in
            directives.split(|c: char| matches!(c, ',' | ';') || c.is_ascii_whitespace())
        {
            self.read_directive(directive);
        }
    }

    /// Every `X-Robots-Tag`; `agent: noindex` speaks to one robot until another is named.
    pub(crate) fn read_headers(&mut self, headers: &Headers, agent: &str) {
        for field in headers.all("x-robots-tag") {
            let mut ours = true;
            for part in field.split(',') {
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
            }
        }
    }

    pub(crate) fn merge(&mut self, other: Robots) {
        self.noindex |= other.noindex;
        self.nofollow |= other.nofollow;
        self.noarchive |= other.noarchive;
    }

    fn read_directive(&mut self, directive: &str) {
        let is = |word: &str| directive.eq_ignore_ascii_case(word);
        self.noindex |= is("noindex") || is("none");
        self.nofollow |= is("nofollow") || is("none");
        self.noarchive |= is("noarchive");
    }
}

fn is_name(name: &str, agent: &str) -> bool {
    let name = name.trim();
    name.eq_ignore_ascii_case(agent) || name == "*" || name.eq_ignore_ascii_case("robots")
}

/// Directives that themselves have a colon.
fn takes_value(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
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
        assert_eq!(robots, Robots { noindex: true, nofollow: true, noarchive: true });
    }
}
