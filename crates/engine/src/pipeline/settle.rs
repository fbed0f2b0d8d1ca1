//! From an answer to what it changes: pure functions that turn a finished visit into rows.

use gatherer::{GatherProblem, Gathered};
use harvester::failure::PageAfter;
use model::{
    Change, Decision, Exchange, FailureKind, FetchFailure, Fingerprint, LastVersion, Page,
    PageFacts, PageState, PageUpdate, Refusal, RefusalReason, SignalSource, Stopped, Timestamp,
    Visit,
};
use seeder::Sorted;

use super::{
    change::{Compared, compare},
    gather::Filed,
};
use config::setup::ChangeCriteria;

/// Whether a payload was archived before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    New,
    /// The page's own last version.
    Before,
    /// Under another URL; the page of the same site, if it is one.
    Elsewhere(Option<Fingerprint>),
}

/// An answer with all that is known of it.
pub struct Answered<'a> {
    pub exchange: &'a Exchange,
    pub gathered: &'a Gathered,
    pub filed: &'a Filed,
    pub notion: &'a ChangeCriteria,
    /// The rules do not want content of this type.
    pub refusal: Option<Refusal>,
}

/// The page's new row, and the refusal when the answer was not wanted. When it is due again is not for this
/// room to say.
pub fn update(
    page: &Page,
    answer: &Answered<'_>,
    after: &PageAfter,
    sorted: &Sorted,
) -> (PageUpdate, Option<Decision>) {
    let state = match answer.refusal {
        None => state_after(page, answer.exchange, after),
        Some(_) => PageState::Excluded,
    };
    let compared =
        compare(page, answer.exchange, answer.gathered, answer.filed, state, answer.notion);
    let change = compared.change;
    let failures =
        if matches!(state, PageState::Failing) { page.failures.saturating_add(1) } else { 0 };
    let update = PageUpdate {
        fp: page.url.fingerprint(),
        state,
        due: None,
        failures,
        visit: Some(visit_of(page, answer, change)),
        habit: None,
        children: None,
        facts: facts_of(page, answer, compared, sorted),
    };
    let refused = match &answer.refusal {
        None => unwanted(page, answer.exchange),
        Some(refusal) => Some(decision(page, refusal.clone())),
    };
    (update, refused)
}

/// The page's new row after a visit that brought no answer.
pub fn failed(
    page: &Page,
    failure: &FetchFailure,
    after: &PageAfter,
    now: Timestamp,
) -> PageUpdate {
    if let PageAfter::Later { at } = after {
        return later(page, *at);
    }
    let state = match after {
        PageAfter::GiveUp { state } => *state,
        _ => PageState::Failing,
    };
    let visit = Visit {
        at: now.minus(failure.timing.total),
        status: 0,
        failure: Some(failure.kind),
        change: Change::Failed,
        record: None,
        record_id: None,
        revisit: false,
        lost_before: false,
        wire_bytes: failure.wire_bytes,
        body_bytes: 0,
        payload_digest: [0; 20],
        content_hash: 0,
        text_hash: 0,
        simhash: 0,
        latency: failure.timing.first_byte,
        elapsed: failure.timing.total,
    };
    let (state, due, failures) = match after {
        // The visit is written down; the page is neither failing nor later for it.
        PageAfter::Again => (page.state, Some(now), page.failures),
        _ => (state, None, page.failures.saturating_add(1)),
    };
    PageUpdate {
        fp: page.url.fingerprint(),
        state,
        due,
        failures,
        visit: (failure.kind != FailureKind::Aborted).then_some(visit),
        habit: None,
        children: None,
        facts: None,
    }
}

/// The site was never reached (our proxy is down): the page stays as it was and waits.
fn later(page: &Page, at: Timestamp) -> PageUpdate {
    PageUpdate {
        fp: page.url.fingerprint(),
        state: page.state,
        due: Some(at),
        failures: page.failures,
        visit: None,
        habit: None,
        children: None,
        facts: None,
    }
}

/// The page's new row when a rule keeps us from visiting it now.
pub fn excluded(page: &Page) -> PageUpdate {
    PageUpdate {
        fp: page.url.fingerprint(),
        state: PageState::Excluded,
        due: None,
        failures: page.failures,
        visit: None,
        habit: None,
        children: None,
        facts: None,
    }
}

/// The row of a candidate that was judged and refused: kept, so that it is not judged again and again.
pub fn refused(page: &Page) -> PageUpdate {
    PageUpdate {
        fp: page.url.fingerprint(),
        state: PageState::Excluded,
        due: None,
        failures: 0,
        visit: None,
        habit: None,
        children: None,
        facts: None,
    }
}

pub fn decision(page: &Page, refusal: Refusal) -> Decision {
    // What was forgotten is counted, and not named.
    let name = |text: &str| if refusal.is_forgotten() { String::new() } else { text.to_owned() };
    Decision {
        site: name(page.url.site_text()),
        example: name(page.url.as_str()),
        reason: refusal.reason,
        rule: refusal.rule,
        count: 1,
        referrer: None,
    }
}

/// A redirect to itself that set a cookie is tried once more, with the cookie.
pub fn asks_again(page: &Page, exchange: &Exchange, gathered: &Gathered) -> bool {
    page.hops == 0
        && exchange.headers.get("set-cookie").is_some()
        && gathered.redirect.as_ref().is_some_and(|target| *target == page.url)
}

fn state_after(page: &Page, exchange: &Exchange, after: &PageAfter) -> PageState {
    if matches!(exchange.stopped, Some(Stopped::Type | Stopped::Announced))
        && matches!(exchange.status, 200..=299)
    {
        return PageState::Excluded;
    }
    // It was answered, and could not be read.
    if let (PageAfter::GiveUp { state }, 200..=399) = (after, exchange.status) {
        return *state;
    }
    match exchange.status {
        200..=299 => PageState::Fetched,
        // That a page is back can be told only with a payload to point to.
        304 if page.last.as_ref().is_some_and(|last| last.whole || !last.gone) => {
            PageState::Fetched
        }
        // Nobody asked conditionally: there is nothing that has not been modified.
        304 => PageState::Failing,
        300..=399 => PageState::Redirected,
        _ => match after {
            PageAfter::GiveUp { state } => *state,
            _ => PageState::Failing,
        },
    }
}

fn visit_of(page: &Page, answer: &Answered<'_>, change: Change) -> Visit {
    let exchange = answer.exchange;
    let mut visit = Visit {
        at: exchange.started,
        status: exchange.status,
        failure: None,
        change,
        record: Some(answer.filed.location),
        record_id: Some(answer.filed.record_id),
        revisit: answer.filed.revisit,
        lost_before: answer.filed.lost,
        wire_bytes: (exchange.response_head.len() + exchange.wire_body.len()) as u64,
        body_bytes: exchange.body.len() as u64,
        payload_digest: answer.filed.digest,
        content_hash: answer.gathered.content_hash,
        text_hash: answer.gathered.text_hash,
        simhash: answer.gathered.simhash,
        latency: exchange.timing.first_byte,
        elapsed: exchange.timing.total,
    };
    // A page that was gone is back as it was: its row speaks of the payload that its record refers to.
    if exchange.status == 304
        && change == Change::Returned
        && let Some(last) = &page.last
    {
        (visit.payload_digest, visit.body_bytes) = (last.payload_digest, last.body_bytes);
        (visit.content_hash, visit.text_hash) = (last.content_hash, last.text_hash);
    }
    visit
}

fn facts_of(
    page: &Page,
    answer: &Answered<'_>,
    compared: Compared,
    sorted: &Sorted,
) -> Option<PageFacts> {
    if let Some(last) = &page.last
        && !is_news(last, answer, &compared)
    {
        return None;
    }
    let (gathered, headers) = (answer.gathered, &answer.exchange.headers);
    Some(PageFacts {
        media_type: gathered.media_type.clone(),
        charset: gathered.charset.clone(),
        title: gathered.title.clone(),
        description: gathered.description.clone(),
        language: gathered.language.as_ref().map(|l| l.code.to_string()).unwrap_or_default(),
        canonical: canonical_of(gathered),
        etag: headers.get("etag").map(str::to_owned),
        last_modified: headers.get("last-modified").map(str::to_owned),
        location: headers.get("location").map(str::to_owned),
        text_bytes: gathered.text.len() as u64,
        links_internal: count(sorted.internal.len()),
        links_external: count(gathered.links.len().saturating_sub(sorted.internal.len())),
        noindex: gathered.noindex,
        noarchive: gathered.noarchive,
        unavailable_after: end_of(gathered),
        duplicate_of: match answer.filed.seen {
            Seen::Elsewhere(page) => page,
            _ => None,
        },
        near_of: None,
        sketch: compared.sketch,
    })
}

/// When the page says that it ends; what is no date says nothing.
fn end_of(gathered: &Gathered) -> Option<Timestamp> {
    gathered.unavailable_after.as_deref().and_then(seeder::read_date)
}

/// What it names as its canonical page; where that is several, all of them with blanks between.
fn canonical_of(gathered: &Gathered) -> Option<String> {
    let several = gathered.problems.iter().find_map(|problem| match problem {
        GatherProblem::Canonicals(named) => Some(named.first.join(" ")),
        _ => None,
    });
    several.or_else(|| gathered.canonical.as_ref().map(|url| url.as_str().to_owned()))
}

/// Whether the answer says more of the page than is known of its version at hand.
fn is_news(last: &LastVersion, answer: &Answered<'_>, compared: &Compared) -> bool {
    match compared.change {
        // What is known of the content is not known of the page of an error.
        Change::NotModified | Change::Failed | Change::Gone => false,
        Change::Returned => answer.exchange.status != 304,
        // What to ask with the next time is worth writing down, as is what its restless parts did.
        Change::Unchanged => {
            let told = |name: &str| answer.exchange.headers.get(name);
            let is_other = |name: &str, known: &Option<String>| {
                told(name).is_some_and(|told| known.as_deref() != Some(told))
            };
            is_other("etag", &last.condition.etag)
                || is_other("last-modified", &last.condition.last_modified)
                || end_of(answer.gathered) != last.unavailable_after
                || (compared.sketch != last.sketch && answer.filed.digest != last.payload_digest)
        }
        _ => true,
    }
}

/// What the server calls it.
pub fn declared_type(exchange: &Exchange) -> String {
    let declared = exchange.headers.all("content-type").last().unwrap_or("none");
    declared.split(';').next().unwrap_or(declared).trim().to_ascii_lowercase()
}

fn unwanted(page: &Page, exchange: &Exchange) -> Option<Decision> {
    let (reason, rule) = match exchange.stopped {
        Some(Stopped::Type) => {
            let kind = declared_type(exchange);
            (RefusalReason::MediaType, format!("fetch.media_types does not have {kind}"))
        }
        Some(Stopped::Announced) if page.terms.notice.is_some() => {
            let word = page.terms.notice.map_or("notice", SignalSource::word);
            (RefusalReason::TooLarge, format!("{word}: larger than the limit"))
        }
        Some(Stopped::Announced) if page.terms.requisite => {
            (RefusalReason::TooLarge, "fetch.requisite_bytes_max".to_owned())
        }
        Some(Stopped::Announced) => (RefusalReason::TooLarge, "fetch.body_bytes_max".to_owned()),
        _ => return None,
    };
    let site = page.url.site().as_str().to_owned();
    let example = page.url.as_str().to_owned();
    Some(Decision { site, reason, rule, count: 1, example, referrer: None })
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
