//! `[[credential]]` and `[[login]]`: by what servers know the crawler, each bound to one origin.
//!
//! A secret stands in the file, in a variable (`env:NAME`) or in a file of its own (`file:PATH`), and is
//! read only when it is used. It is never part of a message, a listing or a debug print.

use std::{
    fmt,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use model::{CrawlUrl, Origin};

use super::check::header_name;
use super::item::{Entry, Item};
use super::value::{Raw, quoted};
use crate::failure::Failure;

/// Of each kind; a collection that knows more places by password is several collections.
const TABLES_MAX: usize = 1_000;
/// Tokens have a few kilobytes at most.
const SECRET_BYTES_MAX: u64 = 64_000;
/// Of one form.
const FIELDS_MAX: usize = 100;

/// Sent with every request to one origin, and to no other.
#[derive(Clone, Debug)]
pub struct Credential {
    pub origin: Origin,
    /// `None`: of any spider.
    pub spider: Option<String>,
    pub scheme: Scheme,
    pub secret: Secret,
    pub at: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    Basic,
    Bearer,
    /// In the header of this name.
    Header(String),
}

/// What goes into the header; no part of it is for eyes.
#[derive(Clone, PartialEq, Eq)]
pub enum Authorization {
    Basic { user: String, password: String },
    Bearer(String),
    Header { name: String, value: String },
}

/// A form to send before a site is crawled.
#[derive(Clone, Debug)]
pub struct Login {
    /// The page with the form.
    pub page: CrawlUrl,
    /// `None`: of any spider.
    pub spider: Option<String>,
    /// The form's name, its id, or its number on the page, where there are several.
    pub form: Option<String>,
    /// Where the form goes, instead of what the page says; on the site of `page`.
    pub action: Option<CrawlUrl>,
    pub fields: Vec<(String, Secret)>,
    pub success: Success,
    pub at: Place,
}

/// The sign that a login was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Success {
    /// A cookie of this name came.
    Cookie(String),
    /// The answer holds this text.
    Text(String),
    /// The answer sends on to a URL that begins so.
    Redirect(String),
    Status(u16),
}

#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    Written(String),
    /// The name of an environment variable.
    Variable(String),
    File(PathBuf),
}

/// Where a table stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: Arc<Path>,
    pub line: usize,
}

impl Scheme {
    pub fn word(&self) -> &'static str {
        match self {
            Scheme::Basic => "basic",
            Scheme::Bearer => "bearer",
            Scheme::Header(_) => "header",
        }
    }
}

impl Credential {
    /// Reads the secret.
    pub fn authorization(&self) -> Result<Authorization, Failure> {
        let secret = self.secret.read().map_err(|what| self.at.refuse(&what))?;
        match &self.scheme {
            Scheme::Header(_) if secret.is_empty() || !secret.bytes().all(is_printable) => {
                Err(self.at.refuse("the header's value is empty or no value of a header"))
            }
            Scheme::Header(name) => Ok(Authorization::Header { name: name.clone(), value: secret }),
            Scheme::Bearer
                if !secret.is_empty() && secret.bytes().all(|b| b.is_ascii_graphic()) =>
            {
                Ok(Authorization::Bearer(secret))
            }
            Scheme::Bearer => Err(self.at.refuse("the token is empty or no token")),
            Scheme::Basic => match secret.split_once(':') {
                Some((user, password)) if !secret.contains(char::is_control) => {
                    let (user, password) = (user.to_owned(), password.to_owned());
                    Ok(Authorization::Basic { user, password })
                }
                _ => Err(self.at.refuse("the secret is not of the form user:password")),
            },
        }
    }
}

impl Login {
    /// Reads the fields' secrets.
    pub fn values(&self) -> Result<Vec<(String, String)>, Failure> {
        let value = |(name, secret): &(String, Secret)| match secret.read() {
            Ok(value) => Ok((name.clone(), value)),
            Err(what) => Err(self.at.refuse(&format!("the field {name:?}: {what}"))),
        };
        self.fields.iter().map(value).collect()
    }
}

impl Secret {
    pub(super) fn new(text: String, folder: &Path) -> Secret {
        if let Some(name) = text.strip_prefix("env:") {
            return Secret::Variable(name.to_owned());
        }
        match text.strip_prefix("file:") {
            Some(path) => Secret::File(folder.join(path)),
            None => Secret::Written(text),
        }
    }

    /// What is wrong is said without what it is.
    pub(super) fn read(&self) -> Result<String, String> {
        match self {
            Secret::Written(text) => Ok(text.clone()),
            Secret::Variable(name) => std::env::var(name)
                .map_err(|_| format!("the variable {name} of its secret is not set")),
            Secret::File(path) => {
                let cannot = |error: std::io::Error| {
                    format!("its secret {} cannot be read: {error}", path.display())
                };
                let mut text = String::new();
                let file = File::open(path).map_err(cannot)?;
                file.take(SECRET_BYTES_MAX).read_to_string(&mut text).map_err(cannot)?;
                Ok(text.trim_end_matches(['\r', '\n']).to_owned())
            }
        }
    }
}

impl Place {
    pub(super) fn refuse(&self, what: &str) -> Failure {
        Failure::usage(
            format!("{} line {}: {what}", self.path.display(), self.line),
            "write it there, as env:NAME, or in a file of its own that this user can read",
        )
    }
}

/// Where it stands, as TOML, and never what it is.
impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Secret::Written(_) => f.write_str("\"***\""),
            Secret::Variable(name) => f.write_str(&quoted(&format!("env:{name}"))),
            Secret::File(path) => f.write_str(&quoted(&format!("file:{}", path.display()))),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

pub(super) fn credentials(items: Vec<Item>, mistakes: &mut Vec<Failure>) -> Vec<Credential> {
    each(items, mistakes, credential)
}

pub(super) fn logins(items: Vec<Item>, mistakes: &mut Vec<Failure>) -> Vec<Login> {
    each(items, mistakes, login)
}

fn each<T>(
    items: Vec<Item>,
    mistakes: &mut Vec<Failure>,
    read: fn(Item, &mut Vec<Failure>) -> Option<T>,
) -> Vec<T> {
    if let Some(item) = items.get(TABLES_MAX) {
        let what = format!("more than {TABLES_MAX} tables [[{}]]", item.kind);
        mistakes.push(item.wrong(item.line, &what, "write fewer"));
    }
    items.into_iter().take(TABLES_MAX).filter_map(|item| read(item, mistakes)).collect()
}

fn credential(mut item: Item, mistakes: &mut Vec<Failure>) -> Option<Credential> {
    const KNOWN: &[&str] =
        &["origin", "spider", "basic", "basic_file", "bearer", "bearer_file", "header"];
    let spider = item.text("spider", mistakes).map(|(name, _)| name);
    let origin = item.text("origin", mistakes);
    let mut secrets = Vec::new();
    for (name, scheme) in [("basic", Scheme::Basic), ("bearer", Scheme::Bearer)] {
        if let Some((text, _)) = item.text(name, mistakes) {
            secrets.push((scheme.clone(), Secret::new(text, item.folder())));
        }
        if let Some((path, _)) = item.text(&format!("{name}_file"), mistakes) {
            secrets.push((scheme, Secret::File(item.folder().join(path))));
        }
    }
    if let Some((text, line)) = item.text("header", mistakes) {
        secrets.push(own_header(&item, &text, line, mistakes)?);
    }
    item.refuse_rest(KNOWN, mistakes);
    let origin = match origin {
        Some((text, line)) => origin_of(&item, &text, line, mistakes)?,
        None => {
            let what = "a [[credential]] has no origin";
            let what_to_do = "write origin = \"https://example.org\": it is sent there only";
            mistakes.push(item.wrong(item.line, what, what_to_do));
            return None;
        }
    };
    if secrets.len() != 1 {
        let what = "a [[credential]] needs exactly one of basic, basic_file, bearer, bearer_file, \
                    header";
        let what_to_do = "write basic = \"user:password\", or a token, file or header, once";
        mistakes.push(item.wrong(item.line, what, what_to_do));
        return None;
    }
    let (scheme, secret) = secrets.remove(0);
    let at = Place { path: item.path.clone(), line: item.line };
    let credential = Credential { origin, spider, scheme, secret, at };
    // What stands in the file itself can be judged at once.
    if matches!(credential.secret, Secret::Written(_))
        && let Err(failure) = credential.authorization()
    {
        mistakes.push(failure);
        return None;
    }
    Some(credential)
}

/// `Name: value`; the value is a secret like others.
fn own_header(
    item: &Item,
    text: &str,
    line: usize,
    mistakes: &mut Vec<Failure>,
) -> Option<(Scheme, Secret)> {
    let named = text.split_once(':').filter(|(name, _)| header_name(name).is_ok());
    if let Some((name, value)) = named {
        let secret = Secret::new(value.trim().to_owned(), item.folder());
        return Some((Scheme::Header(name.to_owned()), secret));
    }
    // What stands there may be the secret itself.
    let what = "header has no name, or one that the crawler itself must set";
    let what_to_do =
        "write header = \"X-Api-Key: env:NAME\"; a file of cookies is named by fetch.cookies";
    mistakes.push(item.wrong(line, what, what_to_do));
    None
}

/// What the value of a header may be made of.
fn is_printable(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte)
}

fn origin_of(item: &Item, text: &str, line: usize, mistakes: &mut Vec<Failure>) -> Option<Origin> {
    let url = CrawlUrl::parse(text).ok().filter(|url| url.path_and_query() == "/");
    if url.is_none() || text.contains('@') {
        // Somebody may have written a password into it.
        let what = "origin is no scheme and host alone";
        let what_to_do = "write it such as https://example.org or http://localhost:8000";
        mistakes.push(item.wrong(line, what, what_to_do));
        return None;
    }
    url.map(|url| url.origin())
}

fn login(mut item: Item, mistakes: &mut Vec<Failure>) -> Option<Login> {
    const KNOWN: &[&str] = &["page", "spider", "form", "action", "fields", "success"];
    let before = mistakes.len();
    let spider = item.text("spider", mistakes).map(|(name, _)| name);
    let form = item.text("form", mistakes).map(|(name, _)| name);
    let action = item.text("action", mistakes);
    let success = item.text("success", mistakes);
    let page = item.text("page", mistakes);
    let fields = fields(&mut item, mistakes);
    item.refuse_rest(KNOWN, mistakes);
    let missing = |what: &str, what_to_do: &str| item.wrong(item.line, what, what_to_do);
    let page = match page {
        Some((text, line)) => whole_url(&item, "page", &text, line, mistakes),
        None => {
            let what_to_do = "write page = \"https://example.org/login\", the page with the form";
            mistakes.push(missing("a [[login]] has no page", what_to_do));
            None
        }
    };
    let success = match success {
        Some((text, line)) => sign(&item, &text, line, page.as_ref(), mistakes),
        None => {
            mistakes.push(missing("a [[login]] has no success", SIGNS));
            None
        }
    };
    let page = page?;
    let action = action.and_then(|(text, line)| action_of(&item, &page, &text, line, mistakes));
    let at = Place { path: item.path.clone(), line: item.line };
    let login = Login { page, spider, form, action, fields, success: success?, at };
    (mistakes.len() == before).then_some(login)
}

const SIGNS: &str = "write the sign of success: \"cookie NAME\", \"text WORDS\", \
                     \"redirect PREFIX\" or \"status 302\"";

fn fields(item: &mut Item, mistakes: &mut Vec<Failure>) -> Vec<(String, Secret)> {
    let mut fields = Vec::new();
    for Entry { name, raw, line } in item.take_below("fields.") {
        match raw {
            Raw::Text(text) => fields.push((name, Secret::new(text, item.folder()))),
            _ => {
                let what = format!("the field {name:?} is no text");
                mistakes.push(item.wrong(line, &what, "write its value in quotes"));
            }
        }
    }
    if fields.is_empty() || fields.len() > FIELDS_MAX {
        let what = format!("a [[login]] has no fields, or more than {FIELDS_MAX}");
        let what_to_do = "write fields = { user = \"me\", password = \"env:NAME\" }";
        mistakes.push(item.wrong(item.line, &what, what_to_do));
    }
    fields
}

fn whole_url(
    item: &Item,
    name: &str,
    text: &str,
    line: usize,
    mistakes: &mut Vec<Failure>,
) -> Option<CrawlUrl> {
    CrawlUrl::parse(text)
        .map_err(|error| {
            let what = format!("{name} = {}: {error}", quoted(text));
            let what_to_do = "write a whole URL such as https://example.org/login";
            mistakes.push(item.wrong(line, &what, what_to_do));
        })
        .ok()
}

/// Secrets of a site stay on that site.
fn action_of(
    item: &Item,
    page: &CrawlUrl,
    text: &str,
    line: usize,
    mistakes: &mut Vec<Failure>,
) -> Option<CrawlUrl> {
    let action = page.join(text).ok().filter(|action| action.site() == page.site());
    if action.is_none() {
        let what = format!("action = {}: it is no URL on the site of page", quoted(text));
        let what_to_do = "write a path such as /login, or leave it out: the form says where";
        mistakes.push(item.wrong(line, &what, what_to_do));
    }
    action
}

fn sign(
    item: &Item,
    text: &str,
    line: usize,
    page: Option<&CrawlUrl>,
    mistakes: &mut Vec<Failure>,
) -> Option<Success> {
    let (word, rest) = text.trim().split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim();
    let read = match word {
        _ if rest.is_empty() => None,
        "cookie" => Some(Success::Cookie(rest.to_owned())),
        "text" => Some(Success::Text(rest.to_owned())),
        "redirect" => match page {
            Some(page) => page.join(rest).ok().map(|url| Success::Redirect(url.to_string())),
            None => return None,
        },
        "status" => {
            let status = rest.parse().ok().filter(|status| (100..600).contains(status));
            status.map(Success::Status)
        }
        _ => None,
    };
    if read.is_none() {
        let what = format!("success = {}: it is no sign of success", quoted(text));
        mistakes.push(item.wrong(line, &what, SIGNS));
    }
    read
}

#[cfg(test)]
mod tests;
