//! Rules that never decide, because whatever they hold for an earlier one holds for too.
//!
//! Found are the mistakes people make: the same condition twice, a rule after `any`, a host after its
//! domain. What is not found is still judged rightly: the first rule decides.

use super::ListedRule;
use crate::condition::{Comparison, Condition, Part, Test, is_below};

/// How deep conditions are compared: the ways to compare two nested ones multiply with each level.
const DEPTH_MAX: u8 = 8;

pub(super) fn remarks(rules: &[ListedRule]) -> Vec<String> {
    let remark = |(at, rule): (usize, &ListedRule)| {
        let earlier = rules[..at].iter().position(|e| covers(&e.condition, &rule.condition, 0))?;
        Some(sentence(at + 1, rule, earlier + 1, &rules[earlier]))
    };
    rules.iter().enumerate().filter_map(remark).collect()
}

fn sentence(number: usize, rule: &ListedRule, before: usize, earlier: &ListedRule) -> String {
    let what = match rule.accept == earlier.accept {
        true => "decides the same before it",
        false => "says the opposite before it, and the first rule decides",
    };
    let (rule, earlier) = (rule.text(), earlier.text());
    format!("crawl.rules {number} ({rule}) is never reached: rule {before} ({earlier}) {what}")
}

/// Whether `wide` surely holds wherever `narrow` does.
fn covers(wide: &Condition, narrow: &Condition, depth: u8) -> bool {
    if depth > DEPTH_MAX || wide == narrow {
        return wide == narrow;
    }
    let covers = |wide: &Condition, narrow: &Condition| covers(wide, narrow, depth + 1);
    match (wide, narrow) {
        (Condition::Test(Test::Any), _) => true,
        (_, Condition::Either(parts)) => parts.iter().all(|part| covers(wide, part)),
        (Condition::All(parts), _) => parts.iter().all(|part| covers(part, narrow)),
        (Condition::Either(wides), Condition::All(narrows)) => {
            wides.iter().any(|part| covers(part, narrow))
                || narrows.iter().any(|part| covers(wide, part))
        }
        (Condition::Either(parts), _) => parts.iter().any(|part| covers(part, narrow)),
        (_, Condition::All(parts)) => parts.iter().any(|part| covers(wide, part)),
        (Condition::Test(wide), Condition::Test(narrow)) => test_covers(wide, narrow),
        _ => false,
    }
}

fn test_covers(wide: &Test, narrow: &Test) -> bool {
    match (wide, narrow) {
        (Test::Words(wide, of), Test::Words(narrow, words)) => {
            let is_covered =
                |word: &String| of.iter().any(|w| word_covers(*wide, w, *narrow, word));
            words.iter().all(is_covered)
        }
        (Test::Port(of), Test::Port(ports)) => ports.iter().all(|port| of.contains(port)),
        (Test::Level(wide, of), Test::Level(narrow, level)) => {
            let ((from, to), (first, last)) = (levels(*wide, *of), levels(*narrow, *level));
            from <= first && last <= to
        }
        (Test::Type(of), Test::Type(types)) => {
            types.iter().all(|narrow| of.iter().any(|wide| type_covers(wide, narrow)))
        }
        _ => false,
    }
}

fn word_covers(wide: Part, of: &str, narrow: Part, word: &str) -> bool {
    match (wide, narrow) {
        (Part::Domain, Part::Domain | Part::Host) => word == of || is_below(word, of),
        (Part::Domain, Part::Suffix) | (Part::Suffix, Part::Suffix) => {
            word == of || is_below(word, of)
        }
        (Part::Suffix, Part::Domain | Part::Host) => is_below(word, of),
        (Part::Prefix, Part::Prefix) => word.starts_with(of),
        (Part::Domain | Part::Suffix | Part::Host, Part::Prefix) => {
            word_covers(wide, of, Part::Host, host_of(word))
        }
        _ => wide == narrow && word == of,
    }
}

/// The first and the last level for which it holds; none when the last comes before the first.
fn levels(comparison: Comparison, bound: u16) -> (i32, i32) {
    let bound = i32::from(bound);
    match comparison {
        Comparison::AtMost => (0, bound),
        Comparison::Below => (0, bound - 1),
        Comparison::AtLeast => (bound, i32::MAX),
        Comparison::Above => (bound + 1, i32::MAX),
        Comparison::Equal => (bound, bound),
    }
}

fn type_covers(wide: &str, narrow: &str) -> bool {
    let group = wide.strip_suffix('*');
    wide == "*/*" || wide == narrow || group.is_some_and(|group| narrow.starts_with(group))
}

/// Of a canonical beginning of a URL, which always has a path.
fn host_of(prefix: &str) -> &str {
    let rest = prefix.split_once("://").map_or(prefix, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}
