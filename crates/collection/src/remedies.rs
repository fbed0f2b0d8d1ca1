//! What the user can do about a refusal, in the words of flags and keys: once for every front end.

use model::{Refusal, RefusalReason};

/// What the user can do about what this rule refused; for most rules the reason says enough.
pub fn remedy(reason: RefusalReason, rule: &str) -> &'static str {
    match reason {
        RefusalReason::Limit if rule.ends_with(": longer than is read") => {
            "50,000 entries of a sitemap are read, and 5,000 of a feed; no key changes that, but links \
             lead to the others, and a site can split its sitemap"
        }
        RefusalReason::Limit if rule.ends_with("sitemaps and feeds of a site") => {
            "no key changes that; links lead to the pages that the others name"
        }
        RefusalReason::TooLarge if rule.ends_with(": larger than the limit") => {
            "20 MB of a sitemap or feed are read; no key changes that"
        }
        RefusalReason::TooLarge if rule == "fetch.requisite_bytes_max" => {
            "raise fetch.requisite_bytes_max to fetch it"
        }
        RefusalReason::Port if Refusal::is_bad_port(rule) => {
            "name the port in fetch.allow_ports to visit it"
        }
        _ => remedy_of(reason),
    }
}

/// What the user can do about a refusal, in the words of flags and keys.
pub fn remedy_of(reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::Scheme => "only http and https can be crawled",
        RefusalReason::Invalid => "these are not valid URLs; nothing can be done here",
        RefusalReason::TooLong => "raise url.bytes_max to crawl longer URLs",
        RefusalReason::Scope => {
            "widen with --scope domain or --scope any (and --fresh), or seed it"
        }
        RefusalReason::Rule => "a rule of crawl.rules rejects it; explain names the rule",
        RefusalReason::Filter => "the script of crawl.filter refuses it",
        RefusalReason::Depth => "raise --depth to go deeper, with --fresh",
        RefusalReason::RejectList => {
            "switch built-in rules off with reject.disable, or edit reject.patterns"
        }
        RefusalReason::Robots => "the site's robots.txt forbids it; ask its owner",
        RefusalReason::Nofollow => {
            "crawl.follow_nofollow = true follows marked links, but not links of pages that say nofollow"
        }
        RefusalReason::Redirects => "raise crawl.redirects to follow longer chains",
        RefusalReason::Limit => {
            "raise --pages, --site-pages, crawl.sites, crawl.discovered_urls or hazards.domain_hosts"
        }
        RefusalReason::Blocked => {
            "you blocked it, or deleted it for good: see `harvestman block` and `harvestman forget`"
        }
        RefusalReason::Trap => {
            "lift it with `harvestman traps lift` or `harvestman quarantine lift`, or seed it"
        }
        RefusalReason::MediaType => {
            "keep it with --all-types, or name the type in fetch.media_types"
        }
        RefusalReason::TooLarge => "raise fetch.body_bytes_max to fetch it",
        RefusalReason::Logged => "counted only, by crawl.log_extensions or parse.log_tags",
        RefusalReason::Port => {
            "name the port in crawl.ports or seed it; fetch.allow_ports for ports that browsers refuse"
        }
        RefusalReason::Address => "allow the address with --allow-address (fetch.allow_address)",
    }
}
