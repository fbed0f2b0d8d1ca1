//! What selections take of whole pages, and what they refuse to be.

use std::sync::Arc;

use proptest::prelude::*;

use super::{PARTS_MAX, Selection};
use crate::{GatherOptions, page::read_html};

fn selected(page: &str, watch: &[&str], ignore: &[&str]) -> String {
    let selection = Selection::new(watch, ignore).expect("known selectors");
    let options =
        GatherOptions { selection: Some(Arc::new(selection)), ..GatherOptions::default() };
    read_html(page, &options).selected.expect("there is a selection")
}

fn watched(page: &str, selector: &str) -> String {
    selected(page, &[selector], &[])
}

#[test]
fn every_kind_of_selector_finds_what_it_names() {
    let page = "<title>T</title><div id=main class='wide  tall'><p>one <b data-x=y>two</b></p>\
                <ul><li>three<li class=Tall>four</ul></div><p lang>five</p>";
    for (selector, expected) in [
        ("p", "one two\nfive"),
        ("P", "one two\nfive"),
        ("*", "T\none\ntwo\nthree\nfour\nfive"),
        ("#main", "one two\nthree\nfour"),
        ("#Main", ""),
        (".tall", "one two\nthree\nfour"),
        (".wide.tall li", "three\nfour"),
        ("div.wide#main > p", "one two"),
        ("div > b", ""),
        ("div b", "two"),
        ("[lang]", "five"),
        ("[data-x=y]", "two"),
        ("[ DATA-X = 'y' ]", "two"),
        ("[data-x=Y]", ""),
        ("div[class=\"wide  tall\"] ul>li", "three\nfour"),
        ("title, p[lang] , b", "T\ntwo\nfive"),
    ] {
        assert_eq!(watched(page, selector), expected, "{selector}");
    }
}

#[test]
fn what_is_ignored_is_left_out_also_of_what_is_watched() {
    let page = "<p>price <i class=old>9</i> 8</p><p class=ad>buy</p><p>end</p>";
    assert_eq!(selected(page, &[], &[".ad", "i"]), "price 8\nend");
    assert_eq!(selected(page, &["p"], &[".ad", ".old"]), "price 8\nend");
    assert_eq!(selected(page, &["i"], &["p"]), "");
    assert_eq!(selected(page, &[], &["nav"]), "price 9 8\nbuy\nend");
}

#[test]
fn elements_end_where_they_end_in_browsers() {
    for (page, selector, expected) in [
        // End tags that may be left out.
        ("<ul><li class=x>a<li>b</ul>c", ".x", "a"),
        ("<p class=x>a<div>b</div>", ".x", "a"),
        ("<p class=x>a<span>b<p>c", ".x", "ab"),
        ("<dl><dt class=x>a<dd>b<dt class=x>c</dl>", ".x", "a\nc"),
        ("<table><tr><td class=x>a<td>b<tr><td>c</table>d", ".x", "a"),
        ("<table><tr class=x><td>a<td>b<tr><td>c</table>d", ".x", "a b"),
        ("<select><option class=x>a<option>b</select>", ".x", "a"),
        ("<h2 class=x>a<h3>b</h3>", ".x", "a"),
        ("<head class=x><title>t</title><p>a", ".x", "t"),
        // Void elements hold nothing.
        ("<br class=x>a<img class=x>b<input class=x>c<wbr class=x>d", ".x", ""),
        ("<svg><circle class=x /></svg>a", ".x", ""),
        ("<div class=x />a</div>b", ".x", "a"),
        // End tags that nothing opened, or that cannot reach so far.
        ("<div class=x>a</section></span>b</div>c", ".x", "a\nb"),
        ("<div class=x><table><tr><td>a</div>b</table>c</div>d", ".x", "a\nb\nc"),
        ("<span class=x><div>a</span>b</div>c</span>d", ".x", "ab\nc"),
        ("<li class=x><ul><li>a</ul>b<li>c", ".x", "a\nb"),
        // A link that is closed inside out ends; what it stood around goes on.
        ("<div class=y><a class=x><div class=z>a</a>b</div>c</div>d", ".x", "a"),
        ("<div class=y><a class=x><div class=z>a</a>b</div>c</div>d", ".z", "ab"),
        ("<a class=x>a<a>b</a>c", ".x", "a"),
        // Behind the body is inside it.
        ("<body class=x>a</body>b</html>c", ".x", "a\nb\nc"),
        // Never closed: to the end, as in a browser.
        ("<div class=x>a<p>b", ".x", "a\nb"),
    ] {
        assert_eq!(watched(page, selector), expected, "{page} with {selector}");
    }
}

#[test]
fn scripts_templates_and_other_unseen_text_stay_unseen() {
    let page = "<div><script>1</script><style>2</style><template>3</template>4</div>";
    assert_eq!(watched(page, "div"), "4");
    assert_eq!(watched(page, "script, template"), "");
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    for (text, says) in [
        ("a:hover", "':' at character 2"),
        ("a + b", "'+' at character 3"),
        ("a ~ b", "'~' at character 3"),
        ("[a^=b]", "'^' at character 3"),
        ("a > > b", "'>' at character 5"),
        ("a,,b", "',' at character 3"),
        ("> a", "'>' at character 1"),
        ("é .x )", "')' at character 6"),
        ("", "ends where"),
        ("a,", "ends where"),
        ("#", "ends where a name"),
        ("[a", "never closed"),
        ("[a='b]", "never closed"),
        (r"\61", "stands for itself"),
    ] {
        let error = Selection::new(&[text], &[]).expect_err(text);
        assert!(error.contains(says), "{text}: {error}");
    }
    let many = vec!["a"; PARTS_MAX];
    assert!(Selection::new(&many, &many).is_ok());
    let error = Selection::new(&[many.as_slice(), &["b"]].concat(), &[]).expect_err("too many");
    assert!(error.contains("more than 32"), "{error}");
    assert_eq!(watched("<p class='md:w-1'>a", r".md\:w-1"), "a");
}

#[test]
fn depth_without_end_costs_no_more_than_its_bytes() {
    let deep = "<div class=x>".repeat(100_000) + "a" + &"</a></div>".repeat(100_000);
    assert_eq!(watched(&deep, ".x div > div"), "a");
    let odd = "<a><div>".repeat(50_000) + &"</a>".repeat(100_000);
    assert_eq!(watched(&odd, "a"), "");
}

proptest! {
    #[test]
    fn any_selector_is_read_or_refused(text in "([a-z.#>, \\[\\]=\"'*:+~\\\\é]|div|\\.x){0,30}") {
        if let Ok(selection) = Selection::new(&[&text], &[]) {
            prop_assert!(!selection.is_empty());
        }
    }

    #[test]
    fn any_page_is_read_and_parts_of_the_text_are_selected(
        page in "(<[a-z/]{0,2}(div|p|a|li|table|td|span|svg|br|title)?( class=x)?/?>|[a-z ]|[<>&;]){0,80}"
    ) {
        let all = read_html(&page, &GatherOptions::default()).text;
        let words = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        // Ignoring nothing that is there leaves everything.
        prop_assert_eq!(words(&selected(&page, &[], &["nosuchtag"])), words(&all));
        // What is watched and what is ignored make up the whole.
        let inside = words(&selected(&page, &[".x"], &[]));
        let outside = words(&selected(&page, &[], &[".x"]));
        prop_assert_eq!(inside.len() + outside.len(), words(&all).len());
    }
}
