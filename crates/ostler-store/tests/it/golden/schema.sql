-- schema 7, lowest reader 1
CREATE TABLE base (
    session    TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    sealed_at  INTEGER, -- NULL: it is being trained
    retired_at INTEGER,
    base       TEXT NOT NULL -- JSON of all of it; the columns above are read out of it
) STRICT, WITHOUT ROWID;

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

CREATE TABLE change (
    seq     INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    kind    TEXT NOT NULL
) STRICT;

CREATE TABLE chore (
    session TEXT PRIMARY KEY NOT NULL,
    what    TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    session         TEXT NOT NULL,
    place           TEXT NOT NULL, -- of its body: inline, file, lost
    body            BLOB, -- when inline
    body_len        INTEGER NOT NULL,
    body_hash       BLOB, -- SHA-256
    mode            TEXT NOT NULL,
    idempotency_key TEXT,
    created_at      INTEGER NOT NULL,
    claimed         INTEGER NOT NULL DEFAULT 0, -- a controller is about to write it: too late to take it back
    state           TEXT NOT NULL,
    -- What the journal says, and the order there; NULL where it says nothing.
    fold_no         INTEGER,
    generation      INTEGER,
    turn            INTEGER,
    written_at      INTEGER,
    answer_start    INTEGER,
    answer_end      INTEGER
, continues TEXT) STRICT;

CREATE TABLE fork (
    session TEXT PRIMARY KEY NOT NULL,
    source  TEXT NOT NULL,
    base    TEXT, -- the trained base at the root of it
    forced  INTEGER NOT NULL -- it differs in what breaks the prefix: it keeps nothing warm
) STRICT, WITHOUT ROWID;

CREATE TABLE generation (
    session      TEXT NOT NULL,
    no           INTEGER NOT NULL,
    host         TEXT NOT NULL,
    conversation TEXT NOT NULL,
    resumed      INTEGER NOT NULL,
    version      TEXT NOT NULL,
    model        TEXT,
    credential   TEXT,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    exit         TEXT, -- JSON
    garbled      INTEGER NOT NULL,
    killed       INTEGER NOT NULL,
    proven       INTEGER NOT NULL, cache TEXT,
    PRIMARY KEY (session, no)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    name  TEXT PRIMARY KEY NOT NULL,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE permission (
    session     TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    request_id  TEXT NOT NULL,
    -- What the journal says, and the order there; NULL while the row waits for the journal to be folded again.
    fold_no     INTEGER,
    kind        TEXT NOT NULL,
    tool        TEXT,
    tool_use_id TEXT,
    line_start  INTEGER NOT NULL,
    line_end    INTEGER NOT NULL,
    state       TEXT NOT NULL,
    decision    TEXT,
    decided_by  TEXT,
    message     TEXT,
    withdrawn   TEXT,
    -- What a face decided.
    face_decision TEXT,
    face_by       TEXT,
    face_message  TEXT,
    face_input    TEXT, -- JSON
    face_at       INTEGER, input TEXT, always INTEGER NOT NULL DEFAULT 0, interrupt INTEGER NOT NULL DEFAULT 0, asked_at INTEGER, exhausted INTEGER NOT NULL DEFAULT 0, call TEXT, face_always INTEGER NOT NULL DEFAULT 0, face_interrupt INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, generation, request_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE rate_limit (
    credential TEXT PRIMARY KEY NOT NULL,
    since      INTEGER NOT NULL,
    until      INTEGER, -- NULL: nobody said
    tries      INTEGER NOT NULL, -- refusals in a row
    next_try   INTEGER NOT NULL -- when one of those who wait may try
) STRICT, WITHOUT ROWID;

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

CREATE TABLE session (
    id           TEXT PRIMARY KEY NOT NULL,
    conversation TEXT NOT NULL,
    host         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    label        TEXT,
    cwd          TEXT NOT NULL,
    record       TEXT NOT NULL, -- JSON; the next three are read out of it
    state        TEXT NOT NULL,
    stopped      INTEGER NOT NULL,
    closed       INTEGER NOT NULL,
    revision     INTEGER NOT NULL -- counts the changes of the record
) STRICT, WITHOUT ROWID;

CREATE TABLE spend (
    session        TEXT NOT NULL,
    generation     INTEGER NOT NULL,
    model          TEXT NOT NULL,
    fold_no        INTEGER NOT NULL,
    input          INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    usd            REAL, -- NULL is unknown, never free
    method         TEXT NOT NULL,
    baseline_usd   REAL NOT NULL,
    PRIMARY KEY (session, generation, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE turn (
    session      TEXT NOT NULL,
    no           INTEGER NOT NULL,
    generation   INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    settled_at   INTEGER,
    outcome      TEXT,
    failure      TEXT,
    message      TEXT,
    results      INTEGER NOT NULL,
    rounds       INTEGER NOT NULL,
    denials      INTEGER NOT NULL,
    killed_tasks INTEGER NOT NULL,
    unclean      INTEGER NOT NULL,
    garbled      INTEGER NOT NULL,
    answer_start INTEGER,
    answer_end   INTEGER,
    PRIMARY KEY (session, no)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE, -- the receiver tells a repetition by it
    session    TEXT NOT NULL,
    generation INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    state      TEXT NOT NULL, -- waiting, sent, given_up
    attempts   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    next_try   INTEGER NOT NULL,
    error      TEXT, -- of the last attempt
    UNIQUE (session, generation, request_id)
) STRICT;

CREATE UNIQUE INDEX base_alive ON base (name) WHERE sealed_at IS NOT NULL AND retired_at IS NULL;

CREATE UNIQUE INDEX base_in_training ON base (name) WHERE sealed_at IS NULL AND retired_at IS NULL;

CREATE INDEX bridge_task_ended ON bridge_task (place, ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX bridge_task_open ON bridge_task (place, seq) WHERE ended_at IS NULL;

CREATE INDEX bridge_task_session ON bridge_task (session);

CREATE UNIQUE INDEX delivery_by_key ON delivery (session, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX delivery_by_state ON delivery (state);

CREATE INDEX delivery_of_session ON delivery (session, seq);

CREATE INDEX delivery_pending ON delivery (session, seq)
    WHERE state IN ('accepted', 'written', 'queued', 'started');

CREATE INDEX fork_of_base ON fork (base, session) WHERE base IS NOT NULL;

CREATE INDEX fork_of_source ON fork (source, session);

CREATE INDEX generation_alive ON generation (session) WHERE ended_at IS NULL;

CREATE INDEX permission_open ON permission (session, generation, fold_no) WHERE state = 'open' AND fold_no IS NOT NULL;

CREATE INDEX session_by_cwd ON session (cwd, created_at, id, state, stopped, closed);

CREATE INDEX session_by_label ON session (label, created_at, id, state, stopped, closed) WHERE label IS NOT NULL;

CREATE INDEX session_by_state ON session (state, created_at, id, stopped, closed);

CREATE INDEX session_by_time ON session (created_at, id, state, stopped, closed);

CREATE INDEX turn_by_outcome ON turn (outcome, failure);

CREATE INDEX turn_unsettled ON turn (session) WHERE settled_at IS NULL;

CREATE INDEX webhook_waiting ON webhook (next_try, seq) WHERE state = 'waiting';

