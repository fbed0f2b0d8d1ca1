//! What the operator may set about politeness and limits for the crawl as a whole; `terms.rs` has what may
//! differ between spiders and sites.

use std::time::Duration;

use model::limits;

/// A head and twice the usual bound on bodies, which chunk framing does not come to.
const ANSWER_BYTES_MAX: u64 = limits::HEAD_BYTES_MAX as u64 + 4_000_000;

#[derive(Clone, Debug)]
pub struct Options {
    /// The product token robots.txt files know us by.
    pub token: String,
    /// Courtesy pause between the starts of two visits to a site.
    pub pause: Duration,
    /// For sites of at least `big_site_pages` known pages (WIRE: 5 s instead of 15 s over 100 pages).
    pub pause_big: Option<Duration>,
    pub big_site_pages: u64,
    /// After an answer the site rests this many times as long as the answer took. At 1 a slow server
    /// spends at most half its time on us; Heritrix's 5 was made for the servers of 2003.
    pub response_factor: f64,
    /// No answer, however slow, earns a longer rest: timeouts have the back-off.
    pub response_rest_max: Duration,
    /// A longer `Crawl-delay` is taken as this, and said.
    pub crawl_delay_max: Duration,
    /// A longer `Retry-After` is taken as this, and said.
    pub retry_after_max: Duration,
    /// The wait after the first doubling step: more than any courtesy pause in use, short enough that one
    /// stray error costs little.
    pub backoff_first: Duration,
    pub backoff_max: Duration,
    /// Good answers in a row that take back one step.
    pub backoff_recovery: u8,
    /// 5xx, timeouts and broken connections raise the back-off too, not only 429 and 503.
    pub backoff_on_trouble: bool,
    /// Between visits of different sites on one address; `None`: an eighth of the pause.
    pub address_pause: Option<Duration>,
    /// Visits to one site at once.
    pub connections: usize,
    /// Visits in all at once; may change while running.
    pub fetches_max: usize,
    /// Pages with content per site and in all; `None`: no limit.
    pub site_pages_max: Option<u64>,
    pub pages_max: Option<u64>,
    /// Bytes of answers in all, heads included, robots.txt not.
    pub bytes_max: Option<u64>,
    /// The most one answer may bring, where no other terms are given.
    pub answer_bytes_max: u64,
    /// A site with nothing to do for longer than this is reported as drained, to make room for another.
    pub far: Duration,
    /// Pages waiting in memory for one site: breadth-first crawls of large sites see far more links than
    /// they can visit before the next refill.
    pub site_queue_max: usize,
    pub pages_in_hand_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            token: crate::robots::TOKEN.to_owned(),
            pause: Duration::from_secs(2),
            pause_big: None,
            big_site_pages: 100,
            response_factor: 1.0,
            response_rest_max: Duration::from_secs(30),
            crawl_delay_max: limits::CRAWL_DELAY_MAX,
            retry_after_max: limits::CLOCK_LOAD_MAX,
            backoff_first: Duration::from_secs(5),
            backoff_max: limits::BACKOFF_MAX,
            backoff_recovery: 3,
            backoff_on_trouble: true,
            address_pause: None,
            connections: 1,
            fetches_max: 200,
            site_pages_max: None,
            pages_max: None,
            bytes_max: None,
            answer_bytes_max: ANSWER_BYTES_MAX,
            far: Duration::from_secs(300),
            site_queue_max: 10_000,
            pages_in_hand_max: limits::PAGES_IN_HAND_MAX,
        }
    }
}

impl Options {
    /// Another courtesy pause. Zero means one's own site: pause, rest, `Crawl-delay`, address pause and
    /// the back-off after plain trouble are all zero. What the server says in so many words still holds:
    /// `Retry-After`, and the back-off after 429 and 503.
    #[must_use]
    pub fn with_pause(self, pause: Duration) -> Options {
        if !pause.is_zero() {
            return Options { pause, ..self };
        }
        Options {
            pause,
            pause_big: None,
            response_factor: 0.0,
            crawl_delay_max: Duration::ZERO,
            address_pause: Some(Duration::ZERO),
            backoff_on_trouble: false,
            ..self
        }
    }

    pub(super) fn address_pause(&self) -> Duration {
        self.address_pause.unwrap_or(self.pause / 8)
    }

    /// The wait between visits at this step of the back-off.
    pub(super) fn backoff_wait(&self, step: u8) -> Duration {
        if step == 0 {
            return Duration::ZERO;
        }
        let factor = 1_u32.checked_shl(u32::from(step) - 1).unwrap_or(u32::MAX);
        self.backoff_first.saturating_mul(factor).min(self.backoff_max)
    }

    /// The step beyond which the wait grows no more.
    pub(super) fn backoff_step_max(&self) -> u8 {
        (1..32).find(|&step| self.backoff_wait(step) >= self.backoff_max).unwrap_or(32)
    }
}
