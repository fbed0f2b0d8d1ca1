//! Addresses inside networks, in every spelling that URLs have for them, and the ranges they lie in: written down
//! here once more, apart from the guard's own table.

use model::CrawlUrl;

use crate::http::Guard;

/// Hosts as a page may write them. Each is no URL at all, or leads to an address that is refused.
const SPELLINGS: [&str; 76] = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "2130706433",
    "0x7f000001",
    "0x7F000001",
    "0X7f000001",
    "017700000001",
    "0x7f.1",
    "0x7f.0.0.1",
    "0x7f.0x0.0x0.0x1",
    "0177.0.0.1",
    "0177.0.0.01",
    "0177.1",
    "0177.0x0.1",
    "127.0.0.0x1",
    "127.0x000000000001",
    "00000000177.0.0.1",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "１２７.0.0.1",
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1",
    "①②⑦.0.0.1",
    "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
    "0",
    "0.0.0.0",
    "0x0",
    "00",
    "0.1",
    "10.0.0.1",
    "10.1",
    "0xa.0x0.0x0.0x1",
    "012.0.0.1",
    "167772161",
    "172.16.0.1",
    "172.31.255.255",
    "2886729729",
    "192.168.0.1",
    "192.168.1",
    "0xc0a80101",
    "3232235777",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "0251.0376.0251.0376",
    "169.254.43518",
    "100.64.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "255.255.255.255",
    "4294967295",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:0:127.0.0.1]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[fc00::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
];

/// Of the registries of special addresses (RFC 6890 and after it), and what multicast and old plans left.
const RANGES: [&str; 36] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "224.0.0.0/24",
    "239.0.0.0/8",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "::/96",
    "::ffff:0:0/96",
    "::ffff:0:0:0/96",
    "64:ff9b::/104",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];

#[test]
fn no_spelling_of_an_inner_address_passes_the_guard() {
    let guard = Guard::default();
    let mut addresses = 0;
    for host in SPELLINGS {
        let Ok(url) = CrawlUrl::parse(&format!("http://{host}/")) else { continue };
        let address = url.host().trim_matches(['[', ']']).parse();
        let Ok(address) = address else { panic!("{host} became the name {}", url.host()) };
        addresses += 1;
        assert!(guard.check(address).is_err(), "{host} is {address} and passes");
    }
    assert!(addresses > 70, "most of them are addresses: {addresses}");
}

#[test]
fn both_ends_and_the_middle_of_every_inner_range_are_refused() {
    let guard = Guard::default();
    for text in RANGES {
        let range: model::Cidr = text.parse().unwrap();
        let (low, high) = range.edges();
        assert!(guard.check(low).is_err(), "{low} of {text}");
        // NAT64 ends in what it carries: 0.255.255.255 here.
        assert!(guard.check(high).is_err(), "{high} of {text}");
    }
}
