//! What a login promises: it sends what the page and the user say, stays on its site, and knows whether
//! it is in; whatever a page holds.

use std::time::{Duration, Instant};

use model::{
    CrawlUrl, Exchange, FailureKind, FetchFailure, Purpose, Timing,
    testing::{self, url},
};
use proptest::prelude::*;

use super::{Login, LoginForm, LoginStep, REDIRECTS_MAX, SuccessSign, forms::Forms};

const PAGE: &str = "https://site.test/login?x=1";
const FORM: &str = r#"<form action="/search"><input name=q></form>
    <form id=f name="auth" method=post action="/session"><input type=hidden name=csrf value="a&amp;b">
    <input name=user><input type=password name=pw></form>"#;

fn form(success: SuccessSign) -> LoginForm {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let fields = vec![pair("user", "me"), pair("pw", "s3cret")];
    LoginForm { page: url(PAGE), fields, form: None, action: None, success }
}

fn answer(from: &CrawlUrl, status: u16, headers: &[(&str, &str)], body: &str) -> Exchange {
    let answer = testing::exchange(status, headers, body.as_bytes());
    Exchange { url: from.clone(), purpose: Purpose::Login, ..answer }
}

/// An answer: status, headers, body.
type Told<'a> = (u16, &'a [(&'a str, &'a str)], &'a str);

/// Answers in turn; what was asked for, and the end.
fn run(form: LoginForm, answers: &[Told<'_>]) -> (Vec<String>, LoginStep) {
    let mut login = Login::new(form);
    let mut asked = Vec::new();
    for (status, headers, body) in answers {
        let LoginStep::Request { url, post } = login.next() else { break };
        asked.push(match &post {
            None => format!("GET {url}"),
            Some(post) => format!("POST {url} {}", String::from_utf8_lossy(post)),
        });
        login.answered(Ok(&answer(&url, *status, headers, body)));
    }
    (asked, login.next())
}

fn failed(form: LoginForm, answers: &[Told<'_>]) -> String {
    match run(form, answers).1 {
        LoginStep::Failed(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_form_is_read_sent_and_the_sign_found() {
    let moved: &[(&str, &str)] = &[("Location", "/home"), ("Set-Cookie", "sid=7; Path=/")];
    let answers: &[Told<'_>] = &[(200, &[], FORM), (302, moved, ""), (200, &[], "Welcome, me")];
    let signs = [
        SuccessSign::Cookie("sid".to_owned()),
        SuccessSign::Text("Welcome".to_owned()),
        SuccessSign::RedirectTo("/home".to_owned()),
        SuccessSign::RedirectTo("https://site.test/ho".to_owned()),
        SuccessSign::Status(200),
    ];
    for sign in signs {
        let (asked, end) = run(form(sign.clone()), answers);
        let expected = [
            "GET https://site.test/login?x=1",
            "POST https://site.test/session csrf=a%26b&user=me&pw=s3cret",
            "GET https://site.test/home",
        ];
        assert_eq!((asked, end), (expected.map(str::to_owned).to_vec(), LoginStep::In), "{sign:?}");
    }
}

#[test]
fn without_the_sign_it_did_not_succeed() {
    let gone: &[(&str, &str)] = &[("Set-Cookie", "sid=; Max-Age=0"), ("Set-Cookie", "sid2=1")];
    let answers: &[Told<'_>] = &[(200, &[], FORM), (200, gone, "Wrong password")];
    let signs = [
        (SuccessSign::Cookie("sid".to_owned()), "no cookie `sid`"),
        (SuccessSign::Text("Welcome".to_owned()), "does not hold the text"),
        (SuccessSign::Text(String::new()), "does not hold the text"),
        (SuccessSign::RedirectTo("/home".to_owned()), "no redirect to /home"),
        (SuccessSign::Status(302), "not 302"),
    ];
    for (sign, words) in signs {
        let why = failed(form(sign), answers);
        assert!(why.contains(words) && why.contains("200 from https://site.test/"), "{why}");
    }
    // A cookie of the page itself, before anybody logged in, is no sign.
    let early: &[(&str, &str)] = &[("Set-Cookie", "sid=1")];
    let why = failed(
        form(SuccessSign::Cookie("sid".to_owned())),
        &[(200, early, FORM), (200, &[], "Wrong password")],
    );
    assert!(why.contains("no cookie"), "{why}");
}

#[test]
fn forms_are_chosen_by_name_id_number_or_their_password() {
    let choose = |which: Option<&str>| {
        let wanted = LoginForm { form: which.map(str::to_owned), ..form(SuccessSign::Status(200)) };
        run(wanted, &[(200, &[], FORM), (200, &[], "")]).0.get(1).cloned().unwrap_or_default()
    };
    for which in [None, Some("f"), Some("auth"), Some("2")] {
        assert!(choose(which).starts_with("POST https://site.test/session csrf"), "{which:?}");
    }
    assert!(choose(Some("1")).starts_with("POST https://site.test/search user=me"));
    for which in ["nope", "0", "3", "-1", ""] {
        assert_eq!(choose(Some(which)), "", "{which}");
    }
    let said =
        LoginForm { action: Some(url("https://site.test/api")), ..form(SuccessSign::Status(200)) };
    let (asked, _) = run(said, &[(200, &[], "no form at all"), (200, &[], "")]);
    assert_eq!(asked[1], "POST https://site.test/api user=me&pw=s3cret");
}

#[test]
fn the_password_never_leaves_the_site_nor_https() {
    let elsewhere = ["//evil.test/take", "https://site.test.evil.test/", "https://sub.site.test/"];
    for action in elsewhere {
        let page = FORM.replace("/session", action);
        let (asked, end) = run(form(SuccessSign::Status(200)), &[(200, &[], &page)]);
        assert_eq!(asked.len(), 1);
        assert!(matches!(end, LoginStep::Failed(why) if why.contains("another site")), "{action}");
    }
    let page = format!("<base href='http://evil.test/'>{}", FORM.replace("/session", "take"));
    assert!(failed(form(SuccessSign::Status(200)), &[(200, &[], &page)]).contains("another site"));
    let page = FORM.replace("/session", "http://site.test/session");
    assert!(failed(form(SuccessSign::Status(200)), &[(200, &[], &page)]).contains("in the clear"));
    let away: &[(&str, &str)] = &[("Location", "https://evil.test/")];
    let why = failed(form(SuccessSign::Status(200)), &[(302, away, "")]);
    assert!(why.contains("another site"), "{why}");
    for status in [307, 308] {
        let on: &[(&str, &str)] = &[("Location", "/other")];
        let why = failed(form(SuccessSign::Status(200)), &[(200, &[], FORM), (status, on, "")]);
        assert!(why.contains("set that as the action"), "{why}");
    }
    let sso = SuccessSign::RedirectTo("https://app.test/".to_owned());
    let away: &[(&str, &str)] = &[("Location", "https://app.test/start")];
    let (asked, end) = run(form(sso), &[(200, &[], FORM), (302, away, ""), (200, &[], "")]);
    assert_eq!((asked.len(), end), (2, LoginStep::In), "known to be in, and not followed");
}

#[test]
fn redirects_and_failures_come_to_an_end() {
    let again: &[(&str, &str)] = &[("Location", "/login?x=1")];
    let rounds = vec![(302, again, ""); 50];
    let (asked, end) = run(form(SuccessSign::Status(200)), &rounds);
    assert_eq!(asked.len(), usize::from(REDIRECTS_MAX) + 1);
    assert!(matches!(end, LoginStep::Failed(why) if why.contains("too often")));
    let mut rounds = vec![(302, again, ""); 50];
    rounds.insert(0, (200, &[], FORM));
    let (asked, end) = run(form(SuccessSign::Status(200)), &rounds);
    assert_eq!(asked.len(), 1 + 1 + usize::from(REDIRECTS_MAX));
    assert!(matches!(end, LoginStep::Failed(why) if why.contains("too often")));
    let mut login = Login::new(form(SuccessSign::Status(200)));
    let (kind, detail) = (FailureKind::Timeout, "no answer within 2s".to_owned());
    let timing = Timing::default();
    login.answered(Err(&FetchFailure { timing, ..FetchFailure::new(kind, detail) }));
    assert!(matches!(login.next(), LoginStep::Failed(why) if why.ends_with("within 2s")));
    assert!(!format!("{login:?} {:?}", form(SuccessSign::Status(1))).contains("s3cret"));
}

#[test]
fn markup_is_read_as_browsers_read_it() {
    let hidden = |page: &str| {
        let forms = Forms::read(page.as_bytes());
        forms.list.into_iter().map(|form| form.hidden).collect::<Vec<_>>()
    };
    let one = |name: &str, value: &str| vec![vec![(name.to_owned(), value.to_owned())]];
    let same = [
        "<FORM><INPUT TYPE=HIDDEN NAME=a VALUE=b></FORM>",
        "<form><input type='hidden' name='a' value='b'/>",
        "<form><input value = b type\n=\thidden name =a>",
        "<form><input type=hidden name=a value=b value=c>",
        "<form><!-- <input type=hidden name=x> --><input type=hidden name=a value=b>",
        "<form><script>'<input type=hidden name=x>'</scripty</SCRIPT><input type=hidden name=a value=b>",
        "<form><textarea><form></textarea><input type=hidden name=a value=b>",
        "<form id=i></form><input form=i type=hidden name=a value=b>",
        "<form><form><input type=hidden name=a value=b></form><input type=hidden name=x>",
        "<form>a < b <3 <><input type=hidden name=a value=&#98;>",
        "<form><input type=hidden name=a value=b",
    ];
    for page in same {
        assert_eq!(hidden(page), one("a", "b"), "{page}");
    }
    assert_eq!(
        hidden("<form><input type=hidden name=a value='&quot;&#x41;&amp;amp;&nope;&#0;'>"),
        one("a", "\"A&amp;&nope;&#0;")
    );
}

#[test]
fn hostile_pages_cost_no_more_than_their_length() {
    let bad = [
        "<form>".repeat(75_000),
        "<form><input type=hidden name=a>".repeat(15_000),
        "<!--".repeat(120_000),
        "<script>".repeat(60_000),
        "<script></".repeat(50_000),
        format!("<form {}", "a='".repeat(150_000)),
        format!("<form {}", "a=b ".repeat(120_000)),
        "&#".repeat(250_000),
        format!("<form action=\"{}\">", "&".repeat(500_000)),
        "<".repeat(500_000),
        "</form".repeat(75_000),
    ];
    for page in bad {
        let start = Instant::now();
        let forms = Forms::read(page.as_bytes());
        assert!(forms.list.len() <= 64);
        assert!(forms.list.iter().map(|form| form.hidden.len()).sum::<usize>() <= 1_000);
        // Half a megabyte; time by the square would be minutes.
        assert!(start.elapsed() < Duration::from_secs(10), "{}", &page[..20]);
    }
}

proptest! {
    #[test]
    fn any_page_is_a_step_within_the_site(
        page in "(<form|<input|<base|type=hidden|type=password|name=|action=|href=|//evil.test|'|\"|>|<!--|\\PC{0,4}| ){0,30}"
    ) {
        let mut login = Login::new(form(SuccessSign::Status(200)));
        login.answered(Ok(&answer(&url(PAGE), 200, &[], &page)));
        if let LoginStep::Request { url, .. } = login.next() {
            prop_assert_eq!(url.site_text(), "site.test");
            prop_assert!(url.is_https());
        }
    }

    #[test]
    fn any_bytes_are_a_page(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Forms::read(&bytes);
    }
}
