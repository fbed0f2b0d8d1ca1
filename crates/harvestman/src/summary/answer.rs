//! The summary of a crawl as JSON (docs/json.md).

use std::collections::BTreeMap;

use collection::spiders::PausedSpider;
use model::{RefusalReason, Timestamp, iso};
use serde::Serialize;

use super::{BatchOut, Refused, Summary, remedy};

#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    ended: EndedBy,
    reason: &'a str,
    seconds: f64,
    pages: Pages,
    requisites: Requisites,
    bytes: u64,
    errors: BTreeMap<&'a str, u64>,
    other_errors: BTreeMap<&'a str, u64>,
    left_out: BTreeMap<&'a str, u64>,
    refused: Vec<RefusedBy<'a>>,
    refused_total: u64,
    collection: &'a str,
    #[serde(serialize_with = "iso::option")]
    next_due: Option<Timestamp>,
    batches: Vec<Out>,
    paused: &'a [PausedSpider],
    resume: &'a str,
}

/// What ended a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// Nothing is left to do.
    #[default]
    Done,
    /// Nothing is left to do now: pages wait.
    Waiting,
    PageLimit,
    ByteLimit,
    TimeLimit,
    Stopped,
}

#[derive(Debug, Serialize)]
struct Pages {
    fetched: u64,
    versions: u64,
    unchanged: u64,
    redirected: u64,
    failed: u64,
    waiting: u64,
}

#[derive(Debug, Serialize)]
struct Requisites {
    fetched: u64,
    failed: u64,
}

#[derive(Debug, Serialize)]
struct RefusedBy<'a> {
    reason: RefusalReason,
    rule: &'a str,
    count: u64,
    example: &'a str,
    how_to_lift: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Out {
    id: i64,
    pages: u64,
    sites_out: u64,
    #[serde(serialize_with = "iso::time")]
    until: Timestamp,
}

impl<'a> Answer<'a> {
    pub fn of(summary: &'a Summary) -> Answer<'a> {
        Answer {
            ended: summary.ended,
            reason: &summary.reason,
            seconds: summary.elapsed.as_secs_f64(),
            pages: Pages {
                fetched: summary.fetched,
                versions: summary.versions,
                unchanged: summary.unchanged,
                redirected: summary.redirected,
                failed: summary.failed,
                waiting: summary.waiting,
            },
            requisites: Requisites {
                fetched: summary.requisites,
                failed: summary.requisites_failed,
            },
            bytes: summary.bytes,
            errors: by_name(&summary.errors),
            other_errors: by_name(&summary.other_errors),
            left_out: by_name(&summary.left_out),
            refused: summary.refused.iter().map(|row| refused_by(row, summary.of_batch)).collect(),
            refused_total: summary.refused_total,
            collection: &summary.collection,
            next_due: summary.next_due.as_ref().map(|(at, _)| *at),
            batches: summary.out.iter().map(out).collect(),
            paused: &summary.paused,
            resume: &summary.resume,
        }
    }
}

fn by_name(counts: &[(String, u64)]) -> BTreeMap<&str, u64> {
    counts.iter().map(|(name, count)| (name.as_str(), *count)).collect()
}

fn refused_by(row: &Refused, of_batch: bool) -> RefusedBy<'_> {
    let Refused { reason, rule, count, example } = row;
    let how_to_lift = (!of_batch).then(|| remedy(*reason, rule));
    RefusedBy { reason: *reason, rule, count: *count, example, how_to_lift }
}

fn out(batch: &BatchOut) -> Out {
    Out { id: batch.id, pages: batch.pages, sites_out: batch.sites, until: batch.until.0 }
}
