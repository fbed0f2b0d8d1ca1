//! The table of all keys. Names are for ever: a key is added here, never renamed.
//!
//! `docs/configuration.md` says the same at more length; a test compares the two.

use std::time::Duration;

use super::{
    check,
    keys::{Key, Kind, Reach},
};

const COUNT: Kind = Kind::Count { min: 0, max: u64::MAX };
const AT_LEAST_ONE: Kind = Kind::Count { min: 1, max: u64::MAX };

const fn list(check: check::Check) -> Kind {
    Kind::List { check, commas: true }
}

const DAY: u64 = 24 * 3600;
const YEAR: u64 = 365 * DAY;

/// From so many seconds to so many.
const fn span(min: u64, max: u64) -> Kind {
    Kind::Span { min: Duration::from_secs(min), max: Duration::from_secs(max) }
}

pub const SCOPES: &[&str] = &["site", "domain", "prefix", "listed", "any"];
pub const EXPANSIONS: &[&str] = &["after", "mixed", "off"];
pub const SITEMAPS: &[&str] = &["on", "off", "guess"];
pub const EXTERNALS: &[&str] = &["ignore", "home", "deep", "combined"];
pub const POLICIES: &[&str] = &["value", "frequency", "profit", "fixed", "once"];
pub const OBJECTIVES: &[&str] = &["freshness", "age", "harmonic"];
pub const FREQUENCY_ON: &[&str] = &["pages", "seeds"];

pub const REPLICAS: &[&str] = &["off", "report", "fold"];

pub const COMPRESSIONS: &[&str] = &["gzip", "zstd"];

pub const CHANGES: &[&str] = &["text", "bytes", "size"];

pub static KEYS: &[Key] = &[
    // What is crawled, and how much of it.
    Key::none("crawl.pages", AT_LEAST_ONE)
        .doc("Most pages to fetch in all; the crawl ends exactly there.")
        .example("10000")
        .flag("pages")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.site_pages", COUNT)
        .doc("Most pages to fetch from one site.")
        .example("500")
        .flag("site-pages")
        .common()
        .reach(Reach::Site)
        .live(),
    Key::none("crawl.domain_pages", COUNT)
        .doc("Most pages to fetch from one registrable domain, over all its hosts.")
        .example("5000")
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.bytes", Kind::Size { min: 1 })
        .doc("Most bytes of answers in all, as they come over the wire; the last answers are cut to what is left.")
        .example("\"50GB\"")
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.site_bytes", Kind::Size { min: 1 })
        .doc("Most bytes of answers from one site.")
        .example("\"500MB\"")
        .reach(Reach::Site)
        .live(),
    Key::none("crawl.sites", AT_LEAST_ONE)
        .doc("Most sites to know; links to further sites are refused.")
        .example("100000"),
    Key::none("crawl.depth", Kind::Count { min: 0, max: 65_535 })
        .doc("Most links to follow from a site's entry page; 0 fetches the entry page alone.")
        .example("5")
        .flag("depth")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::none("crawl.depth_dynamic", Kind::Count { min: 0, max: 65_535 })
        .doc("The depth for pages that are made on demand (they have a query, or the name of a script); without it, crawl.depth is for all.")
        .example("3")
        .reach(Reach::Page)
        .live(),
    Key::none("crawl.for", Kind::Limit)
        .doc("End after this time: what is in flight is finished and settled.")
        .example("\"2h\"")
        .flag("for")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.site_time", Kind::Time)
        .doc("Longest time to stay with a site before others have their turn.")
        .example("\"10m\"")
        .reach(Reach::Site)
        .live(),
    Key::none("crawl.site_day_time", Kind::Time)
        .doc("Most time that visits to one site may take in a day (UTC).")
        .example("\"1h\"")
        .reach(Reach::Site)
        .live(),
    Key::new("crawl.scope", Kind::OneOf(SCOPES), "\"site\"")
        .doc("What may be crawled: the seeds' sites, their registrable domains, URLs that begin like a seed, the seeds alone, or anything.")
        .example("\"domain\"")
        .flag("scope")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.outside", Kind::Count { min: 0, max: 255 }, "0")
        .doc("Links to follow beyond the scope.")
        .example("1")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.expansion", Kind::OneOf(EXPANSIONS), "\"mixed\"")
        .doc("What becomes of sites that no seed names: visited after the seeds' sites, among them, or not at all.")
        .example("\"after\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.rules", Kind::List { check: check::rule, commas: false }, "[]")
        .doc("Rules that accept or reject URLs, in order: the first whose condition holds decides, and where none does the scope.")
        .example(r#"["reject extension jpg png or path ~ '^/cgi-bin/'", "accept suffix .pt and not path ~ '/private/'"]"#)
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.log_extensions", list(check::logged), "[]")
        .doc("Links that are counted and not crawled: groups of extensions, or single ones with their dot.")
        .example("[\"images\", \"audio\", \"video\", \".iso\"]")
        .reach(Reach::Spider)
        .live(),
    Key::new(
        "crawl.dynamic_extensions",
        list(check::extension),
        "[\"php\", \"php3\", \"php4\", \"php5\", \"php7\", \"phtml\", \"asp\", \"aspx\", \"ashx\", \"asmx\", \"jsp\", \"jspx\", \"do\", \"action\", \"cgi\", \"pl\", \"fcgi\", \"cfm\", \"cfml\", \"dll\"]",
    )
    .doc("Extensions of programs: pages that have one, or a query, count as made on demand.")
    .example("[\"php\", \"asp\", \"xhtml\"]")
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.filter", Kind::Text(check::any))
        .doc("A script with a function crawl(url) that says true or false for every URL; its path starts at the folder of harvest.toml.")
        .example("\"filter.rhai\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.external", Kind::OneOf(EXTERNALS), "\"deep\"")
        .doc("What becomes of links to other sites inside the scope: ignored, taken as that site's home page, taken as they are, or both.")
        .example("\"home\"")
        .flag("external")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.discovered_urls", COUNT, "5000")
        .doc("Most URLs to admit on a site that no seed names.")
        .example("25000")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.ports", list(check::port), "[]")
        .doc("Unusual ports that links may lead to, besides those that seeds name.")
        .example("[\"8080\"]")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.follow_nofollow", Kind::Flag, "false")
        .doc("Follow links that are marked rel=nofollow too.")
        .example("true")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.redirects", Kind::Count { min: 0, max: 100 }, "10")
        .doc("Most redirects to follow in a row.")
        .example("5")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.requisites", Kind::Flag, "false")
        .doc("Fetch and archive the images, styles, scripts and fonts of pages, also from other hosts.")
        .example("true")
        .flag("requisites")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.sitemaps", Kind::OneOf(SITEMAPS), "\"on\"")
        .doc("Read the sitemaps that robots.txt names; guess also asks for /sitemap.xml where it names none.")
        .example("\"guess\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.feeds", Kind::Flag, "true")
        .doc("Read the RSS and Atom feeds that a site's entry page names.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.robots_rdf", Kind::Flag, "false")
        .doc("Ask every site for /robots.rdf, WIRE's way for servers to tell what has changed.")
        .example("true")
        .reach(Reach::Spider)
        .live(),
    // How servers are treated.
    Key::new("etiquette.delay", Kind::Time, "\"2s\"")
        .doc("Courtesy pause between two requests to one site, start to start; 0 (for your own site) switches the pauses off.")
        .example("\"5s\"")
        .flag("delay")
        .common()
        .reach(Reach::Site)
        .live(),
    Key::none("etiquette.big_site_delay", Kind::Time)
        .doc("Another courtesy pause for big sites, which can bear more (WIRE: 5 s instead of 15 s).")
        .example("\"1s\""),
    Key::new("etiquette.big_site_pages", AT_LEAST_ONE, "100")
        .doc("From this many known pages on a site is big.")
        .example("1000"),
    Key::new("etiquette.response_factor", Kind::Factor { max: 1000.0 }, "1")
        .doc("The pause is at least this many times the last response time, so that a slow server is asked less.")
        .example("5"),
    Key::new("etiquette.address_share", Kind::Factor { max: 1.0 }, "0.125")
        .doc("Pause of an address that many sites share, as a part of the courtesy pause.")
        .example("0.5"),
    Key::new("etiquette.connections", Kind::Count { min: 1, max: 64 }, "1")
        .doc("Connections to one site at the same time.")
        .example("2")
        .flag("connections")
        .common()
        .reach(Reach::Site)
        .live(),
    Key::new("etiquette.max_fetches", Kind::Count { min: 1, max: 10_000 }, "200")
        .doc("Fetches at the same time over all sites.")
        .example("64")
        .reach(Reach::Spider)
        .live(),
    Key::new("etiquette.crawl_delay_max", Kind::Time, "\"5m\"")
        .doc("A crawl-delay in robots.txt is obeyed up to this time; a cap that bites is said.")
        .example("\"1m\""),
    Key::new("etiquette.backoff_first", Kind::Time, "\"5s\"")
        .doc("First extra pause after 429, 503, other 5xx and timeouts; it doubles while the trouble lasts.")
        .example("\"10s\""),
    Key::new("etiquette.backoff_max", Kind::Time, "\"1h\"")
        .doc("Longest extra pause after such trouble.")
        .example("\"15m\""),
    Key::none("etiquette.contact", Kind::Text(check::contact))
        .doc("Where a webmaster can reach you: a mail address or a URL, sent with every request.")
        .example("\"crawl@example.org\"")
        .flag("contact")
        .common(),
    Key::none("etiquette.user_agent", Kind::Text(check::user_agent))
        .doc("The whole User-Agent line; without it, harvestman, its version and the contact.")
        .example("\"mycrawler/1.0 (+https://example.org/bot)\"")
        .flag("user-agent"),
    Key::new("etiquette.headers", list(check::header), "[]")
        .doc("More request headers, for every server; no secrets: those are bound to an origin by [[credential]].")
        .example("[\"Accept-Language: pt, en;q=0.5\"]")
        .reach(Reach::Spider)
        .live(),
    // One fetch.
    Key::new("fetch.timeout", Kind::Time, "\"1m\"")
        .doc("Longest time for one fetch, from the first connect to the last byte.")
        .example("\"20s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.connect_timeout", Kind::Time, "\"10s\"")
        .doc("Longest time to wait for a connection.")
        .example("\"30s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.tls_timeout", Kind::Time, "\"10s\"")
        .doc("Longest time to agree on encryption.")
        .example("\"20s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.first_byte_timeout", Kind::Time, "\"20s\"")
        .doc("Longest time from the request to the first byte of the answer.")
        .example("\"15s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.idle_timeout", Kind::Time, "\"20s\"")
        .doc("Longest silence while a body comes.")
        .example("\"10s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.body_bytes_max", Kind::Size { min: 1 }, "\"16MB\"")
        .doc("Largest body, after decompression; what is longer is cut and marked as cut.")
        .example("\"400KB\"")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.requisite_bytes_max", Kind::Size { min: 1 }, "\"10MB\"")
        .doc("The same for the parts of pages that crawl.requisites asks for.")
        .example("\"50MB\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("fetch.ratio_max", Kind::Count { min: 10, max: 100_000 }, "200")
        .doc("A compressed body that grows by more than this factor is taken for a bomb and cut.")
        .example("1000")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.media_types", list(check::media_type), "[\"text/html\", \"text/plain\"]")
        .flag("all-types")
        .doc("Media types to fetch; others stop after the head.")
        .example("[\"text/*\", \"application/pdf\"]")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.accept_encoding", list(check::coding), "[\"gzip\", \"deflate\", \"br\", \"zstd\"]")
        .doc("Compressions to offer to servers.")
        .example("[\"gzip\"]")
        .reach(Reach::Spider)
        .live(),
    Key::none("fetch.proxy", Kind::Text(check::proxy))
        .doc("Proxy for all requests: http, socks5, or socks5h (which leaves names to the proxy).")
        .example("\"http://proxy.example:3128\"")
        .flag("proxy")
        .secret()
        .reach(Reach::Spider)
        .live(),
    Key::new("fetch.resolve", list(check::resolve), "[]")
        .doc("Addresses to use for hosts instead of DNS, as PATTERN=ADDRESS.")
        .example("[\"*.example=127.0.0.1\"]")
        .flag("resolve"),
    Key::new("fetch.allow_address", list(check::cidr), "[]")
        .doc("Private and other special address ranges that may be visited all the same.")
        .example("[\"127.0.0.0/8\", \"10.1.0.0/16\"]")
        .flag("allow-address"),
    Key::new("fetch.allow_ports", list(check::port), "[]")
        .doc("Ports that browsers refuse, such as 25 and 6667, and that may be visited all the same.")
        .example("[\"6667\"]"),
    Key::new("fetch.name_servers", list(check::name_server), "[]")
        .doc("DNS servers to ask instead of the system's, as addresses with or without a port.")
        .example("[\"1.1.1.1\", \"[::1]:5353\"]"),
    Key::new("fetch.extra_roots", list(check::any), "[]")
        .doc("PEM files of certificate authorities to trust besides the public ones.")
        .example("[\"our-ca.pem\"]"),
    Key::new("fetch.insecure_tls", Kind::Flag, "false")
        .doc("Take every certificate, also false and expired ones.")
        .example("true"),
    Key::new("fetch.cookies", Kind::Switch, "\"on\"")
        .doc("Keep a site's cookies while it is being crawled: off, on, or a file of cookies to begin with.")
        .example("\"cookies.txt\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("fetch.http2", Kind::Flag, "false")
        .doc("Offer HTTP/2 to servers over TLS.")
        .example("true")
        .reach(Reach::Spider)
        .live(),
    Key::none("fetch.client_certificate", Kind::Text(check::any))
        .doc("PEM file of the certificate by which servers know this crawler.")
        .example("\"crawler.pem\"")
        .reach(Reach::Spider)
        .live(),
    Key::none("fetch.client_key", Kind::Text(check::any))
        .doc("PEM file of the client certificate's key; without it, the key stands in the certificate's file.")
        .example("\"crawler.key\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("fetch.client_certificate_origins", list(check::https_origin), "[]")
        .doc("Servers that the client certificate is shown to, as scheme and host; nobody else sees it.")
        .example("[\"https://example.org\", \"https://api.example.org:8443\"]")
        .reach(Reach::Spider)
        .live(),
    // What counts as the same URL.
    Key::new("url.bytes_max", Kind::Count { min: 64, max: 65_536 }, "2083")
        .doc("Longest URL to take.")
        .example("200")
        .reach(Reach::Spider)
        .live(),
    Key::new("url.index_names", list(check::file_name), "[]")
        .doc("File names that mean their folder and are removed.")
        .example("[\"index.html\", \"index.php\"]"),
    Key::new("url.sort_query", Kind::Flag, "false")
        .doc("Sort query parameters, so that their order makes no second page.")
        .example("true"),
    Key::new("url.strip_query", list(check::parameter), "[]")
        .doc("Query parameters to remove; * at the end stands for any rest.")
        .example("[\"utm_*\", \"PHPSESSID\"]"),
    Key::new("url.lowercase_paths", list(check::host), "[]")
        .doc("Hosts whose servers ignore case: their paths are written in lower case.")
        .example("[\"www.example.org\", \"*.example.net\"]"),
    Key::new("url.rewrite", Kind::List { check: check::rewrite, commas: false }, "[]")
        .doc("Changes to URLs, as REGEX => REPLACEMENT, made in order before a URL is judged.")
        .example(r"[';jsessionid=[0-9A-F]+ => ', '^http://old\.example\.org/ => https://new.example.org/']"),
    // What is taken from a page.
    Key::new(
        "gather.link_tags",
        list(check::tag),
        "[\"a/href\", \"area/href\", \"frame/src\", \"iframe/src\", \"link/href\", \"meta/content\"]",
    )
    .doc("Where links are taken from, as tag/attribute.")
    .example("[\"a/href\", \"area/href\", \"img/src\"]")
        .reach(Reach::Spider)
        .live(),
    Key::new("gather.log_tags", list(check::tag), "[]")
        .doc("Where links are found that are counted and not crawled, as tag/attribute.")
        .example("[\"img/src\", \"embed/src\"]")
        .reach(Reach::Spider)
        .live(),
    Key::new("gather.text", Kind::Flag, "true")
        .doc("Take a page's visible text; without it only links, titles and headings.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("gather.language", Kind::Flag, "true")
        .doc("Judge the language of a page's text.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::none("gather.threads", Kind::Count { min: 1, max: 256 })
        .doc("Threads that parse pages; without it, as many as there are cores.")
        .example("2"),
    // What is never crawled.
    Key::new("reject.use_default", Kind::Flag, "true")
        .doc("Use the shipped list of URLs that are no content: login, logout, register, cart and the like.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("reject.disable", list(check::shipped_rule), "[]")
        .doc("Rules of the shipped list to switch off, by name.")
        .example("[\"login\"]")
        .reach(Reach::Spider)
        .live(),
    Key::new("reject.patterns", Kind::List { check: check::regex, commas: false }, "[]")
        .doc("Regular expressions; a URL that matches one is not crawled.")
        .example(r"['/calendar/\d{4}', 'print=1']")
        .common()
        .reach(Reach::Spider)
        .live(),
    // Where it lasts.
    Key::new("store.volume_bytes_max", Kind::Size { min: 1_000_000 }, "\"1GB\"")
        .doc("A volume is sealed at this size and the next one begun.")
        .example("\"100MB\""),
    Key::new("store.compression", Kind::OneOf(COMPRESSIONS), "\"gzip\"")
        .doc("How new volumes are packed: gzip, which every tool reads, or zstd, which takes a third less room.")
        .example("\"zstd\""),
    Key::none("store.content_bytes_max", Kind::Size { min: 0 })
        .doc("Most bytes of a body to archive; what is beyond is parsed, then cut and marked as cut. 0 keeps no bodies, only what was asked and the heads of the answers.")
        .example("\"300KB\""),
    Key::none("store.keep", Kind::Text(check::keep))
        .doc("Which old versions to keep: all of some time, then so many of each stretch; `harvestman thin` removes the others.")
        .example("\"all 30d, then 1 per 7d\""),
    Key::none("store.versions_bytes_max", Kind::Size { min: 1 })
        .doc("Most bytes of archived versions: beyond that `harvestman thin` removes the oldest, but never the last of a page.")
        .example("\"200GB\""),
    Key::new("store.directory", Kind::Flag, "false")
        .doc("Keep the HTML of each page as a file too: directory/DATE_TIME/host/path, a folder for each crawl, under run one a day.")
        .example("true"),
    // Coming back.
    Key::new("revisit.policy", Kind::OneOf(POLICIES), "\"value\"")
        .doc("When a fetched page is due again: by what a visit is worth, by how often it was seen to change, in batches, after a fixed period, or never.")
        .example("\"fixed\"")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.period", Kind::Period, "\"7d\"")
        .doc("The period of the policy \"fixed\"; where it is given and no policy is, that policy is meant.")
        .example("\"1d\"")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.objective", Kind::OneOf(OBJECTIVES), "\"freshness\"")
        .doc("What the policy \"value\" buys with its visits: many fresh pages, little age, or few missed changes.")
        .example("\"harmonic\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.period_min", Kind::Time, "\"1h\"")
        .doc("Shortest time between two visits to a page, whatever the policy thinks of it.")
        .example("\"15m\"")
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.period_max", Kind::Period, "\"90d\"")
        .doc("Longest time between two visits to a page under the policy \"value\".")
        .example("\"30d\"")
        .reach(Reach::Page)
        .live(),
    Key::none("revisit.visits_per_day", AT_LEAST_ONE)
        .doc("Visits a day; without it (and without the two below), a seventh of the known pages, for revisits alone.")
        .example("100000")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::none("revisit.bytes_per_day", Kind::Size { min: 1 })
        .doc("Bytes of answers a day.")
        .example("\"20GB\"")
        .reach(Reach::Spider)
        .live(),
    Key::none("revisit.requests_per_second", Kind::Rate { max: 100_000.0 })
        .doc("Visits a second, over all sites.")
        .example("2.5")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.site_share", Kind::Rate { max: 1.0 }, "0.1")
        .doc("Revisits of a site take at most this part of the visits that its pauses allow.")
        .example("0.5"),
    Key::new("revisit.cycle", Kind::Period, "\"1d\"")
        .doc("The cycle of the policies \"frequency\" and \"profit\": periods are counted in it, and a batch is made in each.")
        .example("\"6h\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.frequency_on", Kind::OneOf(FREQUENCY_ON), "\"pages\"")
        .doc("Whether the policy \"frequency\" goes by each page, or by the seeds, with the pages of their sites going along.")
        .example("\"seeds\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.frequency_limit", Kind::Count { min: 1, max: 32 }, "20")
        .doc("How many of a page's last visits the policy \"frequency\" looks at.")
        .example("10")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.fr_max", Kind::Count { min: 1, max: 65_535 }, "2")
        .doc("Cycles between the first visits of a page under the policy \"frequency\".")
        .example("7")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.children", Kind::Flag, "false")
        .doc("Let the pages that a page links to have a say in when it is visited: the selective incremental rule of the policy \"frequency\".")
        .example("true")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.batch", AT_LEAST_ONE, "100000")
        .doc("Pages of a batch under the policy \"profit\".")
        .example("10000")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.batch_site_max", AT_LEAST_ONE, "500")
        .doc("Pages of one site in such a batch.")
        .example("100")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.importance", Kind::Factor { max: 1_000_000.0 }, "1")
        .doc("How much a page counts against the others of its site: the higher come first.")
        .example("5")
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.change", Kind::OneOf(CHANGES), "\"text\"")
        .doc("What must differ for a page to have changed: its visible text, its bytes, or its size.")
        .example("\"bytes\"")
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.watch", Kind::List { check: check::selector, commas: false }, "[]")
        .doc("CSS selectors: only the text of these elements tells whether a page has changed.")
        .example("[\"#price\", \"table.stock td\"]")
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.ignore", Kind::List { check: check::selector, commas: false }, "[]")
        .doc("CSS selectors: the text of these elements says nothing about changes.")
        .example("[\".ad\", \"footer > p\"]")
        .reach(Reach::Page)
        .live(),
    // What sites do to have no end.
    Key::new("hazards.traps", Kind::Flag, "true")
        .doc("Watch for traps: stop patterns of URLs, and sites, that bring nothing new without end.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.duplicates", Kind::Count { min: 0, max: 1_000_000 }, "10")
        .doc("Pages of one URL pattern with the content of others, more than there are with content of their own, that stop the pattern; 0: none do.")
        .example("50")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.site_duplicates", Kind::Count { min: 0, max: 1_000_000 }, "20")
        .doc("Copies among the pages of a site, more than there are pages of their own, after which links on copies are left; 0: none are.")
        .example("100")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.repeated_segments", Kind::Count { min: 0, max: 100 }, "3")
        .doc("How often a folder, or a group of folders, may stand in a row in a path; 0: as often as it likes.")
        .example("2")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.counter", Kind::Count { min: 0, max: 1_000_000 }, "50")
        .doc("Pages of one URL pattern that lead only to more of it, with the text of those before but for digits, that stop the pattern; 0: none do.")
        .example("500")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.pattern_urls", Kind::Count { min: 0, max: 4_000_000_000 }, "5000")
        .doc("Most URLs of one path in the combinations of its parameters; 0: no limit.")
        .example("20000")
        .reach(Reach::Spider)
        .live(),
    Key::new(
        "hazards.session_names",
        list(check::session_name),
        "[\"phpsessid\", \"jsessionid\", \"sid\", \"sessionid\", \"session_id\", \"aspsessionid*\", \"oscsid\", \"zenid\", \"cftoken\"]",
    )
    .doc("Session identifiers that are taken out of URLs, in the query and behind a semicolon; * at the end stands for any rest.")
    .example("[\"sid\", \"mysession*\"]")
    .reach(Reach::Spider)
    .live(),
    Key::new("hazards.soft_404", Kind::Flag, "true")
        .doc("Ask a site whose pages are alike once for a page that cannot exist, and do not follow pages that look like the answer.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.slow_time", span(1, YEAR), "\"10m\"")
        .doc("Time that the visits to a site no seed names may take together when its pages take more than a 120th of it each.")
        .example("\"1h\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.replicas", Kind::OneOf(REPLICAS), "\"report\"")
        .doc("Sites that serve what another serves: not looked for, listed, or folded (links to them lead to the original, and their pages rest).")
        .example("\"fold\""),
    Key::new("hazards.replicas_again", span(1, 10 * YEAR), "\"30d\"")
        .doc("How long a folded site is believed to be a replica; then some of its pages are visited to see whether it still is.")
        .example("\"7d\""),
    Key::new("hazards.domain_hosts", AT_LEAST_ONE, "1000")
        .doc("Most hosts of one registrable domain to know, besides those that seeds name.")
        .example("50000"),
    Key::new("hazards.wildcard_hosts", AT_LEAST_ONE, "20")
        .doc("From this many hosts on, a domain is asked for an absurd name, to see whether every name under it resolves (a DNS wildcard).")
        .example("100"),
    Key::new("hazards.stalled_after", span(1, DAY), "\"5m\"")
        .doc("A part of the crawl that makes no progress for so long is told of and begun anew; after twice that the process ends.")
        .example("\"10m\""),
    Key::new("hazards.near_duplicates", Kind::Count { min: 0, max: 1_000_000 }, "10")
        .doc("Pages of one URL pattern in a family of near duplicates, after which links of such pages to further ones are refused; 0 takes them all.")
        .example("100")
        .reach(Reach::Spider)
        .live(),
    // The machine.
    Key::new("harvester.sites_in_hand", AT_LEAST_ONE, "1000")
        .doc("Sites in memory at the same time; memory follows this figure.")
        .example("5000"),
];
