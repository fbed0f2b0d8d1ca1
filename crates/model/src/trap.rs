//! What a site has taught about its own traps: kept with the site, written by the holder of its lease.
//!
//! Plain data; what it means, and how a visit changes it, is for the seeder to say (`seeder::traps`). Everything
//! in it is bounded there.

use serde::{Deserialize, Serialize};

use crate::{Fingerprint, Hazard, Timestamp};

mod token;

pub use token::{IdleToken, KindVotes, TokenPlace};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteTraps {
    /// Traps that are made of URLs.
    pub urls: UrlTraps,
    /// Pages whose texts differ in next to nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<Family>,
    /// It does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Down>,
}

/// A site that does not answer, or only with errors of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Down {
    /// The first question in vain.
    pub since: Timestamp,
    /// Questions in vain.
    pub tries: u32,
}

/// Pages of a site that are near duplicates of its first (`seeder::families`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Of the first page.
    pub simhash: u64,
    /// Hash of its title without digits.
    pub title: u64,
    pub first: Fingerprint,
    /// Pages of it, the first among them.
    pub pages: u32,
}

impl SiteTraps {
    pub fn is_empty(&self) -> bool {
        *self == SiteTraps::default()
    }

    /// As [`UrlTraps::lift`]; with the site as a whole, or under their hazard's word, families begin anew.
    pub fn lift(&mut self, pattern: Option<&str>) -> Vec<(String, Stop)> {
        let word = Hazard::NearDuplicates.word();
        let is_news = !self.urls.is_lifted(word);
        let mut lifted = self.urls.lift(pattern);
        if is_news && self.urls.is_lifted(word) && !self.families.is_empty() {
            let pages = self.families.iter().fold(0u32, |sum, f| sum.saturating_add(f.pages));
            let first = Stop::told(Hazard::NearDuplicates, Timestamp(0));
            if lifted.iter().all(|(_, stop)| stop.hazard != first.hazard) {
                lifted.push((word.to_owned(), Stop { taken: pages, ..first }));
            }
            self.families.clear();
        }
        lifted
    }

    /// Whether there is, or may be, something to lift by this name: a stop, an idle part, or one of
    /// [`UrlTraps::WORDS`], which can be lifted before they are met.
    pub fn has(&self, name: &str) -> bool {
        let words = UrlTraps::WORDS.iter().map(|hazard| hazard.word());
        words.chain([UrlTraps::SITE]).any(|word| word == name)
            || self.names().iter().any(|known| known == name)
    }

    /// Everything that holds something back on this site, by the name that lifts it.
    pub fn names(&self) -> Vec<String> {
        let stops = self.urls.stops().map(|(text, _)| text.to_owned());
        let idle = self.urls.tokens.iter().map(|token| token.place.to_string());
        let missing = self.urls.missing.filter(|missing| missing.looks.is_some());
        let missing = missing.map(|_| Hazard::Soft404.word().to_owned());
        let mut names: Vec<String> = stops.chain(idle).chain(missing).collect();
        names.dedup();
        names
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UrlTraps {
    /// Patterns of URLs with something against them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<PatternNote>,
    /// Parts of URLs that do not matter on this site.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<IdleToken>,
    /// What it says where there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingPage>,
    /// By how many, lately, pages with the content of others are more than those with their own.
    #[serde(skip_serializing_if = "is_zero")]
    pub copies_ahead: u32,
    /// Links on copies, and on pages of stopped patterns, are taken no more; or none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Box<Stop>>,
    /// Near duplicates one after the other.
    #[serde(skip_serializing_if = "NearRun::is_nothing")]
    pub near_run: NearRun,
    /// The same, with pages that have next to nothing of their own.
    #[serde(skip_serializing_if = "NearRun::is_nothing")]
    pub thin_run: NearRun,
    /// Its near duplicates, whatever their URLs look like, give no more links to patterns that are not known for
    /// other pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worn: Option<Box<Stop>>,
    /// What the user lifted is left alone: patterns, and [`UrlTraps::SITE`] for the site as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lifted: Vec<String>,
}

impl UrlTraps {
    /// A page that no site has begins so; a number of sixteen digits follows. The store knows it by that.
    pub const PROBE_PATH: &str = "/no-such-page-";
}

impl UrlTraps {
    /// The site as a whole, where a pattern is asked for.
    pub const SITE: &str = "*";

    /// Hazards that are lifted by their word: those that need no evidence, and those that are no pattern's.
    pub const WORDS: [Hazard; 4] =
        [Hazard::RepeatedSegments, Hazard::GrowingUrl, Hazard::Soft404, Hazard::NearDuplicates];

    /// All stops, as (pattern, stop); that of the site as [`UrlTraps::SITE`], that of its near duplicates by their
    /// word.
    pub fn stops(&self) -> impl Iterator<Item = (&str, &Stop)> {
        let site = self.stopped.iter().map(|stop| (UrlTraps::SITE, &**stop));
        let worn = self.worn.iter().map(|stop| (Hazard::NearDuplicates.word(), &**stop));
        let of = |note: &'_ PatternNote| note.stopped.is_some() || note.worn.is_some();
        let patterns = self.patterns.iter().filter(move |note| of(note)).flat_map(|note| {
            let stops = note.stopped.iter().chain(&note.worn);
            stops.map(|stop| (note.text.as_str(), &**stop))
        });
        site.chain(worn).chain(patterns)
    }

    /// Near duplicates that were stopped for a limit that is another now: not held against them any more, until the
    /// new one is reached. Gives back what was stopped.
    pub fn forget_worn(&mut self) -> Vec<(String, Stop)> {
        let word = Hazard::NearDuplicates.word().to_owned();
        let mut worn: Vec<(String, Stop)> =
            self.worn.take().map(|stop| (word, *stop)).into_iter().collect();
        for note in &mut self.patterns {
            worn.extend(note.worn.take().map(|stop| (note.text.clone(), *stop)));
        }
        worn
    }

    /// That pages lead nowhere may have been because what they lead to was not wanted, and now it is: not held against
    /// them any more, and seen anew. Gives back what was stopped.
    pub fn forget_dead_ends(&mut self) -> Vec<(String, Stop)> {
        let mut ends = self.forget_worn();
        let is_end =
            |stop: &mut Box<Stop>| matches!(stop.hazard, Hazard::Counter | Hazard::Variants);
        for note in &mut self.patterns {
            ends.extend(note.stopped.take_if(is_end).map(|stop| (note.text.clone(), *stop)));
            (note.barren, note.near_row, note.thin_row) = (0, 0, 0);
        }
        (self.near_run, self.thin_run) = Default::default();
        ends
    }

    /// Whether the user lifted this, or the whole site: then nothing is held against it.
    pub fn is_lifted(&self, pattern: &str) -> bool {
        self.lifted.iter().any(|lifted| lifted == pattern || lifted == UrlTraps::SITE)
    }

    /// Lifts the stop of one pattern, or (`None`) of all of the site, and what was learned of idle parts and of the
    /// page for what does not exist likewise; says what was lifted. From then on it is left alone.
    pub fn lift(&mut self, pattern: Option<&str>) -> Vec<(String, Stop)> {
        let pattern = pattern.filter(|pattern| *pattern != UrlTraps::SITE);
        let wanted = |text: &str| pattern.is_none_or(|pattern| pattern == text);
        let mut lifted = Vec::new();
        if wanted(UrlTraps::SITE) {
            let stop = self.stopped.take();
            lifted.extend(stop.map(|stop| (UrlTraps::SITE.to_owned(), *stop)));
            self.copies_ahead = 0;
        }
        if wanted(Hazard::NearDuplicates.word()) {
            lifted.append(&mut self.forget_worn());
        }
        for note in self.patterns.iter_mut().filter(|note| wanted(&note.text)) {
            let stops = [note.stopped.take(), note.worn.take()];
            lifted.extend(stops.into_iter().flatten().map(|stop| (note.text.clone(), *stop)));
        }
        let idle = self.tokens.extract_if(.., |token| wanted(&token.place.to_string()));
        lifted.extend(idle.map(|token| (token.place.to_string(), token.to_stop())));
        let missing = Hazard::Soft404;
        if wanted(missing.word())
            && let Some(page) = self.missing.take()
            && page.looks.is_some()
        {
            lifted.push((missing.word().to_owned(), Stop::told(missing, page.asked)));
        }
        let names = lifted.iter().map(|(text, _)| text.clone());
        let asked = pattern.map_or_else(|| UrlTraps::SITE.to_owned(), str::to_owned);
        for name in names.chain([asked]).collect::<Vec<_>>() {
            if !self.lifted.contains(&name) && self.lifted.len() < UrlTraps::LIFTED_MAX {
                self.lifted.push(name);
            }
        }
        lifted
    }

    /// Takes back what was lifted under this name, or (`None`) all of it; says what that was. Nothing is stopped by it:
    /// the evidence begins anew.
    pub fn watch_again(&mut self, pattern: Option<&str>) -> Vec<String> {
        self.lifted.extract_if(.., |name| pattern.is_none_or(|pattern| pattern == *name)).collect()
    }

    /// Typed by people, one by one.
    pub const LIFTED_MAX: usize = 256;
}

/// How long a site has given little but near duplicates, or pages with next to nothing of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NearRun {
    /// Of them, less some for each page that was none.
    pub pages: u32,
    /// Patterns that were met with them first.
    pub patterns: u32,
}

impl NearRun {
    pub fn is_nothing(&self) -> bool {
        *self == NearRun::default()
    }
}

/// One pattern of URLs and what its pages were like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PatternNote {
    /// As shown to people: `/cal?m=*&y=*`.
    pub text: String,
    /// URLs of it that were taken.
    pub taken: u32,
    /// Pages that had what others have, less those that had not.
    pub same: u32,
    /// Pages in a row that brought nothing but more of the pattern.
    pub barren: u32,
    /// By which a page says that one of these led to it ([`crate::PageTerms::via`]).
    pub number: u32,
    /// Since it is stopped, pages in a row that are listed by pages of other kinds and have nothing to say either.
    #[serde(skip_serializing_if = "is_zero")]
    pub listed: u32,
    /// Pages of it that came, and those of them that had what others have.
    pub pages: u32,
    pub copies: u32,
    /// New URLs outside the pattern that its pages led to.
    pub fruit: u32,
    /// Pages in a row that led to none.
    pub idle: u32,
    /// Of the last texts of its pages, digits left out.
    pub skeletons: Vec<u32>,
    /// Sets of parameter names that were met, where the pattern stands for all of a path.
    pub sets: Vec<u32>,
    /// Pages that were near duplicates of others, and pages that were not.
    #[serde(skip_serializing_if = "is_zero")]
    pub near: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub unlike: u32,
    /// Near duplicates since the last page that was none, or led to such.
    #[serde(skip_serializing_if = "is_zero")]
    pub near_row: u32,
    /// Pages since then that had next to nothing of their own.
    #[serde(skip_serializing_if = "is_zero")]
    pub thin_row: u32,
    /// Near duplicates that led to pages of their own.
    #[serde(skip_serializing_if = "is_zero")]
    pub led: u32,
    /// Pages of their own, and pages since the last of them that were none, whatever these led to.
    #[serde(skip_serializing_if = "is_zero")]
    pub owns: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub stale: u32,
    /// Pages that led to URLs which nobody knew.
    #[serde(skip_serializing_if = "is_zero")]
    pub bred: u32,
    /// Answers that brought nothing: errors, redirects, copies.
    #[serde(skip_serializing_if = "is_zero")]
    pub dull: u32,
    /// Names at the end of its paths under which pages had what others of the same name have, the last one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameNote>,
    /// Names at the end of its paths that came once, the last one first. Not worth a write.
    #[serde(skip)]
    pub ends: Vec<u32>,
    /// Answers in a row whose media type is refused. Of this crawl: the next may want another.
    #[serde(skip)]
    pub unwanted: u32,
    /// What its pages had when they were found to be copies: contents, and texts that are long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<u64>,
    /// How often it was stopped for its copies and a page of another content came then.
    #[serde(skip_serializing_if = "is_zero")]
    pub doubts: u32,
    /// In boxes, both: most patterns are never stopped, and there are thousands of notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Box<Stop>>,
    /// Near duplicates lead to no more of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worn: Option<Box<Stop>>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Pages of a pattern that end in one name: `license` of `/f/*/*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameNote {
    /// A number for the name.
    pub name: u32,
    /// Copies, less what other contents took back.
    pub lead: u32,
    /// Copies in all.
    pub copies: u32,
}

/// Why, since when, and what it looked like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    pub hazard: Hazard,
    pub since: Timestamp,
    /// URLs of it that had been taken.
    pub taken: u32,
    /// Links to it that were refused since.
    #[serde(default)]
    pub refused: u64,
    /// Pages that waited to be visited and were not.
    #[serde(default)]
    pub held_back: u64,
    #[serde(default)]
    pub examples: Vec<String>,
    /// Pages on which such links stand: read again when it is lifted.
    #[serde(default)]
    pub referrers: Vec<Fingerprint>,
    /// Pages that are known and not fetched yet are not visited either.
    #[serde(default)]
    pub all: bool,
}

impl Stop {
    /// As something that stopped nothing is told when it is lifted.
    fn told(hazard: Hazard, since: Timestamp) -> Stop {
        let (examples, referrers) = (Vec::new(), Vec::new());
        Stop { hazard, since, taken: 0, refused: 0, held_back: 0, examples, referrers, all: false }
    }

    /// The rule under which it is told, where `name` is what lifts it.
    pub fn rule(hazard: Hazard, name: &str) -> String {
        let word = hazard.word();
        match name {
            UrlTraps::SITE => format!("trap: {word} on the whole site"),
            name if name == word => format!("trap: {word}"),
            pattern => format!("trap: {word} at {pattern}"),
        }
    }
}

/// The page of the site for what it does not have, if it answers as if it had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPage {
    pub asked: Timestamp,
    /// `None`: no answer yet, or the server says 404 as it should.
    pub looks: Option<Looks>,
}

/// What a page looks like, to be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    pub content: u64,
    pub text: u64,
    /// Of the text without its digits.
    pub skeleton: u64,
    pub text_bytes: u64,
    /// Of what it shows beside its text; 0: nothing.
    #[serde(default)]
    pub shown: u64,
    /// Of its words, as far as they say anything.
    #[serde(default)]
    pub words: WordLooks,
}

/// Hashes of the words of a text without some; 0 where too few are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordLooks {
    /// Without numbers, times, identifiers and addresses.
    pub plain: u64,
    /// The same, also without what stands in the page's own URL.
    pub echoless: u64,
    /// All but those with an identifier of the page's own URL in them.
    pub unmarked: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop() -> Stop {
        Stop {
            hazard: Hazard::Counter,
            since: Timestamp(1),
            taken: 3,
            refused: 0,
            held_back: 0,
            examples: Vec::new(),
            referrers: Vec::new(),
            all: false,
        }
    }

    #[test]
    fn lifting_frees_what_was_asked_for_and_remembers_it() {
        let note = |text: &str| PatternNote {
            text: text.to_owned(),
            stopped: Some(Box::new(stop())),
            ..PatternNote::default()
        };
        let mut traps = UrlTraps {
            patterns: vec![note("/a?*"), note("/b?*")],
            stopped: Some(Box::new(stop())),
            ..UrlTraps::default()
        };
        assert_eq!(traps.lift(Some("/a?*")).len(), 1);
        assert_eq!(traps.stops().map(|(text, _)| text).collect::<Vec<_>>(), ["*", "/b?*"]);
        assert_eq!(traps.lift(None).len(), 2);
        assert_eq!(traps.lifted, ["/a?*", "*", "/b?*"]);
        assert_eq!(traps.lift(None), [], "once");
        let text = serde_json::to_string(&traps).unwrap();
        assert_eq!(serde_json::from_str::<UrlTraps>(&text).unwrap(), traps);
    }

    #[test]
    fn what_near_duplicates_wore_out_is_lifted_by_its_pattern_by_its_word_or_with_the_site() {
        let note = |text: &str| PatternNote {
            text: text.to_owned(),
            worn: Some(Box::new(Stop { hazard: Hazard::NearDuplicates, ..stop() })),
            ..PatternNote::default()
        };
        let patterns = vec![note("/a?n=*"), note("/b?n=*")];
        let taught = SiteTraps {
            urls: UrlTraps { patterns, ..UrlTraps::default() },
            ..SiteTraps::default()
        };
        let left = |pattern: Option<&str>| {
            let mut traps = taught.clone();
            (traps.lift(pattern).len(), traps.urls.stops().count())
        };
        assert_eq!(left(Some("/a?n=*")), (1, 1));
        assert_eq!(left(Some("near-duplicates")), (2, 0));
        assert_eq!(left(None), (2, 0));
        assert_eq!(taught.names(), ["/a?n=*", "/b?n=*"]);
        assert!(taught.has("/a?n=*") && taught.has("growing-url") && !taught.has("/a?n=1"));
    }

    #[test]
    fn lifting_a_site_forgets_its_missing_page_and_its_families_and_lifting_a_word_only_that() {
        let looks = Some(Looks::default());
        let urls = UrlTraps {
            missing: Some(MissingPage { asked: Timestamp(1), looks }),
            ..UrlTraps::default()
        };
        let families = vec![Family { simhash: 1, title: 2, first: Fingerprint(3), pages: 9 }];
        let taught = SiteTraps { urls, families, down: None };
        let lift = |pattern: Option<&str>| {
            let mut traps = taught.clone();
            let names: Vec<String> =
                traps.lift(pattern).into_iter().map(|(name, _)| name).collect();
            (names, traps.urls.missing.is_none(), traps.families.is_empty())
        };
        let both = ["soft-404", "near-duplicates"].map(str::to_owned).to_vec();
        assert_eq!(lift(None), (both.clone(), true, true));
        assert_eq!(lift(Some("*")), (both, true, true));
        assert_eq!(lift(Some("soft-404")), (vec!["soft-404".to_owned()], true, false));
        let word = "near-duplicates";
        assert_eq!(lift(Some(word)), (vec![word.to_owned()], false, true));
        assert_eq!(lift(Some("/a/*")), (Vec::new(), false, false));
    }
}
