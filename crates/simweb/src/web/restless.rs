//! Pages that change in what nobody means by a change, servers that do not tell of changes, and pages that
//! come and go.

use std::time::Duration;

use model::Timestamp;

use super::{
    Answer, PageId, Request, SimWeb,
    answer::not_found,
    page::Dress,
    reply::{Reply, small_page},
};
use crate::dice::mix;

const SHOPS: [&str; 8] =
    ["shoes", "insurance", "journeys", "lamps", "bread", "bicycles", "music", "flowers"];

impl SimWeb {
    /// A text that stays, with a clock, a counter, a token and an advertisement in it: of no two moments the
    /// same.
    pub(super) fn restless(&self, request: &Request<'_>, now: Timestamp) -> Answer {
        let draw = mix(self.options.seed, now.0 as u64);
        let shop = |at: u32| SHOPS[(draw >> at) as usize % SHOPS.len()];
        let (hour, minute) = (now.0 / 3_600_000 % 24, now.0 / 60_000 % 60);
        let (second, milli) = (now.0 / 1_000 % 60, now.0 % 1_000);
        let visitor = now.since(self.options.origin).as_millis();
        let lines: String =
            (0..20).map(|n| format!("<p>{}</p>\n", STAYS[n % 5].repeat(n))).collect();
        let body = format!(
            "<p class=\"clock\">It is {hour:02}:{minute:02}:{second:02}.{milli:03} here.</p>\n{lines}\
             <div class=\"ad\">Buy {} and {} from {} and {}{}!</div>\n<p>The end.</p>\n\
             <p>You are visitor number {visitor}.</p>\n<p>Session {draw:016x}.</p>\n",
            shop(0),
            shop(3),
            shop(6),
            shop(9),
            "!".repeat((draw >> 12) as usize % 64),
        );
        Reply::new(200, now).html().whole(small_page(request.path(), &body))
    }

    /// Whoever asks whether it was modified hears that it was not.
    pub(super) fn lying(&self, site: usize, request: &Request<'_>, now: Timestamp) -> Answer {
        let asks = request.if_none_match.is_some() || request.if_modified_since.is_some();
        let page = self.index_of(site, request.target).map(|index| PageId { site, index });
        match (asks, page) {
            (true, page) => Answer { page, ..Reply::new(304, now).bare("") },
            (false, Some(_)) => self.ordinary(site, request, now, &Dress::default()),
            (false, None) => {
                let tag = format!("\"{}\"", now.0);
                let body = small_page("News", &format!("<p>The news of {}.</p>", now.0));
                Reply::new(200, now).html().field("ETag", tag).whole(body)
            }
        }
    }

    /// Not there for `lasting` out of `every`; `None`: there.
    pub(super) fn vanished(
        &self,
        every: Duration,
        lasting: Duration,
        now: Timestamp,
    ) -> Option<Answer> {
        let since = now.since(self.options.origin).as_millis() % every.as_millis().max(1);
        (since < lasting.as_millis()).then(|| not_found(now))
    }
}

const STAYS: [&str; 5] = [
    "Nothing of this is ever edited. ",
    "The river runs to the sea. ",
    "The mill stands where it stood. ",
    "Bread is made of flour and water. ",
    "Stones do not move. ",
];
