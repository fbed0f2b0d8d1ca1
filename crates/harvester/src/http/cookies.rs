//! A small cookie jar for the time of a check-out: RFC 6265 section 5, with the name prefixes of its
//! successor.
//!
//! A cookie never leaves the registrable domain that set it: `Domain` may widen it to that domain and
//! no further (public suffixes are refused, addresses have no wider domain). `Secure` cookies are set
//! and sent over https only, and so is whatever was set over https. The jar is bounded, so that a flood costs the flooder's own cookies.
//!
//! Cookies that came from the user's file or a login are *private*: they stay so when the server renews
//! them, no flood pushes them out, and requests that carry one are archived without their cookies.

use std::fmt;

use model::{CrawlUrl, Headers, SiteKey, Timestamp};

use super::{cookie_date::parse_cookie_date, cookies_file::PresetCookie};

/// RFC 6265 section 6.1 asks for at least 50 a domain; a crawler needs no more.
const COOKIES_MAX: usize = 50;
/// Name, value and attributes of one cookie (RFC 6265 section 6.1 asks for at least 4,096).
pub(super) const COOKIE_BYTES_MAX: usize = 4_096;
/// The whole `Cookie` header: common servers refuse request heads above 8 KiB.
const HEADER_BYTES_MAX: usize = 6 * 1_024;

#[derive(Clone, Debug, Default)]
pub struct CookieJar {
    /// In the order of creation.
    cookies: Vec<Cookie>,
}

#[derive(Clone)]
pub(super) struct Cookie {
    pub(super) name: String,
    pub(super) value: String,
    /// Lower case, without a leading dot.
    pub(super) domain: String,
    pub(super) host_only: bool,
    pub(super) path: String,
    pub(super) secure: bool,
    /// `None` lasts as long as the jar.
    pub(super) expires: Option<Timestamp>,
    /// Of the user's file or a login.
    pub(super) private: bool,
}

impl CookieJar {
    pub fn new() -> CookieJar {
        CookieJar::default()
    }

    /// A jar for a site that begins with those of `preset` that are for it; expired ones are left out.
    pub fn with_preset(preset: &[PresetCookie], site: &SiteKey, now: Timestamp) -> CookieJar {
        let mut jar = CookieJar::default();
        for cookie in preset.iter().filter(|cookie| cookie.is_for(site, now)) {
            jar.put(cookie.0.clone(), now);
        }
        jar
    }

    pub fn len(&self) -> usize {
        self.cookies.len()
    }

    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Takes every acceptable `Set-Cookie` of an answer from `url`.
    pub fn store(&mut self, url: &CrawlUrl, headers: &Headers, now: Timestamp) {
        for line in headers.all("set-cookie") {
            if let Some(cookie) = parse_set_cookie(line, url, now) {
                self.put(cookie, now);
            }
        }
    }

    /// The same for an answer to a login: what it sets is as good as the password.
    pub fn store_private(&mut self, url: &CrawlUrl, headers: &Headers, now: Timestamp) {
        for line in headers.all("set-cookie") {
            if let Some(cookie) = parse_set_cookie(line, url, now) {
                self.put(Cookie { private: true, ..cookie }, now);
            }
        }
    }

    /// The private cookies, for the next jar of the site to begin with.
    pub fn private(&self, now: Timestamp) -> Vec<PresetCookie> {
        let kept = self.cookies.iter().filter(|cookie| cookie.private && !cookie.expired(now));
        kept.cloned().map(PresetCookie).collect()
    }

    /// Whether a request to `url` carries a private cookie ([`model::FetchRequest::withhold_cookies`]).
    pub fn withholds(&self, url: &CrawlUrl, now: Timestamp) -> bool {
        self.cookies.iter().any(|cookie| cookie.private && cookie.fits(url, now))
    }

    /// The value of the `Cookie` header for a request, longer paths first, then older cookies first.
    pub fn header_for(&self, url: &CrawlUrl, now: Timestamp) -> Option<String> {
        let mut fitting: Vec<&Cookie> =
            self.cookies.iter().filter(|cookie| cookie.fits(url, now)).collect();
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let mut header = String::new();
        for cookie in fitting {
            let length = cookie.name.len() + cookie.value.len() + 3;
            if header.len() + length > HEADER_BYTES_MAX {
                continue;
            }
            if !header.is_empty() {
                header.push_str("; ");
            }
            header.push_str(&cookie.name);
            header.push('=');
            header.push_str(&cookie.value);
        }
        (!header.is_empty()).then_some(header)
    }

    fn put(&mut self, mut cookie: Cookie, now: Timestamp) {
        self.cookies.retain(|old| !old.expired(now));
        let place = self.cookies.iter().position(|old| old.same_place(&cookie));
        match (place, cookie.expired(now)) {
            (Some(place), true) => drop(self.cookies.remove(place)),
            // A replaced cookie keeps its time of creation (section 5.3 step 11.3).
            (Some(place), false) => {
                cookie.private |= self.cookies[place].private;
                self.cookies[place] = cookie;
            }
            (None, true) => {}
            (None, false) if self.cookies.len() < COOKIES_MAX => self.cookies.push(cookie),
            (None, false) => {
                if let Some(oldest) = self.cookies.iter().position(|old| !old.private) {
                    self.cookies.remove(oldest);
                    self.cookies.push(cookie);
                }
            }
        }
    }
}

/// The `Set-Cookie` lines of an answer that no jar takes for what they try, in words, with their number: cookies
/// for other domains, longer or more than are kept.
pub fn refused_cookies(url: &CrawlUrl, headers: &Headers) -> Vec<(&'static str, u64)> {
    let (mut long, mut foreign, mut fine) = (0, 0, 0u64);
    for line in headers.all("set-cookie") {
        let attributes = line.split_once(';').map_or("", |(_, rest)| rest);
        let domain = parse_attributes(attributes, Timestamp::ZERO).domain;
        if line.len() > COOKIE_BYTES_MAX {
            long += 1;
        } else if cookie_domain(domain, url).is_none() {
            foreign += 1;
        } else {
            fine += 1;
        }
    }
    let many = fine.saturating_sub(COOKIES_MAX as u64);
    let all = [("too long", long), ("for another domain", foreign), ("too many", many)];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// The value stays out of logs.
impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.name, self.domain)
    }
}

impl Cookie {
    pub(super) fn expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    fn same_place(&self, other: &Cookie) -> bool {
        self.name == other.name
            && self.domain == other.domain
            && self.path == other.path
            && self.host_only == other.host_only
    }

    fn fits(&self, url: &CrawlUrl, now: Timestamp) -> bool {
        let host = url.host();
        let domain =
            if self.host_only { host == self.domain } else { domain_match(host, &self.domain) };
        domain
            && path_match(url.path(), &self.path)
            && (!self.secure || url.is_https())
            && !self.expired(now)
    }
}

/// The attributes of one `Set-Cookie`; of repeated ones the last counts.
#[derive(Default)]
struct Attributes<'a> {
    domain: Option<&'a str>,
    path: Option<&'a str>,
    secure: bool,
    expires: Option<Timestamp>,
    max_age: Option<Timestamp>,
}

fn parse_set_cookie(line: &str, url: &CrawlUrl, now: Timestamp) -> Option<Cookie> {
    // Browsers end the line at the first control character that ends lines.
    let line = line.split(['\0', '\r', '\n']).next()?;
    if line.len() > COOKIE_BYTES_MAX {
        return None;
    }
    let (pair, rest) = line.split_once(';').unwrap_or((line, ""));
    let (name, value) = pair.split_once('=')?;
    let (name, value) = (trim(name), trim(value));
    if name.is_empty() {
        return None;
    }
    let attributes = parse_attributes(rest, now);
    let (domain, host_only) = cookie_domain(attributes.domain, url)?;
    let path = attributes.path.unwrap_or_else(|| default_path(url.path()));
    if attributes.secure && !url.is_https() {
        return None;
    }
    let host_prefix = starts_with_ignore_case(name, "__Host-");
    let secure_prefix = host_prefix || starts_with_ignore_case(name, "__Secure-");
    if (secure_prefix && !attributes.secure) || (host_prefix && (!host_only || path != "/")) {
        return None;
    }
    Some(Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        domain,
        host_only,
        path: path.to_owned(),
        // What was given over a private line is not shown on an open one.
        secure: attributes.secure || url.is_https(),
        expires: attributes.max_age.or(attributes.expires),
        private: false,
    })
}

fn parse_attributes(text: &str, now: Timestamp) -> Attributes<'_> {
    let mut attributes = Attributes::default();
    for part in text.split(';') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (trim(name), trim(value));
        match name.to_ascii_lowercase().as_str() {
            "domain" if !value.is_empty() => attributes.domain = Some(value),
            "path" => attributes.path = Some(value).filter(|path| path.starts_with('/')),
            "secure" => attributes.secure = true,
            "expires" => attributes.expires = parse_cookie_date(value).or(attributes.expires),
            "max-age" => attributes.max_age = max_age(value, now).or(attributes.max_age),
            _ => {}
        }
    }
    attributes
}

fn max_age(value: &str, now: Timestamp) -> Option<Timestamp> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    if value.starts_with('-') {
        return Some(Timestamp(i64::MIN));
    }
    let seconds: i64 = digits.parse().unwrap_or(i64::MAX);
    // Zero and less mean the earliest time there is (section 5.2.2).
    Some(if seconds == 0 {
        Timestamp(i64::MIN)
    } else {
        Timestamp(now.0.saturating_add(seconds.saturating_mul(1_000)))
    })
}

/// The domain a cookie is for and whether it is for that very host only; `None` refuses the cookie.
fn cookie_domain(attribute: Option<&str>, url: &CrawlUrl) -> Option<(String, bool)> {
    let host = url.host();
    let Some(attribute) = attribute else { return Some((host.to_owned(), true)) };
    let wanted = attribute.strip_prefix('.').unwrap_or(attribute).to_ascii_lowercase();
    if wanted == host {
        // A host that is itself a public suffix or an address keeps its cookie to itself.
        let whole = url.site().domain() == host && (is_address(host) || !host.contains('.'));
        return Some((wanted, whole));
    }
    let within = domain_match(host, &wanted) && wanted.len() >= url.site().domain().len();
    within.then_some((wanted, false))
}

pub(super) fn domain_match(host: &str, domain: &str) -> bool {
    if host == domain {
        return true;
    }
    let below = host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    !domain.is_empty() && below && !is_address(host)
}

fn path_match(path: &str, cookie_path: &str) -> bool {
    match path.strip_prefix(cookie_path) {
        Some(rest) => rest.is_empty() || cookie_path.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

/// Section 5.1.4: up to, but not including, the last slash.
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => &path[..end],
    }
}

fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok()
}

fn starts_with_ignore_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
#[path = "cookies_tests.rs"]
mod tests;
