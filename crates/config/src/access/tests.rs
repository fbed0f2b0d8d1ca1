//! What credentials and logins promise: one origin, one site, and no secret in any message.

use std::path::Path;

use super::{
    super::{Config, tests::read},
    *,
};

const HUSH: &str = "hush";

#[track_caller]
fn refused(text: &str, sentence: &str, what_to_do: &str) {
    let failure = read(text).expect_err(text);
    assert_eq!(failure.sentence, format!("harvest/harvest.toml line {sentence}"));
    assert!(failure.what_to_do.contains(what_to_do), "{}", failure.what_to_do);
    assert!(!failure.to_string().contains(HUSH), "{failure}");
}

fn load(folder: &Path, text: &str) -> Config {
    std::fs::write(folder.join("harvest.toml"), text).unwrap();
    Config::load(folder, Vec::new()).unwrap()
}

#[test]
fn a_credential_is_bound_to_an_origin_and_perhaps_to_a_spider() {
    let config = read(
        "[[credential]]\norigin = 'HTTPS://Intranet.example.org:443/'\nbasic = 'me:a:b'\n\
         [[credential]]\norigin = 'http://localhost:8000'\nspider = 'docs'\nbearer = 'abc.def'\n\
         [[credential]]\norigin = 'http://localhost:8000'\nheader = 'X-Api-Key: a: b'\n",
    )
    .unwrap();
    let [one, other, third] = config.credentials.as_slice() else { panic!() };
    let (name, value) = ("X-Api-Key".to_owned(), "a: b".to_owned());
    assert!(third.authorization().unwrap() == Authorization::Header { name, value });
    assert_eq!(one.origin.as_str(), "https://intranet.example.org");
    assert_eq!(one.spider, None);
    let basic = Authorization::Basic { user: "me".to_owned(), password: "a:b".to_owned() };
    assert!(one.authorization().unwrap() == basic);
    assert_eq!(other.origin.as_str(), "http://localhost:8000");
    assert_eq!(other.spider.as_deref(), Some("docs"));
    assert!(other.authorization().unwrap() == Authorization::Bearer("abc.def".to_owned()));
}

#[test]
fn secrets_can_stand_in_files_and_variables_and_are_read_when_used() {
    let folder = tempfile::tempdir().unwrap();
    let config = load(
        folder.path(),
        "[[credential]]\norigin = 'https://a.org'\nbearer_file = 'token'\n\
         [[credential]]\norigin = 'https://b.org'\nbasic = 'file:token'\n\
         [[credential]]\norigin = 'https://c.org'\nbearer = 'env:HARVESTMAN_TEST_UNSET'\n\
         [[login]]\npage = 'https://a.org/'\nsuccess = 'status 302'\n\
         fields = { user = 'me', password = 'file:token' }\n",
    );
    let failure = config.credentials[0].authorization().unwrap_err();
    assert!(failure.sentence.contains("line 1: its secret") && failure.sentence.contains("token"));
    std::fs::write(folder.path().join("token"), "hush\r\n").unwrap();
    let bearer = config.credentials[0].authorization().unwrap();
    assert!(bearer == Authorization::Bearer(HUSH.to_owned()));
    let failure = config.credentials[1].authorization().unwrap_err();
    assert!(failure.sentence.ends_with("line 4: the secret is not of the form user:password"));
    let failure = config.credentials[2].authorization().unwrap_err();
    assert!(failure.sentence.contains("HARVESTMAN_TEST_UNSET"), "{failure}");
    let values = config.logins[0].values().unwrap();
    let pairs: Vec<(&str, &str)> = values.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(pairs, [("user", "me"), ("password", HUSH)]);
    assert!(!format!("{bearer:?} {:?}", config.logins).contains(HUSH));
}

#[test]
fn a_login_says_where_what_and_how_success_looks() {
    let config = read(
        "[[login]]\npage = 'https://a.org/in'\nspider = 'news'\nform = 'signin'\naction = '/do'\n\
         success = 'redirect /home'\nfields.user = 'me'\nfields.'pass.word' = 'x'\n\
         [[login]]\npage = 'http://b.org/'\nsuccess = 'text Log out'\nfields = { u = 'x' }\n\
         [[login]]\npage = 'http://c.org/'\nsuccess = 'cookie sid'\nfields = { u = 'x' }\n",
    )
    .unwrap();
    let login = &config.logins[0];
    assert_eq!(login.page.as_str(), "https://a.org/in");
    assert_eq!(login.action.as_ref().map(CrawlUrl::as_str), Some("https://a.org/do"));
    assert_eq!(login.success, Success::Redirect("https://a.org/home".to_owned()));
    assert_eq!(login.form.as_deref(), Some("signin"));
    assert_eq!(login.spider.as_deref(), Some("news"));
    let names: Vec<&str> = login.fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["user", "pass.word"]);
    assert_eq!(config.logins[1].success, Success::Text("Log out".to_owned()));
    assert_eq!(config.logins[2].success, Success::Cookie("sid".to_owned()));
}

#[test]
fn mistakes_are_told_with_their_line_and_without_the_secret() {
    let begin = "[[credential]]\norigin = 'https://a.org'\n";
    refused(
        &format!("{begin}basic = 'hush'\n"),
        "1: the secret is not of the form user:password",
        "",
    );
    refused(&format!("{begin}bearer = 'hush hush'\n"), "1: the token is empty or no token", "");
    refused(
        &format!("{begin}basic = 'a:hush'\nbearer = 'hush'\n"),
        "1: a [[credential]] needs exactly one of basic, basic_file, bearer, bearer_file, header",
        "once",
    );
    for header in ["hush", ": hush", "Host: hush", "Cookie: id=hush", "a b: hush"] {
        refused(
            &format!("{begin}header = '{header}'\n"),
            "3: header has no name, or one that the crawler itself must set",
            "X-Api-Key",
        );
    }
    refused(
        &format!("{begin}header = 'X-Key: '\n"),
        "1: the header's value is empty or no value of a header",
        "env:NAME",
    );
    refused(
        &format!("{begin}basic = ['hush']\n"),
        "3: basic is no text, or an empty one",
        "quotes",
    );
    refused(
        &format!("{begin}baisc = 'a:hush'\nbearer = 'x'\n"),
        "3: unknown key \"baisc\" in [[credential]]",
        "did you mean \"basic\"?",
    );
    refused("[[credential]]\nbearer = 'hush'\n", "1: a [[credential]] has no origin", "only");
    for origin in ["https://me:hush@a.org", "https://a.org/path", "a.org"] {
        refused(
            &format!("[[credential]]\norigin = '{origin}'\nbearer = 'hush'\n"),
            "2: origin is no scheme and host alone",
            "such as https://example.org",
        );
    }
    let begin = "[[login]]\npage = 'https://a.org/in'\nfields = { p = 'hush' }\n";
    refused(begin, "1: a [[login]] has no success", "cookie NAME");
    refused(
        &format!("{begin}success = 'maybe'\n"),
        "4: success = \"maybe\": it is no sign of success",
        "cookie NAME",
    );
    refused(
        &format!("{begin}success = 'status 99'\n"),
        "4: success = \"status 99\": it is no sign of success",
        "status 302",
    );
    refused(
        &format!("{begin}success = 'cookie x'\naction = 'https://b.org/'\n"),
        "5: action = \"https://b.org/\": it is no URL on the site of page",
        "leave it out",
    );
    refused(
        "[[login]]\npage = '/in'\nfields = { p = 'hush' }\nsuccess = 'cookie x'\n",
        "2: page = \"/in\": not a valid URL: relative URL without a base",
        "whole URL",
    );
    refused(
        "[[login]]\npage = 'https://a.org/in'\nsuccess = 'cookie x'\n",
        "1: a [[login]] has no fields, or more than 100",
        "env:NAME",
    );
}
