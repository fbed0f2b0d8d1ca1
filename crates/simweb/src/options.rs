//! What a simulated web is made of. The defaults are the pages of the speed measurements.

use std::{collections::HashMap, time::Duration};

use model::Timestamp;

use crate::{ChangeModel, Hazard, Language, Placed};

#[derive(Clone, Debug)]
pub struct WebOptions {
    pub seed: u64,
    pub sites: usize,
    pub pages: PageCount,
    /// Host `n` is `{prefix}{n}{suffix}`: `s17.sim.test`.
    pub host_prefix: String,
    pub host_suffix: String,
    /// Hosts are spread over this many loopback addresses, beginning at 127.0.0.1.
    pub addresses: usize,
    /// Share of sites that live on https; their http answers with a redirect.
    pub https_share: f64,
    pub languages: Vec<Language>,
    pub page: PageOptions,
    pub change: ChangeModel,
    /// When the web began: first Last-Modified of all pages.
    pub origin: Timestamp,
    pub robots: RobotsPlan,
    /// By host; others have `robots`.
    pub robots_of: HashMap<String, RobotsPlan>,
    /// Name the sitemap in robots.txt. It is there in any case.
    pub sitemap: bool,
    /// What sites say of their own pages.
    pub notices: NoticePlan,
    pub latency: Latency,
    /// Pages have styles that import styles, fonts, scripts and pictures, also on the next site's host.
    pub requisites: bool,
    pub hazards: Vec<Placed>,
}

impl Default for WebOptions {
    fn default() -> WebOptions {
        WebOptions {
            seed: 1,
            sites: 1,
            pages: PageCount::Fixed(40),
            host_prefix: "s".to_owned(),
            host_suffix: ".sim.test".to_owned(),
            addresses: 1,
            https_share: 0.0,
            languages: Language::ALL.to_vec(),
            page: PageOptions::default(),
            change: ChangeModel::still(),
            // 2024-01-01T00:00:00Z
            origin: Timestamp(1_704_067_200_000),
            robots: RobotsPlan::AllowAll,
            robots_of: HashMap::new(),
            sitemap: false,
            notices: NoticePlan::default(),
            latency: Latency::default(),
            requisites: false,
            hazards: Vec::new(),
        }
    }
}

impl WebOptions {
    /// A web to look at: twelve small sites with something of everything that does no harm.
    pub fn demo() -> WebOptions {
        let page = PageOptions {
            bytes_mean: 6_000.0,
            query_share: 0.1,
            redirect_share: 0.03,
            broken_share: 0.01,
            dead_host_share: 0.05,
            duplicate_share: 0.04,
            near_duplicate_share: 0.04,
            noindex_share: 0.02,
            nofollow_share: 0.02,
            latin1_share: 0.05,
            ..PageOptions::default()
        };
        let latency =
            Latency { base: Duration::from_millis(15), spread: Duration::from_millis(40) };
        let mut options = WebOptions {
            seed: 2026,
            sites: 12,
            page,
            change: ChangeModel::mixed(),
            robots: RobotsPlan::Disallow(vec!["/private/".to_owned()]),
            sitemap: true,
            latency,
            ..WebOptions::default()
        };
        let host = options.host(11);
        options.put(&format!("{host}/hazard/redirect-loop"), Hazard::RedirectLoop);
        options.put(&format!("{host}/hazard/truncated"), Hazard::Truncated);
        options.put(&format!("{host}/hazard/server-error"), Hazard::ServerError);
        options
    }

    pub fn host(&self, site: usize) -> String {
        format!("{}{site}{}", self.host_prefix, self.host_suffix)
    }

    /// Puts a hazard at a [`Placed::place`].
    pub fn put(&mut self, place: &str, hazard: Hazard) {
        self.hazards.push(Placed { place: place.to_owned(), hazard });
    }

    /// Puts a hazard on a host where whoever visits its home page meets it: at `/hazard/WORD`, or where else it belongs.
    pub fn exhibit(&mut self, host: &str, hazard: Hazard) {
        let path = format!("{host}/hazard/{}", hazard.word());
        match hazard {
            Hazard::Sitemap(_) => {
                let text = format!("User-agent: *\nAllow: /\nSitemap: http://{host}/sitemap.xml\n");
                self.robots_of.insert(host.to_owned(), RobotsPlan::Text(text));
                self.put(&format!("{host}/sitemap*"), hazard);
            }
            // The site as a whole, and a link to something that is not there.
            Hazard::Soft404 => {
                self.put(host, hazard);
                self.put(&path, hazard);
            }
            _ if hazard.is_of_host() || hazard.is_of_links() => self.put(host, hazard),
            _ if hazard.is_of_folder() => self.put(&format!("{path}/*"), hazard),
            _ => self.put(&path, hazard),
        }
    }

    /// One path `/hazard/WORD` of `host` for every hazard that a page can have.
    pub fn put_all(&mut self, host: &str) {
        for hazard in Hazard::ALL.iter().copied().filter(|hazard| !hazard.is_of_host()) {
            let tail = if hazard.is_of_folder() { "/*" } else { "" };
            self.put(&format!("{host}/hazard/{}{tail}", hazard.word()), hazard);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PageCount {
    Fixed(usize),
    /// Log-normal around `median`, never above `max`.
    Varied {
        median: usize,
        sigma: f64,
        max: usize,
    },
}

#[derive(Clone, Debug)]
pub struct PageOptions {
    /// Mean of the log-normal size of pages.
    pub bytes_mean: f64,
    pub bytes_sigma: f64,
    /// Share of the bytes that is visible text.
    pub text_share: f64,
    pub links: usize,
    pub internal_share: f64,
    /// Links of a page that lead to pages one level deeper and nowhere else found: the site's tree.
    pub children: usize,
    /// Pages whose address is a query: `/view?id=17`.
    pub query_share: f64,
    /// Internal links that lead over a redirect (301 and 302 by turns, one hop or two).
    pub redirect_share: f64,
    /// Internal links to nothing (404).
    pub broken_share: f64,
    /// Links to pages in another spelling of their address: upper case, `:80`, a dot behind the name, escapes.
    pub alias_share: f64,
    /// External links to names that do not exist. With one site, all of them.
    pub dead_host_share: f64,
    /// Leaf pages with the bytes of another page.
    pub duplicate_share: f64,
    /// Leaf pages that differ from another by one paragraph.
    pub near_duplicate_share: f64,
    /// `<meta name=robots content=noindex>`.
    pub noindex_share: f64,
    /// Leaf pages with `nofollow` (leaf pages, so that no page becomes unreachable).
    pub nofollow_share: f64,
    /// Pages in ISO-8859-1.
    pub latin1_share: f64,
    /// Pages with a comment that differs at every visit: changed bytes, unchanged text, no validators.
    pub noisy_share: f64,
    /// Pages sent chunked.
    pub chunked_share: f64,
    /// Use gzip when the client accepts it. Off by default: it costs the server ten times the rest.
    pub gzip: bool,
    /// Share of sites that send ETag and Last-Modified.
    pub validator_share: f64,
}

impl Default for PageOptions {
    fn default() -> PageOptions {
        PageOptions {
            bytes_mean: 17_000.0,
            bytes_sigma: 0.8,
            text_share: 0.62,
            links: 20,
            internal_share: 0.8,
            children: 8,
            query_share: 0.0,
            redirect_share: 0.0,
            broken_share: 0.0,
            alias_share: 0.0,
            dead_host_share: 0.0,
            duplicate_share: 0.0,
            near_duplicate_share: 0.0,
            noindex_share: 0.0,
            nofollow_share: 0.0,
            latin1_share: 0.0,
            noisy_share: 0.0,
            chunked_share: 0.0,
            gzip: false,
            validator_share: 1.0,
        }
    }
}

/// Time from the request's last byte to the answer's first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    pub base: Duration,
    /// Up to this much more, by request.
    pub spread: Duration,
}

/// What sites say of their own pages, and how true it is.
#[derive(Clone, Debug, Default)]
pub struct NoticePlan {
    pub dates: Dates,
    /// By host; others have `dates`.
    pub dates_of: HashMap<String, Dates>,
    /// Every page names `/feed.atom`, which tells of the latest changes.
    pub feed: bool,
    /// `/robots.rdf` tells of all pages.
    pub rdf: bool,
    /// Pages `/unlinked/N` that only the sitemap names.
    pub unlinked: usize,
}

/// The dates in a site's sitemap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Dates {
    /// True, to the day.
    #[default]
    Days,
    /// True, to the second.
    True,
    /// A new one for every page every day, whether it has changed or not.
    Lying,
    /// True, for this share of the pages; none for the others.
    Partial(f64),
}

/// What a site's `/robots.txt` answers.
#[derive(Clone, Debug, PartialEq)]
pub enum RobotsPlan {
    AllowAll,
    /// These prefixes are forbidden to everybody; pages below them exist and are linked.
    Disallow(Vec<String>),
    /// Everything is forbidden.
    ForbidAll,
    CrawlDelay(f64),
    /// The file as it is.
    Text(String),
    /// Any status without rules: 404, 403, 500, 503, 429.
    Status(u16),
    /// This many redirects, then rules that forbid `/private/`.
    Redirecting {
        hops: u32,
    },
    /// Comments up to this size, then a rule that forbids `/private/`.
    Huge {
        bytes: usize,
    },
    /// Never answers.
    Silent,
    /// The plans by turns.
    Changing {
        every: Duration,
        plans: Vec<RobotsPlan>,
    },
}
