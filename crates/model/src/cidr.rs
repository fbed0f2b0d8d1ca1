//! `Cidr`: a block of addresses as people write it, `10.0.0.0/8` or a bare address.

use std::{fmt, net::IpAddr, str::FromStr};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr {
    /// The lowest address of the block.
    base: IpAddr,
    prefix: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CidrError {
    #[error("`{0}` is not an address; write 10.0.0.0/8, 127.0.0.1 or fd00::/8")]
    Address(String),
    #[error("`{0}` is not a prefix length; write a number from 0 to {1} after the slash")]
    Prefix(String, u8),
    #[error("`{0}` has bits set after the first {1}; write {2}")]
    HostBits(String, u8, Cidr),
}

impl Cidr {
    /// The block of the first `prefix` bits of `address`; longer prefixes than the address are cut to it.
    pub const fn new(address: IpAddr, prefix: u8) -> Cidr {
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = if prefix > width { width } else { prefix };
        Cidr { base: address, prefix }
    }

    /// Families are never mixed: `0.0.0.0/0` holds no IPv6 address, not even an IPv4-mapped one.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                (base.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                (base.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }

    /// How many bits all its addresses share.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// The lowest and the highest address of the block.
    pub fn edges(&self) -> (IpAddr, IpAddr) {
        match self.base {
            IpAddr::V4(base) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                let low = base.to_bits() & mask;
                (IpAddr::V4(low.into()), IpAddr::V4((low | !mask).into()))
            }
            IpAddr::V6(base) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                let low = base.to_bits() & mask;
                (IpAddr::V6(low.into()), IpAddr::V6((low | !mask).into()))
            }
        }
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Cidr, CidrError> {
        let text = text.trim();
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let bare = address.strip_prefix('[').and_then(|a| a.strip_suffix(']')).unwrap_or(address);
        let base: IpAddr = bare.parse().map_err(|_| CidrError::Address(text.to_owned()))?;
        let width = if base.is_ipv4() { 32 } else { 128 };
        let Some(prefix) = prefix else { return Ok(Cidr::new(base, width)) };
        let length = prefix.parse().ok().filter(|p| *p <= width && !prefix.starts_with('+'));
        let length = length.ok_or_else(|| CidrError::Prefix(prefix.to_owned(), width))?;
        let block = Cidr::new(base, length);
        let lowest = block.edges().0;
        if lowest != base {
            return Err(CidrError::HostBits(text.to_owned(), length, Cidr::new(lowest, length)));
        }
        Ok(block)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::Cidr;

    fn check(text: &str, inside: &[&str], outside: &[&str]) {
        let block: Cidr = text.parse().unwrap();
        for address in inside {
            assert!(block.contains(address.parse().unwrap()), "{address} in {text}");
        }
        for address in outside {
            assert!(!block.contains(address.parse().unwrap()), "{address} not in {text}");
        }
    }

    #[test]
    fn blocks_hold_exactly_their_addresses() {
        check("10.0.0.0/8", &["10.0.0.0", "10.255.255.255"], &["9.255.255.255", "11.0.0.0", "::1"]);
        check("127.0.0.1", &["127.0.0.1"], &["127.0.0.2", "127.0.0.0"]);
        check("0.0.0.0/0", &["0.0.0.0", "255.255.255.255"], &["::", "::ffff:1.2.3.4"]);
        check("::/0", &["::", "ffff::"], &["1.2.3.4"]);
        check("fd00::/8", &["fd00::", "fdff::1"], &["fc00::", "fe00::"]);
        check("[::1]", &["::1"], &["::2"]);
    }

    #[test]
    fn mistakes_are_answered_in_plain_words() {
        let say = |text: &str| text.parse::<Cidr>().unwrap_err().to_string();
        assert!(say("localhost").contains("`localhost` is not an address"));
        assert!(say("10.0.0.0/33").contains("from 0 to 32"));
        assert!(say("::1/129").contains("from 0 to 128"));
        assert!(say("10.0.0.0/").contains("not a prefix length"));
        assert!(say("10.0.0.0/+8").contains("not a prefix length"));
        assert!(say("10.1.2.3/8").ends_with("write 10.0.0.0/8"));
        assert!(say("").contains("is not an address"));
    }
}
