//! Moments in words for people: `in 6d`, `3h ago`, and the ISO form.

use std::time::Duration;

use model::Timestamp;
use serde_json::Value;

use crate::units::time_text;

/// `in 6d 23h`, or `now`.
pub fn until(at: Timestamp, now: Timestamp) -> String {
    if at <= now { "now".to_owned() } else { format!("in {}", span(at.since(now))) }
}

/// `3h 12m ago`, or `just now`.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let past = now.since(at);
    if past < Duration::from_secs(1) {
        "just now".to_owned()
    } else {
        format!("{} ago", span(past))
    }
}

/// UTC, to the second: `2026-11-15T20:00:00Z`.
pub fn iso(at: Timestamp) -> String {
    model::iso::text(at)
}

/// A row as the collection has it, for programs: moments in these fields are told as everywhere.
pub fn iso_fields(mut row: Value, names: &[&str]) -> Value {
    for name in names {
        match row.get_mut(*name) {
            Some(Value::Array(moments)) => moments.iter_mut().for_each(tell_iso),
            Some(moment) => tell_iso(moment),
            None => {}
        }
    }
    row
}

fn tell_iso(moment: &mut Value) {
    if let Some(ms) = moment.as_i64() {
        *moment = iso(Timestamp(ms)).into();
    }
}

/// `3d`, `1h12m`. The two largest units at most: nobody needs the seconds of a week.
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let unit = match seconds {
        0..60 => 1,
        60..7_200 => 60,
        7_200..172_800 => 3_600,
        _ => 86_400,
    };
    time_text(Duration::from_secs(seconds / unit * unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_in_words_a_person_would_use() {
        let now = Timestamp(1_000_000_000);
        assert_eq!(until(now, now), "now");
        assert_eq!(until(now.plus(Duration::from_secs(7 * 86_400 + 5)), now), "in 7d");
        assert_eq!(ago(now.minus(Duration::from_secs(3_700)), now), "1h1m ago");
        assert_eq!(iso(Timestamp(0)), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn moments_of_a_row_become_text_and_nothing_else_does() {
        let row = serde_json::json!({ "at": 0, "seq": 0, "all": [0, 1_000], "none": null });
        let told = iso_fields(row, &["at", "all", "none", "missing"]);
        let all = ["1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z"];
        let wanted = serde_json::json!({ "at": all[0], "seq": 0, "all": all, "none": null });
        assert_eq!(told, wanted);
    }
}
