//! What a site in memory has to lend: of its first queue breadth-first, of its second by due alone.

use std::collections::HashSet;

use model::{Children, Fingerprint, Page, PageState, SpiderId, Timestamp, Unpaid};

use super::{MemorySite, Row, Turn};

/// Which pages of a site are asked for.
pub(in crate::frontier::memory) struct Wish<'a> {
    pub asleep: &'a [SpiderId],
    pub unpaid: Option<&'a Unpaid>,
    pub pages_max: usize,
    /// Of the first queue, what is due by this moment.
    pub firsts: Option<Timestamp>,
    /// Of the second queue, what is due by this moment …
    pub again: Option<Timestamp>,
    /// … and at most so many; `None`: all.
    pub again_max: Option<usize>,
    /// The site is lent for the second queue: one of it comes in any case.
    pub for_again: bool,
    pub requisites_only: bool,
}

/// What a site is lent out with.
pub(in crate::frontier::memory) struct Lot {
    pub pages: Vec<Page>,
    /// How many of them are of the first queue.
    pub firsts: usize,
    /// There are more due pages, of those that are not counted out.
    pub more: bool,
}

impl MemorySite {
    fn is_open(&self, row: &Row, asleep: &[SpiderId]) -> bool {
        let page = &row.page;
        let counts = !page.terms.requisite && page.state != PageState::Candidate;
        let held_back = !row.fetched && counts && self.full.contains(&page.spider);
        !held_back && !asleep.contains(&page.spider)
    }

    /// When the first page of this queue is due that may be lent.
    pub fn earliest(&self, turn: Turn, asleep: &[SpiderId]) -> Option<Timestamp> {
        self.queues[turn as usize]
            .iter()
            .find(|(_, _, index)| self.is_open(&self.rows[*index as usize], asleep))
            .map(|(due, _, _)| *due)
    }

    /// What is due, breadth first; of the second queue the earliest, and half at most where both queues want
    /// all the room.
    pub fn lot(&self, wish: &Wish<'_>, except: &HashSet<Fingerprint>) -> Lot {
        let mut firsts = self.due(Turn::First, wish.firsts, wish, except);
        let mut again = self.due(Turn::Again, wish.again, wish, except);
        let max = wish.pages_max;
        let half = if wish.for_again { max.div_ceil(2) } else { max / 2 };
        let kept_first = firsts.len().min(max);
        let room = half.max(max - kept_first);
        let kept_again = again.len().min(wish.again_max.unwrap_or(max)).min(room);
        let kept_first = kept_first.min(max - kept_again);
        let more =
            firsts.len() > kept_first || wish.again_max.is_none() && again.len() > kept_again;
        firsts.sort_unstable_by_key(|row| in_order(row));
        firsts.truncate(kept_first);
        again.truncate(kept_again);
        firsts.append(&mut again);
        firsts.sort_unstable_by_key(|row| in_order(row));
        Lot {
            pages: firsts.into_iter().map(|row| self.lent(row)).collect(),
            firsts: kept_first,
            more,
        }
    }

    /// What of one queue is due, earliest first.
    fn due(
        &self,
        turn: Turn,
        until: Option<Timestamp>,
        wish: &Wish<'_>,
        except: &HashSet<Fingerprint>,
    ) -> Vec<&Row> {
        let Some(until) = until else { return Vec::new() };
        let unpaid = wish.unpaid.map_or(&[][..], |unpaid| match turn {
            Turn::First => &unpaid.firsts,
            Turn::Again => &unpaid.again,
        });
        self.queues[turn as usize]
            .iter()
            .take_while(|(due, ..)| *due <= until)
            .map(|(_, _, index)| &self.rows[*index as usize])
            .filter(|row| self.is_open(row, wish.asleep) && !unpaid.contains(&row.page.spider))
            .filter(|row| !wish.requisites_only || row.page.terms.requisite)
            .filter(|row| !except.contains(&row.page.url.fingerprint()))
            .collect()
    }

    /// The page as it is handed out: with what became of its children.
    pub(super) fn lent(&self, row: &Row) -> Page {
        let children = row.children.as_ref().map(|children| {
            let since = row.page.habit.seen.unwrap_or(Timestamp::ZERO);
            let mut counted = Children::default();
            for child in children.iter().filter_map(|child| self.by_fp.get(child)) {
                let child = &self.rows[*child as usize];
                let habit = &child.page.habit;
                let after = |moment: Option<Timestamp>| moment.is_some_and(|at| at > since);
                if !(1..=5).contains(&(child.page.state as u8)) {
                    continue;
                }
                let announced = habit.signals > 0 && after(habit.announced);
                counted.known += 1;
                counted.seen += u32::from(after(child.visited) || announced);
                counted.changed += u32::from(after(habit.changed) || announced);
            }
            counted
        });
        Page { children, ..row.page.clone() }
    }
}

fn in_order(row: &Row) -> (u16, Timestamp, i64) {
    (row.page.level, row.page.due, row.page.url.fingerprint().0 as i64)
}
