//! What odd answers and contents are. The good part of each stands before the bad, and links home where a
//! page can link at all.

use std::fmt::Write;

use bytes::Bytes;
use model::Timestamp;

use super::{
    Answer, Manner, Request,
    answer::{gzipped, redirect},
    bombs,
    made::made,
    reply::{Reply, small_page},
};
use crate::Odd;

const HOME: &str = "<p>A page like any other. <a href=\"/\">home</a></p>";

const LAST_CHUNK: &str = "0\r\n\r\n";

pub(super) fn answer(odd: Odd, request: &Request<'_>, now: Timestamp) -> Answer {
    let reply = || Reply::new(200, now);
    let html = |body: String| reply().html().whole(small_page(request.path(), &body));
    let typed =
        |media_type: &str, body: Vec<u8>| reply().field("Content-Type", media_type).whole(body);
    let page = small_page("Odd", HOME);
    match odd {
        Odd::DeflateBomb => coded("deflate", made("deflate", || bombs::zlib(512)), now),
        Odd::BrotliBomb => coded("br", made("br", || bombs::brotli(64)), now),
        Odd::ZstdBomb => coded("zstd", made("zstd", || bombs::zstd(512)), now),
        Odd::LargeWindow => coded("zstd", bombs::zstd_with_large_window(page.as_bytes()), now),
        Odd::JunkBehindGzip => {
            coded("gzip", [&gzipped(page.as_bytes())[..], b"and more"].concat(), now)
        }
        Odd::PlainAsGzip => coded("gzip", page.into_bytes(), now),
        Odd::WrongChecksum => {
            let mut body = gzipped(page.as_bytes());
            let sum = body.len() - 6;
            body[sum] ^= 0xff;
            coded("gzip", body, now)
        }
        Odd::LongBody | Odd::NonsenseLength | Odd::DifferingLengths | Odd::LengthAndChunks => {
            length(odd, page, now)
        }
        Odd::InterimFlood => {
            let answer = html(HOME.to_owned());
            let head = [b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100_000), answer.head].concat();
            Answer { head, ..answer }
        }
        Odd::OldHttp => bare(page.into_bytes(), now),
        Odd::BadStatus => bare(b"HTTP/1.1 -1 Well\r\nContent-Length: 0\r\n\r\n".to_vec(), now),
        Odd::PdfAsHtml => typed("text/html", [b"%PDF-1.7\n", page.as_bytes()].concat()),
        Odd::ZipAsHtml => typed("text/html", [b"PK\x03\x04", page.as_bytes()].concat()),
        Odd::Untyped => reply().whole(page),
        Odd::HtmlAsImage => typed("image/png", page.into_bytes()),
        Odd::BareUtf16 => {
            typed("text/html", page.encode_utf16().flat_map(u16::to_le_bytes).collect())
        }
        Odd::Utf7 => typed("text/html; charset=utf-7", page.into_bytes()),
        Odd::MixedText => {
            let good = small_page("Gemischt", &format!("<p>Größe, Maße, Übermut</p>{HOME}"));
            typed("text/html; charset=utf-8", [good.as_bytes(), b"<p>Gr\xf6\xdfe</p>"].concat())
        }
        Odd::Nuls => html(format!("<p>b\0e\0t\0w\0een</p>{HOME}")),
        Odd::RefreshLoop => {
            html(format!("<meta http-equiv=refresh content=\"1; url={}\">{HOME}", request.target))
        }
        Odd::RedirectPair => {
            let other = if request.query() == "b" { "a" } else { "b" };
            redirect(302, &format!("{}?{other}", request.path()), now)
        }
        // Without a length, or nobody would begin to read them.
        Odd::LongAttribute | Odd::LongLine | Odd::OpenComment => {
            let opening = reply().html().chunked(small_page(request.path(), HOME).as_bytes());
            let chunks = || reply().chunked(content(odd).as_bytes()).body.to_vec();
            let without_end = &opening.body[..opening.body.len() - LAST_CHUNK.len()];
            let body = [without_end, &made(odd.word(), chunks)].concat().into();
            Answer { body, ..opening }
        }
        _ => html(content(odd)),
    }
}

/// What stands in the body of a page that is odd in itself.
fn content(odd: Odd) -> String {
    const MEGABYTE: usize = 1 << 20;
    match odd {
        Odd::DeepNesting => format!("{HOME}{}", "<ul><li>".repeat(64 * 1024)),
        Odd::LongAttribute => format!("{HOME}<p title=\"{}\">", "x".repeat(10 * MEGABYTE)),
        Odd::LongLine => format!("{HOME}<p>{}", "a word and ".repeat(50 * MEGABYTE / 11)),
        Odd::OpenComment => format!("{HOME}<!-- {}", "x".repeat(10 * MEGABYTE)),
        Odd::Wordless => {
            let mut text = String::from(HOME);
            for k in 0..2_000u32 {
                write!(text, "{:08x}", k.wrapping_mul(2_654_435_761))
                    .expect("writing to memory cannot fail");
            }
            text
        }
        Odd::ScriptOnly => "<div id=app></div><script>location = '/' + 'next'</script>".to_owned(),
        Odd::ManyLinks => {
            let mut text = String::from(HOME);
            for k in 0..100_000u32 {
                // One page, so that whoever follows them has not a hundred thousand to visit.
                write!(text, "<a href=/#{k}>").expect("writing to memory cannot fail");
            }
            text
        }
        Odd::BadUrls => format!("{HOME}<a href='http://[x'>a</a> <a href='http://a b/'>b</a>"),
        _ => HOME.to_owned(),
    }
}

fn length(odd: Odd, page: String, now: Timestamp) -> Answer {
    let reply = Reply::new(200, now).html();
    let length = page.len();
    match odd {
        Odd::LongBody => reply.whole(made("spaces", || vec![b' '; 50 << 20])),
        Odd::DifferingLengths => {
            reply.field("Content-Length", length).field("Content-Length", length + 1).bare(page)
        }
        Odd::LengthAndChunks => reply.field("Content-Length", length).chunked(page.as_bytes()),
        _ => Answer { manner: Manner::Hangup, ..reply.field("Content-Length", "many").bare(page) },
    }
}

fn coded(coding: &str, body: impl Into<Bytes>, now: Timestamp) -> Answer {
    Reply::new(200, now).html().field("Content-Encoding", coding).whole(body)
}

/// These bytes and nothing else.
fn bare(head: Vec<u8>, now: Timestamp) -> Answer {
    Answer { status: 0, head, manner: Manner::Hangup, ..Reply::new(0, now).bare("") }
}
