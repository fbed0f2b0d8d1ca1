//! A diff is the way from one text to the other.

use proptest::prelude::*;

use super::*;

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn diff(old: &str, new: &str) -> Diff {
    Diff::of(&lines(old), &lines(new), 3)
}

fn text_of(line: &Line) -> String {
    line.parts.iter().map(|part| part.text.as_str()).collect()
}

/// What the hunks make of the old text.
fn applied(old: &[&str], diff: &Diff) -> Vec<String> {
    let mut made = Vec::new();
    let mut at = 0;
    for hunk in &diff.hunks {
        made.extend(old[at..hunk.old_line - 1].iter().map(|line| (*line).to_owned()));
        assert_eq!(made.len(), hunk.new_line - 1);
        let kept = hunk.lines.iter().filter(|line| line.kind != LineKind::Removed);
        made.extend(kept.map(text_of));
        at = hunk.old_line - 1 + hunk.old_count;
    }
    made.extend(old[at..].iter().map(|line| (*line).to_owned()));
    made
}

#[test]
fn equal_texts_have_no_hunks() {
    assert_eq!(diff("a\nb", "a\nb"), Diff::default());
    assert_eq!(diff("", ""), Diff::default());
}

#[test]
fn far_changes_make_hunks_of_their_own_and_all_is_counted() {
    let old: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
    let mut new = old.clone();
    new[3] = "line three".to_owned();
    new.insert(30, "a new line".to_owned());
    new.remove(35);
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let diff = Diff::of(&old, &new, 3);
    assert_eq!(diff.hunks.len(), 2, "{diff:#?}");
    let counts = Counts { lines_removed: 2, lines_added: 2, words_removed: 3, words_added: 4 };
    assert_eq!(diff.counts, counts);
}

#[test]
fn huge_texts_with_little_in_common_are_told_as_replaced() {
    let text = |salt: usize| -> Vec<String> {
        (0..30_000).map(|n| format!("{} {} and {}", n * salt % 997, n * salt % 31, n % 7)).collect()
    };
    let (old, new) = (text(7), text(11));
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let diff = Diff::of(&old, &new, 3);
    assert!(diff.coarse, "and that is said");
    assert_eq!(applied(&old, &diff), new);
}

proptest! {
    #[test]
    fn the_hunks_lead_from_the_old_text_to_the_new(
        old in proptest::collection::vec("[a-c ]{0,4}", 0..40),
        new in proptest::collection::vec("[a-c ]{0,4}", 0..40),
        context in 0_usize..4,
    ) {
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let new_lines: Vec<&str> = new.iter().map(String::as_str).collect();
        let diff = Diff::of(&old, &new_lines, context);
        prop_assert_eq!(applied(&old, &diff), new);
    }
}
