//! Lines for people: a label and what belongs to it, broken between words so that it fits 80 columns.

use std::fmt::Write;

/// What fits every terminal.
pub const WIDTH: usize = 80;
/// Where values begin behind their labels.
pub const INDENT: usize = 12;

/// `label       value`, with the value in as many lines as it takes. A word that is too long for a line has
/// one of its own and is not broken: it may be a URL that somebody copies.
pub fn field(text: &mut String, label: &str, value: &str) {
    paragraph(text, &format!("{label:<INDENT$}"), INDENT, value);
}

/// Words behind `first`; further lines are indented.
pub fn paragraph(text: &mut String, first: &str, indent: usize, value: &str) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in value.split(' ') {
        let space = usize::from(!is_empty);
        if !is_empty && line.chars().count() + space + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{}", line.trim_end());
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_broken_between_words_and_long_words_stay_whole() {
        let mut text = String::new();
        let url = format!("https://example.org/{}", "long/".repeat(20));
        field(&mut text, "seed", &format!("{} {url} end", "word ".repeat(20).trim_end()));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("seed        word word"), "{text}");
        assert!(lines.iter().any(|line| line.trim() == url), "{text}");
        assert!(lines[1..].iter().all(|line| line.starts_with("            ")), "{text}");
        assert!(lines.iter().all(|line| line.contains(&url) || line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn a_short_value_is_one_line() {
        let mut text = String::new();
        field(&mut text, "state", "done");
        assert_eq!(text, "state       done\n");
    }
}
