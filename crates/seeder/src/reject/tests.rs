//! What the list catches, and above all what it lets pass.

use super::*;

fn rule(list: &RejectList, text: &str) -> Option<&'static str> {
    let url = CrawlUrl::parse(text).expect("a URL");
    list.shipped_rule(&url, None).map(|rule| rule.name)
}

#[test]
fn urls_that_are_no_content_are_caught() {
    let list = RejectList::default();
    for (path, name) in [
        ("login", "login"),
        ("Login/", "login"),
        ("user/login?destination=/x", "login"),
        ("wp-login.php?redirect_to=x", "login"),
        ("account/sign_in", "login"),
        ("login.jsp;jsessionid=1A2B", "login"),
        ("ucp.php?mode=login&sid=1", "login"),
        ("index.php?title=x&Action=Login", "login"),
        ("w/index.php/Special:UserLogin", "login"),
        ("logout", "logout"),
        ("?logout", "logout"),
        ("register", "register"),
        ("signup/step2", "register"),
        ("shop/cart/", "cart"),
        ("shop/?add-to-cart=12", "cart"),
        ("shop/?add_to_cart=12", "cart"),
        ("checkout/onepage/", "checkout"),
        ("product/red?add_to_wishlist=23", "wishlist"),
        ("event/x/?ical=1", "calendar-add"),
        ("blog/wp-login.php", "login"),
        ("wiki/Special:UserLogin", "login"),
        ("2020/01/post/?share=twitter&nb=1", "share"),
        ("2020/01/post/?replytocom=12", "reply"),
        ("w/index.php?title=X&action=edit&redlink=1", "edit"),
        ("2020/post/trackback/", "trackback"),
        ("comments/?upvote=3", "vote"),
    ] {
        assert_eq!(rule(&list, &format!("http://example.org/{path}")), Some(name), "{path}");
    }
}

#[test]
fn innocent_words_pass() {
    let list = RejectList::default();
    for path in [
        "",
        "cartography/",
        "blog/login-page-design",
        "blog/how-to-login",
        "cartoons/cart-o-grapher",
        "register/of/companies",
        "print/books/3",
        "printing",
        "shareholders",
        "sharepoint/",
        "signature",
        "calendar/2020/",
        "account",
        "images/login.png",
        "cart.pdf",
        "wiki/Cart_(disambiguation)",
        "search?q=login",
        "search?q=cart&action=view",
        "?fingerprint=1",
        "?blueprint=x&voter=1",
        "jobs/posting",
        "hotel/check-out",
        "parliament/?vote=12",
        "baskets",
        "basket/weaving",
        "checkouts-per-day",
        "//login-//",
        ".",
        "a.login",
        "tag/login",
        "wiki/Logout",
        "docs/git/checkout",
        "blog/category/print",
        "print",
        "print/",
        "article/7/print",
        "article.php?id=7&print=1",
    ] {
        assert_eq!(rule(&list, &format!("http://example.org/{path}")), None, "{path}");
    }
    assert_eq!(rule(&list, "http://login.example.org/"), None);
}

#[test]
fn a_view_for_the_printer_is_refused_on_the_page_itself_and_taken_elsewhere() {
    let list = RejectList::default();
    let url = |text: &str| CrawlUrl::parse(&format!("http://example.org/{text}")).expect("a URL");
    let on = |link: &str, page: &str| {
        list.shipped_rule(&url(link), Some(url(page).fingerprint())).map(|rule| rule.name)
    };
    for (link, page) in [
        ("article/7/print", "article/7"),
        ("article/7/print", "article/7/"),
        ("article/7/print/?x=1", "article/7/?x=1"),
        ("article.php?id=7&print=1", "article.php?id=7"),
        ("?tmpl=component&print=1&id=3", "?id=3"),
        ("a?print", "a"),
    ] {
        assert_eq!(on(link, page), Some("print"), "{link} on {page}");
        assert_eq!(on(link, "list"), None, "{link} on a list");
    }
    assert_eq!(on("logout", "list"), Some("logout"));
    assert_eq!(viewed(&url("article/7")), []);
}

#[test]
fn a_shipped_rule_can_be_switched_off_by_name() {
    let list = RejectList::default().without(&["login", "cart"]).expect("known names");
    assert_eq!(rule(&list, "http://example.org/login"), None);
    assert_eq!(rule(&list, "http://example.org/cart/logout"), Some("logout"));
    assert_eq!(rule(&RejectList::none(), "http://example.org/logout"), None);
    let error = RejectList::default().without(&["logn"]).expect_err("unknown").to_string();
    assert!(error.contains("logn") && error.contains("login, logout"), "{error}");
}

#[test]
fn names_are_given_once() {
    for (i, rule) in SHIPPED.iter().enumerate() {
        assert!(SHIPPED[..i].iter().all(|other| other.name != rule.name), "{}", rule.name);
    }
}

#[test]
fn the_users_patterns_are_looked_for_in_the_whole_url() {
    let list = RejectList::none().with_patterns(&[r"/calendar/\d{4}", "print=1"]).expect("valid");
    let pattern = |text: &str| {
        let url = CrawlUrl::parse(text).expect("a URL");
        list.pattern(&url).map(str::to_owned)
    };
    assert_eq!(pattern("http://e.org/calendar/2020/1").as_deref(), Some(r"/calendar/\d{4}"));
    assert_eq!(pattern("http://e.org/a?print=1").as_deref(), Some("print=1"));
    assert_eq!(pattern("http://e.org/calendar/"), None);
}

#[test]
fn a_bad_pattern_is_named_in_plain_words() {
    let error = RejectList::default().with_patterns(&["ok", "a(b"]).expect_err("bad").to_string();
    assert_eq!(error, "the reject pattern a(b is not a regular expression: unclosed group");
}

#[test]
fn a_hundred_patterns_on_ten_thousand_urls_take_time_linear_in_both() {
    let mut patterns = vec!["(a+)+$".to_owned(), "(.*)*x".to_owned(), "([a-z]+)*[0-9]$".to_owned()];
    patterns.extend((0..97).map(|n| format!("/(catalog|list){n}/.*[?&]page=\\d+")));
    let list = RejectList::none().with_patterns(&patterns).expect("they are small");
    let urls: Vec<CrawlUrl> = (0..10_000)
        .map(|n| CrawlUrl::parse(&format!("http://b.example/{}{n}/!", "a".repeat(100))).unwrap())
        .collect();
    let begun = std::time::Instant::now();
    let refused = urls.iter().filter(|url| list.pattern(url).is_some()).count();
    let took = begun.elapsed();
    println!("10,000 URLs by 100 patterns: {took:?}");
    assert_eq!(refused, 10_000, "the second pattern is in every example");
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}
