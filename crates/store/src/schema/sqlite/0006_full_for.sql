-- FULL is a word of SQL itself.
ALTER TABLE sites RENAME COLUMN full TO full_for;  -- ids of spiders that reached a limit here
