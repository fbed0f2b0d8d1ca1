//! What speaks against a URL: cheap to make and to compare, put into words only when it is reported.

use std::{fmt, sync::Arc};

use model::{Refusal, RefusalReason, SignalSource};

use crate::{
    Expansion, ExternalPolicy, Scope, ShippedRule, logged::Logged, script::ScriptFault, wildcards,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Objection<'a> {
    /// The user keeps away from it, by this pattern.
    Blocked(Arc<str>),
    /// The user had it forgotten; nothing that is written down may name it.
    Forgotten,
    /// Notices of this kind are not asked for.
    Notice(SignalSource),
    /// Longer than this many bytes.
    TooLong(usize),
    /// The rule of this number in `crawl.rules`, as written.
    Ruled(usize, &'a str),
    OutOfScope(Scope),
    /// Outside, and not within this many links of the scope.
    TooFarOutside(Scope, u8),
    /// No seed names its site, and such sites are not taken.
    Expansion,
    /// Links of this extension are only counted.
    Logged(&'a Logged),
    /// The same for links from tags that are only logged.
    LoggedTag,
    /// Inside the scope, but links to other sites are not followed.
    External(ExternalPolicy),
    Port(u16),
    /// One that browsers refuse, whoever names it.
    BadPort(u16),
    /// Deeper than this level.
    TooDeep(u16),
    /// The same for pages that are made on demand.
    TooDeepDynamic(u16),
    /// The same where the seed that led to it has a depth of its own.
    TooDeepForSeed(u16),
    /// More redirects in a row than this.
    Redirects(u8),
    /// One of the user's patterns.
    Pattern(&'a str),
    Shipped(&'static ShippedRule),
    /// The user's script, by name, said no.
    Filtered(&'a str),
    /// It had no answer.
    FilterFailed(&'a str, ScriptFault),
    NofollowLink,
    NofollowPage,
    /// Every name under its domain resolves, and only pages of that domain lead to it.
    Wildcard(String),
}

impl Objection<'_> {
    pub(crate) fn reason(&self) -> RefusalReason {
        match self {
            Objection::Blocked(_) | Objection::Forgotten => RefusalReason::Blocked,
            Objection::TooLong(_) => RefusalReason::TooLong,
            Objection::Ruled(..) | Objection::Notice(_) => RefusalReason::Rule,
            Objection::OutOfScope(_)
            | Objection::TooFarOutside(..)
            | Objection::Expansion
            | Objection::External(_) => RefusalReason::Scope,
            Objection::Logged(_) | Objection::LoggedTag => RefusalReason::Logged,
            Objection::Port(_) | Objection::BadPort(_) => RefusalReason::Port,
            Objection::TooDeep(_) | Objection::TooDeepDynamic(_) | Objection::TooDeepForSeed(_) => {
                RefusalReason::Depth
            }
            Objection::Redirects(_) => RefusalReason::Redirects,
            Objection::Pattern(_) | Objection::Shipped(_) => RefusalReason::RejectList,
            Objection::Filtered(_) | Objection::FilterFailed(..) => RefusalReason::Filter,
            Objection::NofollowLink | Objection::NofollowPage => RefusalReason::Nofollow,
            Objection::Wildcard(_) => RefusalReason::Trap,
        }
    }

    pub(crate) fn refusal(&self) -> Refusal {
        Refusal { reason: self.reason(), rule: self.to_string() }
    }

    /// For somebody who asks why.
    pub(crate) fn why(&self) -> String {
        match self {
            Objection::Blocked(_) => "it is on the list of blocks".to_owned(),
            Objection::Forgotten => {
                "it was deleted with forget; forget --undo allows it again".to_owned()
            }
            Objection::Notice(_) => "sitemaps or feeds of this kind are not read".to_owned(),
            Objection::TooLong(max) => format!("the URL has more than {max} bytes"),
            Objection::Ruled(..) => "it is the first rule that matches".to_owned(),
            Objection::OutOfScope(Scope::Site) => "no seed names its site".to_owned(),
            Objection::OutOfScope(Scope::Domain) => {
                "no seed names its registrable domain".to_owned()
            }
            Objection::OutOfScope(Scope::Listed) => "it is not a seed".to_owned(),
            Objection::OutOfScope(_) => "it is not below the folder of a seed".to_owned(),
            Objection::TooFarOutside(_, max) => {
                format!("it is outside the scope and not within {max} links of it")
            }
            Objection::Expansion => "no seed names its site".to_owned(),
            Objection::Logged(_) => "links with this extension are counted only".to_owned(),
            Objection::LoggedTag => "links from these tags are counted only".to_owned(),
            Objection::External(_) => "links to other sites are not followed".to_owned(),
            Objection::Port(port) => format!("no seed names port {port}"),
            Objection::BadPort(_) => {
                "it is that of another protocol; fetch.allow_ports can allow it".to_owned()
            }
            Objection::TooDeep(max) => format!("its level is above {max}"),
            Objection::TooDeepDynamic(max) => {
                format!("it is a dynamic page, and its level is above {max}")
            }
            Objection::TooDeepForSeed(max) => {
                format!("its level is above {max}, the depth of the seed that led to it")
            }
            Objection::Redirects(max) => format!("more than {max} redirects in a row led to it"),
            Objection::Pattern(pattern) => format!("it matches {pattern}"),
            Objection::Shipped(rule) => rule.reason.to_owned(),
            Objection::Filtered(_) => "crawl(url) returned false".to_owned(),
            Objection::FilterFailed(..) => "the script failed, so the URL is refused".to_owned(),
            Objection::NofollowLink | Objection::NofollowPage => {
                "the page asks not to follow it".to_owned()
            }
            Objection::Wildcard(domain) => {
                format!(
                    "every name under {domain} resolves, and only its own pages link to this one"
                )
            }
        }
    }
}

/// The rule in the configuration's words.
impl fmt::Display for Objection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::Blocked(pattern) => f.write_str(&Refusal::blocked(pattern).rule),
            Objection::Forgotten => f.write_str(Refusal::FORGOTTEN),
            Objection::Notice(SignalSource::Sitemap) => f.write_str("crawl.sitemaps = \"off\""),
            Objection::Notice(SignalSource::Feed) => f.write_str("crawl.feeds = false"),
            Objection::Notice(SignalSource::Rdf) => f.write_str("crawl.robots_rdf = false"),
            Objection::TooLong(max) => write!(f, "URLs of at most {max} bytes"),
            Objection::Ruled(number, text) => write!(f, "crawl.rules {number}: {text}"),
            Objection::OutOfScope(scope) => write!(f, "crawl.scope = \"{}\"", scope.word()),
            Objection::TooFarOutside(scope, max) => {
                write!(f, "crawl.scope = \"{}\", crawl.outside = {max}", scope.word())
            }
            Objection::Expansion => write!(f, "crawl.expansion = \"{}\"", Expansion::Off.word()),
            Objection::Logged(Logged { group, extension }) => {
                write!(f, "crawl.log_extensions: {group} ({extension})")
            }
            Objection::LoggedTag => f.write_str("parse.log_tags"),
            Objection::External(policy) => write!(f, "crawl.external = \"{}\"", policy.word()),
            Objection::Port(port) => write!(f, "ports named by seeds, not {port}"),
            Objection::BadPort(port) => f.write_str(&Refusal::bad_port(*port).rule),
            Objection::TooDeep(max) => write!(f, "crawl.depth = {max}"),
            Objection::TooDeepDynamic(max) => write!(f, "crawl.depth_dynamic = {max}"),
            Objection::TooDeepForSeed(max) => write!(f, "depth of its seed = {max}"),
            Objection::Redirects(max) => write!(f, "crawl.redirects = {max}"),
            Objection::Pattern(pattern) => write!(f, "reject.patterns: {pattern}"),
            Objection::Shipped(rule) => write!(f, "reject list: {}", rule.name),
            Objection::Filtered(name) => write!(f, "crawl.filter = \"{name}\""),
            Objection::FilterFailed(name, fault) => {
                write!(f, "crawl.filter = \"{name}\" {fault}")
            }
            Objection::NofollowLink => f.write_str("rel=nofollow"),
            Objection::NofollowPage => f.write_str("meta robots or X-Robots-Tag: nofollow"),
            Objection::Wildcard(domain) => f.write_str(&wildcards::rule(domain)),
        }
    }
}
