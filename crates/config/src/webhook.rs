//! `[[webhook]]`: who is told of changes, and of which.

use std::{collections::HashSet, time::Duration};

use model::{Change, CrawlUrl};

use super::{
    access::{Place, Secret},
    item::Item,
    units,
    value::Raw,
};
use crate::failure::Failure;

/// Each costs a request a second at most, all from one thread.
const TABLES_MAX: usize = 100;
const TRIES: u32 = 40;
const TRIES_MAX: i64 = 1_000;
const GIVE_UP: Duration = Duration::from_secs(86_400);
const KNOWN: &[&str] = &["name", "url", "secret", "spider", "site", "kinds", "tries", "give_up"];

/// Somebody who is told.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// By which its place in the changes is kept.
    pub name: String,
    pub url: CrawlUrl,
    pub secret: Secret,
    pub spider: Option<String>,
    /// The key of a site.
    pub site: Option<String>,
    /// Empty: all.
    pub kinds: Vec<Kind>,
    /// A batch is given up after so many, or after this time.
    pub tries: u32,
    pub give_up: Duration,
    pub at: Place,
}

/// What can happen to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    New,
    Changed,
    Gone,
    Returned,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::New, Kind::Changed, Kind::Gone, Kind::Returned];

    pub fn word(self) -> &'static str {
        match self {
            Kind::New => "new",
            Kind::Changed => "changed",
            Kind::Gone => "gone",
            Kind::Returned => "returned",
        }
    }

    pub fn of(change: Change) -> Option<Kind> {
        match change {
            Change::First => Some(Kind::New),
            Change::Changed => Some(Kind::Changed),
            Change::Gone => Some(Kind::Gone),
            Change::Returned => Some(Kind::Returned),
            _ => None,
        }
    }
}

impl Webhook {
    /// Scheme and host: what stands behind them is often the secret itself.
    pub fn shown_url(&self) -> String {
        match self.url.path_and_query() {
            "/" => self.url.as_str().to_owned(),
            _ => format!("{}/…", self.url.origin().as_str()),
        }
    }

    /// Reads the secret.
    pub fn key(&self) -> Result<String, Failure> {
        let key = self.secret.read().map_err(|what| self.at.refuse(&what))?;
        match key.is_empty() {
            true => Err(self.at.refuse("its secret is empty")),
            false => Ok(key),
        }
    }
}

pub(super) fn webhooks(items: Vec<Item>, mistakes: &mut Vec<Failure>) -> Vec<Webhook> {
    if let Some(item) = items.get(TABLES_MAX) {
        let what = format!("more than {TABLES_MAX} tables [[webhook]]");
        mistakes.push(item.wrong(item.line, &what, "write fewer"));
    }
    let mut names = HashSet::new();
    let mut found = Vec::new();
    for item in items.into_iter().take(TABLES_MAX) {
        let (line, again) = (item.line, item.clone());
        let Some(webhook) = webhook(item, mistakes) else { continue };
        if !names.insert(webhook.name.clone()) {
            let what = format!("two webhooks are named {:?}", webhook.name);
            mistakes.push(again.wrong(line, &what, "give each a name of its own: name = \"…\""));
            continue;
        }
        found.push(webhook);
    }
    found
}

fn webhook(mut item: Item, mistakes: &mut Vec<Failure>) -> Option<Webhook> {
    let before = mistakes.len();
    let url = url(&mut item, mistakes);
    let secret = item.text("secret", mistakes);
    if secret.is_none() {
        let what_to_do = "write secret = \"env:NAME\", \"file:PATH\" or the text itself: \
                          deliveries are signed with it";
        mistakes.push(item.wrong(item.line, "a [[webhook]] has no secret", what_to_do));
    }
    let name = item.text("name", mistakes).map(|(name, _)| name);
    let spider = item.text("spider", mistakes).map(|(name, _)| name);
    let site = item.text("site", mistakes).map(|(site, _)| site.to_lowercase());
    let kinds = kinds(&mut item, mistakes);
    let tries = tries(&mut item, mistakes);
    let give_up = give_up(&mut item, mistakes);
    item.refuse_rest(KNOWN, mistakes);
    let (url, (secret, _)) = (url?, secret?);
    let webhook = Webhook {
        name: name.unwrap_or_else(|| url.authority().to_owned()),
        secret: Secret::new(secret, item.folder()),
        at: Place { path: item.path.clone(), line: item.line },
        url,
        spider,
        site,
        kinds,
        tries,
        give_up,
    };
    (mistakes.len() == before).then_some(webhook)
}

/// Said without what it is: whoever knows it may post there.
fn url(item: &mut Item, mistakes: &mut Vec<Failure>) -> Option<CrawlUrl> {
    let what_to_do = "write url = \"https://example.org/hook\", without a user name or password";
    let Some((text, line)) = item.text("url", mistakes) else {
        mistakes.push(item.wrong(item.line, "a [[webhook]] has no url", what_to_do));
        return None;
    };
    let authority = text.split("://").nth(1).and_then(|rest| rest.split('/').next());
    let url = CrawlUrl::parse(&text).ok();
    if url.is_none() || authority.is_some_and(|authority| authority.contains('@')) {
        let what = "url is no URL that can be posted to";
        mistakes.push(item.wrong(line, what, what_to_do));
        return None;
    }
    url
}

fn kinds(item: &mut Item, mistakes: &mut Vec<Failure>) -> Vec<Kind> {
    let Some(entry) = item.take("kinds") else { return Vec::new() };
    let words: Vec<&str> = match &entry.raw {
        Raw::List(items) => items.iter().map(|(word, _)| word.as_str()).collect(),
        Raw::Text(word) => vec![word.as_str()],
        _ => vec![""],
    };
    let read = |word: &&str| Kind::ALL.into_iter().find(|kind| kind.word() == *word);
    let kinds: Option<Vec<Kind>> = words.iter().map(read).collect();
    kinds.filter(|kinds| !kinds.is_empty()).unwrap_or_else(|| {
        let what_to_do = "write some of [\"new\", \"changed\", \"gone\", \"returned\"]";
        mistakes.push(item.wrong(entry.line, "kinds is no list of kinds of changes", what_to_do));
        Vec::new()
    })
}

fn tries(item: &mut Item, mistakes: &mut Vec<Failure>) -> u32 {
    let Some(entry) = item.take("tries") else { return TRIES };
    match entry.raw {
        Raw::Integer(tries @ 1..=TRIES_MAX) => tries as u32,
        _ => {
            let what = "tries is no number of tries";
            let what_to_do = format!("write a number from 1 to {TRIES_MAX}");
            mistakes.push(item.wrong(entry.line, what, &what_to_do));
            TRIES
        }
    }
}

fn give_up(item: &mut Item, mistakes: &mut Vec<Failure>) -> Duration {
    let Some((text, line)) = item.text("give_up", mistakes) else { return GIVE_UP };
    units::parse_time(&text).unwrap_or_else(|_| {
        let what = "give_up is no time";
        mistakes.push(item.wrong(line, what, "write how long to try, such as \"1d\""));
        GIVE_UP
    })
}
