//! Dates of records: `2026-11-17T18:57:00.123Z`, always with milliseconds, so that a Refers-To-Date is the very text of
//! the date it refers to.
//!
//! Every record has one, and a page several: written out here, it costs a tenth of what a library for all calendars takes.

use model::Timestamp;

const DAY_MS: i64 = 86_400_000;
/// The first moment of the year 10000.
const END_MS: i64 = 253_402_300_800_000;

pub(crate) fn date_text(at: Timestamp) -> String {
    if !(0..END_MS).contains(&at.0) {
        let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        return format!("{moment:.3}");
    }
    let (year, month, day) = civil(at.0 / DAY_MS);
    let ms = at.0 % DAY_MS;
    let mut text = String::with_capacity(24);
    for (number, digits, behind) in [
        (year, 4, '-'),
        (month, 2, '-'),
        (day, 2, 'T'),
        (ms / 3_600_000, 2, ':'),
        (ms / 60_000 % 60, 2, ':'),
        (ms / 1_000 % 60, 2, '.'),
        (ms % 1_000, 3, 'Z'),
    ] {
        push_digits(&mut text, number, digits);
        text.push(behind);
    }
    text
}

pub(super) fn parse_date(text: &str) -> Option<Timestamp> {
    text.trim().parse::<jiff::Timestamp>().ok().map(|moment| Timestamp(moment.as_millisecond()))
}

/// Year, month and day of a day since 1970. Years are counted from March, so that the day that some lack is the last, and
/// in spans of 400, which are all of one length.
fn civil(day: i64) -> (i64, i64, i64) {
    // From the first of March of the year 0.
    let day = day + 719_468;
    let (span, of_span) = (day / 146_097, day % 146_097);
    let year = (of_span - of_span / 1_460 + of_span / 36_524 - of_span / 146_096) / 365;
    let of_year = of_span - (365 * year + year / 4 - year / 100);
    // Five months have 153 days, from March on.
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (span * 400 + year + i64::from(month <= 2), month, of_month)
}

fn push_digits(text: &mut String, number: i64, digits: u32) {
    for place in (0..digits).rev() {
        text.push(char::from(b'0' + (number / 10_i64.pow(place) % 10) as u8));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_library(ms: i64) -> String {
        format!("{:.3}", jiff::Timestamp::from_millisecond(ms).unwrap())
    }

    #[test]
    fn every_day_of_four_hundred_years_is_written_as_the_library_writes_it() {
        for day in 0..146_097 {
            let ms = day * DAY_MS + day;
            assert_eq!(date_text(Timestamp(ms)), by_library(ms));
        }
    }

    proptest! {
        #[test]
        fn any_moment_is_written_as_the_library_writes_it_and_reads_back(
            ms in -62_135_596_800_000i64..END_MS,
        ) {
            let text = date_text(Timestamp(ms));
            prop_assert_eq!(&text, &by_library(ms));
            prop_assert_eq!(parse_date(&text), Some(Timestamp(ms)));
        }
    }
}
