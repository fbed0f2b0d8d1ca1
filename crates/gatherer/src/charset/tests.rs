//! The encoding cases of html5lib, and the order of the signs.

use encoding_rs::Encoding;
use proptest::prelude::*;

use super::{PRESCAN_BYTES, declared_in_page, decode};

#[test]
fn signs_of_an_encoding_are_believed_in_order() {
    let meta = b"<meta charset=koi8-r>\xe4".as_slice();
    let with_bom = [b"\xef\xbb\xbf".as_slice(), meta].concat();
    for (body, label, charset) in [
        (with_bom.as_slice(), Some("latin1"), "UTF-8"),
        (b"\xff\xfea\0".as_slice(), Some("utf-8"), "UTF-16LE"),
        (meta, Some("latin1"), "windows-1252"),
        (meta, Some("no such"), "KOI8-R"),
        (meta, None, "KOI8-R"),
        (b"<meta charset=utf-16le>".as_slice(), None, "UTF-8"),
        ("é".as_bytes(), None, "UTF-8"),
        (b"ascii".as_slice(), None, "UTF-8"),
        (b"cut \xc3".as_slice(), None, "UTF-8"),
        (b"<\0p\0>\0".as_slice(), None, "UTF-16LE"),
        (b"\0<\0p\0>".as_slice(), None, "UTF-16BE"),
        (b"caf\xe9 na\xefve".as_slice(), None, "windows-1252"),
    ] {
        assert_eq!(decode(body, label, true, Some("org")).charset, charset, "{body:?} {label:?}");
    }
}

#[test]
fn text_is_borrowed_when_it_is_utf8_already_and_said_malformed_when_it_is_not() {
    let decoded = decode("é".as_bytes(), None, true, None);
    assert!(matches!(decoded.text, std::borrow::Cow::Borrowed("é")));
    let decoded = decode(b"a\xffb", Some("utf-8"), true, None);
    assert_eq!((decoded.text.as_ref(), decoded.malformed), ("a\u{fffd}b", true));
    let decoded = decode(b"\x00\xd8a\0", Some("utf-16le"), true, None);
    assert_eq!((decoded.text.as_ref(), decoded.malformed), ("\u{fffd}a", true));
    let decoded = decode(b"anything", Some("hz-gb-2312"), true, None);
    assert_eq!((decoded.text.as_ref(), decoded.refused, decoded.malformed), ("", true, false));
}

#[test]
fn plain_text_has_no_meta() {
    assert_eq!(decode(b"<meta charset=koi8-r>", None, false, None).charset, "UTF-8");
}

#[test]
fn encodings_declared_in_pages_are_found_as_html5lib_expects() {
    let Some(folder) = model::testing::conformance("html5lib/encoding") else { return };
    let mut cases = 0;
    for file in ["tests1.dat", "tests2.dat", "test-yahoo-jp.dat"] {
        let data = std::fs::read(folder.join(file)).unwrap();
        for (body, expected) in encoding_cases(&data) {
            // Those that declare nothing within the first kilobyte expect the standard's default.
            let bom = Encoding::for_bom(body).map(|(encoding, _)| encoding);
            let found = bom.or_else(|| declared_in_page(body)).map_or("windows-1252", |e| e.name());
            let late = body.len() > PRESCAN_BYTES && found == "windows-1252";
            assert!(
                found.eq_ignore_ascii_case(&expected) || late,
                "{file}: {found} is not {expected}: {:?}",
                String::from_utf8_lossy(body)
            );
            cases += usize::from(!late);
        }
    }
    assert!(cases >= 75, "only {cases} cases");
}

fn encoding_cases(data: &[u8]) -> Vec<(&[u8], String)> {
    let mut cases = Vec::new();
    let mut rest = data;
    while let Some(start) = memchr::memmem::find(rest, b"#data\n") {
        rest = &rest[start + 6..];
        let Some(middle) = memchr::memmem::find(rest, b"\n#encoding\n") else { break };
        let body = &rest[..middle];
        rest = &rest[middle + 11..];
        let line = rest.split(|&b| b == b'\n').next().unwrap_or_default();
        cases.push((body, String::from_utf8_lossy(line).trim().to_owned()));
    }
    cases
}

proptest! {
    #[test]
    fn any_bytes_decode(
        body in prop::collection::vec(any::<u8>(), 0..300),
        label in prop::option::of("[a-z0-9-]{0,12}"),
        tld in prop::option::of(".{0,5}"),
    ) {
        decode(&body, label.as_deref(), true, tld.as_deref());
    }

    #[test]
    fn any_beginning_of_markup_is_prescanned(body in "(<|meta|charset|=|'|\"|!--|-->|/| |>|http-equiv|content|utf-8|;){0,30}") {
        declared_in_page(body.as_bytes());
    }
}
