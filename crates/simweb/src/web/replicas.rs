//! Sites that serve what others serve: mirrors, whole or in part, sites to come, and hosts without a site.

use model::Timestamp;

use crate::{
    Hazard,
    dice::{mix, unit},
};

use super::{
    Answer, Request, SimWeb,
    answer::not_found,
    page::Dress,
    reply::{Reply, small_page},
};

impl SimWeb {
    /// What a host answers that is not a site of its own. `None`: it is one.
    pub(super) fn whole_site(
        &self,
        host: &str,
        site: usize,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Option<Answer> {
        if request.path() == "/robots.txt" {
            return None;
        }
        match self.host_hazard(host)? {
            Hazard::Mirror { of, home, own } => self.mirrored((of, home, own), site, request, now),
            Hazard::UnderConstruction { until } if now.since(self.options.origin) < until => {
                Some(match request.path() {
                    "/" => default_page("Under construction", "This site is on its way.", now),
                    _ => not_found(now),
                })
            }
            Hazard::DefaultHost => {
                Some(default_page("It works", "This is the default page of this server.", now))
            }
            _ => None,
        }
    }

    fn mirrored(
        &self,
        (of, home, own): (usize, bool, u8),
        site: usize,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Option<Answer> {
        let index = self.index_of(of, request.target)?;
        let draw = unit(mix(mix(self.site_hash(site), index as u64), 0x3117));
        let is_own = if index == 0 { !home } else { draw * 100.0 < f64::from(own) };
        if !is_own {
            return Some(self.ordinary(of, request, now, &Dress::default()));
        }
        // Its own words under the path of the other's page, and the other's links.
        let ours = self.site_hash(site);
        let links: String = self
            .links(super::PageId { site: of, index })
            .iter()
            .filter_map(|link| match link {
                super::LinkTo::Page(to) if to.site == of => {
                    Some(format!("<a href=\"{}\">on</a>\n", self.path(of, to.index)))
                }
                _ => None,
            })
            .collect();
        let body = format!("<p>Page {index} as {ours:x} has it.</p>\n{links}");
        Some(Reply::new(200, now).html().whole(small_page("Our own", &body)))
    }
}

fn default_page(title: &str, text: &str, now: Timestamp) -> Answer {
    Reply::new(200, now).html().whole(small_page(title, &format!("<p>{text}</p>")))
}
