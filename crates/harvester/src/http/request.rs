//! A request: the same lines in the same order for every one of a profile, `Host` first.

use bytes::Bytes;
use http::{
    HeaderMap, Method, Request, Uri,
    header::{self, HeaderName, HeaderValue},
};
use model::{CrawlUrl, FetchRequest};

use super::{
    HttpSetupError,
    profile::{Credential, HttpProfile},
    withheld::Secrets,
};

const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// What decides over connection, framing, range or identity is not left to a list of extra headers.
const RESERVED: [&str; 12] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "upgrade",
    "expect",
    "range",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "user-agent",
];

/// The lines that are the same for all requests, checked once.
pub struct RequestForm {
    /// Before what is the request's own.
    lines: Vec<(HeaderName, HeaderValue)>,
    extra: Vec<(HeaderName, HeaderValue)>,
    /// To an HTTP proxy plain pages are asked for by their whole URL.
    proxied: bool,
    proxy_authorization: Option<HeaderValue>,
    credentials: Vec<Proof>,
}

/// A credential as the line it is sent in.
struct Proof {
    known: Credential,
    name: HeaderName,
    value: HeaderValue,
}

/// A request, and what of it the archive may not keep.
pub struct Prepared {
    pub request: Request<Bytes>,
    pub secrets: Secrets,
}

impl RequestForm {
    pub fn new(options: &HttpProfile) -> Result<RequestForm, HttpSetupError> {
        let mut lines = Vec::new();
        let own = [
            (header::USER_AGENT, Some(&options.user_agent)),
            (header::ACCEPT, Some(&options.accept)),
            (header::ACCEPT_LANGUAGE, options.accept_language.as_ref()),
            (header::ACCEPT_ENCODING, Some(&options.accept_encoding)),
            (header::FROM, options.from.as_ref()),
        ];
        for (name, text) in own {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                lines.push((name.clone(), value(name.as_str(), text)?));
            }
        }
        let extra = options.headers.iter().map(extra_line).collect::<Result<_, _>>()?;
        let proxy = options.proxy.as_ref().filter(|proxy| proxy.is_http());
        let authorization = proxy.and_then(|proxy| proxy.authorization());
        let proxy_authorization =
            authorization.map(|text| value("Proxy-Authorization", &text)).transpose()?;
        let credentials = options.credentials.iter().map(credential).collect::<Result<_, _>>()?;
        let proxied = proxy.is_some();
        Ok(RequestForm { lines, extra, proxied, proxy_authorization, credentials })
    }

    /// Whether the request goes to an HTTP proxy itself, and not through a tunnel.
    pub fn to_proxy(&self, url: &CrawlUrl) -> bool {
        self.proxied && !url.is_https()
    }

    /// `Err` says why the URL or what goes with it cannot be sent.
    pub fn request(&self, asked: &FetchRequest) -> Result<Prepared, String> {
        let url = &asked.url;
        let to_proxy = self.to_proxy(url);
        let target = if to_proxy { url.as_str() } else { url.path_and_query() };
        let uri: Uri = target.parse().map_err(|e| format!("the URL cannot be asked for: {e}"))?;
        let mut headers = HeaderMap::with_capacity(12);
        headers.insert(header::HOST, host(url)?);
        for (name, value) in &self.lines {
            headers.insert(name.clone(), value.clone());
        }
        self.own_lines(asked, &mut headers);
        if let (true, Some(authorization)) = (to_proxy, &self.proxy_authorization) {
            headers.insert(header::PROXY_AUTHORIZATION, authorization.clone());
        }
        for (name, value) in &self.extra {
            headers.append(name.clone(), value.clone());
        }
        let others = self.prove(url, &mut headers);
        let secrets = Secrets { others, ..self.secrets(asked, &headers) };
        let request = assembled(uri, headers, asked.post.clone());
        Ok(Prepared { request, secrets })
    }

    /// The credentials of this very origin stand above what is sent everywhere, the first of each name
    /// above the others. Returns the names besides `Authorization`.
    fn prove(&self, url: &CrawlUrl, headers: &mut HeaderMap) -> Vec<HeaderName> {
        let mut others = Vec::new();
        for proof in self.credentials.iter().rev().filter(|proof| proof.known.is_for(url)) {
            headers.insert(proof.name.clone(), proof.value.clone());
            if proof.name != header::AUTHORIZATION {
                others.push(proof.name.clone());
            }
        }
        others
    }

    fn secrets(&self, asked: &FetchRequest, headers: &HeaderMap) -> Secrets {
        let authorization = headers.contains_key(header::AUTHORIZATION)
            || headers.contains_key(header::PROXY_AUTHORIZATION);
        let own_cookie = self.extra.iter().any(|(name, _)| *name == header::COOKIE);
        let cookies = asked.withhold_cookies || own_cookie;
        Secrets { authorization, cookies, others: Vec::new() }
    }

    /// Values that a server gave us and that cannot be sent back are left out: the answer is then only
    /// less well informed.
    fn own_lines(&self, asked: &FetchRequest, headers: &mut HeaderMap) {
        let mut put = |name: HeaderName, text: Option<&String>| {
            if let Some(value) = text.and_then(|text| HeaderValue::from_bytes(text.as_bytes()).ok())
            {
                headers.insert(name, value);
            }
        };
        put(header::COOKIE, asked.cookies.as_ref());
        if let Some(condition) = &asked.condition {
            put(header::IF_NONE_MATCH, condition.etag.as_ref());
            put(header::IF_MODIFIED_SINCE, condition.last_modified.as_ref());
        }
    }
}

fn assembled(uri: Uri, mut headers: HeaderMap, post: Option<Bytes>) -> Request<Bytes> {
    let method = if post.is_some() { Method::POST } else { Method::GET };
    if post.is_some() {
        headers.entry(header::CONTENT_TYPE).or_insert(FORM);
    }
    let mut request = Request::new(post.unwrap_or_default());
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    request
}

fn host(url: &CrawlUrl) -> Result<HeaderValue, String> {
    HeaderValue::from_str(url.authority()).map_err(|_| "the host cannot be asked for".to_owned())
}

fn extra_line(line: &(String, String)) -> Result<(HeaderName, HeaderValue), HttpSetupError> {
    let (name, text) = line;
    if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        return Err(HttpSetupError::Reserved(name.clone()));
    }
    let parsed: HeaderName = name.parse().map_err(|_| HttpSetupError::HeaderName(name.clone()))?;
    Ok((parsed, value(name, text)?))
}

fn credential(known: &Credential) -> Result<Proof, HttpSetupError> {
    let wrong = |reason: &str| HttpSetupError::Credential {
        origin: known.origin.clone(),
        reason: reason.to_owned(),
    };
    let (name, text) = known.line().map_err(wrong)?;
    if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        return Err(wrong("its header is the crawler's own to set"));
    }
    let name: HeaderName = name.parse().map_err(|_| wrong("its header has no name"))?;
    let mut value = HeaderValue::from_str(&text)
        .map_err(|_| wrong("it holds characters that no header can hold"))?;
    value.set_sensitive(true);
    Ok(Proof { known: known.clone(), name, value })
}

fn value(name: &str, text: &str) -> Result<HeaderValue, HttpSetupError> {
    // Errors are shown and logged.
    let secret = ["authorization", "proxy-authorization", "cookie"]
        .iter()
        .any(|secret| name.eq_ignore_ascii_case(secret));
    let shown = if secret { "[withheld]" } else { text };
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| HttpSetupError::HeaderValue { name: name.to_owned(), value: shown.to_owned() })
}
