//! Dates as servers write them in `Expires`: RFC 6265 section 5.1.1, which takes nearly anything.

use model::Timestamp;

/// `None` when there is no date to be found in the text.
pub fn parse_cookie_date(text: &str) -> Option<Timestamp> {
    let mut found = Found::default();
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        found.take(token);
    }
    let (hour, minute, second) = found.time?;
    let (day, month) = (found.day?, found.month?);
    let year = match found.year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let in_range = (1601..=9999).contains(&year) && hour < 24 && minute < 60 && second < 60;
    if !in_range || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let days = days_since_epoch(year, month, day);
    let seconds = days * 86_400 + i64::from(hour * 3_600 + minute * 60 + second);
    Some(Timestamp(seconds * 1_000))
}

#[derive(Default)]
struct Found {
    time: Option<(u32, u32, u32)>,
    day: Option<u32>,
    month: Option<u32>,
    year: Option<i64>,
}

impl Found {
    /// Each token fills the first gap it fits into, in the order the RFC gives.
    fn take(&mut self, token: &str) {
        if self.time.is_none() && set(&mut self.time, time_of(token)) {
            return;
        }
        if self.day.is_none() && set(&mut self.day, digits(token, 1, 2)) {
            return;
        }
        if self.month.is_none() && set(&mut self.month, month_of(token)) {
            return;
        }
        if self.year.is_none() {
            self.year = digits(token, 2, 4).map(i64::from);
        }
    }
}

fn set<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    *slot = value;
    slot.is_some()
}

fn is_delimiter(c: char) -> bool {
    matches!(c, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~')
}

/// The number of `least` to `most` digits that the token starts with; a longer run of digits is none.
fn digits(token: &str, least: usize, most: usize) -> Option<u32> {
    let run = token.bytes().take_while(u8::is_ascii_digit).count();
    if run < least || run > most { None } else { token[..run].parse().ok() }
}

fn time_of(token: &str) -> Option<(u32, u32, u32)> {
    let mut parts = token.splitn(3, ':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = |part: &str| if part.len() <= 2 { digits(part, part.len(), 2) } else { None };
    if hour.is_empty() || minute.is_empty() {
        return None;
    }
    let clean = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !clean(hour) || !clean(minute) {
        return None;
    }
    Some((whole(hour)?, whole(minute)?, digits(second, 1, 2)?))
}

fn month_of(token: &str) -> Option<u32> {
    const NAMES: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let start = token.get(..3)?;
    let place = NAMES.iter().position(|name| start.eq_ignore_ascii_case(name))?;
    u32::try_from(place + 1).ok()
}

fn days_in_month(year: i64, month: u32) -> u32 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar; years start in March so that leap days come last.
fn days_since_epoch(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}
