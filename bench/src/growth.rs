//! Flat as it grows: the same crawl in a collection that knows little and in one that knows a hundred times as much.
//!
//! Every URL of the simulated web is known beforehand, most of them not due before a year is over. The crawl
//! visits all pages of 200 sites that lie evenly between the others; every link it meets leads to a known page, a fifth
//! of them on other sites. So the two crawls do the same and differ only in what lies around it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, ensure};
use model::{
    Candidate, CheckOut, CrawlUrl, Frontier, NewPage, PageTerms, Release, Settlement, SiteDelta,
    SiteLease, SpiderId, Timestamp,
};
use simweb::{PageId, SimWeb};
use store::collection::Collection;

use crate::{
    cases::Place,
    process::{Cores, Job, Usage},
    results::{median, spread},
    server::{Kind, Server, Web},
};

/// Pages of a site.
const EACH: usize = 100;
const REPETITIONS: usize = 3;
/// At most so many times the cost of a page.
const AIM: f64 = 1.2;
const TIME_MAX: Duration = Duration::from_secs(1_800);
/// When the pages that are not visited are due: far behind the end of any crawl of these.
const FAR: Duration = Duration::from_secs(365 * 86_400);
/// Sites that are filled in one transaction.
const BATCH_SITES: usize = 500;

/// What is compared.
struct Plan {
    /// Known URLs.
    known: [usize; 2],
    /// Sites that are visited.
    visited: usize,
    repetitions: usize,
}

const FULL: Plan = Plan { known: [100_000, 10_000_000], visited: 200, repetitions: REPETITIONS };
const SMALL: Plan = Plan { known: [20_000, 400_000], visited: 40, repetitions: 1 };

/// A web, and the collection that knows all of it.
struct Ground {
    web: Web,
    known: usize,
    template: PathBuf,
    turns: Vec<Usage>,
}

pub fn measure(place: &Place<'_>) -> anyhow::Result<String> {
    let plan = if place.small { SMALL } else { FULL };
    let mut grounds = Vec::new();
    for known in plan.known {
        grounds.push(Ground::make(place, known, plan.visited)?);
    }
    // By turns, so that what else happens on the machine meets both.
    for _ in 0..plan.repetitions {
        for ground in &mut grounds {
            ground.turn(place, plan.visited)?;
        }
    }
    for ground in &grounds {
        fs::remove_dir_all(&ground.template)?;
    }
    place.clear()?;
    Ok(text(&grounds, plan.visited * EACH))
}

impl Ground {
    fn make(place: &Place<'_>, known: usize, visited: usize) -> anyhow::Result<Ground> {
        let web = Web {
            sites: known / EACH,
            pages: EACH,
            addresses: 1,
            latency_ms: 0,
            kind: Kind::Domains,
        };
        let template = place.scratch.join(format!("growth-{known}"));
        if template.exists() {
            fs::remove_dir_all(&template)?;
        }
        fill(&template, &SimWeb::new(web.options()), visited)?;
        Ok(Ground { web, known, template, turns: Vec::new() })
    }

    fn turn(&mut self, place: &Place<'_>, visited: usize) -> anyhow::Result<()> {
        place.clear()?;
        copy(&self.template, &place.collection())?;
        let server = Server::start(place.programs, place.scratch, self.web)?;
        let words = place.scratch.join("growth.log");
        let outcome = job(place, &server).run(Cores::Apart, TIME_MAX, &words)?;
        let (pages, asked) = (server.counts()?.unique_pages, (visited * EACH) as u64);
        ensure!(
            outcome.status == 0 && pages == asked,
            "status {}, {pages} of {asked} pages\n{}",
            outcome.status,
            fs::read_to_string(&words)?
        );
        self.turns.push(outcome.usage);
        Ok(())
    }

    fn costs(&self, pages: usize) -> Vec<f64> {
        self.turns.iter().map(|usage| usage.cpu().as_secs_f64() * 1e6 / pages as f64).collect()
    }
}

/// A crawl of what is due.
fn job(place: &Place<'_>, server: &Server) -> Job {
    let mut job = Job::new(place.programs.join("harvestman"));
    let folder = place.collection();
    job.arguments(["-C", &folder.to_string_lossy(), "--quiet", "crawl"]);
    job.arguments(["--allow-address", "127.0.0.0/8", "--resolve", &server.resolve_rule()]);
    job.arguments(["--scope", "any", "--delay", "0", "--connections", "32"]);
    job
}

/// Makes a collection that knows every page of the web; those of `visited` sites are due.
fn fill(folder: &Path, web: &SimWeb, visited: usize) -> anyhow::Result<()> {
    let collection = Collection::create(folder)?;
    let mut frontier = collection.frontier()?;
    let step = web.sites() / visited;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("a clock after 1970")?;
    let now = Timestamp(i64::try_from(now.as_millis())?);
    for from in (0..web.sites()).step_by(BATCH_SITES) {
        let sites: Vec<usize> = (from..web.sites().min(from + BATCH_SITES)).collect();
        let homes: Vec<Candidate> =
            sites.iter().map(|site| home(web, *site)).collect::<anyhow::Result<_>>()?;
        frontier.admit(&homes, now)?;
        let request = CheckOut {
            sites_max: sites.len(),
            pages_max: 1,
            only: Some(homes.iter().map(|home| home.url.site()).collect()),
            ..CheckOut::at(now, "growth")
        };
        let leases = frontier.check_out(&request)?;
        ensure!(leases.len() == sites.len(), "{} of {} sites", leases.len(), sites.len());
        let delta = |lease: &SiteLease| {
            let site = web.site_of(lease.site.key.as_str()).context("a site of the web")?;
            let due = if site % step == 0 { now } else { now.plus(FAR) };
            known(web, site, lease, due)
        };
        let deltas = leases.iter().map(delta).collect::<anyhow::Result<_>>()?;
        frontier.check_in(&Settlement { now, deltas, ..Settlement::default() })?;
    }
    Ok(())
}

fn home(web: &SimWeb, site: usize) -> anyhow::Result<Candidate> {
    Ok(Candidate {
        url: CrawlUrl::parse(&web.home(site))?,
        spider: SpiderId(1),
        level: 0,
        hops: 0,
        seed: false,
        terms: PageTerms::default(),
        referrer: None,
    })
}

/// All pages of the site are admitted, its home page too, and the site is given back.
fn known(
    web: &SimWeb,
    site: usize,
    lease: &SiteLease,
    due: Timestamp,
) -> anyhow::Result<SiteDelta> {
    let page = |index| {
        Ok(NewPage {
            url: CrawlUrl::parse(&web.url(PageId { site, index }))?,
            spider: SpiderId(1),
            level: web.level(index),
            hops: 0,
            seed: false,
            terms: PageTerms::default(),
            due,
        })
    };
    let release = Release::NotBefore(due);
    Ok(SiteDelta {
        admitted: (0..EACH).map(page).collect::<anyhow::Result<_>>()?,
        ..SiteDelta::empty(lease.site.id, lease.site.key.clone(), lease.fence, release)
    })
}

/// A collection that nobody has open.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

fn text(grounds: &[Ground], pages: usize) -> String {
    let mut text = format!(
        "A crawl of {pages} known pages of {} sites without a pause, where all links lead to known pages; only how many \
         others the collection knows differs. The page is the usual one.\n\n\
         | known URLs | pages/s | CPU µs a page | of it system | peak MB |\n\
         | --- | --- | --- | --- | --- |\n",
        pages / EACH
    );
    for ground in grounds {
        let of = |figure: &dyn Fn(&Usage) -> f64| spread(ground.turns.iter().map(figure).collect());
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            ground.known,
            of(&|usage| pages as f64 / usage.wall.as_secs_f64()),
            spread(ground.costs(pages)),
            of(&|usage| usage.system.as_secs_f64() * 1e6 / pages as f64),
            of(&|usage| usage.peak_bytes as f64 / f64::from(1 << 20)),
        );
    }
    let costs: Vec<f64> = grounds.iter().map(|ground| median(ground.costs(pages))).collect();
    let ratio = costs.last().unwrap_or(&f64::NAN) / costs.first().unwrap_or(&f64::NAN);
    let met = if ratio <= AIM { "met" } else { "**missed**" };
    text + &format!("\nCPU a page with many against few: {ratio:.2} × (aim {AIM} ×: {met}).\n")
}
