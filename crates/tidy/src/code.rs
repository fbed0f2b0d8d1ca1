//! Rust text with comments and strings blanked out, line by line, so that a word in a remark is no use
//! of it. Not a parser: it knows just enough of the language's quoting.

/// The code alone. Lines keep their numbers; what is blanked out is gone.
pub fn code_only(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut lines = vec![String::new()];
    let mut at = 0;
    while at < chars.len() {
        let end = skip(&chars, at);
        if end == at {
            push(&mut lines, chars[at]);
            at += 1;
        } else {
            // A string leaves its quotes, so that `ignore = "why"` still shows that there is a why.
            if chars[at] != '/' {
                push(&mut lines, '"');
            }
            chars[at..end].iter().filter(|c| **c == '\n').for_each(|c| push(&mut lines, *c));
            at = end;
        }
    }
    lines
}

/// The lines before the first `#[cfg(test)]` that opens a module in this file: tests stand at the end.
pub fn without_tests(lines: &[String]) -> &[String] {
    let opens_tests = |pair: &[String]| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].contains("mod ") && pair[1].contains('{')
    };
    let end = lines.windows(2).position(opens_tests).unwrap_or(lines.len());
    &lines[..end]
}

fn push(lines: &mut Vec<String>, c: char) {
    if c == '\n' {
        lines.push(String::new());
    } else if let Some(line) = lines.last_mut() {
        line.push(c);
    }
}

/// The end of the comment or string that begins at `at`; `at` itself when none does.
fn skip(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    match rest {
        ['/', '/', ..] => at + rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => at + block_comment(rest),
        ['"', ..] => at + string(rest),
        ['r', '"' | '#', ..] if !continues_a_word(chars, at) => {
            raw_string(rest).map_or(at, |n| at + n)
        }
        ['\'', '\\', ..] => at + 3 + rest[3..].iter().position(|c| *c == '\'').map_or(0, |n| n + 1),
        ['\'', _, '\'', ..] => at + 3,
        _ => at,
    }
}

fn continues_a_word(chars: &[char], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|i| chars[i]);
    match before(1) {
        Some('b' | 'c') => before(2).is_some_and(|c| c.is_alphanumeric() || c == '_'),
        Some(c) => c.is_alphanumeric() || c == '_',
        None => false,
    }
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// `r"…"` or `r#"…"#`; `None` for a raw identifier such as `r#type`.
fn raw_string(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    let open = 1 + hashes;
    if rest.get(open) != Some(&'"') {
        return None;
    }
    let body = &rest[open + 1..];
    let closes = |i: &usize| {
        body[*i] == '"'
            && body[i + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
    };
    let end = (0..body.len()).find(closes).map_or(body.len(), |i| i + 1 + hashes);
    Some(open + 1 + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blanked_out_and_lines_kept() {
        let text = "a(); // now\n/* b\n /* c */ d */ e(\"x // y\\\"\", 'z', '\"', '\\'');\nr#\"q\n\"w\"#; f";
        assert_eq!(code_only(text), ["a(); ", "", " e(\", \", \", \");", "\"", "; f"]);
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        assert_eq!(code_only("fn a<'a>(r#type: &'a str)"), ["fn a<'a>(r#type: &'a str)"]);
    }

    #[test]
    fn the_tests_at_the_end_of_a_file_are_not_the_product() {
        let lines = code_only("a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\nmod tests {\nc\n}\n");
        assert_eq!(without_tests(&lines).len(), 4);
    }
}
