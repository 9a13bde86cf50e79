-- Memories: versions of what is remembered. Removal takes the content away and leaves the row.

CREATE TABLE memory (
    memory_key INTEGER PRIMARY KEY,
    tenant_id  TEXT NOT NULL,
    memory_id  TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    visibility TEXT NOT NULL CHECK (visibility IN ('private', 'shared')),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    latest     INTEGER NOT NULL,
    current    INTEGER,
    proposed   INTEGER,
    revision   INTEGER NOT NULL,
    removed_at INTEGER,
    removed_by TEXT,
    UNIQUE (tenant_id, memory_id),
    UNIQUE (tenant_id, revision),
    CHECK (removed_at IS NULL OR (current IS NULL AND proposed IS NULL))
) STRICT;
CREATE INDEX memory_by_time ON memory (tenant_id, created_at, memory_id) WHERE removed_at IS NULL;
CREATE INDEX memory_with_proposal ON memory (tenant_id, created_at, memory_id) WHERE proposed IS NOT NULL;
CREATE INDEX memory_by_expiry ON memory (expires_at) WHERE removed_at IS NULL AND expires_at IS NOT NULL;

CREATE TRIGGER memory_keeps_what_it_is BEFORE UPDATE ON memory
WHEN NEW.tenant_id <> OLD.tenant_id OR NEW.memory_id <> OLD.memory_id OR NEW.user_id <> OLD.user_id
  OR NEW.visibility <> OLD.visibility OR NEW.created_at <> OLD.created_at OR NEW.latest < OLD.latest
  OR OLD.removed_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a memory is superseded or removed, never overwritten'); END;
CREATE TRIGGER memory_is_never_forgotten BEFORE DELETE ON memory
BEGIN SELECT RAISE(ABORT, 'that a memory existed is kept'); END;

CREATE TABLE memory_version (
    memory_key INTEGER NOT NULL REFERENCES memory (memory_key),
    version    INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('proposed', 'accepted', 'superseded', 'rejected')),
    at         INTEGER NOT NULL,
    author     TEXT NOT NULL,
    agent_id   TEXT,
    based_on   INTEGER,
    decided_by TEXT,
    decided_at INTEGER,
    body       TEXT,
    PRIMARY KEY (memory_key, version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER memory_version_keeps_what_it_says BEFORE UPDATE ON memory_version
WHEN NEW.version <> OLD.version OR NEW.at <> OLD.at OR NEW.author <> OLD.author
  OR NEW.agent_id IS NOT OLD.agent_id OR NEW.based_on IS NOT OLD.based_on
  OR (NEW.body IS NOT OLD.body AND NEW.body IS NOT NULL)
  OR NOT (NEW.state = OLD.state
       OR (OLD.state = 'proposed' AND NEW.state IN ('accepted', 'rejected'))
       OR (OLD.state = 'accepted' AND NEW.state = 'superseded'))
BEGIN SELECT RAISE(ABORT, 'a version of a memory is superseded or removed, never overwritten'); END;
CREATE TRIGGER memory_version_is_never_forgotten BEFORE DELETE ON memory_version
BEGIN SELECT RAISE(ABORT, 'that a version existed is kept'); END;

CREATE TABLE memory_vector (
    memory_key INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    model      TEXT NOT NULL,
    bytes      BLOB NOT NULL,
    UNIQUE (memory_key, version),
    FOREIGN KEY (memory_key, version) REFERENCES memory_version (memory_key, version)
) STRICT;
