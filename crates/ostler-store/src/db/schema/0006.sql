-- A trained base: a session that takes nothing any more and is only copied. What was found when it was sealed is JSON.
CREATE TABLE base (
    session    TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    sealed_at  INTEGER, -- NULL: it is being trained
    retired_at INTEGER,
    base       TEXT NOT NULL -- JSON of all of it; the columns above are read out of it
) STRICT, WITHOUT ROWID;
-- A name means one base. While the next of that name is trained, the one before lives.
CREATE UNIQUE INDEX base_alive ON base (name) WHERE sealed_at IS NOT NULL AND retired_at IS NULL;
CREATE UNIQUE INDEX base_in_training ON base (name) WHERE sealed_at IS NULL AND retired_at IS NULL;

-- Which session is a copy of which; the session's folder says so too.
CREATE TABLE fork (
    session TEXT PRIMARY KEY NOT NULL,
    source  TEXT NOT NULL,
    base    TEXT, -- the trained base at the root of it
    forced  INTEGER NOT NULL -- it differs in what breaks the prefix: it keeps nothing warm
) STRICT, WITHOUT ROWID;
CREATE INDEX fork_of_base ON fork (base, session) WHERE base IS NOT NULL;
CREATE INDEX fork_of_source ON fork (source, session);

-- What a fork's first request found in the cache: JSON.
ALTER TABLE generation ADD COLUMN cache TEXT;
