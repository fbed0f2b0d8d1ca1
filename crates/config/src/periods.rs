//! Periods of `[revisit]` beside each other: what a period says without a policy, and bounds that contradict.
//!
//! Single values are checked where they are read; here are the promises that two keys keep together, on whatever
//! layers they are written.

use std::time::Duration;

use super::{
    Config,
    check::Wrong,
    origin::Origin,
    overrides::{Bounds, Overrides},
    refusal,
    sections::{Policy, Revisit},
    units::time_text,
};
use crate::failure::Failure;

const POLICY: &str = "revisit.policy";
const PERIOD: &str = "revisit.period";
const SHORTEST: &str = "revisit.period_min";
const LONGEST: &str = "revisit.period_max";

impl Config {
    /// Who gives a period, and no policy in the same place or in one that stands above it, wants that period kept.
    pub(super) fn policy_by_period(&self) -> Option<Policy> {
        let layer = |name| self.origin(name).layer();
        (layer(PERIOD) > layer(POLICY)).then_some(Policy::Fixed)
    }

    /// What is wrong with the bounds of periods as they stand together, and in overrides. For a spider: what is
    /// wrong with its own, for that of all was told before.
    pub(super) fn check_periods(&self, spider: Option<&str>, mistakes: &mut Vec<Failure>) {
        let is_own = |name| matches!(self.origin(name), Origin::Spider(_));
        let anew = spider.is_none() || is_own(SHORTEST) || is_own(LONGEST);
        if anew && self.revisit.period_max < self.revisit.period_min {
            mistakes.extend(self.contradiction());
            return;
        }
        self.overrides.check_periods(spider, anew, &self.revisit, mistakes);
    }

    /// Told of the value that stands higher: it is the one that somebody wrote last.
    fn contradiction(&self) -> Option<Failure> {
        let Revisit { period_min, period_max, .. } = self.revisit;
        let layer = |name| self.origin(name).layer();
        let (name, wrong) = match layer(LONGEST) >= layer(SHORTEST) {
            true => (LONGEST, too_short(period_min)),
            false => (SHORTEST, too_long(period_max)),
        };
        let setting = self.setting(name)?;
        Some(refusal(setting.key, &setting.raw, &setting.origin, None, wrong))
    }
}

impl Overrides {
    /// `anew`: for tables of all spiders too, and not only for those of this one.
    fn check_periods(
        &self,
        spider: Option<&str>,
        anew: bool,
        base: &Revisit,
        mistakes: &mut Vec<Failure>,
    ) {
        for bounds in self.bounds() {
            let Bounds { shortest, longest, .. } = bounds;
            let concerned = match bounds.spider {
                None => anew,
                Some(_) if spider.is_none() => shortest.is_some() && longest.is_some(),
                Some(name) => Some(name) == spider,
            };
            let least = shortest.unwrap_or(base.period_min);
            let most = longest.unwrap_or(base.period_max);
            if most >= least || !concerned {
                continue;
            }
            let (key, value, wrong) = match longest {
                Some(longest) => (LONGEST, longest, too_short(least)),
                None => (SHORTEST, least, too_long(most)),
            };
            let what = format!("{key} = \"{}\": {}", time_text(value), wrong.what);
            let place = format!("{} line {}", bounds.path.display(), bounds.line);
            mistakes.push(Failure::usage(format!("{place}: {what}"), wrong.instead));
        }
    }
}

fn too_short(shortest: Duration) -> Wrong {
    let shortest = time_text(shortest);
    Wrong {
        what: format!("it is shorter than {SHORTEST}, which is {shortest}"),
        instead: format!("write at least {shortest}, or a shorter {SHORTEST} with it"),
    }
}

fn too_long(longest: Duration) -> Wrong {
    let longest = time_text(longest);
    Wrong {
        what: format!("it is longer than {LONGEST}, which is {longest}"),
        instead: format!("write at most {longest}, or a longer {LONGEST} with it"),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{file, tests::read},
        *,
    };

    #[track_caller]
    fn refused(text: &str, what: &str, instead: &str) {
        let failure = read(text).expect_err(text);
        assert!(failure.sentence.contains(what), "{}", failure.sentence);
        assert!(failure.what_to_do.contains(instead), "{}", failure.what_to_do);
    }

    fn with(file: &str, variables: &[(&str, &str)]) -> Result<Config, Failure> {
        let document = file::parse(file, std::path::Path::new("h.toml"), &mut Vec::new());
        let variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        Config::merge(document, variables.collect::<Vec<_>>(), Vec::new())
    }

    fn of_spider(base: &str, own: &[(&str, &str)]) -> Result<Config, Failure> {
        let own = own.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        read(base)?.for_spider("news", &own).map(|spider| spider.config)
    }

    #[test]
    fn nothing_is_repeated_without_a_pause_and_no_rate_is_zero() {
        let above = "write a time above zero";
        refused("[revisit]\nperiod = '0s'\n", "line 2: revisit.period = \"0s\": it is zero", above);
        refused("[revisit]\ncycle = 0\n", "revisit.cycle = 0: it is zero", above);
        refused("[revisit]\nperiod_max = '0d'\n", "it is zero", above);
        refused("[revisit]\nrequests_per_second = 0\n", "it is zero", "or \"none\"");
        refused("[revisit]\nrequests_per_second = 0.0\n", "it is zero", "above 0 such as 2.5");
        refused("[revisit]\nsite_share = 0\n", "it is zero", "above 0 such as 0.5");
        refused("[revisit]\nvisits_per_day = 0\n", "it is out of range", "1 or more");
        refused("[revisit]\nbytes_per_day = '0MB'\n", "it is less than 1B", "write a size");
        let (small, advice) = ("it is less than 1MB", "write 1MB or more, such as 10MB");
        refused("[store]\nvolume_bytes_max = '100KB'\n", small, advice);
        let table = "[[override]]\nwhen = 'any'\nrevisit.period = '0s'\n";
        refused(table, "line 3: revisit.period = \"0s\": it is zero", above);
        let failure = with("", &[("HARVESTMAN_REVISIT_PERIOD", "0")]).unwrap_err();
        assert!(failure.sentence.starts_with("HARVESTMAN_REVISIT_PERIOD="), "{failure}");
        let failure = of_spider("", &[("revisit.requests_per_second", "0")]).unwrap_err();
        assert!(failure.sentence.starts_with("spider news: revisit.requests"), "{failure}");
        read("[revisit]\nperiod_min = 0\nperiod = '1ms'\n").expect("no bound, and a short period");
    }

    #[test]
    fn bounds_that_contradict_are_refused_on_whatever_layers_they_stand() {
        let longer = "[revisit]\nperiod_max = '30m'\n";
        let what = "line 2: revisit.period_max = \"30m\": it is shorter than revisit.period_min, which is 1h";
        refused(longer, what, "write at least 1h, or a shorter revisit.period_min");
        refused("[revisit]\nperiod_min = '91d'\n", "it is longer than revisit.period_max", "90d");
        read("[revisit]\nperiod_max = '30m'\nperiod_min = '10m'\n").unwrap();
        let failure =
            with("[revisit]\nperiod_min = '5d'\n", &[("HARVESTMAN_REVISIT_PERIOD_MAX", "1d")]);
        let failure = failure.unwrap_err();
        assert!(failure.sentence.starts_with("HARVESTMAN_REVISIT_PERIOD_MAX="), "{failure}");
        let failure =
            of_spider("[revisit]\nperiod_max = '2h'\n", &[("revisit.period_min", "'3h'")]);
        let failure = failure.unwrap_err();
        assert!(failure.sentence.contains("spider news: revisit.period_min"), "{failure}");
    }

    #[test]
    fn bounds_of_overrides_are_held_against_those_around_them() {
        let table = "[[override]]\nwhen = 'any'\nrevisit.period_max = '30m'\n";
        refused(table, "line 3: revisit.period_max = \"30m\": it is shorter", "at least 1h");
        read(&format!("{table}revisit.period_min = '5m'\n")).unwrap();
        let own = "[[override]]\nspider = 'news'\nwhen = 'any'\nrevisit.period_max = '30m'\n";
        read(own).expect("the spider may have a bound of its own");
        of_spider(own, &[("revisit.period_min", "'1m'")]).unwrap();
        let failure = of_spider(own, &[]).unwrap_err();
        assert!(failure.sentence.contains("line 4: revisit.period_max"), "{failure}");
        refused(&format!("{own}revisit.period_min = '1h'\n"), "it is shorter", "at least 1h");
    }

    #[test]
    fn a_period_without_a_policy_beside_or_above_it_is_kept() {
        let policy =
            |base: &str, own: &[(&str, &str)]| of_spider(base, own).unwrap().revisit.policy;
        let period = ("revisit.period", "'1h'");
        assert_eq!(policy("[revisit]\nperiod = '1d'\n", &[]), Policy::Fixed);
        assert_eq!(policy("[revisit]\nperiod = '1d'\npolicy = 'once'\n", &[]), Policy::Once);
        assert_eq!(policy("[revisit]\npolicy = 'value'\n", &[period]), Policy::Fixed);
        let both = [period, ("revisit.policy", "'frequency'")];
        assert_eq!(policy("[revisit]\npolicy = 'value'\n", &both), Policy::Frequency);
        let own = [("revisit.policy", "'profit'")];
        assert_eq!(policy("[revisit]\nperiod = '1d'\n", &own), Policy::Profit);
        let above = with("[revisit]\npolicy = 'once'\n", &[("HARVESTMAN_REVISIT_PERIOD", "1d")]);
        assert_eq!(above.unwrap().revisit.policy, Policy::Fixed);
    }
}
