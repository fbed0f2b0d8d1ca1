//! Link segments: the records of pages that go, and the links of others that lead to them.

use model::StoreError;

use super::{Journal, Step, Work, journal, volumes::Found};
use crate::links::{
    LinkRecord, StoredLink, Thinned, index::remove_outdated, rewrite, segment_path, segments,
};

impl Work<'_> {
    /// Step 3: records, then the files of pages, then links.
    pub(super) fn remove(&mut self, found: Found, journal: &Journal) -> Result<(), StoreError> {
        self.remove_records(&found)?;
        let Journal::Removing { sites, .. } = journal else { return Ok(()) };
        crate::directory::remove(&self.collection.directory(), &self.targets)?;
        self.remove_links(sites)
    }

    pub(super) fn count_links(&mut self) -> Result<u64, StoreError> {
        let sites = self.frontier.ids_of(&self.targets)?;
        let Some(mark) = self.frontier.marks()?.links else { return Ok(0) };
        let mut links = 0;
        for segment in segments(&self.collection.links())? {
            links += self.thin(segment, mark, &sites, false)?.links;
        }
        Ok(links)
    }

    fn remove_links(&mut self, sites: &[i64]) -> Result<(), StoreError> {
        let Some(mut mark) = self.frontier.marks()?.links else { return Ok(()) };
        let folder = self.collection.links();
        let all = segments(&folder)?;
        for (done, segment) in all.iter().enumerate() {
            (self.progress)(Step::Links(done, all.len()))?;
            let path = segment_path(&folder, *segment);
            let old = path.metadata().map_err(|e| StoreError::io("read", &path, e))?.len();
            let thinned = self.thin(*segment, mark, sites, true)?;
            if let Some(at) = thinned.damaged {
                self.removed.warnings.push(format!(
                    "{} was damaged at {at}: what lay behind could not be read and is gone",
                    path.display()
                ));
            }
            if !thinned.is_changed(old) {
                continue;
            }
            if mark.0 == *segment {
                mark.1 = thinned.end;
            }
            self.removed.links += thinned.links;
            let names = self.names(std::slice::from_ref(&path));
            journal::sync(&folder)?;
            self.frontier.move_links(Some(mark), &names, self.now)?;
            (self.progress)(Step::Named)?;
            journal::put_in_place(self.collection)?;
        }
        remove_outdated(&folder, self.frontier.links_rewritten()?)?;
        journal::remove_strays(self.collection)
    }

    fn thin(
        &self,
        segment: u32,
        mark: (u32, u64),
        sites: &[i64],
        write: bool,
    ) -> Result<Thinned, StoreError> {
        let folder = self.collection.links();
        let until = if segment == mark.0 { mark.1 } else { u64::MAX };
        let to = write.then(|| journal::beside(&segment_path(&folder, segment)));
        let pages = self.targets.fingerprints();
        let source_goes = |record: &LinkRecord| {
            sites.binary_search(&record.site.0).is_ok() || pages.contains(&record.source)
        };
        let link_goes = |link: &StoredLink| self.targets.covers_text(&link.url);
        rewrite(&folder, segment, until, to.as_deref(), source_goes, link_goes)
    }
}
