//! The only way from strings of the web to a terminal, and from the program to standard output.
//!
//! A title or URL may hold escape sequences that repaint the screen or retype commands, or marks that
//! turn the reading direction; none of them reaches a terminal. A closed pipe (`… | head`) is no error.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    borrow::Cow,
    io::{self, IsTerminal, Write},
};

use crate::exit::{Failure, io_advice};

/// The text with control characters, line breaks included, written out as `\u{1b}`. Borrowed when clean.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// As [`printable`], but line breaks and tabs stay: for page texts of many lines.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let kept = |c| c == '\n' || c == '\t' || !is_unsafe(c);
    if text.chars().all(kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.replace("\r\n", "\n").chars() {
        if kept(c) { shown.push(c) } else { shown.extend(c.escape_default()) }
    }
    Cow::Owned(shown)
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

/// Writes to standard output as it is: pass what came from the web through [`printable`] first, unless
/// the output is JSON, which escapes by itself, or a body the user asked for byte by byte.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(without_marks(text).as_bytes())
}

/// JSON leaves these as they are, and some terminals obey them: as `\u009b`, which JSON reads the same.
fn without_marks(text: &str) -> Cow<'_, str> {
    let marks = |c: char| is_unsafe(c) && c >= '\u{7f}';
    if !text.contains(marks) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match marks(c) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::fault(
            format!("cannot write to standard output: {error}"),
            io_advice(error.kind()),
        )),
        _ => Ok(()),
    }
}

/// Where the log goes: what a server said may stand in it, and must not drive the terminal. The log's own colours
/// pass, where it has any.
#[derive(Clone, Copy, Debug)]
pub struct LogWriter {
    pub colours: bool,
}

impl Write for LogWriter {
    /// A whole line at a time: the log hands over no less.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let shown = match self.colours {
            true => coloured(&text),
            false => printable_lines(&text).into_owned(),
        };
        io::stderr().lock().write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

/// As [`printable_lines`], but sequences that only set colours stay.
fn coloured(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut parts = text.split('\u{1b}');
    shown.push_str(&printable_lines(parts.next().unwrap_or_default()));
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && !matches!(c, '[' | ';'));
        let is_colour =
            part.starts_with('[') && end.is_some_and(|end| part[end..].starts_with('m'));
        shown.push_str(if is_colour { "\u{1b}" } else { "\\u{1b}" });
        shown.push_str(&printable_lines(part));
    }
    shown
}

/// What a panic says may hold what a page said.
pub fn tame_panics() {
    std::panic::set_hook(Box::new(|panic| {
        remark(&format!("harvestman: {}", printable_lines(&panic.to_string())));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            remark(&trace.to_string());
        }
    }));
}

/// A line on standard error, where progress and remarks go; a closed standard error is ignored.
pub fn remark(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether to colour standard output when nobody says: on a terminal, unless `NO_COLOR` forbids it
/// (no-color.org).
pub fn wants_colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Control characters (C0, DEL, C1), line and paragraph separators, and marks that turn the direction.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}')
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
    fn texts_of_many_lines_keep_their_lines_only() {
        assert_eq!(printable_lines("a\r\n\tb\u{1b}[1m\rc"), "a\n\tb\\u{1b}[1m\\rc");
    }

    #[test]
    fn of_the_log_only_colours_reach_a_terminal() {
        let line = "\u{1b}[31mERROR\u{1b}[0m url=\u{1b}]0;x\u{7} \u{1b}[2J\u{9b}1m\n";
        let shown = coloured(line);
        assert_eq!(shown, "\u{1b}[31mERROR\u{1b}[0m url=\\u{1b}]0;x\\u{7} \\u{1b}[2J\\u{9b}1m\n");
    }

    #[test]
    fn what_does_not_fit_ends_in_an_ellipsis() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("abcd", 4), "abcd");
        assert_eq!(fit("日本語", 2), "日…");
    }
}
