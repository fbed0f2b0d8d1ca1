//! Header fields that hold links: `Location`, `Refresh`, `Link` (RFC 8288).

use std::borrow::Cow;

use model::{Headers, LinkKind, LinkRel};

use crate::{
    page::{LinkSink, RawLink, link_kind, rel_bits},
    requisites::{RequisiteSink, is_part_rel},
};

/// A refresh before its target is resolved; an empty reference means the page itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawRefresh {
    pub(crate) seconds: u64,
    pub(crate) reference: String,
}

/// The "shared declarative refresh steps" of the HTML standard, for the `Refresh` field and its
/// pragma.
pub(crate) fn parse_refresh(content: &str) -> Option<RawRefresh> {
    let rest = content.trim_start_matches(is_space);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 && !rest.starts_with('.') {
        return None;
    }
    // More digits than fit mean a very long time.
    let seconds = if digits == 0 { 0 } else { rest[..digits].parse().unwrap_or(u64::MAX) };
    let rest = rest[digits..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !rest.is_empty() && !rest.starts_with(|c| is_space(c) || matches!(c, ';' | ',')) {
        return None;
    }
    let rest = rest.trim_start_matches(is_space);
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_start_matches(is_space);
    // The URL parser would trim it too; an empty one means the page itself.
    let reference = refresh_target(rest).trim_matches(|c| c <= ' ').to_owned();
    Some(RawRefresh { seconds, reference })
}

/// `url=…` with or without quotes; text that only begins like it is a reference itself.
fn refresh_target(text: &str) -> &str {
    let value = match text.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("url") => {
            match text[3..].trim_start_matches(is_space).strip_prefix('=') {
                Some(value) => value.trim_start_matches(is_space),
                None => return text,
            }
        }
        _ if text.starts_with(['u', 'U']) => return text,
        _ => text,
    };
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].split(quote).next().unwrap_or_default(),
        _ => value,
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

/// Links of all `Link` fields that lead to pages. Their kind is `Header`; the canonical one is
/// returned apart as well.
pub(crate) fn read_link_fields<'a>(
    headers: &'a Headers,
    links: &mut LinkSink<'a>,
) -> Option<&'a str> {
    let mut canonical = None;
    for value in headers.all("link").flat_map(LinkValues::of) {
        let Some(kind) = link_kind(value.rel, value.media_type) else { continue };
        if kind == LinkKind::Canonical && canonical.is_none() {
            canonical = Some(value.target);
        }
        links.push(RawLink {
            reference: Cow::Borrowed(value.target),
            kind: LinkKind::Header,
            rel: rel_bits(value.rel),
            anchor: String::new(),
        });
    }
    canonical
}

/// Parts of the page that `Link` fields name: styles and what is to be loaded early.
pub(crate) fn read_part_fields<'a>(headers: &'a Headers, requisites: &mut RequisiteSink<'a>) {
    if requisites.is_wanted() {
        let values = headers.all("link").flat_map(LinkValues::of);
        values
            .filter(|value| is_part_rel(value.rel))
            .for_each(|value| requisites.push(Cow::Borrowed(value.target)));
    }
}

/// The target of a redirect, as it is.
pub(crate) fn location(status: u16, headers: &Headers) -> Option<&str> {
    let is_redirect = matches!(status, 300..=399) && status != 304;
    if is_redirect { headers.get("location") } else { None }
}

pub(crate) fn redirect_link(target: &str) -> RawLink<'_> {
    RawLink {
        reference: Cow::Borrowed(target),
        kind: LinkKind::Redirect,
        rel: LinkRel::default(),
        anchor: String::new(),
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct LinkValue<'a> {
    target: &'a str,
    rel: &'a str,
    media_type: &'a str,
}

/// Goes over the comma-separated values of one field; a value that is none ends it.
struct LinkValues<'a> {
    rest: &'a str,
}

impl<'a> LinkValues<'a> {
    fn of(field: &'a str) -> LinkValues<'a> {
        LinkValues { rest: field }
    }

    /// `; name=value`, the value perhaps in quotes.
    fn parameter(&mut self) -> Option<(&'a str, &'a str)> {
        let rest = self.rest.trim_start().strip_prefix(';')?;
        let name_end = rest.find(['=', ';', ',']).unwrap_or(rest.len());
        let name = rest[..name_end].trim();
        self.rest = &rest[name_end..];
        let Some(value) = self.rest.strip_prefix('=') else { return Some((name, "")) };
        let value = value.trim_start();
        let (value, rest) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => value.split_at(value.find([';', ',']).unwrap_or(value.len())),
        };
        self.rest = rest;
        Some((name, value.trim()))
    }
}

impl<'a> Iterator for LinkValues<'a> {
    type Item = LinkValue<'a>;

    fn next(&mut self) -> Option<LinkValue<'a>> {
        let start = self.rest.trim_start_matches([',', ' ', '\t']);
        let (target, rest) = start.strip_prefix('<')?.split_once('>')?;
        self.rest = rest;
        let mut value = LinkValue { target: target.trim(), ..LinkValue::default() };
        while let Some((name, word)) = self.parameter() {
            if name.eq_ignore_ascii_case("rel") && value.rel.is_empty() {
                value.rel = word;
            } else if name.eq_ignore_ascii_case("type") {
                value.media_type = word;
            }
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use model::CrawlUrl;

    use super::{LinkValue, LinkValues, RawRefresh, parse_refresh};

    #[test]
    fn a_link_field_is_cut_at_the_right_commas() {
        let field = r#"<https://a.test/x,y;z>; rel="canonical"; title="a, b; c", </p2>;rel=next ,<f>; type="application/rss+xml" ; rel=alternate;crossorigin, rubbish, <z>"#;
        let found: Vec<_> = LinkValues::of(field).collect();
        let value = |target, rel, media_type| LinkValue { target, rel, media_type };
        assert_eq!(
            found,
            [
                value("https://a.test/x,y;z", "canonical", ""),
                value("/p2", "next", ""),
                value("f", "alternate", "application/rss+xml"),
            ]
        );
    }

    #[test]
    fn broken_link_fields_end_and_do_not_loop() {
        for field in ["", "<", "<a", "<a>;", "<a>;;;", "<a>; rel=\"x", "<a>;=;=,", ",,,", "<a>\""] {
            assert!(LinkValues::of(field).count() <= 1, "{field}");
        }
    }

    #[test]
    fn a_refresh_of_many_digits_is_a_long_time() {
        let expected = RawRefresh { seconds: u64::MAX, reference: "/x".to_owned() };
        assert_eq!(parse_refresh("99999999999999999999999; url=/x"), Some(expected));
    }

    #[test]
    fn meta_refresh_is_read_as_browsers_read_it() {
        let Some(path) = model::testing::conformance("html/meta_refresh.json") else { return };
        let file = std::fs::read(path).unwrap();
        let data: serde_json::Value = serde_json::from_slice(&file).expect("the file is JSON");
        let cases = data["cases"].as_array().expect("a list of cases");
        assert!(cases.len() >= 69);
        // Tabs and line ends inside a URL are the URL parser's to remove.
        let page = CrawlUrl::parse("http://a.test/dir/page").expect("a valid URL");
        let resolved = |reference: &str| page.join(reference).map_err(|_| reference.to_owned());
        for case in cases {
            let content = case[0].as_str().expect("content is a string");
            let expected = case[1].as_array().map(|pair| {
                let url = pair[1].as_str().expect("the URL is a string");
                (pair[0].as_u64().expect("seconds are a number"), url.is_empty(), resolved(url))
            });
            let found = parse_refresh(content)
                .map(|r| (r.seconds, r.reference.is_empty(), resolved(&r.reference)));
            assert_eq!(found, expected, "{content:?}");
        }
    }
}
