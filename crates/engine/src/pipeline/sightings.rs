//! Which hazards a visit met: read off what went over the wire and what the gatherer could not use.
//!
//! The transport and the gatherer say what they met by type; here it gets its place and its measure. What
//! takes more than one visit to see (traps, loops) is seen by the holder of the site's lease, not here.

use gatherer::{GatherProblem, Gathered};
use harvester::robots::Robots;
use model::{
    CrawlUrl, Decision, Exchange, FailureKind, FetchFailure, Hazard, Measure, RefusalReason,
    RobotsAnswer, RobotsCopy, Sighting, Stopped,
};

/// What a server calls its contents is its own invention: enough to recognise it.
const NAME_CHARS_MAX: usize = 60;

pub fn of_page(exchange: &Exchange, gathered: &Gathered) -> Vec<Sighting> {
    let url = &exchange.url;
    let mut met = of_exchange(exchange);
    met.extend(wrong_type(exchange, gathered));
    met.extend(gathered.problems.iter().filter_map(|problem| problem_met(url, problem, gathered)));
    if gathered.refresh.as_ref().is_some_and(|refresh| refresh.url == *url) {
        met.push(Sighting::at(url, Hazard::RefreshLoop, Measure::Noted));
    }
    met
}

/// Of the wire alone: all there is to say of a robots.txt.
pub fn of_exchange(exchange: &Exchange) -> Vec<Sighting> {
    let mut met: Vec<Sighting> = exchange.met.iter().map(|met| met.at(&exchange.url)).collect();
    met.extend(stopped(exchange));
    if (500..600).contains(&exchange.status) || exchange.status == 429 {
        met.push(server_trouble(exchange));
    }
    met
}

/// Links that were refused for what they are: too deep, too long, behind too many redirects or an odd port.
pub fn of_refusals(refused: &[Decision]) -> impl Iterator<Item = Sighting> + '_ {
    refused.iter().filter_map(|decision| {
        let hazard = match decision.reason {
            RefusalReason::Depth => Hazard::DepthLimit,
            RefusalReason::TooLong => Hazard::LongUrl,
            RefusalReason::Redirects => Hazard::RedirectChain,
            RefusalReason::Port => Hazard::UnusualPort,
            _ => return None,
        };
        Some(Sighting {
            site: decision.site.clone(),
            hazard,
            what: String::new(),
            measure: Measure::Refused,
            count: decision.count,
            example: decision.example.clone(),
        })
    })
}

/// Of a visit that brought no answer.
pub fn of_failure(url: &CrawlUrl, failure: &FetchFailure) -> Option<Sighting> {
    if let Some(met) = failure.met {
        return Some(met.at(url));
    }
    let (hazard, measure) = match failure.kind {
        FailureKind::DnsUnknown => (Hazard::UnknownHost, Measure::Noted),
        FailureKind::DnsTrouble => (Hazard::DnsError, Measure::Noted),
        FailureKind::AddressRefused => (Hazard::PrivateAddress, Measure::Refused),
        FailureKind::ConnectRefused | FailureKind::ConnectTimeout => {
            (Hazard::Unreachable, Measure::Noted)
        }
        FailureKind::Tls => (Hazard::TlsError, Measure::Refused),
        FailureKind::Reset => (Hazard::Disconnected, Measure::Noted),
        FailureKind::Timeout => (Hazard::SlowResponse, Measure::Truncated),
        FailureKind::BadHttp => (Hazard::BadHttp, Measure::Refused),
        FailureKind::Proxy | FailureKind::Aborted | FailureKind::StaleConnection => return None,
    };
    Some(Sighting::at(url, hazard, measure))
}

/// Of a copy of robots.txt: lines that mean nothing, lines that were read as what they mean, or that it cannot be
/// had.
pub fn of_robots(copy: &RobotsCopy) -> Vec<Sighting> {
    let url = copy.origin.robots_url();
    match &copy.answer {
        RobotsAnswer::Rules(text) => {
            let robots = Robots::read(text);
            let errors = |measure, what: &str, count| Sighting {
                count,
                ..Sighting::at(&url, Hazard::RobotsErrors, measure).of(what)
            };
            let mut met = vec![
                errors(Measure::Noted, "", robots.mistakes()),
                errors(Measure::Corrected, "lines read as they are meant", robots.mended()),
            ];
            met.retain(|met| met.count > 0);
            met
        }
        RobotsAnswer::Unreachable { .. } => {
            vec![Sighting::at(&url, Hazard::RobotsUnreachable, Measure::Refused)]
        }
        RobotsAnswer::Unavailable { .. } => Vec::new(),
    }
}

/// Why the body is not whole, unless the transport has said it better.
fn stopped(exchange: &Exchange) -> Option<Sighting> {
    use Hazard::{
        BrokenEncoding, DecompressionBomb, EndlessBody, Http2Abuse, LargeBody, LargeWindow,
        NestedEncoding,
    };
    let (hazard, measure, better): (_, _, &[Hazard]) = match exchange.stopped? {
        Stopped::Type => return None,
        Stopped::Announced => (LargeBody, Measure::Refused, &[]),
        Stopped::Length => (
            LargeBody,
            Measure::Truncated,
            &[LargeBody, EndlessBody, DecompressionBomb, Http2Abuse],
        ),
        Stopped::Time => (Hazard::SlowBody, Measure::Truncated, &[]),
        Stopped::Disconnect => (Hazard::Disconnected, Measure::Truncated, &[]),
        Stopped::Coding => {
            (BrokenEncoding, Measure::Truncated, &[BrokenEncoding, NestedEncoding, LargeWindow])
        }
    };
    let is_said = exchange.met.iter().any(|met| better.contains(&met.hazard));
    (!is_said).then(|| Sighting::at(&exchange.url, hazard, measure))
}

/// Also a missing type is a wrong one.
fn wrong_type(exchange: &Exchange, gathered: &Gathered) -> Option<Sighting> {
    if exchange.body.is_empty() || gathered.declared_type == gathered.media_type {
        return None;
    }
    let unread = |problem: &GatherProblem| {
        matches!(problem, GatherProblem::NotText { .. } | GatherProblem::NotWanted { .. })
    };
    let read = !gathered.problems.iter().any(unread);
    let measure = if read { Measure::Corrected } else { Measure::Refused };
    let declared = match gathered.declared_type.as_str() {
        "" => "nothing",
        declared => declared,
    };
    let what = format!("{}, really {}", short(declared), gathered.media_type);
    Some(Sighting::at(&exchange.url, Hazard::WrongType, measure).of(what))
}

fn problem_met(url: &CrawlUrl, problem: &GatherProblem, gathered: &Gathered) -> Option<Sighting> {
    let met = |hazard, measure| Sighting::at(url, hazard, measure);
    let many = |hazard, count| Sighting { count, ..met(hazard, Measure::Refused) };
    Some(match problem {
        // The types themselves say it.
        GatherProblem::NotText { .. } | GatherProblem::NotWanted { .. } => return None,
        GatherProblem::Undecodable => met(Hazard::WrongCharset, Measure::Refused),
        GatherProblem::WrongCharset { declared, found } => {
            // Without a byte order mark a wrong name is believed, as browsers do.
            let mended = *found == gathered.charset;
            let measure = if mended { Measure::Corrected } else { Measure::Noted };
            met(Hazard::WrongCharset, measure).of(format!("{declared}, really {found}"))
        }
        GatherProblem::Malformed { charset } => {
            met(Hazard::MalformedText, Measure::Corrected).of(charset.clone())
        }
        GatherProblem::InvalidUrls(examples) => many(Hazard::InvalidUrls, examples.count),
        GatherProblem::LongUrls(examples) => many(Hazard::LongUrl, examples.count),
        GatherProblem::HostAliases(examples) => {
            let example = examples.first.first().cloned().unwrap_or_default();
            Sighting {
                example,
                count: examples.count,
                ..met(Hazard::HostAlias, Measure::Corrected)
            }
        }
        GatherProblem::Canonicals(_) => {
            met(Hazard::CanonicalConflict, Measure::Refused).of("several on one page")
        }
        GatherProblem::LinksOverLimit { .. } | GatherProblem::RequisitesOverLimit { .. } => {
            met(Hazard::ManyLinks, Measure::Truncated)
        }
        GatherProblem::DeepNesting { .. } => met(Hazard::DeepNesting, Measure::Noted),
        GatherProblem::LongValue(piece) => met(Hazard::LongValue, Measure::Noted).of(piece.word()),
        GatherProblem::WordlessText => met(Hazard::WordlessText, Measure::Noted),
        GatherProblem::ScriptOnly => met(Hazard::ScriptOnly, Measure::Noted),
        GatherProblem::ForeignRedirect { scheme } => {
            met(Hazard::UnsupportedScheme, Measure::Refused).of(scheme.clone())
        }
    })
}

fn server_trouble(exchange: &Exchange) -> Sighting {
    let asked = matches!(exchange.status, 429 | 503);
    let hazard = if asked { Hazard::Overloaded } else { Hazard::ServerError };
    Sighting::at(&exchange.url, hazard, Measure::Noted).of(exchange.status.to_string())
}

fn short(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).collect()
}
