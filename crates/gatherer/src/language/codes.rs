//! Codes of languages: three letters (ISO 639-3) to two (ISO 639-1) where there are two.

/// The language of a tag such as `pt-BR` or `por`, in its shortest form, if it looks like one.
pub(super) fn primary_code(tag: &str) -> Option<String> {
    let first = tag.split([',', ';']).next()?.trim();
    let primary = first.split(['-', '_']).next()?.to_ascii_lowercase();
    let is_code = matches!(primary.len(), 2 | 3) && primary.bytes().all(|b| b.is_ascii_lowercase());
    let is_language = is_code && !matches!(primary.as_str(), "und" | "mul" | "zxx" | "mis");
    is_language.then(|| short_code(&primary).to_owned())
}

/// Codes without a short form stay as they are. Mandarin and Norwegian bokmål become the `zh` and
/// `no` that pages write.
pub(super) fn short_code(code: &str) -> &str {
    match SHORT.binary_search_by_key(&code, |&(long, _)| long) {
        Ok(i) => SHORT[i].1,
        Err(_) => code,
    }
}

/// Sorted by the first.
#[rustfmt::skip]
const SHORT: [(&str, &str); 86] = [
    ("afr", "af"), ("aka", "ak"), ("amh", "am"), ("ara", "ar"), ("aze", "az"), ("bel", "be"),
    ("ben", "bn"), ("bul", "bg"), ("cat", "ca"), ("ces", "cs"), ("chi", "zh"), ("cmn", "zh"),
    ("cym", "cy"), ("cze", "cs"), ("dan", "da"), ("deu", "de"), ("dut", "nl"), ("ell", "el"),
    ("eng", "en"), ("epo", "eo"), ("est", "et"), ("eus", "eu"), ("fas", "fa"), ("fin", "fi"),
    ("fra", "fr"), ("fre", "fr"), ("ger", "de"), ("gle", "ga"), ("glg", "gl"), ("gre", "el"),
    ("guj", "gu"), ("heb", "he"), ("hin", "hi"), ("hrv", "hr"), ("hun", "hu"), ("hye", "hy"),
    ("ind", "id"), ("isl", "is"), ("ita", "it"), ("iw", "he"), ("jav", "jv"), ("jpn", "ja"),
    ("kan", "kn"), ("kat", "ka"), ("khm", "km"), ("kor", "ko"), ("lat", "la"), ("lav", "lv"),
    ("lit", "lt"), ("mal", "ml"), ("mar", "mr"), ("mkd", "mk"), ("mya", "my"), ("nb", "no"),
    ("nep", "ne"), ("nld", "nl"), ("nob", "no"), ("nor", "no"), ("ori", "or"), ("pan", "pa"),
    ("per", "fa"), ("pes", "fa"), ("pol", "pl"), ("por", "pt"), ("ron", "ro"), ("rum", "ro"),
    ("rus", "ru"), ("sin", "si"), ("slk", "sk"), ("slv", "sl"), ("sna", "sn"), ("spa", "es"),
    ("srp", "sr"), ("swe", "sv"), ("tam", "ta"), ("tel", "te"), ("tgl", "tl"), ("tha", "th"),
    ("tuk", "tk"), ("tur", "tr"), ("ukr", "uk"), ("urd", "ur"), ("uzb", "uz"), ("vie", "vi"),
    ("yid", "yi"), ("zul", "zu"),
];

#[cfg(test)]
mod tests {
    use super::{SHORT, primary_code, short_code};

    #[test]
    fn the_table_is_sorted_for_searching() {
        assert!(SHORT.is_sorted_by_key(|&(long, _)| long));
    }

    #[test]
    fn every_language_of_the_guesser_has_a_code() {
        for lang in whatlang::Lang::all() {
            assert_eq!(short_code(lang.code()).len(), 2, "{} has no short form", lang.code());
        }
    }

    #[test]
    fn tags_are_cut_to_their_language() {
        for (tag, code) in [
            ("pt-BR", Some("pt")),
            ("EN_us", Some("en")),
            ("deu", Some("de")),
            (" fr , de", Some("fr")),
            ("nah", Some("nah")),
            ("und", None),
            ("", None),
            ("english", None),
            ("x", None),
            ("é1", None),
        ] {
            assert_eq!(primary_code(tag).as_deref(), code, "{tag}");
        }
    }
}
