//! What the index promises: whatever happened to segments and index, its answers are those of reading every segment.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    fs,
};

use model::{CrawlUrl, Fingerprint, Link, LinkKind, LinkRel, SiteId, Timestamp};
use proptest::prelude::*;

use super::{
    super::{LinkReader, LinkRecord, LinkWriter, rewrite, segment_path, segments},
    *,
};

/// Small enough that a few records make many runs.
const SMALL: Limits = Limits { pairs: 12, records: 4, runs: 5 };

fn page(n: u8) -> CrawlUrl {
    CrawlUrl::parse(&format!("https://example.org/page-{n}")).unwrap()
}

fn links(targets: &[u8]) -> Vec<Link> {
    let link = |(position, target): (u32, &u8)| Link {
        url: page(*target),
        kind: LinkKind::A,
        rel: LinkRel::default(),
        anchor: format!("to {target}"),
        position,
    };
    (0..).zip(targets).map(link).collect()
}

/// Segments, and what a database would say of them.
struct World {
    dir: tempfile::TempDir,
    state: Cell<LinkState>,
    clock: i64,
}

impl World {
    fn new() -> World {
        let (dir, state) = (tempfile::tempdir().unwrap(), Cell::default());
        World { dir, state, clock: 0 }
    }

    fn links(&self) -> PathBuf {
        self.dir.path().join("links")
    }

    fn set(&self, change: impl FnOnce(&mut LinkState)) {
        let mut state = self.state.get();
        change(&mut state);
        self.state.set(state);
    }

    /// A crawl that settles these visits, and is killed with one more on the way.
    fn crawl(&mut self, visits: &[(u8, Vec<u8>)]) {
        let mark = self.state.get().mark;
        let mut writer = LinkWriter::with_segment_bytes(&self.links(), mark, 400).unwrap();
        for (source, targets) in visits {
            self.clock += 1;
            let (fp, at) = (page(*source).fingerprint(), Timestamp(self.clock));
            writer.append(fp, SiteId(1), at, &links(targets)).unwrap();
        }
        writer.sync().unwrap();
        self.set(|state| state.mark = Some(writer.position()));
        writer.append(page(0).fingerprint(), SiteId(1), Timestamp(0), &links(&[0, 1, 2])).unwrap();
        writer.sync().unwrap();
    }

    /// A takedown of a page, as `forget` does it.
    fn forget(&self, gone: u8) {
        let Some(mut mark) = self.state.get().mark else { return };
        self.set(|state| state.removing = true);
        drop(LinkWriter::open(&self.links(), Some(mark)).unwrap());
        let (fp, url) = (page(gone).fingerprint(), page(gone));
        for number in segments(&self.links()).unwrap() {
            let until = if number == mark.0 { mark.1 } else { u64::MAX };
            let path = segment_path(&self.links(), number);
            let to = path.with_extension("rewritten");
            let source_goes = |record: &LinkRecord| record.source == fp;
            let thinned = rewrite(&self.links(), number, until, Some(&to), source_goes, |link| {
                link.url == url.as_str()
            });
            if number == mark.0 {
                mark.1 = thinned.unwrap().end;
            }
            self.set(|state| (state.mark, state.rewritten) = (Some(mark), state.rewritten + 1));
            fs::rename(to, path).unwrap();
        }
        remove_outdated(&self.links(), self.state.get().rewritten).unwrap();
        self.set(|state| state.removing = false);
    }

    /// The last settlement did not reach the disk, and other visits follow.
    fn lose_power(&self, share: u8) {
        let Some((segment, offset)) = self.state.get().mark else { return };
        let mut ends = vec![super::super::HEADER_BYTES];
        let mut reader = super::super::reader::Segment::open(&self.links(), segment).unwrap();
        while let Some(file) = reader.as_mut().filter(|file| file.offset < offset) {
            let super::super::reader::Next::Record(_) = file.read().unwrap() else { break };
            ends.push(file.offset);
        }
        let end = ends[usize::from(share) % ends.len()];
        self.set(|state| state.mark = Some((segment, end)));
    }

    /// Stopped at a step, as if the process had been killed.
    fn open(&self, stop_at: usize) -> Result<LinkIndex, StoreError> {
        let mut steps = 0;
        let read_state = || Ok(self.state.get());
        LinkIndex::open(&self.links(), &read_state, SMALL, &mut |_| {
            steps += 1;
            match steps > stop_at {
                true => Err(StoreError::Database { detail: "stopped here".into() }),
                false => Ok(()),
            }
        })
    }

    /// Everything the index can be asked, against what the segments say.
    fn compare(&self, index: &LinkIndex) {
        let reader = LinkReader::open(&self.links(), self.state.get().mark);
        let records: Vec<LinkRecord> = match reader {
            Ok(reader) => reader.collect::<Result<_, _>>().unwrap(),
            Err(_) => Vec::new(),
        };
        let newest: BTreeMap<Fingerprint, usize> =
            (0..).zip(&records).map(|(at, record)| (record.source, at)).collect();
        assert_eq!(index.len(), records.len() as u64);
        let all: Vec<Entry> = index.records().map(Result::unwrap).collect();
        let mut edges = BTreeSet::new();
        for ((number, entry), record) in (0u64..).zip(&all).zip(&records) {
            assert_eq!(index.read(entry).unwrap().as_ref(), Some(record));
            assert_eq!((entry.number.0, entry.at), (number, record.at));
            assert_eq!(entry.latest, newest[&record.source] as u64 == number);
            let targets = record.links.iter().map(|link| (link.fp, number));
            edges.extend(targets.filter(|_| entry.latest));
        }
        let found: Vec<(Fingerprint, u64)> = index
            .edges()
            .unwrap()
            .map(|edge| edge.map(|edge| (edge.target, edge.source.0)).unwrap())
            .collect();
        assert_eq!(found, Vec::from_iter(edges));
        for n in 0..=40 {
            self.compare_page(index, page(n).fingerprint(), &all, &records);
        }
    }

    fn compare_page(
        &self,
        index: &LinkIndex,
        fp: Fingerprint,
        all: &[Entry],
        records: &[LinkRecord],
    ) {
        let leads = |record: &LinkRecord| record.links.iter().any(|link| link.fp == fp);
        let both = || all.iter().zip(records);
        let wanted: Vec<Entry> =
            both().filter(|(_, record)| leads(record)).map(|(entry, _)| *entry).collect();
        let into: Vec<Entry> = index.linking_to(fp, None).map(Result::unwrap).collect();
        assert_eq!(into, wanted);
        let latest = wanted.iter().filter(|entry| entry.latest).count() as u64;
        let earlier = wanted.len() as u64 - latest;
        assert_eq!(index.count_linking_to(fp).unwrap(), LinkCount { latest, earlier });
        let own: Vec<Entry> = all.iter().filter(|entry| entry.source == fp).copied().collect();
        assert_eq!(index.records_of(fp).unwrap(), own);
        for (entry, record) in both() {
            assert_eq!(index.leads_to(entry.number, fp).unwrap(), leads(record));
            let rest: Vec<Entry> =
                index.linking_to(fp, Some(entry.position)).map(Result::unwrap).collect();
            let behind: Vec<Entry> =
                wanted.iter().filter(|other| other.number > entry.number).copied().collect();
            assert_eq!(rest, behind);
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Crawl(Vec<(u8, Vec<u8>)>),
    Forget(u8),
    LosePower(u8),
    /// The index is asked and its process killed at this step.
    Killed(usize),
    /// A file of the index is cut short.
    Cut(usize, u16),
    Ask,
}

fn event() -> impl Strategy<Value = Event> {
    let visit = (0u8..12, prop::collection::vec(0u8..20, 0..6));
    prop_oneof![
        4 => prop::collection::vec(visit, 0..12).prop_map(Event::Crawl),
        1 => (0u8..20).prop_map(Event::Forget),
        1 => any::<u8>().prop_map(Event::LosePower),
        3 => (0usize..30).prop_map(Event::Killed),
        1 => (any::<usize>(), any::<u16>()).prop_map(|(file, at)| Event::Cut(file, at)),
        2 => Just(Event::Ask),
    ]
}

fn cut(dir: &Path, which: usize, at: u16) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    if let Some(path) = files.get(which % files.len().max(1)) {
        let file = File::options().write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(u64::from(at) % length.max(1)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn answers_are_those_of_a_scan_after_crawls_kills_takedowns_and_damage(
        events in prop::collection::vec(event(), 1..14),
    ) {
        let mut world = World::new();
        for event in events {
            match event {
                Event::Crawl(visits) => world.crawl(&visits),
                Event::Forget(gone) => world.forget(gone),
                Event::LosePower(share) => world.lose_power(share),
                Event::Cut(which, at) => cut(&folder(&world.links()), which, at),
                Event::Ask => world.compare(&world.open(usize::MAX).unwrap()),
                Event::Killed(step) => {
                    if let Ok(index) = world.open(step) {
                        world.compare(&index);
                    }
                }
            }
        }
        world.compare(&world.open(usize::MAX).unwrap());
    }
}

fn many(world: &mut World, visits: usize) {
    let targets = |n: usize| (0..n % 5).map(|k| ((n * 7 + k * 3) % 20) as u8).collect();
    let visits: Vec<(u8, Vec<u8>)> = (0..visits).map(|n| ((n % 12) as u8, targets(n))).collect();
    world.crawl(&visits);
}

#[test]
fn killed_at_any_step_the_next_question_finds_all() {
    let mut steps = 0;
    loop {
        let mut world = World::new();
        many(&mut world, 60);
        let killed = world.open(steps);
        let done = killed.is_ok();
        world.compare(&world.open(usize::MAX).unwrap());
        if done {
            break;
        }
        steps += 1;
    }
    assert!(steps > 40, "only {steps} steps");
}

#[test]
fn there_are_few_runs_and_no_other_files() {
    let mut world = World::new();
    for _ in 0..40 {
        many(&mut world, 7);
        world.open(usize::MAX).unwrap();
    }
    let names: Vec<String> = fs::read_dir(folder(&world.links()))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let runs = names.iter().filter(|name| name.ends_with(".run")).count();
    assert!((1..=8).contains(&runs), "{names:?}");
    assert_eq!(names.len(), runs + 2, "and manifest and lock: {names:?}");
}

#[test]
fn nothing_is_written_when_nothing_is_new() {
    let mut world = World::new();
    many(&mut world, 30);
    world.open(usize::MAX).unwrap();
    let index = world.open(0).expect("no step is taken");
    world.compare(&index);
}

#[test]
fn while_a_takedown_is_under_way_there_is_no_answer() {
    let mut world = World::new();
    many(&mut world, 30);
    world.open(usize::MAX).unwrap();
    world.set(|state| state.removing = true);
    assert!(matches!(world.open(usize::MAX), Err(StoreError::Removing { .. })));
}

#[test]
fn what_was_read_before_a_takedown_is_not_published_after_it() {
    let mut world = World::new();
    many(&mut world, 30);
    let read_state = || Ok(world.state.get());
    let mut taken = false;
    let index = LinkIndex::open(&world.links(), &read_state, SMALL, &mut |step| {
        // Without what waits for the lock, which this process holds.
        if step == Step::Writing && !std::mem::replace(&mut taken, true) {
            let gone = page(3).fingerprint();
            let mark = world.state.get().mark.unwrap();
            for number in segments(&world.links()).unwrap() {
                let path = segment_path(&world.links(), number);
                let to = path.with_extension("rewritten");
                let until = if number == mark.0 { mark.1 } else { u64::MAX };
                let goes = |record: &LinkRecord| record.source == gone;
                let links = world.links();
                let thinned =
                    rewrite(&links, number, until, Some(&to), goes, |link| link.fp == gone);
                fs::rename(to, path).unwrap();
                if number == mark.0 {
                    world.set(|state| state.mark = Some((number, thinned.unwrap().end)));
                }
                world.set(|state| state.rewritten += 1);
            }
        }
        Ok(())
    });
    let index = index.unwrap();
    world.compare(&index);
    assert_eq!(index.count_linking_to(page(3).fingerprint()).unwrap(), LinkCount::default());
}
