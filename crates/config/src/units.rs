//! Times and sizes as people write them: `30s`, `1m30s`, `250ms`, `7d`; `2MB`, `64 KiB`.
//!
//! A plain number is seconds where a time is asked for and bytes where a size is. What is printed by
//! [`time_text`] and [`size_text`] reads back as the same value.

use std::time::Duration;

const MILLIS: [(&str, u64); 6] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
];

const SIZES: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// A century: far above any use, far below any overflow.
const TIME_MAX_MS: u64 = 100 * 366 * 86_400_000;

/// What is wrong with the text, as the end of a sentence.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut total = 0.0_f64;
    let mut parts = 0;
    while !rest.is_empty() {
        let (number, unit, after) = number_and_unit(rest)?;
        let factor = match unit {
            "" if parts == 0 && after.is_empty() => 1_000,
            "" => return Err(format!("the number {number} has no unit")),
            _ => time_unit(unit)?,
        };
        total += number * factor as f64;
        parts += 1;
        rest = after;
    }
    if total > TIME_MAX_MS as f64 {
        return Err("it is longer than a century".to_owned());
    }
    Ok(Duration::from_millis(total.round() as u64))
}

pub fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit, after) = number_and_unit(text.trim())?;
    if !after.is_empty() {
        return Err(format!("{after:?} is one part too many"));
    }
    let factor = if unit.is_empty() { 1 } else { size_unit(unit)? };
    let bytes = number * factor as f64;
    if bytes >= i64::MAX as f64 {
        return Err("it is too large".to_owned());
    }
    Ok(bytes.round() as u64)
}

/// The shortest writing that reads back as the same time.
pub fn time_text(time: Duration) -> String {
    let mut left = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if left == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, factor) in MILLIS.iter().rev().filter(|(unit, _)| *unit != "w") {
        let count = left / factor;
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
        left %= factor;
    }
    text
}

/// The largest unit that leaves a whole number; decimal before binary.
pub fn size_text(bytes: u64) -> String {
    let fitting = |(_, factor): &&(&str, u64)| bytes >= *factor && bytes.is_multiple_of(*factor);
    let (unit, factor) =
        SIZES.iter().rev().filter(fitting).max_by_key(|(_, f)| *f).unwrap_or(&SIZES[0]);
    format!("{}{unit}", bytes / factor)
}

fn number_and_unit(text: &str) -> Result<(f64, &str, &str), String> {
    let digits_end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let number: f64 = text[..digits_end]
        .replace('_', "")
        .parse()
        .map_err(|_| format!("{text:?} does not begin with a number"))?;
    let rest = text[digits_end..].trim_start();
    let unit_end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    Ok((number, &rest[..unit_end], rest[unit_end..].trim_start()))
}

fn time_unit(unit: &str) -> Result<u64, String> {
    let short = match unit.to_lowercase().as_str() {
        "ms" | "millisecond" | "milliseconds" => "ms",
        "s" | "sec" | "second" | "seconds" => "s",
        "m" | "min" | "minute" | "minutes" => "m",
        "h" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        "w" | "week" | "weeks" => "w",
        _ => return Err(format!("{unit:?} is no unit of time")),
    };
    let (_, factor) = MILLIS.iter().find(|(name, _)| *name == short).unwrap_or(&MILLIS[1]);
    Ok(*factor)
}

fn size_unit(unit: &str) -> Result<u64, String> {
    SIZES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .map(|(_, factor)| *factor)
        .ok_or_else(|| format!("{unit:?} is no unit of size"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(text: &str) -> u128 {
        parse_time(text).unwrap().as_millis()
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(time("30s"), 30_000);
        assert_eq!(time("1m30s"), 90_000);
        assert_eq!(time("1m 30s"), 90_000);
        assert_eq!(time("250ms"), 250);
        assert_eq!(time("2h"), 7_200_000);
        assert_eq!(time("7d"), 604_800_000);
        assert_eq!(time("1 week"), 604_800_000);
        assert_eq!(time("1.5 hours"), 5_400_000);
        assert_eq!(time("0"), 0);
        assert_eq!(time("2"), 2_000);
        assert_eq!(time("0.25"), 250);
    }

    #[test]
    fn sizes_are_decimal_or_binary_as_written() {
        assert_eq!(parse_size("2MB"), Ok(2_000_000));
        assert_eq!(parse_size("64 KiB"), Ok(65_536));
        assert_eq!(parse_size("1.5 gb"), Ok(1_500_000_000));
        assert_eq!(parse_size("400_000"), Ok(400_000));
    }

    #[test]
    fn nonsense_is_refused_with_the_part_that_is_wrong() {
        assert_eq!(parse_time("2 minuts").unwrap_err(), "\"minuts\" is no unit of time");
        assert_eq!(parse_time("soon").unwrap_err(), "\"soon\" does not begin with a number");
        assert_eq!(parse_time("1m30").unwrap_err(), "the number 30 has no unit");
        assert_eq!(parse_time("-1s").unwrap_err(), "\"-1s\" does not begin with a number");
        assert_eq!(parse_time("").unwrap_err(), "it is empty");
        assert_eq!(parse_time("99999999d").unwrap_err(), "it is longer than a century");
        assert_eq!(parse_size("2M").unwrap_err(), "\"M\" is no unit of size");
        assert!(parse_size("1.2.3MB").is_err());
        assert!(parse_size("9e99").is_err());
    }

    #[test]
    fn sizes_and_times_are_printed_short() {
        assert_eq!(size_text(2_000_000), "2MB");
        assert_eq!(size_text(65_536), "64KiB");
        assert_eq!(size_text(1_234), "1234B");
        assert_eq!(size_text(0), "0B");
        assert_eq!(time_text(Duration::from_millis(90_250)), "1m30s250ms");
        assert_eq!(time_text(Duration::ZERO), "0s");
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_the_same(ms in 0_u64..TIME_MAX_MS, bytes in 0_u64..1 << 50) {
            let time = Duration::from_millis(ms);
            prop_assert_eq!(parse_time(&time_text(time)), Ok(time));
            prop_assert_eq!(parse_size(&size_text(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC{0,20}|[0-9._ a-zA-Zµ-]{0,12}") {
            let _ = parse_time(&text);
            let _ = parse_size(&text);
        }
    }
}
