//! What counts as a change, visit by visit.

use proptest::prelude::*;

use super::*;

const ARTICLE: &str = "Harbour\nThe harbour lies in the north of the town.\nIt was built for fishing \
    boats.\nToday it is used by ferries.\nThe lighthouse can be visited.\nHistory\nThe first pier was \
    of wood.\nLater piers were of stone.\nContact\nWrite to the harbour master.";

/// The page with these lines at its end.
fn page(ends: &[&str]) -> String {
    [&[ARTICLE], ends].concat().join("\n")
}

/// Which of these texts, seen one after the other, are changes; the first is the one sketched.
fn changes(texts: impl IntoIterator<Item = String>) -> Vec<bool> {
    let mut texts = texts.into_iter();
    let mut kept = sketch(&texts.next().expect("a first text"));
    let mut changed = Vec::new();
    for text in texts {
        let comparison = compare_with_sketch(&kept, &text);
        changed.push(comparison.changed);
        kept = comparison.sketch;
    }
    changed
}

/// Learned at the fourth comparison.
fn learned(visits: usize) -> Vec<bool> {
    (1..visits).map(|n| n < 4).collect()
}

#[test]
fn clocks_counters_tokens_and_advertisements_are_learned() {
    let ads = ["Buy shoes\nnow cheaper", "Fly south", "Our bank is your bank\nreally\nit is"];
    let kinds: [&dyn Fn(usize) -> String; 5] = [
        &|n| format!("It is {:02}:{:02} o'clock", n + 8, n * 7 % 60),
        &|n| format!("You are visitor {}", 998 + n),
        &|n| format!("token {:016x}a1", (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        &|n| ads[n % 3].to_owned(),
        &|n| format!("It is {} Monday\nToken a{}b{}c9{}", n, n * 31, n * 7, n * 1_001),
    ];
    for kind in kinds {
        let last = changes((0..10).map(|n| page(&[&kind(n)])));
        assert_eq!(last, learned(10), "{}", kind(1));
        let inside = changes((0..10).map(|n| format!("Title\n{}\n{ARTICLE}", kind(n))));
        assert_eq!(inside, learned(10), "{}", kind(1));
    }
}

#[test]
fn a_real_edit_is_a_change_at_once_and_the_restless_parts_stay_known() {
    let text = |n: usize| {
        let text = page(&[&format!("visitor {n}"), "Imprint"]);
        match n {
            0..6 => text,
            6..8 => text.replace("wood", "oak"),
            8 => text.replace("wood", "oak").replace("Imprint", "A new line\nImprint"),
            _ => text.replace("wood", "oak").replace("Imprint", "A new line, edited\nImprint"),
        }
    };
    let expected = [true, true, true, false, false, true, false, true, true, false, false];
    assert_eq!(changes((0..12).map(text)), expected);
}

#[test]
fn a_price_that_moves_now_and_then_is_always_a_change() {
    let prices = [10, 11, 12, 12, 13, 14, 15, 16, 16, 17];
    // Where the price stayed the text is the same: nobody asks, and what was learned is dropped.
    let mut kept = None;
    let mut last = String::new();
    for price in prices {
        let text = page(&[&format!("only {price} €")]);
        kept = match kept.take() {
            _ if text == last => None,
            None => Some(sketch(&text)),
            Some(before) => {
                let comparison = compare_with_sketch(&before, &text);
                assert!(comparison.changed, "{price} €");
                Some(comparison.sketch)
            }
        };
        last = text;
    }
}

#[test]
fn a_price_beside_a_restless_clock_is_seen_and_forgotten_when_it_stands_still() {
    // The clock differs at every visit, the price at some: two in a row, then none, then one.
    let prices = [5, 5, 5, 5, 6, 7, 7, 8, 8, 8, 9];
    let texts = prices
        .iter()
        .enumerate()
        .map(|(n, price)| page(&[&format!("clock 10:{:02}", n + 10), &format!("price {price} €")]));
    let expected = [true, true, true, true, true, false, true, false, false, true];
    assert_eq!(changes(texts), expected);
}

#[test]
fn of_many_lines_of_one_template_only_the_restless_one_is_borne() {
    let rows = |n: usize| {
        let row = |at: usize| match at {
            3 => format!("share {} €", 100 + n),
            5 if n > 6 => "share 56 €".to_owned(),
            _ => format!("share {} €", 50 + at),
        };
        (0..12).map(row).collect::<Vec<_>>().join("\n")
    };
    let expected = [true, true, true, false, false, false, true, false, false];
    assert_eq!(changes((0..10).map(rows)), expected);
}

#[test]
fn a_restless_line_bears_only_its_own_template_and_a_gap_no_more_than_it_had() {
    let text = |n: usize| match n {
        6 => page(&["The site is closed"]),
        _ => page(&[&format!("visitor {n}")]),
    };
    assert_eq!(changes((0..7).map(text)), [true, true, true, false, false, true]);
    let ad = |n: usize| match n {
        6 => page(&["new address", "eat well", "Imprint"]),
        n => page(&[["fly south", "buy shoes", "eat well"][n % 3], "Imprint"]),
    };
    let seen = changes((0..7).map(ad));
    assert_eq!((seen[4], seen[5]), (false, true), "a line beside the advertisement is news");
}

#[test]
fn a_page_that_is_all_new_is_always_a_change() {
    let news = |n: usize| (0..20).map(move |row| format!("story {} of {n}", row * 7 + n * 13));
    let lists = (0..12).map(|n| news(n).collect::<Vec<_>>().join("\n"));
    assert!(changes(lists).iter().all(|changed| *changed));
    let words = ["one", "two", "three", "four", "five", "six", "seven"];
    let headline = (0..28).map(|n| words.map(|w| format!("{w}{}", "x".repeat(n))).join("\n"));
    assert!(changes(headline).iter().all(|changed| *changed));
    let number = (0..12).map(|n| n.to_string());
    assert!(changes(number).iter().all(|changed| *changed), "a page of nothing but a number");
}

#[test]
fn what_lies_where_nobody_looks_is_a_change() {
    let long = |n: usize| {
        let mut lines: Vec<String> = (0..3_000).map(|at| format!("line {at}")).collect();
        lines[1_500] = format!("clock {n}");
        lines.join("\n")
    };
    assert!(changes((0..8).map(long)).iter().all(|changed| *changed));
    let footer = |n: usize| {
        let lines: Vec<String> = (0..3_000).map(|at| format!("line {at}")).collect();
        lines.join("\n") + &format!("\nclock {n}")
    };
    assert_eq!(changes((0..8).map(footer)), learned(8));
}

#[test]
fn a_sketch_is_bounded_and_comes_back_as_it_was() {
    let text: String = (0..40_000).map(|n| format!("line {n}\n")).collect();
    assert!(sketch(&text).len() <= 4_200);
    let other: String = (0..40_000).map(|n| format!("line {}\n", n * 3)).collect();
    let comparison = compare_with_sketch(&sketch(&text), &other);
    assert!(comparison.sketch.len() <= 4_200);
    let slots = vec![Slot { start: 1, len: 2, lines_max: 3, streak: 9 }];
    let whole = Sketch { lines: lines_of("a 1\nb 2\nc"), slots };
    assert_eq!(Sketch::unpack(&whole.pack()), Some(whole));
}

proptest! {
    #[test]
    fn any_bytes_are_a_sketch_or_none(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "[a-c1-3\n]{0,40}") {
        let comparison = compare_with_sketch(&bytes, &text);
        prop_assert!(Sketch::unpack(&comparison.sketch).is_some());
    }

    #[test]
    fn any_history_is_borne_and_a_new_line_is_never_overlooked(
        texts in prop::collection::vec(prop::collection::vec("[ab][0-9]{0,2}", 0..14), 1..9),
        at in 0usize..14,
    ) {
        let mut kept = sketch(&texts[0].join("\n"));
        for text in &texts {
            let comparison = compare_with_sketch(&kept, &text.join("\n"));
            let unpacked = Sketch::unpack(&comparison.sketch);
            prop_assert!(unpacked.is_some(), "what was packed can be unpacked");
            kept = comparison.sketch;
        }
        // Two lines that nobody has seen, away from every restless place but one at most.
        let mut edited = texts[texts.len() - 1].clone();
        let at = at.min(edited.len());
        for word in ["entirely", "new", "lines", "here"] {
            edited.insert(at, word.to_owned());
        }
        prop_assert!(compare_with_sketch(&kept, &edited.join("\n")).changed);
    }
}
