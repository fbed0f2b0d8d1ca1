//! The address guard: which addresses a crawl may connect to.
//!
//! A page on the open web must not make the crawler read what stands inside its own network (server-side
//! request forgery). Names prove nothing, since they can be made to point anywhere between check and
//! use; so the guard looks at each address at the moment of connecting, whatever the URL said. Everything
//! in [`super::ranges`] is refused unless the user allowed it. An IPv4 address inside an IPv6 one is
//! unwrapped and judged as well. What the gate refuses (the user's blocks) is refused before that, allowed
//! or not.

use std::{net::IpAddr, sync::Arc};

use model::{Cidr, Gate, OpenGate, Refusal, RefusalReason};

use super::ranges::{NAT64, SpecialRange, embedded, special};

#[derive(Clone, Debug)]
pub struct Guard {
    allow: Vec<Cidr>,
    gate: Arc<dyn Gate>,
}

/// Why an address was refused; its text says how to allow it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AddressRefused {
    #[error(
        "{address} is in {} ({}), which is not crawled; allow it with --allow-address {address}",
        range.block, range.name
    )]
    Special { address: IpAddr, range: SpecialRange },
    #[error("{address} is kept away from ({rule}); see `harvestman block`")]
    Blocked { address: IpAddr, rule: String },
}

impl AddressRefused {
    /// As a decision, without the remedy.
    pub fn refusal(&self) -> Refusal {
        match self {
            AddressRefused::Special { address, range } => {
                let rule =
                    format!("address {address}, which is in {} ({})", range.block, range.name);
                Refusal { reason: RefusalReason::Address, rule }
            }
            AddressRefused::Blocked { rule, .. } => {
                Refusal { reason: RefusalReason::Blocked, rule: rule.clone() }
            }
        }
    }
}

impl Default for Guard {
    fn default() -> Guard {
        Guard::new(Vec::new(), Arc::new(OpenGate))
    }
}

impl Guard {
    pub fn new(allow: Vec<Cidr>, gate: Arc<dyn Gate>) -> Guard {
        Guard { allow, gate }
    }

    pub fn check(&self, address: IpAddr) -> Result<(), AddressRefused> {
        let inside = match address {
            IpAddr::V4(_) => None,
            IpAddr::V6(v6) => embedded(v6).map(IpAddr::V4),
        };
        let either = [Some(address), inside].into_iter().flatten();
        if let Some(refusal) = either.into_iter().find_map(|a| self.gate.refuses_address(a)) {
            return Err(AddressRefused::Blocked { address, rule: refusal.rule });
        }
        // Who may reach an IPv4 address may reach it in each of its spellings.
        if self.allowed(address) || inside.is_some_and(|inner| self.allowed(inner)) {
            return Ok(());
        }
        let range = match inside {
            Some(inner) if NAT64.contains(address) => special(inner),
            _ => special(address),
        };
        range.map_or(Ok(()), |range| Err(AddressRefused::Special { address, range }))
    }

    fn allowed(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|block| block.contains(address))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::http::ranges::{IPV4, IPV6};

    fn refused(text: &str) -> bool {
        Guard::default().check(text.parse().unwrap()).is_err()
    }

    #[test]
    fn both_edges_of_every_special_range_are_refused() {
        for range in IPV4.iter().chain(IPV6) {
            let (low, high) = range.block.edges();
            assert!(Guard::default().check(low).is_err(), "{low} of {}", range.name);
            // 64:ff9b::/96 lies inside a reserved block and is judged by what it carries.
            assert!(Guard::default().check(high).is_err(), "{high} of {}", range.name);
        }
    }

    #[test]
    fn neighbours_of_special_ranges_are_reached() {
        let open = [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "203.0.114.0",
            "223.255.255.255",
            "8.8.8.8",
            "2000::1",
            "2001:200::1",
            "2001:4860::8888",
            "2001:db7:ffff::",
            "2001:db9::",
            "2003::1",
            "2606:4700::1",
            "3ffe::1",
            "3fff:1000::1",
        ];
        for address in open {
            assert!(!refused(address), "{address}");
        }
    }

    #[test]
    fn embedded_ipv4_addresses_are_unwrapped() {
        let closed = [
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001:0:1:2:3:4:80ff:fffe",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "::ffff:8.8.8.8",
            "2002:808:808::1",
        ];
        for address in closed {
            assert!(refused(address), "{address}");
        }
        assert!(!refused("64:ff9b::8.8.8.8"), "NAT64 to a public server is the web");
    }

    #[test]
    fn what_the_user_allows_is_reached_in_each_of_its_spellings() {
        let guard = Guard::new(
            vec!["127.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()],
            Arc::new(OpenGate),
        );
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"] {
            assert!(guard.check(address.parse().unwrap()).is_ok(), "{address}");
        }
        for address in ["10.0.0.1", "::ffff:10.0.0.1", "fe80::1"] {
            assert!(guard.check(address.parse().unwrap()).is_err(), "{address}");
        }
    }

    #[derive(Debug)]
    struct Deny(Cidr);

    impl Gate for Deny {
        fn refuses_url(&self, _: &model::CrawlUrl) -> Option<model::Refusal> {
            None
        }

        fn refuses_address(&self, address: IpAddr) -> Option<model::Refusal> {
            self.0.contains(address).then(|| model::Refusal::blocked(&self.0.to_string()))
        }
    }

    #[test]
    fn what_the_gate_refuses_is_refused_in_each_of_its_spellings_although_it_is_allowed() {
        let allow = vec!["127.0.0.0/8".parse().unwrap()];
        let guard = Guard::new(allow, Arc::new(Deny("127.0.0.0/30".parse().unwrap())));
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"] {
            let refusal = guard.check(address.parse().unwrap()).unwrap_err().to_string();
            assert!(refusal.contains("block: 127.0.0.0/30"), "{refusal}");
        }
        assert!(guard.check("127.0.0.9".parse().unwrap()).is_ok());
        assert!(guard.check("8.8.8.8".parse().unwrap()).is_ok());
    }

    #[test]
    fn a_refusal_names_address_range_and_remedy() {
        let refusal = Guard::default().check("10.1.2.3".parse().unwrap()).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "10.1.2.3 is in 10.0.0.0/8 (Private-Use), which is not crawled; \
             allow it with --allow-address 10.1.2.3"
        );
    }

    proptest! {
        #[test]
        fn whatever_the_standard_library_calls_private_is_refused(bits: u32) {
            let v4 = std::net::Ipv4Addr::from_bits(bits);
            let private = v4.is_private() || v4.is_loopback() || v4.is_link_local()
                || v4.is_multicast() || v4.is_broadcast() || v4.is_documentation();
            if private {
                prop_assert!(Guard::default().check(v4.into()).is_err());
                prop_assert!(Guard::default().check(v4.to_ipv6_mapped().into()).is_err());
                prop_assert!(Guard::default().check(v4.to_ipv6_compatible().into()).is_err());
            }
        }
    }
}
