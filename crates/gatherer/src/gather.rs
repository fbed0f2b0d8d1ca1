//! The one door: what went over the wire in, everything there is to know about it out.

use std::borrow::Cow;

use model::{CrawlUrl, Exchange, LinkKind, LinkRel, WordBits};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    Examples, GatherOptions, GatherProblem, Gathered, Refresh,
    charset::{self, Decoded},
    fields::{self, RawRefresh},
    gathered::EXAMPLES_MAX,
    html::replace_nul,
    language,
    media_type::{self, Declared},
    numbers::each_number,
    page::{DEPTH_MAX, LinkSink, Oddities, PageParts, RawLink, read_page},
    plain::read_plain,
    requisites::RequisiteSink,
    resolve::{Resolver, foreign_scheme},
    robots::Robots,
    simhash::{Heard, WordPrints, has_words},
    words::Words,
};

/// Cannot fail, whatever the bytes are; time and memory are linear in them.
///
/// The body of a redirect is not read: it only repeats `Location`. Everything else is, also the
/// pages of errors.
pub fn gather(exchange: &Exchange, options: &GatherOptions) -> Gathered {
    let declared = Declared::of(&exchange.headers);
    let mut gathered = Gathered {
        media_type: media_type::sniff(&declared, &exchange.body),
        content_hash: xxh3_64(&exchange.body),
        ..Gathered::default()
    };
    let mut links = LinkSink::new(options.links_max);
    let fields = FieldParts::read(exchange, &mut links, options);
    let mut requisites = RequisiteSink::new(options, exchange.status);
    fields::read_part_fields(&exchange.headers, &mut requisites);
    let decoded = match fields.redirect {
        Some(_) => None,
        None => readable_text(exchange, &declared, options, &mut gathered),
    };
    let parts = match &decoded {
        Some(decoded) if media_type::is_html(&gathered.media_type) => {
            read_page(&decoded.text, links, requisites, options)
        }
        Some(decoded) => {
            read_plain(&decoded.text, &mut links);
            let mut oddities = Oddities::new(&decoded.text);
            oddities.text(&decoded.text);
            let text = match options.takes_text() {
                // As if it were all PLAINTEXT (HTML standard 7.5.4).
                true => replace_nul(&decoded.text).into_owned(),
                false => String::new(),
            };
            PageParts { text, oddities, ..PageParts::without_body(links) }
        }
        None => PageParts::without_body(links),
    };
    judge_text(&fields, &parts, options, &mut gathered);
    let has_scripts = parts.oddities.has_scripts;
    tell_oddities(&parts.oddities, &mut gathered);
    take_parts(exchange, options, fields, parts, &mut gathered);
    if has_scripts && gathered.links.is_empty() && (200..300).contains(&exchange.status) {
        gathered.problems.push(GatherProblem::ScriptOnly);
    }
    gathered.declared_type = declared.essence;
    gathered
}

fn tell_oddities(oddities: &Oddities, gathered: &mut Gathered) {
    let depth = oddities.deepest;
    if depth > DEPTH_MAX {
        gathered.problems.push(GatherProblem::DeepNesting { depth });
    }
    gathered.problems.extend(oddities.long.map(GatherProblem::LongValue));
}

/// What header fields say, beside their links.
struct FieldParts<'a> {
    redirect: Option<&'a str>,
    canonical: Option<&'a str>,
    refresh: Option<RawRefresh>,
    robots: Robots,
    language: Option<&'a str>,
}

impl<'a> FieldParts<'a> {
    fn read(
        exchange: &'a Exchange,
        links: &mut LinkSink<'a>,
        options: &GatherOptions,
    ) -> FieldParts<'a> {
        let headers = &exchange.headers;
        let redirect = fields::location(exchange.status, headers);
        if let Some(target) = redirect {
            links.push(fields::redirect_link(target));
        }
        let mut robots = Robots::default();
        robots.read_headers(headers, &options.agent);
        FieldParts {
            redirect,
            canonical: fields::read_link_fields(headers, links),
            refresh: headers.get("refresh").and_then(fields::parse_refresh),
            robots,
            language: headers.get("content-language"),
        }
    }
}

/// The body as text, if it is text of a wanted kind; else the reason goes to the problems.
fn readable_text<'a>(
    exchange: &'a Exchange,
    declared: &Declared,
    options: &GatherOptions,
    gathered: &mut Gathered,
) -> Option<Decoded<'a>> {
    let found = gathered.media_type.as_str();
    if exchange.body.is_empty() {
        return None;
    }
    if !media_type::is_text(found) {
        let (declared, found) = (declared.essence.clone(), found.to_owned());
        gathered.problems.push(GatherProblem::NotText { declared, found });
        return None;
    }
    if !options.wants(found) {
        gathered.problems.push(GatherProblem::NotWanted { media_type: found.to_owned() });
        return None;
    }
    let tld = exchange.url.host().rsplit('.').next();
    let is_html = media_type::is_html(found);
    let decoded = charset::decode(&exchange.body, declared.charset.as_deref(), is_html, tld);
    gathered.charset = decoded.charset.to_owned();
    if decoded.refused {
        gathered.problems.push(GatherProblem::Undecodable);
    } else if let Some((declared, found)) = decoded.lie {
        let (declared, found) = (declared.to_owned(), found.to_owned());
        gathered.problems.push(GatherProblem::WrongCharset { declared, found });
    } else if decoded.malformed {
        gathered.problems.push(GatherProblem::Malformed { charset: decoded.charset.to_owned() });
    }
    Some(decoded)
}

/// Fingerprints and language: all that needs the text, while it is still warm.
fn judge_text(
    fields: &FieldParts<'_>,
    parts: &PageParts<'_>,
    options: &GatherOptions,
    gathered: &mut Gathered,
) {
    gathered.text_hash = match parts.selected.as_ref().unwrap_or(&parts.text) {
        // A picture, or a page that a script paints: it changes when its bytes do.
        text if text.is_empty() && parts.selected.is_none() => gathered.content_hash,
        text => xxh3_64(text.as_bytes()),
    };
    if !options.takes_text() {
        return;
    }
    let words = Words::of(&parts.text);
    if words.wordless {
        gathered.problems.push(GatherProblem::WordlessText);
    }
    let mut bits = WordBits::for_text(words.text.len());
    let mut numbers: Option<WordBits> = None;
    let prints = WordPrints::telling(&words.text, |heard| match (heard, &mut bits) {
        (Heard::Word(word), Some(bits)) => bits.add(word),
        (Heard::Digits(word), _) => each_number(word, |number| {
            numbers.get_or_insert_with(WordBits::for_numbers).add_number(number);
        }),
        _ => {}
    });
    (gathered.word_bits, gathered.number_bits) = (bits, numbers);
    gathered.simhash = prints.simhash;
    // What is no word may still be all that tells two pages apart.
    gathered.skeleton = match words.text {
        Cow::Borrowed(_) => prints.skeleton,
        Cow::Owned(_) => WordPrints::of(&parts.text).skeleton,
    };
    if options.language {
        let declared = parts.language.as_deref().into_iter().chain(fields.language);
        gathered.language = language::judge(&words.text, declared);
    }
}

/// Resolves what was found and puts it in its place.
fn take_parts(
    exchange: &Exchange,
    options: &GatherOptions,
    fields: FieldParts<'_>,
    parts: PageParts<'_>,
    gathered: &mut Gathered,
) {
    let mut resolver = Resolver::new(&exchange.url, parts.base.as_deref(), options.url_bytes_max);
    let mut robots = fields.robots;
    robots.merge(parts.robots);
    gathered.noindex = robots.noindex;
    gathered.nofollow = robots.nofollow;
    gathered.noarchive = robots.noarchive;
    gathered.unavailable_after = robots.unavailable_after;
    gathered.title = parts.title;
    gathered.description = parts.description;
    gathered.headings = parts.headings;
    gathered.text = parts.text;
    gathered.selected = parts.selected;
    gathered.base = Some(resolver.base().clone());

    let mut links = parts.links;
    let refresh = fields.refresh.or(parts.refresh.filter(|_| options.link_tags.meta));
    if let Some(refresh) = refresh {
        let is_all = refresh.seconds <= FORWARD_SECONDS
            && options.takes_text()
            && !has_words(&gathered.text, PAGE_WORDS);
        let rel = if is_all { LinkRel::FORWARD } else { LinkRel::default() };
        gathered.refresh =
            resolve_refresh((&refresh, rel), &exchange.url, &mut links, &mut resolver);
    }
    if links.over > 0 {
        gathered.problems.push(GatherProblem::LinksOverLimit { count: links.over });
    }
    if parts.requisites.over > 0 {
        let count = parts.requisites.over;
        gathered.problems.push(GatherProblem::RequisitesOverLimit { count });
    }
    gathered.requisites = resolver.requisites(&exchange.url, &parts.requisites.taken);
    gathered.links = resolver.links(links.taken);
    gathered.redirect = target_of(LinkKind::Redirect, gathered);
    if let Some(scheme) = fields.redirect.and_then(foreign_scheme) {
        gathered.problems.push(GatherProblem::ForeignRedirect { scheme });
    }
    let named = fields.canonical.and_then(|canonical| resolver.resolve(canonical));
    take_canonical(named, gathered);
    gathered.problems.extend(resolver.into_problems());
}

/// One that the page, or its header, names alone; several contradict each other.
fn take_canonical(of_header: Option<CrawlUrl>, gathered: &mut Gathered) {
    let of_page = gathered.links.iter().filter(|link| link.kind == LinkKind::Canonical);
    let mut named: Vec<&CrawlUrl> = of_header.iter().collect();
    for url in of_page.map(|link| &link.url) {
        if !named.contains(&url) && named.len() <= EXAMPLES_MAX {
            named.push(url);
        }
    }
    if named.len() > 1 {
        let mut examples = Examples::default();
        named.iter().for_each(|url| examples.add(url.as_str()));
        gathered.problems.push(GatherProblem::Canonicals(examples));
    } else {
        gathered.canonical = named.first().map(|url| (*url).clone());
    }
}

fn target_of(kind: LinkKind, gathered: &Gathered) -> Option<CrawlUrl> {
    gathered.links.iter().find(|link| link.kind == kind).map(|link| link.url.clone())
}

/// Who sends on so soon does not want to be read: slides and scores stay longer.
const FORWARD_SECONDS: u64 = 2;
/// A page with fewer words than this says little but that one should wait.
const PAGE_WORDS: usize = 20;

/// A refresh of the page itself leads nowhere else and is no link.
fn resolve_refresh(
    (refresh, rel): (&RawRefresh, LinkRel),
    page: &CrawlUrl,
    links: &mut LinkSink<'_>,
    resolver: &mut Resolver,
) -> Option<Refresh> {
    let seconds = refresh.seconds;
    if refresh.reference.is_empty() {
        return Some(Refresh { seconds, url: page.clone() });
    }
    let url = resolver.resolve(&refresh.reference)?;
    links.push(RawLink {
        reference: refresh.reference.clone().into(),
        kind: LinkKind::Refresh,
        rel,
        anchor: String::new(),
    });
    Some(Refresh { seconds, url })
}
