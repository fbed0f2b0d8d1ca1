//! How pages change, as far as visits have shown: what decides when to come back.
//!
//! A [`Habit`] is kept with each page and is small, for there are millions; a [`SiteHabit`] is kept with each
//! site. Both are plain data: what they mean, and how a visit changes them, is for the manager to say.

use serde::{Deserialize, Serialize};

use crate::{Fingerprint, Timestamp};

/// What is known of a page's changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Habit {
    /// The belief about its changes a day is a Gamma distribution of this shape … Zero: nothing was learned yet.
    pub shape: f32,
    /// … and this rate, in days.
    pub rate: f32,
    /// First visit that brought content.
    pub first: Option<Timestamp>,
    /// Last visit that showed whether the page had changed; its age counts from here.
    pub seen: Option<Timestamp>,
    /// When a change was last seen.
    pub changed: Option<Timestamp>,
    /// Visits that could be compared with the one before, …
    pub compared: u32,
    /// … and those among them that showed a change.
    pub changes: u32,
    /// The last 32 comparisons, the newest in the lowest bit; a one is a change.
    pub recent: u32,
    /// Cycles between visits, of the policy "frequency"; zero: not begun.
    pub fr_max: u16,
    /// Share of changed children, in hundredths, that calls for a visit all the same; zero: not begun.
    pub theta: u8,
    /// Announcements of a change since `seen`; at most [`Habit::SIGNALS_MAX`].
    pub signals: u8,
    /// Who announced: a bit for each [`SignalSource`].
    pub sources: u8,
    /// The newest moment of a change that was announced: the same one again is no news.
    pub announced: Option<Timestamp>,
    /// The price of a visit when `due` was reckoned; zero: none.
    pub price: f32,
}

impl Habit {
    /// More say nothing new.
    pub const SIGNALS_MAX: u8 = 7;

    /// Takes note of an announcement, if it is news: the page was seen before that moment, the moment has come,
    /// and nobody has told of it or of a later one. Says whether it was.
    pub fn hear(&mut self, signal: &Signal, now: Timestamp) -> bool {
        let news = signal.at <= now
            && self.seen.is_some_and(|seen| seen < signal.at)
            && self.announced.is_none_or(|announced| announced < signal.at);
        if news {
            self.announce(signal.source);
            self.announced = Some(signal.at);
        }
        news
    }

    /// Takes note that somebody says the page has changed.
    pub fn announce(&mut self, source: SignalSource) {
        self.signals = self.signals.saturating_add(1).min(Habit::SIGNALS_MAX);
        self.sources |= source.bit();
    }
}

/// What is known of all pages of a site together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteHabit {
    /// By how much dearer visits are here than elsewhere, because the site allows too few; at least 1.
    pub factor: f32,
    /// When `factor` was last looked at.
    pub factor_at: Timestamp,
    /// Revisits that the site's own allowance has left …
    pub allowance: f32,
    /// … at this moment.
    pub allowance_at: Timestamp,
    /// Changes seen in the first visits of its pages, and the days they were watched: what to expect of a new page.
    pub prior_changes: f32,
    pub prior_days: f32,
    pub sitemap: Trust,
    pub feed: Trust,
    pub rdf: Trust,
    /// `Last-Modified` as a signal: it moved when the content changed, and only then.
    pub modified: Trust,
    pub unmodified: Audit,
}

impl Default for SiteHabit {
    fn default() -> SiteHabit {
        SiteHabit {
            factor: 1.0,
            factor_at: Timestamp::ZERO,
            allowance: 0.0,
            allowance_at: Timestamp::ZERO,
            prior_changes: 0.0,
            prior_days: 0.0,
            sitemap: Trust::default(),
            feed: Trust::default(),
            rdf: Trust::default(),
            modified: Trust::default(),
            unmodified: Audit::default(),
        }
    }
}

impl SiteHabit {
    pub fn trust(&self, source: SignalSource) -> &Trust {
        match source {
            SignalSource::Sitemap => &self.sitemap,
            SignalSource::Feed => &self.feed,
            SignalSource::Rdf => &self.rdf,
        }
    }

    pub fn trust_mut(&mut self, source: SignalSource) -> &mut Trust {
        match source {
            SignalSource::Sitemap => &mut self.sitemap,
            SignalSource::Feed => &mut self.feed,
            SignalSource::Rdf => &mut self.rdf,
        }
    }
}

/// How often announcements of changes were true, and changes announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trust {
    /// Visits to pages with an announcement, …
    pub signals: f32,
    /// … and those among them that found a change.
    pub hits: f32,
    /// Changes found on pages that this source speaks of, …
    pub changes: f32,
    /// … and those among them that were announced.
    pub announced: f32,
}

/// Whether a server's "304 not modified" is true: some are asked for whole all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Audit {
    pub asked: f32,
    /// The content had changed.
    pub wrong: f32,
    /// No conditional requests until then.
    pub distrusted_until: Timestamp,
}

/// Who says that a page has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignalSource {
    Sitemap,
    Feed,
    /// `robots.rdf`, as WIRE reads it.
    Rdf,
}

impl SignalSource {
    pub const ALL: [SignalSource; 3] =
        [SignalSource::Sitemap, SignalSource::Feed, SignalSource::Rdf];

    pub fn bit(self) -> u8 {
        1 << self as u8
    }

    pub fn word(self) -> &'static str {
        match self {
            SignalSource::Sitemap => "sitemap",
            SignalSource::Feed => "feed",
            SignalSource::Rdf => "rdf",
        }
    }
}

/// An announcement that a page of the site has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    pub fp: Fingerprint,
    /// When, as the source says. What is not after the page's last visit is no news.
    pub at: Timestamp,
    pub source: SignalSource,
    /// The source is believed: the page is looked at anew at once, with the price of the moment.
    pub believed: bool,
}
