//! The name of a page's file below a crawl's folder: `host/path…`, for every URL there can be.
//!
//! Promises, for any two URLs:
//! - the names differ, also where a disk does not tell `A` from `a`;
//! - no file has the name of a folder that another page needs;
//! - a name stays below its folder, and every disk can hold it: parts of at most [`PART_BYTES_MAX`] bytes,
//!   [`PATH_BYTES_MAX`] in all, no reserved name, no dot or blank at the end;
//! - no part begins with `-`: programs take `rm *` for options there.
//!
//! Why they hold: a plain URL (lower case, no query, usual characters) keeps its text, from which the URL can
//! be read back. Of any other the text is mended as far as needed, and the file carries `~` and the URL's
//! fingerprint. No plain name has a `~`, which is also what short names on some disks have. Files end in an
//! extension, folders never do. `http` on port 80 is the host alone; others say scheme and port behind it.

use std::path::PathBuf;

use model::CrawlUrl;

/// The usual limit is 255; the rest is for what others put behind a name (`.tmp`, a number).
pub const PART_BYTES_MAX: usize = 200;
/// Some systems end at 1,024 with the folder before it.
pub const PATH_BYTES_MAX: usize = 720;
/// Folders of one page; deeper ones are mostly traps.
const FOLDERS_MAX: usize = 32;
/// `~` and 13 digits of 5 bits.
const MARK_BYTES: usize = 14;
/// Of an extension, without its dot: `xhtml`.
const EXTENSION_BYTES_MAX: usize = 5;

/// Below the folder of a crawl.
pub fn file_name(url: &CrawlUrl) -> PathBuf {
    name_in(url, Form::Now)
}

/// Where an older version of this program has put the page, where that was another place: parts could begin
/// with `-`.
pub(super) fn former_name(url: &CrawlUrl) -> Option<PathBuf> {
    let former = name_in(url, Form::Former);
    (former != file_name(url)).then_some(former)
}

/// By which rules a name is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Now,
    Former,
}

fn name_in(url: &CrawlUrl, form: Form) -> PathBuf {
    let host = host_folder(url, form);
    let mut plain = host.plain;
    let mut parts = vec![host.text];
    let mut segments: Vec<&str> = url.segments().collect();
    let last = segments.pop().unwrap_or_default();
    plain &= segments.len() <= FOLDERS_MAX;
    segments.truncate(FOLDERS_MAX);
    for segment in segments {
        let folder = folder(segment, form);
        plain &= folder.plain;
        parts.push(folder.text);
    }
    let room = PATH_BYTES_MAX - PART_BYTES_MAX;
    let whole = |parts: &[String]| parts.iter().map(|part| part.len() + 1).sum::<usize>();
    while whole(&parts) > room && parts.len() > 1 {
        plain = false;
        parts.pop();
    }
    let file = match plain_file(last, form).filter(|_| plain && url.query().is_none()) {
        Some(file) => file,
        None => marked_file(last, url, form),
    };
    parts.push(file);
    parts.iter().collect()
}

/// The folder of a site's pages: `example.org`, `example.org,8080`, `example.org,https`.
fn host_folder(url: &CrawlUrl, form: Form) -> Part {
    let (host, port) = (url.host(), url.port());
    let scheme = if url.is_https() { ",https" } else { "" };
    let port = port.map(|port| format!(",{port}")).unwrap_or_default();
    let mut part = mended_host(host, form);
    // A name's end says whose it is.
    let keep = PART_BYTES_MAX - scheme.len() - port.len();
    if part.text.len() > keep {
        part = Part { text: part.text[part.text.len() - keep..].to_owned(), plain: false };
        if form == Form::Now && part.text.starts_with('-') {
            part.text.replace_range(..1, "_");
        }
    }
    part.text.push_str(scheme);
    part.text.push_str(&port);
    part
}

/// A host as its folder has it, before scheme and port.
pub(super) fn host_text(host: &str) -> String {
    mended_host(host, Form::Now).text
}

fn mended_host(host: &str, form: Form) -> Part {
    // A comma is ours here.
    mended(&host.replace(',', "~"), form)
}

/// One part of a name.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    text: String,
    /// The text is what stood in the URL, or says so reversibly.
    plain: bool,
}

/// A folder that would end like a file gets a `~`.
fn folder(segment: &str, form: Form) -> Part {
    let mut part = mended(segment, form);
    if part.text.len() >= PART_BYTES_MAX {
        part = Part { text: part.text[..PART_BYTES_MAX - 1].to_owned(), plain: false };
    }
    if extension(&part.text).is_some() || part.text.ends_with(['.', ' ']) {
        part.text.push('~');
    }
    part
}

/// The name that says all of a plain segment.
fn plain_file(segment: &str, form: Form) -> Option<String> {
    if segment.is_empty() {
        return Some("index.html".to_owned());
    }
    let part = mended(segment, form);
    if !part.plain || segment == "index.html" || segment.len() + 6 > PART_BYTES_MAX {
        return None;
    }
    Some(match extension(segment) {
        Some(_) => part.text,
        None => format!("{}~.html", part.text),
    })
}

/// As much of the text as there is room for, the fingerprint, the extension.
fn marked_file(segment: &str, url: &CrawlUrl, form: Form) -> String {
    let (mut text, end) = match (url.query(), extension(segment)) {
        (Some(query), _) if segment.is_empty() => (format!("index_{query}"), "html"),
        (Some(query), _) => (format!("{segment}_{query}"), "html"),
        (None, Some((stem, end))) => (stem.to_owned(), end),
        (None, None) if segment.is_empty() => ("index".to_owned(), "html"),
        (None, None) => (segment.to_owned(), "html"),
    };
    text = mended(&text, form).text;
    // All of it is ASCII by now.
    text.truncate(PART_BYTES_MAX - MARK_BYTES - end.len() - 1);
    format!("{text}~{}.{end}", digits(url.fingerprint().0))
}

/// The text with what some disk cannot hold replaced.
fn mended(text: &str, form: Form) -> Part {
    let usual = |c: char| c.is_ascii_alphanumeric() || "._-+=,@%".contains(c);
    let mut new: String = text.chars().map(|c| if usual(c) { c } else { '_' }).collect();
    if new.is_empty() {
        new.push('_');
    }
    if new.ends_with('.') {
        new.pop();
        new.push('_');
    }
    if is_reserved(&new) || new.starts_with('-') && form == Form::Now {
        new.insert(0, '_');
    }
    let plain = new == text && !new.bytes().any(|b| b.is_ascii_uppercase());
    Part { text: new, plain }
}

/// Names of devices, with any extension.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul")
        || numbered.is_some_and(|n| n.len() == 1 && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Stem and extension of a file's name.
fn extension(name: &str) -> Option<(&str, &str)> {
    let (stem, end) = name.rsplit_once('.')?;
    let is_one = (1..=EXTENSION_BYTES_MAX).contains(&end.len())
        && end.bytes().all(|b| b.is_ascii_alphanumeric())
        && end.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    (is_one && !stem.is_empty()).then_some((stem, end))
}

/// Thirteen digits that any disk tells apart.
fn digits(mut number: u64) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    let mut text = [b'0'; MARK_BYTES - 1];
    for place in text.iter_mut().rev() {
        *place = DIGITS[(number & 31) as usize];
        number >>= 5;
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, path::Component};

    use proptest::prelude::*;

    use super::*;

    fn name(url: &str) -> String {
        file_name(&CrawlUrl::parse(url).unwrap()).to_string_lossy().into_owned()
    }

    #[test]
    fn plain_urls_keep_their_names() {
        for (url, expected) in [
            ("http://example.org/", "example.org/index.html"),
            ("http://example.org/news/today.html", "example.org/news/today.html"),
            ("http://example.org/news/", "example.org/news/index.html"),
            ("http://example.org/about", "example.org/about~.html"),
            ("http://example.org/a.b/x.php", "example.org/a.b~/x.php"),
            ("http://example.org/v1.2/x.php", "example.org/v1.2/x.php"),
            ("https://example.org/x.html", "example.org,https/x.html"),
            ("http://example.org:8080/x.html", "example.org,8080/x.html"),
            ("https://example.org:8443/x.html", "example.org,https,8443/x.html"),
        ] {
            assert_eq!(name(url), expected, "{url}");
        }
    }

    #[test]
    fn others_are_mended_and_marked() {
        for (url, start, end) in [
            ("http://example.org/index.html", "example.org/index~", ".html"),
            ("http://example.org/News/Today.html", "example.org/News/Today~", ".html"),
            ("http://example.org/a?b=c&d=../e", "example.org/a_b=c_d=.._e~", ".html"),
            ("http://example.org/?x", "example.org/index_x~", ".html"),
            ("http://example.org/con.html", "example.org/_con~", ".html"),
            ("http://example.org/aux/x.html", "example.org/_aux/x~", ".html"),
            ("http://example.org/a//b.html", "example.org/a/_/b~", ".html"),
            ("http://example.org/a./b.html", "example.org/a_/b~", ".html"),
            ("http://example.org/~user/", "example.org/_user/index~", ".html"),
            ("http://[::1]/", "___1_/index~", ".html"),
            ("http://example.org/-rf", "example.org/_-rf~", ".html"),
            ("http://example.org/--help.html", "example.org/_--help~", ".html"),
            ("http://example.org/-n/x.html", "example.org/_-n/x~", ".html"),
            ("http://example.org/-?-a", "example.org/_-_-a~", ".html"),
            ("http://-a.example.org/", "_-a.example.org/index~", ".html"),
            ("http://example.org/.../x%00y.html", "example.org/.._/x%00y~", ".html"),
        ] {
            let name = name(url);
            assert!(name.starts_with(start) && name.ends_with(end), "{url}: {name}");
        }
    }

    #[test]
    fn only_names_that_began_with_a_dash_were_others_before() {
        let former = |url: &str| {
            let name = former_name(&CrawlUrl::parse(url).unwrap())?;
            Some(name.to_string_lossy().into_owned())
        };
        for url in ["http://a.example/", "http://a.example/b-c/-d_/x-", "http://a.example/a/?-b"] {
            assert_eq!(former(url).is_some(), url.contains("/-"), "{url}");
        }
        assert_eq!(former("http://a.example/-x").as_deref(), Some("a.example/-x~.html"));
        assert_eq!(former("http://a.example/-n/x.html").as_deref(), Some("a.example/-n/x.html"));
    }

    #[test]
    fn a_long_url_has_a_name_that_every_disk_can_hold() {
        let deep = format!("http://example.org/{}", "folder/".repeat(500));
        let long = format!("http://example.org/{}.html", "x".repeat(3_000));
        let host = format!("http://{}example.org/", "a123456789.".repeat(20));
        // Cut at each of its signs in turn.
        let dashes =
            ["", "x", "xy"].map(|x| format!("http://{}{x}.example.org/", "a--.".repeat(60)));
        for url in [&deep, &long, &host].into_iter().chain(&dashes) {
            holds(&name(url));
        }
        assert!(name(&host).contains("example.org/"), "the end of a host says whose it is");
    }

    /// What every name promises by itself.
    fn holds(name: &str) {
        assert!(name.len() <= PATH_BYTES_MAX, "{name}");
        let path = PathBuf::from(name);
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{name}");
        for part in name.split('/') {
            assert!(!part.is_empty() && part.len() <= PART_BYTES_MAX, "{name}");
            assert!(!part.ends_with(['.', ' ']) && !is_reserved(part), "{name}");
            assert!(!part.starts_with('-'), "{name}");
            assert!(part.bytes().all(|b| b.is_ascii_graphic() && !b"<>:\"\\|?*".contains(&b)));
        }
    }

    fn urls() -> impl Strategy<Value = Vec<String>> {
        let segment = prop_oneof![
            "[aA]{0,2}",
            "(index|a|b|con|NUL|\\.\\.|~|%2e|%00|é| )?(\\.(html|HTML|htm|php|))?",
            "_?-{1,2}[a-z]?(\\.html)?",
            "[ -~]{0,12}",
            "x{190,210}",
        ];
        let path = prop::collection::vec(segment, 0..4);
        let host = prop_oneof![
            "a",
            "A\\.b",
            "a:80",
            "a:8080",
            "a:443",
            "-a",
            "a,https",
            "\\[::1\\]",
            "10\\.0\\.0\\.1"
        ];
        let url = ("https?", host, path, prop_oneof!["", "\\?", "\\?[aA=/.]{0,4}"]).prop_map(
            |(scheme, host, path, query)| format!("{scheme}://{host}/{}{query}", path.join("/")),
        );
        prop::collection::vec(url, 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn no_two_urls_have_one_name_and_no_file_is_a_folder(urls in urls()) {
            let mut files: HashMap<String, CrawlUrl> = HashMap::new();
            for url in urls.iter().filter_map(|url| CrawlUrl::parse(url).ok()) {
                let name = file_name(&url).to_string_lossy().into_owned();
                holds(&name);
                if let Some(other) = files.insert(name.to_lowercase(), url.clone()) {
                    prop_assert_eq!(other, url, "both are {}", name);
                }
            }
            for name in files.keys() {
                let folders = name.match_indices('/').map(|(at, _)| &name[..at]);
                for folder in folders {
                    prop_assert!(!files.contains_key(folder), "{} is a file and a folder", folder);
                }
            }
        }
    }
}
