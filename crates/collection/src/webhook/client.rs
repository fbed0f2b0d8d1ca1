//! Posting to receivers: the harvester's own HTTP, on a small runtime of its own.
//!
//! The URL is the user's explicit word, so the address guard allows every address it leads to, also private
//! ones; redirects are not followed, for where they lead nobody has said. The answer is bounded and not read
//! beyond its status.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use harvester::http::{DnsOptions, DnsResolver, HttpFetcher, HttpOptions, HttpProfile};
use model::{Clock, CrawlUrl, Fetch, FetchLimits, FetchRequest, Purpose, Resolve, SpiderId};
use tokio::runtime::Runtime;

use super::payload::Delivery;
use config::{Config, failure::Failure};

/// From the first connect to the answer.
const TIME_MAX: Duration = Duration::from_secs(15);
/// An answer is a status; of its body nothing is used.
const ANSWER_BYTES_MAX: u64 = 16_000;
const EVERY_ADDRESS: [&str; 2] = ["0.0.0.0/0", "::/0"];

pub struct Client {
    runtime: Runtime,
    fetcher: HttpFetcher,
    names: DnsResolver,
    user_agent: String,
}

impl Client {
    /// `options` say whom to trust; what keeps a crawl away from addresses does not hold here.
    pub fn new(
        config: &Config,
        options: &HttpOptions,
        dns: DnsOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Client, Failure> {
        let options = HttpOptions {
            profile: HttpProfile::default(),
            extra_roots: options.extra_roots.clone(),
            accept_invalid_certificates: options.accept_invalid_certificates,
            overrides: options.overrides.clone(),
            allow: EVERY_ADDRESS.iter().filter_map(|range| range.parse().ok()).collect(),
            ..HttpOptions::default()
        };
        let fetcher = HttpFetcher::new(&options, clock.clone())
            .map_err(|error| config::setup::network::failure(config, &error))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            let advice = "check the limits on open files and threads";
            Failure::fault(format!("webhooks cannot be delivered: {error}"), advice)
        })?;
        let user_agent = config.etiquette.user_agent_line();
        Ok(Client { runtime, fetcher, names: DnsResolver::new(dns, clock), user_agent })
    }

    /// `Err` says in words why it did not arrive.
    pub fn post(&self, url: &CrawlUrl, key: &str, delivery: &Delivery) -> Result<(), String> {
        let profile = HttpProfile {
            user_agent: self.user_agent.clone(),
            accept: "*/*".to_owned(),
            headers: vec![
                ("Content-Type".to_owned(), "application/json".to_owned()),
                ("Harvestman-Delivery".to_owned(), delivery.id.clone()),
                ("Harvestman-Signature".to_owned(), delivery.signature(key)),
            ],
            ..HttpProfile::default()
        };
        self.fetcher.set_profile(SPIDER, &profile).map_err(|error| error.to_string())?;
        let sent = async {
            let addresses = self.addresses(url).await?;
            let request = request(url, addresses, delivery.body.clone().into());
            self.fetcher.fetch(request).await.map_err(|failure| failure.detail)
        };
        let sent = self.runtime.block_on(async { tokio::time::timeout(2 * TIME_MAX, sent).await });
        match sent {
            Err(_) => Err("no answer in time".to_owned()),
            Ok(Err(why)) => Err(why),
            Ok(Ok(answer)) if (200..300).contains(&answer.status) => Ok(()),
            Ok(Ok(answer)) => Err(format!("it answered {}", answer.status)),
        }
    }

    async fn addresses(&self, url: &CrawlUrl) -> Result<Vec<IpAddr>, String> {
        if url.host().trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return Ok(Vec::new());
        }
        let found = self.names.resolve(url.host()).await.map_err(|failure| failure.detail)?;
        Ok(found.addresses)
    }
}

/// Nobody's: profiles are by spider.
const SPIDER: SpiderId = SpiderId(u32::MAX);

fn request(url: &CrawlUrl, addresses: Vec<IpAddr>, body: Bytes) -> FetchRequest {
    let limits = FetchLimits {
        body_bytes_max: ANSWER_BYTES_MAX,
        head_bytes_max: ANSWER_BYTES_MAX as usize,
        connect: TIME_MAX,
        tls: TIME_MAX,
        first_byte: TIME_MAX,
        idle: TIME_MAX,
        total: TIME_MAX,
        media_types: vec!["*/*".to_owned()],
        ratio_max: 100,
        wire_bytes_max: Some(2 * ANSWER_BYTES_MAX),
    };
    FetchRequest {
        url: url.clone(),
        // Never archived.
        purpose: Purpose::Login,
        addresses,
        condition: None,
        spider: SPIDER,
        cookies: None,
        withhold_cookies: false,
        post: Some(body),
        limits: Arc::new(limits),
        type_gate: None,
    }
}
