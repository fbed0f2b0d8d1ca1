//! A page that somebody asks about: found under the name the collection has for it, with everything that
//! reading its versions takes; or why it is not there, and what may have been meant.

use model::CrawlUrl;
use seeder::parse_seed;
use store::{
    census::{Census, PageStory},
    collection::Collection,
};

use super::{Context, known_as};
use collection::archived::Archived;
use config::{
    failure::{Exit, Failure},
    setup,
};

/// URLs of a site among which the nearest is looked for: some milliseconds.
const NEAR_MAX: u32 = 5_000;
/// Bytes that may differ between what was typed and what was meant.
const NEAR_DIFFERENCE_MAX: usize = 6;

pub struct Story {
    pub url: CrawlUrl,
    pub census: Census,
    pub story: PageStory,
    collection: Collection,
    bytes_max: u64,
}

impl Story {
    pub fn find(context: &Context, typed: &str) -> Result<Story, Failure> {
        let url = parse_seed(typed).map_err(|why| Failure::no_url(typed, &why))?;
        let collection = Collection::open(&context.folder)?;
        let census = Census::open(&collection)?;
        let (config, _) = context.config_to_read();
        let (url, story) = known_as(&census, &setup::form(&config)?, url)?;
        let Some(story) = story else { return Err(unknown(&census, &url)?) };
        let bytes_max = match story.page.requisite {
            true => config.fetch.requisite_bytes_max,
            false => config.fetch.body_bytes_max,
        };
        Ok(Story { url, census, story, collection, bytes_max })
    }

    pub fn archived(&self) -> Archived<'_> {
        Archived::new(&self.collection, &self.census, self.bytes_max)
    }
}

/// A failure that names what may have been meant.
pub(super) fn unknown(census: &Census, url: &CrawlUrl) -> Result<Failure, Failure> {
    let near = match other_spelling(census, url)? {
        Some(near) => Some(near),
        None => {
            let known = census.urls_of(url.site().as_str(), NEAR_MAX)?;
            nearest(url.as_str(), &known).cloned()
        }
    };
    let why = format!("see why with: harvestman explain {url}");
    Ok(Failure {
        code: Exit::Usage,
        sentence: format!("{url} is not in this collection"),
        what_to_do: match near {
            Some(near) => format!("did you mean {near}? else {why}"),
            None => why,
        },
    })
}

/// The other scheme, a slash at the end more or less, www more or less.
fn other_spelling(census: &Census, url: &CrawlUrl) -> Result<Option<String>, Failure> {
    let text = url.as_str();
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let other = if scheme == "http" { "https" } else { "http" };
    let bare = rest.strip_prefix("www.").unwrap_or(rest);
    let slash = match rest.strip_suffix('/') {
        Some(without) => without.to_owned(),
        None => format!("{rest}/"),
    };
    for scheme in [scheme, other] {
        for rest in [rest, bare, &format!("www.{bare}"), &slash] {
            let Ok(candidate) = CrawlUrl::parse(&format!("{scheme}://{rest}")) else { continue };
            if candidate != *url && census.page(&candidate)?.is_some() {
                return Ok(Some(candidate.to_string()));
            }
        }
    }
    Ok(None)
}

/// The known URL that has most of its beginning and end in common with what was typed, if only a little in
/// the middle differs.
fn nearest<'a>(typed: &str, known: &'a [String]) -> Option<&'a String> {
    let differs = |known: &str| {
        let (a, b) = (typed.as_bytes(), known.as_bytes());
        let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[start..], &b[start..]);
        let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        (a.len().max(b.len()) - end, known.len())
    };
    let near = known.iter().min_by_key(|known| differs(known))?;
    (differs(near).0 <= NEAR_DIFFERENCE_MAX).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_page_that_was_meant_and_a_wild_guess_none() {
        let known =
            ["http://a.example/", "http://a.example/news/today.html", "http://a.example/p/12"]
                .map(str::to_owned);
        let near = |typed: &str| nearest(typed, &known).map(String::as_str);
        assert_eq!(
            near("http://a.example/news/tody.html"),
            Some("http://a.example/news/today.html")
        );
        assert_eq!(near("http://a.example/p/13"), Some("http://a.example/p/12"));
        assert_eq!(near("http://a.example/index"), Some("http://a.example/"));
        assert_eq!(near("http://a.example/something/else/entirely"), None);
        assert_eq!(nearest("http://b.example/", &[]), None);
    }
}
