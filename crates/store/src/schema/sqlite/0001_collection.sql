-- The collection as it is first made. All times are milliseconds since 1970-01-01 UTC; `fp` is the
-- 64-bit fingerprint of the URL (xxh3 of its text, kept as a signed number). The views at the end
-- show states in words and times as ISO 8601.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE spiders (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    created    INTEGER NOT NULL,
    removed    INTEGER,                     -- its pages stay as history
    paused     INTEGER NOT NULL DEFAULT 0,
    why        TEXT NOT NULL DEFAULT '',    -- it is paused: the user's words or ours
    settings   TEXT NOT NULL DEFAULT '{}',  -- JSON: key of the configuration -> TOML value
    known      INTEGER NOT NULL DEFAULT 0,  -- pages admitted
    waiting    INTEGER NOT NULL DEFAULT 0,  -- admitted, not yet answered
    fetched    INTEGER NOT NULL DEFAULT 0,  -- answered with content at least once
    failed     INTEGER NOT NULL DEFAULT 0,  -- failing now
    requisites INTEGER NOT NULL DEFAULT 0,  -- parts of pages, in no other counter of pages
    visits     INTEGER NOT NULL DEFAULT 0,
    bytes      INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX spiders_name ON spiders (name) WHERE removed IS NULL;
INSERT INTO spiders (id, name, created) VALUES (1, 'default', 0);

-- Two queues: what is to be judged or fetched for the first time (`due`), and what is to be seen again
-- (`due_again`); each is the earliest due of such pages, may be too early, and is never too late.
-- A lease is `due` moved to its expiry with `leased` = 1, `due_again` NULL and `fence` one higher.
CREATE TABLE sites (
    id              INTEGER PRIMARY KEY,
    key             TEXT NOT NULL UNIQUE,   -- host, or host:port for unusual ports
    domain          TEXT NOT NULL,          -- registrable; as it was when the site was first seen
    seeded          INTEGER NOT NULL DEFAULT 0,
    kin             INTEGER NOT NULL DEFAULT 0,  -- only pages of its own domain have led to it
    due             INTEGER,                -- earliest first visit or judgement, or the end of the lease
    due_again       INTEGER,                -- earliest revisit; NULL while leased
    leased          INTEGER NOT NULL DEFAULT 0,
    holder          TEXT,
    fence           INTEGER NOT NULL DEFAULT 0,
    not_before      INTEGER NOT NULL DEFAULT 0,
    resting         INTEGER NOT NULL DEFAULT 0,  -- the dues leave pages out: of full or paused spiders
    full            TEXT NOT NULL DEFAULT '',    -- ids of spiders that reached a limit here
    stirred         INTEGER NOT NULL DEFAULT 0,  -- candidates came while it was leased
    pages           INTEGER NOT NULL DEFAULT 0,  -- all rows of pages
    known           INTEGER NOT NULL DEFAULT 0,  -- without candidates, excluded ones and requisites
    fetched         INTEGER NOT NULL DEFAULT 0,  -- answered with content at least once
    failed          INTEGER NOT NULL DEFAULT 0,  -- failing now
    requisites      INTEGER NOT NULL DEFAULT 0,  -- parts of pages, in no other counter but pages
    duplicates      INTEGER NOT NULL DEFAULT 0,
    visits          INTEGER NOT NULL DEFAULT 0,
    bytes           INTEGER NOT NULL DEFAULT 0,
    pause_remaining INTEGER NOT NULL DEFAULT 0,  -- ms to wait after pause_saved
    pause_saved     INTEGER NOT NULL DEFAULT 0,
    backoff         INTEGER NOT NULL DEFAULT 0,
    last_response   INTEGER NOT NULL DEFAULT 0,  -- ms
    interrupted     INTEGER NOT NULL DEFAULT 0,
    worked_day      INTEGER NOT NULL DEFAULT 0,  -- days since 1970-01-01 UTC
    worked_ms       INTEGER NOT NULL DEFAULT 0,  -- time that visits took on that day
    habit           TEXT,                        -- JSON: how its pages change together, whom of it to believe
    traps           TEXT                         -- JSON: what it has taught about its own traps
);
CREATE INDEX sites_due ON sites (due) WHERE leased = 0 AND due IS NOT NULL;
CREATE INDEX sites_due_again ON sites (due_again) WHERE leased = 0 AND due_again IS NOT NULL;
CREATE INDEX sites_seeded_due ON sites (due) WHERE leased = 0 AND due IS NOT NULL AND seeded = 1;
CREATE INDEX sites_leased ON sites (due) WHERE leased = 1;
CREATE INDEX sites_down ON sites (id) WHERE instr(traps, '"down":') > 0;
CREATE INDEX sites_resting ON sites (id) WHERE resting = 1;
CREATE INDEX sites_full ON sites (id) WHERE full <> '';

-- What the sites of a registrable domain have brought together.
CREATE TABLE domains (
    domain  TEXT PRIMARY KEY,
    fetched INTEGER NOT NULL,
    bytes   INTEGER NOT NULL
) WITHOUT ROWID;

-- Hosts of a registrable domain that no seed names, and whether every name under it resolves (a DNS wildcard).
CREATE TABLE domain_hosts (
    domain   TEXT PRIMARY KEY,
    hosts    INTEGER NOT NULL,
    newest   TEXT NOT NULL,                -- a site
    ask      INTEGER NOT NULL DEFAULT 0,   -- for absurd names, not before
    wildcard INTEGER                       -- since when they resolve; NULL: as far as is known they do not
) WITHOUT ROWID;
CREATE INDEX domain_hosts_many ON domain_hosts (hosts) WHERE hosts > 1;

-- Hot: what scheduling and the known-test need, and nothing else.
CREATE TABLE pages (
    site     INTEGER NOT NULL,
    fp       INTEGER NOT NULL,
    url      TEXT NOT NULL,
    spider   INTEGER NOT NULL,
    state    INTEGER NOT NULL,
    level    INTEGER NOT NULL,
    hops     INTEGER NOT NULL,
    seed     INTEGER NOT NULL,
    requisite INTEGER NOT NULL DEFAULT 0,  -- a part of a page, not a page
    notice   INTEGER NOT NULL DEFAULT 0,   -- tells of other pages: 1 sitemap, 2 feed, 3 robots.rdf
    outside  INTEGER NOT NULL DEFAULT 0,   -- links followed since the scope was left
    depth    INTEGER,                      -- deepest level to reach from it
    period   INTEGER,                      -- ms: how often the user wants it
    via      INTEGER NOT NULL DEFAULT 0,   -- what kind of page of its site led to it; 0: none
    fetched  INTEGER NOT NULL DEFAULT 0,   -- answered with content at least once
    failures INTEGER NOT NULL DEFAULT 0,   -- in a row
    visits   INTEGER NOT NULL DEFAULT 0,
    found    INTEGER NOT NULL,
    due      INTEGER,                      -- when to come (back); NULL: not by itself
    visited  INTEGER,                      -- last visit
    run      INTEGER,                      -- visits.seq of the version at hand
    -- How it changes, as far as visits have shown; a byte each until then.
    shape    REAL NOT NULL DEFAULT 0,      -- belief about its changes a day: Gamma(shape, rate)
    rate     REAL NOT NULL DEFAULT 0,
    first    INTEGER,                      -- first visit with content
    seen     INTEGER,                      -- last visit that showed whether it had changed
    changed  INTEGER,                      -- last visit that showed a change
    compared INTEGER NOT NULL DEFAULT 0,   -- visits that could be compared with the one before
    changes  INTEGER NOT NULL DEFAULT 0,   -- those among them that showed a change
    recent   INTEGER NOT NULL DEFAULT 0,   -- the last 32 of them as bits, the newest lowest; 1: changed
    fr_max   INTEGER NOT NULL DEFAULT 0,   -- cycles between visits, of the policy frequency
    theta    INTEGER NOT NULL DEFAULT 0,   -- per cent of changed children that call for a visit
    signals  INTEGER NOT NULL DEFAULT 0,   -- announcements of a change since `seen`
    sources  INTEGER NOT NULL DEFAULT 0,   -- by whom, as bits: sitemap, feed, robots.rdf
    announced INTEGER,                     -- the newest moment of a change that was announced
    price    REAL NOT NULL DEFAULT 0,      -- of a visit, when `due` was reckoned
    -- What its next turn is for: 0 to be judged, 1 to be fetched for the first time, 2 to be seen again, 3 a
    -- part of a page to be judged or fetched for the first time, which no limit on pages holds back, 4 to be
    -- seen again after it redirected or was gone: content would be its first, so that a limit holds it back.
    -- Not a generated column, for SQLite reads the row for those even where the index has them.
    turn     INTEGER NOT NULL
             CHECK (turn = CASE WHEN fetched THEN 2 WHEN state IN (3, 5) THEN 4 - 2 * requisite
                                WHEN requisite THEN 3 ELSE state <> 0 END),
    PRIMARY KEY (site, fp)
) WITHOUT ROWID;
-- The first queue of a site. Level before due: due pages come out breadth-first without sorting a site's
-- million pages, and the earliest due of a site is one look per level. Spider and turn apart: pages of a
-- paused spider, and what waits for the first time under a limit that is reached, are passed in one step.
CREATE INDEX pages_due ON pages (site, spider, turn, level, due, fp)
    WHERE turn NOT IN (2, 4) AND due IS NOT NULL;

-- The second queue: by due alone, or what is near the entry page would be seen again and again and the
-- rest never. One look per spider and turn.
CREATE INDEX pages_again ON pages (site, spider, turn, due, fp)
    WHERE turn IN (2, 4) AND due IS NOT NULL;

-- How many of a site there are, whatever was forgotten meanwhile.
CREATE INDEX pages_notices ON pages (site, notice) WHERE notice > 0;

-- What is left of a crawl that has all its pages.
CREATE INDEX pages_parts ON pages (due, site) WHERE requisite = 1 AND due IS NOT NULL;

-- Few: read at every start, to know what the seeds cover.
CREATE INDEX pages_seed ON pages (site, fp) WHERE seed = 1;

-- The internal pages that a page links to, for policies that ask whether these have changed.
CREATE TABLE page_children (
    site     INTEGER NOT NULL,
    fp       INTEGER NOT NULL,
    children BLOB NOT NULL,                -- fingerprints, 8 bytes each, little-endian
    PRIMARY KEY (site, fp)
) WITHOUT ROWID;

CREATE TABLE page_facts (
    site           INTEGER NOT NULL,
    fp             INTEGER NOT NULL,
    media_type     TEXT NOT NULL,
    charset        TEXT NOT NULL,
    title          TEXT NOT NULL,
    description    TEXT NOT NULL,
    language       TEXT NOT NULL,
    canonical      TEXT,
    etag           TEXT,
    last_modified  TEXT,
    location       TEXT,
    text_bytes     INTEGER NOT NULL,
    links_internal INTEGER NOT NULL,
    links_external INTEGER NOT NULL,
    noindex        INTEGER NOT NULL,
    noarchive      INTEGER NOT NULL,
    duplicate_of   INTEGER,
    near_of        INTEGER,                -- first page of the family of near duplicates
    unavailable_after INTEGER,             -- when the page says that it ends
    sketch         BLOB,                   -- of a page that keeps changing: which of its lines are restless
    PRIMARY KEY (site, fp)
) WITHOUT ROWID;

-- Few: for reports on duplicates.
CREATE INDEX page_facts_same ON page_facts (site, duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX page_facts_near ON page_facts (site, near_of) WHERE near_of IS NOT NULL;

-- One row per version, failure, redirect or disappearance. Visits that saw the same again fold into the row
-- of the version, those that found the page gone still into the row that says so: `last`, `count`, and the
-- time between visits as zigzag varints in `times`. What has other bytes, but is no change by what the user
-- calls one, has a row of its own that says unchanged.
CREATE TABLE visits (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,  -- in the order of commits
    site           INTEGER NOT NULL,
    fp             INTEGER NOT NULL,
    change         INTEGER NOT NULL,
    status         INTEGER NOT NULL,       -- 0: no answer
    failure        TEXT,
    first          INTEGER NOT NULL,
    last           INTEGER NOT NULL,
    count          INTEGER NOT NULL DEFAULT 1,
    times          BLOB,
    wire_bytes     INTEGER NOT NULL,       -- of all visits of the row
    body_bytes     INTEGER NOT NULL,
    payload_digest BLOB,                   -- SHA-1
    content_hash   INTEGER NOT NULL,
    text_hash      INTEGER NOT NULL,
    simhash        INTEGER NOT NULL,
    latency        INTEGER NOT NULL,       -- ms
    elapsed        INTEGER NOT NULL,       -- ms
    record_volume  INTEGER,
    record_offset  INTEGER,
    record_length  INTEGER,
    record_id      BLOB,
    record_date    INTEGER,
    revisit        INTEGER NOT NULL DEFAULT 0,  -- the record's payload is where it refers to
    thinned        INTEGER,                 -- when its content was given up; the visit stays
    title          TEXT                     -- as it was then; NULL: still the one in page_facts
);
CREATE INDEX visits_page ON visits (site, fp);
CREATE INDEX visits_thinned ON visits (thinned, change) WHERE thinned IS NOT NULL;

CREATE TABLE robots (
    site              INTEGER NOT NULL,
    origin            TEXT NOT NULL,
    answer            TEXT NOT NULL CHECK (answer IN ('rules', 'unavailable', 'unreachable')),
    status            INTEGER,
    text              TEXT,                -- the rules, or why it is unreachable
    fetched           INTEGER NOT NULL,
    expires           INTEGER NOT NULL,
    unreachable_since INTEGER,
    etag              TEXT,
    last_modified     TEXT,
    PRIMARY KEY (site, origin)
) WITHOUT ROWID;

CREATE TABLE decisions (
    site     TEXT NOT NULL,
    reason   TEXT NOT NULL,
    rule     TEXT NOT NULL,
    count    INTEGER NOT NULL,
    example  TEXT NOT NULL,
    referrer TEXT,
    last     INTEGER NOT NULL,
    PRIMARY KEY (site, reason, rule)
) WITHOUT ROWID;

-- What the web did, by its name, and what was done about it.
CREATE TABLE hazards (
    site     TEXT NOT NULL,
    hazard   TEXT NOT NULL,
    what     TEXT NOT NULL,                -- a pattern of URLs, a parameter, or nothing
    measure  TEXT NOT NULL,
    count    INTEGER NOT NULL,
    examples TEXT NOT NULL,                -- JSON: at most three URLs, the newest last
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    PRIMARY KEY (site, hazard, what)
) WITHOUT ROWID;

-- Pages whose reading broke down, and how often since it last went well: from the third time on they are in
-- quarantine.
CREATE TABLE breakdowns (
    site  TEXT NOT NULL,
    fp    INTEGER NOT NULL,
    url   TEXT NOT NULL,
    count INTEGER NOT NULL,
    how   TEXT NOT NULL,                   -- the last time
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    PRIMARY KEY (site, fp)
) WITHOUT ROWID;

-- Sites that serve what another serves. Of a folded one, links lead to the original and pages rest, but for a few
-- by which it is seen whether it still is one.
CREATE TABLE replicas (
    site      TEXT PRIMARY KEY,
    original  TEXT NOT NULL,                -- a site; nothing where the user had it lifted before it was found
    origin    TEXT NOT NULL,                -- of the original: scheme, host and port
    heuristic TEXT NOT NULL,
    compared  INTEGER NOT NULL,             -- paths seen on both
    same      INTEGER NOT NULL,             -- those among them with the same content
    since     INTEGER NOT NULL,
    looked    INTEGER NOT NULL,             -- when it last held (dropped: when it did not)
    state     TEXT NOT NULL CHECK (state IN ('reported', 'folded', 'dropped', 'lifted')),
    rests     INTEGER NOT NULL DEFAULT 0    -- its pages do
) WITHOUT ROWID;

-- Pages of replicas that rest, and when they would have been due (NULL: not by themselves).
CREATE TABLE resting_pages (
    site INTEGER NOT NULL,
    fp   INTEGER NOT NULL,
    due  INTEGER,
    PRIMARY KEY (site, fp)
) WITHOUT ROWID;

-- What is kept away from: URLs, prefixes (end in *), hosts, domains (begin with a dot), address ranges.
CREATE TABLE blocks (
    pattern TEXT PRIMARY KEY,
    reason  TEXT NOT NULL,                 -- the user's words, or nothing
    created INTEGER NOT NULL
) WITHOUT ROWID;

-- What was forgotten and stays out: keyed hashes of URLs, sites and domains, never their names. The key
-- is in meta.
CREATE TABLE tombstones (
    kind    TEXT NOT NULL CHECK (kind IN ('url', 'site', 'domain')),
    hash    BLOB NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (kind, hash)
) WITHOUT ROWID;

CREATE TABLE control (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    command TEXT NOT NULL,                 -- JSON
    created INTEGER NOT NULL,
    done    INTEGER,
    result  TEXT
);
CREATE INDEX control_waiting ON control (id) WHERE done IS NULL;

CREATE TABLE events (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    at   INTEGER NOT NULL,
    kind TEXT NOT NULL,
    site TEXT,
    text TEXT NOT NULL
);

CREATE TABLE runs (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    started   INTEGER NOT NULL,
    ended     INTEGER,
    state     TEXT NOT NULL,
    reason    TEXT NOT NULL DEFAULT '',
    pid       INTEGER NOT NULL,
    heartbeat INTEGER NOT NULL,
    stats     TEXT NOT NULL DEFAULT '{}',  -- JSON
    daily     INTEGER NOT NULL DEFAULT 0   -- it has no end: its folders of pages are one a day
);

-- How far each webhook has come in `visits`, and the batch it is at.
CREATE TABLE webhooks (
    name      TEXT PRIMARY KEY,
    cursor    INTEGER NOT NULL,             -- visits.seq: up to here all is delivered or given up
    upto      INTEGER,                      -- where the batch ends that is being tried
    tries     INTEGER NOT NULL DEFAULT 0,   -- of that batch
    since     INTEGER,                      -- it was first tried
    next      INTEGER NOT NULL DEFAULT 0,   -- not to be tried before
    error     TEXT NOT NULL DEFAULT '',
    delivered INTEGER NOT NULL DEFAULT 0,   -- changes
    last      INTEGER
) WITHOUT ROWID;

-- Batches that were given up: a stretch of `visits` each, from which they can be made again.
CREATE TABLE dead_letters (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook TEXT NOT NULL,
    after   INTEGER NOT NULL,
    upto    INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    tries   INTEGER NOT NULL,
    error   TEXT NOT NULL
);
CREATE INDEX dead_letters_webhook ON dead_letters (webhook, id);

-- Batches: sites lent out for long, to be harvested elsewhere. Which they are is with the sites: leased, with
-- the holder `batch:` and this number.
CREATE TABLE batches (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    made  INTEGER NOT NULL,
    until INTEGER NOT NULL,               -- end of the leases
    state TEXT NOT NULL CHECK (state IN ('making', 'out', 'importing', 'imported', 'cancelled')),
    sites INTEGER NOT NULL DEFAULT 0,     -- as they were lent
    pages INTEGER NOT NULL DEFAULT 0,
    ended INTEGER,                        -- when it was imported or cancelled
    taken INTEGER,                        -- the newest of its visits that an import has been through
    file  TEXT                            -- where it is written; while it is being made, that says whether it was
);

-- What `status` shows, kept in step by every transaction.
CREATE TABLE totals (
    one               INTEGER PRIMARY KEY CHECK (one = 1),
    sites_known       INTEGER NOT NULL DEFAULT 0,
    candidates        INTEGER NOT NULL DEFAULT 0,
    pages_known       INTEGER NOT NULL DEFAULT 0,
    pages_waiting     INTEGER NOT NULL DEFAULT 0,
    pages_fetched     INTEGER NOT NULL DEFAULT 0,
    pages_redirected  INTEGER NOT NULL DEFAULT 0,
    pages_failed      INTEGER NOT NULL DEFAULT 0,
    pages_gone        INTEGER NOT NULL DEFAULT 0,
    pages_excluded    INTEGER NOT NULL DEFAULT 0,
    requisites        INTEGER NOT NULL DEFAULT 0,
    refused           INTEGER NOT NULL DEFAULT 0,
    visits            INTEGER NOT NULL DEFAULT 0,
    versions          INTEGER NOT NULL DEFAULT 0,
    bytes             INTEGER NOT NULL DEFAULT 0,
    newest            INTEGER NOT NULL DEFAULT 0   -- the newest moment of a change, to within a minute
);
INSERT INTO totals (one) VALUES (1);

CREATE VIEW v_pages AS
SELECT s.key AS site, p.url AS url, n.name AS spider,
       CASE p.state WHEN 0 THEN 'candidate' WHEN 1 THEN 'known' WHEN 2 THEN 'fetched'
                    WHEN 3 THEN 'redirected' WHEN 4 THEN 'failing' WHEN 5 THEN 'gone'
                    WHEN 6 THEN 'excluded' END AS state,
       p.level AS level, p.visits AS visits, p.failures AS failures,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.found / 1000.0, 'unixepoch') AS found,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.visited / 1000.0, 'unixepoch') AS visited,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.due / 1000.0, 'unixepoch') AS due,
       f.media_type AS media_type, f.language AS language, f.title AS title,
       f.description AS description, f.location AS location
  FROM pages p JOIN sites s ON s.id = p.site
  LEFT JOIN spiders n ON n.id = p.spider
  LEFT JOIN page_facts f ON f.site = p.site AND f.fp = p.fp;

CREATE VIEW v_visits AS
SELECT v.seq AS seq, s.key AS site, p.url AS url,
       CASE v.change WHEN 0 THEN 'first' WHEN 1 THEN 'changed' WHEN 2 THEN 'unchanged'
                     WHEN 3 THEN 'not-modified' WHEN 4 THEN 'failed'
                     WHEN 5 THEN 'redirected' WHEN 6 THEN 'gone' WHEN 7 THEN 'returned' END AS change,
       v.status AS status, v.failure AS failure,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.first / 1000.0, 'unixepoch') AS first,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.last / 1000.0, 'unixepoch') AS last,
       v.count AS count, v.wire_bytes AS wire_bytes, v.body_bytes AS body_bytes,
       lower(hex(v.payload_digest)) AS payload_sha1,
       v.record_volume AS volume, v.record_offset AS offset, v.record_length AS length,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.thinned / 1000.0, 'unixepoch') AS thinned
  FROM visits v JOIN sites s ON s.id = v.site
  LEFT JOIN pages p ON p.site = v.site AND p.fp = v.fp;

CREATE VIEW v_spiders AS
SELECT id, name,
       CASE WHEN removed IS NOT NULL THEN 'removed' WHEN paused THEN 'paused' ELSE 'awake' END AS state,
       why, settings, known, waiting, fetched, failed, requisites, visits, bytes,
       strftime('%Y-%m-%dT%H:%M:%fZ', created / 1000.0, 'unixepoch') AS created
  FROM spiders;

CREATE VIEW v_sites AS
SELECT key AS site, domain, seeded, known, fetched, failed, requisites, duplicates, visits, bytes,
       CASE WHEN leased THEN 'in hand' WHEN resting THEN 'resting'
            WHEN due IS NULL AND due_again IS NULL THEN 'idle' ELSE 'waiting' END AS state,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(min(due, due_again), due, due_again) / 1000.0,
                'unixepoch') AS due
  FROM sites;
