//! Which script a sample is written in, and which scripts a language is written in.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Script {
    Latin,
    Cyrillic,
    Greek,
    Arabic,
    Hebrew,
    Devanagari,
    Thai,
    Kana,
    Han,
    Hangul,
    Other,
}

/// Letters of each script, by its number.
pub(super) type Letters = [u32; 11];

pub(super) fn scripts_in(sample: &str) -> Letters {
    let mut letters = Letters::default();
    for c in sample.chars() {
        if let Some(script) = script_of(c) {
            letters[script as usize] += 1;
        }
    }
    letters
}

fn script_of(c: char) -> Option<Script> {
    Some(match c {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Script::Latin,
        '\0'..='\u{bf}' => return None,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{400}'..='\u{52f}' => Script::Cyrillic,
        '\u{590}'..='\u{5ff}' => Script::Hebrew,
        '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{fb50}'..='\u{fdff}' => Script::Arabic,
        '\u{900}'..='\u{97f}' => Script::Devanagari,
        '\u{e00}'..='\u{e7f}' => Script::Thai,
        '\u{3040}'..='\u{30ff}' => Script::Kana,
        '\u{3400}'..='\u{9fff}' => Script::Han,
        '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => Script::Hangul,
        c if c.is_alphabetic() => Script::Other,
        _ => return None,
    })
}

/// Whether at least half of the letters are of scripts this language uses. Japanese shows itself by
/// its kana, so Chinese must have few.
pub(super) fn fits(code: &str, letters: &Letters) -> bool {
    let all: u32 = letters.iter().sum();
    let count = |script: Script| letters[script as usize];
    let ours: u32 = scripts_of(code).iter().map(|&script| count(script)).sum();
    let is_japanese = count(Script::Kana) * 10 > all;
    ours * 2 >= all && !(code == "zh" && is_japanese) && !(code == "ja" && !is_japanese && all > 0)
}

/// Languages that are not named here are written in Latin letters, or in a script that only they
/// and their neighbours use.
fn scripts_of(code: &str) -> &'static [Script] {
    use Script::{
        Arabic, Cyrillic, Devanagari, Greek, Han, Hangul, Hebrew, Kana, Latin, Other, Thai,
    };
    match code {
        "ru" | "uk" | "bg" | "mk" | "be" | "ky" | "tg" | "tt" | "ba" | "cv" => &[Cyrillic],
        "sr" | "kk" | "mn" | "uz" | "az" | "bs" | "tk" => &[Cyrillic, Latin, Other],
        "el" => &[Greek],
        "ar" | "fa" | "ur" | "ps" | "sd" | "ug" | "ckb" => &[Arabic],
        "ku" => &[Arabic, Latin],
        "he" | "yi" => &[Hebrew],
        "hi" | "mr" | "ne" | "sa" | "mai" => &[Devanagari],
        "th" => &[Thai],
        "ja" => &[Kana, Han],
        "zh" => &[Han],
        "ko" => &[Hangul, Han],
        "bn" | "as" | "pa" | "gu" | "or" | "ta" | "te" | "kn" | "ml" | "si" | "lo" | "my"
        | "km" | "ka" | "hy" | "am" | "ti" | "bo" | "dz" => &[Other],
        _ => &[Latin],
    }
}
