//! What is read off a URL alone: its pattern, growth, sessions by known names, orders of listings.

use super::*;

#[test]
fn patterns_are_what_people_would_write() {
    for (rest, expected) in [
        ("/cal?y=2026&m=11", "/cal?m=*&y=*"),
        ("/post/17", "/post/*"),
        ("/post/a-title", "/post/*"),
        ("/post/title-17.html", "/post/title-*.html"),
        ("/2026/11/a-title", "/*/*/*"),
        ("/", "/"),
        ("/about", "/*"),
        ("/a/b/", "/a/*/"),
        ("/item/550e8400-e29b-41d4-a716-446655440000", "/item/*"),
        ("/f/d41d8cd98f00b204e9800998ecf8427e.pdf", "/f/*.pdf"),
        ("/a%20b12/c", "/a%20b*/*"),
        ("/shop?b=1&a=2&b=3", "/shop?a=*&b=*"),
        ("/search?", "/search?"),
        ("/v2/x.php?id=1", "/v*/x.php?id=*"),
        ("/missing/a3f2c1", "/missing/*"),
        ("/missing/abcdef", "/missing/*"),
        ("/art7_qwmzkrtpbvxhagde.html", "/art*_*.html"),
        ("/qwmzkrtpbvxhagde/art/7", "/*/art/*"),
        ("/imprint/privacy-and-accessibility/contact", "/imprint/privacy-and-accessibility/*"),
        ("/internationalization/x", "/internationalization/*"),
    ] {
        assert_eq!(Pattern::of(&url(rest)).text, expected, "{rest}");
    }
}

#[test]
fn growth_is_seen_in_the_url_itself() {
    for (rest, expected) in [
        ("/a/a/a/x", None),
        ("/a/a/a/a/x", Some(Hazard::RepeatedSegments)),
        ("/x/a/b/a/b/a/b/", None),
        ("/x/a/b/a/b/a/b/a/b/", Some(Hazard::RepeatedSegments)),
        ("/tiles/0/0/0/0/0.png", None),
        ("/login?next=/shop?x=1", None),
        (
            "/login?next=%2Flogin%3Fnext%3D%252Flogin%253Fnext%253D%25252Flogin",
            Some(Hazard::GrowingUrl),
        ),
        ("/ad?from=http://b/?from=http://c/?from=http://d/", Some(Hazard::GrowingUrl)),
        ("/p?a=1&amp%3Bb=2", None),
        ("/p?a=1&amp%3Bamp%3Bamp%3Bamp%3Bb=2", Some(Hazard::GrowingUrl)),
        ("/p?a=1&amp%253Bb=2&amp%253Bc", Some(Hazard::GrowingUrl)),
        ("/p?u=50%25+off%2520now", None),
        ("/p?u=%252525", Some(Hazard::GrowingUrl)),
        ("/filter?filter[a]=1&filter[b]=2&filter[c]=3", None),
        ("/search?search_api_fulltext=x&search_api_language=en&sort_by=search_api_relevance", None),
        ("/item?item_id=5&item_type=book&item_lang=en", None),
        ("/pay?return=http://b/ok&cancel=http://b/no&ref=http://c/", None),
        ("/pay?return=http%3A%2F%2Fb&cancel=http%3A%2F%2Fb&ref=https%3A%2F%2Fc", None),
        ("/item?a=/items/1&a=/items/2&a=/item-3", None),
        ("/in?next=/shop/in&back=/in&ref=%2Fin", None),
        ("/login?next=/login?next=/login?next=/login", Some(Hazard::GrowingUrl)),
        ("/login?a=1&next=/login?a=1&next=/login?a=1&next=/login", Some(Hazard::GrowingUrl)),
        ("/login?next=%2Flogin%3Fnext%3D%252Flogin%253Fnext%3D/login", Some(Hazard::GrowingUrl)),
    ] {
        assert_eq!(growing(&url(rest), 3), expected, "{rest}");
    }
    assert_eq!(growing(&url("/a/a/a/a/a/a"), 0), None, "0 is no limit");
}

#[test]
fn sessions_by_known_names_are_taken_out_and_numbers_of_things_are_not() {
    let names = SessionNames::shipped();
    for (rest, expected) in [
        ("/a?PHPSESSID=0123456789abcdef0123", Some("/a")),
        ("/a?x=1&sid=0123456789abcdef&y=2", Some("/a?x=1&y=2")),
        ("/a;jsessionid=8A7F0123456789B?x=1", Some("/a?x=1")),
        ("/(S(lit3py55t21z5v55vlm25s55))/page.aspx", Some("/page.aspx")),
        ("/(X(1)S(lit3py55t21z5v55vlm25s55))/", Some("/")),
        ("/?ASPSESSIONIDQQ=ABCDEFGHIJKL1", Some("/")),
        ("/a?sid=1234", None),
        ("/article.php?sid=20040115123456", None),
        ("/article.php?sid=200401151234567890", None),
        ("/program?session_id=icml-2024-042", None),
        ("/vote?sessionid=parl-2024-II-17", None),
        ("/vote?SessionID=9f86d081884c7d659a2feaa0", Some("/vote")),
        ("/(S(lit3py55t21z5v55vlm25s55));sid=0123456789abcdef/x", Some("/x")),
        ("/article.pl?sid=06/03/22/1234", None),
        ("/a?side=0123456789abcdef", None),
        ("/(S(short))/", None),
        ("/a", None),
    ] {
        let stripped = names.strip(&url(rest)).map(|(url, _)| url);
        assert_eq!(stripped, expected.map(url), "{rest}");
    }
}

#[test]
fn only_orders_of_listings_are_trimmed() {
    for (rest, expected) in [
        ("/d/?C=N;O=D", Some("/d/")),
        ("/d/?C=M&O=A", Some("/d/")),
        ("/d/?N=D", Some("/d/")),
        ("/d?N=D", None),
        ("/d/?N=D&x=1", None),
        ("/d/?C=X;O=D", None),
        ("/d/?N=Dog", None),
        ("/d/", None),
    ] {
        assert_eq!(without_order(&url(rest)), expected.map(url), "{rest}");
    }
}
