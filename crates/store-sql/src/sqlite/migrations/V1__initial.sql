-- The whole schema, with a section for each noun. The schema of PostgreSQL has the same sections, tables, columns,
-- keys, indexes, checks and triggers. The parts that only this engine has are marked "SQLite only".

-- Conventions --------------------------------------------------------------------------------------
--
-- Keys lead with the tenant or the scope. Tables without a tenant have a comment. A scope is '' for global rows, or the
-- tenant's id. Times are microseconds since the Unix epoch, UTC. Hashes are 32 raw bytes. Bodies and payloads are JSON,
-- kept as the text that was written.
--
-- SQLite only: small rows are stored in their primary key, WITHOUT ROWID, unless an index has the order of the key:
-- SQLite would read the key instead of that index. A column that numbers rows in their order is the primary key, and
-- the natural key is unique; AUTOINCREMENT uses no number twice.

-- Layout -------------------------------------------------------------------------------------------

-- Without a tenant: one row. The number of the layout is that of the newest migration in `refinery_schema_history`.
-- Each later migration updates the row: `oldest_reader` is the oldest layout whose builds may open the database, and
-- `charter` the first version of Charter with the layout.
CREATE TABLE layout (
    only_row      INTEGER PRIMARY KEY CHECK (only_row = 1),
    oldest_reader INTEGER NOT NULL,
    charter       TEXT NOT NULL
) STRICT;
INSERT INTO layout (only_row, oldest_reader, charter) VALUES (1, 1, '0.1.0');

-- Packages and documents ---------------------------------------------------------------------------

-- Without a tenant: one row.
CREATE TABLE catalogue (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO catalogue (only_row, revision) VALUES (1, 0);

-- The history of every package; a revision is one change of one package.
CREATE TABLE package_change (
    scope        TEXT NOT NULL,
    revision     INTEGER NOT NULL,
    package      TEXT NOT NULL,
    version      TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    change       TEXT NOT NULL CHECK (change IN ('registered', 'rolled_back', 'unregistered')),
    documents    INTEGER NOT NULL,
    actor        TEXT NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (scope, revision)
) STRICT;
CREATE INDEX package_change_by_package ON package_change (scope, package, revision);

-- The active packages.
CREATE TABLE package (
    scope    TEXT NOT NULL,
    package  TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (scope, package),
    FOREIGN KEY (scope, revision) REFERENCES package_change
) STRICT, WITHOUT ROWID;

-- Every version that was ever registered, with the hash of its stored files.
CREATE TABLE package_version (
    scope        TEXT NOT NULL,
    package      TEXT NOT NULL,
    version      TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    PRIMARY KEY (scope, package, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE package_file (
    scope   TEXT NOT NULL,
    package TEXT NOT NULL,
    version TEXT NOT NULL,
    path    TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (scope, package, version, path),
    FOREIGN KEY (scope, package, version) REFERENCES package_version ON DELETE CASCADE
) STRICT;

-- The active documents; a process reads all of them when it starts.
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
    PRIMARY KEY (scope, kind, id)
) STRICT;
CREATE INDEX document_by_package ON document (scope, package);

CREATE TABLE document_change (
    scope           TEXT NOT NULL,
    kind            TEXT NOT NULL,
    id              TEXT NOT NULL,
    revision        INTEGER NOT NULL,
    package_version TEXT NOT NULL,
    change          TEXT NOT NULL CHECK (change IN ('registered', 'rolled_back', 'unregistered')),
    content_hash    BLOB NOT NULL,
    at              INTEGER NOT NULL,
    body            TEXT NOT NULL,
    PRIMARY KEY (scope, kind, id, revision),
    FOREIGN KEY (scope, revision) REFERENCES package_change
) STRICT;

-- Agent skills -------------------------------------------------------------------------------------

-- Without a tenant: one row.
CREATE TABLE agent_skill_index (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    revision INTEGER NOT NULL,
    model    TEXT,
    dims     INTEGER,
    CHECK ((model IS NULL) = (dims IS NULL))
) STRICT;
INSERT INTO agent_skill_index (only_row, revision) VALUES (1, 0);

-- The part of a skill that discovery and navigation read. Instructions and files have their own tables.
CREATE TABLE agent_skill (
    scope      TEXT NOT NULL,
    skill_id   TEXT NOT NULL,
    summary    TEXT NOT NULL,
    is_folder  INTEGER NOT NULL CHECK (is_folder IN (0, 1)),
    sub_skills TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (scope, skill_id)
) STRICT;

CREATE TABLE agent_skill_vector (
    scope        TEXT NOT NULL,
    skill_id     TEXT NOT NULL,
    origin       TEXT NOT NULL CHECK (origin IN ('embedded', 'supplied')),
    summary_hash BLOB NOT NULL,
    bytes        BLOB NOT NULL,
    PRIMARY KEY (scope, skill_id),
    FOREIGN KEY (scope, skill_id) REFERENCES agent_skill ON DELETE CASCADE
) STRICT;

CREATE TABLE agent_skill_instruction (
    scope       TEXT NOT NULL,
    skill_id    TEXT NOT NULL,
    instruction TEXT NOT NULL,
    PRIMARY KEY (scope, skill_id),
    FOREIGN KEY (scope, skill_id) REFERENCES agent_skill ON DELETE CASCADE
) STRICT;

-- Files by the hash of their content, so that a scope stores equal content once.
CREATE TABLE agent_skill_content (
    scope   TEXT NOT NULL,
    sha256  BLOB NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (scope, sha256)
) STRICT;

CREATE TABLE agent_skill_file (
    scope      TEXT NOT NULL,
    skill_id   TEXT NOT NULL,
    path       TEXT NOT NULL,
    sha256     BLOB NOT NULL,
    bytes      INTEGER NOT NULL,
    executable INTEGER NOT NULL CHECK (executable IN (0, 1)),
    PRIMARY KEY (scope, skill_id, path),
    FOREIGN KEY (scope, skill_id) REFERENCES agent_skill ON DELETE CASCADE,
    FOREIGN KEY (scope, sha256) REFERENCES agent_skill_content
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_skill_file_by_content ON agent_skill_file (scope, sha256);

-- Lenses and embeddings ----------------------------------------------------------------------------

-- Complete indexes of lenses.
CREATE TABLE lens_index (
    scope      TEXT NOT NULL,
    lens_id    TEXT NOT NULL,
    generation INTEGER PRIMARY KEY AUTOINCREMENT,
    body       TEXT NOT NULL,
    UNIQUE (scope, lens_id),
    UNIQUE (scope, generation)
) STRICT;

CREATE TABLE lens_chunk (
    scope      TEXT NOT NULL,
    generation INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL,
    text       TEXT NOT NULL,
    place      TEXT NOT NULL,
    vectors    BLOB NOT NULL,
    parts      INTEGER NOT NULL CHECK (parts >= 0), -- the number of vectors
    PRIMARY KEY (scope, generation, ordinal),
    FOREIGN KEY (scope, generation) REFERENCES lens_index (scope, generation) ON DELETE CASCADE
) STRICT;

-- Without a tenant: a vector depends only on model and text.
CREATE TABLE embedding (
    model     TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    bytes     BLOB NOT NULL,
    PRIMARY KEY (model, text_hash)
) STRICT;

-- Route examples and calibration -------------------------------------------------------------------

-- Redacted sentences that were confirmed as routed correctly. Owners accept or reject them as examples of a document.
-- Decided rows are kept, so that a rejected sentence is not suggested again.
CREATE TABLE route_example (
    tenant_id    TEXT NOT NULL,
    example_id   TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('skill', 'playbook')),
    document     TEXT NOT NULL,
    text         TEXT NOT NULL,
    words        TEXT NOT NULL,
    source       TEXT NOT NULL,
    request_id   TEXT,
    status       TEXT NOT NULL CHECK (status IN ('suggested', 'accepted', 'rejected', 'withdrawn')),
    suggested_at INTEGER NOT NULL,
    decided_at   INTEGER,
    decided_by   TEXT,
    PRIMARY KEY (tenant_id, example_id),
    UNIQUE (tenant_id, document, kind, words),
    CHECK ((status = 'suggested') = (decided_at IS NULL)),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX route_example_by_time ON route_example (tenant_id, suggested_at, example_id);
CREATE INDEX route_example_by_status ON route_example (tenant_id, status, suggested_at, example_id);
CREATE INDEX route_example_by_document ON route_example (tenant_id, document, suggested_at, example_id);
CREATE INDEX route_example_in_force ON route_example (tenant_id, kind, document, suggested_at, example_id)
    WHERE status = 'accepted';

CREATE TRIGGER route_example_moves_forward BEFORE UPDATE ON route_example
WHEN NOT ((OLD.status = 'suggested' AND NEW.status IN ('accepted', 'rejected'))
       OR (OLD.status = 'accepted' AND NEW.status = 'withdrawn'))
  OR (NEW.tenant_id, NEW.example_id, NEW.kind, NEW.document, NEW.text, NEW.words, NEW.source, NEW.suggested_at)
  <> (OLD.tenant_id, OLD.example_id, OLD.kind, OLD.document, OLD.text, OLD.words, OLD.source, OLD.suggested_at)
  OR NEW.request_id IS DISTINCT FROM OLD.request_id
BEGIN SELECT RAISE(ABORT, 'a route example is decided once and its sentence never changes'); END;

-- Without a tenant: the calibration of a model.
CREATE TABLE calibration (
    model TEXT PRIMARY KEY,
    at    INTEGER NOT NULL,
    body  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Schedules ----------------------------------------------------------------------------------------

-- Enabled schedules and triggers, as they were enabled, each with the rights of its user.
CREATE TABLE schedule (
    tenant_id   TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    definition  TEXT NOT NULL,
    identity    TEXT NOT NULL,
    cause       TEXT NOT NULL CHECK (cause IN ('time', 'webhook', 'finding')),
    state       TEXT NOT NULL CHECK (state IN ('active', 'paused')),
    hook_id     TEXT,
    hook_secret TEXT,
    -- Random text, from which the ids of its work follow.
    id_secret   TEXT NOT NULL,
    enabled_at  INTEGER NOT NULL,
    next_at     INTEGER,
    version     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id),
    CHECK ((hook_id IS NULL) = (hook_secret IS NULL)),
    CHECK ((cause = 'webhook') = (hook_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_by_time ON schedule (tenant_id, enabled_at, schedule_id);
CREATE INDEX schedule_by_user ON schedule (tenant_id, user_id, enabled_at, schedule_id);
-- An event does not name its tenant. The index is not unique because a unique key leads with the tenant.
CREATE INDEX schedule_by_hook ON schedule (hook_id) WHERE hook_id IS NOT NULL;
CREATE INDEX schedule_by_next ON schedule (next_at) WHERE state = 'active';
CREATE INDEX schedule_of_findings ON schedule (tenant_id, schedule_id) WHERE cause = 'finding' AND state = 'active';

-- Occurrences, by their time or the id of their event.
CREATE TABLE schedule_occurrence (
    tenant_id   TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    occurrence  TEXT NOT NULL,
    due_at      INTEGER NOT NULL,
    start_at    INTEGER NOT NULL,
    state       TEXT NOT NULL
        CHECK (state IN ('waiting', 'started', 'ended', 'skipped', 'missed', 'failed')),
    event       TEXT,
    work        TEXT,
    note        TEXT,
    report      TEXT,
    -- The report without its items, for listings.
    summary     TEXT,
    -- Since when the state of its started work cannot be read.
    failing_since INTEGER,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id, occurrence),
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES schedule ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_occurrence_by_time ON schedule_occurrence (tenant_id, schedule_id, due_at, occurrence);
CREATE INDEX schedule_occurrence_open ON schedule_occurrence (start_at) WHERE state IN ('waiting', 'started');
CREATE INDEX schedule_occurrence_waiting ON schedule_occurrence (tenant_id, schedule_id, due_at, occurrence)
    WHERE state = 'waiting';
CREATE INDEX schedule_occurrence_started ON schedule_occurrence (tenant_id, schedule_id, due_at, occurrence)
    WHERE state = 'started';
CREATE INDEX schedule_occurrence_reported ON schedule_occurrence (tenant_id, schedule_id, due_at, occurrence)
    WHERE report IS NOT NULL;
CREATE INDEX schedule_occurrence_by_change ON schedule_occurrence (updated_at);

-- Keys and tenants ---------------------------------------------------------------------------------

-- API keys by the SHA-256 of their text. A key keeps its row after its end, as a record of who had access, by whom, and
-- until when.
CREATE TABLE api_key (
    tenant_id    TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL CHECK (length(hash) = 32),
    user_id      TEXT NOT NULL,
    rights       TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    -- A list of the users who made the key, directly or through keys that they made.
    makers       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    revoked_by   TEXT,
    rotated_from TEXT,
    PRIMARY KEY (tenant_id, key_id),
    -- A key is replaced by one other.
    UNIQUE (tenant_id, rotated_from),
    CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
) STRICT, WITHOUT ROWID;
-- A presented key does not name its tenant. The index is not unique because a unique key leads with the tenant; two
-- keys of 256 random bits do not collide.
CREATE INDEX api_key_by_hash ON api_key (hash);
CREATE INDEX api_key_by_time ON api_key (tenant_id, created_at, key_id);
-- Whether any key is valid, when most have ended.
CREATE INDEX api_key_not_revoked ON api_key (expires_at) WHERE revoked_at IS NULL;

CREATE TRIGGER api_key_stays_what_it_is BEFORE UPDATE ON api_key
WHEN (NEW.tenant_id, NEW.key_id, NEW.name, NEW.hash, NEW.user_id, NEW.rights, NEW.created_by, NEW.makers,
      NEW.created_at)
  <> (OLD.tenant_id, OLD.key_id, OLD.name, OLD.hash, OLD.user_id, OLD.rights, OLD.created_by, OLD.makers,
      OLD.created_at)
  OR NEW.rotated_from IS DISTINCT FROM OLD.rotated_from
BEGIN SELECT RAISE(ABORT, 'a key stays what it was made'); END;
CREATE TRIGGER api_key_ends_for_good BEFORE UPDATE ON api_key
WHEN (OLD.revoked_at IS NOT NULL
      AND (NEW.revoked_at IS DISTINCT FROM OLD.revoked_at OR NEW.revoked_by IS DISTINCT FROM OLD.revoked_by))
  OR (OLD.expires_at IS NOT NULL AND (NEW.expires_at IS NULL OR NEW.expires_at > OLD.expires_at))
BEGIN SELECT RAISE(ABORT, 'a key that ends is not given more time'); END;

-- SQLite only: the erasure of a tenant also deletes its evidence and memories. The transaction has a row here, which it
-- deletes at its end. The tree of the evidence log stays.
CREATE TABLE erasing (
    tenant TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Connected accounts -------------------------------------------------------------------------------

-- What a user granted at another system, sealed with the key `key_id`, which the database does not hold.
CREATE TABLE connected_account (
    tenant_id    TEXT NOT NULL,
    credential   TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    sealed       BLOB NOT NULL,
    connected_at INTEGER NOT NULL,
    changed_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    version      INTEGER NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, user_id, credential)
) STRICT, WITHOUT ROWID;
CREATE INDEX connected_account_by_time ON connected_account (tenant_id, credential, connected_at, user_id);
CREATE INDEX connected_account_by_key ON connected_account (key_id);

-- Console sessions ---------------------------------------------------------------------------------

-- Users who signed in to the console, by the SHA-256 of their session's id; sealed as a connected account is.
CREATE TABLE console_session (
    tenant_id  TEXT NOT NULL,
    hash       BLOB NOT NULL CHECK (length(hash) = 32),
    user_id    TEXT NOT NULL,
    key_id     TEXT NOT NULL,
    sealed     BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    version    INTEGER NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, hash)
) STRICT, WITHOUT ROWID;
-- A presented session does not name its tenant.
CREATE INDEX console_session_by_hash ON console_session (hash);
CREATE INDEX console_session_by_user ON console_session (tenant_id, user_id, created_at);
CREATE INDEX console_session_by_end ON console_session (ends_at);

-- Sessions -----------------------------------------------------------------------------------------

CREATE TABLE session (
    tenant_id  TEXT NOT NULL,
    session_id TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, session_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_expiry ON session (expires_at);

-- A turn keeps its position when its answer is added.
CREATE TABLE turn (
    tenant_id  TEXT NOT NULL,
    session_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    position   INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    input      TEXT NOT NULL,
    output     TEXT,
    UNIQUE (tenant_id, session_id, request_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES session ON DELETE CASCADE
) STRICT;
CREATE INDEX turn_by_session ON turn (tenant_id, session_id, position);

-- Requests -----------------------------------------------------------------------------------------

-- `holder` is the process that answers an open request, and `held_until` the end of its claim. `run_id` is the run
-- whose end is the request's result, and `result` the response with the outcome of that run.
CREATE TABLE request (
    tenant_id  TEXT NOT NULL,
    request_id TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    asked      TEXT NOT NULL,
    verdict    TEXT,
    answer     TEXT,
    run_id     TEXT,
    result     TEXT,
    holder     TEXT,
    held_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, request_id)
) STRICT;
CREATE INDEX request_answered ON request (updated_at) WHERE answer IS NOT NULL;
CREATE INDEX request_open ON request (created_at) WHERE answer IS NULL;
CREATE INDEX request_held ON request (holder) WHERE answer IS NULL;
CREATE INDEX request_awaiting ON request (tenant_id, run_id) WHERE run_id IS NOT NULL AND result IS NULL;
CREATE INDEX request_by_user ON request (tenant_id, user_id, created_at, request_id);
CREATE INDEX request_by_tenant ON request (tenant_id, created_at, request_id);

-- Runs, journal and leases -------------------------------------------------------------------------

-- `user_id` is the owner: the user who started the run, or the owner of the run that it rolls back; '' if unknown.
-- `finished_at` exists for an index: no index has a column that each step of a run changes. So a step leaves the
-- indexes alone.
CREATE TABLE run (
    tenant_id   TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    title       TEXT NOT NULL,
    phase       TEXT NOT NULL CHECK (phase IN ('runnable', 'waiting', 'finished')),
    status      TEXT NOT NULL,
    wake_at     INTEGER,
    version     INTEGER NOT NULL,
    last_hash   BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    finished_at INTEGER GENERATED ALWAYS AS (CASE WHEN phase = 'finished' THEN updated_at END) VIRTUAL,
    PRIMARY KEY (tenant_id, run_id)
) STRICT;
CREATE INDEX run_by_tenant ON run (tenant_id, created_at, run_id);
CREATE INDEX run_by_user ON run (tenant_id, user_id, created_at, run_id);
-- Finished runs by their status. A run enters this index once.
CREATE INDEX run_by_end ON run (tenant_id, status, created_at, run_id) WHERE phase = 'finished';
-- A claim goes from tenant to tenant and takes the oldest run of each.
CREATE INDEX run_claimable ON run (tenant_id, created_at, run_id) WHERE phase = 'runnable';
CREATE INDEX run_by_wake ON run (wake_at) WHERE phase = 'waiting' AND wake_at IS NOT NULL;
CREATE INDEX run_finished ON run (finished_at) WHERE finished_at IS NOT NULL;
-- The unfinished runs, which a starting process reads by their ids. The index has the tenant so that a statement about
-- one tenant's run can enter it by the tenant too.
CREATE INDEX run_unfinished ON run (run_id, tenant_id) WHERE phase <> 'finished';
-- The unfinished runs of a tenant, newest first. They are counted before another run begins.
CREATE INDEX run_unfinished_of_tenant ON run (tenant_id, created_at, run_id) WHERE phase <> 'finished';

CREATE TRIGGER run_finished_is_final BEFORE UPDATE ON run
WHEN OLD.phase = 'finished'
BEGIN SELECT RAISE(ABORT, 'a finished run takes no more events'); END;
CREATE TRIGGER run_deleted_only_when_finished BEFORE DELETE ON run
WHEN OLD.phase <> 'finished'
BEGIN SELECT RAISE(ABORT, 'a run is deleted only when it is finished'); END;

-- The tenant of a run. Journals and leases are found by the id of a run alone, so it is unique among all tenants. This
-- is the only key of runs that does not lead with the tenant.
CREATE TABLE run_tenant (
    run_id    TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The payload is text because the hashes of the chain are over these bytes.
CREATE TABLE journal_event (
    tenant_id TEXT NOT NULL,
    run_id    TEXT NOT NULL,
    sequence  INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    hash      BLOB NOT NULL,
    payload   TEXT NOT NULL,
    PRIMARY KEY (tenant_id, run_id, sequence),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE
) STRICT;

CREATE TRIGGER journal_event_is_immutable BEFORE UPDATE ON journal_event
BEGIN SELECT RAISE(ABORT, 'a journal event is never changed'); END;
CREATE TRIGGER journal_event_goes_with_its_run BEFORE DELETE ON journal_event
WHEN EXISTS (SELECT 1 FROM run WHERE tenant_id = OLD.tenant_id AND run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'a journal event is deleted only together with its run'); END;

-- Without a tenant: a leased resource need not have one. A released lease keeps its row, so that its fence never
-- decreases.
CREATE TABLE lease (
    resource   TEXT PRIMARY KEY,
    holder     TEXT,
    fence      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Approvals ----------------------------------------------------------------------------------------

-- `user_id` is the owner of the run.
CREATE TABLE approval (
    tenant_id    TEXT NOT NULL,
    approval_id  TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'consumed', 'lapsed')),
    requested_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    body         TEXT NOT NULL,
    PRIMARY KEY (tenant_id, approval_id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE
) STRICT;
CREATE INDEX approval_by_tenant ON approval (tenant_id, requested_at, approval_id);
CREATE INDEX approval_by_state ON approval (tenant_id, state, requested_at, approval_id);
CREATE INDEX approval_by_user ON approval (tenant_id, user_id, requested_at, approval_id);
CREATE INDEX approval_by_run ON approval (tenant_id, run_id);

-- A pending approval may go to the next group of approvers.
CREATE TRIGGER approval_moves_forward BEFORE UPDATE ON approval
WHEN NOT ((OLD.state = 'pending' AND NEW.state IN ('pending', 'approved', 'rejected', 'lapsed'))
       OR (OLD.state = 'approved' AND NEW.state IN ('consumed', 'lapsed')))
  OR (NEW.tenant_id, NEW.approval_id, NEW.run_id, NEW.user_id, NEW.expires_at)
  <> (OLD.tenant_id, OLD.approval_id, OLD.run_id, OLD.user_id, OLD.expires_at)
BEGIN SELECT RAISE(ABORT, 'an approval is decided once and used once'); END;

-- The calls for which runs request approval, or wait to. `awaits` is the run that the row's run waits for.
CREATE TABLE approval_call (
    tenant_id   TEXT NOT NULL,
    call_digest TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    place       INTEGER NOT NULL,
    awaits      TEXT,
    PRIMARY KEY (tenant_id, call_digest, run_id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE
) STRICT;
CREATE INDEX approval_call_by_run ON approval_call (tenant_id, run_id);
CREATE INDEX approval_call_by_awaited ON approval_call (tenant_id, awaits) WHERE awaits IS NOT NULL;

-- The place of the last registration of calls. Its row is locked by each registration, so that they follow one another.
CREATE TABLE approval_call_place (
    tenant_id  TEXT PRIMARY KEY,
    last_place INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Outbox and events --------------------------------------------------------------------------------

-- The tenant is '' for messages about the whole server. The user is the one that a message is about, NULL for a message
-- to the whole tenant.
CREATE TABLE outbox (
    tenant_id  TEXT NOT NULL,
    message_id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    TEXT,
    topic      TEXT NOT NULL,
    at         INTEGER NOT NULL,
    payload    TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_by_tenant ON outbox (tenant_id, message_id);
CREATE INDEX outbox_by_time ON outbox (at);
-- Changes of the global catalogue, which every tenant gets, without the many messages between processes.
CREATE INDEX outbox_of_the_catalogue ON outbox (tenant_id, message_id) WHERE topic = 'catalogue.changed';

-- Notifications ------------------------------------------------------------------------------------

-- Events for channels. `digest` is '' for a message of its own. `due_at` is the end of the claim while it is claimed.
CREATE TABLE notification (
    tenant_id       TEXT NOT NULL,
    notification_id TEXT NOT NULL,
    channel         TEXT NOT NULL,
    topic           TEXT NOT NULL,
    digest          TEXT NOT NULL,
    state           TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    due_at          INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    message_id      TEXT,
    claimed_by      TEXT,
    settled_at      INTEGER,
    detail          TEXT,
    body            TEXT NOT NULL,
    PRIMARY KEY (tenant_id, notification_id),
    CONSTRAINT state_is_known CHECK (state IN ('pending', 'delivered', 'skipped', 'failed')),
    CONSTRAINT a_settled_one_has_a_time CHECK ((state = 'pending') = (settled_at IS NULL))
) STRICT;
CREATE INDEX notification_due ON notification (due_at, tenant_id, notification_id) WHERE state = 'pending';
CREATE INDEX notification_by_digest ON notification (tenant_id, channel, digest, created_at, notification_id)
    WHERE state = 'pending';
CREATE INDEX notification_by_message ON notification (tenant_id, message_id);
CREATE INDEX notification_by_time ON notification (tenant_id, created_at, notification_id);
CREATE INDEX notification_settled ON notification (settled_at);

-- Without a tenant: the last message of the outbox whose notifications are written.
CREATE TABLE notification_position (
    only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
    message_id INTEGER NOT NULL
) STRICT;

-- Signatures of requests that count once.
CREATE TABLE used_signature (
    tenant_id  TEXT NOT NULL,
    signature  TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, signature)
) STRICT;
CREATE INDEX used_signature_by_expiry ON used_signature (expires_at);

-- Evidence and its log -----------------------------------------------------------------------------

-- The user is the owner of the run that captured the record, '' if there is none. It is kept here because runs are
-- swept and evidence is not. A removed payload leaves the time of its removal.
CREATE TABLE evidence (
    tenant_id          TEXT NOT NULL,
    evidence_id        TEXT NOT NULL,
    user_id            TEXT NOT NULL,
    evidence_type      TEXT NOT NULL,
    captured_at        INTEGER NOT NULL,
    system             TEXT NOT NULL,
    native_id          TEXT NOT NULL,
    body               TEXT NOT NULL,
    payload            TEXT,
    payload_salt       BLOB,
    payload_removed_at INTEGER,
    PRIMARY KEY (tenant_id, evidence_id),
    CHECK ((payload IS NULL) = (payload_removed_at IS NOT NULL)
       AND (payload IS NULL) = (payload_salt IS NULL))
) STRICT;
CREATE INDEX evidence_by_capture ON evidence (tenant_id, captured_at, evidence_id);
CREATE INDEX evidence_by_source ON evidence (tenant_id, system, native_id);
CREATE INDEX evidence_by_system ON evidence (tenant_id, system, captured_at, evidence_id);
CREATE INDEX evidence_by_type ON evidence (tenant_id, evidence_type, captured_at, evidence_id);
CREATE INDEX evidence_by_user ON evidence (tenant_id, user_id, captured_at, evidence_id);
CREATE INDEX evidence_with_payload ON evidence (captured_at) WHERE payload IS NOT NULL;

-- The only change of evidence: its payload is removed, once, and everything else stays.
CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence
WHEN NOT (
    OLD.payload IS NOT NULL AND NEW.payload IS NULL
    AND NEW.payload_salt IS NULL AND NEW.payload_removed_at IS NOT NULL
    AND (NEW.tenant_id, NEW.evidence_id, NEW.user_id, NEW.evidence_type, NEW.captured_at, NEW.system, NEW.native_id,
         NEW.body)
      = (OLD.tenant_id, OLD.evidence_id, OLD.user_id, OLD.evidence_type, OLD.captured_at, OLD.system, OLD.native_id,
         OLD.body)
)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER evidence_is_never_deleted BEFORE DELETE ON evidence
WHEN NOT EXISTS (SELECT 1 FROM erasing WHERE tenant = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

CREATE TABLE evidence_attachment (
    tenant_id   TEXT NOT NULL,
    evidence_id TEXT NOT NULL,
    target_kind TEXT NOT NULL, -- a key of the contract, e.g. finding_id
    target_id   TEXT NOT NULL,
    position    INTEGER PRIMARY KEY AUTOINCREMENT,
    at          INTEGER NOT NULL,
    UNIQUE (tenant_id, evidence_id, target_kind, target_id),
    FOREIGN KEY (tenant_id, evidence_id) REFERENCES evidence
) STRICT;
CREATE INDEX evidence_attachment_by_target
    ON evidence_attachment (tenant_id, target_kind, target_id, evidence_id);

CREATE TRIGGER evidence_attachment_is_never_changed BEFORE UPDATE ON evidence_attachment
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE TRIGGER evidence_attachment_is_never_deleted BEFORE DELETE ON evidence_attachment
WHEN NOT EXISTS (SELECT 1 FROM erasing WHERE tenant = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

-- The evidence log: a Merkle tree (RFC 6962) for each tenant. A writer locks the tenant's row here. Leaves and the
-- hashes of perfect subtrees are written with the record, attachment or removal that they describe.
CREATE TABLE evidence_log (
    tenant_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TRIGGER evidence_log_is_never_changed BEFORE UPDATE ON evidence_log
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;
CREATE TRIGGER evidence_log_is_never_deleted BEFORE DELETE ON evidence_log
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;

CREATE TABLE evidence_leaf (
    tenant_id   TEXT NOT NULL REFERENCES evidence_log,
    leaf_index  INTEGER NOT NULL,
    evidence_id TEXT NOT NULL,
    leaf        TEXT NOT NULL, -- the leaf's data, byte for byte
    PRIMARY KEY (tenant_id, leaf_index),
    FOREIGN KEY (tenant_id, evidence_id) REFERENCES evidence
) STRICT;
CREATE INDEX evidence_leaf_by_record ON evidence_leaf (tenant_id, evidence_id, leaf_index);

CREATE TRIGGER evidence_leaf_is_never_changed BEFORE UPDATE ON evidence_leaf
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;
CREATE TRIGGER evidence_leaf_is_never_deleted BEFORE DELETE ON evidence_leaf
WHEN NOT EXISTS (SELECT 1 FROM erasing WHERE tenant = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;

-- Level 0 has the hashes of the leaves; level n those of complete subtrees of 2^n leaves.
CREATE TABLE evidence_node (
    tenant_id  TEXT NOT NULL REFERENCES evidence_log,
    level      INTEGER NOT NULL,
    node_index INTEGER NOT NULL,
    hash       BLOB NOT NULL,
    PRIMARY KEY (tenant_id, level, node_index)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER evidence_node_is_never_changed BEFORE UPDATE ON evidence_node
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;
CREATE TRIGGER evidence_node_is_never_deleted BEFORE DELETE ON evidence_node
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;

-- Signed and published checkpoints.
CREATE TABLE evidence_checkpoint (
    tenant_id TEXT NOT NULL REFERENCES evidence_log,
    size      INTEGER NOT NULL,
    key_id    TEXT NOT NULL,
    at        INTEGER NOT NULL,
    note      TEXT NOT NULL,
    PRIMARY KEY (tenant_id, size, key_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER evidence_checkpoint_is_never_changed BEFORE UPDATE ON evidence_checkpoint
BEGIN SELECT RAISE(ABORT, 'a published checkpoint is append-only'); END;
CREATE TRIGGER evidence_checkpoint_is_never_deleted BEFORE DELETE ON evidence_checkpoint
BEGIN SELECT RAISE(ABORT, 'a published checkpoint is append-only'); END;

-- Memories -----------------------------------------------------------------------------------------

-- A writer of a tenant's memories locks its row here, so that revisions become visible in their order and the limit of
-- their number holds.
CREATE TABLE memory_tenant (
    tenant_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- The removal of a memory deletes its content and leaves its row.
CREATE TABLE memory (
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
    PRIMARY KEY (tenant_id, memory_id),
    UNIQUE (tenant_id, revision),
    CHECK (removed_at IS NULL OR (current IS NULL AND proposed IS NULL))
) STRICT;
CREATE INDEX memory_by_time ON memory (tenant_id, created_at, memory_id) WHERE removed_at IS NULL;
CREATE INDEX memory_with_proposal ON memory (tenant_id, created_at, memory_id) WHERE proposed IS NOT NULL;
CREATE INDEX memory_by_expiry ON memory (expires_at) WHERE removed_at IS NULL AND expires_at IS NOT NULL;

CREATE TRIGGER memory_keeps_what_it_is BEFORE UPDATE ON memory
WHEN (NEW.tenant_id, NEW.memory_id, NEW.user_id, NEW.visibility, NEW.created_at)
  <> (OLD.tenant_id, OLD.memory_id, OLD.user_id, OLD.visibility, OLD.created_at)
  OR NEW.latest < OLD.latest OR OLD.removed_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a memory is superseded or removed, never overwritten'); END;
CREATE TRIGGER memory_is_never_forgotten BEFORE DELETE ON memory
WHEN NOT EXISTS (SELECT 1 FROM erasing WHERE tenant = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'that a memory existed is kept'); END;

CREATE TABLE memory_version (
    tenant_id  TEXT NOT NULL,
    memory_id  TEXT NOT NULL,
    version    INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('proposed', 'accepted', 'superseded', 'rejected')),
    at         INTEGER NOT NULL,
    author     TEXT NOT NULL,
    agent_id   TEXT,
    based_on   INTEGER,
    decided_by TEXT,
    decided_at INTEGER,
    body       TEXT,
    PRIMARY KEY (tenant_id, memory_id, version),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES memory
) STRICT;

CREATE TRIGGER memory_version_keeps_what_it_says BEFORE UPDATE ON memory_version
WHEN (NEW.tenant_id, NEW.memory_id, NEW.version, NEW.at, NEW.author)
  <> (OLD.tenant_id, OLD.memory_id, OLD.version, OLD.at, OLD.author)
  OR NEW.agent_id IS DISTINCT FROM OLD.agent_id OR NEW.based_on IS DISTINCT FROM OLD.based_on
  OR (NEW.body IS DISTINCT FROM OLD.body AND NEW.body IS NOT NULL)
  OR NOT (NEW.state = OLD.state
       OR (OLD.state = 'proposed' AND NEW.state IN ('accepted', 'rejected'))
       OR (OLD.state = 'accepted' AND NEW.state = 'superseded'))
BEGIN SELECT RAISE(ABORT, 'a version of a memory is superseded or removed, never overwritten'); END;
CREATE TRIGGER memory_version_is_never_forgotten BEFORE DELETE ON memory_version
WHEN NOT EXISTS (SELECT 1 FROM erasing WHERE tenant = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'that a version existed is kept'); END;

CREATE TABLE memory_vector (
    tenant_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    version   INTEGER NOT NULL,
    model     TEXT NOT NULL,
    bytes     BLOB NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, version),
    FOREIGN KEY (tenant_id, memory_id, version) REFERENCES memory_version
) STRICT;

-- Missions and artifacts ---------------------------------------------------------------------------

-- An artifact is stored as its canonical JSON text, byte for byte. The other columns are compared with the text, or
-- derived from it. A row of version v0 has the fields of that version, and no root metadata except in its columns.
CREATE TABLE colony_missions (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    actor_id       TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    run_id         TEXT NOT NULL,
    state          TEXT NOT NULL,
    artifacts      INTEGER NOT NULL, -- their number, which is the place of the last one
    imported_at    INTEGER,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL, -- the envelope
    PRIMARY KEY (tenant_id, mission_id),
    UNIQUE (tenant_id, mission_id, actor_id),
    -- A run has one mission.
    UNIQUE (tenant_id, run_id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'mission_envelope'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.tenant_id' IS tenant_id
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT state_is_known CHECK (state IN
        ('created', 'planned', 'prompted', 'running', 'aggregating', 'reviewing', 'awaiting_approval',
         'completed', 'rejected', 'failed', 'cancelled', 'budget_exceeded')),
    CONSTRAINT risk_is_known CHECK (payload ->> '$.risk_level' IS NOT NULL
        AND payload ->> '$.risk_level' IN ('low', 'medium', 'high', 'critical')),
    CONSTRAINT places_are_counted CHECK (artifacts >= 1 AND event >= 1)
) STRICT;
CREATE INDEX colony_missions_by_time ON colony_missions (tenant_id, created_at, mission_id);
CREATE INDEX colony_missions_by_state ON colony_missions (tenant_id, state, created_at, mission_id);
CREATE INDEX colony_missions_by_user ON colony_missions (tenant_id, actor_id, created_at, mission_id);

CREATE TRIGGER colony_missions_keep_what_was_written BEFORE UPDATE ON colony_missions
WHEN (NEW.tenant_id, NEW.mission_id, NEW.run_id, NEW.event, NEW.schema_version, NEW.created_at,
      NEW.producer, NEW.payload)
  <> (OLD.tenant_id, OLD.mission_id, OLD.run_id, OLD.event, OLD.schema_version, OLD.created_at,
      OLD.producer, OLD.payload)
  OR NEW.imported_at IS DISTINCT FROM OLD.imported_at OR NEW.artifacts < OLD.artifacts
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_missions_end_once BEFORE UPDATE ON colony_missions
WHEN OLD.state IN ('completed', 'rejected', 'failed', 'cancelled', 'budget_exceeded')
 AND NEW.state <> OLD.state
BEGIN SELECT RAISE(ABORT, 'a mission that has ended stays as it ended'); END;
-- A cascade has removed the run when this fires.
CREATE TRIGGER colony_missions_go_with_their_run BEFORE DELETE ON colony_missions
WHEN EXISTS (SELECT 1 FROM run WHERE tenant_id = OLD.tenant_id AND run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'a mission is deleted only together with its run'); END;

-- The task graph, from which the rows of colony_tasks are made. It has its own table because the row of a mission is
-- written with every append, and a graph may have a thousand tasks.
CREATE TABLE colony_task_graphs (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    CONSTRAINT one_graph PRIMARY KEY (tenant_id, mission_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'mission_task_graph'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

CREATE TABLE colony_tasks (
    tenant_id  TEXT NOT NULL,
    mission_id TEXT NOT NULL,
    task_id    TEXT NOT NULL,
    place      INTEGER NOT NULL, -- in the graph, from 1
    role_type  TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.role_type') VIRTUAL,
    payload    TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, task_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT columns_are_the_payloads CHECK (payload ->> '$.task_id' IS task_id),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer'))
) STRICT;

CREATE TABLE colony_prompt_packages (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    package_id     TEXT NOT NULL,
    task_id        TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    role_type      TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.role_type') VIRTUAL,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, package_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'prompt_package'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.package_id' IS package_id
        AND payload ->> '$.task_id' IS task_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer'))
) STRICT;

CREATE TABLE colony_research_artifacts (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    artifact_id    TEXT NOT NULL,
    task_id        TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, artifact_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'research_artifact'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.artifact_id' IS artifact_id
        AND payload ->> '$.task_id' IS task_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

CREATE TABLE colony_librarian_passes (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    pass_id        TEXT NOT NULL,
    task_id        TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, pass_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'librarian_pass'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.pass_id' IS pass_id
        AND payload ->> '$.task_id' IS task_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

CREATE TABLE colony_worker_results (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    result_id      TEXT NOT NULL,
    task_id        TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    confidence     REAL GENERATED ALWAYS AS (payload ->> '$.confidence') VIRTUAL,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, result_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'worker_result'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.result_id' IS result_id
        AND payload ->> '$.task_id' IS task_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT confidence_is_in_range CHECK (schema_version = 'v0' OR
        (confidence IS NOT NULL AND confidence BETWEEN 0 AND 1))
) STRICT;

CREATE TABLE colony_aggregation_packets (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    packet_id      TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, packet_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'aggregation_packet'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.packet_id' IS packet_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

CREATE TABLE colony_review_packets (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    packet_id      TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    review_status  TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.review_status') VIRTUAL,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, packet_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'review_packet'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.packet_id' IS packet_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT status_is_known CHECK (review_status IN ('approved', 'approved_with_edits', 'rejected')
        OR (schema_version = 'v0' AND review_status = 'needs_edits')),
    CONSTRAINT a_rejected_review_has_no_output CHECK (schema_version = 'v0'
        OR (review_status = 'rejected') = (payload -> '$.approved_output' IS NULL)),
    CONSTRAINT one_review UNIQUE (tenant_id, mission_id)
) STRICT;

CREATE TABLE colony_policy_decisions (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    decision_id    TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    decision_type  TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.decision_type') VIRTUAL,
    subject        TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.subject') VIRTUAL,
    decision       TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.decision') VIRTUAL,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, decision_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'policy_decision'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.decision_id' IS decision_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT decision_is_known CHECK (decision IN ('allow', 'deny'))
) STRICT;

CREATE TABLE colony_writeback_proposals (
    tenant_id          TEXT NOT NULL,
    mission_id         TEXT NOT NULL,
    proposal_id        TEXT NOT NULL,
    actor_id           TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    target_entity_type TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.target_entity_type') VIRTUAL,
    target_entity_id   TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.target_entity_id') VIRTUAL,
    action_type        TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.action_type') VIRTUAL,
    place              INTEGER NOT NULL,
    event              INTEGER NOT NULL,
    schema_version     TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    producer           TEXT NOT NULL,
    payload            TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, proposal_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'writeback_proposal'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.proposal_id' IS proposal_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

CREATE TRIGGER colony_task_graphs_are_never_changed BEFORE UPDATE ON colony_task_graphs
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_task_graphs_go_with_their_mission BEFORE DELETE ON colony_task_graphs
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_tasks_are_never_changed BEFORE UPDATE ON colony_tasks
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_tasks_go_with_their_mission BEFORE DELETE ON colony_tasks
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_prompt_packages_are_never_changed BEFORE UPDATE ON colony_prompt_packages
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_prompt_packages_go_with_their_mission BEFORE DELETE ON colony_prompt_packages
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_research_artifacts_are_never_changed BEFORE UPDATE ON colony_research_artifacts
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_research_artifacts_go_with_their_mission BEFORE DELETE ON colony_research_artifacts
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_librarian_passes_are_never_changed BEFORE UPDATE ON colony_librarian_passes
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_librarian_passes_go_with_their_mission BEFORE DELETE ON colony_librarian_passes
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_worker_results_are_never_changed BEFORE UPDATE ON colony_worker_results
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_worker_results_go_with_their_mission BEFORE DELETE ON colony_worker_results
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_aggregation_packets_are_never_changed BEFORE UPDATE ON colony_aggregation_packets
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_aggregation_packets_go_with_their_mission BEFORE DELETE ON colony_aggregation_packets
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_review_packets_are_never_changed BEFORE UPDATE ON colony_review_packets
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_review_packets_go_with_their_mission BEFORE DELETE ON colony_review_packets
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_policy_decisions_are_never_changed BEFORE UPDATE ON colony_policy_decisions
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_policy_decisions_go_with_their_mission BEFORE DELETE ON colony_policy_decisions
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_writeback_proposals_are_never_changed BEFORE UPDATE ON colony_writeback_proposals
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_writeback_proposals_go_with_their_mission BEFORE DELETE ON colony_writeback_proposals
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;

-- The artifacts of all missions, in one form.
CREATE VIEW colony_artifacts
    (tenant_id, mission_id, kind, artifact_id, task_id, place, event, schema_version, created_at,
     producer, payload) AS
SELECT tenant_id, mission_id, 'mission_envelope', mission_id, NULL, 1, event,
       schema_version, created_at, producer, payload
FROM colony_missions
UNION ALL
SELECT tenant_id, mission_id, 'mission_task_graph', mission_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_task_graphs
UNION ALL
SELECT tenant_id, mission_id, 'prompt_package', package_id, task_id, place, event,
       schema_version, created_at, producer, payload
FROM colony_prompt_packages
UNION ALL
SELECT tenant_id, mission_id, 'research_artifact', artifact_id, task_id, place, event,
       schema_version, created_at, producer, payload
FROM colony_research_artifacts
UNION ALL
SELECT tenant_id, mission_id, 'librarian_pass', pass_id, task_id, place, event,
       schema_version, created_at, producer, payload
FROM colony_librarian_passes
UNION ALL
SELECT tenant_id, mission_id, 'worker_result', result_id, task_id, place, event,
       schema_version, created_at, producer, payload
FROM colony_worker_results
UNION ALL
SELECT tenant_id, mission_id, 'aggregation_packet', packet_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_aggregation_packets
UNION ALL
SELECT tenant_id, mission_id, 'review_packet', packet_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_review_packets
UNION ALL
SELECT tenant_id, mission_id, 'policy_decision', decision_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_policy_decisions
UNION ALL
SELECT tenant_id, mission_id, 'writeback_proposal', proposal_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_writeback_proposals;

-- Tags ---------------------------------------------------------------------------------------------

-- Tasks of missions that outside agents may claim. The lease ends at `expires_at`.
CREATE TABLE mission_assignment (
    tenant_id     TEXT NOT NULL,
    assignment_id TEXT NOT NULL,
    mission_id    TEXT NOT NULL,
    role_type     TEXT NOT NULL,
    task_id       TEXT,
    turn          INTEGER NOT NULL,
    agents        TEXT NOT NULL,
    brief         TEXT NOT NULL,
    offered_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    state         TEXT NOT NULL,
    lease_id      TEXT,
    holder        TEXT,
    makers        TEXT,
    submission    TEXT,
    refusal       TEXT,
    submissions   INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, assignment_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    CONSTRAINT state_is_known CHECK (state IN ('offered', 'claimed', 'submitted', 'accepted', 'closed')),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer')),
    CONSTRAINT a_lease_has_a_holder CHECK ((lease_id IS NULL) = (holder IS NULL)
        AND (lease_id IS NULL) = (makers IS NULL))
) STRICT;
CREATE INDEX mission_assignment_by_time ON mission_assignment (tenant_id, offered_at, assignment_id);
CREATE INDEX mission_assignment_by_mission ON mission_assignment (tenant_id, mission_id, offered_at, assignment_id);

CREATE TABLE tag (
    tenant_id  TEXT NOT NULL,
    request_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (tenant_id, request_id)
) STRICT;
CREATE INDEX tag_by_expiry ON tag (expires_at);

-- Content of tool results --------------------------------------------------------------------------

CREATE TABLE tool_content (
    tenant_id  TEXT NOT NULL,
    digest     TEXT NOT NULL,
    media_type TEXT NOT NULL,
    kept_at    INTEGER NOT NULL,
    bytes      BLOB NOT NULL,
    PRIMARY KEY (tenant_id, digest)
) STRICT;
CREATE INDEX tool_content_by_time ON tool_content (kept_at);
