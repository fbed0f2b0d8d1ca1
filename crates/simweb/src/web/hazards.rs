//! What each hazard answers. `None`: the ordinary answer.

use std::time::Duration;

use bytes::Bytes;
use flate2::Crc;
use model::Timestamp;

use crate::{Hazard, Language};

use super::{
    Answer, Manner, Request, SimWeb,
    answer::{PNG, gzipped, redirect},
    attacks::attack,
    made::made,
    near,
    page::{Dress, latin1},
    reply::{Reply, small_page},
    tricks,
};

impl SimWeb {
    pub(super) fn hazard_answer(
        &self,
        hazard: Hazard,
        site: usize,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Option<Answer> {
        if let Some((status, every, lasting)) = hazard.spell() {
            return self.spell(status, every, lasting, now).or_else(|| stand_in(request, now));
        }
        if let Hazard::Away { after, lasting } = hazard
            && !self.is_away(after, lasting, now)
        {
            return None;
        }
        if let Some(answer) = redirecting(hazard, request, now) {
            return answer;
        }
        if let Some(answer) = attack(hazard, request, now) {
            return Some(answer);
        }
        if let Some(answer) = self.trap(hazard, site, request, now) {
            return answer;
        }
        let answer = match hazard {
            Hazard::Restless => self.restless(request, now),
            Hazard::NeverModified => self.lying(site, request, now),
            Hazard::Vanishing { every, lasting } => {
                return self.vanished(every, lasting, now).or_else(|| stand_in(request, now));
            }
            Hazard::Calendar => calendar(request, now),
            Hazard::NearDuplicates { listed } => near::page(listed, request, now),
            Hazard::Sitemap(trick) => tricks::answer(trick, request, now),
            Hazard::GrowingPath => growing(request, now),
            Hazard::Soft404 => return self.soft_404(site, request, now),
            Hazard::SessionIds => return Some(self.session(site, request, now)),
            Hazard::ServerError => Reply::new(500, now).html().whole("<p>it broke</p>"),
            Hazard::Garbage => garbage(),
            Hazard::CharsetLie => Reply::new(200, now).html().whole(self.accented()),
            Hazard::BinaryAsHtml => Reply::new(200, now).html().whole(PNG.repeat(40)),
            Hazard::Utf16 => {
                Reply::new(200, now).field("Content-Type", "text/html").whole(utf16_page())
            }
            Hazard::GzipBomb { megabytes } => {
                let body = made(&format!("gzip of {megabytes} MB"), || bomb(megabytes));
                coded("gzip", body, now)
            }
            Hazard::BrokenGzip => {
                let whole = gzipped(&self.whole_body(site, request, now));
                coded("gzip", whole[..whole.len() / 2].to_vec(), now)
            }
            Hazard::NestedEncoding => {
                let body = (0..10).fold(small_page("Ten", "").into_bytes(), |b, _| gzipped(&b));
                coded(&["gzip"; 10].join(", "), body, now)
            }
            Hazard::Endless => endless(now),
            Hazard::Odd(odd) => super::odd::answer(odd, request, now),
            _ => self.misbehave(hazard, site, request, now),
        };
        Some(answer)
    }

    /// Faults of sending: the answer itself is the ordinary one.
    fn misbehave(
        &self,
        hazard: Hazard,
        site: usize,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Answer {
        let body = Bytes::from(self.whole_body(site, request, now));
        let reply = Reply::new(200, now).html();
        let mut answer = match hazard {
            Hazard::Truncated => {
                let half = body.slice(..body.len() / 2);
                reply.field("Content-Length", body.len()).bare(half)
            }
            Hazard::WrongLength => reply.field("Content-Length", body.len() / 2).bare(body),
            _ => reply.whole(body),
        };
        match hazard {
            Hazard::Late { after } => answer.delay = after,
            Hazard::Slow { piece, every } => {
                answer.manner = Manner::Drip { head: false, piece, every };
            }
            Hazard::SlowHead { every } => {
                answer.manner = Manner::Drip { head: true, piece: 1, every };
            }
            Hazard::NoResponse => answer.manner = Manner::Silent,
            Hazard::Reset | Hazard::Away { .. } => answer.manner = Manner::Reset { after: 0 },
            Hazard::ResetInBody => {
                let after = answer.head.len() + answer.body.len() / 2;
                answer.manner = Manner::Reset { after };
            }
            Hazard::UnexpectedResponse => answer.manner = Manner::Twice,
            Hazard::HeaderFlood => answer.manner = Manner::Flood,
            _ => answer.manner = Manner::Hangup,
        }
        if matches!(answer.manner, Manner::Silent | Manner::Flood | Manner::Reset { after: 0 }) {
            answer.status = 0;
        }
        if matches!(hazard, Hazard::Late { .. }) {
            answer.manner = Manner::Whole;
        }
        answer
    }

    /// The page at the path, or a page of its own where the site has none.
    fn whole_body(&self, site: usize, request: &Request<'_>, now: Timestamp) -> Vec<u8> {
        let index = self.index_of(site, request.target);
        match index.map(|index| super::PageId { site, index }) {
            Some(page) => self.render(page, self.version(page, now), &Dress::default()),
            None => {
                let text = "<p>A paragraph that was written to be cut, dripped or repeated.</p>\n";
                small_page(request.path(), &text.repeat(30)).into_bytes()
            }
        }
    }

    fn is_away(&self, after: Duration, lasting: Duration, now: Timestamp) -> bool {
        let begun = self.options.origin.plus(after);
        now >= begun && now < begun.plus(lasting)
    }

    fn spell(
        &self,
        status: u16,
        every: Duration,
        lasting: Duration,
        now: Timestamp,
    ) -> Option<Answer> {
        let since = now.since(self.options.origin).as_millis() % every.as_millis().max(1);
        let left = lasting.as_millis().checked_sub(since).filter(|left| *left > 0)?;
        let seconds = left.div_ceil(1000) as u32;
        let reply = Reply::new(status, now).field("Retry-After", seconds).html();
        let answer = reply.whole(small_page("Later", "<p>Please come back later.</p>"));
        Some(Answer { retry_after: Some(seconds), ..answer })
    }

    fn soft_404(&self, site: usize, request: &Request<'_>, now: Timestamp) -> Option<Answer> {
        if self.index_of(site, request.target).is_some() || request.path() == "/robots.txt" {
            return None;
        }
        let body =
            "<p>We could not find it, but look: <a href=\"a\">a</a> <a href=\"b/\">b</a></p>";
        Some(Reply::new(200, now).html().whole(small_page("Welcome", body)))
    }

    fn session(&self, site: usize, request: &Request<'_>, now: Timestamp) -> Answer {
        let minute = now.0 / 60_000;
        let suffix = format!("sid={:016x}", crate::dice::mix(self.options.seed, minute as u64));
        let dress = Dress { suffix: suffix.clone(), ..Dress::default() };
        if self.index_of(site, request.target).is_some() || request.path() == "/robots.txt" {
            return self.ordinary(site, request, now, &dress);
        }
        let path = request.path();
        let body = format!("<p><a href=\"{path}?{suffix}\">again</a></p>");
        Reply::new(200, now).html().whole(small_page("Session", &body))
    }

    fn accented(&self) -> Vec<u8> {
        let sentences = self.prose.sentences(Language::French);
        let text: Vec<u8> = (0..20u64).flat_map(|k| sentences.get(k << 58).to_vec()).collect();
        let text = String::from_utf8_lossy(&text);
        latin1(small_page("Café", &format!("<p>{text}</p><a href=\"/\">début</a>")).as_bytes())
    }
}

/// Outside its bad spells a path of its own is a small page; the site's pages are themselves.
fn stand_in(request: &Request<'_>, now: Timestamp) -> Option<Answer> {
    let own = request.path().starts_with("/hazard/");
    own.then(|| Reply::new(200, now).html().whole(small_page("Well again", "")))
}

/// `None`: not a redirect at all; `Some(None)`: the ordinary answer.
fn redirecting(hazard: Hazard, request: &Request<'_>, now: Timestamp) -> Option<Option<Answer>> {
    let path = request.path();
    let answer = match hazard {
        Hazard::RedirectLoop => redirect(302, request.target, now),
        Hazard::CookieRedirect => match request.cookie.is_some_and(|c| c.contains("seen=1")) {
            true => Reply::new(200, now).html().whole(small_page("With cookie", "")),
            false => {
                let reply = Reply::new(302, now).field("Location", request.target);
                reply.field("Set-Cookie", "seen=1; Path=/").whole("")
            }
        },
        Hazard::RedirectChain { hops } => match number(request.query(), "hop=") {
            hop if hop < u64::from(hops) => redirect(302, &format!("{path}?hop={}", hop + 1), now),
            _ => Reply::new(200, now).html().whole(small_page("The end of the chain", "")),
        },
        Hazard::RedirectPrivate => redirect(302, "http://10.0.0.1/admin", now),
        Hazard::RedirectScheme => redirect(302, "file:///etc/passwd", now),
        _ => return None,
    };
    Some(Some(answer))
}

fn calendar(request: &Request<'_>, now: Timestamp) -> Answer {
    let (path, month) = (request.path(), number(request.query(), "month="));
    let body = format!(
        "<p>Nothing happens in month {month} of the calendar.</p>\n\
         <p><a href=\"{path}?month={}\">next month</a> <a href=\"/\">home</a></p>",
        month.saturating_add(1)
    );
    Reply::new(200, now).html().whole(small_page(&format!("Month {month}"), &body))
}

fn growing(request: &Request<'_>, now: Timestamp) -> Answer {
    let depth = request.path().matches('/').count();
    let body = format!("<p>Level {depth}. <a href=\"spider/\">deeper</a></p>");
    Reply::new(200, now).html().whole(small_page("Deeper", &body))
}

fn garbage() -> Answer {
    let answer = Reply::new(0, Timestamp::ZERO).bare("");
    let head: Vec<u8> = (0..600u32).map(|k| (k * 7919 % 251) as u8 | 0x80).collect();
    Answer { head, manner: Manner::Hangup, ..answer }
}

fn endless(now: Timestamp) -> Answer {
    let reply = Reply::new(200, now).html().field("Transfer-Encoding", "chunked");
    let text = b"<p>and on and on it goes, one line after the other, for ever</p>\n".repeat(32);
    let mut chunk = format!("{:x}\r\n", text.len()).into_bytes();
    chunk.extend_from_slice(&text);
    chunk.extend_from_slice(b"\r\n");
    Answer { manner: Manner::Endless, ..reply.bare(chunk) }
}

fn coded(coding: &str, body: impl Into<Bytes>, now: Timestamp) -> Answer {
    Reply::new(200, now).html().field("Content-Encoding", coding).whole(body)
}

/// gzip of that many megabytes of zeros: one block is packed once and repeated.
fn bomb(megabytes: u32) -> Vec<u8> {
    let zeros = vec![0u8; 1 << 20];
    let block = super::bombs::deflate_block();
    let mut one = Crc::new();
    one.update(&zeros);
    let mut all = Crc::new();
    let mut body = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    for _ in 0..megabytes {
        body.extend_from_slice(&block);
        all.combine(&one);
    }
    // An empty last block.
    body.extend_from_slice(&[3, 0]);
    body.extend_from_slice(&all.sum().to_le_bytes());
    body.extend_from_slice(&all.amount().to_le_bytes());
    body
}

fn utf16_page() -> Vec<u8> {
    let page = small_page("Größe", "<p>Zwei Bytes für jedes Zeichen. <a href=\"/\">Heim</a></p>");
    let units = std::iter::once(0xFEFF).chain(page.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

pub(super) fn number(query: &str, name: &str) -> u64 {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.parse().ok()).unwrap_or(0)
}
