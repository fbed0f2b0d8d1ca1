//! Mirrors: sites that serve what another serves. The list, a search for more, and keeping one apart.

use config::{Config, Replicas};
use harvester::clock::RealClock;
use model::{Clock, Timestamp};
use serde::Serialize;
use store::{
    census::Census,
    collection::Collection,
    control::{Command, Outcome},
    replicas::{ReplicaChange, ReplicaRow, ReplicaState},
};

use crate::{Error, Listing, control::Control, replicas::review};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mirror {
    pub site: String,
    /// The site it mirrors; empty where only the user has said something of it.
    pub original: String,
    /// Of the original: scheme, host and port.
    pub origin: String,
    pub heuristic: String,
    /// Paths seen on both sites, and those among them with the same content.
    pub compared: u32,
    pub same: u32,
    #[serde(serialize_with = "model::iso::time")]
    pub since: Timestamp,
    /// When the two were last compared.
    #[serde(serialize_with = "model::iso::time")]
    pub looked: Timestamp,
    pub state: ReplicaState,
}

pub fn list(collection: &Collection) -> Result<Listing<Mirror>, Error> {
    let rows = Census::open(collection)?.replicas()?;
    Ok(Listing::whole(rows.into_iter().map(Mirror::from).collect()))
}

/// What a search has brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MirrorsFound {
    /// Found now, or found before and still so.
    pub found: u64,
    /// Rows of the list that are other than before.
    pub changed: u64,
    /// A running crawl has not answered yet: `changed` counts too few.
    pub pending: bool,
}

/// Looks now. Where the settings switch it off, mirrors are listed all the same and nothing else is done: somebody
/// asked.
pub fn find(control: &Control) -> Result<MirrorsFound, Error> {
    let collection = control.collection();
    let hazards = Config::load(collection.dir(), Vec::new())?.hazards;
    let mode = match hazards.mirrors {
        Replicas::Off => Replicas::Report,
        mode => mode,
    };
    let census = Census::open(collection)?;
    let change = review(&census, mode, hazards.mirrors_recheck, RealClock::new().now())?;
    let found = match &change {
        ReplicaChange::Found { rows, .. } => {
            rows.iter().filter(|row| row.state != ReplicaState::Dropped).count() as u64
        }
        ReplicaChange::Lift { .. } => 0,
    };
    Ok(match control.apply(Command::Replicas { change })? {
        Outcome::Mirrors { changed } => MirrorsFound { found, changed, pending: false },
        _ => MirrorsFound { found, changed: 0, pending: true },
    })
}

/// Never treat this site as a mirror.
pub fn lift(control: &Control, site: &str) -> Result<Outcome, Error> {
    control.apply(Command::Replicas { change: ReplicaChange::Lift { site: site.to_owned() } })
}

impl From<ReplicaRow> for Mirror {
    fn from(row: ReplicaRow) -> Mirror {
        let ReplicaRow { site, original, origin, heuristic, compared, same, .. } = row;
        let ReplicaRow { since, looked, state, .. } = row;
        Mirror { site, original, origin, heuristic, compared, same, since, looked, state }
    }
}
