//! Proxies: `http://[user:password@]host:port`, `socks5://…` and `socks5h://…`.
//!
//! Through an HTTP proxy plain pages are asked for in absolute form, and https goes through a tunnel
//! (`CONNECT`, RFC 9110 section 9.3.6). Through a SOCKS proxy everything is a tunnel; with `socks5://` we
//! resolve names ourselves and every address passes the guard, with `socks5h://` the proxy resolves them.
//!
//! Where the proxy resolves, it decides what names lead to. Names for an HTTP proxy are resolved here too, as far
//! as that can be done, and are refused where an address is private or blocked; the proxy may know others.
//! With `socks5h://` only addresses spelled out in URLs are seen. The proxy's own address is exempt
//! from the guard, because the user named it.
//!
//! That a proxy is down, or will not have us, is a failure of the proxy ([`FailureKind::Proxy`]), which
//! no site is blamed for; what it says of a server is the server's.

use std::{fmt, str::FromStr};

use model::FailureKind;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    basic::basic,
    socks::{self, Refused, Target},
};

/// A proxy's answer to `CONNECT` longer than this is none.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// RFC 1929 counts names and passwords in one byte.
const SOCKS_TEXT_MAX: usize = 255;

#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub kind: ProxyKind,
    /// Without brackets.
    pub host: String,
    pub port: u16,
    /// User and password, without escapes.
    user: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyKind {
    Http,
    /// `socks5://`: it is told addresses that we resolved.
    Socks5,
    /// `socks5h://`: it is told names.
    Socks5Names,
}

#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; write http://host:port, socks5://host:port or socks5h://host:port")]
pub struct ProxyError(String);

impl Proxy {
    /// Names are the proxy's to resolve.
    pub fn resolves(&self) -> bool {
        self.kind != ProxyKind::Socks5
    }

    pub fn is_http(&self) -> bool {
        self.kind == ProxyKind::Http
    }

    /// The value of `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<String> {
        self.user.as_ref().map(|(user, password)| basic(user, password))
    }

    /// A stream to the proxy or, where `target` is given, through it.
    pub async fn open(&self, target: Option<Target<'_>>) -> Result<TcpStream, Refused> {
        let mut tcp =
            TcpStream::connect((self.host.as_str(), self.port)).await.map_err(|error| {
                (FailureKind::Proxy, format!("the proxy {self:?} is down: {error}"))
            })?;
        // Without it the last piece of a request could wait for an acknowledgement.
        let _ = tcp.set_nodelay(true);
        let Some(target) = target else { return Ok(tcp) };
        if self.is_http() {
            self.tunnel(&mut tcp, target).await?;
        } else {
            let user =
                self.user.as_ref().map(|(user, password)| (user.as_str(), password.as_str()));
            socks::connect(&mut tcp, user, target).await?;
        }
        Ok(tcp)
    }

    async fn tunnel(&self, stream: &mut TcpStream, target: Target<'_>) -> Result<(), Refused> {
        let authority = match target {
            Target::Name(name, port) => format!("{name}:{port}"),
            Target::Address(address) => address.to_string(),
        };
        let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(authorization) = self.authorization() {
            request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        request.push_str("\r\n");
        let broken = |e: std::io::Error| proxys(format!("the proxy broke the connection: {e}"));
        stream.write_all(request.as_bytes()).await.map_err(broken)?;
        let mut head = Vec::with_capacity(512);
        loop {
            if stream.read_buf(&mut head).await.map_err(broken)? == 0 {
                return Err(proxys("the proxy hung up before it answered".to_owned()));
            }
            if let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") {
                return judge(&head, end + 4);
            }
            if head.len() > HEAD_BYTES_MAX {
                return Err(proxys("the proxy's answer does not end".to_owned()));
            }
        }
    }
}

fn judge(head: &[u8], end: usize) -> Result<(), Refused> {
    let line = head.split(|&b| b == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    let unreachable = || format!("the proxy cannot reach the server: {}", line.escape_debug());
    match status {
        Some(status) if status.starts_with('2') && end == head.len() => Ok(()),
        Some(status) if status.starts_with('2') => {
            Err(proxys("the proxy sent more than its answer".to_owned()))
        }
        Some("407") => Err(wants_password()),
        // RFC 9110 sections 15.6.3 and 15.6.5: words about the server behind it.
        Some("502") => Err((FailureKind::ConnectRefused, unreachable())),
        Some("504") => Err((FailureKind::ConnectTimeout, unreachable())),
        Some(_) => Err(proxys(format!("the proxy refused: {}", line.escape_debug()))),
        None => Err(proxys("the proxy does not speak HTTP".to_owned())),
    }
}

/// What a 407 means, to `CONNECT` or to a plain request.
pub fn wants_password() -> Refused {
    proxys("the proxy wants a password; write http://user:password@host:port".to_owned())
}

fn proxys(detail: String) -> Refused {
    (FailureKind::Proxy, detail)
}

impl FromStr for Proxy {
    type Err = ProxyError;

    /// User and password may be percent-escaped.
    fn from_str(text: &str) -> Result<Proxy, ProxyError> {
        let wrong = || ProxyError(format!("`{}` is not a proxy", without_password(text)));
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let kind = match scheme.to_ascii_lowercase().as_str() {
            "http" => ProxyKind::Http,
            "socks5" => ProxyKind::Socks5,
            "socks5h" => ProxyKind::Socks5Names,
            _ => return Err(wrong()),
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
        let user = user.map(|user| user.split_once(':').unwrap_or((user, "")));
        let user = user.map(|(user, password)| (unescaped(user), unescaped(password)));
        if let (false, Some((user, password))) = (kind == ProxyKind::Http, &user)
            && [user, password].iter().any(|t| !(1..=SOCKS_TEXT_MAX).contains(&t.len()))
        {
            return Err(ProxyError(
                "user and password of a SOCKS proxy have 1 to 255 bytes".to_owned(),
            ));
        }
        Ok(Proxy { kind, host: host.to_owned(), port, user })
    }
}

/// The password stays out of logs.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.kind {
            ProxyKind::Http => "http",
            ProxyKind::Socks5 => "socks5",
            ProxyKind::Socks5Names => "socks5h",
        };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Errors are shown and logged.
fn without_password(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, authority))) => format!("{scheme}://…@{authority}"),
        (None, Some((_, authority))) => format!("…@{authority}"),
        (_, None) => text.to_owned(),
    }
}

/// Percent-escapes undone; what is none stays as it is.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let plain = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = plain.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Proxy, ProxyKind};

    #[test]
    fn proxies_are_read_and_mistakes_answered_in_plain_words() {
        let proxy: Proxy = "http://proxy.example:3128/".parse().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example", 3128));
        let proxy: Proxy = "http://me:se@cret@[::1]:8080".parse().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("::1", 8080));
        assert_eq!(proxy.authorization().as_deref(), Some("Basic bWU6c2VAY3JldA=="));
        assert_eq!(format!("{proxy:?}"), "http://[::1]:8080", "no password in logs");
        let wrong = ["https://x:1", "socks4://x:1", "http://x", "http://x:0", "http://:80", ""];
        for wrong in wrong {
            let error = wrong.parse::<Proxy>().unwrap_err().to_string();
            assert!(error.contains("write http://host:port"), "{error}");
        }
    }

    #[test]
    fn the_scheme_says_who_resolves_names() {
        let kind = |text: &str| text.parse::<Proxy>().unwrap().kind;
        assert_eq!(kind("socks5://x:1"), ProxyKind::Socks5);
        assert_eq!(kind("SOCKS5H://x:1"), ProxyKind::Socks5Names);
        assert_eq!(kind("x:1"), ProxyKind::Http);
        let resolves = |text: &str| text.parse::<Proxy>().unwrap().resolves();
        assert!(!resolves("socks5://x:1"));
        assert!(resolves("socks5h://x:1") && resolves("http://x:1"));
    }

    #[test]
    fn passwords_may_be_escaped_and_never_stand_in_an_error() {
        let proxy: Proxy = "socks5://m%65:100%25%@x:1".parse().unwrap();
        assert_eq!(proxy.user, Some(("me".to_owned(), "100%%".to_owned())));
        for text in ["gopher://me:hush@x:1", "me:hush@x", "socks5://hush@x:1"] {
            let error = text.parse::<Proxy>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
        }
    }
}
