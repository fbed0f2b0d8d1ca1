//! What sites have announced of a page, and how far that is believed, in words: for `explain`.

use collection::explain::{Announcement, SourceTrust};
use config::times;
use model::{SignalSource, Timestamp};

pub fn words(announced: &Announcement, now: Timestamp) -> String {
    let sources: Vec<String> = announced.sources.iter().map(source_words).collect();
    let since = if announced.open { "" } else { ", and looked at since" };
    let by = match sources.is_empty() {
        true => String::new(),
        false => format!(": {}", sources.join("; ")),
    };
    format!("a change of {} was announced{since}{by}", times::ago(announced.at, now))
}

fn source_words(trust: &SourceTrust) -> String {
    let (hits, looked_at) = (trust.hits.max(0.0).round(), trust.looked_at.round());
    let believed = if trust.believed { "believed" } else { "not believed" };
    let name = match trust.source {
        SignalSource::Rdf => "robots.rdf".to_owned(),
        other => format!("the {}", other.word()),
    };
    match looked_at {
        0.0 => {
            format!("by {name}, {believed} (none of its announcements was looked at yet)")
        }
        _ => format!("by {name}, {believed} ({hits} of {looked_at} announcements were true)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_announced_and_whether_that_is_believed_is_said() {
        let now = Timestamp(1_794_798_245_000);
        let said = |open, looked_at, hits, believed| {
            let source = SignalSource::Sitemap;
            let sources = vec![SourceTrust { source, believed, looked_at, hits }];
            words(&Announcement { at: Timestamp(now.0 - 3_600_000), open, sources }, now)
        };
        assert!(said(true, 0.0, 0.0, false).ends_with(
            "by the sitemap, not believed (none of its announcements was looked at yet)"
        ));
        let believed = said(true, 14.0, 12.0, true);
        assert!(
            believed.ends_with("by the sitemap, believed (12 of 14 announcements were true)"),
            "{believed}"
        );
        assert!(said(false, 14.0, 12.0, true).contains("looked at since"));
    }
}
