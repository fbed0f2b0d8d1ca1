//! An opened collection at the start of a crawl: locked, recovered, seeded.

use std::sync::{Arc, Mutex};

use model::{Archive, Candidate, Clock, CrawlUrl, Frontier, SpiderId, Timestamp, Verdict};
use seeder::Block;
use store::{
    collection::{Collection, CrawlLock},
    control::Command,
    frontier::SqliteFrontier,
    links::LinkWriter,
    warc::{RecordIds, Recovery, WarcArchive},
};

use crate::{
    crawling::Crawl,
    exit::Failure,
    pipeline::{
        adopt::{Adopter, Adoptions},
        desk::Desk,
        gather::GatherStage,
        harvest::seed_candidate,
        messages::BlockChange,
        payloads::Payloads,
        spiders::{Spider, Spiders},
    },
    setup::Setup,
};

/// The opened collection.
pub struct House {
    pub collection: Collection,
    pub lock: CrawlLock,
    pub frontier: SqliteFrontier,
    pub archive: Arc<dyn Archive>,
    pub links: LinkWriter,
    pub stage: Arc<GatherStage>,
    recovery: Option<Recovery>,
    body_bytes_max: u64,
}

impl House {
    pub fn open(
        crawl: &Crawl<'_>,
        setup: &Setup,
        spider: Spider,
        clock: &Arc<dyn Clock>,
    ) -> Result<House, Failure> {
        let folder = &crawl.context.folder;
        let collection = match crawl.seeds.is_empty() {
            true => Collection::open(folder)?,
            false => Collection::open_or_create(folder)?,
        };
        let lock = collection.lock()?;
        let mut frontier = SqliteFrontier::open(&collection.database())?;
        frontier.recover_leases(clock.now())?;
        frontier.each_block(|entry| {
            setup.blocks.add(Block::parse(&entry.pattern));
        })?;
        let marks = frontier.marks()?;
        let links = LinkWriter::open(&collection.links(), marks.links)?;
        let (archive, recovery) = WarcArchive::open(
            &collection.volumes(),
            setup.warc.clone(),
            marks.archive.unwrap_or_default(),
        )?;
        let archive: Arc<dyn Archive> = Arc::new(archive);
        for seed in frontier.seeds()? {
            spider.join(&seed);
        }
        if let Some(preview) = &crawl.preview {
            preview.seeds.iter().for_each(|seed| spider.join(seed));
        }
        let body_bytes_max = spider.fetch_limits.body_bytes_max;
        let stage = GatherStage {
            archive: archive.clone(),
            spiders: Arc::new(Spiders::new(setup.blocks.clone(), [spider])),
            payloads: Mutex::new(Payloads::new(Payloads::ENTRIES_MAX)),
            ids: RecordIds::from_system(),
            clock: clock.clone(),
            preview: crawl.preview.clone(),
        };
        Ok(House {
            collection,
            lock,
            frontier,
            archive,
            links,
            stage: Arc::new(stage),
            recovery: Some(recovery),
            body_bytes_max,
        })
    }

    /// Adopts what an earlier process archived but did not settle.
    pub fn recover(&mut self, crawl: &Crawl<'_>, clock: &Arc<dyn Clock>) -> Result<(), Failure> {
        let Some(recovery) = self.recovery.take() else { return Ok(()) };
        for warning in &recovery.warnings {
            crawl.context.say(&format!("recovery: {warning}"));
        }
        let mut adopter = Adopter {
            frontier: &mut self.frontier,
            archive: &self.archive,
            links: &mut self.links,
            stage: &self.stage,
            clock: &**clock,
            holder: "recovery",
            body_bytes_max: self.body_bytes_max,
        };
        let done = adopter.adopt_all(recovery)?;
        if done != Adoptions::default() {
            let Adoptions { pages, robots, strays, damage } = done;
            for what in damage {
                crawl.context.say(&format!("recovery: {what}"));
            }
            crawl.context.say(&format!(
                "recovered from an unclean end: {pages} pages and {robots} robots.txt taken from the archive"
            ));
            if strays > 0 {
                tracing::warn!(strays, "records in the archive belong to no known page");
            }
        }
        if crawl.fresh {
            self.frontier.make_all_due(clock.now())?;
        }
        Ok(())
    }

    /// The seeds of this command, and those that were left for it, enter the frontier.
    pub fn seed(&mut self, crawl: &Crawl<'_>, clock: &Arc<dyn Clock>) -> Result<usize, Failure> {
        let mut taken = 0;
        // Without this a crawl of a new collection would be over before it looked for them.
        loop {
            let waiting = Desk::requests(&mut self.frontier, clock.now())?;
            let mut more = false;
            for request in waiting {
                let result = match request.command {
                    Command::Seed { urls, .. } => {
                        let urls: Vec<CrawlUrl> =
                            urls.iter().filter_map(|url| CrawlUrl::parse(url).ok()).collect();
                        let entered = self.enter(crawl, &urls, clock.now())?;
                        taken += entered;
                        format!("{entered} taken")
                    }
                    Command::Block { patterns, reason, remove } => {
                        self.block(&BlockChange { patterns, reason, remove }, clock.now())?
                    }
                    _ => continue,
                };
                self.frontier.request_done(request.id, &result, clock.now())?;
                more = true;
            }
            if !more {
                break;
            }
        }
        taken += self.enter(crawl, &crawl.seeds, clock.now())?;
        Ok(taken)
    }

    /// A block that was left for a crawl that ended before it took it up.
    fn block(&mut self, change: &BlockChange, now: Timestamp) -> Result<String, Failure> {
        let read = change.patterns.iter().filter_map(|text| Block::parse(text).ok());
        let blocks = &self.stage.spiders.blocks;
        if change.remove {
            blocks.remove(read)
        } else {
            blocks.add(read)
        };
        Ok(self.frontier.change_blocks(change, now)?)
    }

    /// Those that a rule refuses are named.
    fn enter(
        &mut self,
        crawl: &Crawl<'_>,
        urls: &[CrawlUrl],
        now: Timestamp,
    ) -> Result<usize, Failure> {
        let spider = self.stage.spiders.of(SpiderId(1));
        let urls: Vec<CrawlUrl> = urls.iter().map(|url| spider.rules.form.apply(url)).collect();
        urls.iter().for_each(|url| spider.join(url));
        let mut candidates: Vec<Candidate> = Vec::new();
        for url in urls {
            let candidate = seed_candidate(url);
            match spider.judge(&candidate) {
                Verdict::Accept => candidates.push(candidate),
                Verdict::Reject(refusal) => {
                    let url = candidate.url;
                    crawl.context.say(&format!("seed refused: {url} ({})", refusal.rule));
                }
            }
        }
        self.frontier.admit(&candidates, now)?;
        Ok(candidates.len())
    }
}
