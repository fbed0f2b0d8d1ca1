//! What a text of the configuration must look like: one small function per kind of text.
//!
//! These checks are made at the border so that a mistake is told with its file and line, by the parsers
//! of the crates that use the values.

use std::net::{IpAddr, SocketAddr};

use gatherer::Selection;
use harvester::http::{Cidr, Override, Proxy};
use model::CrawlUrl;
use regex::Regex;
use seeder::{ListedRule, LogList, RejectList, Rewrite, parse_host_pattern};
use store::thin::KeepRule;

/// Either nothing is wrong, or what is and what to write instead.
pub type Check = fn(&str) -> Result<(), Wrong>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The end of a sentence: `it is not an address`.
    pub what: String,
    pub instead: String,
}

/// The shortest word of sessions is `sid`.
const SESSION_NAME_BYTES_MIN: usize = 3;

impl Wrong {
    /// Of a key that may be without a value.
    pub fn or_none(self) -> Wrong {
        let instead = format!("{}, or \"none\" to be without", self.instead);
        Wrong { instead, ..self }
    }
}

pub fn wrong<T>(what: impl Into<String>, instead: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { what: what.into(), instead: instead.into() })
}

pub fn any(text: &str) -> Result<(), Wrong> {
    if text.is_empty() {
        wrong("it is empty", "write some text, or remove the line")
    } else {
        Ok(())
    }
}

pub fn regex(text: &str) -> Result<(), Wrong> {
    match Regex::new(text) {
        Ok(_) => Ok(()),
        Err(error) => wrong(
            format!("it is no valid regular expression ({})", last_line(&error.to_string())),
            r"write one such as '/calendar/\d{4}', in single quotes so that backslashes stay",
        ),
    }
}

/// Which old versions stay.
pub fn keep(text: &str) -> Result<(), Wrong> {
    let instead = "write it such as \"all 30d, then 1 per 7d\"";
    KeepRule::parse(text, super::units::parse_time).map(drop).or_else(|what| wrong(what, instead))
}

/// A rule of `crawl.rules`.
pub fn rule(text: &str) -> Result<(), Wrong> {
    let instead = "write accept or reject and a condition, such as reject extension jpg png";
    text.parse::<ListedRule>().map(drop).or_else(|error| wrong(error.to_string(), instead))
}

/// CSS, as far as it can be matched while a page is read.
pub fn selector(text: &str) -> Result<(), Wrong> {
    let instead = "write selectors such as #price, p.total or table > tr td[lang=en]";
    Selection::new(&[text], &[]).map(drop).or_else(|what| wrong(what, instead))
}

/// A group of extensions whose links are only logged, or an extension with its dot.
pub fn logged(text: &str) -> Result<(), Wrong> {
    let instead = "write a group such as images, or an extension with its dot such as .iso";
    LogList::parse(&[text]).map(drop).or_else(|what| wrong(what, instead))
}

/// `php`, with or without its dot.
pub fn extension(text: &str) -> Result<(), Wrong> {
    let bare = text.strip_prefix('.').unwrap_or(text);
    if bare.is_empty() || bare.contains(['/', '.', '?', '#', ' ']) {
        return wrong("it is no extension", "write one such as php");
    }
    Ok(())
}

pub fn rewrite(text: &str) -> Result<(), Wrong> {
    let instead = r"write REGEX => REPLACEMENT such as ';jsessionid=\w+ => ', in single quotes";
    Rewrite::parse(text).map(drop).or_else(|what| wrong(what, instead))
}

/// A host, or `*.` and a domain.
pub fn host(text: &str) -> Result<(), Wrong> {
    let instead = "write a host without port such as www.example.org or *.example.org";
    parse_host_pattern(text).map(drop).or_else(|what| wrong(what, instead))
}

/// Scheme, host and port of a server over TLS.
pub fn https_origin(text: &str) -> Result<(), Wrong> {
    let url = CrawlUrl::parse(text).ok().filter(|url| url.path_and_query() == "/");
    match url.filter(|url| url.as_str().starts_with("https:") && !text.contains('@')) {
        Some(_) => Ok(()),
        None => wrong(
            "it is no https and host alone",
            "write it such as https://example.org or https://api.example.org:8443",
        ),
    }
}

/// An address, or a range of them: `127.0.0.1`, `10.0.0.0/8`, `fc00::/7`.
pub fn cidr(text: &str) -> Result<(), Wrong> {
    let instead = "write an address or a range such as 127.0.0.1, 10.0.0.0/8 or fc00::/7";
    text.parse::<Cidr>().map(drop).or_else(|error| wrong(error.to_string(), instead))
}

/// `PATTERN=ADDR[:PORT]`: a host or `*.host`, and where connections for it go.
pub fn resolve(text: &str) -> Result<(), Wrong> {
    let instead = "write PATTERN=ADDRESS such as '*.example=127.0.0.1'";
    text.parse::<Override>().map(drop).or_else(|error| wrong(error.to_string(), instead))
}

/// `ADDRESS` or `ADDRESS:PORT`, with brackets around an IPv6 address that has a port.
pub fn name_server(text: &str) -> Result<(), Wrong> {
    let instead = "write an address such as 1.1.1.1, 1.1.1.1:5353, ::1 or [::1]:5353";
    match name_server_address(text) {
        Some(_) => Ok(()),
        None => wrong("it is no address of a DNS server", instead),
    }
}

pub fn name_server_address(text: &str) -> Option<SocketAddr> {
    const DNS: u16 = 53;
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, DNS));
    address.or_else(|| text.parse().ok()).filter(|address| address.port() > 0)
}

/// The name of a shipped rule.
pub fn shipped_rule(text: &str) -> Result<(), Wrong> {
    let found = RejectList::default().without(&[text]).map(drop);
    found.or_else(|error| wrong(error.to_string(), "name rules of the shipped list"))
}

pub fn proxy(text: &str) -> Result<(), Wrong> {
    let instead = "write http://host:port, socks5://host:port or socks5h://host:port; user:password@ may \
         stand before the host";
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    // The parts after the scheme are the same for all. A refusal never repeats them: they may hold a
    // password.
    let is_known = ["http", "socks5", "socks5h"].iter().any(|s| s.eq_ignore_ascii_case(scheme));
    match is_known && format!("http://{rest}").parse::<Proxy>().is_ok() {
        true => Ok(()),
        false => wrong("it is no proxy the crawler knows", instead),
    }
}

/// Something a webmaster can write to or look up, safe inside a header.
pub fn contact(text: &str) -> Result<(), Wrong> {
    let instead =
        "write a mail address or a page, such as crawl@example.org or https://example.org/bot";
    header_text(text, instead)?;
    if text.contains('@') || text.starts_with("http://") || text.starts_with("https://") {
        return Ok(());
    }
    wrong("it is neither a mail address nor a URL", instead)
}

pub fn user_agent(text: &str) -> Result<(), Wrong> {
    header_text(
        text,
        "write one line of plain ASCII such as mycrawler/1.0 (+https://example.org/bot)",
    )
}

/// `Name: value`, not one of those the crawler itself must decide, and no secret.
pub fn header(text: &str) -> Result<(), Wrong> {
    let instead = "write 'Name: value' such as 'Accept-Language: pt'";
    let Some((name, value)) = text.split_once(':') else {
        return wrong("there is no : in it", instead);
    };
    if name.eq_ignore_ascii_case("cookie") {
        return wrong(
            "these cookies would go to every site",
            "name a file of cookies with fetch.cookies, where each is bound to its host",
        );
    }
    if is_credential(name, value) {
        return wrong(
            "a secret among the headers would go to every site",
            "bind it to an origin: [[credential]] with origin = \"https://example.org\" and \
             header = \"X-Api-Key: env:NAME\" (or basic, or bearer); a proxy's is part of fetch.proxy",
        );
    }
    header_name(name)?;
    header_text(value.trim(), instead)
}

/// One that a header can have and that the crawler does not set itself.
pub fn header_name(name: &str) -> Result<(), Wrong> {
    const OURS: [&str; 15] = [
        "host",
        "connection",
        "user-agent",
        "accept-encoding",
        "content-length",
        "transfer-encoding",
        "cookie",
        "if-none-match",
        "if-modified-since",
        "upgrade",
        "proxy-authorization",
        "expect",
        "range",
        "keep-alive",
        "te",
    ];
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        let instead = "write 'Name: value' such as 'Accept-Language: pt'";
        return wrong(format!("{name:?} is no name of a header"), instead);
    }
    if OURS.contains(&name.to_ascii_lowercase().as_str()) {
        return wrong(format!("{name} is set by the crawler itself"), "remove it");
    }
    Ok(())
}

/// For messages: without its value, where that is a secret.
pub fn veiled_header(text: &str) -> String {
    match text.split_once(':') {
        Some((name, value)) if is_credential(name, value) => format!("{name}: ***"),
        _ => text.to_owned(),
    }
}

/// Whether a header proves who asks, by its name or the form of its value. Rather one too many: it can be
/// written elsewhere.
fn is_credential(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let spoken =
        ["token", "secret", "passw", "credential", "session", "cookie", "apikey", "jwt", "bearer"];
    let words = |word: &str| {
        word.ends_with("key")
            || word.contains("auth") && !["author", "authors", "authority"].contains(&word)
    };
    let scheme = value.trim().split(' ').next().unwrap_or_default();
    spoken.iter().any(|part| name.contains(part))
        || name.split(['-', '_', '.']).any(words)
        || ["bearer", "basic", "digest", "negotiate"].iter().any(|s| scheme.eq_ignore_ascii_case(s))
}

/// `text/html`, `text/*` or `*/*`, lower case.
pub fn media_type(text: &str) -> Result<(), Wrong> {
    let token = |part: &str| {
        part == "*"
            || !part.is_empty()
                && part.bytes().all(|b| {
                    b.is_ascii_lowercase() || b.is_ascii_digit() || b"!#$&-^_.+".contains(&b)
                })
    };
    match text.split_once('/') {
        Some((kind, rest)) if token(kind) && token(rest) && (kind != "*" || rest == "*") => Ok(()),
        _ => {
            wrong("it is no media type", "write one in lower case such as text/html, text/* or */*")
        }
    }
}

/// A content coding the crawler can undo.
pub fn coding(text: &str) -> Result<(), Wrong> {
    match text {
        "gzip" | "deflate" | "br" | "zstd" | "identity" => Ok(()),
        _ => wrong(
            "it is no coding the crawler can undo",
            "write gzip, deflate, br, zstd or identity",
        ),
    }
}

/// A file name without folders: `index.html`.
pub fn file_name(text: &str) -> Result<(), Wrong> {
    if text.is_empty() || text.contains(['/', '?', '#']) {
        return wrong("it is no file name", "write a name without folders such as index.html");
    }
    Ok(())
}

/// A query parameter, `*` at the end for any rest: `utm_*`.
pub fn parameter(text: &str) -> Result<(), Wrong> {
    let name = text.strip_suffix('*').unwrap_or(text);
    if text.is_empty() || name.contains(['*', '&', '=', '?', '#']) {
        return wrong("it is no name of a query parameter", "write a name such as sid or utm_*");
    }
    Ok(())
}

/// A query parameter that names a session. What `*` stands behind must be long enough to tell sessions from the rest:
/// a parameter taken out by mistake makes one page of many.
pub fn session_name(text: &str) -> Result<(), Wrong> {
    parameter(text)?;
    match text.strip_suffix('*') {
        Some(name) if name.len() < SESSION_NAME_BYTES_MIN => wrong(
            "it would take parameters out that name no session",
            format!(
                "write at least {SESSION_NAME_BYTES_MIN} letters before the *, such as mysession*; \
                 url.strip_query takes out any parameter"
            ),
        ),
        _ => Ok(()),
    }
}

/// Where a link may stand: `tag/attribute`, in lower case.
pub fn tag(text: &str) -> Result<(), Wrong> {
    let name = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_:".contains(&b))
    };
    match text.split_once('/') {
        Some((tag, attribute)) if name(tag) && name(attribute) => Ok(()),
        _ => wrong("it is not of the form tag/attribute", "write it in lower case, such as a/href"),
    }
}

pub fn port(text: &str) -> Result<(), Wrong> {
    match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(()),
        _ => wrong("it is no port", "write a number from 1 to 65535, in quotes"),
    }
}

fn header_text(text: &str, instead: &str) -> Result<(), Wrong> {
    if text.is_empty() {
        return wrong("it is empty", instead);
    }
    if !text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return wrong("it holds characters that a header cannot carry", instead);
    }
    Ok(())
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(check: Check, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for text in bad {
            let wrong = check(text).expect_err(text);
            assert!(!wrong.what.is_empty() && !wrong.instead.is_empty(), "{text}");
        }
    }

    #[test]
    fn each_check_takes_what_it_says_and_refuses_the_rest() {
        check(regex, &[r"/a/\d{4}", "x|y"], &["(", "a{2,1}", "[z"]);
        check(
            cidr,
            &["127.0.0.1", "10.0.0.0/8", "::1", "fc00::/7", "0.0.0.0/0"],
            &["10.0.0/8", "10.0.0.0/33", "fc00::/129", "10.0.0.0/", "example.org", "1.2.3.4/-1"],
        );
        check(
            resolve,
            &["*.example=127.0.0.1", "a.example=::1", "*=127.0.0.1", "a=[::1]", "a=127.0.0.1:80"],
            &["a.example", "=1.2.3.4", "a*.b=1.2.3.4", "a=b", "http://a/=1.2.3.4", "*.=1.2.3.4"],
        );
        check(
            proxy,
            &["http://p:3128", "socks5://u:p@p:1", "SOCKS5H://[::1]:1", "http://u:p@p:3128", "p:1"],
            &["https://p:1", "socks4://p:1", "http://p", "socks5://:1", ""],
        );
        check(contact, &["a@b.org", "https://b.org/bot"], &["me", "", "ü@b.org", "a@b\r\nX: y"]);
        check(
            header,
            &["Accept-Language: pt", "X-A:b", "X-Author: me", "DNT: 1", "X-Keyword: a", "Via: b"],
            &["a", ": b", "Host: x", "A b: c", "A: \n", "authorization: Bearer x", "Cookie: a=b"],
        );
        check(
            header,
            &[],
            &[
                "Proxy-Authorization: x",
                "X-Api-Key: x",
                "apikey: x",
                "X-Auth: x",
                "X-Authentication: x",
                "X-Goog-Iam-Authorization-Token: x",
                "Private-Token: x",
                "x_client_secret: x",
                "X-Session-Id: x",
                "X-Forwarded-As: Bearer x",
            ],
        );
        assert_eq!(veiled_header("X-Api-Key: hush"), "X-Api-Key: ***");
        check(session_name, &["sid", "s", "aspsessionid*", "sid*"], &["*", "s*", "", "a*b"]);
        check(
            media_type,
            &["text/html", "text/*", "*/*"],
            &["html", "*/html", "Text/HTML", "a/", ""],
        );
        check(
            rule,
            &["accept any", "reject path ~ '^/a{1,3}/' and not (suffix .pt or level > 3)"],
            &["", "accept", "maybe any", "reject path ~ '('", "accept any any", "reject host a/b"],
        );
        check(rewrite, &["a => b", "(a)+ => $1", "x =>"], &["a", "( => b", "a => $1", " => b"]);
        check(host, &["a.org", "*.a.org"], &["", "*.", "a.org:81", "http://a.org/", "a b"]);
        check(coding, &["gzip", "br"], &["gz", ""]);
        check(file_name, &["index.html"], &["", "a/b", "x?y"]);
        check(parameter, &["sid", "utm_*"], &["", "a*b", "a=b"]);
        check(tag, &["a/href", "x-y/data-href"], &["", "a", "A/HREF", "a/b/c", "<a>/b"]);
        check(logged, &["images", ".iso"], &["", "imagse", "iso", ".tar.gz"]);
        check(extension, &["php", ".asp"], &["", ".", "a.b", "a/b"]);
        check(port, &["8080"], &["0", "65536", "http", ""]);
    }

    #[test]
    fn a_bad_regular_expression_is_explained_in_one_line() {
        let wrong = regex("a(b").unwrap_err();
        assert_eq!(wrong.what, "it is no valid regular expression (unclosed group)");
    }
}
