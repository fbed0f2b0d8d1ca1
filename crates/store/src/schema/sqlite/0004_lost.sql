-- Content that can no longer be read from the volumes.

ALTER TABLE visits ADD COLUMN lost INTEGER;  -- when its record was found to be missing or damaged

DROP VIEW v_visits;
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
       strftime('%Y-%m-%dT%H:%M:%fZ', v.thinned / 1000.0, 'unixepoch') AS thinned,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.lost / 1000.0, 'unixepoch') AS lost
  FROM visits v JOIN sites s ON s.id = v.site
  LEFT JOIN pages p ON p.site = v.site AND p.fp = v.fp;
