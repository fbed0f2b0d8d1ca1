//! What the wire did that it should not ([`Met`]), beside its record: an exchange that is adopted after a crash, or
//! that comes home in a batch, tells of it as it would have at its visit.
//!
//! One field, as no field may stand twice in a record: `Harvestman-Met: HAZARD MEASURE WHAT; HAZARD …`. Words of a later
//! version that are not known here are passed over.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use model::{Hazard, Measure, Met};

use super::reader::Record;

pub(super) const MET_FIELD: &str = "Harvestman-Met";

/// Different words that are remembered: the program itself has some dozens. What a stranger's volume has beyond
/// them, or longer than [`WHAT_BYTES_MAX`], is told without them.
const WHATS_MAX: usize = 256;
const WHAT_BYTES_MAX: usize = 100;
/// Of one record: a visit meets a few at the most.
const MET_MAX: usize = 16;

/// The value of the field; none where nothing was met.
pub(super) fn all(met: &[Met]) -> Option<String> {
    let all: Vec<String> = met.iter().map(text).collect();
    (!all.is_empty()).then(|| all.join(BETWEEN))
}

const BETWEEN: &str = "; ";

fn text(met: &Met) -> String {
    let (hazard, measure) = (met.hazard.word(), met.measure.word());
    format!("{hazard} {measure} {}", met.what.replace(';', ",")).trim_end().to_owned()
}

pub(super) fn read(record: &Record) -> Vec<Met> {
    let fields = record.fields.all(MET_FIELD);
    fields.flat_map(|all| all.split(BETWEEN)).filter_map(one).take(MET_MAX).collect()
}

fn one(text: &str) -> Option<Met> {
    let mut words = text.splitn(3, ' ');
    let (hazard, measure) = (words.next()?, words.next()?);
    let met = Met::new(Hazard::from_word(hazard)?, Measure::from_word(measure)?);
    Some(met.of(remembered(words.next().unwrap_or(""))))
}

/// The words of what is met live as long as the program; so those that are read do, too, each once.
fn remembered(what: &str) -> &'static str {
    static WHATS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    keep(&mut WHATS.lock().unwrap_or_else(PoisonError::into_inner), what)
}

fn keep(whats: &mut BTreeSet<&'static str>, what: &str) -> &'static str {
    if let Some(known) = whats.get(what) {
        return known;
    }
    if whats.len() >= WHATS_MAX || what.len() > WHAT_BYTES_MAX {
        return "";
    }
    let kept: &'static str = Box::leak(what.to_owned().into_boxed_str());
    whats.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_not_known_is_passed_over() {
        let met =
            Met::new(Hazard::BadLength, Measure::Truncated).of("more came than was announced");
        let written = "bad-length truncated more came than was announced";
        assert_eq!(text(&met), written);
        // As the first version wrote it.
        assert_eq!(one(&written.replace("truncated", "cut")), Some(met));
        for met in [met, Met::new(Hazard::SlowResponse, Measure::Noted)] {
            assert_eq!(one(&text(&met)), Some(met));
        }
        for strange in ["", "bad-length", "bad-length soothed", "flying-fish cut x", " cut"] {
            assert_eq!(one(strange), None, "{strange:?}");
        }
    }

    #[test]
    fn a_volume_of_ever_new_words_fills_no_memory() {
        let mut whats = BTreeSet::new();
        assert_eq!(keep(&mut whats, &"x".repeat(WHAT_BYTES_MAX + 1)), "");
        for n in 0..2 * WHATS_MAX {
            let word = format!("word {n}");
            assert_eq!(keep(&mut whats, &word), if n < WHATS_MAX { &word } else { "" });
        }
        assert_eq!((whats.len(), keep(&mut whats, "word 7")), (WHATS_MAX, "word 7"));
    }
}
