//! The table of all keys. Names are promises: a key is added here, never renamed.
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

/// Keys that had another name before names became promises, and the name they have now.
pub static RENAMED: &[(&str, &str)] = &[
    ("crawl.site_day_time", "crawl.site_time_per_day"),
    ("fetch.ratio_max", "fetch.compression_ratio_max"),
    ("gather.language", "parse.language"),
    ("gather.link_tags", "parse.link_tags"),
    ("gather.log_tags", "parse.log_tags"),
    ("gather.text", "parse.text"),
    ("gather.threads", "parse.threads"),
    ("harvester.sites_in_hand", "crawl.active_sites"),
    ("hazards.counter", "hazards.counter_pages"),
    ("hazards.replicas", "hazards.mirrors"),
    ("hazards.replicas_again", "hazards.mirrors_recheck"),
    ("revisit.fr_max", "revisit.frequency_cycles"),
];

pub static KEYS: &[Key] = &[
    // What is crawled, and how much of it.
    Key::none("crawl.pages", AT_LEAST_ONE)
        .doc("Maximum number of pages to fetch, over the life of the collection; the limit is exact.")
        .example("10000")
        .flag("pages")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.site_pages", COUNT)
        .doc("Maximum number of pages to fetch from one site.")
        .example("500")
        .flag("site-pages")
        .common()
        .reach(Reach::Site)
        .live(),
    Key::none("crawl.domain_pages", COUNT)
        .doc("Maximum number of pages to fetch from one registrable domain, over all its hosts.")
        .example("5000")
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.bytes", Kind::Size { min: 1 })
        .doc("Maximum number of bytes to receive, as they come over the wire; the limit is exact.")
        .example("\"50GB\"")
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.site_bytes", Kind::Size { min: 1 })
        .doc("Maximum number of bytes to receive from one site.")
        .example("\"500MB\"")
        .reach(Reach::Site)
        .live(),
    Key::none("crawl.sites", AT_LEAST_ONE)
        .doc("Maximum number of sites; links to further sites are refused.")
        .example("100000"),
    Key::new("crawl.active_sites", AT_LEAST_ONE, "1000")
        .doc("Maximum number of sites crawled at the same time; memory use follows it.")
        .example("5000"),
    Key::none("crawl.depth", Kind::Count { min: 0, max: 65_535 })
        .doc("Maximum number of links to follow from a site's entry page; 0 fetches the entry page only.")
        .example("5")
        .flag("depth")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::none("crawl.depth_dynamic", Kind::Count { min: 0, max: 65_535 })
        .doc("Maximum depth of dynamic pages (with a query, or the extension of a script); unset, crawl.depth applies to them too.")
        .example("3")
        .reach(Reach::Page)
        .live(),
    Key::none("crawl.for", Kind::Limit)
        .doc("Stop after this time; requests in flight are finished and saved.")
        .example("\"2h\"")
        .flag("for")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.site_time", Kind::Time)
        .doc("Maximum time to stay with a site before other sites get their turn.")
        .example("\"10m\"")
        .reach(Reach::Site)
        .live(),
    Key::none("crawl.site_time_per_day", Kind::Time)
        .doc("Maximum time per day (UTC) that visits to one site may take.")
        .example("\"1h\"")
        .reach(Reach::Site)
        .live(),
    Key::new("crawl.scope", Kind::OneOf(SCOPES), "\"site\"")
        .doc("What may be crawled: the sites of the seeds, their registrable domains, URLs below a seed's folder, the seeds only, or anything.")
        .example("\"domain\"")
        .flag("scope")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.outside", Kind::Count { min: 0, max: 255 }, "0")
        .doc("Number of links to follow beyond the scope.")
        .example("1")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.expansion", Kind::OneOf(EXPANSIONS), "\"mixed\"")
        .doc("Sites that no seed names: crawl them after the seeds' sites, among them, or not at all.")
        .example("\"after\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.rules", Kind::List { check: check::rule, commas: false }, "[]")
        .doc("Rules that accept or reject URLs; the first one that matches decides, and the scope if none does.")
        .example(r#"["reject extension jpg png or path ~ '^/cgi-bin/'", "accept suffix .pt and not path ~ '/private/'"]"#)
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.log_extensions", list(check::logged), "[]")
        .doc("Links to count and not to crawl: groups of extensions, or single extensions with their dot.")
        .example("[\"images\", \"audio\", \"video\", \".iso\"]")
        .reach(Reach::Spider)
        .live(),
    Key::new(
        "crawl.dynamic_extensions",
        list(check::extension),
        "[\"php\", \"php3\", \"php4\", \"php5\", \"php7\", \"phtml\", \"asp\", \"aspx\", \"ashx\", \"asmx\", \"jsp\", \"jspx\", \"do\", \"action\", \"cgi\", \"pl\", \"fcgi\", \"cfm\", \"cfml\", \"dll\"]",
    )
    .doc("Extensions of scripts: pages with one of them, or with a query, are dynamic.")
    .example("[\"php\", \"asp\", \"xhtml\"]")
        .reach(Reach::Spider)
        .live(),
    Key::none("crawl.filter", Kind::Text(check::any))
        .doc("A script with a function crawl(url) that returns true or false for each URL; the path is relative to harvest.toml.")
        .example("\"filter.rhai\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.external", Kind::OneOf(EXTERNALS), "\"deep\"")
        .doc("Links to other sites inside the scope: ignore them, take that site's home page, take them as they are, or both.")
        .example("\"home\"")
        .flag("external")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.discovered_urls", COUNT, "5000")
        .doc("Maximum number of URLs to admit on a site that no seed names.")
        .example("25000")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.ports", list(check::port), "[]")
        .doc("Ports that links may lead to, besides 80, 443 and those of seeds.")
        .example("[\"8080\"]")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.follow_nofollow", Kind::Flag, "false")
        .doc("Follow links marked rel=nofollow.")
        .example("true")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.redirects", Kind::Count { min: 0, max: 100 }, "10")
        .doc("Maximum number of redirects to follow in a row.")
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
        .doc("Read the sitemaps that robots.txt names; \"guess\" also tries /sitemap.xml where it names none.")
        .example("\"guess\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.feeds", Kind::Flag, "true")
        .doc("Read the RSS and Atom feeds that a site's entry page names.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("crawl.robots_rdf", Kind::Flag, "false")
        .doc("Request /robots.rdf of every site, WIRE's way for servers to announce changes.")
        .example("true")
        .reach(Reach::Spider)
        .live(),
    // How servers are treated.
    Key::new("etiquette.delay", Kind::Time, "\"2s\"")
        .doc("Delay between two requests to one site, start to start; 0 (for your own server) means no delay.")
        .example("\"5s\"")
        .flag("delay")
        .common()
        .reach(Reach::Site)
        .live(),
    Key::none("etiquette.big_site_delay", Kind::Time)
        .doc("A different delay for big sites (WIRE: 5 s instead of 15 s).")
        .example("\"1s\""),
    Key::new("etiquette.big_site_pages", AT_LEAST_ONE, "100")
        .doc("A site with at least this many known pages is big.")
        .example("1000"),
    Key::new("etiquette.response_factor", Kind::Factor { max: 1000.0 }, "1")
        .doc("The delay is at least this many times the last response time, so that slow servers get fewer requests.")
        .example("5"),
    Key::new("etiquette.address_share", Kind::Factor { max: 1.0 }, "0.125")
        .doc("Delay between requests to one IP address that several sites share, as a fraction of the delay.")
        .example("0.5"),
    Key::new("etiquette.connections", Kind::Count { min: 1, max: 64 }, "1")
        .doc("Maximum number of connections to one site.")
        .example("2")
        .flag("connections")
        .common()
        .reach(Reach::Site)
        .live(),
    Key::new("etiquette.max_fetches", Kind::Count { min: 1, max: 10_000 }, "200")
        .doc("Maximum number of fetches at the same time, over all sites.")
        .example("64")
        .reach(Reach::Spider)
        .live(),
    Key::new("etiquette.crawl_delay_max", Kind::Time, "\"5m\"")
        .doc("A crawl-delay in robots.txt is obeyed up to this time; a message says when it is capped.")
        .example("\"1m\""),
    Key::new("etiquette.backoff_first", Kind::Time, "\"5s\"")
        .doc("First extra delay after 429, 503, other 5xx and timeouts; it doubles while errors last.")
        .example("\"10s\""),
    Key::new("etiquette.backoff_max", Kind::Time, "\"1h\"")
        .doc("Longest extra delay after such errors.")
        .example("\"15m\""),
    Key::none("etiquette.contact", Kind::Text(check::contact))
        .doc("How webmasters can reach you: a mail address or a URL, sent with every request.")
        .example("\"crawl@example.org\"")
        .flag("contact")
        .common(),
    Key::none("etiquette.user_agent", Kind::Text(check::user_agent))
        .doc("The whole User-Agent header; by default harvestman, its version and the contact.")
        .example("\"mycrawler/1.0 (+https://example.org/bot)\"")
        .flag("user-agent"),
    Key::new("etiquette.headers", list(check::header), "[]")
        .doc("Additional request headers for every server; secrets are refused here and belong in [[credential]].")
        .example("[\"Accept-Language: pt, en;q=0.5\"]")
        .reach(Reach::Spider)
        .live(),
    // One fetch.
    Key::new("fetch.timeout", Kind::Time, "\"1m\"")
        .doc("Maximum time of one fetch, from connecting to the last byte.")
        .example("\"20s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.connect_timeout", Kind::Time, "\"10s\"")
        .doc("Maximum time to connect.")
        .example("\"30s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.tls_timeout", Kind::Time, "\"10s\"")
        .doc("Maximum time of the TLS handshake.")
        .example("\"20s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.first_byte_timeout", Kind::Time, "\"20s\"")
        .doc("Maximum time from the request to the first byte of the response.")
        .example("\"15s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.idle_timeout", Kind::Time, "\"20s\"")
        .doc("Maximum time without a byte while a body is received.")
        .example("\"10s\"")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.body_bytes_max", Kind::Size { min: 1 }, "\"16MB\"")
        .doc("Maximum size of a body, after decompression; longer ones are truncated and marked as truncated.")
        .example("\"400KB\"")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.requisite_bytes_max", Kind::Size { min: 1 }, "\"10MB\"")
        .doc("Maximum size of a page requisite (see crawl.requisites).")
        .example("\"50MB\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("fetch.compression_ratio_max", Kind::Count { min: 10, max: 100_000 }, "200")
        .doc("A compressed body that grows by more than this factor is treated as a decompression bomb and truncated.")
        .example("1000")
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.media_types", list(check::media_type), "[\"text/html\", \"text/plain\"]")
        .doc("Media types to fetch; other responses stop after the headers.")
        .flag("all-types")
        .example("[\"text/*\", \"application/pdf\"]")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::new("fetch.accept_encoding", list(check::coding), "[\"gzip\", \"deflate\", \"br\", \"zstd\"]")
        .doc("Content encodings to offer to servers.")
        .example("[\"gzip\"]")
        .reach(Reach::Spider)
        .live(),
    Key::none("fetch.proxy", Kind::Text(check::proxy))
        .doc("Proxy for all requests: http, socks5, or socks5h (the proxy resolves names).")
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
        .doc("Private and other special address ranges that may be visited.")
        .example("[\"127.0.0.0/8\", \"10.1.0.0/16\"]")
        .flag("allow-address"),
    Key::new("fetch.allow_ports", list(check::port), "[]")
        .doc("Ports that browsers refuse, such as 25 and 6667, and that may be visited.")
        .example("[\"6667\"]"),
    Key::new("fetch.name_servers", list(check::name_server), "[]")
        .doc("DNS servers to ask instead of the system's, as addresses with or without a port.")
        .example("[\"1.1.1.1\", \"[::1]:5353\"]"),
    Key::new("fetch.extra_roots", list(check::any), "[]")
        .doc("PEM files of certificate authorities to trust besides the public ones.")
        .example("[\"our-ca.pem\"]"),
    Key::new("fetch.insecure_tls", Kind::Flag, "false")
        .doc("Accept every certificate, also invalid and expired ones.")
        .example("true"),
    Key::new("fetch.cookies", Kind::Switch, "\"on\"")
        .doc("Keep a site's cookies while it is crawled: off, on, or a file of cookies to start with.")
        .example("\"cookies.txt\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("fetch.http2", Kind::Flag, "false")
        .doc("Offer HTTP/2 to servers over TLS.")
        .example("true")
        .reach(Reach::Spider)
        .live(),
    Key::none("fetch.client_certificate", Kind::Text(check::any))
        .doc("PEM file of the client certificate.")
        .example("\"crawler.pem\"")
        .reach(Reach::Spider)
        .live(),
    Key::none("fetch.client_key", Kind::Text(check::any))
        .doc("PEM file of the client certificate's key; unset, the key is in the certificate's file.")
        .example("\"crawler.key\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("fetch.client_certificate_origins", list(check::https_origin), "[]")
        .doc("Servers that the client certificate is shown to, as scheme and host; no other server sees it.")
        .example("[\"https://example.org\", \"https://api.example.org:8443\"]")
        .reach(Reach::Spider)
        .live(),
    // What counts as the same URL.
    Key::new("url.bytes_max", Kind::Count { min: 64, max: 65_536 }, "2083")
        .doc("Maximum length of a URL.")
        .example("200")
        .reach(Reach::Spider)
        .live(),
    Key::new("url.index_names", list(check::file_name), "[]")
        .doc("File names that stand for their folder and are removed.")
        .example("[\"index.html\", \"index.php\"]"),
    Key::new("url.sort_query", Kind::Flag, "false")
        .doc("Sort query parameters, so that their order does not make a second page.")
        .example("true"),
    Key::new("url.strip_query", list(check::parameter), "[]")
        .doc("Query parameters to remove; a trailing * matches any rest.")
        .example("[\"utm_*\", \"PHPSESSID\"]"),
    Key::new("url.lowercase_paths", list(check::host), "[]")
        .doc("Hosts whose servers ignore case: their paths are lowercased.")
        .example("[\"www.example.org\", \"*.example.net\"]"),
    Key::new("url.rewrite", Kind::List { check: check::rewrite, commas: false }, "[]")
        .doc("Changes to URLs, as REGEX => REPLACEMENT, made in order before the rules are applied.")
        .example(r"[';jsessionid=[0-9A-F]+ => ', '^http://old\.example\.org/ => https://new.example.org/']"),
    // What is taken from a page.
    Key::new(
        "parse.link_tags",
        list(check::tag),
        "[\"a/href\", \"area/href\", \"frame/src\", \"iframe/src\", \"link/href\", \"meta/content\"]",
    )
    .doc("Where links are taken from, as tag/attribute.")
    .example("[\"a/href\", \"area/href\", \"img/src\"]")
        .reach(Reach::Spider)
        .live(),
    Key::new("parse.log_tags", list(check::tag), "[]")
        .doc("Where links are counted and not crawled, as tag/attribute.")
        .example("[\"img/src\", \"embed/src\"]")
        .reach(Reach::Spider)
        .live(),
    Key::new("parse.text", Kind::Flag, "true")
        .doc("Extract the visible text of pages; false extracts links, titles and headings only.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("parse.language", Kind::Flag, "true")
        .doc("Detect the language of pages.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::none("parse.threads", Kind::Count { min: 1, max: 256 })
        .doc("Number of threads that parse pages; by default the number of cores.")
        .example("2"),
    // What is never crawled.
    Key::new("reject.use_default", Kind::Flag, "true")
        .doc("Use the built-in list of URLs without content: login, logout, register, cart and the like.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("reject.disable", list(check::shipped_rule), "[]")
        .doc("Rules of the built-in list to switch off, by name.")
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
        .doc("A volume is sealed at this size and the next one is started.")
        .example("\"100MB\""),
    Key::new("store.volume_folders", list(check::any), "[\"volumes\"]")
        .doc("Folders for volumes; the first that can be written to is used. When it is full or fails, the crawl goes on in the next.")
        .example("[\"/disk1/crawl\", \"/disk2/crawl\"]"),
    Key::new("store.compression", Kind::OneOf(COMPRESSIONS), "\"gzip\"")
        .doc("Compression of new volumes: gzip, which every tool reads, or zstd, which is a third smaller.")
        .example("\"zstd\""),
    Key::none("store.content_bytes_max", Kind::Size { min: 0 })
        .doc("Maximum size of an archived body; the rest is parsed and then dropped, and the record is marked as truncated. 0 archives no bodies, only requests and response headers.")
        .example("\"300KB\""),
    Key::none("store.keep", Kind::Text(check::keep))
        .doc("Which old versions to keep: all within some time, then some of each period; `harvestman thin` deletes the others.")
        .example("\"all 30d, then 1 per 7d\""),
    Key::none("store.versions_bytes_max", Kind::Size { min: 1 })
        .doc("Maximum size of all archived versions; beyond that `harvestman thin` deletes the oldest, but never the latest version of a page.")
        .example("\"200GB\""),
    Key::new("store.directory", Kind::Flag, "false")
        .doc("Also keep the HTML of each page as a file: directory/DATE_TIME/host/path, one folder per crawl, one per day under run.")
        .example("true"),
    // Coming back.
    Key::new("revisit.policy", Kind::OneOf(POLICIES), "\"value\"")
        .doc("When a fetched page is due again: by the value of a visit, by its observed change frequency, in batches by profit, after a fixed period, or never.")
        .example("\"fixed\"")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.period", Kind::Period, "\"7d\"")
        .doc("The period of the policy \"fixed\"; setting it without a policy selects that policy.")
        .example("\"1d\"")
        .common()
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.objective", Kind::OneOf(OBJECTIVES), "\"freshness\"")
        .doc("What the policy \"value\" optimises: freshness, age, or missed changes.")
        .example("\"harmonic\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.period_min", Kind::Time, "\"1h\"")
        .doc("Shortest time between two visits to a page, under any policy.")
        .example("\"15m\"")
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.period_max", Kind::Period, "\"90d\"")
        .doc("Longest time between two visits to a page under the policy \"value\".")
        .example("\"30d\"")
        .reach(Reach::Page)
        .live(),
    Key::none("revisit.visits_per_day", AT_LEAST_ONE)
        .doc("Budget of visits per day; unset (as the next two), a seventh of the known pages, for revisits only.")
        .example("100000")
        .common()
        .reach(Reach::Spider)
        .live(),
    Key::none("revisit.bytes_per_day", Kind::Size { min: 1 })
        .doc("Budget of received bytes per day.")
        .example("\"20GB\"")
        .reach(Reach::Spider)
        .live(),
    Key::none("revisit.requests_per_second", Kind::Rate { max: 100_000.0 })
        .doc("Budget of visits per second, over all sites.")
        .example("2.5")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.site_share", Kind::Rate { max: 1.0 }, "0.1")
        .doc("Maximum share of a site's possible visits (by its delay) that revisits may take.")
        .example("0.5"),
    Key::new("revisit.cycle", Kind::Period, "\"1d\"")
        .doc("The cycle of the policies \"frequency\" and \"profit\": periods are counted in cycles, and each cycle has one batch.")
        .example("\"6h\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.frequency_on", Kind::OneOf(FREQUENCY_ON), "\"pages\"")
        .doc("Whether the policy \"frequency\" follows each page, or the seeds, with the pages of their sites.")
        .example("\"seeds\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.frequency_limit", Kind::Count { min: 1, max: 32 }, "20")
        .doc("Number of a page's last visits that the policy \"frequency\" considers.")
        .example("10")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.frequency_cycles", Kind::Count { min: 1, max: 65_535 }, "2")
        .doc("Cycles between the first visits of a page under the policy \"frequency\".")
        .example("7")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.children", Kind::Flag, "false")
        .doc("Let the pages that a page links to influence when it is visited: the selective incremental rule of the policy \"frequency\".")
        .example("true")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.batch", AT_LEAST_ONE, "100000")
        .doc("Number of pages in a batch under the policy \"profit\".")
        .example("10000")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.batch_site_max", AT_LEAST_ONE, "500")
        .doc("Maximum number of pages of one site in such a batch.")
        .example("100")
        .reach(Reach::Spider)
        .live(),
    Key::new("revisit.importance", Kind::Factor { max: 1_000_000.0 }, "1")
        .doc("Weight of a page compared with others; higher ones are visited first.")
        .example("5")
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.change", Kind::OneOf(CHANGES), "\"text\"")
        .doc("What counts as a change of a page: its visible text, its bytes, or its size.")
        .example("\"bytes\"")
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.watch", Kind::List { check: check::selector, commas: false }, "[]")
        .doc("CSS selectors: only the text of these elements decides whether a page has changed.")
        .example("[\"#price\", \"table.stock td\"]")
        .reach(Reach::Page)
        .live(),
    Key::new("revisit.ignore", Kind::List { check: check::selector, commas: false }, "[]")
        .doc("CSS selectors: the text of these elements does not count as a change.")
        .example("[\".ad\", \"footer > p\"]")
        .reach(Reach::Page)
        .live(),
    // What sites do to have no end.
    Key::new("hazards.traps", Kind::Flag, "true")
        .doc("Detect crawler traps: stop URL patterns, and sites, that produce endless URLs and nothing new.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.duplicates", Kind::Count { min: 0, max: 1_000_000 }, "10")
        .doc("Stop a URL pattern when its duplicate pages outnumber its distinct ones by this many; 0 switches this off.")
        .example("50")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.site_duplicates", Kind::Count { min: 0, max: 1_000_000 }, "20")
        .doc("When the duplicate pages of a site outnumber its distinct ones by this many, links on duplicates are not followed; 0 switches this off.")
        .example("100")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.repeated_segments", Kind::Count { min: 0, max: 100 }, "3")
        .doc("How often a folder, or a group of folders, may repeat in a row in a path; 0 means any number.")
        .example("2")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.counter_pages", Kind::Count { min: 0, max: 1_000_000 }, "50")
        .doc("Stop a URL pattern after this many pages that lead only to more of the pattern and differ only in digits; 0 switches this off.")
        .example("500")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.pattern_urls", Kind::Count { min: 0, max: 4_000_000_000 }, "5000")
        .doc("Maximum number of URLs of one path that differ in the combination of their parameters; 0 means no limit.")
        .example("20000")
        .reach(Reach::Spider)
        .live(),
    Key::new(
        "hazards.session_names",
        list(check::session_name),
        "[\"phpsessid\", \"jsessionid\", \"sid\", \"sessionid\", \"session_id\", \"aspsessionid*\", \"oscsid\", \"zenid\", \"cftoken\"]",
    )
    .doc("Session identifiers to remove from URLs, in the query and after a semicolon; a trailing * matches any rest.")
    .example("[\"sid\", \"mysession*\"]")
    .reach(Reach::Spider)
    .live(),
    Key::new("hazards.soft_404", Kind::Flag, "true")
        .doc("Request a page that cannot exist from a site whose pages are alike, and do not follow pages that look like the response.")
        .example("false")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.slow_time", span(1, YEAR), "\"10m\"")
        .doc("Maximum total time of visits to a slow site that no seed names; a site is slow when its pages take more than a 120th of this time each.")
        .example("\"1h\"")
        .reach(Reach::Spider)
        .live(),
    Key::new("hazards.mirrors", Kind::OneOf(REPLICAS), "\"report\"")
        .doc("Mirror sites: do not look for them, report them, or fold them (links to a mirror lead to the original, and its pages are not visited).")
        .example("\"fold\""),
    Key::new("hazards.mirrors_recheck", span(1, 10 * YEAR), "\"30d\"")
        .doc("How long a folded site is taken for a mirror before some of its pages are visited to check.")
        .example("\"7d\""),
    Key::new("hazards.domain_hosts", AT_LEAST_ONE, "1000")
        .doc("Maximum number of hosts of one registrable domain, besides those of seeds.")
        .example("50000"),
    Key::new("hazards.wildcard_hosts", AT_LEAST_ONE, "20")
        .doc("A domain with this many hosts is tested for a DNS wildcard, by asking for a name that cannot exist.")
        .example("100"),
    Key::new("hazards.stalled_after", span(1, DAY), "\"5m\"")
        .doc("A part of the crawl without progress for this long is reported and restarted; after twice this time the process exits.")
        .example("\"10m\""),
    Key::new("hazards.near_duplicates", Kind::Count { min: 0, max: 1_000_000 }, "10")
        .doc("When a URL pattern has this many near duplicates of one page, links from them to further ones are refused; 0 switches this off.")
        .example("100")
        .reach(Reach::Spider)
        .live(),];
