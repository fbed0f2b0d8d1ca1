//! What a style sheet (or a `style` attribute) names: `url(…)`, `@import "…"`, strings of `image-set(…)`.
//!
//! CSS Syntax 3, section 4.3, as far as it is needed to tell references from strings, comments and other
//! names. One pass, forward only; whatever is broken is read over as browsers do. `@namespace` names an
//! XML vocabulary by a URL that nobody loads.

use std::borrow::Cow;

pub(super) fn references<'c>(css: &'c str, found: &mut impl FnMut(Cow<'c, str>)) {
    let mut scanner = Scanner { css, at: 0 };
    let mut place = Place::default();
    while let Some(byte) = scanner.peek() {
        match byte {
            b'/' if scanner.byte(1) == Some(b'*') => scanner.comment(),
            b'"' | b'\'' => {
                let text = scanner.string(byte);
                if let Some(text) = text.filter(|_| place.is_reference()) {
                    found(text);
                }
                place.import = false;
            }
            b'@' => {
                scanner.at += 1;
                let name = scanner.name();
                place.import = name.eq_ignore_ascii_case("import");
                place.namespace = name.eq_ignore_ascii_case("namespace");
            }
            byte if is_space(byte) => scanner.at += 1,
            _ if scanner.is_name() => named(&mut scanner, &mut place, found),
            byte => {
                scanner.at += 1;
                place.pass(byte);
            }
        }
    }
}

/// At a name; perhaps that of a function.
fn named<'c>(scanner: &mut Scanner<'c>, place: &mut Place, found: &mut impl FnMut(Cow<'c, str>)) {
    let name = scanner.name();
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    if scanner.peek() == Some(b'(') {
        scanner.at += 1;
        if is("url") {
            match scanner.url() {
                Url::Here(text) if !place.namespace => found(text),
                Url::Here(_) | Url::Broken => {}
                // The function goes on behind its string, up to the parenthesis.
                Url::Quoted(text) => {
                    place.depth += 1;
                    text.filter(|_| !place.namespace).into_iter().for_each(found);
                }
            }
        } else {
            place.depth += 1;
            if is("image-set") || is("-webkit-image-set") {
                place.image_set = Some(place.depth);
            }
        }
    }
    place.import = false;
}

/// Where in the style we are, as far as strings mean something.
#[derive(Default)]
struct Place {
    /// Right behind `@import`.
    import: bool,
    namespace: bool,
    /// Open parentheses.
    depth: u32,
    /// The depth of the `image-set(` we are in.
    image_set: Option<u32>,
}

impl Place {
    fn is_reference(&self) -> bool {
        self.import || self.image_set == Some(self.depth)
    }

    fn pass(&mut self, byte: u8) {
        self.import = false;
        match byte {
            b'(' => self.depth += 1,
            b')' => {
                if self.image_set == Some(self.depth) {
                    self.image_set = None;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b';' | b'{' | b'}' => *self = Place::default(),
            _ => {}
        }
    }
}

enum Url<'c> {
    Here(Cow<'c, str>),
    /// As a string; `None` when that is broken.
    Quoted(Option<Cow<'c, str>>),
    Broken,
}

/// `at` is on a character's first byte wherever something is cut: all marks are ASCII.
struct Scanner<'c> {
    css: &'c str,
    at: usize,
}

impl<'c> Scanner<'c> {
    fn peek(&self) -> Option<u8> {
        self.byte(0)
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.css.as_bytes().get(self.at + ahead).copied()
    }

    fn comment(&mut self) {
        let rest = &self.css.as_bytes()[self.at + 2..];
        let end = memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2);
        self.at += 2 + end;
    }

    fn is_name(&self) -> bool {
        match self.peek() {
            Some(b'\\') => self.byte(1).is_some_and(|next| !is_newline(next)),
            Some(byte) => byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | 0x80..),
            None => false,
        }
    }

    fn name(&mut self) -> Cow<'c, str> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            if byte.is_ascii_digit() || (self.is_name() && byte != b'\\') {
                self.at += 1;
            } else if self.is_name() {
                self.escape();
            } else {
                break;
            }
        }
        unescaped(&self.css[start..self.at])
    }

    /// At the opening quote. `None` when a line ends inside.
    fn string(&mut self, quote: u8) -> Option<Cow<'c, str>> {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.peek() {
            if byte == quote {
                self.at += 1;
                return Some(unescaped(&self.css[start..self.at - 1]));
            }
            match byte {
                b'\\' => self.escape(),
                byte if is_newline(byte) => return None,
                _ => self.at += 1,
            }
        }
        Some(unescaped(&self.css[start..]))
    }

    /// Behind `url(`.
    fn url(&mut self) -> Url<'c> {
        self.spaces();
        if let Some(quote @ (b'"' | b'\'')) = self.peek() {
            return Url::Quoted(self.string(quote));
        }
        let start = self.at;
        loop {
            match self.peek() {
                None | Some(b')') => break,
                Some(byte) if is_space(byte) => break,
                Some(b'"' | b'\'' | b'(' | 0..=0x1f | 0x7f) => return self.broken_url(),
                Some(b'\\') if self.byte(1).is_some_and(is_newline) => return self.broken_url(),
                Some(b'\\') => self.escape(),
                Some(_) => self.at += 1,
            }
        }
        let text = &self.css[start..self.at];
        self.spaces();
        match self.peek() {
            None | Some(b')') => self.at = self.css.len().min(self.at + 1),
            Some(_) => return self.broken_url(),
        }
        Url::Here(unescaped(text))
    }

    /// What is left of a broken one ends at its parenthesis too.
    fn broken_url(&mut self) -> Url<'c> {
        while let Some(byte) = self.peek() {
            match byte {
                b')' => {
                    self.at += 1;
                    break;
                }
                b'\\' => self.escape(),
                _ => self.at += 1,
            }
        }
        Url::Broken
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// At a backslash: past what it stands for.
    fn escape(&mut self) {
        let (_, length) = escaped(&self.css[self.at + 1..]);
        self.at += 1 + length;
    }
}

/// Escapes resolved; borrowed where there are none.
fn unescaped(text: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', text.as_bytes()) else { return Cow::Borrowed(text) };
    let mut plain = String::with_capacity(text.len());
    plain.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(behind) = rest.strip_prefix('\\') {
        let (character, length) = escaped(behind);
        plain.extend(character);
        rest = &behind[length..];
        let next = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        plain.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    Cow::Owned(plain)
}

/// What the text behind a backslash stands for, and its length. A line end stands for nothing.
fn escaped(text: &str) -> (Option<char>, usize) {
    let digits = text.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
    if digits == 0 {
        return match text.chars().next() {
            Some('\r') if text[1..].starts_with('\n') => (None, 2),
            Some('\n' | '\r' | '\x0c') => (None, 1),
            Some(character) => (Some(character), character.len_utf8()),
            None => (None, 0),
        };
    }
    // Six digits always fit; zero, surrogates and what is beyond Unicode become U+FFFD.
    let number = u32::from_str_radix(&text[..digits], 16).unwrap_or(0);
    let character = char::from_u32(number).filter(|c| *c != '\0').unwrap_or('\u{fffd}');
    let behind = &text.as_bytes()[digits..];
    let space = match behind {
        [b'\r', b'\n', ..] => 2,
        [byte, ..] if is_space(*byte) => 1,
        _ => 0,
    };
    (Some(character), digits + space)
}

fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0x0c)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t') || is_newline(byte)
}
