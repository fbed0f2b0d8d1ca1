//! Moments as people type them: `2026-11-16`, `2026-11-16 20:00`, `2026-11-16T20:00:00Z`, `yesterday`,
//! `3 days ago`, `2h30m ago`. Without a zone they are UTC, as every time this program prints.
//!
//! What is typed is as long as it is exact: a date is a whole day, a minute a whole minute. So a time copied
//! from a listing, which has no milliseconds, finds the visit it stands for.

use std::time::Duration;

use jiff::civil;
use model::Timestamp;

use crate::units::parse_time;
use model::iso::EPOCH;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 86_400 * SECOND;

/// Both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl Moment {
    /// What is wrong with the text, as the end of a sentence.
    pub fn parse(text: &str, now: Timestamp) -> Result<Moment, String> {
        let text = text.trim();
        let lower = text.to_ascii_lowercase();
        let midnight = now.0.div_euclid(DAY) * DAY;
        match lower.as_str() {
            "now" => return Ok(Moment::of(now.0, 1)),
            "today" => return Ok(Moment::of(midnight, DAY)),
            "yesterday" => return Ok(Moment::of(midnight - DAY, DAY)),
            _ => {}
        }
        if let Some(span) = lower.strip_suffix("ago") {
            return Ok(Moment::of(now.minus(span_of(span)?).0, 1));
        }
        if let Some(moment) = calendar(text) {
            return Ok(moment);
        }
        match span_of(&lower) {
            Ok(_) => Err(format!("it is a length of time: write \"{text} ago\"")),
            Err(_) => {
                Err("it is no time such as 2026-11-16, 2026-11-16T20:00:00Z or \"3 days ago\""
                    .to_owned())
            }
        }
    }

    fn of(from: i64, length: i64) -> Moment {
        Moment { from: Timestamp(from), to: Timestamp(from.saturating_add(length - 1)) }
    }
}

/// A date or a date with a time, with or without a zone.
fn calendar(text: &str) -> Option<Moment> {
    if text.len() == "2026-11-16".len() {
        let date: civil::Date = text.parse().ok()?;
        return Some(Moment::of(in_utc(date.at(0, 0, 0, 0)), DAY));
    }
    let time = text.get(11..)?;
    let (clock, zone) = time.split_at(time.find(['Z', 'z', '+', '-']).unwrap_or(time.len()));
    let local = in_utc(text[..11 + clock.len()].trim_end().parse().ok()?);
    let from = local - zone_of(zone)?;
    let length = match (clock.matches(':').count(), clock.contains('.')) {
        (_, true) => 1,
        (2.., false) => SECOND,
        _ => MINUTE,
    };
    Some(Moment::of(from, length))
}

fn in_utc(at: civil::DateTime) -> i64 {
    at.duration_since(EPOCH).as_millis() as i64
}

/// By how much its clocks are ahead: `Z`, `+02:00`, `-0330` or `+02`, as far as RFC 3339 goes.
fn zone_of(text: &str) -> Option<i64> {
    let ahead = match text.as_bytes().first() {
        None | Some(b'Z' | b'z') => return (text.len() <= 1).then_some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let (hours, minutes) = match text[1..].split_once(':') {
        Some(parts) => parts,
        None if text.len() == 3 => (&text[1..], "00"),
        None => text[1..].split_at_checked(2)?,
    };
    let (hours, minutes) = (below(24, hours)?, below(60, minutes)?);
    Some(ahead * (hours * 60 + minutes) * MINUTE)
}

/// A number of two digits.
fn below(end: i64, digits: &str) -> Option<i64> {
    let two = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|number| two && *number < end)
}

/// `3 days`, `1 hour 30 minutes`, and what the configuration takes: `2h30m`.
fn span_of(text: &str) -> Result<Duration, String> {
    let mut short = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = word.split_at(digits);
        short.push_str(number);
        short.push_str(match unit {
            "second" | "seconds" | "sec" | "secs" => "s",
            "minute" | "minutes" | "min" | "mins" => "m",
            "hour" | "hours" => "h",
            "day" | "days" => "d",
            "week" | "weeks" => "w",
            "and" => "",
            "a" | "an" => "1",
            other => other,
        });
    }
    if short.chars().last().is_some_and(|c| c.is_ascii_digit()) {
        return Err("the number has no unit".to_owned());
    }
    parse_time(&short)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::times::iso;

    /// 2026-11-16T20:30:00Z.
    const NOW: Timestamp = Timestamp(1_794_861_000_000);

    fn check(text: &str, from: &str, length: i64) {
        let moment = Moment::parse(text, NOW).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(iso(moment.from), from, "{text}");
        assert_eq!(moment.to.0 - moment.from.0 + 1, length, "{text}");
    }

    #[test]
    fn moments_are_as_long_as_they_are_exact() {
        assert_eq!(iso(NOW), "2026-11-16T20:30:00Z");
        check("2026-11-16", "2026-11-16T00:00:00Z", DAY);
        check("2026-11-16 20:00", "2026-11-16T20:00:00Z", MINUTE);
        check("2026-11-16T20:00:05", "2026-11-16T20:00:05Z", SECOND);
        check("2026-11-16T20:00:05Z", "2026-11-16T20:00:05Z", SECOND);
        check("2026-11-16T20:00:05+02:00", "2026-11-16T18:00:05Z", SECOND);
        check("2026-11-16T20:00:05-0330", "2026-11-16T23:30:05Z", SECOND);
        check("2026-11-16T20:00+02", "2026-11-16T18:00:00Z", MINUTE);
        check("9999-12-31", "9999-12-31T00:00:00Z", DAY);
        check("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", SECOND);
        check("2026-11-16T20:00:05.250Z", "2026-11-16T20:00:05Z", 1);
        check("today", "2026-11-16T00:00:00Z", DAY);
        check("Yesterday", "2026-11-15T00:00:00Z", DAY);
        check("now", "2026-11-16T20:30:00Z", 1);
        check("3 days ago", "2026-11-13T20:30:00Z", 1);
        check("an hour and 30 minutes ago", "2026-11-16T19:00:00Z", 1);
        check("2h30m ago", "2026-11-16T18:00:00Z", 1);
        check("1w ago", "2026-11-09T20:30:00Z", 1);
    }

    #[test]
    fn what_is_no_moment_is_refused_with_an_example() {
        for text in ["", "soon", "2026-13-01", "2026-11-16T25:00:00Z", "ago", "3 ago", "5"] {
            assert!(Moment::parse(text, NOW).is_err(), "{text}");
        }
        for zone in ["+25:00", "-24:00", "+02:60", "+2:00", "+", "Zulu", "+02:00:00", "+0:200"] {
            let text = format!("2026-11-16T20:00:00{zone}");
            assert!(Moment::parse(&text, NOW).is_err(), "{text}");
        }
        assert!(Moment::parse("3d", NOW).unwrap_err().contains("3d ago"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,30}|[0-9TZ:. +-]{0,28}( ago)?") {
            let _ = Moment::parse(&text, NOW);
        }
    }
}
