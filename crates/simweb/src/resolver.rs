//! Names of the simulated web, in process.

use std::{net::IpAddr, sync::Arc, time::Duration};

use model::{BoxFuture, Clock, FailureKind, FetchFailure, Resolution, Resolve};

use crate::SimWeb;

/// How long an answer may be kept.
const LIFE: Duration = Duration::from_secs(3600);

pub struct SimResolver {
    web: Arc<SimWeb>,
    clock: Arc<dyn Clock>,
}

impl SimResolver {
    pub fn new(web: Arc<SimWeb>, clock: Arc<dyn Clock>) -> SimResolver {
        SimResolver { web, clock }
    }

    fn answer(&self, host: &str) -> Result<Resolution, FetchFailure> {
        let addresses = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => self.web.address(host).into_iter().collect(),
        };
        if addresses.is_empty() {
            let detail = format!("the simulated web has no host {host}");
            return Err(FetchFailure::new(FailureKind::DnsUnknown, detail));
        }
        Ok(Resolution { addresses, expires: self.clock.now().plus(LIFE) })
    }
}

impl Resolve for SimResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'_, Result<Resolution, FetchFailure>> {
        let answer = self.answer(host);
        Box::pin(async move { answer })
    }
}
