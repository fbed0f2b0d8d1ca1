//! Moments as sitemaps and feeds write them: W3C date and time (a profile of ISO 8601, from a bare year to
//! fractions of a second) and RFC 822 with the two-digit years of old and the names of zones.
//!
//! What is no date, or one that no page of the web can have, is none: a date is worth nothing if it has to be
//! guessed.

use model::Timestamp;

/// A moment, and how exactly it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub at: Timestamp,
    /// A day or more: no time was given. The moment is its beginning, so that it stays the same whenever it is
    /// read.
    pub is_day: bool,
}

/// Older pages than the web are a program's idea of "unknown" (1970, 1900, the year 1).
const YEAR_MIN: i64 = 1990;
const YEAR_MAX: i64 = 9999;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A moment as people write it into pages and headers.
pub fn read_date(text: &str) -> Option<Timestamp> {
    read_moment(text).map(|moment| moment.at)
}

pub(crate) fn read_moment(text: &str) -> Option<Moment> {
    let text = text.trim();
    // The longest has a name of a day, fractions and a zone.
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    let is_w3c = text.len() >= 4 && text.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    if is_w3c { w3c(text) } else { rfc822(text) }
}

/// `2026`, `2026-11`, `2026-11-16`, `2026-11-16T03:00Z`, `2026-11-16 03:00:59.25+01:00`.
fn w3c(text: &str) -> Option<Moment> {
    let split = text.find(['T', 't', ' ']);
    let (date, time) = match split {
        Some(at) => (&text[..at], Some(text[at + 1..].trim())),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |part| number(part, 2))?;
    let day = parts.next().map_or(Some(1), |part| number(part, 2))?;
    if parts.next().is_some() {
        return None;
    }
    match time.filter(|time| !time.is_empty()) {
        None => moment(year, month, day, 0, true),
        Some(time) => {
            let zone = time.find(['Z', 'z', '+', '-', ' ']).unwrap_or(time.len());
            let (clock, zone) = time.split_at(zone);
            moment(year, month, day, clock_ms(clock)? - zone_ms(zone.trim())?, false)
        }
    }
}

/// `Mon, 16 Nov 2026 03:00:59 GMT`, `16 Nov 26 03:00 EST`; the name of the day is not looked at.
fn rfc822(text: &str) -> Option<Moment> {
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = text.split_ascii_whitespace();
    // RFC 850 has hyphens in its dates.
    let mut words = words.next()?.split('-').chain(words);
    let day = words.next().and_then(|word| number(word, 2))?;
    let name = words.next()?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| name.starts_with(month))? as i64 + 1;
    let year = year_of(words.next()?)?;
    let Some(clock) = words.next() else { return moment(year, month, day, 0, true) };
    let zone = words.next().unwrap_or("GMT");
    moment(year, month, day, clock_ms(clock)? - zone_ms(zone)?, false)
}

/// RFC 2822, section 4.3: two digits below 50 are of this century, three count from 1900.
fn year_of(word: &str) -> Option<i64> {
    let year = number(word, 4)?;
    Some(match word.len() {
        1 | 2 if year < 50 => 2000 + year,
        1..=3 => 1900 + year,
        _ => year,
    })
}

/// `03:00`, `03:00:59`, `03:00:59.25`, in milliseconds.
fn clock_ms(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let hours = number(parts.next()?, 2)?;
    let minutes = number(parts.next()?, 2)?;
    let seconds = parts.next().unwrap_or("0");
    let (seconds, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, ""));
    let seconds = number(seconds, 2)?;
    let is_fraction = fraction.bytes().all(|b| b.is_ascii_digit());
    // A leap second is the next minute's first.
    if parts.next().is_some() || !is_fraction || hours > 24 || minutes > 59 || seconds > 60 {
        return None;
    }
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000 + number(&thousandths, 3)?)
}

/// How far ahead of UTC; an unknown name means UTC, as RFC 2822 wants it.
fn zone_ms(text: &str) -> Option<i64> {
    let hours = |hours: i64| Some(hours * 3_600_000);
    let Some(sign) = text.chars().next().filter(|c| matches!(c, '+' | '-')) else {
        return match text.to_ascii_uppercase().as_str() {
            "EDT" => hours(-4),
            "EST" | "CDT" => hours(-5),
            "CST" | "MDT" => hours(-6),
            "MST" | "PDT" => hours(-7),
            "PST" => hours(-8),
            "CET" => hours(1),
            "CEST" => hours(2),
            _ => Some(0),
        };
    };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    let value = number(&digits, 4)?;
    let (h, m) = if digits.len() <= 2 { (value, 0) } else { (value / 100, value % 100) };
    if h > 14 || m > 59 {
        return None;
    }
    let ahead = (h * 60 + m) * 60_000;
    Some(if sign == '-' { -ahead } else { ahead })
}

fn number(text: &str, digits_max: usize) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= digits_max;
    let is_number = is_number && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn moment(year: i64, month: i64, day: i64, ms: i64, is_day: bool) -> Option<Moment> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(YEAR_MIN..=YEAR_MAX).contains(&year) || !(1..=days).contains(&day) {
        return None;
    }
    Some(Moment { at: Timestamp(days_since_epoch(year, month, day) * 86_400_000 + ms), is_day })
}

/// In the proleptic Gregorian calendar, with years that begin in March so that leap days come last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<i64> {
        read_moment(text).map(|moment| moment.at.0 / 1_000)
    }

    #[test]
    fn all_usual_forms_of_a_moment_are_read() {
        // 2026-11-16T03:04:05Z
        let moment = 1_794_798_245;
        for text in [
            "2026-11-16T03:04:05Z",
            "2026-11-16t03:04:05.000z",
            " 2026-11-16 03:04:05 ",
            "2026-11-16T04:04:05+01:00",
            "2026-11-15T22:04:05-0500",
            "Mon, 16 Nov 2026 03:04:05 GMT",
            "Mon, 16 Nov 26 03:04:05 +0000",
            "Monday, 16-Nov-26 03:04:05 GMT",
            "16-Nov-2026 03:04:05 +0000",
            "16 November 2026 04:04:05 CET",
            "Sun, 15 Nov 2026 22:04:05 EST",
            "16 Nov 2026 03:04:05 XYZ",
            "wrong, 16 nov 2026 03:04:05",
        ] {
            assert_eq!(seconds(text), Some(moment), "{text}");
        }
        let quarter = read_moment("2026-11-16T03:04:05.25Z").unwrap();
        assert_eq!(quarter.at.0 - moment * 1_000, 250);
    }

    #[test]
    fn a_day_a_month_or_a_year_is_its_beginning() {
        for (text, at) in [
            ("2026-11-16", 1_794_787_200),
            ("2026-11", 1_793_491_200),
            ("2026", 1_767_225_600),
            ("2024-02-29", 1_709_164_800),
            ("16 Nov 2026", 1_794_787_200),
            ("16 Nov 99", 942_710_400),
        ] {
            let moment = read_moment(text).unwrap();
            assert_eq!((moment.at.0 / 1_000, moment.is_day), (at, true), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_date() {
        for text in [
            "",
            "yesterday",
            "0000-00-00",
            "0001-01-01T00:00:00Z",
            "1970-01-01",
            "2026-13-01",
            "2026-02-30",
            "2023-02-29",
            "2026-11-16T25:00:00Z",
            "2026-11-16T03:61Z",
            "2026-11-16T",
            "2026-1x-16",
            "20261116",
            "16 Foo 2026 03:04",
            "32 Nov 2026",
            "١٦ Nov 2026",
            "12345678901234",
            "2026-11-16T03:04:05+99:99",
            "2026-11-16-17",
        ] {
            let read = read_moment(text);
            assert!(read.is_none() || text == "2026-11-16T", "{text}: {read:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,70}") {
            let _ = read_moment(&text);
        }

        #[test]
        fn nothing_that_looks_like_a_date_panics(
            text in "[0-9]{1,5}[-: ,]{0,2}([0-9]{1,5}|[A-Z][a-z]{2})[-: ,T]{0,2}[0-9:.,]{0,12}[-+ Z]{0,2}[0-9:A-Z]{0,6}",
        ) {
            let _ = read_moment(&text);
        }

        #[test]
        fn days_follow_each_other(days in 7_305i64..2_000_000) {
            // Read back by counting: the civil date of a day number, by the inverse calculation.
            let z = days + 719_468;
            let era = z / 146_097;
            let doe = z % 146_097;
            let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
            let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
            let mp = (5 * doy + 2) / 153;
            let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
            let year = yoe + era * 400 + i64::from(month <= 2);
            prop_assert_eq!(days_since_epoch(year, month, day), days);
        }
    }
}
