//! Parts of pages (with [`crate::WebOptions::requisites`]): styles that import styles, fonts, scripts and
//! pictures, half of them on the next site's host. Nothing links to them.

use super::{Answer, PageId, SimWeb, answer::PNG, reply::Reply};

use model::Timestamp;

/// Pictures of a site; pages share them.
const PICTURES: usize = 7;

impl SimWeb {
    /// What a browser loads to show the page, as `host/path`, in no order.
    pub fn parts(&self, page: PageId) -> Vec<String> {
        let (own, other) = (self.host(page.site), self.parts_host(page.site));
        let mut parts =
            vec![format!("{own}/style.css"), format!("{own}/img/{}.png", page.index % 50)];
        if self.options.requisites {
            let picture = page.index % PICTURES;
            parts.extend([
                format!("{own}/parts/site.css"),
                format!("{own}/parts/base.css"),
                format!("{other}/parts/theme.css"),
                format!("{other}/parts/body.woff2"),
                format!("{own}/parts/paper.png"),
                format!("{other}/parts/app.js"),
                format!("{other}/parts/{picture}.png"),
                format!("{other}/parts/{picture}-2x.png"),
                format!("{own}/parts/{picture}-inline.png"),
            ]);
        }
        parts
    }

    /// For the head of a page.
    pub(super) fn parts_markup(&self, page: PageId) -> String {
        let other = self.parts_origin(page.site);
        let picture = page.index % PICTURES;
        format!(
            "<link rel=\"stylesheet\" href=\"/parts/site.css\">\n<script src=\"{other}/parts/app.js\"></script>\n\
             <picture><source srcset=\"{other}/parts/{picture}.png 1x, {other}/parts/{picture}-2x.png 2x\">\
             <img src=\"{other}/parts/{picture}.png\" alt=\"\"></picture>\n\
             <p style=\"background: url('/parts/{picture}-inline.png')\"></p>\n"
        )
    }

    pub(super) fn part_answer(&self, site: usize, path: &str, now: Timestamp) -> Option<Answer> {
        let name = path.strip_prefix("/parts/").filter(|_| self.options.requisites)?;
        let other = self.parts_origin(site);
        let (media_type, body) = match name {
            "site.css" => {
                ("text/css", "@import 'base.css'; /* url(no.png) */\nbody { margin: 0 }\n".into())
            }
            "base.css" => (
                "text/css",
                format!(
                    "@import url({other}/parts/theme.css);\nbody {{ background: url(paper.png) }}\n"
                ),
            ),
            "theme.css" => (
                "text/css",
                "@font-face { font-family: body; src: url(\"body.woff2\") format('woff2') }\n"
                    .into(),
            ),
            "body.woff2" => ("font/woff2", "wOF2".repeat(500)),
            "app.js" => ("text/javascript", "document.title += '.';\n".repeat(60)),
            _ if name.ends_with(".png") => {
                // The first kilobyte alone would not be worth a reference to another record.
                let body = [PNG, &[0; 2_000]].concat();
                return Some(Reply::new(200, now).field("Content-Type", "image/png").whole(body));
            }
            _ => return None,
        };
        Some(Reply::new(200, now).field("Content-Type", media_type).whole(body))
    }

    fn parts_host(&self, site: usize) -> String {
        self.host((site + 1) % self.sites())
    }

    fn parts_origin(&self, site: usize) -> String {
        let other = (site + 1) % self.sites();
        format!("{}://{}", self.scheme(other), self.host(other))
    }
}
