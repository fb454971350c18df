-- What a stop or a close has begun and must be brought to its end, also when whoever began it is killed.
CREATE TABLE chore (
    session TEXT PRIMARY KEY NOT NULL,
    what    TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;
