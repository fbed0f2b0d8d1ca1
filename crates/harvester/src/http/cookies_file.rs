//! Cookies from a user's file: Netscape's `cookies.txt`, and the JSON that browsers' extensions write.
//!
//! `cookies.txt` has one cookie a line, seven fields between tabs: domain, whether its subdomains are
//! meant, path, whether it is for https only, when it expires (seconds, 0 for never), name, value. A line
//! that begins with `#HttpOnly_` is a cookie all the same, other lines with `#` are comments. JSON is an
//! array of objects (or an object with such an array as its `cookies`) with `name`, `value`, `domain`,
//! `path`, `secure`, `hostOnly`, `session` and `expirationDate` or `expires` in seconds.
//!
//! What is wrong is said with its line, or its number in the array, and never with a value. `httpOnly`
//! and `sameSite` are read over: no script runs here, and no other site makes us ask.

use model::{CrawlUrl, SiteKey, Timestamp};
use serde_json::{Map, Value};

use super::cookies::{COOKIE_BYTES_MAX, Cookie, domain_match};

/// Browsers keep about 3,000 in all.
const COOKIES_MAX: usize = 10_000;
const FILE_BYTES_MAX: usize = 16 << 20;

/// A cookie of the user's, for a jar to begin with.
#[derive(Clone, Debug)]
pub struct PresetCookie(pub(super) Cookie);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct CookiesFileError {
    /// `line 3`, or `cookie 3` of an array.
    pub place: String,
    pub reason: String,
}

pub fn read(text: &str) -> Result<Vec<PresetCookie>, CookiesFileError> {
    if text.len() > FILE_BYTES_MAX {
        return Err(wrong("line 1", "the file is over 16 MB; leave out what is not needed"));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with(['[', '{']) { read_json(text) } else { read_lines(text) }
}

impl PresetCookie {
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn domain(&self) -> &str {
        &self.0.domain
    }

    /// Whether pages of the site may get it. A domain wider than the site's registrable one is nobody's
    /// to set, in a file as on the web.
    pub(super) fn is_for(&self, site: &SiteKey, now: Timestamp) -> bool {
        let (host, cookie) = (site.host(), &self.0);
        let below = !cookie.host_only
            && domain_match(host, &cookie.domain)
            && cookie.domain.len() >= site.domain().len();
        (host == cookie.domain || below) && !cookie.expired(now)
    }
}

fn read_lines(text: &str) -> Result<Vec<PresetCookie>, CookiesFileError> {
    let mut cookies = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("line {}", index + 1);
        let cookie = read_line(line).map_err(|reason| wrong(&place, reason))?;
        push(&mut cookies, cookie, &place)?;
    }
    Ok(cookies)
}

fn read_line(line: &str) -> Result<Cookie, &'static str> {
    let fields: Vec<&str> = line.split('\t').collect();
    let (domain, wide, path, secure, expires, name, value) = match fields[..] {
        [domain, wide, path, secure, expires, name, value] => {
            (domain, wide, path, secure, expires, name, value)
        }
        // Some programs leave out what is empty.
        [domain, wide, path, secure, expires, name] => {
            (domain, wide, path, secure, expires, name, "")
        }
        _ => return Err("a cookie has seven fields with tabs between them"),
    };
    let flag = |text: &str| match text {
        _ if text.eq_ignore_ascii_case("true") => Ok(true),
        _ if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err("the second and fourth fields are TRUE or FALSE"),
    };
    let expires: f64 = match expires {
        "" => 0.0,
        text => text.parse().map_err(|_| "the fifth field is a number of seconds")?,
    };
    cookie(Fields {
        name,
        value,
        domain,
        host_only: !flag(wide)?,
        path,
        secure: flag(secure)?,
        expires: Some(expires).filter(|seconds| *seconds > 0.0),
    })
}

fn read_json(text: &str) -> Result<Vec<PresetCookie>, CookiesFileError> {
    let mut root: Value = serde_json::from_str(text)
        .map_err(|e| wrong(&format!("line {}", e.line()), "this is not JSON"))?;
    let list = match &mut root {
        Value::Array(list) => std::mem::take(list),
        Value::Object(object) => match object.remove("cookies") {
            Some(Value::Array(list)) => list,
            _ => return Err(wrong("line 1", "an array of cookies was expected")),
        },
        _ => return Err(wrong("line 1", "an array of cookies was expected")),
    };
    let mut cookies = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let place = format!("cookie {}", index + 1);
        let object = value.as_object().ok_or_else(|| wrong(&place, "this is not an object"))?;
        let cookie = read_object(object).map_err(|reason| wrong(&place, reason))?;
        push(&mut cookies, cookie, &place)?;
    }
    Ok(cookies)
}

fn read_object(object: &Map<String, Value>) -> Result<Cookie, &'static str> {
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let flag = |name: &str| object.get(name).and_then(Value::as_bool);
    let domain = text("domain").ok_or("the `domain` is missing")?;
    let session = flag("session") == Some(true);
    let expires = object.get("expirationDate").or_else(|| object.get("expires"));
    let expires = match expires {
        None | Some(Value::Null) => None,
        Some(value) => {
            let seconds = value.as_f64().ok_or("when it expires is a number of seconds")?;
            // Some programs write -1 for a cookie of the session.
            Some(seconds).filter(|seconds| *seconds >= 0.0 && !session)
        }
    };
    cookie(Fields {
        name: text("name").ok_or("the `name` is missing")?,
        value: text("value").ok_or("the `value` is missing")?,
        domain,
        host_only: flag("hostOnly").unwrap_or(!domain.starts_with('.')),
        path: text("path").unwrap_or("/"),
        secure: flag("secure").unwrap_or(false),
        expires,
    })
}

/// What both forms say of a cookie.
struct Fields<'a> {
    name: &'a str,
    value: &'a str,
    domain: &'a str,
    host_only: bool,
    path: &'a str,
    secure: bool,
    /// In seconds.
    expires: Option<f64>,
}

fn cookie(fields: Fields<'_>) -> Result<Cookie, &'static str> {
    let Fields { name, value, host_only, path, secure, .. } = fields;
    let unsendable = |text: &str| text.chars().any(|c| c.is_control() || c == ';');
    if name.is_empty() || name.contains('=') || unsendable(name) || unsendable(value) {
        return Err("a cookie's name or value holds what cannot be sent");
    }
    if name.len() + value.len() > COOKIE_BYTES_MAX {
        return Err("name and value are over 4,096 bytes");
    }
    let domain = fields.domain.strip_prefix('.').unwrap_or(fields.domain);
    let url = CrawlUrl::parse(&format!("http://{domain}/")).map_err(|_| "that is no domain")?;
    if url.path_and_query() != "/" || url.port().is_some() || domain.contains(['@', '/', '?', '#'])
    {
        return Err("a domain has no path and no port");
    }
    let path = if path.starts_with('/') { path } else { "/" };
    Ok(Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        domain: url.host().to_owned(),
        host_only,
        path: path.to_owned(),
        secure,
        // Out of range is as far away as can be said; `as` saturates.
        expires: fields.expires.map(|seconds| Timestamp((seconds * 1_000.0) as i64)),
        private: true,
    })
}

fn push(
    cookies: &mut Vec<PresetCookie>,
    cookie: Cookie,
    place: &str,
) -> Result<(), CookiesFileError> {
    if cookies.len() == COOKIES_MAX {
        return Err(wrong(
            place,
            "a file has at most 10,000 cookies; leave out what is not needed",
        ));
    }
    cookies.push(PresetCookie(cookie));
    Ok(())
}

fn wrong(place: &str, reason: &str) -> CookiesFileError {
    CookiesFileError { place: place.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
#[path = "cookies_file_tests.rs"]
mod tests;
