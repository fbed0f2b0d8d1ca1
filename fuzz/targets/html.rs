//! Pages: any bytes under any label are gathered, as a page and as a part of one, within bounds.
#![cfg_attr(fuzzing, no_main)]

use bytes::Bytes;
use fuzz::{choice, exchange, here, lengthened, timed};
use gatherer::{GatherOptions, compare_with_sketch, gather, gather_part, sketch};
use model::Headers;

const TYPES: [&str; 8] = [
    "text/html",
    "text/html; charset=utf-8",
    "text/html; charset=utf-16le",
    "text/html; charset=shift_jis",
    "text/plain",
    "application/xhtml+xml",
    "text/css",
    "",
];

fuzz::target!(|data: &[u8]| {
    let (which, data) = choice(data, TYPES.len() as u8);
    let body = Bytes::from(lengthened(data));
    let options = GatherOptions {
        media_types: vec!["*/*".to_owned()],
        requisites: true,
        ..GatherOptions::default()
    };
    let mut headers = Headers::new();
    headers.push("Content-Type", TYPES[usize::from(which)]);
    let answer = exchange(&here(), 200, headers, body);
    timed(|| {
        let gathered = gather(&answer, &options);
        assert!(gathered.links.len() <= options.links_max);
        assert!(gathered.requisites.len() <= options.requisites_max);
        for link in &gathered.links {
            assert!(link.url.as_str().len() <= options.url_bytes_max * 3 + 16);
        }
        let drawn = sketch(&gathered.text);
        let _ = compare_with_sketch(&drawn, &format!("{} more", gathered.text));
        let _ = compare_with_sketch(&answer.body, &gathered.text);
        gather_part(&answer, &options);
    });
});
