//! What a crawl says at its end: what was fetched, what was refused and how to lift that, where it is,
//! how to go on.

mod answer;

use std::time::Duration;

use collection::{remedies::remedy, spiders::PausedSpider};
use config::amounts::{bytes, clock, number, some};
use model::{RefusalReason, Timestamp, printable};

pub use self::answer::{Answer, EndedBy};

/// Reasons listed; the rest is summed up.
const REASONS_SHOWN: usize = 6;
const ERRORS_SHOWN: usize = 6;
const BATCHES_SHOWN: usize = 3;
const TYPES_SHOWN: usize = 5;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub ended: EndedBy,
    /// Why the crawl ended, in words: `all done`, `page limit reached`, `stopped by Ctrl-C`.
    pub reason: String,
    pub elapsed: Duration,
    /// Of this run.
    pub fetched: u64,
    pub versions: u64,
    pub unchanged: u64,
    pub redirected: u64,
    pub failed: u64,
    /// Parts of pages: in none of the counts above.
    pub requisites: u64,
    pub requisites_failed: u64,
    pub bytes: u64,
    /// Failures of pages and their parts, by class.
    pub errors: Vec<(String, u64)>,
    /// Those of robots.txt and the like.
    pub other_errors: Vec<(String, u64)>,
    /// Documents that were not kept, by media type.
    pub left_out: Vec<(String, u64)>,
    /// The rules that refused most links.
    pub refused: Vec<Refused>,
    /// Links refused by all rules together.
    pub refused_total: u64,
    /// Pages that still wait.
    pub waiting: u64,
    pub collection: String,
    /// When the next page is due, also in words (`in 6d`), if one ever is.
    pub next_due: Option<(Timestamp, String)>,
    /// Batches whose sites nobody visits here meanwhile.
    pub out: Vec<BatchOut>,
    /// The failure that follows says how to go on.
    pub nothing_fetched: bool,
    /// Spiders that are paused; their pages wait until they are resumed.
    pub paused: Vec<PausedSpider>,
    /// `run`, which begins nothing afresh.
    pub forever: bool,
    /// It harvests a batch: whoever does that says how to go on, and no rule can be lifted there.
    pub of_batch: bool,
    /// The command that goes on.
    pub resume: String,
    /// No contact is set: say in one line how to set one.
    pub without_contact: bool,
}

/// A batch that is harvested elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOut {
    pub id: i64,
    /// As they were lent.
    pub pages: u64,
    /// Those that are still out.
    pub sites: u64,
    /// When the leases end, also in words.
    pub until: (Timestamp, String),
}

/// URLs refused for one reason by one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub reason: RefusalReason,
    pub rule: String,
    pub count: u64,
    pub example: String,
}

impl Summary {
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "{}: {} in {} ({})",
            printable(&self.reason),
            some(self.fetched, "page"),
            clock(self.elapsed),
            bytes(self.bytes)
        )];
        lines.push(format!(
            "  new or changed {}, unchanged {}, redirects {}, failed {}",
            number(self.versions),
            number(self.unchanged),
            number(self.redirected),
            number(self.failed)
        ));
        if self.requisites + self.requisites_failed > 0 {
            lines.push(format!(
                "  parts of pages {}, failed {}",
                number(self.requisites),
                number(self.requisites_failed)
            ));
        }
        lines.extend(self.error_lines());
        lines.extend(self.left_out_line());
        lines.extend(self.refused_lines());
        lines.push(format!("collection: {}", printable(&self.collection)));
        lines.extend(self.batch_lines());
        lines.extend(self.paused.iter().map(paused_line));
        if !self.of_batch && !self.nothing_fetched {
            lines.push(self.how_to_go_on());
        }
        if self.without_contact {
            lines.push(
                "no contact is set: webmasters cannot reach you; set one with \
                 --contact crawl@example.org or etiquette.contact"
                    .to_owned(),
            );
        }
        lines.join("\n")
    }

    pub fn json(&self) -> Answer<'_> {
        Answer::of(self)
    }

    /// The classes of `failed` below it, then what failed besides.
    fn error_lines(&self) -> Vec<String> {
        let line =
            |(class, n): &&(String, u64)| format!("  {:>9}  {}", number(*n), printable(class));
        let mut lines: Vec<String> =
            most(&self.errors).iter().take(ERRORS_SHOWN).map(line).collect();
        let others = most(&self.other_errors);
        let others = others.iter().take(ERRORS_SHOWN);
        let others: Vec<String> =
            others.map(|(class, n)| format!("{} {}", number(*n), printable(class))).collect();
        if !others.is_empty() {
            lines.push(format!("  robots.txt, sitemaps and the like: {}", others.join(", ")));
        }
        lines
    }

    fn left_out_line(&self) -> Option<String> {
        let types = most(&self.left_out);
        let named = types.iter().take(TYPES_SHOWN);
        let named = named.map(|(name, n)| format!("{} {}", number(*n), printable(name)));
        let mut named: Vec<String> = named.collect();
        let rest: u64 = types.iter().skip(TYPES_SHOWN).map(|(_, n)| n).sum();
        if rest > 0 {
            named.push(format!("{} of other types", number(rest)));
        }
        let list = named.join(", ");
        (!named.is_empty()).then(|| format!("left out: {list}; --all-types keeps them"))
    }

    fn batch_lines(&self) -> Vec<String> {
        let line = |batch: &BatchOut| {
            let (pages, sites) = (some(batch.pages, "page"), some(batch.sites, "site"));
            format!(
                "batch {id} of {pages} is out, and with it {sites} that nobody visits here (the leases end \
                 {until}); bring it home with `harvestman batch import DIR`, or end it with \
                 `harvestman batch cancel {id}`",
                id = batch.id,
                until = batch.until.1
            )
        };
        let mut lines: Vec<String> = self.out.iter().take(BATCHES_SHOWN).map(line).collect();
        if let Some(more) = self.out.len().checked_sub(BATCHES_SHOWN).filter(|more| *more > 0) {
            lines.push(format!("{} more are out: harvestman batch list", number(more as u64)));
        }
        lines
    }

    fn refused_lines(&self) -> Vec<String> {
        let sum: u64 = self.refused.iter().map(|refused| refused.count).sum();
        if sum == 0 {
            return Vec::new();
        }
        let mut sorted: Vec<&Refused> = self.refused.iter().collect();
        sorted.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.rule.cmp(&b.rule)));
        let mut lines = vec![format!("refused: {}", some(self.refused_total.max(sum), "link"))];
        for refused in sorted.iter().take(REASONS_SHOWN) {
            let example = match printable(&refused.example) {
                none if none.is_empty() => String::new(),
                example => format!(", such as {example}"),
            };
            let (count, rule) = (number(refused.count), printable(&refused.rule));
            lines.push(format!("  {count:>9}  {rule}{example}"));
            if !self.of_batch {
                lines.push(format!("             {}", remedy(refused.reason, &refused.rule)));
            }
        }
        let named: u64 = sorted.iter().take(REASONS_SHOWN).map(|refused| refused.count).sum();
        let rest = self.refused_total.max(sum) - named;
        if rest > 0 {
            lines.push(format!(
                "  {:>9}  for other reasons; ask with `harvestman explain URL`",
                number(rest)
            ));
        }
        lines
    }

    fn how_to_go_on(&self) -> String {
        let resume = printable(&self.resume);
        let of_paused: u64 = self.paused.iter().map(|spider| spider.waiting).sum();
        if of_paused > 0 && self.waiting <= of_paused {
            return format!("then continue with: {resume}");
        }
        if self.waiting > 0 {
            let wait = if self.waiting == 1 { "waits" } else { "wait" };
            return format!("continue with: {resume} ({} {wait})", some(self.waiting, "page"));
        }
        match &self.next_due {
            Some((_, when)) => {
                format!("continue with: {resume} (the next page is due {})", printable(when))
            }
            // Only a single pass can begin afresh, and not that of a batch.
            None if self.forever => {
                format!("no page waits for its first visit; to keep revisiting: {resume}")
            }
            None if !self.out.is_empty() => {
                format!("nothing else is left to fetch; when a batch is back: {resume}")
            }
            None if !self.resume.split(' ').any(|word| word == "crawl") => {
                "nothing is left to fetch".to_owned()
            }
            None => {
                format!("nothing is left to fetch; to visit everything again: {resume} --fresh")
            }
        }
    }
}

fn paused_line(spider: &PausedSpider) -> String {
    let PausedSpider { spider, why, waiting } = spider;
    let why = if why.is_empty() { String::new() } else { format!(" ({})", printable(why)) };
    let (pages, wait) = (some(*waiting, "page"), if *waiting == 1 { "waits" } else { "wait" });
    format!(
        "spider {spider} is paused{why}: {pages} {wait}; resume it with: \
         harvestman spider resume {spider}"
    )
}

/// The most frequent first.
fn most(classes: &[(String, u64)]) -> Vec<&(String, u64)> {
    let mut sorted: Vec<&(String, u64)> = classes.iter().filter(|(_, n)| *n > 0).collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::CrawlFlags;
    use collection::remedies::remedy_of;
    use config::Key;

    fn refused(reason: RefusalReason, rule: &str, count: u64) -> Refused {
        let example = "https://example.net/\u{1b}x".to_owned();
        Refused { reason, rule: rule.to_owned(), count, example }
    }

    fn summary() -> Summary {
        Summary {
            reason: "all done".into(),
            elapsed: Duration::from_secs(65),
            fetched: 1_204,
            versions: 1_200,
            unchanged: 4,
            redirected: 3,
            failed: 2,
            bytes: 20_400_000,
            errors: vec![("status-404".into(), 2), ("tls".into(), 0)],
            refused: vec![
                refused(RefusalReason::Robots, "robots.txt: Disallow: /private", 12),
                refused(RefusalReason::Scope, "scope = \"site\"", 2_310),
            ],
            collection: "./harvest".into(),
            resume: "harvestman crawl".into(),
            ..Summary::default()
        }
    }

    #[test]
    fn the_end_says_what_was_fetched_refused_where_it_is_and_how_to_go_on() {
        let expected = "\
all done: 1,204 pages in 1m5s (20.4 MB)
  new or changed 1,200, unchanged 4, redirects 3, failed 2
          2  status-404
refused: 2,322 links
      2,310  scope = \"site\", such as https://example.net/\\u{1b}x
             widen with --scope domain or --scope any (and --fresh), or seed it
         12  robots.txt: Disallow: /private, such as https://example.net/\\u{1b}x
             the site's robots.txt forbids it; ask its owner
collection: ./harvest
nothing is left to fetch; to visit everything again: harvestman crawl --fresh";
        assert_eq!(summary().text(), expected);
    }

    #[test]
    fn errors_that_are_no_pages_are_told_apart_from_pages_that_failed() {
        let other_errors = vec![("timeout".into(), 3)];
        let text = Summary { other_errors, ..summary() }.text();
        let expected =
            "failed 2\n          2  status-404\n  robots.txt, sitemaps and the like: 3 timeout\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn advice_names_what_would_change_the_refusal_and_nothing_else() {
        let limit = |rule| remedy(RefusalReason::Limit, rule);
        assert!(limit("feed: longer than is read").contains("no key changes that"));
        assert!(limit("1000 sitemaps and feeds of a site").contains("no key changes that"));
        assert!(limit("crawl.site_pages").contains("--site-pages"));
        let large = |rule| remedy(RefusalReason::TooLarge, rule);
        assert!(large("fetch.requisite_bytes_max").contains("fetch.requisite_bytes_max"));
        assert!(large("fetch.body_bytes_max").contains("fetch.body_bytes_max"));
        assert!(large("sitemap: larger than the limit").contains("20 MB"));
        assert_eq!(model::limits::NOTICE_BYTES_MAX, 20_000_000, "as is said");
    }

    #[test]
    fn what_waits_and_a_missing_contact_are_said() {
        let summary = Summary { waiting: 7, without_contact: true, ..summary() };
        let text = summary.text();
        assert!(text.contains("continue with: harvestman crawl (7 pages wait)"), "{text}");
        assert!(text.ends_with("or etiquette.contact"), "{text}");
    }

    #[test]
    fn every_key_and_flag_named_in_advice_exists() {
        let flags = CrawlFlags::default().values();
        for reason in RefusalReason::ALL {
            for word in remedy_of(reason).split([' ', ',', ';']) {
                let word = word.trim_matches(['(', ')']);
                if let Some(flag) = word.strip_prefix("--").filter(|flag| *flag != "fresh") {
                    let known = flags
                        .iter()
                        .any(|(key, _)| Key::named(key).is_some_and(|key| key.flag == Some(flag)));
                    assert!(known, "{word}");
                } else if word.contains('.') && !word.contains("robots") {
                    assert!(Key::named(word).is_some(), "{word}");
                }
            }
        }
    }

    #[test]
    fn the_json_has_the_same_figures() {
        let json = serde_json::to_value(summary().json()).unwrap();
        assert_eq!(json["pages"]["fetched"], 1_204);
        assert_eq!(json["refused"][1]["reason"], "scope");
        assert_eq!(json["errors"]["status-404"], 2);
    }
}
