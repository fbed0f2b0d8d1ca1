//! Commands one after another, without waiting for the answer to each: long lists go in parts.

use std::collections::VecDeque;

use harvester::clock::RealClock;
use model::Clock;
use store::{
    control::{COMMAND_BYTES_MAX, Command, Outcome, SeedLine},
    replicas::{ReplicaChange, ReplicaRow},
};

use super::Control;
use crate::Error;

/// Requests that wait for an answer at once: what a crawl takes up in one look.
const ASKED_MAX: usize = 100;
/// Seeds in one request: also with the longest URLs well below the bound on its size.
const SEEDS_MAX: usize = 2_000;
const PART_BYTES: usize = COMMAND_BYTES_MAX / 4;
/// What a seed takes in a request besides its URL.
const LINE_BYTES: usize = 64;
/// Mirrors in one request: some 200 bytes each.
const ROWS_MAX: usize = 2_000;

/// Hands commands over and adds their outcomes up.
pub(crate) struct Sending {
    control: Control,
    asked: VecDeque<i64>,
    outcome: Option<Outcome>,
    /// An answer did not come in time: no other is waited for.
    pending: bool,
}

impl Sending {
    pub fn new(control: Control) -> Sending {
        Sending { control, asked: VecDeque::new(), outcome: None, pending: false }
    }

    pub fn send(&mut self, command: Command) -> Result<(), Error> {
        let of_the_moment = command.is_of_the_moment();
        if of_the_moment && !self.control.is_running() {
            return Err(self.not_running());
        }
        if !of_the_moment && let Some(outcome) = self.control.carry_out(&command)? {
            return self.take(outcome);
        }
        for part in in_parts(command) {
            self.asked.push_back(self.control.collection.request(&part, RealClock::new().now())?);
            if self.asked.len() >= ASKED_MAX {
                self.await_first()?;
            }
        }
        match of_the_moment {
            true => self.await_first(),
            false => Ok(()),
        }
    }

    /// What all of them came to, and whether something of it is still to be carried out.
    pub fn finish(mut self) -> Result<(Option<Outcome>, bool), Error> {
        while !self.asked.is_empty() && !self.pending {
            self.await_first()?;
        }
        Ok((self.outcome, self.pending))
    }

    fn await_first(&mut self) -> Result<(), Error> {
        let Some(id) = self.asked.pop_front() else { return Ok(()) };
        if self.pending {
            return Ok(());
        }
        match self.control.answer(id)? {
            Some(outcome) => self.take(outcome),
            None => {
                self.pending = true;
                Ok(())
            }
        }
    }

    fn take(&mut self, outcome: Outcome) -> Result<(), Error> {
        self.outcome = Some(match (self.outcome.take(), outcome) {
            (_, Outcome::Ended) => return Err(self.not_running()),
            (_, Outcome::Refused { why }) => return Err(Error::Refused { why }),
            (_, Outcome::NotFound { url }) => return Err(Error::PageUnknown { url, near: None }),
            (_, Outcome::Unknown) => return Err(Error::OtherVersion),
            (Some(before), outcome) => before.plus(outcome),
            (None, outcome) => outcome,
        });
        Ok(())
    }

    fn not_running(&self) -> Error {
        Error::NotRunning { collection: self.control.collection.dir().to_owned() }
    }
}

/// As a request can have it.
pub(crate) fn in_parts(command: Command) -> Vec<Command> {
    match command {
        Command::Seed { urls, seeds, spider } if urls.is_empty() => {
            let bytes = |seed: &SeedLine| seed.url.len() + LINE_BYTES;
            let seed = |seeds| Command::Seed { urls: Vec::new(), seeds, spider: spider.clone() };
            chunks(seeds, SEEDS_MAX, bytes).into_iter().map(seed).collect()
        }
        Command::Block { patterns, reason, remove } => {
            let block = |patterns| Command::Block { patterns, reason: reason.clone(), remove };
            chunks(patterns, usize::MAX, String::len).into_iter().map(block).collect()
        }
        Command::Replicas { change: ReplicaChange::Found { rows, again_ms } } => {
            let found =
                |rows| Command::Replicas { change: ReplicaChange::Found { rows, again_ms } };
            let bytes = |row: &ReplicaRow| row.site.len() + row.original.len();
            chunks(rows, ROWS_MAX, bytes).into_iter().map(found).collect()
        }
        command => vec![command],
    }
}

/// At least one, at most `max` things and not much over [`PART_BYTES`] each.
fn chunks<T>(things: Vec<T>, max: usize, bytes_of: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let (mut all, mut part, mut bytes) = (Vec::new(), Vec::new(), 0);
    for thing in things {
        bytes += bytes_of(&thing);
        part.push(thing);
        if part.len() >= max || bytes >= PART_BYTES {
            all.push(std::mem::take(&mut part));
            bytes = 0;
        }
    }
    if !part.is_empty() || all.is_empty() {
        all.push(part);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_commands_go_in_parts_that_a_request_can_have() {
        let line = |n: usize| SeedLine {
            url: format!("http://a.example/{}{n}", "x".repeat(200)),
            level: None,
            period_ms: None,
        };
        let seeds: Vec<SeedLine> = (0..5_000).map(line).collect();
        let command = Command::Seed { urls: Vec::new(), seeds: seeds.clone(), spider: None };
        let mut sent = Vec::new();
        for part in in_parts(command) {
            let text = serde_json::to_string(&part).unwrap();
            assert!(text.len() <= COMMAND_BYTES_MAX, "{}", text.len());
            let Command::Seed { seeds, .. } = part else { panic!("seeds") };
            sent.extend(seeds);
        }
        assert_eq!(sent, seeds);
        assert_eq!(in_parts(Command::Stop), [Command::Stop]);
    }
}
