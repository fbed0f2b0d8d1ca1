//! When a page is visited again: what a visit showed goes to the manager, and its answer into the page's row.
//!
//! Done where the visit is settled, so that a page's next moment is written with the visit that decided it.

use harvester::failure::PageAfter;
use manager::{FrequencyOn, Next, Policy, Sight, Stake, Visited, after_visit, trusted_modified};
use model::{
    Candidate, Change, Children, Exchange, Page, PageState, PageUpdate, SiteHabit, Timestamp,
};

/// What decides besides the visit, as it was when the visit ended.
#[derive(Clone, Debug)]
pub struct Stakes {
    pub stake: Stake,
    pub price: f64,
    pub site: SiteHabit,
}

/// What became of a page.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    pub sight: Sight,
    /// Its internal pages go along.
    pub call_children: bool,
}

/// Writes into `update` when the page is due again and what is believed of it now.
pub fn decide(
    page: &Page,
    update: &mut PageUpdate,
    after: &PageAfter,
    exchange: Option<&Exchange>,
    stakes: &Stakes,
    now: Timestamp,
) -> Decided {
    let modified = exchange.and_then(|exchange| {
        trusted_modified(&stakes.site, &exchange.headers, page.habit.seen, now)
    });
    let sight = sight_of(page, update, modified);
    let Next { habit, due, call_children, .. } =
        after_visit(&stakes.stake.policy, &visited(page, update, sight, stakes, now));
    update.due = match after {
        PageAfter::Retry { at } => Some(*at),
        _ => due.map(|due| not_after_its_end(due, page, update, stakes, now)),
    };
    update.habit = (habit != page.habit).then_some(habit);
    let call_children = call_children || passes_on(page, update, sight, stakes);
    Decided { sight, call_children }
}

/// A page that says when it ends is not looked after beyond that: only ever again after the longest time between visits,
/// to see what stands there now.
fn not_after_its_end(
    due: Timestamp,
    page: &Page,
    update: &PageUpdate,
    stakes: &Stakes,
    now: Timestamp,
) -> Timestamp {
    let end = match &update.facts {
        Some(facts) => facts.unavailable_after,
        None => page.last.as_ref().and_then(|last| last.unavailable_after),
    };
    let longest = match stakes.stake.policy {
        Policy::Value(value) => value.period_max,
        _ => manager::Value::default().period_max,
    };
    match end.is_some_and(|end| due >= end) {
        true => due.max(now.plus(longest)),
        false => due,
    }
}

/// A page that came along with its seed has the pages below it come along too: so a seed's turn is its site's.
fn passes_on(page: &Page, update: &PageUpdate, sight: Sight, stakes: &Stakes) -> bool {
    let along = matches!(stakes.stake.policy, Policy::Frequency(f) if f.on == FrequencyOn::Seeds);
    let again = matches!(sight, Sight::Changed { .. } | Sight::Unchanged);
    along && again && !page.seed && update.state == PageState::Fetched
}

fn visited<'a>(
    page: &'a Page,
    update: &PageUpdate,
    sight: Sight,
    stakes: &'a Stakes,
    now: Timestamp,
) -> Visited<'a> {
    Visited {
        page,
        state: update.state,
        failures: update.failures,
        sight,
        importance: stakes.stake.importance,
        site: &stakes.site,
        price: stakes.price,
        children: page.children.map(|Children { known, seen, changed }| manager::Children {
            known,
            seen,
            changed,
        }),
        now,
    }
}

fn sight_of(page: &Page, update: &PageUpdate, modified: Option<Timestamp>) -> Sight {
    let Some(visit) = &update.visit else { return Sight::Nothing };
    match visit.change {
        Change::First => Sight::First { modified },
        Change::Changed | Change::Returned => Sight::Changed { modified },
        Change::Unchanged | Change::NotModified => Sight::Unchanged,
        Change::Gone => Sight::Gone { status: visit.status },
        Change::Failed if update.state == PageState::Gone && visit.status > 0 => {
            Sight::Gone { status: visit.status }
        }
        Change::Failed => Sight::Nothing,
        // The content of a redirect is where it leads to.
        Change::Redirected if page.state == PageState::Redirected => Sight::Unchanged,
        Change::Redirected if page.habit.seen.is_some() => Sight::Changed { modified: None },
        Change::Redirected => Sight::First { modified: None },
    }
}

/// The internal pages it links to, where the policy asks after them.
pub fn note_children(
    page: &Page,
    update: &mut PageUpdate,
    internal: &[Candidate],
    stakes: &Stakes,
) {
    let Policy::Frequency(frequency) = stakes.stake.policy else { return };
    let asks = frequency.children || frequency.on == FrequencyOn::Seeds;
    let read = update.visit.as_ref().is_some_and(|visit| visit.change.is_version());
    if asks && read {
        let own = page.url.fingerprint();
        let links = internal.iter().map(|candidate| candidate.url.fingerprint());
        update.children = Some(links.filter(|fp| *fp != own).take(Children::MAX).collect());
    }
}
