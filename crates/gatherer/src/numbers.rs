//! The numbers in a word of a text: `1,234.5`, `€19.99`, `3:1`, `人口12345人`. What they say is content: results, prices,
//! populations. Dates say nothing, for calendars have no end of them; nor does what is part of a name (`B2B`, `a3f2`).

/// Hands each number of a word, with the marks inside it, to `tell`.
pub fn each_number(word: &[u8], mut tell: impl FnMut(&[u8])) {
    let mut at = 0;
    while let Some(found) = word[at..].iter().position(u8::is_ascii_digit) {
        let start = at + found;
        let end = end_of(word, start);
        at = end;
        let is_in_name = start > 0 && word[start - 1].is_ascii_alphabetic();
        if !is_in_name && !is_date(&word[start..end], word.get(end)) {
            tell(&word[start..end]);
        }
    }
}

/// Digits, and marks between digits.
fn end_of(word: &[u8], start: usize) -> usize {
    let mut end = start;
    while let Some(byte) = word.get(end) {
        let is_inside = is_mark(*byte) && word.get(end + 1).is_some_and(u8::is_ascii_digit);
        if !byte.is_ascii_digit() && !is_inside {
            break;
        }
        end += 1;
    }
    end
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, b'.' | b',' | b':' | b'/' | b'-')
}

/// `2026-11-16`, `16/11`, `16.11.26`, `16.11.`, `2026/11`. Two numbers with one point between them are a decimal.
fn is_date(number: &[u8], behind: Option<&u8>) -> bool {
    let Some(mark) = number.iter().copied().find(|byte| is_mark(*byte)) else { return false };
    if !matches!(mark, b'.' | b'/' | b'-') {
        return false;
    }
    let (mut parts, mut years) = (0, 0);
    for part in number.split(|byte| *byte == mark) {
        match part {
            [b'1', b'9', _, _] | [b'2', b'0', _, _] if all_digits(part) => years += 1,
            [_] => {}
            [tens, ones] if parts == 2 || (*tens, *ones) <= (b'3', b'1') => {}
            _ => return false,
        }
        if !all_digits(part) {
            return false;
        }
        parts += 1;
    }
    match parts {
        2 if mark == b'.' => years == 1 || behind == Some(&b'.'),
        2 if mark == b'-' => years == 1,
        2 | 3 => years <= 1,
        _ => false,
    }
}

fn all_digits(part: &[u8]) -> bool {
    part.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::each_number;

    fn numbers(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for word in text.split(' ') {
            each_number(word.as_bytes(), |n| found.push(String::from_utf8_lossy(n).into_owned()));
        }
        found
    }

    #[test]
    fn numbers_are_told_with_their_marks_and_dates_and_names_are_not() {
        let told = numbers("(1,234.5) €19.99 3:1 人口12345人面積7 12:33:01 61–70 5th 0.0023s 3-1");
        let expected = ["1,234.5", "19.99", "3:1", "12345", "7", "12:33:01", "61", "70", "5"];
        assert_eq!(told, [&expected[..], &["0.0023", "3-1"]].concat());
        assert_eq!(numbers("12.25 31.5 3.1%"), ["12.25", "31.5", "3.1"]);
        let dates = "2026-11-16 16/11 11/16 16.11.26 03.11. 2026/11 2026-11-16T12:33 11.2026";
        assert_eq!(numbers(dates), [""; 0]);
        assert_eq!(numbers("B2B a3f2c1 mp3 v2.0"), [""; 0]);
    }

    proptest! {
        #[test]
        fn any_word_is_read(word in "[0-9a-z.,:/é漢-]{0,40}") {
            each_number(word.as_bytes(), |number| assert!(number[0].is_ascii_digit()));
        }
    }
}
