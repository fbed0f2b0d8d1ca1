//! The language of a text: the page's own word when it is plausible, else a guess on a short
//! sample.
//!
//! Guessing by trigrams costs more than parsing the page, so it is rare. A declaration (`<html
//! lang>`, `Content-Language`) is believed when the script of a sample fits it; `en`, which page
//! makers leave in from templates, only when the sample also has English little words. Where a
//! declaration fails that test the guess wins only if it is sure. English that declares nothing
//! shows itself by the same little words. The sample is taken from the middle of the text, past
//! menus.

mod codes;
mod script;

use whatlang::{Info, detect};

use codes::{primary_code, short_code};
use script::{fits, scripts_in};

/// Sampled of the text: enough for trigrams to tell languages of one script apart.
const SAMPLE_CHARS: usize = 300;
/// Fewer characters than this are no evidence of anything.
const SAMPLE_CHARS_MIN: usize = 20;
/// Confidence given to a plausible declaration.
const DECLARED_CONFIDENCE: f32 = 0.9;

/// Declared English has at least this share of English little words …
const ENGLISH_SHARE_MIN: f32 = 1.0 / 12.0;
/// … and a text with this share is English even if nobody says so: other languages have a few of
/// them.
const ENGLISH_SHARE: f32 = 1.0 / 5.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Language {
    /// ISO 639-1, or 639-3 for languages that have no code of two letters.
    pub code: String,
    /// 0 to 1.
    pub confidence: f32,
    /// The page says so itself.
    pub declared: bool,
}

/// `declared`: what page and headers say, in order of weight, as language tags (`pt-BR`).
pub fn judge<'a>(text: &str, declared: impl IntoIterator<Item = &'a str>) -> Option<Language> {
    let sample = middle(text);
    let declared = declared.into_iter().find_map(primary_code);
    let is_evidence = sample.chars().nth(SAMPLE_CHARS_MIN).is_some();
    match declared {
        Some(code) if !is_evidence || is_plausible(&code, sample) => Some(from_page(code)),
        Some(code) => match detect(sample) {
            Some(info) if info.is_reliable() => Some(guessed(&info)),
            _ => Some(Language { confidence: DECLARED_CONFIDENCE / 2.0, ..from_page(code) }),
        },
        None if is_evidence && little_words(sample) >= ENGLISH_SHARE => Some(plainly_english()),
        None if is_evidence => detect(sample).map(|info| guessed(&info)),
        None => None,
    }
}

fn from_page(code: String) -> Language {
    Language { code, confidence: DECLARED_CONFIDENCE, declared: true }
}

fn guessed(info: &Info) -> Language {
    let code = short_code(info.lang().code()).to_owned();
    Language { code, confidence: info.confidence() as f32, declared: false }
}

fn plainly_english() -> Language {
    Language { code: "en".to_owned(), confidence: DECLARED_CONFIDENCE, declared: false }
}

fn is_plausible(code: &str, sample: &str) -> bool {
    fits(code, &scripts_in(sample)) && (code != "en" || little_words(sample) >= ENGLISH_SHARE_MIN)
}

/// The share of English little words among all: about one in three in running text.
fn little_words(sample: &str) -> f32 {
    const LITTLE: [&str; 16] = [
        "the", "of", "and", "to", "is", "for", "that", "with", "by", "you", "it", "are", "this",
        "from", "or", "your",
    ];
    let (mut words, mut little) = (0u16, 0u16);
    for word in sample.split_ascii_whitespace() {
        words += 1;
        little += u16::from(LITTLE.iter().any(|l| word.eq_ignore_ascii_case(l)));
    }
    f32::from(little) / f32::from(words.max(1))
}

/// [`SAMPLE_CHARS`] from the middle, whole characters.
fn middle(text: &str) -> &str {
    // Characters are at most four bytes; most texts are longer than that many.
    let mut start = (text.len() / 2).saturating_sub(SAMPLE_CHARS / 2);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let rest = &text[start..];
    let end = rest.char_indices().nth(SAMPLE_CHARS).map_or(rest.len(), |(i, _)| i);
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::{judge, middle};

    const ENGLISH: &str = "The harvestmen are an order of arachnids, and most of them are harmless to \
        people. They are known for their long legs relative to the size of the body.";
    const PORTUGUESE: &str = "Os opiliões são uma ordem de aracnídeos conhecidos pelas suas pernas \
        excecionalmente longas em relação ao tamanho do corpo; a maioria não faz mal a ninguém.";
    const DUTCH: &str = "Hooiwagens zijn een orde van spinachtigen; het dier is bekend om zijn lange poten of \
        de manier van lopen, en het is niet gevaarlijk voor mensen die in de tuin werken.";
    const RUSSIAN: &str = "Сенокосцы — отряд паукообразных, известных своими длинными ногами по \
        сравнению с размером тела.";
    const JAPANESE: &str =
        "ザトウムシは、クモガタ綱ザトウムシ目に属する節足動物の総称である。長い脚を持つ。";

    fn code(text: &str, declared: &[&str]) -> Option<(String, bool)> {
        judge(text, declared.iter().copied()).map(|language| (language.code, language.declared))
    }

    #[test]
    fn a_plausible_declaration_is_believed() {
        for (text, declared, expected) in [
            (ENGLISH, "en-US", "en"),
            (PORTUGUESE, "pt_BR", "pt"),
            (RUSSIAN, "rus", "ru"),
            (JAPANESE, "JA", "ja"),
            ("short", "de", "de"),
        ] {
            assert_eq!(code(text, &[declared]), Some((expected.to_owned(), true)), "{declared}");
        }
    }

    #[test]
    fn an_implausible_declaration_gives_way_to_a_sure_guess() {
        for (text, declared, expected) in [
            (PORTUGUESE, "en", "pt"),
            (RUSSIAN, "en", "ru"),
            (JAPANESE, "zh", "ja"),
            (ENGLISH, "el", "en"),
        ] {
            assert_eq!(code(text, &[declared]), Some((expected.to_owned(), false)), "{declared}");
        }
    }

    #[test]
    fn without_a_declaration_the_text_speaks() {
        assert_eq!(code(ENGLISH, &[]), Some(("en".to_owned(), false)));
        assert_eq!(code(DUTCH, &[]), Some(("nl".to_owned(), false)));
        assert_eq!(code(PORTUGUESE, &[]), Some(("pt".to_owned(), false)));
        assert_eq!(code(RUSSIAN, &["", "???", "x"]), Some(("ru".to_owned(), false)));
        assert_eq!(code("short", &[]), None);
        assert_eq!(code("", &[]), None);
    }

    #[test]
    fn the_sample_is_whole_characters_from_the_middle() {
        let text = "é".repeat(1000);
        assert_eq!(middle(&text).chars().count(), 300);
        assert_eq!(middle("abc"), "abc");
    }
}
