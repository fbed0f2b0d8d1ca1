//! Strings of the web made safe to print: the one rule for terminals, logs and messages.
//!
//! A title or URL may hold escape sequences that repaint the screen or retype commands, or marks that turn the reading
//! direction; none of them may reach a terminal.

use std::borrow::Cow;

/// The text with control and invisible characters, line breaks included, written out as `\u{1b}`. Borrowed when
/// clean.
pub fn printable(text: &str) -> Cow<'_, str> {
    if is_clean(text, |_| false) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(escaped(text, |_| false))
}

/// As [`printable`], but line breaks and tabs stay: for page texts of many lines.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let kept = |c| c == '\n' || c == '\t';
    if is_clean(text, kept) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(escaped(&text.replace("\r\n", "\n"), kept))
}

fn is_clean(text: &str, kept: impl Fn(char) -> bool) -> bool {
    let mut before = ' ';
    text.chars().all(|c| {
        let before = std::mem::replace(&mut before, c);
        kept(c) || !(is_unsafe(c) || is_stray(before, c))
    })
}

fn escaped(text: &str, kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    for c in text.chars() {
        match kept(c) || !(is_unsafe(c) || is_stray(before, c)) {
            true => shown.push(c),
            false => shown.extend(c.escape_default()),
        }
        before = c;
    }
    shown
}

/// At most `width` characters, the end replaced by `…` when it does not fit.
pub fn fit(text: &str, width: usize) -> Cow<'_, str> {
    if text.chars().count() <= width {
        return Cow::Borrowed(text);
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    Cow::Owned(cut)
}

/// Control characters (C0, DEL, C1), line and paragraph separators, marks that turn the direction, and what has no
/// width: two strings that look alike must be alike, and no text may hide in another. The soft hyphen is not among
/// them: many pages have one in each long word, and it marks where a word may be broken, as a reader knows.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        // Letters that show nothing.
        || matches!(c, '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}')
        || matches!(c, '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
        // Tags: a second alphabet that nobody sees. Between them lie the variation selectors.
        || matches!(c, '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// Joiners and variation selectors are part of how Persian, Indic scripts, ideographs and emoji are written; anywhere
/// else, and in rows, they only hide.
fn is_stray(before: char, c: char) -> bool {
    let joins = |c| matches!(c, '\u{200c}' | '\u{200d}');
    let selects = |c| matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
    let behind_sign = !before.is_whitespace() && !is_unsafe(before) && !joins(before);
    match c {
        c if joins(c) => before.is_ascii() || !behind_sign,
        // `#` and digits become keys by a selector.
        c if selects(c) => before.is_ascii_alphabetic() || !behind_sign || selects(before),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_text_is_shown_as_it_is() {
        assert!(matches!(printable("Ünï – 日本"), Cow::Borrowed("Ünï – 日本")));
    }

    #[test]
    fn no_control_character_or_direction_mark_reaches_a_terminal() {
        let nasty = "a\u{1b}]0;x\u{7}b\r\nc\u{9b}2Jd\u{202e}e\u{2028}\u{0}\u{7f}";
        let shown = printable(nasty);
        assert!(!shown.chars().any(is_unsafe), "{shown:?}");
        assert!(shown.starts_with("a\\u{1b}]0;x\\u{7}b\\r\\nc\\u{9b}2Jd"));
    }

    #[test]
    fn what_nobody_sees_is_written_out() {
        for hidden in
            "\u{feff}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\
             \u{202e}\u{2060}\u{2061}\u{2064}\u{2066}\u{2069}\u{206f}\u{180e}\u{3164}\u{fe0f}\u{fff9}\u{e0001}\
             \u{e0041}\u{e007f}\u{e0100}"
                .chars()
        {
            let text = format!("pay{hidden}pal");
            let escaped = format!("pay\\u{{{:x}}}pal", u32::from(hidden));
            assert_eq!(printable(&text), escaped);
            assert_eq!(printable_lines(&text), escaped);
        }
        assert_eq!(printable("日\u{200d}\u{200d}\u{fe0f}"), "日\u{200d}\\u{200d}\\u{fe0f}");
    }

    #[test]
    fn joiners_and_selectors_stay_where_scripts_need_them() {
        for text in [
            "می\u{200c}خواهم",
            "ක්\u{200d}ෂ",
            "❤\u{fe0f}\u{200d}🔥",
            "👩\u{200d}👩\u{200d}👧",
            "1\u{fe0f}\u{20e3}",
            "葛\u{e0100}城",
            "Wort\u{ad}teil",
        ] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn texts_of_many_lines_keep_their_lines_only() {
        assert_eq!(printable_lines("a\r\n\tb\u{1b}[1m\rc"), "a\n\tb\\u{1b}[1m\\rc");
    }

    #[test]
    fn what_does_not_fit_ends_in_an_ellipsis() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("abcd", 4), "abcd");
        assert_eq!(fit("日本語", 2), "日…");
    }
}
