//! A part of a page (a requisite), read only for the parts it needs itself: of a style what it names, of
//! everything else nothing. No links, no text: it is no page, whatever it holds.

use std::borrow::Cow;

use model::{CrawlUrl, Exchange};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    GatherOptions, GatherProblem, Gathered, charset, fields,
    media_type::{self, Declared},
    requisites::RequisiteSink,
    resolve::Resolver,
};

/// Like [`crate::gather`], it cannot fail, and is linear in the bytes.
pub fn gather_part(exchange: &Exchange, options: &GatherOptions) -> Gathered {
    let declared = Declared::of(&exchange.headers);
    let content_hash = xxh3_64(&exchange.body);
    let mut resolver = Resolver::new(&exchange.url, None, options.url_bytes_max);
    let target = fields::location(exchange.status, &exchange.headers);
    let mut gathered = Gathered {
        media_type: media_type::sniff(&declared, &exchange.body),
        redirect: target.and_then(|target| resolver.resolve(target)),
        content_hash,
        // There is no text: it changes when its bytes do.
        text_hash: content_hash,
        ..Gathered::default()
    };
    let mut requisites = RequisiteSink::new(options, exchange.status);
    if requisites.is_wanted() && is_style(&exchange.url, &declared, &gathered.media_type) {
        let decoded = charset::decode(&exchange.body, declared.charset.as_deref(), false, None);
        gathered.charset = decoded.charset.to_owned();
        requisites.style(Cow::Borrowed(&decoded.text));
        gathered.requisites = resolver.requisites(&exchange.url, &requisites.taken);
        if requisites.over > 0 {
            let count = requisites.over;
            gathered.problems.push(GatherProblem::RequisitesOverLimit { count });
        }
    }
    gathered.problems.extend(resolver.into_problems());
    gathered.declared_type = declared.essence;
    gathered
}

/// Where the server says nothing, the name does.
fn is_style(url: &CrawlUrl, declared: &Declared, media_type: &str) -> bool {
    media_type == "text/css"
        || (declared.essence.is_empty() && url.path().to_ascii_lowercase().ends_with(".css"))
}
