//! `/robots.txt` of a simulated site.

use model::Timestamp;

use crate::RobotsPlan;

use super::{
    Answer, Manner, Request, SimWeb,
    answer::{not_found, not_modified, redirect},
    reply::Reply,
};

impl SimWeb {
    /// The rules a client holds once it has asked for robots.txt at `now` and followed its redirects;
    /// `Err` is the status that came instead (0: no answer).
    pub fn robots_rules(&self, site: usize, now: Timestamp) -> Result<String, u16> {
        let text = match self.robots_plan(site, now) {
            RobotsPlan::AllowAll | RobotsPlan::Changing { .. } => {
                "User-agent: *\nDisallow:\n".into()
            }
            RobotsPlan::Disallow(prefixes) => {
                let lines = prefixes.iter().map(|prefix| format!("Disallow: {prefix}\n"));
                format!("User-agent: *\n{}", lines.collect::<String>())
            }
            RobotsPlan::ForbidAll => "User-agent: *\nDisallow: /\n".to_owned(),
            RobotsPlan::CrawlDelay(seconds) => {
                format!("User-agent: *\nCrawl-delay: {seconds}\nDisallow:\n")
            }
            RobotsPlan::Text(text) => return Ok(text.clone()),
            RobotsPlan::Redirecting { .. } => "User-agent: *\nDisallow: /private/\n".to_owned(),
            RobotsPlan::Huge { bytes } => {
                let line = "# a line of no meaning whatsoever that only takes up room\n";
                let filler = line.repeat(bytes / line.len() + 1);
                format!("{filler}User-agent: *\nDisallow: /private/\n")
            }
            RobotsPlan::Status(status) => return Err(*status),
            RobotsPlan::Silent => return Err(0),
        };
        Ok(match self.options.sitemap {
            true => format!("{text}Sitemap: {}sitemap.xml\n", self.home(site)),
            false => text,
        })
    }

    pub(super) fn robots_answer(
        &self,
        site: usize,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Answer {
        let hop =
            request.path().strip_prefix("/robots-").and_then(|rest| rest.strip_suffix(".txt"));
        let hop: u32 = hop.and_then(|hop| hop.parse().ok()).unwrap_or(0);
        if let RobotsPlan::Redirecting { hops } = self.robots_plan(site, now)
            && hop < *hops
        {
            return redirect(301, &format!("/robots-{}.txt", hop + 1), now);
        }
        match self.robots_rules(site, now) {
            Ok(rules) => {
                let hash = rules.bytes().fold(0, |hash, b| crate::dice::mix(hash, u64::from(b)));
                let etag = format!("\"r{hash:x}\"");
                if not_modified(request, &etag, now) {
                    return Reply::new(304, now).field("ETag", etag).bare("");
                }
                let reply = Reply::new(200, now).field("Content-Type", "text/plain");
                reply.field("ETag", etag).whole(rules)
            }
            Err(0) => Answer { status: 0, manner: Manner::Silent, ..not_found(now) },
            Err(404) => not_found(now),
            Err(status) => {
                let reply = Reply::new(status, now).field("Content-Type", "text/plain");
                reply.whole("no rules today\n")
            }
        }
    }

    /// Prefixes that the site forbids now or at another time and that have pages.
    pub(super) fn forbidden_places(&self, site: usize) -> Vec<String> {
        let plan = match self.options.robots_of.is_empty() {
            true => &self.options.robots,
            false => self.options.robots_of.get(&self.host(site)).unwrap_or(&self.options.robots),
        };
        let mut places = Vec::new();
        collect_places(plan, &mut places);
        places
    }
}

fn collect_places(plan: &RobotsPlan, places: &mut Vec<String>) {
    match plan {
        RobotsPlan::Disallow(prefixes) => {
            places.extend(prefixes.iter().filter(|p| p.ends_with('/') && p.len() > 1).cloned());
        }
        RobotsPlan::Redirecting { .. } | RobotsPlan::Huge { .. } => {
            places.push("/private/".to_owned());
        }
        RobotsPlan::Changing { plans, .. } => {
            plans.iter().for_each(|plan| collect_places(plan, places));
        }
        _ => {}
    }
}
