//! The HTML standard's "prescan a byte stream to determine its encoding" (13.2.3.2), on bytes whose
//! encoding is not known yet.

use encoding_rs::Encoding;

/// `None` when the bytes declare nothing (known), or end too early to tell.
pub(crate) fn prescan(bytes: &[u8]) -> Option<&'static Encoding> {
    let mut scan = Scan { bytes, at: 0 };
    loop {
        scan.at += memchr::memchr(b'<', scan.rest())?;
        if scan.rest().starts_with(b"<!--") {
            // The dashes of the opening may also close: `<!-->`.
            scan.at += 2;
            scan.at += memchr::memmem::find(scan.rest(), b"-->")? + 3;
        } else if scan.is_meta() {
            scan.at += 5;
            if let Some(encoding) = meta(&mut scan)? {
                return Some(encoding);
            }
        } else if scan.is_tag() {
            scan.at += scan.rest().iter().position(|&b| is_space(b) || b == b'>')?;
            while scan.attribute()?.is_some() {}
        } else if matches!(scan.rest().get(1), Some(b'!' | b'/' | b'?')) {
            scan.at += memchr::memchr(b'>', scan.rest())? + 1;
        } else {
            scan.at += 1;
        }
    }
}

/// `None`: the bytes ended. `Some(None)`: this tag declares nothing.
fn meta(scan: &mut Scan<'_>) -> Option<Option<&'static Encoding>> {
    let mut seen: Vec<String> = Vec::new();
    let mut got_pragma = false;
    let mut need_pragma = None;
    let mut encoding = None;
    while let Some((name, value)) = scan.attribute()? {
        if seen.contains(&name) {
            continue;
        }
        match name.as_str() {
            "http-equiv" => got_pragma |= value == "content-type",
            "content" if encoding.is_none() => {
                encoding = charset_in_content(&value);
                if encoding.is_some() {
                    need_pragma = Some(true);
                }
            }
            "charset" => {
                encoding = Encoding::for_label(value.as_bytes());
                need_pragma = Some(false);
            }
            _ => {}
        }
        seen.push(name);
    }
    Some(match need_pragma {
        Some(need) if !need || got_pragma => encoding,
        _ => None,
    })
}

/// "Extracting a character encoding from a meta element": the first `charset=` that has a value.
fn charset_in_content(content: &str) -> Option<&'static Encoding> {
    let mut rest = content;
    let value = loop {
        rest = &rest[rest.find("charset")? + 7..];
        if let Some(value) = rest.trim_start_matches(is_space_char).strip_prefix('=') {
            break value.trim_start_matches(is_space_char);
        }
    };
    let label = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split_once(quote)?.0,
        _ => value.split(|c| is_space_char(c) || c == ';').next()?,
    };
    Encoding::for_label(label.as_bytes())
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn is_meta(&self) -> bool {
        let rest = self.rest();
        rest.get(..5).is_some_and(|tag| tag.eq_ignore_ascii_case(b"<meta"))
            && rest.get(5).is_some_and(|&b| is_space(b) || b == b'/')
    }

    fn is_tag(&self) -> bool {
        match self.rest() {
            [b'<', b'/', letter, ..] | [b'<', letter, ..] => letter.is_ascii_alphabetic(),
            _ => false,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// "Get an attribute": name and value in lower case. `None`: the bytes ended. `Some(None)`: the
    /// tag did.
    fn attribute(&mut self) -> Option<Option<(String, String)>> {
        while self.peek().is_some_and(|b| is_space(b) || b == b'/') {
            self.at += 1;
        }
        if self.peek()? == b'>' {
            return Some(None);
        }
        let mut name = String::new();
        loop {
            match self.peek()? {
                b'=' if !name.is_empty() => break,
                b'/' | b'>' => return Some(Some((name, String::new()))),
                byte if is_space(byte) => break,
                byte => name.push(char::from(byte.to_ascii_lowercase())),
            }
            self.at += 1;
        }
        self.skip_space();
        if self.peek()? != b'=' {
            return Some(Some((name, String::new())));
        }
        self.at += 1;
        self.skip_space();
        let value = self.value()?;
        Some(Some((name, value)))
    }

    fn value(&mut self) -> Option<String> {
        let quote = self.peek()?;
        let quoted = matches!(quote, b'"' | b'\'');
        if quoted {
            self.at += 1;
        }
        let mut value = String::new();
        loop {
            match self.peek()? {
                byte if quoted && byte == quote => {
                    self.at += 1;
                    return Some(value);
                }
                byte if !quoted && (is_space(byte) || byte == b'>') => return Some(value),
                byte => value.push(char::from(byte.to_ascii_lowercase())),
            }
            self.at += 1;
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

fn is_space_char(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_space)
}
