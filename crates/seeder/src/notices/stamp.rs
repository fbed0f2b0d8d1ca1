//! Sitemaps that stamp their pages with the moment they were made themselves, and so say nothing.
//!
//! About a fifth of the sitemaps with dates is wrong, mostly in this way (Bing's survey of 2023).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use model::Timestamp;

use super::dates::Moment;

/// Fewer dates show no habit of their maker.
const DATES_MIN: usize = 10;
const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;

/// More than half of the dates are one and the same (to the minute, or the day where no time is given), and
/// that is when the document was made: by its `modified`, else within the day before it was `fetched`. An older
/// date that many share is more likely that of a site's new beginning, which is true.
pub(super) fn is_stamped(
    dates: &[Moment],
    fetched: Timestamp,
    modified: Option<Timestamp>,
) -> bool {
    if dates.len() < DATES_MIN {
        return false;
    }
    let mut counts: HashMap<(i64, bool), usize, RandomState> = HashMap::default();
    for moment in dates {
        let grain = if moment.is_day { DAY } else { MINUTE };
        *counts.entry((moment.at.0.div_euclid(grain), moment.is_day)).or_default() += 1;
    }
    // Made within seconds, but over the turn of a minute: two neighbours count together.
    let with_next = |&(at, is_day): &(i64, bool), count: usize| {
        let next = if is_day { None } else { counts.get(&(at + 1, false)) };
        count + next.copied().unwrap_or(0)
    };
    let most = counts.iter().max_by_key(|(key, count)| (with_next(key, **count), **key));
    let Some((key, &count)) = most else { return false };
    if 2 * with_next(key, count) <= dates.len() {
        return false;
    }
    let grain = if key.1 { DAY } else { MINUTE };
    let (from, until) = (key.0 * grain, (key.0 + 2) * grain);
    let is_own = modified.is_some_and(|at| (from - grain..until).contains(&at.0));
    is_own || (from <= fetched.0 && fetched.0 - until <= DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_794_798_245_000);

    fn dates(count: usize, at: impl Fn(usize) -> i64, is_day: bool) -> Vec<Moment> {
        (0..count).map(|n| Moment { at: Timestamp(at(n)), is_day }).collect()
    }

    #[test]
    fn a_sitemap_that_gives_all_pages_its_own_date_is_stamped() {
        let within_seconds = dates(50, |n| NOW.0 - 40_000 + n as i64 * 100, false);
        assert!(is_stamped(&within_seconds, NOW, None));
        let last_night = dates(50, |_| NOW.0 - 20 * 3_600_000, false);
        assert!(is_stamped(&last_night, NOW, None));
        let today = dates(50, |_| NOW.0.div_euclid(DAY) * DAY, true);
        assert!(is_stamped(&today, NOW, None));
        let long_ago = dates(50, |_| NOW.0 - 90 * DAY, false);
        assert!(!is_stamped(&long_ago, NOW, None), "a site's new beginning");
        assert!(is_stamped(&long_ago, NOW, Some(Timestamp(NOW.0 - 90 * DAY))));
    }

    #[test]
    fn dates_of_their_own_are_believed_even_when_some_are_alike() {
        let own = dates(50, |n| NOW.0 - n as i64 * 3_600_000, false);
        assert!(!is_stamped(&own, NOW, Some(NOW)));
        let mut half = dates(25, |n| NOW.0 - (n as i64 + 2) * DAY, false);
        half.extend(dates(25, |_| NOW.0, false));
        half.extend(dates(1, |_| NOW.0 - 500 * DAY, false));
        assert!(!is_stamped(&half, NOW, Some(NOW)));
        half.extend(dates(10, |_| NOW.0, false));
        assert!(is_stamped(&half, NOW, Some(NOW)), "more than half");
        assert!(!is_stamped(&dates(9, |_| NOW.0, false), NOW, None), "too few to tell");
    }
}
