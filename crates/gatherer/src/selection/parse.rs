//! The text of selectors to their parts (Selectors level 4, as far as [`super`] goes).

use std::{iter::Peekable, str::CharIndices};

use super::{Join, Part, Test};

/// A selector longer than this was not written by hand.
const BYTES_MAX: usize = 1_000;
const KNOWN: &str =
    "known are tags, #id, .class, [attribute] and [attribute=value], joined by spaces or >";

/// The selectors of a list `a, b`, each as its parts from left to right.
pub(super) fn selectors(text: &str) -> Result<Vec<Vec<Part>>, String> {
    if text.len() > BYTES_MAX {
        return Err(format!("a selector has more than {BYTES_MAX} bytes"));
    }
    let mut reader = Reader { text, chars: text.char_indices().peekable() };
    let mut found = Vec::new();
    loop {
        found.push(reader.selector()?);
        match reader.chars.next() {
            None => return Ok(found),
            Some((_, ',')) => {}
            Some((at, other)) => return Err(reader.unexpected(at, other)),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
}

impl Reader<'_> {
    /// Up to a comma or the end.
    fn selector(&mut self) -> Result<Vec<Part>, String> {
        let mut parts = Vec::new();
        let mut join = Join::Anywhere;
        self.skip_space();
        loop {
            parts.push(self.part(join)?);
            let spaced = self.skip_space();
            join = match self.chars.peek() {
                None | Some((_, ',')) => return Ok(parts),
                Some((_, '>')) => {
                    self.chars.next();
                    self.skip_space();
                    Join::Child
                }
                Some(_) if spaced => Join::Inside,
                Some(&(at, other)) => return Err(self.unexpected(at, other)),
            };
        }
    }

    fn part(&mut self, join: Join) -> Result<Part, String> {
        let mut part = Part { join, name: None, tests: Vec::new() };
        let mut any = false;
        match self.chars.peek() {
            Some((_, '*')) => {
                self.chars.next();
                any = true;
            }
            Some(&(_, c)) if is_word(c) => part.name = Some(self.word()?.to_ascii_lowercase()),
            _ => {}
        }
        loop {
            let test = match self.chars.peek() {
                Some((_, '#')) => Test::Id(self.after_mark()?),
                Some((_, '.')) => Test::Class(self.after_mark()?),
                Some((_, '[')) => self.attribute()?,
                _ => break,
            };
            part.tests.push(test);
        }
        if any || part.name.is_some() || !part.tests.is_empty() {
            return Ok(part);
        }
        match self.chars.peek() {
            Some(&(at, other)) => Err(self.unexpected(at, other)),
            None => Err("it ends where a tag, #id or .class is expected".to_owned()),
        }
    }

    fn after_mark(&mut self) -> Result<String, String> {
        self.chars.next();
        self.word()
    }

    /// `[name]`, `[name=word]` or `[name="any text"]`.
    fn attribute(&mut self) -> Result<Test, String> {
        self.chars.next();
        self.skip_space();
        let name = self.word()?.to_ascii_lowercase();
        self.skip_space();
        let test = match self.chars.next() {
            Some((_, ']')) => return Ok(Test::Has(name)),
            Some((_, '=')) => {
                self.skip_space();
                Test::Is(name, self.value()?)
            }
            Some((at, other)) => return Err(self.unexpected(at, other)),
            None => return Err(unclosed("[")),
        };
        self.skip_space();
        match self.chars.next() {
            Some((_, ']')) => Ok(test),
            Some((at, other)) => Err(self.unexpected(at, other)),
            None => Err(unclosed("[")),
        }
    }

    fn value(&mut self) -> Result<String, String> {
        let quote = match self.chars.peek() {
            Some(&(_, quote @ ('"' | '\''))) => quote,
            _ => return self.word(),
        };
        self.chars.next();
        let mut value = String::new();
        while let Some((_, c)) = self.chars.next() {
            match c {
                _ if c == quote => return Ok(value),
                '\\' => value.push(self.escaped()?),
                _ => value.push(c),
            }
        }
        Err(unclosed(&quote.to_string()))
    }

    fn word(&mut self) -> Result<String, String> {
        let mut word = String::new();
        while let Some(&(_, c)) = self.chars.peek().filter(|(_, c)| is_word(*c)) {
            self.chars.next();
            word.push(if c == '\\' { self.escaped()? } else { c });
        }
        match (word.is_empty(), self.chars.peek()) {
            (false, _) => Ok(word),
            (true, Some(&(at, other))) => Err(self.unexpected(at, other)),
            (true, None) => Err("it ends where a name is expected".to_owned()),
        }
    }

    /// The character behind a backslash stands for itself.
    fn escaped(&mut self) -> Result<char, String> {
        match self.chars.next() {
            Some((_, c)) if !c.is_ascii_hexdigit() => Ok(c),
            _ => Err("behind \\ comes one character that stands for itself".to_owned()),
        }
    }

    fn skip_space(&mut self) -> bool {
        let mut skipped = false;
        while self.chars.next_if(|(_, c)| c.is_ascii_whitespace()).is_some() {
            skipped = true;
        }
        skipped
    }

    fn unexpected(&self, at: usize, found: char) -> String {
        let place = self.text.get(..at).map_or(0, |before| before.chars().count()) + 1;
        format!("{found:?} at character {place} is not understood; {KNOWN}")
    }
}

fn unclosed(mark: &str) -> String {
    format!("a {mark} is never closed")
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '\\') || !c.is_ascii()
}
