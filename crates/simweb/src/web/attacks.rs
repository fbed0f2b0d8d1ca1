//! Pages that try something against others, or against whoever reads: cookies for everybody, links into
//! networks, escape sequences, refreshes in circles, ports nobody asked for.

use model::Timestamp;

use crate::Hazard;

use super::{
    Answer, Request,
    reply::{Reply, small_page},
};

/// `None`: none of these.
pub(super) fn attack(hazard: Hazard, request: &Request<'_>, now: Timestamp) -> Option<Answer> {
    let page = |title: &str, body: &str| Reply::new(200, now).html().whole(small_page(title, body));
    Some(match hazard {
        Hazard::CookieFlood => {
            let mut reply = Reply::new(200, now).html();
            for n in 0..80 {
                reply = reply.field("Set-Cookie", format_args!("flood{n}={n}"));
            }
            for domain in ["test", "com", "co.uk", "other.example"] {
                reply = reply.field("Set-Cookie", format_args!("super=1; Domain={domain}"));
            }
            reply
                .field("Set-Cookie", format_args!("long={}", "x".repeat(5_000)))
                .whole(small_page("Cookies", ""))
        }
        Hazard::EscapeSequences => {
            page("\u{1b}]0;yours\u{7}\u{1b}[2J", "<p>\u{1b}[31mred\u{9b}1m</p>")
        }
        Hazard::PrivateLinks => {
            let hosts =
                ["10.0.0.1", "0x7f.1", "[::ffff:169.254.169.254]", "2130706433", "localhost"];
            let links: Vec<String> = hosts
                .iter()
                .map(|host| format!("<a href=\"http://{host}/admin\">in</a>"))
                .collect();
            page("Inside", &links.concat())
        }
        Hazard::OddPorts => {
            let host = request.host;
            page(
                "Ports",
                &format!(
                    "<a href=\"http://{host}:6379/\">a</a><a href=\"http://{host}:25/\">b</a>"
                ),
            )
        }
        _ => return None,
    })
}
