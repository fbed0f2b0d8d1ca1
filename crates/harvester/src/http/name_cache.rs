//! What is known of names: answers with their life, bounded, and one question at a time per name.
//!
//! Pure of I/O. The first who asks for a name becomes its [`Leader`] and must answer; the others wait
//! for that answer. A leader that is dropped before answering (its visit was given up) lets one of the
//! waiting take its place.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::{FailureKind, Timestamp};
use tokio::sync::oneshot;

/// What the name servers said, or why they said nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameAnswer {
    Addresses(Arc<[IpAddr]>),
    Failure(FailureKind, Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub answer: NameAnswer,
    pub expires: Timestamp,
}

pub struct NameCache {
    names_max: usize,
    slots: Mutex<HashMap<Box<str>, Slot>>,
}

enum Slot {
    Known(Known),
    /// Somebody is asking; these wait for it.
    Asked(Vec<oneshot::Sender<Known>>),
}

pub enum Place<'a> {
    Known(Known),
    Wait(oneshot::Receiver<Known>),
    Lead(Leader<'a>),
}

/// The duty to find out about a name.
pub struct Leader<'a> {
    cache: &'a NameCache,
    name: Box<str>,
    done: bool,
}

impl NameCache {
    pub fn new(names_max: usize) -> NameCache {
        NameCache { names_max: names_max.max(1), slots: Mutex::new(HashMap::new()) }
    }

    pub fn place(&self, name: &str, now: Timestamp) -> Place<'_> {
        let mut slots = self.lock();
        match slots.get_mut(name) {
            Some(Slot::Known(known)) if known.expires > now => return Place::Known(known.clone()),
            Some(Slot::Asked(waiting)) => {
                let (sender, receiver) = oneshot::channel();
                waiting.push(sender);
                return Place::Wait(receiver);
            }
            _ => {}
        }
        make_room(&mut slots, self.names_max, now);
        slots.insert(name.into(), Slot::Asked(Vec::new()));
        Place::Lead(Leader { cache: self, name: name.into(), done: false })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leader<'_> {
    pub fn answer(mut self, known: Known) {
        self.done = true;
        let name = std::mem::take(&mut self.name);
        let before = self.cache.lock().insert(name, Slot::Known(known.clone()));
        if let Some(Slot::Asked(waiting)) = before {
            for sender in waiting {
                // Who no longer waits does not need the answer.
                let _ = sender.send(known.clone());
            }
        }
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.cache.lock().remove(&self.name);
        }
    }
}

/// Drops what has expired; when that is not enough, a sixteenth of the rest, whichever comes first.
fn make_room(slots: &mut HashMap<Box<str>, Slot>, names_max: usize, now: Timestamp) {
    if slots.len() < names_max {
        return;
    }
    slots.retain(|_, slot| !matches!(slot, Slot::Known(known) if known.expires <= now));
    let mut surplus = (slots.len() + 1).saturating_sub(names_max);
    if surplus > 0 {
        surplus = surplus.max(names_max / 16);
        slots.retain(|_, slot| {
            let drop = surplus > 0 && matches!(slot, Slot::Known(_));
            surplus -= usize::from(drop);
            !drop
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(expires: i64) -> Known {
        let answer = NameAnswer::Addresses(Arc::from([IpAddr::from([192, 0, 2, 1])]));
        Known { answer, expires: Timestamp(expires) }
    }

    fn lead(cache: &NameCache, name: &str, now: i64) -> bool {
        matches!(cache.place(name, Timestamp(now)), Place::Lead(_))
    }

    #[test]
    fn an_answer_lives_until_its_end() {
        let cache = NameCache::new(10);
        let Place::Lead(leader) = cache.place("a", Timestamp(0)) else { panic!("first asks") };
        leader.answer(known(100));
        assert!(matches!(cache.place("a", Timestamp(99)), Place::Known(k) if k == known(100)));
        assert!(lead(&cache, "a", 100));
    }

    #[test]
    fn those_who_ask_meanwhile_get_the_leaders_answer() {
        let cache = NameCache::new(10);
        let Place::Lead(leader) = cache.place("a", Timestamp(0)) else { panic!("first asks") };
        let Place::Wait(mut waiting) = cache.place("a", Timestamp(0)) else {
            panic!("second waits")
        };
        leader.answer(known(100));
        assert_eq!(waiting.try_recv().unwrap(), known(100));
    }

    #[test]
    fn a_leader_that_gives_up_leaves_its_place() {
        let cache = NameCache::new(10);
        let leader = cache.place("a", Timestamp(0));
        let Place::Wait(mut waiting) = cache.place("a", Timestamp(0)) else {
            panic!("second waits")
        };
        drop(leader);
        assert!(waiting.try_recv().is_err());
        assert!(lead(&cache, "a", 0));
    }

    #[test]
    fn names_beyond_the_bound_push_out_others() {
        let cache = NameCache::new(100);
        for n in 0..10_000 {
            let Place::Lead(leader) = cache.place(&format!("n{n}"), Timestamp(0)) else {
                panic!("new names are asked for")
            };
            leader.answer(known(100));
        }
        assert!(cache.lock().len() <= 100);
    }
}
