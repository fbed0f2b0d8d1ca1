//! What sites have announced of a page, and how far that is believed: for `explain`.

use model::{Page, SignalSource, SiteHabit, Timestamp};
use serde_json::{Value, json};

use config::times;

/// The newest announcement of a change.
pub struct Announcement {
    at: Timestamp,
    /// No visit has looked since.
    is_open: bool,
    /// Each with how many of its announcements were true, and whether it is believed.
    sources: Vec<(SignalSource, Standing)>,
}

struct Standing {
    looked_at: f32,
    hits: f32,
    believed: bool,
}

impl Announcement {
    pub fn of(page: &Page, site: &SiteHabit) -> Option<Announcement> {
        let at = page.habit.announced?;
        let is_open = page.habit.signals > 0;
        let spoke = |source: &SignalSource| page.habit.sources & source.bit() != 0;
        let sources = SignalSource::ALL.into_iter().filter(|source| !is_open || spoke(source));
        let standing = |source| {
            let trust = site.trust(source);
            let believed = manager::believed(trust);
            (source, Standing { looked_at: trust.signals, hits: trust.hits, believed })
        };
        let known = |(_, standing): &(SignalSource, Standing)| is_open || standing.looked_at > 0.0;
        let sources = sources.map(standing).filter(known).collect();
        Some(Announcement { at, is_open, sources })
    }

    pub fn json(&self) -> Value {
        let sources = self.sources.iter().map(|(source, standing)| {
            json!({
                "source": source.word(), "believed": standing.believed,
                "looked_at": standing.looked_at, "hits": standing.hits,
            })
        });
        json!({ "at": times::iso(self.at), "open": self.is_open, "sources": sources.collect::<Vec<_>>() })
    }

    pub fn words(&self, now: Timestamp) -> String {
        let told: Vec<String> =
            self.sources.iter().map(|(source, standing)| standing.words(*source)).collect();
        let since = if self.is_open { "" } else { ", and looked at since" };
        let by = if told.is_empty() { String::new() } else { format!(": {}", told.join("; ")) };
        format!("a change of {} was announced{since}{by}", times::ago(self.at, now))
    }
}

impl Standing {
    /// Visits to busy pages count for less, so the figures are no whole numbers inside.
    fn words(&self, source: SignalSource) -> String {
        let (hits, looked_at) = (self.hits.max(0.0).round(), self.looked_at.round());
        let word = match (source, self.believed) {
            (SignalSource::Rdf, true) => "by robots.rdf, believed".to_owned(),
            (SignalSource::Rdf, false) => "by robots.rdf, not believed".to_owned(),
            (_, true) => format!("by the {}, believed", source.word()),
            (_, false) => format!("by the {}, not believed", source.word()),
        };
        match looked_at {
            0.0 => format!("{word} (none of its announcements was looked at yet)"),
            _ => format!("{word} ({hits} of {looked_at} announcements were true)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{CrawlUrl, Habit, PageState, PageTerms, SpiderId, Trust};

    use super::*;

    fn page(signals: u8, announced: Option<i64>) -> Page {
        Page {
            url: CrawlUrl::parse("http://a.example/").unwrap(),
            spider: SpiderId(1),
            state: PageState::Fetched,
            level: 0,
            hops: 0,
            seed: true,
            due: Timestamp(0),
            failures: 0,
            terms: PageTerms::default(),
            habit: Habit {
                signals,
                sources: SignalSource::Sitemap.bit(),
                announced: announced.map(Timestamp),
                ..Habit::default()
            },
            children: None,
            last: None,
        }
    }

    #[test]
    fn who_announced_and_whether_that_is_believed_is_told() {
        let now = Timestamp(1_794_798_245_000);
        let hour = Some(now.0 - 3_600_000);
        let mut site = SiteHabit::default();
        assert!(Announcement::of(&page(0, None), &site).is_none());
        let words = |site: &SiteHabit, signals| {
            Announcement::of(&page(signals, hour), site).unwrap().words(now)
        };
        assert!(words(&site, 1).ends_with(
            "by the sitemap, not believed (none of its announcements was looked at yet)"
        ));
        site.sitemap = Trust { signals: 14.0, hits: 12.0, ..Trust::default() };
        let said = words(&site, 2);
        assert!(
            said.ends_with("by the sitemap, believed (12 of 14 announcements were true)"),
            "{said}"
        );
        assert!(words(&site, 0).contains("looked at since"));
    }
}
