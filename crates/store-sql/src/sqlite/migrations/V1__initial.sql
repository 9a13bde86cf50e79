-- Conventions: a scope is '' for global or the tenant's id; times are microseconds since the Unix
-- epoch, UTC; hashes are 32 raw bytes; bodies are JSON. Tables that are scanned whole or appended
-- to have a rowid; small look-up tables do not.

-- Packages and documents ------------------------------------------------------------------------

CREATE TABLE catalogue (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO catalogue (only_row, revision) VALUES (1, 0);

-- The history of every package; a revision is one change of one package.
CREATE TABLE package_change (
    revision     INTEGER PRIMARY KEY,
    scope        TEXT NOT NULL,
    package      TEXT NOT NULL,
    version      TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    change       TEXT NOT NULL CHECK (change IN ('registered', 'rolled_back', 'unregistered')),
    documents    INTEGER NOT NULL,
    actor        TEXT NOT NULL,
    at           INTEGER NOT NULL
) STRICT;
CREATE INDEX package_change_by_package ON package_change (scope, package, revision);

-- The packages in force.
CREATE TABLE package (
    scope    TEXT NOT NULL,
    package  TEXT NOT NULL,
    revision INTEGER NOT NULL REFERENCES package_change (revision),
    PRIMARY KEY (scope, package)
) STRICT, WITHOUT ROWID;

-- Every version that was ever registered, with the hash of its stored files.
CREATE TABLE package_version (
    version_key  INTEGER PRIMARY KEY,
    scope        TEXT NOT NULL,
    package      TEXT NOT NULL,
    version      TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    UNIQUE (scope, package, version)
) STRICT;

CREATE TABLE package_file (
    version_key INTEGER NOT NULL REFERENCES package_version (version_key) ON DELETE CASCADE,
    path        TEXT NOT NULL,
    content     TEXT NOT NULL,
    UNIQUE (version_key, path)
) STRICT;

-- The documents in force: read from first to last when a process starts.
CREATE TABLE document (
    scope           TEXT NOT NULL,
    kind            TEXT NOT NULL,
    id              TEXT NOT NULL,
    package         TEXT NOT NULL,
    package_version TEXT NOT NULL,
    content_hash    BLOB NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    body            TEXT NOT NULL,
    UNIQUE (scope, kind, id)
) STRICT;
CREATE INDEX document_by_package ON document (scope, package);

CREATE TABLE document_change (
    scope           TEXT NOT NULL,
    kind            TEXT NOT NULL,
    id              TEXT NOT NULL,
    revision        INTEGER NOT NULL REFERENCES package_change (revision),
    package_version TEXT NOT NULL,
    change          TEXT NOT NULL CHECK (change IN ('registered', 'rolled_back', 'unregistered')),
    content_hash    BLOB NOT NULL,
    at              INTEGER NOT NULL,
    body            TEXT NOT NULL,
    UNIQUE (scope, kind, id, revision)
) STRICT;

-- Embeddings ------------------------------------------------------------------------------------

CREATE TABLE embedding_model (
    model_key INTEGER PRIMARY KEY,
    model     TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE vector (
    model_key INTEGER NOT NULL REFERENCES embedding_model (model_key),
    text_hash BLOB NOT NULL,
    bytes     BLOB NOT NULL,
    UNIQUE (model_key, text_hash)
) STRICT;

CREATE TABLE calibration (
    model TEXT PRIMARY KEY,
    at    INTEGER NOT NULL,
    body  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Requests --------------------------------------------------------------------------------------

CREATE TABLE tag (
    tenant_id  TEXT NOT NULL,
    request_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    body       TEXT NOT NULL,
    UNIQUE (tenant_id, request_id)
) STRICT;
CREATE INDEX tag_by_expiry ON tag (expires_at);

CREATE TABLE request (
    tenant_id  TEXT NOT NULL,
    request_id TEXT NOT NULL,
    asked      TEXT NOT NULL,
    verdict    TEXT,
    answer     TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (tenant_id, request_id)
) STRICT;
CREATE INDEX request_answered ON request (updated_at) WHERE answer IS NOT NULL;
CREATE INDEX request_open ON request (created_at) WHERE answer IS NULL;

CREATE TABLE session (
    tenant_id  TEXT NOT NULL,
    session_id TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, session_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_expiry ON session (expires_at);

-- A turn keeps its position when its answer is filled in.
CREATE TABLE turn (
    position   INTEGER PRIMARY KEY,
    tenant_id  TEXT NOT NULL,
    session_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    at         INTEGER NOT NULL,
    input      TEXT NOT NULL,
    output     TEXT,
    UNIQUE (tenant_id, session_id, request_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES session (tenant_id, session_id) ON DELETE CASCADE
) STRICT;
CREATE INDEX turn_by_session ON turn (tenant_id, session_id, position);

-- Runs ------------------------------------------------------------------------------------------

CREATE TABLE run (
    run_key    INTEGER PRIMARY KEY,
    run_id     TEXT NOT NULL UNIQUE,
    tenant_id  TEXT NOT NULL,
    title      TEXT NOT NULL,
    phase      TEXT NOT NULL CHECK (phase IN ('runnable', 'waiting', 'finished')),
    version    INTEGER NOT NULL,
    last_hash  BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX run_by_tenant ON run (tenant_id, created_at, run_id);
CREATE INDEX run_claimable ON run (created_at, run_id) WHERE phase = 'runnable';
CREATE INDEX run_finished ON run (updated_at) WHERE phase = 'finished';

CREATE TRIGGER run_finished_is_final BEFORE UPDATE ON run WHEN OLD.phase = 'finished'
BEGIN SELECT RAISE(ABORT, 'a finished run takes no more events'); END;

CREATE TRIGGER run_deleted_only_when_finished BEFORE DELETE ON run WHEN OLD.phase <> 'finished'
BEGIN SELECT RAISE(ABORT, 'a run is deleted only when it is finished'); END;

CREATE TABLE journal_event (
    run_key  INTEGER NOT NULL REFERENCES run (run_key) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    hash     BLOB NOT NULL,
    payload  TEXT NOT NULL,
    UNIQUE (run_key, sequence)
) STRICT;

CREATE TRIGGER journal_event_is_immutable BEFORE UPDATE ON journal_event
BEGIN SELECT RAISE(ABORT, 'a journal event is never changed'); END;

-- Events go with their run or not at all: a cascade has removed the run by the time this fires.
CREATE TRIGGER journal_event_goes_with_its_run BEFORE DELETE ON journal_event
WHEN EXISTS (SELECT 1 FROM run WHERE run_key = OLD.run_key)
BEGIN SELECT RAISE(ABORT, 'a journal event is deleted only together with its run'); END;

-- A lease that was given back keeps its row, so that its fence never goes back.
CREATE TABLE lease (
    resource   TEXT PRIMARY KEY,
    holder     TEXT,
    fence      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: an id is never used twice, also after a sweep.
CREATE TABLE outbox (
    message_id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic      TEXT NOT NULL,
    tenant_id  TEXT,
    at         INTEGER NOT NULL,
    payload    TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_by_time ON outbox (at);

-- Evidence --------------------------------------------------------------------------------------

CREATE TABLE evidence (
    evidence_key  INTEGER PRIMARY KEY,
    tenant_id     TEXT NOT NULL,
    evidence_id   TEXT NOT NULL,
    evidence_type TEXT NOT NULL,
    captured_at   INTEGER NOT NULL,
    system        TEXT NOT NULL,
    native_id     TEXT NOT NULL,
    body          TEXT NOT NULL,
    UNIQUE (tenant_id, evidence_id)
) STRICT;
CREATE INDEX evidence_by_capture ON evidence (tenant_id, captured_at, evidence_id);
CREATE INDEX evidence_by_source ON evidence (tenant_id, system, native_id);
CREATE INDEX evidence_by_system ON evidence (tenant_id, system, captured_at, evidence_id);
CREATE INDEX evidence_by_type ON evidence (tenant_id, evidence_type, captured_at, evidence_id);

CREATE TABLE evidence_attachment (
    attachment_key INTEGER PRIMARY KEY,
    evidence_key   INTEGER NOT NULL REFERENCES evidence (evidence_key),
    tenant_id      TEXT NOT NULL,
    target_kind    TEXT NOT NULL, -- a key of the contract, e.g. finding_id
    target_id      TEXT NOT NULL,
    at             INTEGER NOT NULL,
    UNIQUE (evidence_key, target_kind, target_id)
) STRICT;
CREATE INDEX evidence_attachment_by_target
    ON evidence_attachment (tenant_id, target_kind, target_id, evidence_key);

CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER evidence_is_never_deleted BEFORE DELETE ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER evidence_attachment_is_never_changed BEFORE UPDATE ON evidence_attachment
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER evidence_attachment_is_never_deleted BEFORE DELETE ON evidence_attachment
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
