//! URLs: what is taken is canonical, stays itself, and has parts that make up the whole.
#![cfg_attr(fuzzing, no_main)]

use fuzz::{here, timed};
use model::{CrawlUrl, NormalForm};

fuzz::target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    timed(|| {
        look(CrawlUrl::parse(&text).ok());
        let (base, reference) = text.split_once('\n').unwrap_or(("", &text));
        let base = CrawlUrl::parse(base).unwrap_or_else(|_| here());
        let (joined, again) = (base.join(reference), base.base().join(reference));
        assert_eq!(joined.is_ok(), again.is_ok());
        assert_eq!(joined.as_ref().ok(), again.as_ref().ok());
        look(joined.ok());
    });
});

fn look(url: Option<CrawlUrl>) {
    let Some(url) = url else { return };
    assert!(url.as_str().is_ascii());
    assert_eq!(CrawlUrl::parse(url.as_str()).as_ref(), Ok(&url), "parsing it again");
    assert_eq!(CrawlUrl::stored(url.as_str()).as_ref(), Ok(&url), "from the database");
    assert_eq!(
        format!("{}://{}{}", url.scheme(), url.authority(), url.path_and_query()),
        url.as_str()
    );
    assert!(matches!(url.scheme(), "http" | "https"));
    assert_eq!(url.home().site(), url.site());
    assert!(!url.authority().contains('@'), "credentials");
    let _ = (url.domain(), url.extension(), url.is_dynamic(), url.origin(), url.segments().count());
    let form = NormalForm {
        index_names: vec!["index.html".to_owned()],
        sort_query: true,
        strip_query: vec!["utm_*".to_owned()],
    };
    let formed = url.with_form(&form);
    assert_eq!(formed.with_form(&form), formed);
}
