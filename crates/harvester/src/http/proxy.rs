//! An HTTP proxy: `http://[user:password@]host:port`. Plain pages are asked for in absolute form, https
//! goes through a tunnel (`CONNECT`, RFC 9110 section 9.3.6).
//!
//! Names are left to the proxy to resolve, and so is the reach of what they resolve to; its own address
//! is exempt from the guard, because the user named it.

use std::{fmt, str::FromStr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A proxy's answer to `CONNECT` longer than this is none.
const HEAD_BYTES_MAX: usize = 16 * 1024;

#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Without brackets.
    pub host: String,
    pub port: u16,
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a proxy; write http://host:port")]
pub struct ProxyError(String);

impl Proxy {
    /// Asks for a tunnel to `authority` (`host:port`); afterwards the stream is the server's.
    pub async fn tunnel(&self, stream: &mut TcpStream, authority: &str) -> Result<(), String> {
        let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(authorization) = &self.authorization {
            request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        request.push_str("\r\n");
        let broken = |e: std::io::Error| format!("the proxy broke the connection: {e}");
        stream.write_all(request.as_bytes()).await.map_err(broken)?;
        let mut head = Vec::with_capacity(512);
        loop {
            if stream.read_buf(&mut head).await.map_err(broken)? == 0 {
                return Err("the proxy hung up before it answered".to_owned());
            }
            if let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") {
                return judge(&head, end + 4);
            }
            if head.len() > HEAD_BYTES_MAX {
                return Err("the proxy's answer does not end".to_owned());
            }
        }
    }
}

fn judge(head: &[u8], end: usize) -> Result<(), String> {
    let line = head.split(|&b| b == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    match status {
        Some(status) if status.starts_with('2') && end == head.len() => Ok(()),
        Some(status) if status.starts_with('2') => {
            Err("the proxy sent more than its answer".to_owned())
        }
        Some("407") => {
            Err("the proxy wants a password; write http://user:password@host:port".to_owned())
        }
        Some(_) => Err(format!("the proxy refused: {}", line.escape_debug())),
        None => Err("the proxy does not speak HTTP".to_owned()),
    }
}

impl FromStr for Proxy {
    type Err = ProxyError;

    fn from_str(text: &str) -> Result<Proxy, ProxyError> {
        let wrong = || ProxyError(text.to_owned());
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(wrong()),
            None => text,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, authority) = match rest.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, rest),
        };
        let (host, port) = authority.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?;
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() || host.contains(['/', '?', '#', ' ']) {
            return Err(wrong());
        }
        let authorization = user.map(|user| format!("Basic {}", base64(user.as_bytes())));
        Ok(Proxy { host: host.to_owned(), port, authorization })
    }
}

/// The password stays out of logs.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({}:{})", self.host, self.port)
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Proxy, base64};

    #[test]
    fn proxies_are_read_and_mistakes_answered_in_plain_words() {
        let proxy: Proxy = "http://proxy.example:3128/".parse().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example", 3128));
        let proxy: Proxy = "http://me:se@cret@[::1]:8080".parse().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("::1", 8080));
        assert_eq!(proxy.authorization.as_deref(), Some("Basic bWU6c2VAY3JldA=="));
        assert!(!format!("{proxy:?}").contains("bWU6"), "no password in logs");
        for wrong in ["https://x:1", "socks5://x:1", "http://x", "http://x:0", "http://:80", ""] {
            let error = wrong.parse::<Proxy>().unwrap_err().to_string();
            assert!(error.ends_with("write http://host:port"), "{error}");
        }
    }

    #[test]
    fn base64_pads_as_the_rfc_shows() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
