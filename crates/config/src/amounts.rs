//! Counts, sizes and lengths of time as people read them: `12,345`, `3 pages`, `1.2 MB`, `1h4m`.

use std::time::Duration;

use crate::units::time_text;

/// `12,345`.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 page`, `1,204 pages`.
pub fn some(n: u64, one: &str) -> String {
    format!("{} {one}{}", number(n), if n == 1 { "" } else { "s" })
}

/// `1.2 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1_000.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// Whole seconds, at most two units: `1h4m`, `3m20s`, `5s`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let coarse = match seconds {
        0..3_600 => seconds,
        3_600..86_400 => seconds - seconds % 60,
        _ => seconds - seconds % 3_600,
    };
    time_text(Duration::from_secs(coarse))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(clock(Duration::from_millis(5_900)), "5s");
        assert_eq!(clock(Duration::from_secs(90_061)), "1d1h");
    }
}
