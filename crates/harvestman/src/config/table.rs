//! The table of all keys. Names are for ever: a key is added here, never renamed.
//!
//! `docs/configuration.md` says the same at more length; a test compares the two.

use super::{
    check,
    keys::{Key, Kind},
};

const COUNT: Kind = Kind::Count { min: 0, max: u64::MAX };
const AT_LEAST_ONE: Kind = Kind::Count { min: 1, max: u64::MAX };

const fn list(check: check::Check) -> Kind {
    Kind::List { check, commas: true }
}

pub const SCOPES: &[&str] = &["site", "domain", "prefix", "listed", "any"];
pub const EXPANSIONS: &[&str] = &["after", "mixed", "off"];
pub const EXTERNALS: &[&str] = &["ignore", "home", "deep", "combined"];
pub const POLICIES: &[&str] = &["once", "fixed"];

pub static KEYS: &[Key] = &[
    // What is crawled, and how much of it.
    Key::none("crawl.pages", COUNT)
        .doc("Most pages to fetch in all; the crawl ends exactly there.")
        .example("10000")
        .flag("pages")
        .common(),
    Key::none("crawl.site_pages", COUNT)
        .doc("Most pages to fetch from one site.")
        .example("500")
        .flag("site-pages")
        .common(),
    Key::none("crawl.depth", Kind::Count { min: 0, max: 65_535 })
        .doc("Most links to follow from a site's entry page; 0 fetches the entry page alone.")
        .example("5")
        .flag("depth")
        .common(),
    Key::none("crawl.depth_dynamic", Kind::Count { min: 0, max: 65_535 })
        .doc("The depth for pages that are made on demand (they have a query, or the name of a script); without it, crawl.depth is for all.")
        .example("3"),
    Key::none("crawl.for", Kind::Time)
        .doc("End after this time: what is in flight is finished and settled.")
        .example("\"2h\"")
        .flag("for")
        .common(),
    Key::new("crawl.scope", Kind::OneOf(SCOPES), "\"site\"")
        .doc("What may be crawled: the seeds' sites, their registrable domains, URLs that begin like a seed, the seeds alone, or anything.")
        .example("\"domain\"")
        .flag("scope")
        .common(),
    Key::new("crawl.outside", Kind::Count { min: 0, max: 255 }, "0")
        .doc("Links to follow beyond the scope.")
        .example("1"),
    Key::new("crawl.expansion", Kind::OneOf(EXPANSIONS), "\"mixed\"")
        .doc("What becomes of sites that no seed names: visited after the seeds' sites, among them, or not at all.")
        .example("\"after\""),
    Key::new("crawl.rules", Kind::List { check: check::rule, commas: false }, "[]")
        .doc("Rules that accept or reject URLs, in order: the first whose condition holds decides, and where none does the scope.")
        .example(r#"["reject extension jpg png or path ~ '^/cgi-bin/'", "accept suffix .pt and not path ~ '/private/'"]"#)
        .common(),
    Key::new("crawl.log_extensions", list(check::logged), "[]")
        .doc("Links that are counted and not crawled: groups of extensions, or single ones with their dot.")
        .example("[\"images\", \"audio\", \"video\", \".iso\"]"),
    Key::new(
        "crawl.dynamic_extensions",
        list(check::extension),
        "[\"php\", \"php3\", \"php4\", \"php5\", \"php7\", \"phtml\", \"asp\", \"aspx\", \"ashx\", \"asmx\", \"jsp\", \"jspx\", \"do\", \"action\", \"cgi\", \"pl\", \"fcgi\", \"cfm\", \"cfml\", \"dll\"]",
    )
    .doc("Extensions of programs: pages that have one, or a query, count as made on demand.")
    .example("[\"php\", \"asp\", \"xhtml\"]"),
    Key::none("crawl.filter", Kind::Text(check::any))
        .doc("A script with a function crawl(url) that says true or false for every URL; its path starts at the folder of harvest.toml.")
        .example("\"filter.rhai\""),
    Key::new("crawl.external", Kind::OneOf(EXTERNALS), "\"deep\"")
        .doc("What becomes of links to other sites inside the scope: ignored, taken as that site's home page, taken as they are, or both.")
        .example("\"home\"")
        .flag("external")
        .common(),
    Key::new("crawl.discovered_urls", COUNT, "5000")
        .doc("Most URLs to admit on a site that no seed names.")
        .example("25000"),
    Key::new("crawl.ports", list(check::port), "[]")
        .doc("Unusual ports that links may lead to, besides those that seeds name.")
        .example("[\"8080\"]"),
    Key::new("crawl.follow_nofollow", Kind::Flag, "false")
        .doc("Follow links that are marked rel=nofollow too.")
        .example("true"),
    Key::new("crawl.redirects", Kind::Count { min: 0, max: 100 }, "10")
        .doc("Most redirects to follow in a row.")
        .example("5"),
    // How servers are treated.
    Key::new("etiquette.delay", Kind::Time, "\"2s\"")
        .doc("Courtesy pause between two requests to one site, start to start; 0 (for your own site) switches the pauses off.")
        .example("\"5s\"")
        .flag("delay")
        .common(),
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
        .common(),
    Key::new("etiquette.max_fetches", Kind::Count { min: 1, max: 10_000 }, "200")
        .doc("Fetches at the same time over all sites.")
        .example("64"),
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
        .doc("More request headers.")
        .example("[\"Accept-Language: pt, en;q=0.5\"]"),
    // One fetch.
    Key::new("fetch.timeout", Kind::Time, "\"1m\"")
        .doc("Longest time for one fetch, from the first connect to the last byte.")
        .example("\"20s\""),
    Key::new("fetch.connect_timeout", Kind::Time, "\"10s\"")
        .doc("Longest time to wait for a connection.")
        .example("\"30s\""),
    Key::new("fetch.tls_timeout", Kind::Time, "\"10s\"")
        .doc("Longest time to agree on encryption.")
        .example("\"20s\""),
    Key::new("fetch.first_byte_timeout", Kind::Time, "\"30s\"")
        .doc("Longest time from the request to the first byte of the answer.")
        .example("\"15s\""),
    Key::new("fetch.idle_timeout", Kind::Time, "\"20s\"")
        .doc("Longest silence while a body comes.")
        .example("\"10s\""),
    Key::new("fetch.body_bytes_max", Kind::Size { min: 1 }, "\"2MB\"")
        .doc("Largest body, after decompression; what is longer is cut and marked as cut.")
        .example("\"400KB\"")
        .common(),
    Key::new("fetch.ratio_max", Kind::Count { min: 10, max: 100_000 }, "200")
        .doc("A compressed body that grows by more than this factor is taken for a bomb and cut.")
        .example("1000"),
    Key::new("fetch.media_types", list(check::media_type), "[\"text/html\", \"text/plain\"]")
        .doc("Media types to fetch; others stop after the head.")
        .example("[\"text/*\", \"application/pdf\"]")
        .common(),
    Key::new("fetch.accept_encoding", list(check::coding), "[\"gzip\", \"deflate\", \"br\", \"zstd\"]")
        .doc("Compressions to offer to servers.")
        .example("[\"gzip\"]"),
    Key::none("fetch.proxy", Kind::Text(check::proxy))
        .doc("HTTP proxy for all requests.")
        .example("\"http://proxy.example:3128\"")
        .flag("proxy"),
    Key::new("fetch.resolve", list(check::resolve), "[]")
        .doc("Addresses to use for hosts instead of DNS, as PATTERN=ADDRESS.")
        .example("[\"*.example=127.0.0.1\"]")
        .flag("resolve"),
    Key::new("fetch.allow_address", list(check::cidr), "[]")
        .doc("Private and other special address ranges that may be visited all the same.")
        .example("[\"127.0.0.0/8\", \"10.1.0.0/16\"]")
        .flag("allow-address"),
    Key::new("fetch.extra_roots", list(check::any), "[]")
        .doc("PEM files of certificate authorities to trust besides the public ones.")
        .example("[\"our-ca.pem\"]"),
    Key::new("fetch.insecure_tls", Kind::Flag, "false")
        .doc("Take every certificate, also false and expired ones.")
        .example("true"),
    Key::new("fetch.cookies", Kind::Flag, "true")
        .doc("Keep a site's cookies while it is being crawled.")
        .example("false"),
    // What counts as the same URL.
    Key::new("url.bytes_max", Kind::Count { min: 64, max: 65_536 }, "2083")
        .doc("Longest URL to take.")
        .example("200"),
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
    .example("[\"a/href\", \"area/href\", \"img/src\"]"),
    Key::new("gather.log_tags", list(check::tag), "[]")
        .doc("Where links are found that are counted and not crawled, as tag/attribute.")
        .example("[\"img/src\", \"embed/src\"]"),
    Key::new("gather.language", Kind::Flag, "true")
        .doc("Judge the language of a page's text.")
        .example("false"),
    Key::none("gather.threads", Kind::Count { min: 1, max: 256 })
        .doc("Threads that parse pages; without it, as many as there are cores.")
        .example("2"),
    // What is never crawled.
    Key::new("reject.use_default", Kind::Flag, "true")
        .doc("Use the shipped list of URLs that are no content: login, logout, register, cart and the like.")
        .example("false"),
    Key::new("reject.disable", list(check::any), "[]")
        .doc("Rules of the shipped list to switch off, by name.")
        .example("[\"login\"]"),
    Key::new("reject.patterns", Kind::List { check: check::regex, commas: false }, "[]")
        .doc("Regular expressions; a URL that matches one is not crawled.")
        .example(r"['/calendar/\d{4}', 'print=1']")
        .common(),
    // Where it lasts.
    Key::new("store.volume_bytes_max", Kind::Size { min: 1_000_000 }, "\"1GB\"")
        .doc("A volume is sealed at this size and the next one begun.")
        .example("\"100MB\""),
    // Coming back.
    Key::new("revisit.policy", Kind::OneOf(POLICIES), "\"fixed\"")
        .doc("When a fetched page is due again: never, or after a fixed period.")
        .example("\"once\"")
        .common(),
    Key::new("revisit.period", Kind::Time, "\"7d\"")
        .doc("The period of the policy \"fixed\".")
        .example("\"1d\"")
        .common(),
    // The machine.
    Key::new("harvester.sites_in_hand", AT_LEAST_ONE, "1000")
        .doc("Sites in memory at the same time; memory follows this figure.")
        .example("5000"),
];
