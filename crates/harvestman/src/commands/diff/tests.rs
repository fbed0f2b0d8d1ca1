//! Nothing in the texts escapes into what shows them.

use collection::diff::Diff;

use super::{html::page, text::text};

fn diff(old: &str, new: &str) -> Diff {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    Diff::of(&old, &new, 3)
}

#[test]
fn a_changed_line_is_shown_with_its_neighbours() {
    let old = "1\n2\n3\n4\nthe price is 10\n6\n7\n8\n9";
    let new = "1\n2\n3\n4\nthe price is 12\n6\n7\n8\n9";
    let shown = text(&diff(old, new), false);
    let wanted = "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-the price is 10\n+the price is 12\n 6\n 7\n 8\n";
    assert_eq!(shown, wanted);
    let coloured = text(&diff(old, new), true);
    assert!(
        coloured.contains("\x1b[31m-the price is \x1b[1;7m10\x1b[0m\x1b[31m\x1b[0m"),
        "{coloured}"
    );
}

#[test]
fn nothing_in_a_text_steers_a_terminal_or_a_browser() {
    let nasty = "<script>alert('x')</script> & \"q\" \u{1b}[2J \u{202e}evil";
    let diff = diff("before", nasty);
    let shown = text(&diff, true);
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
    let shown = text(&diff, false);
    assert!(shown.contains(" … ") && shown.len() < 400, "{shown}");
    assert_eq!(serde_json::to_value(&diff).unwrap()["hunks"][0]["lines"][0]["text"], old);
}
