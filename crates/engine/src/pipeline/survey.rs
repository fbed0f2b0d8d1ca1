//! The survey for a batch (policy `profit`): all pages of a spider are looked at, a piece at a time, so that
//! check-ins and check-outs go on in between.

use std::collections::VecDeque;

use manager::{Batch, Profit};
use model::{Busy, Milestone, SpiderId, StoreError, Timestamp};

use super::{desk::Desk, spiders::Spiders};

/// Rows read in one piece: about ten milliseconds.
const PIECE_ROWS: usize = 10_000;
/// While there is always something else to do, a piece comes after so many orders.
const PIECE_EVERY: u32 = 16;

/// Those that are under way, the one at work first.
pub struct Surveys {
    waiting: VecDeque<Survey>,
    /// Orders that came since the last piece.
    orders: u32,
    piece_rows: usize,
}

impl Default for Surveys {
    fn default() -> Surveys {
        Surveys::in_pieces_of(PIECE_ROWS)
    }
}

pub struct Survey {
    spider: SpiderId,
    pub chosen: Batch,
    place: Milestone,
    /// When it began: what was visited later than that needs no visit.
    pub since: Timestamp,
    pub busy: Busy,
}

impl Surveys {
    pub fn in_pieces_of(rows: usize) -> Surveys {
        Surveys { waiting: VecDeque::new(), orders: 0, piece_rows: rows }
    }

    pub fn begin(&mut self, spider: SpiderId, profit: Profit, now: Timestamp, busy: Busy) {
        let (chosen, place) = (Batch::new(profit, now), Milestone::default());
        self.waiting.push_back(Survey { spider, chosen, place, since: now, busy });
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether it is time for a piece: when nobody waits for the writer, and else now and then.
    pub fn have_a_turn(&mut self, idle: bool) -> bool {
        self.orders = if idle { PIECE_EVERY } else { self.orders + 1 };
        !self.waiting.is_empty() && self.orders >= PIECE_EVERY
    }

    /// The next piece; gives the survey back when it was the last.
    pub fn go_on(
        &mut self,
        desk: &mut dyn Desk,
        spiders: &Spiders,
    ) -> Result<Option<Survey>, StoreError> {
        self.orders = 0;
        let rows = self.piece_rows;
        let Some(survey) = self.waiting.front_mut() else { return Ok(None) };
        let spider = spiders.of(survey.spider);
        let chosen = &mut survey.chosen;
        let place = desk.survey_part(survey.spider, survey.place, rows, &mut |site, page| {
            chosen.look(site, page, spider.stake_of(page).importance);
        })?;
        match place {
            Some(place) => survey.place = place,
            None => return Ok(self.waiting.pop_front()),
        }
        Ok(None)
    }
}
