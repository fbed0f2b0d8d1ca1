//! Near duplicates: pages of one text that differ by a counter, listed on one page and chained without end.

use model::Timestamp;

use super::{
    Answer, Request,
    hazards::number,
    reply::{Reply, small_page},
};

/// Without `n=` the list of them, with it one of them.
pub(super) fn page(listed: u32, request: &Request<'_>, now: Timestamp) -> Answer {
    let path = request.path();
    let body = match number(request.query(), "n=") {
        0 => {
            let link = |n: u32| format!("<li><a href=\"{path}?n={n}\">leaf {n}</a></li>\n");
            format!("<p>{OPENING}</p>\n<ul>{}</ul>", (1..=listed).map(link).collect::<String>())
        }
        n => {
            let next = n.saturating_add(1);
            format!(
                "<p>This is leaf {n}. {LEAF}</p>\n<p>Seen {} times so far.</p>\n\
                 <p><a href=\"{path}?n={next}\">next leaf</a> <a href=\"{path}\">all leaves</a></p>",
                n.wrapping_mul(7919) % 1000
            )
        }
    };
    Reply::new(200, now).html().whole(small_page("Leaves", &body))
}

const OPENING: &str = "The book has been taken apart, and here is where every leaf of it can be found, one \
    under the other in the order of their numbers, as the binder would have laid them out.";
const LEAF: &str = "There is nothing written on it that is not written on all the others, for whoever made \
    this book had one sentence to say and much paper, and so the sentence stands on every leaf, to the \
    end of the book, which nobody has ever seen.";
