//! How a collection writes its URLs: the normal form, then the user's own changes.
//!
//! [`UrlForm::apply`] is the one function for links and what people ask about. In this order, each
//! once: sessions and orders of listings taken out, the [`NormalForm`], paths in lower case on servers that ignore case, the rewrites one after the
//! other. A rewrite may lead to another site; the result is judged like any URL. One whose result is no
//! URL, or is beyond all measure, changes nothing.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use model::{CrawlUrl, Hazard, NormalForm};
use regex::{Captures, Regex};

use crate::{
    condition::is_below,
    pattern,
    traps::{SessionNames, order::without_order},
};

/// A rewrite is read by people.
const REWRITE_BYTES_MAX: usize = 4_096;
/// A result this long is refused by every limit on URLs.
const RESULT_BYTES_MAX: usize = 65_536;

#[derive(Clone, Debug, Default)]
pub struct UrlForm {
    normal: NormalForm,
    /// Hosts; with `*.` in front, all hosts below.
    lowercase: Arc<[String]>,
    rewrites: Arc<[Rewrite]>,
    /// Parts that never matter: sessions by known names, orders of listings.
    mended: Option<Arc<SessionNames>>,
}

/// `regex => replacement`: every match in the whole URL is replaced; `$1` and `${name}` are groups.
#[derive(Clone, Debug)]
pub struct Rewrite {
    regex: Regex,
    replacement: String,
}

impl UrlForm {
    pub fn new(normal: NormalForm, lowercase: Vec<String>, rewrites: Vec<Rewrite>) -> UrlForm {
        UrlForm { normal, lowercase: lowercase.into(), rewrites: rewrites.into(), mended: None }
    }

    /// Takes sessions of these names and the orders of listings out as well.
    #[must_use]
    pub fn mending(self, names: SessionNames) -> UrlForm {
        UrlForm { mended: Some(Arc::new(names)), ..self }
    }

    /// Whether URLs stay as they are.
    pub fn is_plain(&self) -> bool {
        self.normal == NormalForm::default()
            && self.lowercase.is_empty()
            && self.rewrites.is_empty()
            && self.mended.is_none()
    }

    #[must_use]
    pub fn apply(&self, url: &CrawlUrl) -> CrawlUrl {
        match self.mend(url) {
            Some((url, ..)) => self.apply_to_redirect(&url),
            None => self.apply_to_redirect(url),
        }
    }

    /// The URL without what never matters, and what that was.
    pub fn mend(&self, url: &CrawlUrl) -> Option<(CrawlUrl, Hazard, String)> {
        let names = self.mended.as_deref()?;
        if let Some(folder) = without_order(url) {
            return Some((folder, Hazard::DirectoryOrder, String::new()));
        }
        let (url, name) = names.strip(url)?;
        Some((url, Hazard::SessionIds, name))
    }

    /// What the user names is meant as it is written: nothing is taken out of it.
    #[must_use]
    pub fn apply_to_seed(&self, url: &CrawlUrl) -> CrawlUrl {
        self.apply_to_redirect(url)
    }

    /// A server that sends us on to a URL with a session insists on it: nothing is taken out there, or the
    /// page would redirect to itself.
    #[must_use]
    pub fn apply_to_redirect(&self, url: &CrawlUrl) -> CrawlUrl {
        let url = url.with_form(&self.normal);
        let url = if self.is_case_blind(&url) { lower_path(url) } else { url };
        self.rewrites.iter().fold(url, |url, rewrite| rewrite.apply(url))
    }

    fn is_case_blind(&self, url: &CrawlUrl) -> bool {
        self.lowercase.iter().any(|host| match host.strip_prefix("*.") {
            Some(domain) => is_below(url.host(), domain),
            None => url.host() == host,
        })
    }
}

impl Rewrite {
    /// The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Rewrite, String> {
        if text.len() > REWRITE_BYTES_MAX {
            return Err(format!("it is longer than {REWRITE_BYTES_MAX} bytes"));
        }
        let Some((before, replacement)) = text.split_once("=>") else {
            return Err("there is no => in it".to_owned());
        };
        let (text, replacement) = (before.trim(), replacement.trim());
        if text.is_empty() {
            return Err("there is nothing before the =>".to_owned());
        }
        let regex = pattern::of_text(text)
            .map_err(|what| format!("{text} is no valid regular expression ({what})"))?;
        check_groups(&regex, replacement)?;
        Ok(Rewrite { regex, replacement: replacement.to_owned() })
    }

    fn apply(&self, url: CrawlUrl) -> CrawlUrl {
        match self.replaced(url.as_str()).map(|text| CrawlUrl::parse(&text)) {
            Some(Ok(rewritten)) => rewritten,
            _ => url,
        }
    }

    /// `None` when nothing matches or too much comes of it.
    fn replaced(&self, text: &str) -> Option<String> {
        let mut result = String::new();
        let mut end = 0;
        for captures in self.regex.captures_iter(text) {
            let whole = captures.get(0)?;
            result.push_str(&text[end..whole.start()]);
            captures.expand(&self.replacement, &mut result);
            end = whole.end();
            if result.len() > RESULT_BYTES_MAX {
                return None;
            }
        }
        (end > 0 || !result.is_empty()).then(|| result + &text[end..])
    }
}

/// A host of `url.lowercase_paths` as URLs have it: `example.org`, or `*.example.org` for all below.
pub fn parse_host_pattern(text: &str) -> Result<String, String> {
    let (star, host) = text.strip_prefix("*.").map_or(("", text), |host| ("*.", host));
    let url = CrawlUrl::parse(&format!("http://{host}/"));
    match url {
        Ok(url) if !host.is_empty() && url.path() == "/" && url.port().is_none() => {
            Ok(format!("{star}{}", url.host()))
        }
        _ => Err(format!("{text} is no host")),
    }
}

/// Escapes come back in upper case by parsing.
fn lower_path(url: CrawlUrl) -> CrawlUrl {
    if !url.path().bytes().any(|b| b.is_ascii_uppercase()) {
        return url;
    }
    let start = url.as_str().len() - url.path_and_query().len();
    let mut text = url.as_str().to_owned();
    text[start..start + url.path().len()].make_ascii_lowercase();
    CrawlUrl::parse(&text).unwrap_or(url)
}

/// A group that is not there would silently be replaced by nothing: `$1x` means the group `1x`.
fn check_groups(regex: &Regex, replacement: &str) -> Result<(), String> {
    let references = Regex::new(r"\$\$|\$\{([^}]*)\}|\$([0-9A-Za-z_]+)")
        .expect("a fixed expression that a test uses");
    let name = |found: Captures<'_>| {
        found.get(1).or_else(|| found.get(2)).map(|name| name.as_str().to_owned())
    };
    for name in references.captures_iter(replacement).filter_map(name) {
        let is_there = match name.parse::<usize>() {
            Ok(number) => number < regex.captures_len(),
            Err(_) => regex.capture_names().flatten().any(|known| known == name),
        };
        if !is_there {
            return Err(format!("there is no group {name}; write ${{1}}x for group 1 before x"));
        }
    }
    Ok(())
}
