//! What is written twice in `harvest.toml`, in words: TOML's own "duplicate key" names neither key nor section.

/// `line`: where the second one stands, from 1. `None` where it cannot be found again.
pub fn describe(text: &str, line: usize) -> Option<(String, String)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let second = line.checked_sub(1).filter(|at| *at < lines.len())?;
    match header(lines[second]) {
        Some(name) => {
            let first = (0..second).find(|at| defines(&lines, *at, name));
            let what = format!("[{name}] stands there a second time{}", place(first));
            Some((what, format!("write all keys of [{name}] below one line [{name}]")))
        }
        None => {
            let (name, section) = (key(lines[second])?, section_at(&lines, second));
            let first = (0..second)
                .find(|at| key(lines[*at]) == Some(name) && section_at(&lines, *at) == section);
            let within = section.map_or(String::new(), |section| format!(" in [{section}]"));
            let what = format!("{name:?}{within} stands there a second time{}", place(first));
            Some((what, "leave one of them".to_owned()))
        }
    }
}

fn place(first: Option<usize>) -> String {
    first.map_or(String::new(), |at| format!("; first on line {}", at + 1))
}

/// The name in `[name]` or `[[name]]`.
fn header(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?;
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    inner.split_once(']').map(|(name, _)| name.trim())
}

fn key(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('=')?;
    (!line.starts_with(['#', '['])).then(|| name.trim().trim_matches('"'))
}

fn section_at<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    lines[..at].iter().rev().find_map(|line| header(line))
}

/// By its own line, or by a key with its name before a dot.
fn defines(lines: &[&str], at: usize, section: &str) -> bool {
    let dotted = || key(lines[at])?.split_once('.').map(|(name, _)| name.trim());
    header(lines[at]) == Some(section)
        || section_at(lines, at).is_none() && dotted() == Some(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, line: usize) -> String {
        describe(text, line).unwrap().0
    }

    #[test]
    fn a_second_section_or_key_is_named_with_the_line_of_the_first() {
        let text = "[crawl]\npages = 1\n\n[fetch]\nhttp2 = true\n [crawl] # again\ndepth = 2\n";
        assert_eq!(said(text, 6), "[crawl] stands there a second time; first on line 1");
        let text = "[fetch]\npages = 3\n[crawl]\npages = 1\n# pages = 4\npages = 2\n";
        assert_eq!(
            said(text, 6),
            "\"pages\" in [crawl] stands there a second time; first on line 4"
        );
        let text = "crawl.pages = 1\n[crawl]\n";
        assert_eq!(said(text, 2), "[crawl] stands there a second time; first on line 1");
        assert_eq!(describe(text, 9), None);
        assert_eq!(describe("", 0), None);
    }
}
