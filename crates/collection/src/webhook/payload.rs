//! What a delivery says, and the signature by which the receiver knows who says it.
//!
//! `Harvestman-Signature: t=SECONDS,v1=HEX`, where HEX is HMAC-SHA256 with the webhook's secret over
//! `SECONDS.BODY`. The time is in what is signed, so that an old delivery cannot be sent again by a stranger.

use aws_lc_rs::hmac;
use model::Timestamp;
use serde::Serialize;
use store::history::ChangeEntry;
use xxhash_rust::xxh3::xxh3_128;

use config::Kind;

/// Of the form of a delivery: it grows when a receiver would have to be changed.
const VERSION: u32 = 1;
/// Of a title: it is shown in a list, not read.
const TITLE_CHARS_MAX: usize = 300;

/// What is sent, as JSON.
#[derive(Serialize)]
struct Payload<'a> {
    version: u32,
    id: &'a str,
    webhook: &'a str,
    #[serde(serialize_with = "model::iso::time")]
    sent: Timestamp,
    /// Sent to see whether it arrives.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    test: bool,
    changes: Vec<PayloadChange<'a>>,
}

#[derive(Serialize)]
struct PayloadChange<'a> {
    seq: i64,
    kind: Option<Kind>,
    url: &'a str,
    site: &'a str,
    spider: &'a str,
    #[serde(serialize_with = "model::iso::time")]
    at: Timestamp,
    status: u16,
    title: String,
    bytes: u64,
}

pub struct Delivery {
    /// The same at every try, and of no other delivery of whatever collection.
    pub id: String,
    pub body: String,
    pub at: Timestamp,
}

impl Delivery {
    pub fn of_changes(
        (collection, webhook): (&str, &str),
        after: i64,
        upto: i64,
        changes: &[ChangeEntry],
        now: Timestamp,
    ) -> Delivery {
        // A collection that goes on from an old copy finds other changes under the same numbers.
        let last = changes.last().map_or(0, |entry| entry.at.0);
        let said = format!("{collection} {webhook} {after} {last}");
        let id = format!("{:032x}-{upto}", xxh3_128(said.as_bytes()));
        Delivery::new(id, webhook, Some(changes), now)
    }

    /// One without changes, to see whether it arrives.
    pub fn of_test(webhook: &str, now: Timestamp) -> Delivery {
        Delivery::new(format!("test-{}", now.0), webhook, None, now)
    }

    /// Without changes, a test.
    fn new(id: String, webhook: &str, changes: Option<&[ChangeEntry]>, now: Timestamp) -> Delivery {
        let payload = Payload {
            version: VERSION,
            id: &id,
            webhook,
            sent: now,
            test: changes.is_none(),
            changes: changes.unwrap_or_default().iter().map(change).collect(),
        };
        let body = serde_json::to_string(&payload).expect("names and numbers are JSON");
        Delivery { id, body, at: now }
    }

    pub fn signature(&self, key: &str) -> String {
        let seconds = self.at.0.div_euclid(1_000);
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        let tag = hmac::sign(&key, format!("{seconds}.{}", self.body).as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("t={seconds},v1={hex}")
    }
}

fn change(entry: &ChangeEntry) -> PayloadChange<'_> {
    PayloadChange {
        seq: entry.seq,
        kind: Kind::of(entry.change),
        url: &entry.url,
        site: &entry.site,
        spider: &entry.spider,
        at: entry.at,
        status: entry.status,
        title: entry.title.chars().take(TITLE_CHARS_MAX).collect(),
        bytes: entry.body_bytes,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_signature_is_the_hmac_of_time_and_body() {
        let at = Timestamp(1_700_000_000_999);
        let delivery = Delivery { id: "x".to_owned(), body: "{\"a\":1}".to_owned(), at };
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac hush
        let expected = "7cfd1df542c33ab7251748ffdc6e7fed278c63b83d4ece95a4534b0ad465571b";
        assert_eq!(delivery.signature("hush"), format!("t=1700000000,v1={expected}"));
        assert_ne!(delivery.signature("other"), delivery.signature("hush"));
    }

    #[test]
    fn a_test_says_that_it_is_one_and_a_batch_has_one_id_at_every_try() {
        let test = Delivery::of_test("a", Timestamp(5));
        let body: Value = serde_json::from_str(&test.body).unwrap();
        assert_eq!((&body["test"], &body["webhook"]), (&json!(true), &json!("a")));
        assert_eq!(body["version"], 1);
        let id = |whose, after, now| Delivery::of_changes(whose, after, 9, &[], Timestamp(now)).id;
        assert_eq!(id(("c", "a"), 1, 5), id(("c", "a"), 1, 6));
        for other in [id(("c", "a"), 2, 5), id(("c", "b"), 1, 5), id(("d", "a"), 1, 5)] {
            assert_ne!(id(("c", "a"), 1, 5), other);
        }
    }
}
