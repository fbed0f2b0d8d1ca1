//! Many conditions at once: which of them hold for a URL, without asking each.
//!
//! For what is said by condition outside `crawl.rules`, such as overrides of the configuration. The
//! index is the one of the rules: it finds the few that can hold, and those are asked.

use std::str::FromStr;

use model::CrawlUrl;

use crate::{
    condition::{Condition, Parser, Part, RuleError, Test},
    rulelist::index::Index,
};

#[derive(Debug, Default)]
pub struct Conditions {
    conditions: Vec<Condition>,
    index: Index,
}

impl Conditions {
    pub fn new(conditions: Vec<Condition>) -> Conditions {
        let index = Index::new(&conditions);
        Conditions { conditions, index }
    }

    /// The places of those that hold, counted from 0, in order.
    pub fn holding(&self, url: &CrawlUrl, level: u16) -> impl Iterator<Item = usize> {
        let holds = move |at: &usize| {
            self.conditions.get(*at).is_some_and(|condition| condition.holds(url, level))
        };
        self.index.may_hold(url).into_iter().map(|at| at as usize).filter(holds)
    }
}

impl Condition {
    /// It asks about the host alone, so that it holds for all pages of a site or for none.
    pub fn is_about_sites(&self) -> bool {
        match self {
            Condition::Test(test) => {
                matches!(test, Test::Any | Test::Words(Part::Suffix | Part::Domain | Part::Host, _))
            }
            Condition::Not(inner) => inner.is_about_sites(),
            Condition::All(parts) | Condition::Either(parts) => {
                parts.iter().all(Condition::is_about_sites)
            }
        }
    }
}

impl FromStr for Condition {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Condition, RuleError> {
        Parser::new(text)?.condition()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::condition::tests::{any_condition, any_url};

    #[test]
    fn conditions_about_sites_are_told_from_those_about_pages() {
        for text in ["any", "host a.org", "not (suffix .pt or domain b.org) and host c.org"] {
            assert!(text.parse::<Condition>().unwrap().is_about_sites(), "{text}");
        }
        for text in ["url http://a.org/", "host a.org and level = 1", "not port 80", "dynamic"] {
            assert!(!text.parse::<Condition>().unwrap().is_about_sites(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_index_finds_what_asking_one_after_the_other_finds(
            texts in prop::collection::vec(any_condition(), 0..12),
            url in any_url(),
            level in 0_u16..4,
        ) {
            let each: Vec<Condition> = texts.iter().map(|text| text.parse().unwrap()).collect();
            let slow: Vec<usize> =
                (0..each.len()).filter(|at| each[*at].holds(&url, level)).collect();
            let fast: Vec<usize> = Conditions::new(each).holding(&url, level).collect();
            prop_assert_eq!(fast, slow);
        }
    }
}
