//! What rewrites do, and what they cannot do.

use proptest::prelude::*;

use super::*;

fn form(lowercase: &[&str], rewrites: &[&str]) -> UrlForm {
    let rewrites = rewrites.iter().map(|text| Rewrite::parse(text).expect("a rewrite")).collect();
    let hosts = lowercase.iter().map(|host| parse_host_pattern(host).expect("a host")).collect();
    UrlForm::new(NormalForm::default(), hosts, rewrites)
}

#[track_caller]
fn check(form: &UrlForm, from: &str, to: &str) {
    let url = CrawlUrl::parse(from).expect("a URL");
    assert_eq!(form.apply(&url).as_str(), to);
}

#[test]
fn nothing_is_taken_out_of_what_the_user_names() {
    let form = form(&[], &["^http://old => http://new"]).mending(SessionNames::shipped());
    check(&form, "http://old.org/x?PHPSESSID=0123456789abcdef", "http://new.org/x");
    let seed = CrawlUrl::parse("http://old.org/x?PHPSESSID=0123456789abcdef").expect("a URL");
    let taken = form.apply_to_seed(&seed);
    assert_eq!(taken.as_str(), "http://new.org/x?PHPSESSID=0123456789abcdef");
}

#[test]
fn rewrites_are_made_in_order_each_once_after_the_normal_form() {
    let mut both = form(
        &[],
        &[r";jsessionid=\w+ => ", r"^http://old\.org/(.*) => https://new.org/$1", "a => aa"],
    );
    both.normal.strip_query = vec!["sid".to_owned()];
    check(&both, "http://old.org/x;jsessionid=1F?sid=2", "https://new.org/x");
    check(&both, "http://b.org/a", "http://b.org/aa");
    let named = form(&[], &[r"/(?<year>\d{4})/ => /y${year}y/"]);
    check(&named, "http://b.org/2024/x/2025/", "http://b.org/y2024y/x/y2025y/");
}

#[test]
fn a_result_that_is_no_url_or_without_measure_changes_nothing() {
    check(&form(&[], &["^http => gopher"]), "http://a.org/x", "http://a.org/x");
    check(&form(&[], &["^.* => "]), "http://a.org/x", "http://a.org/x");
    let doubling = format!("(.*) => {}", "$1".repeat(500));
    let long = format!("http://a.org/{}", "x".repeat(2_000));
    check(&form(&[], &[&doubling]), &long, &long);
}

#[test]
fn paths_are_in_lower_case_where_servers_ignore_it() {
    let form = form(&["A.org", "*.b.org"], &[]);
    check(&form, "http://a.org/A/%C3%A9.HTML?Q=R", "http://a.org/a/%C3%A9.html?Q=R");
    check(&form, "http://x.b.org/A", "http://x.b.org/a");
    check(&form, "http://b.org/A", "http://b.org/A");
    assert!(!form.is_plain() && UrlForm::default().is_plain());
}

#[test]
fn a_bad_rewrite_is_refused_with_what_is_wrong() {
    for (text, what) in [
        ("a", "there is no =>"),
        (" => b", "nothing before"),
        ("( => b", "no valid regular expression (unclosed group)"),
        ("(a) => $2", "there is no group 2"),
        ("(a) => $1x", "there is no group 1x; write ${1}x"),
        ("((a{99}){99}){99} => b", "no valid regular expression"),
    ] {
        let error = Rewrite::parse(text).expect_err(text);
        assert!(error.contains(what), "{text}: {error}");
    }
    assert!(Rewrite::parse("(a) => $$2 ${1}x").is_ok());
    assert!(parse_host_pattern("a.org:81").is_err() && parse_host_pattern("a.org/x").is_err());
}

proptest! {
    #[test]
    fn any_rewrite_of_any_url_ends_in_a_url(
        text in "[a-z/.()*?$1{}]{0,12} ?=> ?[a-z:/.$1{}]{0,12}|\\PC{0,30}", path in "[a-zA-Z/.%0-9]{0,20}",
    ) {
        let Ok(rewrite) = Rewrite::parse(&text) else { return Ok(()) };
        let Ok(url) = CrawlUrl::parse(&format!("http://a.org/{path}")) else { return Ok(()) };
        let form = UrlForm::new(NormalForm::default(), vec!["a.org".to_owned()], vec![rewrite]);
        let result = form.apply(&url);
        prop_assert_eq!(CrawlUrl::parse(result.as_str()), Ok(result.clone()));
    }
}
