//! From an answer to what it changes: pure functions that turn a finished visit into rows.

use gatherer::Gathered;
use harvester::failure::PageAfter;
use manager::{Policy, VisitedPage, next_due};
use model::{
    Change, Condition, Decision, Exchange, FailureKind, FetchFailure, Fingerprint, LastVersion,
    Page, PageFacts, PageState, PageUpdate, Refusal, RefusalReason, Stopped, Timestamp, Visit,
};
use seeder::Sorted;

use super::gather::Filed;

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
    pub now: Timestamp,
    pub policy: &'a Policy,
    /// The rules do not want content of this type.
    pub refusal: Option<Refusal>,
}

/// The page's new row, and the refusal when the answer was not wanted.
pub fn update(
    page: &Page,
    answer: &Answered<'_>,
    after: PageAfter,
    sorted: &Sorted,
) -> (PageUpdate, Option<Decision>) {
    let state = match answer.refusal {
        None => state_after(page, answer.exchange, &after),
        Some(_) => PageState::Excluded,
    };
    let change = change_of(page, answer, state);
    let failures =
        if matches!(state, PageState::Failing) { page.failures.saturating_add(1) } else { 0 };
    let update = PageUpdate {
        fp: page.url.fingerprint(),
        state,
        due: due_after(page, state, change, failures, &after, answer.now, answer.policy),
        failures,
        visit: Some(visit_of(answer, change)),
        habit: None,
        children: None,
        facts: facts_of(page, answer, change, sorted),
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
    policy: &Policy,
) -> PageUpdate {
    if let PageAfter::Later { at } = after {
        return later(page, *at);
    }
    let state = match after {
        PageAfter::GiveUp { state } => *state,
        _ => PageState::Failing,
    };
    let failures = page.failures.saturating_add(1);
    let visit = Visit {
        at: now.minus(failure.timing.total),
        status: 0,
        failure: Some(failure.kind),
        change: Change::Failed,
        record: None,
        record_id: None,
        revisit: false,
        wire_bytes: 0,
        body_bytes: 0,
        payload_digest: [0; 20],
        content_hash: 0,
        text_hash: 0,
        simhash: 0,
        latency: failure.timing.first_byte,
        elapsed: failure.timing.total,
    };
    PageUpdate {
        fp: page.url.fingerprint(),
        state,
        due: due_after(page, state, Change::Failed, failures, after, now, policy),
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
pub fn excluded(page: &Page, now: Timestamp, policy: &Policy) -> PageUpdate {
    let fp = page.url.fingerprint();
    let visited =
        VisitedPage { fp, state: PageState::Excluded, change: None, failures: page.failures };
    PageUpdate {
        fp: page.url.fingerprint(),
        state: PageState::Excluded,
        due: next_due(*policy, &visited, now),
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
    match exchange.status {
        200..=299 => PageState::Fetched,
        304 if page.last.is_some() => PageState::Fetched,
        // Nobody asked conditionally: there is nothing that has not been modified.
        304 => PageState::Failing,
        300..=399 => PageState::Redirected,
        _ => match after {
            PageAfter::GiveUp { state } => *state,
            _ => PageState::Failing,
        },
    }
}

fn change_of(page: &Page, answer: &Answered<'_>, state: PageState) -> Change {
    match state {
        PageState::Redirected => Change::Redirected,
        PageState::Fetched if answer.exchange.status == 304 => Change::NotModified,
        PageState::Fetched => match (&page.last, answer.filed.seen) {
            (None, _) => Change::First,
            (Some(_), Seen::Before) => Change::Unchanged,
            (Some(_), _) => Change::Changed,
        },
        _ => Change::Failed,
    }
}

fn due_after(
    page: &Page,
    state: PageState,
    change: Change,
    failures: u16,
    after: &PageAfter,
    now: Timestamp,
    policy: &Policy,
) -> Option<Timestamp> {
    if let PageAfter::Retry { at } = after {
        return Some(*at);
    }
    let visited = VisitedPage { fp: page.url.fingerprint(), state, change: Some(change), failures };
    next_due(*policy, &visited, now)
}

fn visit_of(answer: &Answered<'_>, change: Change) -> Visit {
    let exchange = answer.exchange;
    Visit {
        at: exchange.started,
        status: exchange.status,
        failure: None,
        change,
        record: Some(answer.filed.location),
        record_id: Some(answer.filed.record_id),
        revisit: answer.filed.revisit,
        wire_bytes: (exchange.response_head.len() + exchange.wire_body.len()) as u64,
        body_bytes: exchange.body.len() as u64,
        payload_digest: answer.filed.digest,
        content_hash: answer.gathered.content_hash,
        text_hash: answer.gathered.text_hash,
        simhash: answer.gathered.simhash,
        latency: exchange.timing.first_byte,
        elapsed: exchange.timing.total,
    }
}

fn facts_of(
    page: &Page,
    answer: &Answered<'_>,
    change: Change,
    sorted: &Sorted,
) -> Option<PageFacts> {
    // Of a page that was asked for whole, what to ask with the next time is worth writing down again.
    let asks = |last: &LastVersion| last.condition != Condition::default();
    let told =
        ["etag", "last-modified"].iter().any(|name| answer.exchange.headers.get(name).is_some());
    let renewed = told && !page.last.as_ref().is_some_and(asks);
    if change.folds() && !renewed {
        return None;
    }
    let (gathered, headers) = (answer.gathered, &answer.exchange.headers);
    Some(PageFacts {
        media_type: gathered.media_type.clone(),
        charset: gathered.charset.clone(),
        title: gathered.title.clone(),
        description: gathered.description.clone(),
        language: gathered.language.as_ref().map(|l| l.code.to_string()).unwrap_or_default(),
        canonical: gathered.canonical.as_ref().map(|url| url.as_str().to_owned()),
        etag: headers.get("etag").map(str::to_owned),
        last_modified: headers.get("last-modified").map(str::to_owned),
        location: headers.get("location").map(str::to_owned),
        text_bytes: gathered.text.len() as u64,
        links_internal: count(sorted.internal.len()),
        links_external: count(gathered.links.len().saturating_sub(sorted.internal.len())),
        noindex: gathered.noindex,
        noarchive: gathered.noarchive,
        duplicate_of: match answer.filed.seen {
            Seen::Elsewhere(page) => page,
            _ => None,
        },
    })
}

fn unwanted(page: &Page, exchange: &Exchange) -> Option<Decision> {
    let (reason, rule) = match exchange.stopped {
        Some(Stopped::Type) => {
            let declared = exchange.headers.get("content-type").unwrap_or("none");
            let kind = declared.split(';').next().unwrap_or(declared).trim().to_ascii_lowercase();
            (RefusalReason::MediaType, format!("fetch.media_types does not have {kind}"))
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
