-- Who may use which tool for what, without being asked.
CREATE TABLE rule (
    id         TEXT PRIMARY KEY NOT NULL,
    effect     TEXT NOT NULL, -- allow, ask, deny
    pattern    TEXT NOT NULL,
    scope      TEXT NOT NULL, -- everything, cwd, label, session
    place      TEXT, -- which of them
    made_by    TEXT NOT NULL,
    made_at    INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;

-- What the journal says besides.
ALTER TABLE permission ADD COLUMN input TEXT; -- JSON
ALTER TABLE permission ADD COLUMN always INTEGER NOT NULL DEFAULT 0;
ALTER TABLE permission ADD COLUMN interrupt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE permission ADD COLUMN asked_at INTEGER;
ALTER TABLE permission ADD COLUMN exhausted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE permission ADD COLUMN call TEXT;
-- What a face decided besides.
ALTER TABLE permission ADD COLUMN face_always INTEGER NOT NULL DEFAULT 0;
ALTER TABLE permission ADD COLUMN face_interrupt INTEGER NOT NULL DEFAULT 0;
