//! Messages that fit a terminal: lines break between words, and what follows stands below what it belongs to.
//!
//! Lines with a command stay whole: broken ones could not be copied.

/// Columns that are left to text at least, however narrow the terminal and deep the indentation.
const TEXT_MIN: usize = 20;

/// Each line that is wider than the terminal as several.
pub fn wrapped(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.lines().map(|line| wrapped_line(line, width)).collect();
    lines.join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width || line.contains("harvestman ") {
        return line.to_owned();
    }
    let indent = hanging(line).min(width.saturating_sub(TEXT_MIN));
    let (start, words) = line.split_at(line.len() - line.trim_start().len());
    let mut rows = vec![start.to_owned()];
    let mut used = start.chars().count();
    // Blanks between the words of one row stay as they are.
    for word in words.split_inclusive(' ') {
        let (bare, full) = (word.trim_end().chars().count(), word.chars().count());
        if used + bare > width && used > indent {
            rows.push(" ".repeat(indent));
            used = indent;
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(word);
        }
        used += full;
    }
    rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>().join("\n")
}

/// Where the next row begins: below the text behind a number in a column of its own, else below the first word.
fn hanging(line: &str) -> usize {
    let body = line.trim_start();
    let lead = line.chars().count() - body.chars().count();
    if let Some(failure) = body.strip_prefix("harvestman: ") {
        return lead + body.len() - failure.len();
    }
    let Some((column, rest)) = body.split_once("  ") else { return lead };
    if column.contains(' ') {
        return lead;
    }
    let gap = rest.chars().count() - rest.trim_start().chars().count();
    lead + column.chars().count() + 2 + gap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_below_what_they_belong_to() {
        let line = "     121  meta robots or X-Robots-Tag: nofollow, such as http://s3.sim.test/";
        let expected = "     121  meta robots or\n          X-Robots-Tag: nofollow,\n          such as\n          http://s3.sim.test/";
        assert_eq!(wrapped(line, 34), expected);
        assert_eq!(
            wrapped("  a failure of thirty letters\nd", 25),
            "  a failure of thirty\n  letters\nd"
        );
        assert_eq!(wrapped("short", 80), "short");
    }

    #[test]
    fn words_that_do_not_fit_and_commands_stay_whole() {
        let long = "x".repeat(30);
        assert_eq!(wrapped(&format!("a {long} b"), 10), format!("a\n{long}\nb"));
        let command = "continue with: harvestman crawl http://a.example/ --delay 0";
        assert_eq!(wrapped(command, 20), command);
    }

    #[test]
    fn no_row_is_wider_than_the_terminal_where_words_are_not() {
        let text = "    the page or the link asks not to; crawl.follow_nofollow = true follows marked links";
        for width in 30..100 {
            for row in wrapped(text, width).lines() {
                assert!(row.chars().count() <= width, "{width}: {row}");
            }
        }
    }
}
