//! Refused links, told together: a page can have ten thousand into the same trap, and one line says it of all.

use model::{Decision, Sighting};

use crate::pipeline::messages::Settle;

/// How far back one of the same kind is looked for: links of a page alternate between a few rules at most.
const LOOKED_BACK: usize = 4;

/// Tells why a link was refused, and of what it is a sign.
pub fn refuse(share: &mut Settle, decision: Decision, met: Sighting) {
    let is_same = |told: &&mut Decision| {
        (told.reason, &told.rule, &told.site) == (decision.reason, &decision.rule, &decision.site)
    };
    match share.decisions.iter_mut().rev().take(LOOKED_BACK).find(is_same) {
        Some(told) => told.count += decision.count,
        None => share.decisions.push(decision),
    }
    let is_same = |seen: &&mut Sighting| {
        (seen.hazard, seen.measure, &seen.what, &seen.site)
            == (met.hazard, met.measure, &met.what, &met.site)
    };
    match share.sightings.iter_mut().rev().take(LOOKED_BACK).find(is_same) {
        Some(seen) => seen.count += met.count,
        None => share.sightings.push(met),
    }
}

#[cfg(test)]
mod tests {
    use model::{CrawlUrl, Hazard, Measure, RefusalReason};

    use super::*;

    #[test]
    fn links_refused_by_the_same_rule_are_one_line_and_others_are_their_own() {
        let mut share = Settle::default();
        for n in 0..10_000 {
            let url = CrawlUrl::parse(&format!("http://a.example/{n}")).unwrap();
            let (rule, measure) = match n % 2 {
                0 => ("even", Measure::PatternStopped),
                _ => ("odd", Measure::Noted),
            };
            let decision = Decision {
                site: url.site_text().to_owned(),
                reason: RefusalReason::Trap,
                rule: rule.to_owned(),
                count: 1,
                example: url.as_str().to_owned(),
                referrer: None,
            };
            refuse(&mut share, decision, Sighting::at(&url, Hazard::NearDuplicates, measure));
        }
        let told: Vec<_> = share.decisions.iter().map(|d| (d.rule.as_str(), d.count)).collect();
        assert_eq!(told, [("even", 5_000), ("odd", 5_000)]);
        let seen: Vec<_> = share.sightings.iter().map(|s| (s.measure, s.count)).collect();
        assert_eq!(seen, [(Measure::PatternStopped, 5_000), (Measure::Noted, 5_000)]);
        assert_eq!(share.decisions[0].example, "http://a.example/0", "the first shows it");
    }
}
