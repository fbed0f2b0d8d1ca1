//! Which hazards a visit met: read off what went over the wire and what the gatherer could not use.
//!
//! What takes more than one visit to see (traps) is seen by the holder of the site's lease, not here.

use gatherer::{GatherProblem, Gathered};
use harvester::robots::Robots;
use model::{
    CrawlUrl, Exchange, FailureKind, FetchFailure, Hazard, Measure, RobotsAnswer, RobotsCopy,
    Sighting, Stopped,
};

pub fn of_page(exchange: &Exchange, gathered: &Gathered) -> Vec<Sighting> {
    let url = &exchange.url;
    let mut met: Vec<Sighting> = stopped(exchange).into_iter().collect();
    met.extend(gathered.problems.iter().filter_map(|problem| problem_met(url, problem)));
    if (500..600).contains(&exchange.status) || exchange.status == 429 {
        met.push(server_trouble(exchange));
    }
    met
}

/// Of a visit that brought no answer.
pub fn of_failure(url: &CrawlUrl, failure: &FetchFailure) -> Option<Sighting> {
    let (hazard, measure) = match failure.kind {
        FailureKind::DnsUnknown => (Hazard::NameUnknown, Measure::Noted),
        FailureKind::DnsTrouble => (Hazard::NameTrouble, Measure::Noted),
        FailureKind::AddressRefused => (Hazard::InternalAddress, Measure::Refused),
        FailureKind::ConnectRefused | FailureKind::ConnectTimeout => {
            (Hazard::Unreachable, Measure::Noted)
        }
        FailureKind::Tls => (Hazard::TlsTrouble, Measure::Refused),
        FailureKind::Reset => (Hazard::Disconnected, Measure::Noted),
        FailureKind::Timeout => (Hazard::SlowAnswer, Measure::Cut),
        FailureKind::BadHttp => (Hazard::BadHttp, Measure::Refused),
        FailureKind::Proxy | FailureKind::Aborted => return None,
    };
    Some(Sighting::at(url, hazard, measure))
}

/// Of a copy of robots.txt: lines that mean nothing, or that it cannot be had.
pub fn of_robots(copy: &RobotsCopy) -> Option<Sighting> {
    let url = copy.origin.robots_url();
    match &copy.answer {
        RobotsAnswer::Rules(text) => {
            let mistakes = Robots::read(text).mistakes();
            let met = Sighting::at(&url, Hazard::RobotsErrors, Measure::Mended);
            (mistakes > 0).then_some(Sighting { count: mistakes, ..met })
        }
        RobotsAnswer::Unreachable { .. } => {
            Some(Sighting::at(&url, Hazard::RobotsUnreachable, Measure::Refused))
        }
        RobotsAnswer::Unavailable { .. } => None,
    }
}

fn stopped(exchange: &Exchange) -> Option<Sighting> {
    let hazard = match exchange.stopped? {
        Stopped::Type | Stopped::Announced => return None,
        Stopped::Length => Hazard::LargeBody,
        Stopped::Time => Hazard::SlowBody,
        Stopped::Disconnect => Hazard::Disconnected,
        Stopped::Coding => Hazard::BrokenCoding,
    };
    Some(Sighting::at(&exchange.url, hazard, Measure::Cut))
}

fn problem_met(url: &CrawlUrl, problem: &GatherProblem) -> Option<Sighting> {
    let met = |hazard, measure| Some(Sighting::at(url, hazard, measure));
    match problem {
        GatherProblem::NotText { declared, found } => met(Hazard::WrongType, Measure::Mended)
            .map(|sighting| sighting.of(format!("{declared}, really {found}"))),
        GatherProblem::NotWanted { .. } => None,
        GatherProblem::Undecodable => met(Hazard::WrongCharset, Measure::Refused),
        GatherProblem::Malformed { charset } => {
            met(Hazard::MalformedText, Measure::Mended).map(|sighting| sighting.of(charset.clone()))
        }
        GatherProblem::InvalidUrls(examples) => met(Hazard::InvalidUrls, Measure::Refused)
            .map(|sighting| Sighting { count: examples.count, ..sighting }),
        GatherProblem::LongUrls(examples) => met(Hazard::LongUrl, Measure::Refused)
            .map(|sighting| Sighting { count: examples.count, ..sighting }),
        GatherProblem::Canonicals(_) => met(Hazard::CanonicalConflict, Measure::Refused)
            .map(|sighting| sighting.of("several on one page")),
        GatherProblem::LinksOverLimit { .. } | GatherProblem::RequisitesOverLimit { .. } => {
            met(Hazard::ManyLinks, Measure::Cut)
        }
    }
}

fn server_trouble(exchange: &Exchange) -> Sighting {
    let asked = matches!(exchange.status, 429 | 503);
    let hazard = if asked { Hazard::Overloaded } else { Hazard::FailingServer };
    Sighting::at(&exchange.url, hazard, Measure::Noted).of(exchange.status.to_string())
}
