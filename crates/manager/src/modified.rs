//! Whether a site's `Last-Modified` tells when its pages changed.
//!
//! It is believed when it moved where content changed, and only there; from nothing, by what visits show.
//! Servers that stamp every answer with the present moment, and those that never move it, are not.

use std::time::UNIX_EPOCH;

use model::{Headers, SiteHabit, Timestamp, Trust};

/// Moves and changes that must have been seen; fewer may be chance.
const SEEN_MIN: f32 = 5.0;
/// The part of the moves that must have been changes, and of the changes that must have moved it.
const TRUE_SHARE_MIN: f32 = 0.9;
/// Beyond this many the old ones count half.
const MEMORY: f32 = 200.0;

/// What a visit showed: the page had a `Last-Modified` before, and has one now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// It is another.
    pub moved: bool,
    /// So is the content.
    pub changed: bool,
}

pub fn learn_modified(site: &mut SiteHabit, seen: Stamped) {
    let one = |yes: bool| f32::from(u8::from(yes));
    let trust = &mut site.modified;
    trust.signals += one(seen.moved);
    trust.hits += one(seen.moved && seen.changed);
    trust.changes += one(seen.changed);
    trust.announced += one(seen.changed && seen.moved);
    if trust.signals.max(trust.changes) > MEMORY {
        let Trust { signals, hits, changes, announced } = *trust;
        *trust = Trust {
            signals: signals / 2.0,
            hits: hits / 2.0,
            changes: changes / 2.0,
            announced: announced / 2.0,
        };
    }
}

/// When the content changed, by the answer's own word, if the site's word is good: after `since` (the page's
/// last visit) and not in the future. The server's clock may be wrong: its `Date` tells by how much.
pub fn trusted_modified(
    site: &SiteHabit,
    headers: &Headers,
    since: Option<Timestamp>,
    now: Timestamp,
) -> Option<Timestamp> {
    if !is_trusted(&site.modified) {
        return None;
    }
    let stated = date_of(headers, "last-modified")?;
    let ahead = date_of(headers, "date").map_or(0, |date| date.0.saturating_sub(now.0));
    let modified = Timestamp(stated.0.saturating_sub(ahead));
    (modified <= now && since.is_none_or(|since| modified > since)).then_some(modified)
}

fn is_trusted(trust: &Trust) -> bool {
    trust.signals >= SEEN_MIN
        && trust.changes >= SEEN_MIN
        && trust.hits >= trust.signals * TRUE_SHARE_MIN
        && trust.announced >= trust.changes * TRUE_SHARE_MIN
}

fn date_of(headers: &Headers, name: &str) -> Option<Timestamp> {
    let moment = httpdate::parse_http_date(headers.get(name)?.trim()).ok()?;
    let since = moment.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2027-01-15T08:00:00Z
    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    const HOUR: i64 = 3_600_000;

    fn site(seen: &[(bool, bool, usize)]) -> SiteHabit {
        let mut site = SiteHabit::default();
        for (moved, changed, times) in seen {
            for _ in 0..*times {
                learn_modified(&mut site, Stamped { moved: *moved, changed: *changed });
            }
        }
        site
    }

    fn headers(modified: &str, date: &str) -> Headers {
        let mut headers = Headers::new();
        headers.push("Last-Modified", modified);
        headers.push("Date", date);
        headers
    }

    const SEVEN: &str = "Fri, 15 Jan 2027 07:00:00 GMT";
    const EIGHT: &str = "Fri, 15 Jan 2027 08:00:00 GMT";
    const NINE: &str = "Fri, 15 Jan 2027 09:00:00 GMT";

    #[test]
    fn it_is_believed_where_it_moved_with_the_content_and_only_then() {
        let answer = headers(SEVEN, EIGHT);
        let told = |seen: &[(bool, bool, usize)]| {
            trusted_modified(&site(seen), &answer, None, NOW).map(|at| (NOW.0 - at.0) / HOUR)
        };
        assert_eq!(told(&[(true, true, 5), (false, false, 50)]), Some(1));
        assert_eq!(told(&[(true, true, 4)]), None, "too little was seen");
        assert_eq!(told(&[(true, true, 20), (true, false, 10)]), None, "stamps every answer");
        assert_eq!(told(&[(true, true, 20), (false, true, 10)]), None, "forgets to move");
        assert_eq!(told(&[(true, false, 400), (true, true, 4_000)]), Some(1), "it has mended");
    }

    #[test]
    fn what_is_not_between_the_last_visit_and_now_is_no_news() {
        let site = site(&[(true, true, 9)]);
        let hours = |ago: i64| Timestamp(NOW.0 - ago * HOUR);
        let told =
            |modified, date, since| trusted_modified(&site, &headers(modified, date), since, NOW);
        assert_eq!(told(SEVEN, EIGHT, Some(hours(2))), Some(hours(1)));
        assert_eq!(told(SEVEN, EIGHT, Some(hours(1))), None, "it was seen since");
        assert_eq!(told(NINE, EIGHT, None), None, "in the future");
        assert_eq!(told(EIGHT, NINE, None), Some(hours(1)), "by a clock an hour ahead");
        assert_eq!(told("yesterday", EIGHT, None), None);
        assert_eq!(trusted_modified(&site, &Headers::new(), None, NOW), None);
    }

    proptest! {
        #[test]
        fn any_header_is_read(modified in "\\PC{0,40}", date in "[A-Z][a-z]{2}, [0-9: A-Za-z]{0,30}") {
            let site = site(&[(true, true, 9)]);
            if let Some(at) = trusted_modified(&site, &headers(&modified, &date), None, NOW) {
                prop_assert!(at <= NOW);
            }
        }
    }
}
