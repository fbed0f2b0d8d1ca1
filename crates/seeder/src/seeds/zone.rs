//! DNS zone files (RFC 1035 section 5, the master format): the names that can be web sites.
//!
//! - Owners of A, AAAA and CNAME records, and delegated names (owners of NS records below the apex), become
//!   `http://name/`. Names in a row that are the same come once.
//! - Addresses below the delegation before them are glue: the name servers of somebody else, no sites.
//! - Wildcards, names with underscores (services, keys) and escaped names are no hosts and are passed over.
//! - `$INCLUDE` and `$GENERATE` are named, not done. Nothing but the record in hand is kept.

use std::io::BufRead;

use model::CrawlUrl;

use super::{SeedError, lines::Lines};

/// Owner, time to live, class, type: what comes behind them is not looked at.
const WORDS_MAX: usize = 4;

pub(super) struct Zone<R> {
    lines: Lines<R>,
    /// With the dot at its end; empty while nobody has said it.
    origin: Option<String>,
    /// The owner of the SOA record, or the first origin.
    apex: Option<String>,
    owner: Option<String>,
    delegated: String,
    given: String,
    record: Record,
}

/// A record being read; parentheses carry it over lines.
#[derive(Default)]
struct Record {
    line: u64,
    /// It begins with white space: the owner is that of the record before.
    same_owner: bool,
    words: Vec<String>,
    depth: u32,
}

impl<R: BufRead> Zone<R> {
    /// `origin`: what relative names are below until the file says it.
    pub(super) fn new(reader: R, origin: Option<String>) -> Zone<R> {
        Zone {
            lines: Lines::new(reader),
            apex: origin.clone(),
            origin,
            owner: None,
            delegated: String::new(),
            given: String::new(),
            record: Record::default(),
        }
    }

    /// Reads on to the end of a record; `None` at the end of the file.
    fn read_record(&mut self) -> Option<Result<(), SeedError>> {
        loop {
            let (number, line) = match self.lines.next_line() {
                None => return self.unclosed().map(Err),
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(line)) => line,
            };
            if self.record.depth == 0 {
                self.record.begin(number, line);
            }
            self.record.add(line);
            if self.record.depth == 0 && !self.record.words.is_empty() {
                return Some(Ok(()));
            }
        }
    }

    fn unclosed(&mut self) -> Option<SeedError> {
        if std::mem::take(&mut self.record.depth) == 0 {
            return None;
        }
        let text = self.record.words.join(" ");
        let what = "this parenthesis is never closed, and nothing after it was read";
        Some(SeedError::bad(self.record.line, &text, what))
    }

    /// The site that the record in hand speaks of, if it does.
    fn site(&mut self) -> Result<Option<CrawlUrl>, String> {
        let first = self.record.words[0].as_str();
        if first.starts_with('$') && !self.record.same_owner {
            return self.directive().map(|()| None);
        }
        let skip = usize::from(!self.record.same_owner);
        let kind = self.record.words.iter().skip(skip).find(|word| !is_time_or_class(word));
        let kind = kind.map(|word| word.to_ascii_uppercase()).ok_or("no record type")?;
        if !kind.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err("no record type".to_owned());
        }
        if !self.record.same_owner {
            self.owner = Some(self.absolute(first)?);
        }
        let owner = self.owner.as_deref().ok_or("the first record has no owner")?;
        match kind.as_str() {
            "SOA" => self.apex = Some(owner.to_owned()),
            "NS" if self.apex.as_deref() != Some(owner) => {
                owner.clone_into(&mut self.delegated);
                return self.take();
            }
            "A" | "AAAA" | "CNAME" if !is_below(owner, &self.delegated) => return self.take(),
            _ => {}
        }
        Ok(None)
    }

    fn directive(&mut self) -> Result<(), String> {
        let words = &self.record.words;
        match words[0].to_ascii_uppercase().as_str() {
            "$ORIGIN" => {
                let name = words.get(1).ok_or("$ORIGIN without a name")?;
                let origin = self.absolute(name)?;
                self.apex.get_or_insert_with(|| origin.clone());
                self.origin = Some(origin);
                Ok(())
            }
            "$TTL" => Ok(()),
            "$INCLUDE" => Err("included files are not read: give them with --file".to_owned()),
            "$GENERATE" => Err("generated names are not made: list them".to_owned()),
            _ => Err("unknown directive".to_owned()),
        }
    }

    fn absolute(&self, name: &str) -> Result<String, String> {
        if name.len() > 1_024 {
            return Err("a name has at most 255 bytes".to_owned());
        }
        let name = name.to_ascii_lowercase();
        if name.ends_with('.') {
            return Ok(name);
        }
        let origin = self.origin.as_deref().ok_or(
            "a relative name before any $ORIGIN: add one, or name the file after its zone, as in \
             example.org.zone",
        )?;
        Ok(match name.as_str() {
            "@" => origin.to_owned(),
            _ if origin == "." => format!("{name}."),
            _ => format!("{name}.{origin}"),
        })
    }

    fn take(&mut self) -> Result<Option<CrawlUrl>, String> {
        let Some(owner) = self.owner.as_deref() else { return Ok(None) };
        let host = owner.trim_end_matches('.');
        if host.is_empty() || host.contains(['*', '_', '\\']) || owner == self.given {
            return Ok(None);
        }
        let url = CrawlUrl::parse(&format!("http://{host}/")).map_err(|e| e.to_string())?;
        owner.clone_into(&mut self.given);
        Ok(Some(url))
    }
}

impl<R: BufRead> Iterator for Zone<R> {
    type Item = Result<CrawlUrl, SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Err(error) = self.read_record()? {
                return Some(Err(error));
            }
            match self.site() {
                Ok(None) => {}
                Ok(Some(url)) => return Some(Ok(url)),
                Err(what) => {
                    let text = self.record.words.join(" ");
                    return Some(Err(SeedError::bad(self.record.line, &text, what)));
                }
            }
        }
    }
}

impl Record {
    fn begin(&mut self, number: u64, line: &str) {
        self.line = number;
        self.same_owner = line.starts_with([' ', '\t']);
        self.words.clear();
    }

    /// Takes the words of a line up to its comment; quoted texts end with their line at the latest.
    fn add(&mut self, line: &str) {
        let bytes = line.as_bytes();
        let (mut at, mut start) = (0, None);
        while at < bytes.len() {
            let byte = bytes[at];
            let is_end = matches!(byte, b' ' | b'\t' | b'(' | b')' | b';' | b'"');
            if is_end {
                self.word(line, start.take(), at);
            }
            match byte {
                b';' => return,
                b'(' => self.depth += 1,
                b')' => self.depth = self.depth.saturating_sub(1),
                b'"' => at = end_of_quoted(bytes, at),
                b'\\' => {
                    start.get_or_insert(at);
                    at += 1;
                }
                _ if !is_end => {
                    start.get_or_insert(at);
                }
                _ => {}
            }
            at += 1;
        }
        self.word(line, start, bytes.len());
    }

    fn word(&mut self, line: &str, start: Option<usize>, end: usize) {
        if let Some(word) = start.and_then(|start| line.get(start..end))
            && self.words.len() < WORDS_MAX
        {
            self.words.push(word.to_owned());
        }
    }
}

/// The zone that a file is named after: `example.org.zone`, `db.example.org`.
pub(super) fn origin_of(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let zone = name.strip_suffix(".zone").or_else(|| name.strip_prefix("db."))?;
    (!zone.is_empty()).then(|| format!("{zone}."))
}

/// The place of the closing quote, or of the last byte.
fn end_of_quoted(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

fn is_time_or_class(word: &str) -> bool {
    let is_time = word.starts_with(|c: char| c.is_ascii_digit())
        && word.bytes().all(|b| b.is_ascii_digit() || b"smhdwSMHDW".contains(&b));
    is_time || ["IN", "CH", "HS", "CS"].iter().any(|class| word.eq_ignore_ascii_case(class))
}

/// Inside the delegated name, or the name itself.
fn is_below(name: &str, delegated: &str) -> bool {
    !delegated.is_empty()
        && name.strip_suffix(delegated).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_as(name: &str, text: &str) -> Vec<String> {
        Zone::new(text.as_bytes(), origin_of(name))
            .map(|seed| seed.map_or_else(|e| format!("! {e}"), |url| url.to_string()))
            .collect()
    }

    #[test]
    fn hosts_and_delegated_names_of_a_zone_are_its_sites() {
        let text = "\
$ORIGIN example.org. ; the zone
$TTL 1h
@ 3600 IN SOA ns1 host.example.org. ( 1 ; serial
      7200 3600
      1209600 3600 )
      IN NS ns1
      IN A 192.0.2.1
ns1   A 192.0.2.2
WWW   1d IN CNAME @
www   IN AAAA 2001:db8::1
      TXT \"a ; b ( c\" more
mail  MX 10 mail
*     A 192.0.2.3
_dmarc TXT \"v\"
_x    CNAME y
sub   NS ns1.sub
sub   NS ns2.sub
ns1.sub A 192.0.2.4
ns2.sub A 192.0.2.5
sub2  A 192.0.2.6
$ORIGIN other.example.
a IN ( A
  192.0.2.9 )
b.example.net. A 192.0.2.9
";
        let expected = [
            "http://example.org/",
            "http://ns1.example.org/",
            "http://www.example.org/",
            "http://sub.example.org/",
            "http://sub2.example.org/",
            "http://a.other.example/",
            "http://b.example.net/",
        ];
        assert_eq!(read_as("x", text), expected);
    }

    #[test]
    fn a_registry_zone_yields_its_delegations_and_not_the_zone_itself() {
        let text = "pt.\t3600\tin\tsoa\tns.dns.pt. h. 1 2 3 4 5\npt. 3600 in ns ns.dns.pt.\n\
                    a.pt. 3600 in ns ns1.a.pt.\na.pt. 3600 in ds 1 2 3 abc\nns1.a.pt. 3600 in a 192.0.2.1\n\
                    a.pt. 3600 in ns ns2.b.pt.\nb.pt. 3600 in ns ns2.b.pt.\n";
        assert_eq!(read_as("x", text), ["http://a.pt/", "http://b.pt/"]);
    }

    #[test]
    fn the_origin_may_come_from_the_files_name() {
        let text = "@ SOA a b 1 2 3 4 5\nwww A 192.0.2.1\n";
        assert_eq!(read_as("zones/Example.org.zone.gz", text), ["http://www.example.org/"]);
        assert_eq!(read_as("db.example.org", text), ["http://www.example.org/"]);
        let without = read_as("zone.txt", text);
        assert!(
            without[0].starts_with("! line 1: a relative name before any $ORIGIN"),
            "{without:?}"
        );
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let text = "$INCLUDE more.zone\n$GENERATE 1-9 h$ A 192.0.2.$\na.example.\nb.example. A 192.0.2.1\n\
                    c.example. SOA ( 1\n2 3\nd.example. A 192.0.2.2\n";
        let read = read_as("x", text);
        assert!(read[0].starts_with("! line 1: included files are not read"), "{read:?}");
        assert!(read[1].starts_with("! line 2: generated names"), "{read:?}");
        assert!(read[2].starts_with("! line 3: no record type"), "{read:?}");
        assert_eq!(read[3], "http://b.example/");
        assert!(read[4].starts_with("! line 5: this parenthesis is never closed"), "{read:?}");
        assert_eq!(read.len(), 5);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let lines = bytes.split(|&b| b == b'\n').count();
            prop_assert!(Zone::new(&bytes[..], None).count() <= lines + 1);
        }

        #[test]
        fn any_words_of_the_format_are_read_to_their_end(
            text in "([@a-c.*_ ();\"\\\\\n\tü]|IN |NS |A |SOA |[$]ORIGIN |[$]TTL ){0,60}"
        ) {
            let lines = text.lines().count();
            prop_assert!(Zone::new(text.as_bytes(), Some("o.example.".into())).count() <= lines + 1);
        }
    }
}
