-- The skill link graph: what discovery and navigation read, and apart from it what they never do.

CREATE TABLE agent_skill_index (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    revision INTEGER NOT NULL,
    model    TEXT,
    dims     INTEGER,
    CHECK ((model IS NULL) = (dims IS NULL))
) STRICT;
INSERT INTO agent_skill_index (only_row, revision) VALUES (1, 0);

CREATE TABLE agent_skill (
    skill_key  INTEGER PRIMARY KEY,
    scope      TEXT NOT NULL,
    skill_id   TEXT NOT NULL,
    summary    TEXT NOT NULL,
    is_folder  INTEGER NOT NULL CHECK (is_folder IN (0, 1)),
    sub_skills TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (scope, skill_id)
) STRICT;

CREATE TABLE agent_skill_vector (
    skill_key    INTEGER PRIMARY KEY REFERENCES agent_skill (skill_key) ON DELETE CASCADE,
    origin       TEXT NOT NULL CHECK (origin IN ('embedded', 'supplied')),
    summary_hash BLOB NOT NULL,
    bytes        BLOB NOT NULL
) STRICT;

CREATE TABLE agent_skill_instruction (
    skill_key   INTEGER PRIMARY KEY REFERENCES agent_skill (skill_key) ON DELETE CASCADE,
    instruction TEXT NOT NULL
) STRICT;

-- Files by the hash of their content, so that the same content is kept once.
CREATE TABLE agent_skill_content (
    sha256  BLOB PRIMARY KEY,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE agent_skill_file (
    skill_key  INTEGER NOT NULL REFERENCES agent_skill (skill_key) ON DELETE CASCADE,
    path       TEXT NOT NULL,
    sha256     BLOB NOT NULL REFERENCES agent_skill_content (sha256),
    bytes      INTEGER NOT NULL,
    executable INTEGER NOT NULL CHECK (executable IN (0, 1)),
    PRIMARY KEY (skill_key, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_skill_file_by_content ON agent_skill_file (sha256);
