//! A diff tells the way from one text to the other, and nothing in the texts escapes into what shows it.

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
fn a_changed_line_is_shown_with_its_neighbours() {
    let old = "1\n2\n3\n4\nthe price is 10\n6\n7\n8\n9";
    let new = "1\n2\n3\n4\nthe price is 12\n6\n7\n8\n9";
    let shown = diff(old, new).text(false);
    let wanted = "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-the price is 10\n+the price is 12\n 6\n 7\n 8\n";
    assert_eq!(shown, wanted);
    let coloured = diff(old, new).text(true);
    assert!(
        coloured.contains("\x1b[31m-the price is \x1b[1;7m10\x1b[0m\x1b[31m\x1b[0m"),
        "{coloured}"
    );
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
fn nothing_in_a_text_steers_a_terminal_or_a_browser() {
    let nasty = "<script>alert('x')</script> & \"q\" \u{1b}[2J \u{202e}evil";
    let diff = diff("before", nasty);
    let shown = diff.text(true);
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains('\u{202e}'), "{shown:?}");
    let page = page(nasty, &[nasty.to_owned()], &diff);
    assert!(!page.contains("<script") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;q&quot;"));
    assert!(!page.contains("src=") && !page.contains("href="), "nothing comes from elsewhere");
    assert!(page.contains("default-src 'none'") && page.contains("prefers-color-scheme"));
}

#[test]
fn long_unchanged_stretches_of_a_changed_line_are_shortened_on_a_terminal_alone() {
    let long = "word ".repeat(100);
    let (old, new) = (format!("{long}end"), format!("{long}finish"));
    let diff = diff(&old, &new);
    let shown = diff.text(false);
    assert!(shown.contains(" … ") && shown.len() < 400, "{shown}");
    assert_eq!(serde_json::to_value(&diff).unwrap()["hunks"][0]["lines"][0]["text"], old);
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
