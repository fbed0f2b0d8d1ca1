//! Changes as an Atom feed (RFC 4287), written as a whole or not at all.
//!
//! An entry's id is made of what the change is (URL, kind, moment), so that it stays the same however often
//! the feed is written and whatever is thinned or moved meanwhile; the feed's id of when the collection
//! began and what was asked for.

use std::{fmt::Write, path::Path};

use harvester::clock::RealClock;
use model::{Clock, Timestamp};
use store::census::Census;
use xxhash_rust::xxh3::xxh3_128;

use super::word_count;
use crate::{cli::ChangesArgs, results::write_markup};
use collection::changes::ChangeRow;
use config::{failure::Failure, times};

pub fn write(
    census: &Census,
    args: &ChangesArgs,
    rows: &[ChangeRow],
    path: &Path,
) -> Result<(), Failure> {
    let began = census.began()?.unwrap_or_default();
    write_markup(path, &feed(began, args, rows))
}

/// `began`: when the collection did.
fn feed(began: Timestamp, args: &ChangesArgs, rows: &[ChangeRow]) -> String {
    let (spider, site) = (args.spider.as_deref(), args.site.as_deref());
    let name = format!("feed\n{}\n{spider:?}\n{site:?}", began.0);
    let subject = match (spider, site) {
        (None, None) => String::new(),
        (Some(spider), None) => format!(" of spider {spider}"),
        (None, Some(site)) => format!(" on {site}"),
        (Some(spider), Some(site)) => format!(" of spider {spider} on {site}"),
    };
    let newest = rows.iter().map(|row| row.at).max();
    let updated = newest.unwrap_or_else(|| RealClock::new().now());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>{}</id>\n<title>Changes{}</title>\n<updated>{}</updated>\n\
         <author><name>Harvestman</name></author>\n\
         <generator version=\"{}\">Harvestman</generator>\n",
        uuid(&name),
        escaped(&subject),
        moment(updated),
        env!("CARGO_PKG_VERSION"),
    );
    // Newest first, as readers of feeds have it.
    for row in rows.iter().rev() {
        write_entry(&mut text, row);
    }
    text.push_str("</feed>\n");
    text
}

fn write_entry(text: &mut String, row: &ChangeRow) {
    let (kind, at) = (row.kind.word(), moment(row.at));
    let name = format!("{}\n{kind}\n{}", row.url, row.at.0);
    let title = if row.title.is_empty() { &row.url } else { &row.title };
    let mut summary = format!("{kind} at {at}, status {}", row.status);
    if let Some(count) = word_count(row) {
        let _ = write!(summary, ", {count}");
    }
    let _ = write!(
        text,
        "<entry>\n<id>{}</id>\n<title>{}: {}</title>\n<updated>{at}</updated>\n\
         <link rel=\"alternate\" href=\"{}\"/>\n<category term=\"{kind}\"/>\n\
         <summary>{}</summary>\n</entry>\n",
        uuid(&name),
        capital(kind),
        escaped(title),
        escaped(&row.url),
        escaped(&summary),
    );
}

fn capital(kind: &str) -> String {
    let (first, rest) = kind.split_at(1);
    format!("{}{rest}", first.to_ascii_uppercase())
}

/// A UUID of version 8 (RFC 9562): its bits are a hash of the name.
fn uuid(name: &str) -> String {
    let hash = xxh3_128(name.as_bytes());
    let marked = hash & !(0xf << 76) & !(0x3 << 62) | 0x8 << 76 | 0x2 << 62;
    let hex = format!("{marked:032x}");
    format!(
        "urn:uuid:{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// RFC 3339.
fn moment(at: Timestamp) -> String {
    times::iso(at)
}

/// Text for XML: what it may not hold (XML 1.0, section 2.2) becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_that_depend_on_their_name_alone() {
        let id = uuid("http://a.example/\nnew\n5");
        assert_eq!(id, uuid("http://a.example/\nnew\n5"));
        assert_ne!(id, uuid("http://a.example/\nnew\n6"));
        let parts: Vec<&str> = id.strip_prefix("urn:uuid:").unwrap().split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(parts[2].starts_with('8') && parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
    }

    #[test]
    fn nothing_that_xml_forbids_gets_in() {
        assert_eq!(
            escaped("a<b>&\"c\u{0}\u{1b}\u{ffff}\n"),
            "a&lt;b&gt;&amp;&quot;c\u{fffd}\u{fffd}\u{fffd} "
        );
    }
}
