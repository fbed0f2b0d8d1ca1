//! Fields of a form as `application/x-www-form-urlencoded` (URL standard, section 5.2), in UTF-8.

/// The hidden ones that the user does not fill in, then the user's.
pub fn encode(hidden: &[(String, String)], filled: &[(String, String)]) -> Vec<u8> {
    let untouched = hidden.iter().filter(|(name, _)| !filled.iter().any(|(f, _)| f == name));
    let mut body = Vec::new();
    for (name, value) in untouched.chain(filled) {
        if !body.is_empty() {
            body.push(b'&');
        }
        escape(name, &mut body);
        body.push(b'=');
        escape(value, &mut body);
    }
    body
}

fn escape(text: &str, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => {
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                out.extend_from_slice(&[b'%', DIGITS[high], DIGITS[low]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn fields_are_escaped_and_the_users_stand_above_the_pages() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let hidden = [pair("csrf", "a+b/="), pair("user", "nobody")];
        let filled = [pair("user", "me & you"), pair("pass word", "p\u{e9}\u{20ac}*-._~")];
        let body = encode(&hidden, &filled);
        let expected = "csrf=a%2Bb%2F%3D&user=me+%26+you&pass+word=p%C3%A9%E2%82%AC*-._%7E";
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }
}
