//! HTTP header fields in the order they came, looked up without regard to case.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    pub fn new() -> Headers {
        Headers(Vec::new())
    }

    /// Reads the lines after the first of an HTTP head. Lines without a colon are passed over, folded
    /// lines continue the one before, bytes that are not UTF-8 are read as Latin-1.
    pub fn parse(head: &[u8]) -> Headers {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in head.split(|&b| b == b'\n').skip(1) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                break;
            }
            if matches!(line[0], b' ' | b'\t') {
                if let Some((_, value)) = fields.last_mut() {
                    value.push(' ');
                    value.push_str(&trimmed(line));
                }
                continue;
            }
            if let Some(colon) = line.iter().position(|&b| b == b':') {
                fields.push((trimmed(&line[..colon]), trimmed(&line[colon + 1..])));
            }
        }
        Headers(fields)
    }

    pub fn push(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn trimmed(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.trim().to_owned(),
        Err(_) => {
            let text: String = bytes.iter().map(|&b| char::from(b)).collect();
            text.trim().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Headers;

    #[test]
    fn order_case_folding_and_latin1_are_kept() {
        let head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: caf\xe9\r\n more\r\nbroken\r\nset-cookie: b=2\r\n\r\n";
        let headers = Headers::parse(head);
        assert_eq!(headers.all("SET-COOKIE").collect::<Vec<_>>(), ["a=1", "b=2"]);
        assert_eq!(headers.get("x"), Some("café more"));
        assert_eq!(headers.len(), 3);
    }
}
