-- Indexes of lenses, each whole or not there.

CREATE TABLE lens_index (
    generation INTEGER PRIMARY KEY AUTOINCREMENT,
    scope      TEXT NOT NULL,
    lens_id    TEXT NOT NULL,
    body       TEXT NOT NULL,
    UNIQUE (scope, lens_id)
) STRICT;

CREATE TABLE lens_chunk (
    generation INTEGER NOT NULL REFERENCES lens_index (generation) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    text       TEXT NOT NULL,
    place      TEXT NOT NULL,
    vectors    BLOB NOT NULL,
    PRIMARY KEY (generation, ordinal)
) STRICT, WITHOUT ROWID;
