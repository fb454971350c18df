-- What was asked for through the bridge, in the order in which it is begun.
CREATE TABLE bridge_task (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    place      TEXT NOT NULL, -- the working directory of its bridge
    created_at INTEGER NOT NULL,
    request    BLOB, -- JSON, for as long as it may be needed
    state      TEXT NOT NULL, -- queued, spawning, running, done, failed
    session    TEXT NOT NULL,
    delivery   TEXT NOT NULL,
    ran        INTEGER NOT NULL DEFAULT 0, -- its message was accepted
    behind     INTEGER NOT NULL DEFAULT 0, -- the session's newest generation when it began
    streamed   INTEGER NOT NULL DEFAULT 0, -- somebody has listened to it
    cancelled  INTEGER NOT NULL DEFAULT 0, -- somebody asked for its end
    started_at INTEGER,
    ended_at   INTEGER,
    exit_code  INTEGER,
    reason     TEXT -- why it failed
) STRICT;
CREATE INDEX bridge_task_open ON bridge_task (place, seq) WHERE ended_at IS NULL;
CREATE INDEX bridge_task_ended ON bridge_task (place, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX bridge_task_session ON bridge_task (session);
