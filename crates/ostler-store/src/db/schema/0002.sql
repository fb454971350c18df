-- A message that a controller made itself, to go on with what another one had begun.
ALTER TABLE delivery ADD COLUMN continues TEXT;

-- Who pays is refused for now. The credential is a name, never a secret.
CREATE TABLE rate_limit (
    credential TEXT PRIMARY KEY NOT NULL,
    since      INTEGER NOT NULL,
    until      INTEGER, -- NULL: nobody said
    tries      INTEGER NOT NULL, -- refusals in a row
    next_try   INTEGER NOT NULL -- when one of those who wait may try
) STRICT, WITHOUT ROWID;
