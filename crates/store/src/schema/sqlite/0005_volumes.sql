-- Where each volume lies and what it is. Numbers come from here: one that was given is never given again.

CREATE TABLE volumes (
    number INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,                  -- empty: `volumes` in the collection's own folder
    name   TEXT NOT NULL,                  -- as it is called when it is sealed
    state  INTEGER NOT NULL DEFAULT 0,     -- 0 open, 1 sealed, 2 nothing was written
    bytes  INTEGER,                        -- of the sealed file, as its digest
    digest BLOB,                           -- SHA-256; none: nobody has read the file yet
    sealed INTEGER                         -- when
);
