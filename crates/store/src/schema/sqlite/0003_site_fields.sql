-- What is listed of a site: pages that wait for a first visit, URLs with a query, and where its name led.

ALTER TABLE sites ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;  -- admitted, not yet answered
ALTER TABLE sites ADD COLUMN dynamic INTEGER NOT NULL DEFAULT 0;  -- of pages: those whose URL has a query
ALTER TABLE sites ADD COLUMN address TEXT;                        -- the first its name was resolved to
ALTER TABLE sites ADD COLUMN resolved INTEGER;                    -- when

UPDATE sites SET (waiting, dynamic) =
    (SELECT coalesce(sum(p.state = 1 AND NOT p.requisite), 0),
            coalesce(sum(instr(p.url, '?') > 0), 0) FROM pages p WHERE p.site = sites.id);

DROP VIEW v_sites;
CREATE VIEW v_sites AS
SELECT key AS site, domain, seeded, address,
       strftime('%Y-%m-%dT%H:%M:%fZ', resolved / 1000.0, 'unixepoch') AS resolved,
       pages AS urls, dynamic, known, waiting, fetched, failed, requisites, duplicates, visits, bytes,
       CASE WHEN leased THEN 'active' WHEN resting THEN 'resting'
            WHEN due IS NULL AND due_again IS NULL THEN 'idle' ELSE 'waiting' END AS state,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(min(due, due_again), due, due_again) / 1000.0,
                'unixepoch') AS due
  FROM sites;
