//! Which old versions are kept.

use store::thin::{Keep, KeepRule};

use crate::{Config, failure::Failure, units};

const EXAMPLE: &str = "write it such as \"all 30d, then 1 per 7d\", or \"none\" to be without";

/// `None`: all of them.
pub fn keep(config: &Config) -> Result<Option<Keep>, Failure> {
    let store = &config.store;
    let rule = store.keep.as_deref().map(|text| {
        KeepRule::parse(text, units::parse_time)
            .map_err(|what| config.refuse("store.keep", text, what, EXAMPLE))
    });
    let keep = Keep { rule: rule.transpose()?, versions_bytes_max: store.versions_bytes_max };
    Ok((keep.rule.is_some() || keep.versions_bytes_max.is_some()).then_some(keep))
}
