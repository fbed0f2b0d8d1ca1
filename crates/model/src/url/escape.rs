//! One spelling for each percent-escape of a path or query (RFC 3986 section 6.2.2).
//!
//! Escapes are upper case; those of unreserved characters (letters, digits, `-._~`) are decoded. A `%`
//! that begins no escape stays as it is, since browsers send it so; decoding never completes it to an
//! escape (`%%32%65` must not become `%2e`, which would be another URL and not stable).

/// Rewrites what follows `path_start`; most URLs need nothing and come back as they are.
pub(super) fn normalize(text: String, path_start: usize) -> String {
    let rest = &text.as_bytes()[path_start..];
    if !rest.iter().any(|b| matches!(b, b'%' | b'^')) {
        return text;
    }
    let mut out = Vec::with_capacity(text.len() + 8);
    out.extend_from_slice(&text.as_bytes()[..path_start]);
    rewrite(rest, &mut out);
    String::from_utf8(out).unwrap_or(text)
}

fn rewrite(rest: &[u8], out: &mut Vec<u8>) {
    let mut lone = Lone::No;
    let mut in_path = true;
    let mut i = 0;
    while let Some(&byte) = rest.get(i) {
        i += 1;
        match byte {
            b'%' => match escaped(rest, i) {
                Some(value) => {
                    i += 2;
                    if is_unreserved(value) && !lone.would_be_completed_by(value) {
                        out.push(value);
                        lone = lone.followed_by(value);
                    } else {
                        out.extend_from_slice(&[b'%', hex(value >> 4), hex(value & 15)]);
                        lone = Lone::No;
                    }
                    continue;
                }
                None => lone = Lone::Percent,
            },
            b'^' if in_path => {
                out.extend_from_slice(b"%5E");
                lone = Lone::No;
                continue;
            }
            _ => {
                in_path &= byte != b'?';
                lone = lone.followed_by(byte);
            }
        }
        out.push(byte);
    }
}

/// What the output ends with, as far as a `%` without its two digits goes.
#[derive(Clone, Copy, PartialEq)]
enum Lone {
    No,
    Percent,
    PercentAndDigit,
}

impl Lone {
    fn followed_by(self, byte: u8) -> Lone {
        match self {
            Lone::Percent if byte.is_ascii_hexdigit() => Lone::PercentAndDigit,
            _ => Lone::No,
        }
    }

    /// A digit right after a lone `%` is kept escaped as well: the next one would complete it.
    fn would_be_completed_by(self, value: u8) -> bool {
        self != Lone::No && value.is_ascii_hexdigit()
    }
}

/// The value of the two digits at `at`, when there are two.
fn escaped(rest: &[u8], at: usize) -> Option<u8> {
    let digit = |i: usize| char::from(*rest.get(i)?).to_digit(16);
    Some((digit(at)? * 16 + digit(at + 1)?) as u8)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn hex(digit: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(digit & 15)]
}
