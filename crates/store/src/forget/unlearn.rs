//! Dictionaries hold pieces of the pages they were trained on: where one of those pages goes, the volumes
//! that have the dictionary are written anew without it.
//!
//! Not when versions are thinned, which is about room: the page itself stays known.

use std::collections::{BTreeMap, HashSet};

use model::StoreError;

use super::{
    Work, journal,
    volumes::{Found, VOLUMES_AT_ONCE},
};
use crate::warc::{Press, without_dictionary};

impl Work<'_> {
    /// Before the records go, so that a process that dies here finds all of it again.
    pub(super) fn unlearn(&mut self, found: &mut Found) -> Result<(), StoreError> {
        let mut todo = Vec::new();
        for (at, volume) in found.volumes.iter().enumerate() {
            let press = Press::of(&volume.name)?;
            if press.pages().iter().any(|url| self.targets.covers_text(url)) {
                self.removed.volumes_rewritten += u64::from(!volume.is_touched());
                todo.push(at);
            }
        }
        for group in todo.chunks(VOLUMES_AT_ONCE) {
            let (mut moves, mut files) = (BTreeMap::new(), Vec::new());
            for &at in group {
                let name = &found.volumes[at].name;
                let moved = without_dictionary(name, &journal::beside(&name.path))?;
                self.removed.read.rewritten += moved.bytes;
                moves.insert(name.number, moved);
                files.push(name.path.clone());
            }
            self.switch(&moves, &HashSet::new(), &files)?;
            group.iter().for_each(|&at| found.follow(at, &moves));
        }
        Ok(())
    }
}
