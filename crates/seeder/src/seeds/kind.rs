//! How a text of seeds is to be read, as said or as found out from its name and its first bytes.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedKind {
    Urls,
    Hosts,
    Zone,
    Sitemap,
    Opml,
}

/// Lines looked at: enough to get past a licence and some records of a zone's apex.
const LINES_LOOKED_AT: usize = 50;

impl SeedKind {
    /// What a file most likely is. `head`: its first bytes, unpacked. A list of URLs when nothing speaks
    /// against it, since that reads bare hosts too.
    pub fn detect(name: &str, head: &[u8]) -> SeedKind {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let text = String::from_utf8_lossy(head);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with('<') {
            let is_opml = name.ends_with(".opml") || text.to_ascii_lowercase().contains("<opml");
            return if is_opml { SeedKind::Opml } else { SeedKind::Sitemap };
        }
        if name.ends_with(".zone") {
            return SeedKind::Zone;
        }
        text.lines().take(LINES_LOOKED_AT).find_map(of_line).unwrap_or(SeedKind::Urls)
    }
}

/// What a line gives away, if anything.
fn of_line(line: &str) -> Option<SeedKind> {
    if line.starts_with("$ORIGIN") || line.starts_with("$TTL") {
        return Some(SeedKind::Zone);
    }
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) {
        return None;
    }
    if line.contains("://") {
        return Some(SeedKind::Urls);
    }
    let words: Vec<&str> = line.split_ascii_whitespace().take(5).collect();
    if words.len() > 2 && words[1..].iter().any(|word| is_record_word(word)) {
        return Some(SeedKind::Zone);
    }
    let is_address = |word: &str| word.parse::<std::net::IpAddr>().is_ok();
    let is_hosts_file = words.len() > 1 && is_address(words[0]);
    let is_ranked = line
        .split_once(',')
        .is_some_and(|(a, b)| [a, b].iter().any(|field| field.trim_matches('"').contains('.')));
    (is_hosts_file || is_ranked).then_some(SeedKind::Hosts)
}

fn is_record_word(word: &str) -> bool {
    ["IN", "SOA", "NS", "A", "AAAA", "CNAME"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_found_out_from_content_and_name() {
        for (name, head, kind) in [
            ("seeds.txt", "# mine\nhttps://example.org/a,b\n", SeedKind::Urls),
            ("seeds.txt", "example.org\nexample.net\n", SeedKind::Urls),
            ("top.csv", "1,example.org\n2,example.net\n", SeedKind::Hosts),
            ("top.csv", "rank,domain\nexample.org,1\n", SeedKind::Hosts),
            ("hosts", "# ads\n0.0.0.0 ads.example\n", SeedKind::Hosts),
            ("pt.txt.gz", "; zone\nexample.pt. 3600 in ns ns1.example.pt.\n", SeedKind::Zone),
            ("x", "$ORIGIN example.org.\n", SeedKind::Zone),
            ("x", "@ IN SOA a. b. (\n", SeedKind::Zone),
            ("example.org.zone", "", SeedKind::Zone),
            ("x", "<?xml version='1.0'?>\n<urlset>", SeedKind::Sitemap),
            ("feeds.xml", "\u{feff}<?xml version='1.0'?><opml version='2.0'>", SeedKind::Opml),
            ("feeds.opml", "<!-- made by -->", SeedKind::Opml),
            ("empty", "", SeedKind::Urls),
        ] {
            assert_eq!(SeedKind::detect(name, head.as_bytes()), kind, "{name}: {head}");
        }
    }
}
