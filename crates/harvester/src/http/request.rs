//! The head of a request: the same lines in the same order for everybody, `Host` first.

use bytes::Bytes;
use http_body_util::Empty;
use hyper::{
    HeaderMap, Method, Request, Uri,
    header::{self, HeaderName, HeaderValue},
};
use model::{CrawlUrl, FetchRequest};

use super::{HttpOptions, HttpSetupError};

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
    /// To a proxy plain pages are asked for by their whole URL.
    proxied: bool,
    proxy_authorization: Option<HeaderValue>,
}

impl RequestForm {
    pub fn new(options: &HttpOptions) -> Result<RequestForm, HttpSetupError> {
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
        let authorization = options.proxy.as_ref().and_then(|p| p.authorization.as_ref());
        let proxy_authorization =
            authorization.map(|text| value("Proxy-Authorization", text)).transpose()?;
        Ok(RequestForm { lines, extra, proxied: options.proxy.is_some(), proxy_authorization })
    }

    /// `Err` says why the URL or what goes with it cannot be sent.
    pub fn request(&self, asked: &FetchRequest) -> Result<Request<Empty<Bytes>>, String> {
        let url = &asked.url;
        let to_proxy = self.proxied && !url.is_https();
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
        let mut request = Request::new(Empty::new());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
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

fn value(name: &str, text: &str) -> Result<HeaderValue, HttpSetupError> {
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| HttpSetupError::HeaderValue { name: name.to_owned(), value: text.to_owned() })
}
