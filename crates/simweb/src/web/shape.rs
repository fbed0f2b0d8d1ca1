//! The shape of a site: which pages it has, where they live and what they link to.
//!
//! Page 0 is the home page; page `i` has the children `F·i+1 … F·i+F`. A random link of page `i` goes to a
//! page up to its last child, `F·i+F`, so no link is a short cut and a page's level is its depth in the tree.

use crate::{
    dice::{Dice, mix, unit},
    words::{SECTIONS, SLUGS},
};

use super::{PageId, SimWeb};

/// What a link of a page leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTo {
    Page(PageId),
    /// The page, over this many redirects of its site.
    Redirect {
        page: PageId,
        hops: u8,
    },
    /// A path of the site that does not exist.
    Missing(u64),
    /// A page of a host that does not exist.
    DeadHost(u64),
}

/// How far a page is a copy of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twin {
    Exact(PageId),
    Near(PageId),
}

impl SimWeb {
    /// Links followed from the home page.
    pub fn level(&self, index: usize) -> u16 {
        let (mut index, mut level) = (index, 0);
        while index > 0 {
            index = (index - 1) / self.children();
            level += 1;
        }
        level
    }

    /// Path and query of a page.
    pub fn path(&self, site: usize, index: usize) -> String {
        let mut path = Vec::with_capacity(48);
        self.write_path(PageId { site, index }, &mut path);
        String::from_utf8(path).expect("sections, slugs and digits are ASCII")
    }

    /// The page at this path and query. Session, print and tracking parameters do not matter.
    pub fn index_of(&self, site: usize, target: &str) -> Option<usize> {
        let target = without_tracking(target);
        if target == "/" {
            return Some(0);
        }
        let end = target.rfind(|c: char| c.is_ascii_digit())? + 1;
        let start = target[..end].trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let index: usize = target[start..end].parse().ok()?;
        if index >= self.pages(site) {
            return None;
        }
        let mut path = Vec::with_capacity(48);
        self.write_path(PageId { site, index }, &mut path);
        (path == target.as_bytes()).then_some(index)
    }

    /// The links of a page in the order they appear (children first), repetitions included.
    pub fn links(&self, page: PageId) -> Vec<LinkTo> {
        let options = &self.options.page;
        let (count, children) = (self.pages(page.site), self.children());
        let internal = (options.links as f64 * options.internal_share).round() as usize;
        let mut dice = Dice::new(mix(self.page_hash(page), 0x11E5));
        let mut links = Vec::with_capacity(options.links + 2);
        let first = children * page.index + 1;
        for index in first..(first + children).min(count) {
            links.push(self.internal(page.site, index, &mut dice));
        }
        if page.index > 0 {
            for index in [0, (page.index - 1) / children] {
                links.push(LinkTo::Page(PageId { site: page.site, index }));
            }
        }
        let reach = (first + children).min(count);
        while links.len() < internal {
            let index = dice.below(reach);
            links.push(match dice.chance(options.broken_share) {
                true => LinkTo::Missing(dice.next() >> 40),
                false => self.internal(page.site, index, &mut dice),
            });
        }
        let external = options.links.saturating_sub(internal);
        links.extend((0..external).map(|_| self.external(page.site, &mut dice)));
        links
    }

    fn internal(&self, site: usize, index: usize, dice: &mut Dice) -> LinkTo {
        let page = PageId { site, index };
        match dice.chance(self.options.page.redirect_share) {
            true => LinkTo::Redirect { page, hops: 1 + dice.below(2) as u8 },
            false => LinkTo::Page(page),
        }
    }

    fn external(&self, site: usize, dice: &mut Dice) -> LinkTo {
        let dead = dice.chance(self.options.page.dead_host_share);
        if self.options.sites < 2 || dead {
            return LinkTo::DeadHost(dice.next() >> 48);
        }
        let other = (site + 1 + dice.below(self.options.sites - 1)) % self.options.sites;
        let index = match dice.chance(0.5) {
            true => 0,
            false => dice.below(self.pages(other)),
        };
        LinkTo::Page(PageId { site: other, index })
    }

    pub(super) fn write_path(&self, page: PageId, out: &mut Vec<u8>) {
        if page.index == 0 {
            out.push(b'/');
            return;
        }
        let hash = mix(self.page_hash(page), 0x9A7);
        let section = SECTIONS[(hash & 15) as usize];
        let slug = SLUGS[(hash >> 4 & 31) as usize];
        let other = SLUGS[(hash >> 9 & 31) as usize];
        // By pieces rather than `write!`: twenty links a page make this the dearest part of it.
        let mut put =
            |pieces: &[&str]| pieces.iter().for_each(|p| out.extend_from_slice(p.as_bytes()));
        let is_query = unit(mix(hash, 1)) < self.options.page.query_share;
        let end = match hash >> 14 & 3 {
            _ if is_query => {
                put(&["/", section, "/view?id="]);
                ""
            }
            0 => {
                put(&["/", section, "/", slug, "/"]);
                "/"
            }
            1 => {
                put(&["/", section, "/", slug, "-"]);
                ""
            }
            _ => {
                put(&["/", section, "/", slug, "-", other, "-"]);
                ".html"
            }
        };
        write_number(page.index, out);
        out.extend_from_slice(end.as_bytes());
    }

    /// The page whose content a page shows: itself, or the original of an exact copy.
    pub(super) fn source(&self, page: PageId) -> PageId {
        match self.twin(page) {
            Some(Twin::Exact(original)) => original,
            _ => page,
        }
    }

    /// Copies are odd leaves, originals even ones: no chains, and no page loses its way in.
    pub(super) fn twin(&self, page: PageId) -> Option<Twin> {
        let options = &self.options.page;
        let (exact, near) = (options.duplicate_share * 2.0, options.near_duplicate_share * 2.0);
        if exact + near == 0.0 || page.index.is_multiple_of(2) || !self.is_leaf(page) {
            return None;
        }
        let hash = mix(self.page_hash(page), 0x7417);
        let count = self.pages(page.site);
        let leaves = (count - 1).div_ceil(self.children());
        let original = (leaves + Dice::new(hash).below(count - leaves)) & !1;
        let original = PageId { site: page.site, index: original };
        let at = unit(hash);
        match self.is_leaf(original) {
            true if at < exact => Some(Twin::Exact(original)),
            true if at < exact + near => Some(Twin::Near(original)),
            _ => None,
        }
    }

    pub(super) fn is_leaf(&self, page: PageId) -> bool {
        page.index > 0 && self.children() * page.index + 1 >= self.pages(page.site)
    }

    fn children(&self) -> usize {
        self.options.page.children.max(1)
    }
}

fn write_number(number: usize, out: &mut Vec<u8>) {
    let start = out.len();
    let mut left = number;
    loop {
        out.push(b'0' + (left % 10) as u8);
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out[start..].reverse();
}

fn without_tracking(target: &str) -> std::borrow::Cow<'_, str> {
    let Some((path, query)) = target.split_once('?') else { return target.into() };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let name = pair.split('=').next().unwrap_or_default();
            !(matches!(name, "sid" | "visitor" | "print" | "ref") || name.starts_with("utm_"))
        })
        .collect();
    match kept.is_empty() {
        true => path.into(),
        false => format!("{path}?{}", kept.join("&")).into(),
    }
}
