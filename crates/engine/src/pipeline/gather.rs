//! The gather stage: threads that archive an answer, then read it, then judge its links.
//!
//! Archive first: no parser sees a byte before the record is in the volume's buffer. These threads share
//! nothing but the archive, the seeds' reach and a bounded memory of payloads already stored.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, mpsc::Receiver},
    thread,
    time::Duration,
};

use gatherer::{Gathered, gather, gather_part, has_words};
use harvester::failure::PageAfter;
use model::{
    Archive, ArchiveEntry, Candidate, Clock, CrawlUrl, Decision, EntryKind, Exchange, Hazard,
    LastVersion, Looks, Measure, Page, PageState, PageUpdate, RecordId, RecordLocation, RefersTo,
    Refusal, Sighting, Stopped, StoreError, Verdict,
};
use seeder::{
    Blocks, FAMILY_WORDS_MIN, Gist, Likeness, Requisites, Sorted, SortedNotice, feeds_of,
    sort_links, sort_requisites, traps,
};
use store::{
    directory::Directory,
    warc::{RecordIds, dechunk},
};
use tokio::sync::mpsc::Sender;

use super::{
    digests::Digests,
    lesson::Lesson,
    marks::{Bench, Unread, Watch},
    messages::{Content, Event, GatherJob, PageReport, Report, ReportSubject, Subject},
    notices,
    payloads::{Original, Payloads},
    poison,
    preview::Preview,
    quarantine,
    returning::{self, Stakes},
    settle::{self, Seen},
    sightings,
    spiders::{Spider, Spiders},
};

/// How often a full disk is tried again.
const FULL_DISK_RETRY: Duration = Duration::from_secs(2);

/// Records that a gather thread leaves in memory while more work waits.
const UNWRITTEN_MAX: usize = 16;

/// As long as five pages of a crawl at full speed take to come, and nothing beside any pause.
pub const NAP: Duration = Duration::from_millis(1);

/// What all gather threads work with.
pub struct GatherStage {
    pub archive: Arc<dyn Archive>,
    pub spiders: Arc<Spiders>,
    pub payloads: Mutex<Payloads>,
    /// Of a longer body only so much is archived (WIRE's maxstoredsize); all of it is read.
    pub stored_bytes_max: Option<u64>,
    /// Where pages are kept as files too.
    pub directory: Option<Arc<Directory>>,
    pub ids: RecordIds,
    pub clock: Arc<dyn Clock>,
    /// What would be taken is told here instead of being taken.
    pub preview: Option<Arc<Preview>>,
    /// What the stages of the crawl are at.
    pub watch: Arc<Watch>,
    /// How long a thread without work waits for several pages at once: each one that wakes it costs more than the wait.
    /// Zero under simulated time.
    pub nap: Duration,
}

impl GatherStage {
    /// One thread's loop; ends when the harvest loop hangs up.
    pub fn run(&self, bench: &Bench, jobs: &Mutex<Receiver<GatherJob>>, events: &Sender<Event>) {
        let mut unwritten = 0;
        while let Some(job) = self.next(bench, jobs, &mut unwritten) {
            let event = match self.work(job, bench, events) {
                Ok(Some(report)) => Event::Gathered(Box::new(report)),
                // Given up meanwhile: another thread is in its place, and the page is settled.
                Ok(None) => return,
                Err(error) => Event::Fault(error),
            };
            if events.blocking_send(event).is_err() {
                break;
            }
        }
        self.watch.end(bench);
    }

    /// The next job. Before it waits, and every few records, what was archived is handed to the system:
    /// a killed process then loses hardly more than what it was asking for.
    fn next(
        &self,
        bench: &Bench,
        jobs: &Mutex<Receiver<GatherJob>>,
        unwritten: &mut usize,
    ) -> Option<GatherJob> {
        *unwritten += 1;
        if *unwritten < UNWRITTEN_MAX {
            // A taken lock means that another thread waits for jobs: there are none.
            let at_once = || jobs.try_lock().ok().and_then(|jobs| jobs.try_recv().ok());
            let after_nap = || {
                thread::sleep(self.nap);
                at_once()
            };
            let job = at_once().or_else(|| (!self.nap.is_zero()).then(after_nap).flatten());
            if job.is_some() {
                return job;
            }
        }
        *unwritten = 0;
        self.watch.end(bench);
        if let Err(error) = self.archive.flush() {
            // The next append or sync meets the same trouble and is heard.
            tracing::debug!(%error, "archived records are not written yet");
        }
        jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }

    /// `None` when the thread was given up while it read.
    fn work(
        &self,
        job: GatherJob,
        bench: &Bench,
        events: &Sender<Event>,
    ) -> Result<Option<Report>, StoreError> {
        let begun = self.clock.micros();
        let GatherJob { assignment, exchange, subject, clock, busy } = job;
        let took = || Duration::from_micros(self.clock.micros().saturating_sub(begun));
        let (page, after, stakes) = match subject {
            Subject::Page { page, after, stakes } => (page, after, stakes),
            Subject::Robots(copy) => {
                let location = self.file(&exchange, None, events)?.location;
                let met = sightings::of_exchange(&exchange);
                let (subject, decisions) = (ReportSubject::Robots(copy, met), Vec::new());
                let took = took();
                let report = Report { assignment, subject, location, decisions, clock, took, busy };
                return Ok(Some(report));
            }
        };
        let filed = self.file(&exchange, Some(&page), events)?;
        let unread = Unread { assignment, exchange, page, after, stakes, clock, filed };
        let unread = Arc::new(unread);
        bench.lay(unread.clone());
        let page = (*unread.page).clone();
        let read = self.read(bench, &unread.exchange, page, &unread.filed, after, &unread.stakes);
        let Some((report, decisions)) = read else { return Ok(None) };
        // Nobody else has it now.
        let Some(Unread { assignment, exchange, clock, filed, .. }) = Arc::into_inner(unread)
        else {
            return Ok(None);
        };
        when_there_is_room(events, || self.keep_file(&exchange, &report))?;
        let (subject, location) = (ReportSubject::Page(Box::new(report)), filed.location);
        let took = took();
        Ok(Some(Report { assignment, subject, location, decisions, clock, took, busy }))
    }

    /// The report on a page whose reading did not end.
    pub fn unread(&self, unread: &Unread) -> Report {
        let Unread { assignment, exchange, page, stakes, clock, filed, .. } = unread;
        let mut met = self.spiders.quarantine.broke_down(&exchange.url, quarantine::STALLED);
        met.push(Sighting::at(&exchange.url, Hazard::Stalled, Measure::Truncated).of("reading"));
        let reading = Reading::broken(met);
        let (report, decisions) =
            self.report(exchange, (**page).clone(), filed, BROKEN, stakes, reading);
        Report {
            assignment: assignment.clone(),
            subject: ReportSubject::Page(Box::new(report)),
            location: filed.location,
            decisions,
            clock: *clock,
            took: Duration::ZERO,
            busy: self.clock.busy(),
        }
    }

    /// Appends the exchange to the volume: whole, or as a revisit of what is there already.
    fn file(
        &self,
        exchange: &Exchange,
        page: Option<&Page>,
        events: &Sender<Event>,
    ) -> Result<Filed, StoreError> {
        let cut = self.cut(exchange, page);
        let digests = Digests::of(exchange, cut.as_ref(), page);
        let last = page.and_then(|page| page.last.as_ref());
        let lost = last.is_some_and(|last| is_lost(&*self.archive, last));
        let (kind, seen) = self.kind_of(exchange, last, lost, &digests);
        let revisit = !matches!(kind, EntryKind::Response);
        let record_id = self.ids.make();
        let entry = ArchiveEntry {
            exchange: cut.as_ref().unwrap_or(exchange),
            record_id,
            payload_digest: digests.stored,
            block_digest: digests.block.filter(|_| !revisit),
            kind,
        };
        let digest = digests.whole;
        let location = when_there_is_room(events, || self.archive.append(&entry))?;
        let is_first = matches!(seen, Seen::New | Seen::Elsewhere(None));
        if is_first && exchange.status == 200 && exchange.stopped.is_none() {
            let mut payloads = self.payloads.lock().unwrap_or_else(PoisonError::into_inner);
            let original = Original { url: exchange.url.clone(), date: exchange.started, location };
            payloads.remember(&digest, original, exchange.entity.len());
        }
        Ok(Filed { location, record_id, digest, seen, revisit, lost })
    }

    /// The exchange as it is archived, when it is longer than what is to be kept of a page.
    fn cut(&self, exchange: &Exchange, page: Option<&Page>) -> Option<Exchange> {
        let max = usize::try_from(self.stored_bytes_max?).unwrap_or(usize::MAX);
        if page.is_none() || exchange.wire_body.len() <= max {
            return None;
        }
        let wire_body = exchange.wire_body.slice(..max);
        let framed = exchange.wire_body.len() != exchange.entity.len();
        Some(Exchange {
            entity: if framed { dechunk(&wire_body).into() } else { wire_body.clone() },
            wire_body,
            stopped: Some(exchange.stopped.unwrap_or(Stopped::Length)),
            ..exchange.clone()
        })
    }

    fn kind_of(
        &self,
        exchange: &Exchange,
        last: Option<&LastVersion>,
        lost: bool,
        &Digests { whole: ref digest, stored, .. }: &Digests,
    ) -> (EntryKind, Seen) {
        if exchange.status == 304
            && let Some(last) = last.filter(|last| last.whole && !lost)
        {
            let refers = RefersTo {
                target_uri: exchange.url.as_str().to_owned(),
                date: last.record_date,
                payload_digest: last.payload_digest,
            };
            return (EntryKind::NotModified(refers), Seen::Before);
        }
        if exchange.status != 200 || exchange.stopped.is_some() {
            return (EntryKind::Response, Seen::New);
        }
        let before = last.filter(|last| last.payload_digest == *digest);
        if let Some(last) = before.filter(|last| last.whole && !lost) {
            let target_uri = exchange.url.as_str().to_owned();
            let refers = RefersTo { target_uri, date: last.record_date, payload_digest: stored };
            return (EntryKind::SamePayload(refers), Seen::Before);
        }
        let payloads = self.payloads.lock().unwrap_or_else(PoisonError::into_inner);
        match payloads.recall(digest) {
            Some(original) if exchange.entity.len() >= Payloads::BYTES_MIN && before.is_none() => {
                let first = payloads.recall_on_site(digest, &exchange.url);
                let seen = Seen::Elsewhere(first.map(CrawlUrl::fingerprint));
                if !self.archive.holds(original.location) {
                    return (EntryKind::Response, seen);
                }
                let (target_uri, date) = (original.url.as_str().to_owned(), original.date);
                let refers = RefersTo { target_uri, date, payload_digest: stored };
                (EntryKind::SamePayload(refers), seen)
            }
            _ if before.is_some() => (EntryKind::Response, Seen::Before),
            _ => (EntryKind::Response, Seen::New),
        }
    }

    /// The HTML of a page as a file, behind its record: a crash between the two leaves the record, and who
    /// adopts that writes the file.
    pub fn keep_file(&self, exchange: &Exchange, report: &PageReport) -> Result<(), StoreError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let content = (200..300).contains(&exchange.status) && !exchange.body.is_empty();
        if !report.html || !content || report.page.terms.requisite {
            return Ok(());
        }
        directory.write(&exchange.url, exchange.started, &exchange.body)
    }

    /// Gathers an archived answer and judges its links, noting in the bench's slot what is being read; the note stays
    /// until the next one, or [`Watch::end`]. Also the way records are adopted after a crash. `None` when the bench was given up meanwhile: what there is to say of the
    /// page is said.
    pub fn read(
        &self,
        bench: &Bench,
        exchange: &Exchange,
        page: Page,
        filed: &Filed,
        after: PageAfter,
        stakes: &Stakes,
    ) -> Option<(PageReport, Vec<Decision>)> {
        let quarantine = &self.spiders.quarantine;
        let refusal = quarantine.refuses(&page.url);
        if refusal.is_some() {
            let reading = Reading { refusal, ..Reading::default() };
            return bench
                .put_down()
                .then(|| self.report(exchange, page, filed, after, stakes, reading));
        }
        // The gatherer promises not to panic; should it break the promise, one page is poor, not the crawl.
        // Of an answer without a body nothing is read that could end the process.
        match exchange.body.is_empty() {
            true => self.watch.end(bench),
            false => self.watch.begin(bench, page.url.as_str()),
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| self.reading(&page, exchange, filed)));
        // Before anything is counted: the watchdog has counted what it took from here.
        if !bench.put_down() {
            return None;
        }
        let Ok(mut reading) = outcome else {
            tracing::error!(url = %exchange.url, "the parser crashed on this page (a bug: please report the URL)");
            let reading = Reading::broken(quarantine.broke_down(&page.url, quarantine::PANICKED));
            return Some(self.report(exchange, page, filed, BROKEN, stakes, reading));
        };
        reading.sightings.extend(quarantine.read_well(&page.url));
        Some(self.report(exchange, page, filed, after, stakes, reading))
    }

    /// All that is done with the bytes of an answer.
    fn reading(&self, page: &Page, exchange: &Exchange, filed: &Filed) -> Reading {
        poison::taste(page.url.as_str());
        let spider = self.spiders.of(page.spider);
        let part = page.terms.requisite && !traps::is_probe(&page.url);
        let take = if part { gather_part } else { gather };
        let (_, options) = spider.reading_of(page);
        let gathered = take(exchange, &options);
        let refusal = refusal(&spider, page, exchange, &gathered);
        let (mut sorted, mut parts) = match refusal {
            None => sort(&spider, page, &gathered),
            Some(_) => (Sorted::default(), Requisites::default()),
        };
        let mut notice = match refusal {
            None => self.notice(&spider, page, exchange, filed, &gathered),
            Some(_) => SortedNotice::default(),
        };
        // What is asked for as a notice is not asked for as a page because the same page links to it.
        let is_notice = |page: &Candidate| notice.notices.iter().any(|other| other.url == page.url);
        sorted.internal.retain(|page| !is_notice(page));
        if let Some(preview) = &self.preview {
            sorted = preview.keep(page, sorted);
            (parts, notice) = (Requisites::default(), SortedNotice::default());
        }
        let mut sightings = sightings::of_page(exchange, &gathered);
        sightings.extend(sightings::of_refusals(&sorted.refused));
        sightings.append(&mut sorted.mended);
        sightings.extend(self.spiders.guards.of_page(exchange, &gathered));
        Reading { gathered, refusal, sorted, parts, notice, sightings }
    }

    /// What becomes of a page by what was read.
    fn report(
        &self,
        exchange: &Exchange,
        page: Page,
        filed: &Filed,
        after: PageAfter,
        stakes: &Stakes,
        reading: Reading,
    ) -> (PageReport, Vec<Decision>) {
        let Reading { mut gathered, refusal, sorted, parts, mut notice, mut sightings } = reading;
        let spider = self.spiders.of(page.spider);
        let (notion, options) = spider.reading_of(&page);
        let by_text = options.takes_text();
        let now = self.clock.now();
        let verdict =
            settle::Answered { exchange, gathered: &gathered, filed, notion: &notion, refusal };
        let (mut update, refused) = settle::update(&page, &verdict, &after, &sorted);
        let decided = returning::decide(&page, &mut update, &after, Some(exchange), stakes, now);
        returning::note_children(&page, &mut update, &sorted.internal, stakes);
        let again = settle::asks_again(&page, exchange, &gathered);
        let change = update.visit.as_ref().map(|visit| visit.change);
        let lesson = change.map(|change| Lesson::of(&page, exchange, change)).unwrap_or_default();
        leave_out_forgotten(&self.spiders.blocks, &mut gathered, &mut update);
        let mut decisions = sorted.refused;
        decisions.extend(parts.refused);
        decisions.append(&mut notice.refused);
        decisions.extend(refused);
        let html = matches!(gathered.media_type.as_str(), "text/html" | "application/xhtml+xml");
        let duplicate = matches!(filed.seen, Seen::Elsewhere(Some(_)));
        let looks = looks_of(exchange, &gathered, html && by_text, &page.url);
        let near = (html && !duplicate).then(|| near(exchange, &page, &gathered)).flatten();
        let content = content_of(&gathered, html);
        let is_text = content == Content::Text && by_text;
        let (words, numbers) = (gathered.word_bits.take(), gathered.number_bits.take());
        let gist = is_text.then_some(Gist { words, numbers, shown: looks.shown });
        sightings.append(&mut notice.sightings);
        let report = PageReport {
            page,
            update,
            decided,
            internal: sorted.internal,
            barred: sorted.barred,
            external: sorted.external,
            requisites: parts.taken,
            notice,
            links: gathered.links,
            looks,
            duplicate,
            near,
            gist,
            content,
            again,
            lesson,
            html: html && !gathered.noarchive,
            sightings,
        };
        (report, decisions)
    }

    /// The feeds that a page leads to; of a notice, what it says. One that has not changed has been heard.
    fn notice(
        &self,
        spider: &Spider,
        page: &Page,
        exchange: &Exchange,
        filed: &Filed,
        gathered: &Gathered,
    ) -> SortedNotice {
        let seeds = spider.seeds.read().unwrap_or_else(PoisonError::into_inner);
        let mut told = match filed.seen {
            Seen::Before => SortedNotice::default(),
            _ => notices::read(page, exchange, &self.spiders.vouchers, &spider.rules, &seeds),
        };
        let feeds = feeds_of(page, &gathered.links, &spider.rules.notices);
        let taken = |feed: &Candidate| spider.rules.judge(feed, &seeds) == Verdict::Accept;
        told.notices.extend(feeds.into_iter().filter(taken));
        told
    }
}

/// Runs `write`; when the disk is full says so, waits, and runs it again.
fn when_there_is_room<T>(
    events: &Sender<Event>,
    write: impl Fn() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut paused = false;
    loop {
        match write() {
            Err(error) if error.is_disk_full() && !events.is_closed() => {
                paused = true;
                let _ = events.blocking_send(Event::Paused(Some(error.to_string())));
                std::thread::sleep(FULL_DISK_RETRY);
            }
            outcome => {
                if paused {
                    let _ = events.blocking_send(Event::Paused(None));
                }
                return outcome;
            }
        }
    }
}

/// A page that was answered and could not be read is tried again when the manager says so.
const BROKEN: PageAfter = PageAfter::GiveUp { state: PageState::Failing };

/// What reading an answer brought.
#[derive(Default)]
struct Reading {
    gathered: Gathered,
    refusal: Option<Refusal>,
    sorted: Sorted,
    parts: Requisites,
    notice: SortedNotice,
    sightings: Vec<Sighting>,
}

impl Reading {
    fn broken(sightings: Vec<Sighting>) -> Reading {
        Reading { sightings, ..Reading::default() }
    }
}

/// Where an exchange is, and whether its payload was there before.
pub struct Filed {
    pub location: RecordLocation,
    pub record_id: RecordId,
    pub digest: [u8; 20],
    pub seen: Seen,
    /// The record is a revisit.
    pub revisit: bool,
    /// The record of the version before it is lost.
    pub lost: bool,
}

/// The record of a version is not where it was written. (In the folder of a batch there is none to
/// look for: it is at home.)
pub fn is_lost(archive: &dyn Archive, last: &LastVersion) -> bool {
    last.record.is_some_and(|record| !archive.holds(record))
}

/// The redirect of a page is a link; that of a part says where the part is, and links of a part are none.
fn sort(spider: &Spider, page: &Page, gathered: &Gathered) -> (Sorted, Requisites) {
    let is_part = page.terms.requisite;
    if page.seed
        && let Some(target) = &gathered.redirect
    {
        // What a seed redirects to joins the seeds' scope: http to https, bare to www.
        spider.join(target);
    }
    let seeds = spider.seeds.read().unwrap_or_else(PoisonError::into_inner);
    let sorted = match is_part {
        true => Sorted::default(),
        false => sort_links(page, &gathered.links, gathered.nofollow, &spider.rules, &seeds),
    };
    let redirect = gathered.redirect.as_ref().filter(|_| is_part);
    let found = &gathered.requisites;
    let parts = sort_requisites(page, found, redirect, &sorted, &spider.rules, &seeds);
    (sorted, parts)
}

/// What the rules say of content of this type, where they had to wait for it.
fn refusal(
    spider: &Spider,
    page: &Page,
    exchange: &Exchange,
    gathered: &Gathered,
) -> Option<Refusal> {
    if page.terms.requisite || !(200..300).contains(&exchange.status) {
        return None;
    }
    // A server that does not say is believed to mean what its bytes are.
    let media_type = match gathered.declared_type.as_str() {
        "" => gathered.media_type.as_str(),
        declared => declared,
    };
    spider.judge_answer(page, media_type)
}

/// `by_text`: it is a page whose text was taken; others are compared by their bytes.
fn looks_of(exchange: &Exchange, gathered: &Gathered, by_text: bool, url: &CrawlUrl) -> Looks {
    let whole = gathered.content_hash;
    let shown = match by_text {
        true => seeder::shown(&exchange.body, &gathered.text, whole),
        false => whole,
    };
    Looks {
        content: whole,
        text: gathered.whole_text_hash(),
        skeleton: gathered.skeleton,
        text_bytes: gathered.text.len() as u64,
        shown,
        words: traps::words(&gathered.text, url),
    }
}

/// What the page is like, if it has content and enough words to tell.
fn near(exchange: &Exchange, page: &Page, gathered: &Gathered) -> Option<Likeness> {
    let is_content = (200..300).contains(&exchange.status) && exchange.stopped.is_none();
    let is_page = !page.terms.requisite && page.terms.notice.is_none();
    let says = is_content && is_page && has_words(&gathered.text, FAMILY_WORDS_MIN);
    says.then(|| Likeness::new(gathered.simhash, &gathered.title))
}

fn content_of(gathered: &Gathered, html: bool) -> Content {
    let media_type = gathered.media_type.as_str();
    let is_data = || {
        let of_programs = ["json", "xml", "javascript"].iter();
        media_type.starts_with("text/")
            || of_programs.into_iter().any(|part| media_type.contains(part))
    };
    match () {
        () if html || !gathered.text.is_empty() => Content::Text,
        () if media_type.is_empty() || is_data() => Content::Data,
        () => Content::File,
    }
}

/// What was forgotten is not written down again because somebody links to it.
fn leave_out_forgotten(blocks: &Blocks, gathered: &mut Gathered, update: &mut PageUpdate) {
    if blocks.is_empty() {
        return;
    }
    gathered.links.retain(|link| !blocks.is_forgotten(&link.url));
    let Some(facts) = &mut update.facts else { return };
    let named = facts.canonical.iter().flat_map(|named| named.split(' '));
    if named.filter_map(|url| CrawlUrl::parse(url).ok()).any(|url| blocks.is_forgotten(&url)) {
        facts.canonical = None;
    }
    if gathered.redirect.as_ref().is_some_and(|url| blocks.is_forgotten(url)) {
        facts.location = None;
    }
}
