-- Questions that somebody outside is to be told of.
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
CREATE INDEX webhook_waiting ON webhook (next_try, seq) WHERE state = 'waiting';

-- Counting by state reads no bodies.
CREATE INDEX delivery_by_state ON delivery (state);
CREATE INDEX turn_by_outcome ON turn (outcome, failure);
