//! A sketch as bytes: a version, the lines, the slots. Little-endian; what does not fit is no sketch.

use super::{GAP_LINES_MAX, LINES_MAX, Line, SLOTS_MAX, STREAK_MIN, Sketch, Slot};

/// Another form, another number: an old sketch is then learned anew.
const VERSION: u8 = 1;
const LINE_BYTES: usize = 8;
const SLOT_BYTES: usize = 5;
/// A streak only has to be told from a shorter one.
const STREAK_MAX: u8 = STREAK_MIN + 100;

impl Sketch {
    pub(super) fn pack(&self) -> Vec<u8> {
        let bytes = 4 + self.lines.len() * LINE_BYTES + self.slots.len() * SLOT_BYTES;
        let mut packed = Vec::with_capacity(bytes);
        packed.push(VERSION);
        packed.extend((self.lines.len() as u16).to_le_bytes());
        for line in &self.lines {
            packed.extend(line.template.to_le_bytes());
            packed.extend(line.content.to_le_bytes());
        }
        packed.push(self.slots.len() as u8);
        for slot in &self.slots {
            packed.extend((slot.start as u16).to_le_bytes());
            packed.extend([slot.len as u8, slot.lines_max as u8, slot.streak.min(STREAK_MAX)]);
        }
        packed
    }

    pub(super) fn unpack(packed: &[u8]) -> Option<Sketch> {
        let (&VERSION, rest) = packed.split_first()? else { return None };
        let (count, rest) = rest.split_first_chunk::<2>()?;
        let count = usize::from(u16::from_le_bytes(*count));
        let (lines, rest) = rest.split_at_checked(count * LINE_BYTES)?;
        let (&slot_count, slots) = rest.split_first()?;
        if count > LINES_MAX || slots.len() != usize::from(slot_count) * SLOT_BYTES {
            return None;
        }
        let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).unwrap_or_default();
        let line = |bytes: &[u8]| Line {
            template: number(&bytes[..4]),
            content: number(&bytes[4..LINE_BYTES]),
        };
        let slot = |bytes: &[u8]| Slot {
            start: usize::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            len: usize::from(bytes[2]),
            lines_max: usize::from(bytes[3]),
            streak: bytes[4],
        };
        let lines: Vec<Line> = lines.chunks_exact(LINE_BYTES).map(line).collect();
        let slots: Vec<Slot> = slots.chunks_exact(SLOT_BYTES).map(slot).collect();
        let fits = |slot: &Slot| {
            slot.start + slot.len <= lines.len()
                && slot.lines_max <= GAP_LINES_MAX
                && slot.len <= slot.lines_max.max(1)
        };
        (slots.len() <= SLOTS_MAX && slots.iter().all(fits)).then_some(Sketch { lines, slots })
    }
}
