//! The only way from strings of the web to a terminal, and from the program to standard output.
//!
//! A title or URL may hold escape sequences that repaint the screen or retype commands, marks that turn the
//! reading direction, or characters that nobody sees; none of them reaches a terminal. A closed pipe (`… | head`)
//! is no error.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    borrow::Cow,
    io::{self, IsTerminal, Write},
};

use config::failure::{Failure, io_advice};
use engine::remark;
use model::{is_unsafe, printable_lines};
use serde::Serialize;

/// Writes to standard output as it is: pass what came from the web through [`printable`] first, unless
/// the output is JSON, which escapes by itself, or a body the user asked for byte by byte.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(without_marks(text).as_bytes())
}

/// An answer of the collection for a program.
pub fn print_json(answer: &impl Serialize) -> Result<(), Failure> {
    print(&format!("{}\n", as_json(serde_json::to_string_pretty(answer))?))
}

/// The same on one line, for answers that are many.
pub fn json_line(answer: &impl Serialize) -> Result<String, Failure> {
    Ok(format!("{}\n", as_json(serde_json::to_string(answer))?))
}

fn as_json(text: serde_json::Result<String>) -> Result<String, Failure> {
    text.map_err(|error| {
        Failure::fault(format!("cannot write the answer as JSON: {error}"), "report this as a bug")
    })
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
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                shown.push_str(&format!("\\u{unit:04x}"));
            }),
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

pub fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether to colour standard output when nobody says: on a terminal, unless `NO_COLOR` forbids it
/// (no-color.org).
pub fn wants_colour() -> bool {
    stdout_is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns for tables: those of the terminal, and 80 where there is none or it is narrower.
pub fn width() -> usize {
    const LEAST: usize = 80;
    let size = console::Term::stdout().size_checked();
    size.map_or(LEAST, |(_, columns)| usize::from(columns).max(LEAST))
}

pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_the_same_without_marks() {
        let text = "a\u{feff}\u{e0041}\u{9b}é";
        let json = serde_json::to_string(text).unwrap();
        let shown = without_marks(&json);
        assert!(!shown.chars().any(is_unsafe), "{shown:?}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }

    #[test]
    fn of_the_log_only_colours_reach_a_terminal() {
        let line = "\u{1b}[31mERROR\u{1b}[0m url=\u{1b}]0;x\u{7} \u{1b}[2J\u{9b}1m\n";
        let shown = coloured(line);
        assert_eq!(shown, "\u{1b}[31mERROR\u{1b}[0m url=\\u{1b}]0;x\\u{7} \\u{1b}[2J\\u{9b}1m\n");
    }
}
