//! Several runs become one: their tables are read side by side, so that it takes a few buffers and no more.

use std::{cmp::Reverse, collections::BinaryHeap, io, path::Path};

use model::StoreError;

use super::{
    Progress, Step,
    run::{Run, RunInfo, RunWriter},
    table::{Pair, Table, Walk},
};

/// Rows read at a time of each table: 100 KB.
const CHUNK: u64 = 8_192;
/// Rows between two reports of progress.
const REPORT_EVERY: u64 = 1 << 20;

/// `runs` follow each other; the numbers of their records go on from one to the next.
pub(super) fn merge(
    dir: &Path,
    number: u64,
    runs: &[Run],
    progress: Progress<'_>,
) -> Result<RunInfo, StoreError> {
    let sum = |count: fn(&RunInfo) -> u64| runs.iter().map(|run| count(&run.info)).sum::<u64>();
    let info = RunInfo { number, records: sum(|run| run.records), targets: sum(|run| run.targets) };
    let mut writer = RunWriter::create(dir, info)?;
    let error = |e| StoreError::io("read", dir, e);
    for run in runs {
        for row in run.records.walk(0, run.info.records, CHUNK) {
            writer.put(row.map_err(error)?)?;
        }
    }
    let tables: [fn(&Run) -> &Table<Pair>; 2] = [|run| &run.by_source, |run| &run.by_target];
    for table in tables {
        let sorted = Merged::new(runs.iter().map(|run| (run.info.records, table(run))));
        for (count, pair) in (1u64..).zip(sorted.map_err(error)?) {
            let (key, record) = pair.map_err(error)?;
            writer.put(Pair { key, record: record as u32 })?;
            if count.is_multiple_of(REPORT_EVERY) {
                progress(Step::Merging)?;
            }
        }
    }
    progress(Step::Merging)?;
    writer.finish(dir)
}

/// The pairs of several tables by key: keys, and the number that their record has among the records of all.
pub(super) struct Merged {
    walks: Vec<(u64, Walk<Pair>)>,
    heads: BinaryHeap<Reverse<(u64, u64, usize)>>,
}

impl Merged {
    /// Of each run the number of its records, and the table.
    pub(super) fn new<'a>(
        tables: impl Iterator<Item = (u64, &'a Table<Pair>)>,
    ) -> io::Result<Merged> {
        let mut base = 0;
        let mut walks = Vec::new();
        for (records, table) in tables {
            walks.push((base, table.walk(0, table.rows, CHUNK)));
            base += records;
        }
        let mut merged = Merged { heads: BinaryHeap::with_capacity(walks.len()), walks };
        for at in 0..merged.walks.len() {
            merged.advance(at)?;
        }
        Ok(merged)
    }

    fn advance(&mut self, at: usize) -> io::Result<()> {
        let (base, walk) = &mut self.walks[at];
        if let Some(pair) = walk.next().transpose()? {
            self.heads.push(Reverse((pair.key, *base + u64::from(pair.record), at)));
        }
        Ok(())
    }
}

impl Iterator for Merged {
    type Item = io::Result<(u64, u64)>;

    fn next(&mut self) -> Option<io::Result<(u64, u64)>> {
        let Reverse((key, record, at)) = self.heads.pop()?;
        match self.advance(at) {
            Ok(()) => Some(Ok((key, record))),
            Err(error) => {
                self.heads.clear();
                Some(Err(error))
            }
        }
    }
}
