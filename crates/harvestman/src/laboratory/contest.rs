//! All policies in all cases, on as many threads as there are cores; the results do not depend on their number.

use std::{
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use model::StoreError;

use super::{
    Case,
    comparators::{Comparator, compare},
    drive::{self, Real},
    world::Outcome,
};

/// Who takes part, in the order of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    Oracle,
    Value,
    ProfitFast,
    Profit,
    Frequency,
    Proportional,
    Uniform,
    Fixed,
}

impl Contender {
    pub const ALL: [Contender; 8] = [
        Contender::Oracle,
        Contender::Value,
        Contender::ProfitFast,
        Contender::Profit,
        Contender::Frequency,
        Contender::Proportional,
        Contender::Uniform,
        Contender::Fixed,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Contender::Oracle => "oracle",
            Contender::Value => "value",
            Contender::ProfitFast => "profit-fast",
            Contender::Profit => "profit",
            Contender::Frequency => "frequency",
            Contender::Proportional => "proportional",
            Contender::Uniform => "uniform",
            Contender::Fixed => "fixed",
        }
    }

    pub fn from_word(word: &str) -> Option<Contender> {
        Contender::ALL.into_iter().find(|contender| contender.word() == word)
    }

    fn run(self, case: &Case) -> Result<Outcome, StoreError> {
        let real = match self {
            Contender::Oracle => return Ok(compare(case, Comparator::Oracle)),
            Contender::Uniform => return Ok(compare(case, Comparator::Uniform)),
            Contender::Proportional => return Ok(compare(case, Comparator::Proportional)),
            Contender::Value => Real::Value,
            Contender::ProfitFast => Real::ProfitFast,
            Contender::Profit => Real::Profit,
            Contender::Frequency => Real::Frequency,
            Contender::Fixed => Real::Fixed,
        };
        drive::run(case, real)
    }
}

/// One policy in one case.
#[derive(Clone, Debug)]
pub struct Score {
    /// Place among the cases.
    pub case: usize,
    pub contender: Contender,
    pub outcome: Outcome,
}

/// By case, then in the order of `contenders`; `told` hears of every one that is done.
pub fn run(
    cases: &[Case],
    contenders: &[Contender],
    threads: usize,
    told: &mut dyn FnMut(&Score, usize),
) -> Result<Vec<Score>, StoreError> {
    // Those that take longest come first, so that no core waits for the last one.
    let jobs: Vec<(usize, Contender)> = contenders
        .iter()
        .flat_map(|contender| (0..cases.len()).map(|case| (case, *contender)))
        .collect();
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::sync_channel(threads.max(1));
    let mut scores = thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            let (send, jobs, next) = (send.clone(), &jobs, &next);
            scope.spawn(move || {
                while let Some((case, contender)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = contender.run(&cases[*case]);
                    let score = outcome.map(|outcome| Score {
                        case: *case,
                        contender: *contender,
                        outcome,
                    });
                    // Whoever listens has gone after a failure.
                    if send.send(score).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut scores = Vec::with_capacity(jobs.len());
        for score in receive {
            let score = score?;
            scores.push(score);
            told(&scores[scores.len() - 1], jobs.len());
        }
        Ok::<_, StoreError>(scores)
    })?;
    let place = |contender| contenders.iter().position(|known| *known == contender);
    scores.sort_by_key(|score| (score.case, place(score.contender)));
    Ok(scores)
}
