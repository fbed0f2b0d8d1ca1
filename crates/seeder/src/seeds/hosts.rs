//! Lists of hosts: one a line, `rank,host` or `host,rank` as lists of popular sites are, or `address name…`
//! as in a hosts file. Each host's home page is the seed.

use std::{collections::VecDeque, io::BufRead, net::IpAddr};

use model::CrawlUrl;

use super::{SeedError, lines::Lines, parse_seed, without_comment};

/// Names that every hosts file gives to the machine itself.
const OWN_NAMES: [&str; 4] = ["localhost", "broadcasthost", "local", "localhost.localdomain"];

pub(super) struct Hosts<R> {
    lines: Lines<R>,
    /// The other names of a line of a hosts file; as many as fit on a line.
    waiting: VecDeque<Result<CrawlUrl, SeedError>>,
}

impl<R: BufRead> Hosts<R> {
    pub(super) fn new(reader: R) -> Hosts<R> {
        Hosts { lines: Lines::new(reader), waiting: VecDeque::new() }
    }
}

impl<R: BufRead> Iterator for Hosts<R> {
    type Item = Result<CrawlUrl, SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(seed) = self.waiting.pop_front() {
                return Some(seed);
            }
            let (number, line) = match self.lines.next_line()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            let line = without_comment(line);
            if line.is_empty() || (number == 1 && is_header(line)) {
                continue;
            }
            let seed = |host: &str| home(host).map_err(|what| SeedError::bad(number, line, what));
            match names_of_hosts_file(line) {
                Some(names) => self.waiting.extend(names.map(seed)),
                None => return Some(seed(host_field(line))),
            }
        }
    }
}

fn home(host: &str) -> Result<CrawlUrl, String> {
    if host.contains('/') {
        return Err("a URL where a host should be: read it with --from urls".to_owned());
    }
    parse_seed(host.strip_suffix('.').unwrap_or(host)).map(|url| url.home())
}

/// The first row of a table may name its columns.
fn is_header(line: &str) -> bool {
    let names = |field: &str| {
        let field = unquoted(field).to_ascii_lowercase();
        ["domain", "host", "hostname", "site", "origin", "rank"].contains(&field.as_str())
    };
    line.split(',').any(names)
}

fn names_of_hosts_file(line: &str) -> Option<impl Iterator<Item = &str>> {
    let (address, names) = line.split_once(char::is_whitespace)?;
    let (address, _zone) = address.split_once('%').unwrap_or((address, ""));
    address.parse::<IpAddr>().ok()?;
    let is_site = |name: &&str| {
        let is_own = OWN_NAMES.iter().any(|own| own.eq_ignore_ascii_case(name));
        !is_own && !name.starts_with("ip6-") && name.parse::<IpAddr>().is_err()
    };
    Some(names.split_whitespace().filter(is_site))
}

/// The first field that can be a host: ranks are numbers, and the words of other columns have no dot.
fn host_field(line: &str) -> &str {
    let mut fields = line.split(',').map(unquoted);
    fields.find(|field| field.contains(['.', ':'])).unwrap_or(line)
}

fn unquoted(field: &str) -> &str {
    field.trim().trim_matches('"')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8]) -> Vec<String> {
        Hosts::new(text)
            .map(|seed| seed.map_or_else(|e| format!("! {e}"), |url| url.to_string()))
            .collect()
    }

    #[test]
    fn hosts_are_read_from_lists_tables_and_hosts_files() {
        let text = "\u{feff}GlobalRank,\"Domain\",rank\r\n1,example.org\r\nexample.net,2\n3,\"b.example\",com\n\
                    # remark\nBÜCHER.example. # why\n192.0.2.1\n\n0.0.0.0 ads.example x.example\n\
                    127.0.0.1\tlocalhost localhost.localdomain\n::1 ip6-loopback\n0.0.0.0 0.0.0.0\nh.example:8080\n";
        let expected = [
            "http://example.org/",
            "http://example.net/",
            "http://b.example/",
            "http://xn--bcher-kva.example/",
            "http://192.0.2.1/",
            "http://ads.example/",
            "http://x.example/",
            "http://h.example:8080/",
        ];
        assert_eq!(read(text.as_bytes()), expected);
    }

    #[test]
    fn what_is_no_host_is_named_with_its_line() {
        let read = read(b"a.example\nhttp://b.example/x\nnonsense\n5,6\nc.example\n");
        assert!(read[1].starts_with("! line 2: a URL where a host should be"), "{read:?}");
        assert!(read[2].starts_with("! line 3: neither a URL nor a host"), "{read:?}");
        assert!(read[3].starts_with("! line 4: "), "{read:?}");
        assert_eq!(
            (read[0].as_str(), read[4].as_str()),
            ("http://a.example/", "http://c.example/")
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let words = bytes.split(|b| b.is_ascii_whitespace()).count();
            prop_assert!(Hosts::new(&bytes[..]).count() <= 2 * words);
        }

        #[test]
        fn any_lines_of_words_are_read_to_their_end(text in "([0-9.:,\" a-c#\n]|0.0.0.0 ){0,80}") {
            Hosts::new(text.as_bytes()).for_each(drop);
        }
    }
}
