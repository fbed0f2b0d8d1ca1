//! The public data of `conformance/robots.json`, row by row, and our own points. (Row f51, a redirect of a
//! page to another host, is the workbench's: no page of any origin goes out before its robots.txt.)
//!
//! Rows that carry `kind` and what we decided:
//! - `degenerate` (g000–g003): an empty agent or URL cannot occur here, [`model::CrawlUrl`] always has a
//!   path. Not checked.
//! - `raw` (g063, g065): hold only for a matcher handed an unencoded URL. Ours are canonical, `/ツ` and
//!   `/%E3%83%84` are one path, so the answer is the opposite one: allowed.
//! - `conflict` (g066): `%62%61%7A` is `baz` by RFC 9309 section 2.2.2; Google compares octets. We follow
//!   the RFC: allowed.

use std::time::{Duration, Instant};

use model::CrawlUrl;
use proptest::prelude::*;
use serde_json::Value;

use super::{
    Robots, decode,
    lines::{Key, Line, lines},
    pattern,
};

mod answers;

/// Rows without `kind` that we answer otherwise, with the reason.
const DEPARTURES: &[(&str, &str)] = &[(
    "g040",
    "an agent of two words: Google matches none of them, crawler-commons (c250-c258, c272) each; both \
     cannot hold, and ours is one word",
)];

/// Google reads no line with a mark inside the file. Whoever put two files together meant both, and to obey one line
/// more harms nobody.
const MARK_INSIDE: &str = "ID_UTF8ByteOrderMarkIsSkipped/BOM mid-file";

/// Rows with `kind` that we answer, and how.
const DECIDED: &[(&str, bool)] = &[("g063", true), ("g065", true), ("g066", true)];

fn conformance() -> Option<Value> {
    let path = model::testing::conformance("robots.json")?;
    let text = std::fs::read_to_string(path).unwrap();
    Some(serde_json::from_str(&text).expect("robots.json is JSON"))
}

/// A test row's agent may be a whole User-Agent header: its first word that the file names is our token.
fn token_of<'a>(robots: &Robots, agent: &'a str) -> &'a str {
    let mut tokens = agent.split(' ').map(|word| word.split('/').next().unwrap_or(word));
    tokens.find(|token| robots.names(token)).unwrap_or("nobody")
}

fn verdict_of_row(data: &Value, row: &Value) -> bool {
    let body = data["bodies"][row["body"].as_str().expect("body")].as_str().expect("text");
    let robots = Robots::parse(body.as_bytes());
    let url = CrawlUrl::parse(row["url"].as_str().expect("url")).expect("valid url");
    let token = token_of(&robots, row["ua"].as_str().expect("ua"));
    robots.verdict(token, url.path_and_query()).allowed
}

#[test]
fn every_public_verdict_is_reproduced() {
    let Some(data) = conformance() else { return };
    let (mut checked, mut wrong) = (0, Vec::new());
    for row in data["cases"].as_array().expect("cases") {
        let id = row["id"].as_str().expect("id");
        let expected = row["allow"].as_bool().expect("allow");
        let departs = DEPARTURES.iter().any(|(departure, _)| *departure == id);
        if row.get("kind").is_some() {
            if let Some((_, decided)) = DECIDED.iter().find(|(decided, _)| *decided == id) {
                assert_eq!(verdict_of_row(&data, row), *decided, "{id}");
            }
            continue;
        }
        checked += 1;
        if (verdict_of_row(&data, row) == expected) == departs {
            wrong.push(id);
        }
    }
    assert!(wrong.is_empty(), "{} of {checked}: {wrong:?}", wrong.len());
    assert_eq!(checked, 470);
}

#[test]
fn lines_marks_and_line_ends_are_counted_as_the_public_rows_say() {
    let Some(data) = conformance() else { return };
    for row in data["syntax"].as_array().expect("syntax") {
        let bytes = base64(row["body_b64"].as_str().expect("body"));
        let text = decode(&bytes);
        let found: Vec<_> = lines(&text).collect();
        let nothing = |line: &&Line<'_>| line.key == Key::Nothing;
        let unknown = |line: &&Line<'_>| matches!(line.key, Key::Unknown | Key::Extension);
        let said = found.len() - found.iter().filter(nothing).count();
        let unknown = found.iter().filter(unknown).count();
        let valid = said - unknown;
        let name = &row["test"];
        if name == MARK_INSIDE {
            assert_eq!((valid, unknown), (2, 0), "{name}");
            continue;
        }
        if let Some(expected) = row["valid_directives"].as_u64() {
            assert_eq!(valid as u64, expected, "{name}");
        }
        if let Some(expected) = row["unknown_directives"].as_u64() {
            assert_eq!(unknown as u64, expected, "{name}");
        }
        if let Some(expected) = row["last_line"].as_u64() {
            assert_eq!(found.last().map(|line| u64::from(line.number)), Some(expected), "{name}");
        }
        if let Some(expected) = row["sitemap"].as_str() {
            assert_eq!(Robots::parse(&bytes).sitemaps(), [expected], "{name}");
        }
    }
}

#[test]
fn lines_that_mean_nothing_are_counted_and_the_others_obeyed() {
    let text = "<html>\nDisallow: /early\nUser-agent: *\nDisalow: /private\nthis is not a rule\n\
                Crawl-delay: soon\nFoo: bar\nHost: a.example\n# a comment\n\nDisallow /also\n";
    let robots = Robots::read(text);
    assert_eq!(robots.mistakes(), 5, "a tag, a rule for nobody, words, no number, no key");
    for path in ["/private/x", "/also"] {
        assert!(!robots.verdict("harvestman", path).allowed, "{path}");
    }
    assert!(robots.verdict("harvestman", "/early").allowed);
    assert_eq!(robots.mended(), 3, "in a page: an agent, a misspelled key, no colon");
    let clean = Robots::read("User-agent: *\nDisallow: /x\nSitemap: /s.xml\nNoindex: /y");
    assert_eq!((clean.mistakes(), clean.mended()), (0, 0));
}

#[test]
fn rules_among_tags_of_html_are_obeyed_wherever_a_browser_shows_a_line() {
    for text in [
        "<html><pre>User-agent: *\nDisallow: /priv</pre></html>",
        "<pre>User-agent: *<br>Disallow: /priv</pre>",
        "<html><body>User-agent: *<BR/>Disallow: /priv<br />Allow: /public</body></html>",
        "<!DOCTYPE html><html><head><title>robots.txt</title></head><body>\rUser-agent: *\rDisallow: /priv",
        "<p>User-agent: *</p>\n<p>Disallow: /priv</p>\n",
        "<p><b>User-agent:</b> <font color='#f00'>*</font></p><p><b>Dis</b>allow: <code>/priv</code></p>",
        "<div># all of them<br>User-agent: *</div><div># see <a href=/x>x</a></div><div>Disallow: /priv # y</div>",
        "<!-- made by hand -->User-agent: *<br>Disallow: /x?a=1&amp;b=2<br>Disallow:&nbsp;/priv&nbsp;<br>",
        "User-agent: *<br>\nDisallow: /priv<br>\n",
    ] {
        let robots = Robots::read(text);
        assert!(!robots.verdict("harvestman", "/priv/x").allowed, "{text}");
        assert!(robots.verdict("harvestman", "/public").allowed, "{text}");
        assert!(robots.mended() >= 2, "{text}");
    }
    let page = Robots::read("<pre>User-agent: *<br>Disallow: /x?a=1&amp;b=2</pre>");
    assert!(!page.verdict("harvestman", "/x?a=1&b=2").allowed);
    let verdict = page.verdict("harvestman", "/x?a=1&b=2");
    assert_eq!((verdict.rule.as_deref(), verdict.line), (Some("Disallow: /x?a=1&amp;b=2"), 1));
}

#[test]
fn rules_that_stand_side_by_side_in_a_page_are_obeyed_each() {
    for text in [
        "<html><body>User-agent: * Disallow: /priv</body></html>",
        "<html><body>\n  User-agent: other Disallow: / User-agent: * Crawl-delay: 7 Disallow: /priv Allow: /public\n",
        "<?xml version=\"1.0\"?><!DOCTYPE html><html><body>user agent : * DISALLOW : /priv</body></html>",
        "<p><b>User-agent:</b> *&nbsp;<b>Disallow:</b> /priv</p>",
        "\u{feff}<html>User-agent: * Sitemap: https://h.example/s.xml Disallow: /priv # Disallow: /public",
    ] {
        let robots = Robots::read(text);
        assert!(!robots.verdict("harvestman", "/priv/x").allowed, "{text}");
        assert!(robots.verdict("harvestman", "/public").allowed, "{text}");
        assert!(robots.mended() >= 2, "{text}");
    }
    let both = Robots::read("<pre>User-agent: * Sitemap: https://h.example/s.xml Crawl-delay: 7");
    assert_eq!(both.sitemaps(), ["https://h.example/s.xml"]);
    assert_eq!(both.crawl_delay("harvestman"), Some(Duration::from_secs(7)));
    for text in [
        "<p>Who writes User-agent: * Disallow: / keeps everybody out</p>",
        "<html><p># User-agent: * Disallow: /</p></html>",
        "<html><p>User-agent: * Disallow: is a word, and: not a rule</p></html>",
        "User-agent: * Disallow: /\n",
    ] {
        assert!(Robots::read(text).verdict("harvestman", "/").allowed, "{text}");
    }
}

/// Six times as long as any that is read: what is not linear takes a minute here, what is takes a second or two.
#[test]
fn a_page_of_nothing_but_keys_and_colons_is_read_in_time_linear_in_its_length() {
    for part in ["Disallow: ", "a: ", ": ", "Allow  :   ", "user agent", "&nbsp;:", "<b>:", "# "] {
        let text = format!("<html>User-agent: * {}", part.repeat(3_000_000 / part.len()));
        let began = std::time::Instant::now();
        let robots = Robots::read(&text);
        println!("{part:?}: {:?}, {} mended", began.elapsed(), robots.mended());
        assert!(began.elapsed() < Duration::from_secs(30), "{part:?}: {:?}", began.elapsed());
    }
}

#[test]
fn what_only_looks_like_a_tag_is_part_of_the_path() {
    let robots = Robots::read(
        "User-agent: *\nDisallow: /<user>/secret\nDisallow: /x?a&amp;b\nDisallow: /p<br\n\
         # <b>Disallow: /</b>\nSitemap: <https://h.example/s.xml>\n",
    );
    assert!(!robots.verdict("harvestman", "/%3Cuser%3E/secret").allowed);
    assert!(!robots.verdict("harvestman", "/x?a&amp;b").allowed, "no page: no entities");
    for path in ["/", "/x?a&b", "/p"] {
        assert!(robots.verdict("harvestman", path).allowed, "{path}");
    }
    assert_eq!(robots.sitemaps(), ["<https://h.example/s.xml>"]);
    assert_eq!((robots.mistakes(), robots.mended()), (0, 0));
}

#[test]
fn a_long_page_on_one_line_is_read_to_its_end_and_keeps_each_rule_alone() {
    let mut text = String::from("<html><body>User-agent: *<br>");
    for n in 0..5_000 {
        text.push_str(&format!("Disallow: /{n}/<br>"));
    }
    let robots = Robots::read(&text);
    let verdict = robots.verdict("harvestman", "/4999/x");
    assert_eq!((verdict.allowed, verdict.rule.as_deref()), (false, Some("Disallow: /4999/")));
    assert_eq!(verdict.line, 1);
}

#[test]
fn the_path_of_a_url_is_what_the_public_rows_say() {
    let Some(data) = conformance() else { return };
    let mut checked = 0;
    for row in data["path_of_url"].as_array().expect("rows") {
        let (url, path) = (row[0].as_str().expect("url"), row[1].as_str().expect("path"));
        // Rows without a scheme ask a matcher that takes any text; here only whole URLs exist.
        if !url.starts_with("http") {
            continue;
        }
        checked += 1;
        assert_eq!(CrawlUrl::parse(url).expect("valid").path_and_query(), path);
    }
    assert_eq!(checked, 6);
}

#[test]
fn patterns_are_escaped_as_the_public_rows_say() {
    let Some(data) = conformance() else { return };
    for row in data["escape_pattern"].as_array().expect("rows") {
        let (text, escaped) = (row[0].as_str().expect("text"), row[1].as_str().expect("escaped"));
        assert_eq!(pattern::normal(text), escaped.as_bytes());
    }
}

#[test]
fn our_token_is_valid_and_a_group_is_found_only_by_a_valid_one() {
    let Some(data) = conformance() else { return };
    for row in data["valid_agents"].as_array().expect("rows") {
        let (agent, valid) = (row[0].as_str().expect("agent"), row[1].as_bool().expect("valid"));
        let file = format!("User-agent: {agent}\nDisallow: /\n");
        let found = !Robots::parse(file.as_bytes()).verdict(agent, "/").allowed;
        assert_eq!(found, valid, "{agent:?}");
    }
    let token = super::TOKEN;
    assert!(token.bytes().all(|b| b.is_ascii_lowercase()));
}

#[test]
fn a_mark_of_an_encoding_that_the_file_is_not_in_is_passed_over() {
    let rules = "User-agent: *\r\nDisallow: /private/\r\nDisallow: /caf\u{e9}/\r\n";
    let latin: Vec<u8> = rules.chars().map(|c| c as u8).collect();
    let utf16 =
        |order: fn(u16) -> [u8; 2]| -> Vec<u8> { rules.encode_utf16().flat_map(order).collect() };
    let utf32 = |order: fn(u32) -> [u8; 4]| -> Vec<u8> {
        rules.chars().flat_map(|c| order(c as u32)).collect()
    };
    let little: &[u8] = b"\xff\xfe";
    let big: &[u8] = b"\xfe\xff";
    let mark: &[u8] = b"\xef\xbb\xbf";
    let (first, second) = rules.split_at(15);
    let (latin_first, latin_second) = latin.split_at(15);
    for (name, bytes) in [
        ("two UTF-8 marks", [mark, mark, rules.as_bytes()].concat()),
        ("three UTF-8 marks", [mark, mark, mark, rules.as_bytes()].concat()),
        ("a mark before a later line", [first.as_bytes(), mark, second.as_bytes()].concat()),
        ("the same in Latin-1", [latin_first, mark, latin_second].concat()),
        ("two little-endian marks", [little, little, &utf16(u16::to_le_bytes)].concat()),
        ("UTF-32 little-endian", [little, &[0, 0], &utf32(u32::to_le_bytes)].concat()),
        ("UTF-32 big-endian", [&[0, 0], big, &utf32(u32::to_be_bytes)].concat()),
        ("UTF-16 behind a zero", [little, &[0, 0], &utf16(u16::to_le_bytes)].concat()),
        ("ASCII as little-endian", [little, rules.as_bytes()].concat()),
        ("ASCII as big-endian", [big, rules.as_bytes()].concat()),
        ("Latin-1", [little, &latin].concat()),
        ("two marks", [little, b"\xef\xbb\xbf", rules.as_bytes()].concat()),
        ("true little-endian", [little, &utf16(u16::to_le_bytes)].concat()),
        ("true big-endian", [big, &utf16(u16::to_be_bytes)].concat()),
    ] {
        let robots = Robots::parse(&bytes);
        assert!(!robots.verdict("any", "/private/x").allowed, "{name}");
        assert!(!robots.verdict("any", "/caf%C3%A9/x").allowed, "{name}");
        assert!(robots.verdict("any", "/public").allowed, "{name}");
    }
}

#[test]
fn whole_files_in_every_encoding_and_spelling_are_read() {
    let file = |name: &str| {
        model::testing::conformance(&format!("robots_files/{name}"))
            .map(|path| std::fs::read(path).unwrap())
    };
    let check = |name: &str, token: &str, path: &str, allowed: bool| match file(name) {
        None => {}
        Some(bytes) => assert_eq!(
            Robots::parse(&bytes).verdict(token, path).allowed,
            allowed,
            "{name} {token} {path}"
        ),
    };
    for name in ["robots-with-utf8-bom.txt", "robots-with-utf16le-bom.txt"] {
        check(name, "any", "/login.aspx", false);
    }
    check("robots-with-utf16be-bom.txt", "any", "/login.aspx", false);
    check("directive-typos-robots.txt", "bot1", "/desallow/x", false);
    check("directive-typos-robots.txt", "bot1", "/dissalow/x", false);
    check("directive-typos-robots.txt", "bot2", "/useragent/", false);
    check("directive-typos-robots.txt", "bot3", "/useg-agent/", false);
    check("directive-typos-robots.txt", "bot4", "/useragent-no-colon/", false);
    check("format-errors-robots.txt", "bot1", "/whitespace-before-colon/", false);
    check("format-errors-robots.txt", "bot1", "/no-colon/", false);
    check("format-errors-robots.txt", "bot2", "/no-colon-useragent/", false);
    check("merge-rules.txt", "wget", "/tmp/bar", false);
    check("merge-rules.txt", "wget", "/foo/bar", true);
    check("malformed-path.txt", "any", "/wiki/Wikipedia_talk%3Mediation_Committee/", false);
    let Some(bytes) = file("crawl-delay-group-merging.txt") else { return };
    let robots = Robots::parse(&bytes);
    let delay = |token| robots.crawl_delay(token).map(|d| d.as_secs());
    assert_eq!((delay("mybot"), delay("yourbot"), delay("other")), (Some(10), None, Some(30)));
    assert!(!robots.verdict("mybot", "/private/x").allowed);
}

#[test]
fn a_verdict_names_its_line_as_written() {
    let robots = Robots::parse(b"User-agent: *\n\n  Disallow:  /a # why\nAllow: /a/b\n");
    let verdict = robots.verdict("harvestman", "/a/x");
    assert_eq!(verdict.rule.as_deref(), Some("Disallow:  /a # why"));
    assert_eq!((verdict.allowed, verdict.line), (false, 3));
    assert_eq!(robots.verdict("harvestman", "/a/b").line, 4);
    assert_eq!(robots.verdict("harvestman", "/").rule, None);
}

#[test]
fn crawl_delay_takes_the_longest_that_binds_us_and_no_nonsense() {
    let check = |text: &str, expected: Option<f64>| {
        let delay = Robots::parse(text.as_bytes()).crawl_delay("harvestman");
        assert_eq!(delay.map(|d| d.as_secs_f64()), expected, "{text}");
    };
    check("User-agent: *\nCrawl-delay: 3", Some(3.0));
    check("User-agent: *\ncrawl-delay: 0.5 # s\n", Some(0.5));
    // The delay stands above our name: it was said to the others.
    check("User-agent: *\nCrawl-delay: 3\nUser-agent: Harvestman\nDisallow: /x\n", None);
    check("User-agent: *\nCrawl-delay: 3\nDisallow:\nUser-agent: harvestman\nDisallow: /x\n", None);
    check("User-agent: harvestman\nCrawl-delay: 3\nCrawl-delay: 9\n", Some(9.0));
    for nonsense in ["-1", "x", "", "NaN", "inf", "1e400"] {
        check(&format!("User-agent: *\nCrawl-delay: {nonsense}"), None);
    }
}

#[test]
fn hostile_patterns_and_files_take_linear_time() {
    let mut file = String::from("User-agent: *\n");
    for _ in 0..40 {
        file.push_str(&format!(
            "Disallow: /{}b$\nDisallow: /{}b\n",
            "*a".repeat(30),
            "*a*".repeat(3000)
        ));
    }
    file.push_str(&"Disallow: /<a<a<a<a<a\n".repeat(1000));
    file.push_str(&format!("Disallow: /{}\n", "<a".repeat(8000)));
    file.push_str(&format!("Disallow: /{}\n", "<a ".repeat(30_000)));
    file.push_str(&format!("{}\n{}\n", "<br>".repeat(20_000), "<b>".repeat(20_000)));
    let path = format!("/{}", "a".repeat(2000));
    let began = Instant::now();
    let rules = Robots::parse(file.as_bytes()).rules("harvestman");
    assert!(rules.verdict(&path).allowed);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn words_after_the_first_500_kib_are_not_read() {
    let mut file = b"User-agent: *\nDisallow: /early\n".to_vec();
    file.resize(600_000, b'#');
    file.extend(b"\nDisallow: /late\n");
    let robots = Robots::parse(&file);
    assert!(!robots.verdict("harvestman", "/early").allowed);
    assert!(robots.verdict("harvestman", "/late").allowed);
}

#[test]
fn old_encodings_match_the_url_they_mean() {
    let robots = Robots::parse(b"User-agent: *\nDisallow: /caf\xe9/\n");
    assert!(!robots.verdict("harvestman", "/caf%C3%A9/x").allowed);
}

/// Names times delays would be some two thousand million steps.
#[test]
fn a_file_of_many_names_and_many_delays_is_read_at_once() {
    let names = format!("User-agent: {}\n", "a,".repeat(8_000)).repeat(14);
    let text = format!("{names}User-agent: *\n{}", "Crawl-delay: 7\n".repeat(17_000));
    let began = Instant::now();
    let robots = Robots::parse(text.as_bytes());
    assert_eq!(robots.crawl_delay("harvestman"), Some(Duration::from_secs(7)));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

proptest! {
    #[test]
    fn any_bytes_can_be_read_and_asked(bytes: Vec<u8>, path in "/[ -~]{0,40}") {
        let robots = Robots::parse(&bytes);
        let _ = robots.verdict("harvestman", &path);
        let _ = robots.crawl_delay("harvestman");
    }

    /// Marks, tags and keys in any order: nothing is too odd to be read, and what was decoded once is read as before.
    #[test]
    fn any_mixture_of_marks_tags_and_keys_can_be_read(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                &b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff", b"\0\0", b"<html>", b"<?xml ?>", b"<br>", b"<b",
                b"User-agent", b"user agent", b"Disallow", b"Crawl-delay", b":", b" ", b"\n", b"\r", b"#", b"/x",
                b"*", b"&nbsp;", b"\xe9", b"\xc3\xa9",
            ]),
            0..60,
        ),
    ) {
        let bytes = parts.concat();
        let (robots, again) = (Robots::parse(&bytes), Robots::read(&decode(&bytes)));
        for path in ["/", "/x", "/x/y"] {
            prop_assert_eq!(robots.verdict("harvestman", path), again.verdict("harvestman", path));
        }
        let directives = (robots.mistakes() + robots.mended()) as usize;
        prop_assert!(directives <= bytes.len(), "no byte is read as two directives");
    }

    #[test]
    fn matching_agrees_with_trying_everything(
        pattern in "/[ab*]{0,6}\\$?", path in "/[ab]{0,8}",
    ) {
        let fast = pattern::Pattern::new(&pattern).matches(&pattern::normal(&path));
        prop_assert_eq!(fast, tries(pattern.as_bytes(), path.as_bytes()));
    }
}

/// The definition of a match, exponential and plain.
fn tries(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern, path) {
        ([], _) => true,
        ([b'$'], path) => path.is_empty(),
        ([b'*', rest @ ..], _) => (0..=path.len()).any(|at| tries(rest, &path[at..])),
        ([a, rest @ ..], [b, path @ ..]) => a == b && tries(rest, path),
        _ => false,
    }
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |b: u8| DIGITS.iter().position(|&d| d == b).map(|at| at as u32);
    let digits: Vec<u32> = text.bytes().filter_map(value).collect();
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let word = four.iter().fold(0, |word, digit| word << 6 | digit) << (6 * (4 - four.len()));
        bytes.extend(&word.to_be_bytes()[1..four.len()]);
    }
    bytes
}
