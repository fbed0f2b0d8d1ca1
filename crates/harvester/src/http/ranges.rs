//! The addresses that are nobody's web server: IANA's special-purpose registries as data, with the
//! registry's names (iana-ipv4-special-registry, iana-ipv6-special-registry, RFC 6890), and the blocks
//! that carry an IPv4 address inside an IPv6 one.
//!
//! Blocks that the registry calls globally reachable (AS112, AMT) are here as well: no page lives there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model::Cidr;

/// One row of the registry.
#[derive(Clone, Copy, Debug)]
pub struct SpecialRange {
    pub block: Cidr,
    pub name: &'static str,
}

/// The special range that `address` itself lies in; embedded addresses are [`embedded`]'s matter.
pub fn special(address: IpAddr) -> Option<SpecialRange> {
    let table: &[SpecialRange] = if address.is_ipv4() { IPV4 } else { IPV6 };
    table.iter().find(|range| range.block.contains(address)).copied()
}

/// The IPv4 address that an IPv6 address stands for, by the form that carries it.
pub fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = address.to_bits();
    let low = Ipv4Addr::from_bits(bits as u32);
    let carries = |block: Cidr| block.contains(IpAddr::V6(address));
    if carries(SIX_TO_FOUR) {
        return Some(Ipv4Addr::from_bits((bits >> 80) as u32));
    }
    if carries(TEREDO) {
        // RFC 4380: the client's address with every bit turned over.
        return Some(Ipv4Addr::from_bits(!(bits as u32)));
    }
    let whole = [MAPPED, COMPATIBLE, TRANSLATED, NAT64, NAT64_LOCAL];
    whole.into_iter().any(carries).then_some(low)
}

/// The well-known NAT64 prefix: on IPv6-only networks every IPv4 server is reached through it, so it is
/// judged by the address inside.
pub const NAT64: Cidr = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const NAT64_LOCAL: Cidr = v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48);
const MAPPED: Cidr = v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96);
const COMPATIBLE: Cidr = v6([0, 0, 0, 0, 0, 0, 0, 0], 96);
const TRANSLATED: Cidr = v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96);
const SIX_TO_FOUR: Cidr = v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);
const TEREDO: Cidr = v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);

/// The first row that holds an address names it, so smaller blocks stand before larger ones.
pub const IPV4: &[SpecialRange] = &[
    row(v4([0, 0, 0, 0], 8), "This network"),
    row(v4([10, 0, 0, 0], 8), "Private-Use"),
    row(v4([100, 64, 0, 0], 10), "Shared Address Space"),
    row(v4([127, 0, 0, 0], 8), "Loopback"),
    row(v4([169, 254, 0, 0], 16), "Link Local"),
    row(v4([172, 16, 0, 0], 12), "Private-Use"),
    row(v4([192, 0, 0, 0], 24), "IETF Protocol Assignments"),
    row(v4([192, 0, 2, 0], 24), "Documentation (TEST-NET-1)"),
    row(v4([192, 31, 196, 0], 24), "AS112-v4"),
    row(v4([192, 52, 193, 0], 24), "AMT"),
    row(v4([192, 88, 99, 0], 24), "Deprecated (6to4 Relay Anycast)"),
    row(v4([192, 168, 0, 0], 16), "Private-Use"),
    row(v4([192, 175, 48, 0], 24), "Direct Delegation AS112 Service"),
    row(v4([198, 18, 0, 0], 15), "Benchmarking"),
    row(v4([198, 51, 100, 0], 24), "Documentation (TEST-NET-2)"),
    row(v4([203, 0, 113, 0], 24), "Documentation (TEST-NET-3)"),
    row(v4([224, 0, 0, 0], 4), "Multicast"),
    row(v4([255, 255, 255, 255], 32), "Limited Broadcast"),
    row(v4([240, 0, 0, 0], 4), "Reserved"),
];

pub const IPV6: &[SpecialRange] = &[
    row(v6([0, 0, 0, 0, 0, 0, 0, 1], 128), "Loopback Address"),
    row(v6([0, 0, 0, 0, 0, 0, 0, 0], 128), "Unspecified Address"),
    row(MAPPED, "IPv4-mapped Address"),
    row(COMPATIBLE, "IPv4-compatible Address (deprecated)"),
    row(TRANSLATED, "IPv4-translated Address"),
    row(NAT64_LOCAL, "IPv4-IPv6 Translation (local use)"),
    row(v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "Discard-Only Address Block"),
    row(v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64), "Dummy IPv6 Prefix"),
    row(TEREDO, "TEREDO"),
    row(v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), "Benchmarking"),
    row(v6([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28), "ORCHIDv2"),
    row(v6([0x2001, 0x30, 0, 0, 0, 0, 0, 0], 28), "Drone Remote ID Protocol Entity Tags"),
    row(v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "IETF Protocol Assignments"),
    row(v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "Documentation"),
    row(SIX_TO_FOUR, "6to4"),
    row(v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), "Direct Delegation AS112 Service"),
    row(v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "Documentation"),
    row(v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), "Segment Routing (SRv6) SIDs"),
    row(v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "Unique-Local"),
    row(v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "Link-Local Unicast"),
    row(v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "Site-Local Unicast (deprecated)"),
    row(v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "Multicast"),
    // What is left outside 2000::/3 is not handed out to anybody (RFC 4291 section 2.4), but for
    // 64:ff9b::/96, which the guard looks at before this table.
    row(v6([0, 0, 0, 0, 0, 0, 0, 0], 3), "Reserved by IETF"),
    row(v6([0x4000, 0, 0, 0, 0, 0, 0, 0], 2), "Reserved by IETF"),
    row(v6([0x8000, 0, 0, 0, 0, 0, 0, 0], 1), "Reserved by IETF"),
];

const fn row(block: Cidr, name: &'static str) -> SpecialRange {
    SpecialRange { block, name }
}

const fn v4(octets: [u8; 4], prefix: u8) -> Cidr {
    Cidr::new(IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3])), prefix)
}

const fn v6(s: [u16; 8], prefix: u8) -> Cidr {
    Cidr::new(IpAddr::V6(Ipv6Addr::new(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7])), prefix)
}
