//! Sessions: which spider is logged in at which site, for the time of a crawl.
//!
//! Kept in memory only and bounded by the `[[login]]` tables times the spiders: what a login set is as good
//! as the password. A site that comes in hand again goes on with its session instead of logging in once more.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use harvester::{
    http::PresetCookie,
    login::LoginForm,
    workbench::{SiteTerms, Terms},
};
use model::{CrawlUrl, Exchange, Page, SiteKey, SpiderId, Timestamp};

use super::spiders::Spiders;

/// Sessions that end so often are not worth their logins, and the server may count them.
const RENEWALS_MAX: usize = 4;
const RENEWALS_IN: Duration = Duration::from_secs(3_600);

/// A spider on a site.
pub type Lane = (SiteKey, SpiderId);

#[derive(Default)]
pub struct Sessions {
    all: Mutex<HashMap<Lane, Session>>,
}

#[derive(Default)]
struct Session {
    live: bool,
    since: Timestamp,
    cookies: Vec<PresetCookie>,
    /// It was renewed, and no page has come since.
    unproven: bool,
    /// Pages are forbidden (403) although somebody is logged in: that is no sign of its end here.
    forbids: bool,
    /// When it was renewed lately.
    renewed: Vec<Timestamp>,
}

/// What a page's answer says of the session it was asked for with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Content, or the word that it has not changed.
    Good,
    /// Neither good nor bad.
    None,
    /// 403: not for this user, or not without a session.
    Forbidden,
    /// 401, or sent on to the login page.
    LoggedOut,
}

/// What is to become of a page's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is the page's own.
    Keep,
    /// It belongs to a session that had ended: the page is asked for again.
    Again,
    /// The session is over: log in, then ask for the page again.
    LogIn,
    /// Logging in does not help: in words.
    GiveUp(String),
}

impl Sessions {
    pub fn is_live(&self, lane: &Lane) -> bool {
        self.lock().get(lane).is_some_and(|session| session.live)
    }

    /// For the next jar of the site to begin with.
    pub fn cookies(&self, lane: &Lane) -> Vec<PresetCookie> {
        self.lock().get(lane).map(|session| session.cookies.clone()).unwrap_or_default()
    }

    /// The spider is logged in from now on.
    pub fn begin(&self, lane: Lane, cookies: Vec<PresetCookie>, now: Timestamp) {
        let mut all = self.lock();
        let session = all.entry(lane).or_default();
        (session.live, session.since, session.cookies) = (true, now, cookies);
    }

    /// The session's cookies as the last answers left them.
    pub fn keep(&self, lane: &Lane, cookies: Vec<PresetCookie>) {
        if let Some(session) = self.lock().get_mut(lane).filter(|session| session.live) {
            session.cookies = cookies;
        }
    }

    /// Somebody who tries again begins from the beginning.
    pub fn forget(&self, lane: &Lane) {
        self.lock().remove(lane);
    }

    /// `started`: when the page was asked for.
    pub fn judge(&self, lane: &Lane, sign: Sign, started: Timestamp, now: Timestamp) -> Judgement {
        let mut all = self.lock();
        let Some(session) = all.get_mut(lane) else { return Judgement::Keep };
        let forbidden = match sign {
            Sign::Good => {
                session.unproven &= started < session.since;
                return Judgement::Keep;
            }
            Sign::None => return Judgement::Keep,
            Sign::Forbidden => true,
            Sign::LoggedOut => false,
        };
        if !session.live || started < session.since {
            return Judgement::Again;
        }
        session.refused(forbidden, now)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Lane, Session>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn refused(&mut self, forbidden: bool, now: Timestamp) -> Judgement {
        if forbidden && (self.forbids || self.unproven) {
            // Just logged in, and still forbidden: it is the page, not the session.
            (self.forbids, self.unproven) = (true, false);
            return Judgement::Keep;
        }
        if self.unproven {
            return Judgement::GiveUp("it asks for a login right after one".to_owned());
        }
        self.renewed.retain(|at| now.since(*at) < RENEWALS_IN);
        if self.renewed.len() >= RENEWALS_MAX {
            let what = format!("the session ended {} times within an hour", RENEWALS_MAX + 1);
            return Judgement::GiveUp(what);
        }
        self.renewed.push(now);
        (self.live, self.unproven) = (false, true);
        self.cookies.clear();
        Judgement::LogIn
    }
}

impl Sign {
    pub fn of(form: &LoginForm, exchange: &Exchange) -> Sign {
        match exchange.status {
            200..=299 | 304 => Sign::Good,
            401 => Sign::LoggedOut,
            403 => Sign::Forbidden,
            300..=399 => {
                let location = exchange.headers.get("location");
                let target = location.and_then(|location| exchange.url.join(location).ok());
                let to_login = target.is_some_and(|target| is_page_of(form, &target));
                // The login page itself may send on to where it is met with a slash or in another scheme.
                if to_login && !is_page_of(form, &exchange.url) {
                    Sign::LoggedOut
                } else {
                    Sign::None
                }
            }
            _ => Sign::None,
        }
    }
}

/// Whatever the query: it often says where to go afterwards.
fn is_page_of(form: &LoginForm, url: &CrawlUrl) -> bool {
    url.path() == form.page.path() && url.site_text() == form.page.site_text()
}

/// The terms of the course, and the login page as the entry of who is not logged in.
pub struct Guarded {
    pub terms: Arc<dyn Terms>,
    pub spiders: Arc<Spiders>,
    pub sessions: Arc<Sessions>,
}

impl Terms for Guarded {
    fn of(&self, spider: SpiderId, site: &SiteKey) -> SiteTerms {
        self.terms.of(spider, site)
    }

    fn importance(&self, page: &Page) -> f32 {
        self.terms.importance(page)
    }

    fn entry(&self, id: SpiderId, site: &SiteKey) -> Option<CrawlUrl> {
        let spider = self.spiders.of(id);
        let form = spider.login_at(site)?;
        let is_in = self.sessions.is_live(&(site.clone(), id));
        (!is_in).then(|| form.page.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn lane() -> Lane {
        (SiteKey::stored("a.example"), SpiderId(1))
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp(ms)
    }

    fn begun() -> Sessions {
        let sessions = Sessions::default();
        sessions.begin(lane(), Vec::new(), at(1_000));
        sessions
    }

    fn judge(sessions: &Sessions, sign: Sign, ms: i64) -> Judgement {
        sessions.judge(&lane(), sign, at(ms), at(ms))
    }

    #[test]
    fn a_session_that_is_over_is_renewed_once_and_then_given_up() {
        let sessions = begun();
        assert_eq!(judge(&sessions, Sign::LoggedOut, 2_000), Judgement::LogIn);
        assert!(!sessions.is_live(&lane()));
        assert_eq!(
            judge(&sessions, Sign::LoggedOut, 2_500),
            Judgement::Again,
            "it is being renewed"
        );
        sessions.begin(lane(), Vec::new(), at(3_000));
        assert_eq!(judge(&sessions, Sign::LoggedOut, 2_900), Judgement::Again, "of the old one");
        assert!(matches!(judge(&sessions, Sign::LoggedOut, 3_000), Judgement::GiveUp(_)));
        sessions.forget(&lane());
        assert_eq!(
            judge(&sessions, Sign::LoggedOut, 4_000),
            Judgement::Keep,
            "nobody is logged in"
        );
    }

    #[test]
    fn a_page_that_comes_proves_the_session_but_not_for_ever() {
        let sessions = begun();
        for round in 0..RENEWALS_MAX as i64 {
            let ms = 10_000 * (round + 1);
            assert_eq!(judge(&sessions, Sign::LoggedOut, ms), Judgement::LogIn);
            sessions.begin(lane(), Vec::new(), at(ms + 1_000));
            assert_eq!(judge(&sessions, Sign::Good, ms + 2_000), Judgement::Keep);
        }
        let Judgement::GiveUp(why) = judge(&sessions, Sign::LoggedOut, HOUR - 1) else {
            panic!("renewed too often");
        };
        assert!(why.contains("5 times"), "{why}");
        assert_eq!(judge(&sessions, Sign::LoggedOut, 2 * HOUR), Judgement::LogIn, "that was then");
    }

    #[test]
    fn what_stays_forbidden_after_a_login_is_forbidden() {
        let sessions = begun();
        assert_eq!(judge(&sessions, Sign::Forbidden, 2_000), Judgement::LogIn);
        sessions.begin(lane(), Vec::new(), at(3_000));
        assert_eq!(judge(&sessions, Sign::Forbidden, 4_000), Judgement::Keep);
        assert_eq!(judge(&sessions, Sign::Forbidden, 5_000), Judgement::Keep);
        assert_eq!(judge(&sessions, Sign::LoggedOut, 6_000), Judgement::LogIn, "that is clear");
    }
}
