//! Whether a server's "304 not modified" is true.
//!
//! Some pages that a server says again and again are not modified are asked for once more, whole: one in a
//! hundred, and of a site of which little is known yet one in twenty. Where too many of them had changed
//! after all, the site is asked nothing conditionally for a month, and then judged anew.

use std::time::Duration;

use model::{Audit, Fingerprint, SiteHabit, Timestamp};

/// One in so many is looked at again.
const ONE_IN: u64 = 100;
/// The same while fewer than [`AUDITS_MIN`] were.
const ONE_IN_AT_FIRST: u64 = 20;
/// Fewer say nothing.
const AUDITS_MIN: f32 = 10.0;
/// One page that changes between two requests is no lie.
const WRONG_MIN: f32 = 2.0;
const WRONG_SHARE_MAX: f32 = 0.02;
const DISTRUST: Duration = Duration::from_secs(30 * 24 * 3600);
/// Beyond this many the old ones count half: what a server did years ago is not what it does.
const MEMORY: f32 = 400.0;

/// Whether this 304 is to be looked at again. `seen`: how many visits saw the page as it is said to be still, so
/// that each is drawn anew; the first 304 is believed.
pub fn audits(site: &SiteHabit, page: Fingerprint, seen: u32) -> bool {
    let one_in = if site.unmodified.asked < AUDITS_MIN { ONE_IN_AT_FIRST } else { ONE_IN };
    seen > 1 && spread(page.0 ^ spread(u64::from(seen))).is_multiple_of(one_in)
}

/// Whether the site may be asked "only if it was modified".
pub fn may_ask_conditionally(site: &SiteHabit, now: Timestamp) -> bool {
    now >= site.unmodified.distrusted_until
}

/// A page that was said not to be modified was asked for whole, and had changed or not.
pub fn learn_audit(site: &mut SiteHabit, changed: bool, now: Timestamp) {
    let audit = &mut site.unmodified;
    audit.asked += 1.0;
    audit.wrong += f32::from(u8::from(changed));
    let too_many = audit.wrong >= WRONG_MIN && audit.wrong > audit.asked * WRONG_SHARE_MAX;
    if audit.asked >= AUDITS_MIN && too_many {
        *audit = Audit { asked: 0.0, wrong: 0.0, distrusted_until: now.plus(DISTRUST) };
    } else if audit.asked > MEMORY {
        audit.asked /= 2.0;
        audit.wrong /= 2.0;
    }
}

/// Spreads every bit over all others (the finaliser of splitmix64).
fn spread(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn share(site: &SiteHabit) -> f64 {
        let drawn = |n: &u64| audits(site, Fingerprint(n % 1_000), (n / 1_000) as u32 + 2);
        (0..100_000).filter(drawn).count() as f64 / 100_000.0
    }

    #[test]
    fn one_in_a_hundred_is_looked_at_and_of_an_unknown_site_one_in_twenty() {
        let mut site = SiteHabit::default();
        assert!((share(&site) - 0.05).abs() < 0.003, "{}", share(&site));
        (0..10).for_each(|_| learn_audit(&mut site, false, NOW));
        assert!((share(&site) - 0.01).abs() < 0.002, "{}", share(&site));
        let page = |seen| audits(&site, Fingerprint(7), seen);
        assert!((0..2_000).all(|n| !audits(&site, Fingerprint(n), 1)), "the first is believed");
        assert!((0..2_000).any(page) && !(0..2_000).all(page), "no page is always the one");
    }

    #[test]
    fn a_liar_is_not_asked_conditionally_for_a_month_and_then_gets_a_new_chance() {
        let mut site = SiteHabit::default();
        for n in 0..10 {
            assert!(may_ask_conditionally(&site, NOW), "{n} audits are too few to judge");
            learn_audit(&mut site, true, NOW);
        }
        assert!(!may_ask_conditionally(&site, NOW.plus(DISTRUST - Duration::from_secs(1))));
        let later = NOW.plus(DISTRUST);
        assert!(may_ask_conditionally(&site, later));
        (0..9).for_each(|_| learn_audit(&mut site, true, later));
        assert!(may_ask_conditionally(&site, later), "judged anew, not by what it did before");
    }

    #[test]
    fn a_rare_miss_is_forgiven_and_many_are_not() {
        let mut site = SiteHabit::default();
        for n in 0..5_000 {
            learn_audit(&mut site, n % 100 == 50, NOW);
        }
        assert!(may_ask_conditionally(&site, NOW), "one in a hundred");
        assert!(site.unmodified.asked <= MEMORY);
        for n in 0..200 {
            learn_audit(&mut site, n % 10 == 0, NOW);
        }
        assert!(!may_ask_conditionally(&site, NOW), "one in ten");
    }
}
