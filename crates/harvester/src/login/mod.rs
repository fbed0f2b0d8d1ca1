//! Logging in by a form: a state machine that says what to ask for next and judges the answers.
//!
//! It does no I/O: whoever drives it sends each request as any other visit of the site (its clock, its
//! robots.txt, the address guard), as [`model::Purpose::Login`], with the site's cookies, and stores the
//! cookies of each answer as private ones ([`crate::http::CookieJar::store_private`]). Exchanges of a
//! login are not archived: they hold a password on one side and what is as good as one on the other.
//!
//! Three steps, all on one site: GET the page with the form and read its hidden fields and where it goes;
//! POST the user's fields with them; follow at most [`REDIRECTS_MAX`] redirects by GET, then look for the
//! sign of success. A form that would send the password to another site, or from https to http, is not
//! sent. POST is used for nothing else.

mod fields;
mod forms;
#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;
use model::{CrawlUrl, Exchange, FetchFailure};

use self::forms::{Form, Forms};

/// Before the form, and again after it.
pub const REDIRECTS_MAX: u8 = 3;

/// A login as the user describes it.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginForm {
    /// The page with the form.
    pub page: CrawlUrl,
    /// What to fill in, by the names of the inputs; stands above what the page itself fills in.
    pub fields: Vec<(String, String)>,
    /// The form's name, its id, or its number on the page from 1; without it the first that has a
    /// password to fill in.
    pub form: Option<String>,
    /// Where to send it; without it where the form says.
    pub action: Option<CrawlUrl>,
    pub success: SuccessSign,
}

/// How to tell that the login worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuccessSign {
    /// A cookie of this name is set, by the answer to the form or after it.
    Cookie(String),
    /// The last page holds this text.
    Text(String),
    /// A redirect leads to a URL, or a path, that begins so.
    RedirectTo(String),
    /// The last answer has this status.
    Status(u16),
}

#[derive(Clone, Debug)]
pub struct Login {
    form: LoginForm,
    state: State,
    /// The cookie or the redirect of the sign was seen.
    signed: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginStep {
    /// Ask for it; `post` holds the fields of the form.
    Request {
        url: CrawlUrl,
        post: Option<Bytes>,
    },
    In,
    /// For people: why not.
    Failed(String),
}

#[derive(Clone)]
enum State {
    Page { url: CrawlUrl, hops: u8 },
    Sending { url: CrawlUrl, post: Bytes },
    After { url: CrawlUrl, hops: u8 },
    In,
    Failed(String),
}

impl Login {
    pub fn new(form: LoginForm) -> Login {
        let state = State::Page { url: form.page.clone(), hops: 0 };
        Login { form, state, signed: false }
    }

    /// The same until it is answered.
    pub fn next(&self) -> LoginStep {
        match &self.state {
            State::Page { url, .. } | State::After { url, .. } => {
                LoginStep::Request { url: url.clone(), post: None }
            }
            State::Sending { url, post } => {
                LoginStep::Request { url: url.clone(), post: Some(post.clone()) }
            }
            State::In => LoginStep::In,
            State::Failed(why) => LoginStep::Failed(why.clone()),
        }
    }

    /// The answer to what [`Login::next`] asked for.
    pub fn answered(&mut self, answer: Result<&Exchange, &FetchFailure>) {
        let next = match answer {
            Err(failure) => Err(format!("the login got no answer: {}", failure.detail)),
            Ok(exchange) => match self.state.clone() {
                State::Page { url, hops } => self.page_came(&url, hops, exchange),
                State::Sending { url, .. } => self.sent(&url, exchange),
                State::After { url, hops } => self.followed(&url, hops, exchange),
                ended @ (State::In | State::Failed(_)) => Ok(ended),
            },
        };
        self.state = next.unwrap_or_else(State::Failed);
    }

    fn page_came(&self, url: &CrawlUrl, hops: u8, exchange: &Exchange) -> Result<State, String> {
        if let Some(target) = redirect(url, exchange) {
            let target = self.within_site(target?)?;
            return match hops < REDIRECTS_MAX {
                true => Ok(State::Page { url: target, hops: hops + 1 }),
                false => Err(format!("{} redirects too often", self.form.page)),
            };
        }
        let forms = Forms::read(&exchange.body);
        let found = self.choose(&forms);
        let action = match (&self.form.action, found) {
            (Some(action), _) => action.clone(),
            (None, Some(form)) => forms.target(form, url)?,
            (None, None) => {
                return Err(format!("{url} (status {}) has no such form", exchange.status));
            }
        };
        let action = self.within_site(action)?;
        if (url.is_https() || self.form.page.is_https()) && !action.is_https() {
            return Err(format!("the form would send the password in the clear to {action}"));
        }
        let hidden = found.map_or(&[][..], |form| &form.hidden);
        let post = fields::encode(hidden, &self.form.fields).into();
        Ok(State::Sending { url: action, post })
    }

    fn choose<'a>(&self, forms: &'a Forms) -> Option<&'a Form> {
        let Some(wanted) = self.form.form.as_deref() else {
            return forms.list.iter().find(|form| form.has_password);
        };
        let is = |text: &Option<String>| text.as_deref() == Some(wanted);
        let number = || wanted.parse::<usize>().ok()?.checked_sub(1);
        let named = forms.list.iter().find(|form| is(&form.id) || is(&form.name));
        named.or_else(|| forms.list.get(number()?))
    }

    fn sent(&mut self, url: &CrawlUrl, exchange: &Exchange) -> Result<State, String> {
        if matches!(exchange.status, 307 | 308) {
            let there = exchange.headers.get("location").unwrap_or("nowhere");
            return Err(format!("{url} wants the form sent to {there}; set that as the action"));
        }
        self.followed(url, 0, exchange)
    }

    fn followed(&mut self, url: &CrawlUrl, hops: u8, exchange: &Exchange) -> Result<State, String> {
        if let SuccessSign::Cookie(name) = &self.form.success {
            self.signed |= sets_cookie(exchange, name);
        }
        let Some(target) = redirect(url, exchange) else { return self.judge(exchange) };
        let target = target?;
        if let SuccessSign::RedirectTo(start) = &self.form.success {
            self.signed |= target.as_str().starts_with(start.as_str())
                || target.path_and_query().starts_with(start.as_str());
        }
        match self.within_site(target) {
            Ok(url) if hops < REDIRECTS_MAX => Ok(State::After { url, hops: hops + 1 }),
            _ if self.signed => Ok(State::In),
            Ok(_) => Err(format!("{url} redirects too often after the login")),
            Err(elsewhere) => Err(elsewhere),
        }
    }

    fn judge(&self, last: &Exchange) -> Result<State, String> {
        let (good, sign) = match &self.form.success {
            SuccessSign::Cookie(name) => (self.signed, format!("no cookie `{name}` was set")),
            SuccessSign::RedirectTo(start) => (self.signed, format!("no redirect to {start} came")),
            SuccessSign::Status(status) => {
                (last.status == *status, format!("the status is not {status}"))
            }
            SuccessSign::Text(text) => {
                let found = memchr::memmem::find(&last.body, text.as_bytes()).is_some();
                (found && !text.is_empty(), "the page does not hold the text".to_owned())
            }
        };
        match good {
            true => Ok(State::In),
            false => Err(format!(
                "the login did not succeed: {sign} (the last answer was {} from {})",
                last.status, last.url
            )),
        }
    }

    fn within_site(&self, url: CrawlUrl) -> Result<CrawlUrl, String> {
        match url.site_text() == self.form.page.site_text() {
            true => Ok(url),
            false => Err(format!("the login leads to another site: {url}")),
        }
    }
}

/// Where an answer leads, if it does; `Err` if that is no place to go to.
fn redirect(url: &CrawlUrl, exchange: &Exchange) -> Option<Result<CrawlUrl, String>> {
    if !matches!(exchange.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = exchange.headers.get("location")?;
    let target = url.join(location);
    Some(target.map_err(|error| format!("{url} redirects to what is no page: {error}")))
}

/// A cookie that is taken back (an empty value) is none.
fn sets_cookie(exchange: &Exchange, name: &str) -> bool {
    exchange.headers.all("set-cookie").any(|line| {
        let pair = line.split(';').next().unwrap_or_default();
        pair.split_once('=').is_some_and(|(n, value)| n.trim() == name && !value.trim().is_empty())
    })
}

/// The password stays out of logs.
impl fmt::Debug for LoginForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the login at {}", self.page)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Page { .. } => "Page",
            State::Sending { .. } => "Sending",
            State::After { .. } => "After",
            State::In => "In",
            State::Failed(_) => "Failed",
        })
    }
}
