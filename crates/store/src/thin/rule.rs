//! Which of a page's old versions go: keep all of some time, then so many of each stretch, and so on.
//!
//! `all 30d, then 1 per 7d` keeps every version of the last 30 days, and of each week before that the last
//! one. Stretches are counted from 1970, not from now: whoever thins again a day later removes nothing that
//! was kept, but for what has grown old. The newest version of a page is never among those that go.

use std::time::Duration;

use model::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepRule {
    /// Younger versions all stay.
    all: Duration,
    then: Vec<Stage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    count: u32,
    per: Duration,
    /// How long it lasts; the last one may go on for ever.
    lasting: Option<Duration>,
}

/// More stages than anybody can mean.
const STAGES_MAX: usize = 16;

impl KeepRule {
    /// `time` reads `30d`. `Err` says what is wrong.
    pub fn parse(
        text: &str,
        time: impl Fn(&str) -> Result<Duration, String>,
    ) -> Result<KeepRule, String> {
        let mut parts = text.split(',').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let all = match first.strip_prefix("all") {
            Some(rest) if rest.starts_with(' ') => time(rest.trim())?,
            _ => return Err(format!("it begins with {first:?} and not with `all TIME`")),
        };
        let mut then: Vec<Stage> = Vec::new();
        for part in parts {
            if then.last().is_some_and(|stage| stage.lasting.is_none()) {
                return Err("only the last part may go without `for TIME`".to_owned());
            }
            then.push(stage(part, &time)?);
        }
        if then.len() > STAGES_MAX {
            return Err(format!("it has more than {STAGES_MAX} parts"));
        }
        if then.is_empty() {
            return Err("it does not say what becomes of what is older".to_owned());
        }
        Ok(KeepRule { all, then })
    }

    /// Places of those that go, of a page's versions by the time they were first seen, oldest first.
    pub fn goes(&self, versions: &[Timestamp], now: Timestamp) -> Vec<usize> {
        let mut goes = Vec::new();
        // From the newest: the first of a stretch to be met is its last.
        let (mut stretch, mut taken) = (None, 0);
        for (place, at) in versions.iter().enumerate().rev() {
            // It stays, and counts as one of its stretch.
            let newest = place + 1 == versions.len();
            let Some((number, stage)) = self.stage_of(now.since(*at)) else { continue };
            let Some(stage) = stage else {
                if !newest {
                    goes.push(place);
                }
                continue;
            };
            let per = i64::try_from(stage.per.as_millis()).unwrap_or(i64::MAX).max(1);
            let here = Some((number, at.0.div_euclid(per)));
            if stretch != here {
                (stretch, taken) = (here, 0);
            }
            taken += 1;
            if taken > stage.count {
                goes.push(place);
            }
        }
        goes.reverse();
        goes
    }

    /// Everything younger stays.
    pub fn oldest_of_all(&self) -> Duration {
        self.all
    }

    /// `None`: too young for any; a stage of `None`: too old for all.
    fn stage_of(&self, age: Duration) -> Option<(usize, Option<Stage>)> {
        let mut begins = self.all;
        if age <= begins {
            return None;
        }
        for (number, stage) in self.then.iter().enumerate() {
            match stage.lasting.map(|lasting| begins.saturating_add(lasting)) {
                Some(ends) if age > ends => begins = ends,
                _ => return Some((number, Some(*stage))),
            }
        }
        Some((self.then.len(), None))
    }
}

fn stage(part: &str, time: &impl Fn(&str) -> Result<Duration, String>) -> Result<Stage, String> {
    let wrong =
        || format!("{part:?} is not of the form `then 1 per 7d` or `then 1 per 7d for 365d`");
    let rest = part.strip_prefix("then ").unwrap_or(part);
    let (count, rest) = rest.split_once(" per ").ok_or_else(wrong)?;
    let (per, lasting) = match rest.split_once(" for ") {
        Some((per, lasting)) => (per, Some(time(lasting.trim())?)),
        None => (rest, None),
    };
    let count = count.trim().parse().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
    let per = time(per.trim())?;
    if per.is_zero() {
        return Err(wrong());
    }
    Ok(Stage { count, per, lasting })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 86_400_000;
    const NOW: Timestamp = Timestamp(20_000 * DAY);

    fn days(text: &str) -> Result<Duration, String> {
        let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
        days.map(|days| Duration::from_secs(86_400 * days)).ok_or_else(|| format!("{text:?}"))
    }

    fn rule(text: &str) -> KeepRule {
        KeepRule::parse(text, days).unwrap()
    }

    /// Ages in days of what stays, of a version a day.
    fn stays(rule: &KeepRule, ages: impl Iterator<Item = i64>) -> Vec<i64> {
        let mut ages: Vec<i64> = ages.collect();
        ages.sort_unstable_by_key(|age| std::cmp::Reverse(*age));
        let times: Vec<Timestamp> = ages.iter().map(|age| Timestamp(NOW.0 - age * DAY)).collect();
        let goes = rule.goes(&times, NOW);
        let stays = (0..ages.len()).filter(|place| !goes.contains(place));
        stays.map(|place| ages[place]).collect()
    }

    #[test]
    fn all_of_some_days_stay_and_then_the_last_of_each_week() {
        let left = stays(&rule("all 30d, then 1 per 7d"), 0..100);
        assert_eq!(left.iter().filter(|age| **age <= 30).count(), 31);
        let old: Vec<i64> = left.into_iter().filter(|age| *age > 30).collect();
        assert!(
            old.windows(2).all(|pair| pair[0] - pair[1] == 7 || pair[1] == old[old.len() - 1]),
            "{old:?}"
        );
        assert!((9..=11).contains(&old.len()), "{old:?}");
    }

    #[test]
    fn stages_follow_each_other_and_what_is_older_than_all_goes() {
        let rule = rule("all 2d, then 2 per 10d for 20d, then 1 per 30d for 60d");
        let left = stays(&rule, 0..400);
        assert!(left.iter().all(|age| *age <= 82), "{left:?}");
        assert!(left.len() >= 3 + 4 + 2 && left.len() <= 3 + 6 + 4, "{left:?}");
        assert_eq!(stays(&rule, 300..400), [300], "but never the last");
    }

    #[test]
    fn rules_that_say_nothing_clear_are_refused() {
        for text in [
            "",
            "all",
            "30d",
            "all 30d",
            "all x, then 1 per 7d",
            "all 30d, then 0 per 7d",
            "all 30d, then 1 per 0d",
            "all 30d, then 1 per 7d, then 1 per 30d",
            "all 1d, forever",
        ] {
            assert!(KeepRule::parse(text, days).is_err(), "{text}");
        }
        let told = KeepRule::parse("all 1d, forever", days).unwrap_err();
        let advised = told.split('`').filter(|text| text.starts_with("then ")).map(str::to_owned);
        for text in advised.collect::<Vec<_>>() {
            assert!(KeepRule::parse(&format!("all 1d, {text}"), days).is_ok(), "{text} is advised");
        }
    }

    #[test]
    fn the_newest_counts_as_one_of_its_stretch() {
        // 40 to 46 days ago is one week of those counted from 1970.
        let week = (0..7).find(|shift| (NOW.0 / DAY - 46 - shift) % 7 == 0).unwrap();
        let ages = 40 + week..47 + week;
        assert_eq!(stays(&rule("all 30d, then 1 per 7d"), ages.clone()), [ages.start]);
        let two = [ages.start + 1, ages.start];
        assert_eq!(stays(&rule("all 30d, then 2 per 7d"), ages), two);
    }

    proptest! {
        #[test]
        fn the_last_stays_and_thinning_twice_is_thinning_once(
            ages in prop::collection::vec(0i64..2_000, 1..80),
            all in 0u64..100, count in 1u32..4, per in 1u64..60,
        ) {
            let rule = rule(&format!("all {all}d, then {count} per {per}d"));
            let newest = *ages.iter().min().unwrap();
            let once = stays(&rule, ages.into_iter());
            prop_assert_eq!(once.last(), Some(&newest));
            prop_assert_eq!(stays(&rule, once.clone().into_iter()), once);
        }
    }
}
