//! `--resolve 'PATTERN=ADDR[:PORT]'`: names that are not looked up but sent to a given address.
//!
//! A pattern is an exact name, `*.suffix` (every name below the suffix, not the suffix itself) or `*`.
//! The exact name wins, then the longest suffix, then `*`. Several addresses for one pattern are tried
//! in order. With a port, connections for the name go to that port whatever the URL says.

use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Most telling pattern first.
    rules: Vec<Override>,
}

/// One `PATTERN=ADDR[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    pattern: Pattern,
    address: IpAddr,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Exact(String),
    /// With its leading dot.
    Suffix(String),
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    #[error("`{0}` lacks a `=`; write NAME=ADDRESS, such as *.example=127.0.0.1")]
    Form(String),
    #[error("`{0}` is not a name or pattern; write example.org, *.example.org or *")]
    Pattern(String),
    #[error("`{0}` is not an address; write 127.0.0.1, 127.0.0.1:8080, ::1 or [::1]:8080")]
    Address(String),
}

impl Overrides {
    pub fn new(mut rules: Vec<Override>) -> Overrides {
        // A stable sort: equal patterns keep the order in which they were given.
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.pattern.weight()));
        Overrides { rules }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Where connections for `host` go, when something was said about it.
    pub fn addresses(&self, host: &str) -> Option<Vec<IpAddr>> {
        let first = self.rule(host)?;
        let same = self.rules.iter().filter(|rule| rule.pattern == first.pattern);
        Some(same.map(|rule| rule.address).collect())
    }

    /// The port to use for `address` of `host` instead of the URL's.
    pub fn port(&self, host: &str, address: IpAddr) -> Option<u16> {
        let first = self.rule(host)?;
        let mut same = self.rules.iter().filter(|rule| rule.pattern == first.pattern);
        same.find(|rule| rule.address == address)?.port
    }

    fn rule(&self, host: &str) -> Option<&Override> {
        self.rules.iter().find(|rule| rule.pattern.matches(host))
    }
}

impl Pattern {
    fn matches(&self, host: &str) -> bool {
        match self {
            Pattern::Exact(name) => name == host,
            Pattern::Suffix(suffix) => host.len() > suffix.len() && host.ends_with(suffix.as_str()),
            Pattern::Any => true,
        }
    }

    fn weight(&self) -> usize {
        match self {
            Pattern::Exact(_) => usize::MAX,
            Pattern::Suffix(suffix) => suffix.len(),
            Pattern::Any => 0,
        }
    }
}

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Override, OverrideError> {
        let (pattern, target) =
            text.split_once('=').ok_or_else(|| OverrideError::Form(text.to_owned()))?;
        let pattern = parse_pattern(pattern.trim())?;
        let (address, port) = parse_target(target.trim())?;
        Ok(Override { pattern, address, port })
    }
}

fn parse_pattern(text: &str) -> Result<Pattern, OverrideError> {
    let wrong = || OverrideError::Pattern(text.to_owned());
    let name = text.trim_end_matches('.').to_ascii_lowercase();
    if text == "*" {
        return Ok(Pattern::Any);
    }
    let (suffix, rest) = match name.strip_prefix('*') {
        Some(rest) => (true, rest.strip_prefix('.').ok_or_else(wrong)?),
        None => (false, name.as_str()),
    };
    let odd = |c: char| c.is_ascii_whitespace() || matches!(c, '*' | '/' | '@');
    if rest.is_empty() || rest.starts_with('.') || rest.contains(odd) {
        return Err(wrong());
    }
    Ok(if suffix { Pattern::Suffix(format!(".{rest}")) } else { Pattern::Exact(name) })
}

fn parse_target(text: &str) -> Result<(IpAddr, Option<u16>), OverrideError> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse() {
        return Ok((address, None));
    }
    match text.parse::<SocketAddr>() {
        Ok(socket) if socket.port() != 0 => Ok((socket.ip(), Some(socket.port()))),
        _ => Err(OverrideError::Address(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rules: &[&str]) -> Overrides {
        Overrides::new(rules.iter().map(|rule| rule.parse().unwrap()).collect())
    }

    fn check(table: &Overrides, host: &str, expected: Option<&str>) {
        let got = table.addresses(host).map(|a| a[0]);
        assert_eq!(got, expected.map(|e| e.parse().unwrap()), "{host}");
    }

    #[test]
    fn exact_names_win_then_longer_suffixes_then_the_star() {
        let t = table(&[
            "*=9.9.9.9",
            "*.example=1.1.1.1",
            "a.b.example=3.3.3.3",
            "*.b.example=2.2.2.2",
        ]);
        check(&t, "a.b.example", Some("3.3.3.3"));
        check(&t, "x.b.example", Some("2.2.2.2"));
        check(&t, "b.example", Some("1.1.1.1"));
        check(&t, "example", Some("9.9.9.9"));
        check(&t, "notexample", Some("9.9.9.9"));
        check(&table(&["*.example=1.1.1.1"]), "example", None);
        check(&table(&["*.example=1.1.1.1"]), "badexample", None);
    }

    #[test]
    fn ports_follow_their_address_and_several_addresses_keep_their_order() {
        let t = table(&["h=127.0.0.1:8080", "h=[::1]:9090", "H.=10.0.0.1"]);
        let addresses = t.addresses("h").unwrap();
        assert_eq!(addresses.len(), 3);
        assert_eq!(t.port("h", addresses[0]), Some(8080));
        assert_eq!(t.port("h", addresses[1]), Some(9090));
        assert_eq!(t.port("h", addresses[2]), None);
        assert_eq!(t.port("other", addresses[0]), None);
    }

    #[test]
    fn mistakes_are_answered_in_plain_words() {
        let say = |text: &str| text.parse::<Override>().unwrap_err().to_string();
        assert!(say("example.org").contains("lacks a `=`"));
        assert!(say("*example=1.2.3.4").contains("not a name or pattern"));
        assert!(say("=1.2.3.4").contains("not a name or pattern"));
        assert!(say("a b=1.2.3.4").contains("not a name or pattern"));
        assert!(say("x=nowhere").contains("`nowhere` is not an address"));
        assert!(say("x=1.2.3.4:0").contains("not an address"));
        assert!(say("x=1.2.3.4:99999").contains("not an address"));
    }
}
