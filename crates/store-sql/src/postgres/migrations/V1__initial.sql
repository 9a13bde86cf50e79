-- The whole schema, with a section for each noun. The schema of SQLite has the same sections, tables, columns, keys,
-- indexes, checks and triggers. The parts that only this engine has are marked "PostgreSQL only".

-- Conventions --------------------------------------------------------------------------------------
--
-- Keys lead with the tenant or the scope, so that the tables can be distributed by tenant. Tables without a tenant have
-- a comment. A scope is '' for global rows, or the tenant's id. Times are microseconds since the Unix epoch, UTC.
-- Hashes are 32 raw bytes. Bodies and payloads are JSON, kept as the text that was written. Texts are compared by their
-- bytes, whatever the database's language.

-- PostgreSQL only: raises the error of a trigger that refuses a change.
CREATE FUNCTION charter_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Layout -------------------------------------------------------------------------------------------

-- Without a tenant: one row. The number of the layout is that of the newest migration in `refinery_schema_history`.
-- Each later migration updates the row: `oldest_reader` is the oldest layout whose builds may open the database, and
-- `charter` the first version of Charter with the layout.
CREATE TABLE layout (
    only_row      integer PRIMARY KEY CHECK (only_row = 1),
    oldest_reader bigint NOT NULL,
    charter       text NOT NULL
);
INSERT INTO layout (only_row, oldest_reader, charter) VALUES (1, 1, '0.1.0');

-- Packages and documents ---------------------------------------------------------------------------

-- Without a tenant: one row, which every registration locks.
CREATE TABLE catalogue (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    revision bigint NOT NULL
);
INSERT INTO catalogue (only_row, revision) VALUES (1, 0);

-- The history of every package; a revision is one change of one package.
CREATE TABLE package_change (
    scope        text COLLATE "C" NOT NULL,
    revision     bigint NOT NULL,
    package      text COLLATE "C" NOT NULL,
    version      text NOT NULL,
    content_hash bytea NOT NULL,
    change       text NOT NULL CHECK (change IN ('registered', 'rolled_back', 'unregistered')),
    documents    bigint NOT NULL,
    actor        text NOT NULL,
    at           bigint NOT NULL,
    PRIMARY KEY (scope, revision)
);
CREATE INDEX package_change_by_package ON package_change (scope, package, revision);

-- The active packages.
CREATE TABLE package (
    scope    text COLLATE "C" NOT NULL,
    package  text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    PRIMARY KEY (scope, package),
    FOREIGN KEY (scope, revision) REFERENCES package_change
);

-- Every version that was ever registered, with the hash of its stored files.
CREATE TABLE package_version (
    scope        text COLLATE "C" NOT NULL,
    package      text COLLATE "C" NOT NULL,
    version      text COLLATE "C" NOT NULL,
    content_hash bytea NOT NULL,
    PRIMARY KEY (scope, package, version)
);

CREATE TABLE package_file (
    scope   text COLLATE "C" NOT NULL,
    package text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    path    text COLLATE "C" NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (scope, package, version, path),
    FOREIGN KEY (scope, package, version) REFERENCES package_version ON DELETE CASCADE
);

-- The active documents; a process reads all of them when it starts.
CREATE TABLE document (
    scope           text COLLATE "C" NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    package         text COLLATE "C" NOT NULL,
    package_version text NOT NULL,
    content_hash    bytea NOT NULL,
    created_at      bigint NOT NULL,
    updated_at      bigint NOT NULL,
    body            text NOT NULL,
    PRIMARY KEY (scope, kind, id)
);
CREATE INDEX document_by_package ON document (scope, package);

CREATE TABLE document_change (
    scope           text COLLATE "C" NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    revision        bigint NOT NULL,
    package_version text NOT NULL,
    change          text NOT NULL CHECK (change IN ('registered', 'rolled_back', 'unregistered')),
    content_hash    bytea NOT NULL,
    at              bigint NOT NULL,
    body            text NOT NULL,
    PRIMARY KEY (scope, kind, id, revision),
    FOREIGN KEY (scope, revision) REFERENCES package_change
);

-- Agent skills -------------------------------------------------------------------------------------

-- Without a tenant: one row, which every write locks.
CREATE TABLE agent_skill_index (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    revision bigint NOT NULL,
    model    text,
    dims     bigint,
    CHECK ((model IS NULL) = (dims IS NULL))
);
INSERT INTO agent_skill_index (only_row, revision) VALUES (1, 0);

-- The part of a skill that discovery and navigation read. Instructions and files have their own tables.
CREATE TABLE agent_skill (
    scope      text COLLATE "C" NOT NULL,
    skill_id   text COLLATE "C" NOT NULL,
    summary    text NOT NULL,
    is_folder  boolean NOT NULL,
    sub_skills text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (scope, skill_id)
);

CREATE TABLE agent_skill_vector (
    scope        text COLLATE "C" NOT NULL,
    skill_id     text COLLATE "C" NOT NULL,
    origin       text NOT NULL CHECK (origin IN ('embedded', 'supplied')),
    summary_hash bytea NOT NULL,
    bytes        bytea NOT NULL,
    PRIMARY KEY (scope, skill_id),
    FOREIGN KEY (scope, skill_id) REFERENCES agent_skill ON DELETE CASCADE
);

CREATE TABLE agent_skill_instruction (
    scope       text COLLATE "C" NOT NULL,
    skill_id    text COLLATE "C" NOT NULL,
    instruction text NOT NULL,
    PRIMARY KEY (scope, skill_id),
    FOREIGN KEY (scope, skill_id) REFERENCES agent_skill ON DELETE CASCADE
);

-- Files by the hash of their content, so that a scope stores equal content once.
CREATE TABLE agent_skill_content (
    scope   text COLLATE "C" NOT NULL,
    sha256  bytea NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (scope, sha256)
);

CREATE TABLE agent_skill_file (
    scope      text COLLATE "C" NOT NULL,
    skill_id   text COLLATE "C" NOT NULL,
    path       text COLLATE "C" NOT NULL,
    sha256     bytea NOT NULL,
    bytes      bigint NOT NULL,
    executable boolean NOT NULL,
    PRIMARY KEY (scope, skill_id, path),
    FOREIGN KEY (scope, skill_id) REFERENCES agent_skill ON DELETE CASCADE,
    FOREIGN KEY (scope, sha256) REFERENCES agent_skill_content
);
CREATE INDEX agent_skill_file_by_content ON agent_skill_file (scope, sha256);

-- Lenses and embeddings ----------------------------------------------------------------------------

-- Complete indexes of lenses.
CREATE TABLE lens_index (
    scope      text COLLATE "C" NOT NULL,
    lens_id    text COLLATE "C" NOT NULL,
    generation bigint GENERATED ALWAYS AS IDENTITY,
    body       text NOT NULL,
    PRIMARY KEY (scope, lens_id),
    UNIQUE (scope, generation)
);
-- PostgreSQL only: in SQLite the generation is the primary key.
CREATE INDEX lens_index_by_generation ON lens_index (generation);

CREATE TABLE lens_chunk (
    scope      text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    ordinal    bigint NOT NULL,
    text       text NOT NULL,
    place      text NOT NULL,
    vectors    bytea NOT NULL,
    parts      bigint NOT NULL CHECK (parts >= 0), -- the number of vectors
    PRIMARY KEY (scope, generation, ordinal),
    FOREIGN KEY (scope, generation) REFERENCES lens_index (scope, generation) ON DELETE CASCADE
);

-- Without a tenant: a vector depends only on model and text. Not named `vector`, which is a type of pgvector.
CREATE TABLE embedding (
    model     text COLLATE "C" NOT NULL,
    text_hash bytea NOT NULL,
    bytes     bytea NOT NULL,
    PRIMARY KEY (model, text_hash)
);

-- Route examples and calibration -------------------------------------------------------------------

-- Redacted sentences that were confirmed as routed correctly. Owners accept or reject them as examples of a document.
-- Decided rows are kept, so that a rejected sentence is not suggested again.
CREATE TABLE route_example (
    tenant_id    text COLLATE "C" NOT NULL,
    example_id   text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL CHECK (kind IN ('skill', 'playbook')),
    document     text COLLATE "C" NOT NULL,
    text         text NOT NULL,
    words        text COLLATE "C" NOT NULL,
    source       text NOT NULL,
    request_id   text COLLATE "C",
    status       text COLLATE "C" NOT NULL CHECK (status IN ('suggested', 'accepted', 'rejected', 'withdrawn')),
    suggested_at bigint NOT NULL,
    decided_at   bigint,
    decided_by   text COLLATE "C",
    PRIMARY KEY (tenant_id, example_id),
    UNIQUE (tenant_id, document, kind, words),
    CHECK ((status = 'suggested') = (decided_at IS NULL)),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL))
);
CREATE INDEX route_example_by_time ON route_example (tenant_id, suggested_at, example_id);
CREATE INDEX route_example_by_status ON route_example (tenant_id, status, suggested_at, example_id);
CREATE INDEX route_example_by_document ON route_example (tenant_id, document, suggested_at, example_id);
CREATE INDEX route_example_in_force ON route_example (tenant_id, kind, document, suggested_at, example_id)
    WHERE status = 'accepted';

CREATE TRIGGER route_example_moves_forward BEFORE UPDATE ON route_example FOR EACH ROW
WHEN (NOT ((OLD.status = 'suggested' AND NEW.status IN ('accepted', 'rejected'))
        OR (OLD.status = 'accepted' AND NEW.status = 'withdrawn'))
   OR (NEW.tenant_id, NEW.example_id, NEW.kind, NEW.document, NEW.text, NEW.words, NEW.source, NEW.suggested_at)
   <> (OLD.tenant_id, OLD.example_id, OLD.kind, OLD.document, OLD.text, OLD.words, OLD.source, OLD.suggested_at)
   OR NEW.request_id IS DISTINCT FROM OLD.request_id)
EXECUTE FUNCTION charter_refuse('a route example is decided once and its sentence never changes');

-- Without a tenant: the calibration of a model.
CREATE TABLE calibration (
    model text COLLATE "C" PRIMARY KEY,
    at    bigint NOT NULL,
    body  text NOT NULL
);

-- Schedules ----------------------------------------------------------------------------------------

-- Enabled schedules and triggers, as they were enabled, each with the rights of its user.
CREATE TABLE schedule (
    tenant_id   text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    definition  text NOT NULL,
    identity    text NOT NULL,
    cause       text COLLATE "C" NOT NULL CHECK (cause IN ('time', 'webhook', 'finding')),
    state       text COLLATE "C" NOT NULL CHECK (state IN ('active', 'paused')),
    hook_id     text COLLATE "C",
    hook_secret text,
    -- Random text, from which the ids of its work follow.
    id_secret   text NOT NULL,
    enabled_at  bigint NOT NULL,
    next_at     bigint,
    version     bigint NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id),
    CHECK ((hook_id IS NULL) = (hook_secret IS NULL)),
    CHECK ((cause = 'webhook') = (hook_id IS NOT NULL))
);
CREATE INDEX schedule_by_time ON schedule (tenant_id, enabled_at, schedule_id);
CREATE INDEX schedule_by_user ON schedule (tenant_id, user_id, enabled_at, schedule_id);
-- An event does not name its tenant. The index is not unique because a unique key leads with the tenant.
CREATE INDEX schedule_by_hook ON schedule (hook_id) WHERE hook_id IS NOT NULL;
CREATE INDEX schedule_by_next ON schedule (next_at) WHERE state = 'active';
CREATE INDEX schedule_of_findings ON schedule (tenant_id, schedule_id) WHERE cause = 'finding' AND state = 'active';

-- Occurrences, by their time or the id of their event.
CREATE TABLE schedule_occurrence (
    tenant_id   text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    occurrence  text COLLATE "C" NOT NULL,
    due_at      bigint NOT NULL,
    start_at    bigint NOT NULL,
    state       text COLLATE "C" NOT NULL
        CHECK (state IN ('waiting', 'started', 'ended', 'skipped', 'missed', 'failed')),
    event       text,
    work        text,
    note        text,
    report      text,
    -- The report without its items, for listings.
    summary     text,
    -- Since when the state of its started work cannot be read.
    failing_since bigint,
    updated_at  bigint NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id, occurrence),
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES schedule ON DELETE CASCADE
);
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
    tenant_id    text COLLATE "C" NOT NULL,
    key_id       text COLLATE "C" NOT NULL,
    name         text NOT NULL,
    hash         bytea NOT NULL CHECK (length(hash) = 32),
    user_id      text COLLATE "C" NOT NULL,
    rights       text NOT NULL,
    created_by   text COLLATE "C" NOT NULL,
    -- A list of the users who made the key, directly or through keys that they made.
    makers       text NOT NULL,
    created_at   bigint NOT NULL,
    expires_at   bigint,
    last_used_at bigint,
    revoked_at   bigint,
    revoked_by   text COLLATE "C",
    rotated_from text COLLATE "C",
    PRIMARY KEY (tenant_id, key_id),
    -- A key is replaced by one other.
    UNIQUE (tenant_id, rotated_from),
    CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
-- A presented key does not name its tenant. The index is not unique because a unique key leads with the tenant; two
-- keys of 256 random bits do not collide.
CREATE INDEX api_key_by_hash ON api_key (hash);
CREATE INDEX api_key_by_time ON api_key (tenant_id, created_at, key_id);
-- Whether any key is valid, when most have ended.
CREATE INDEX api_key_not_revoked ON api_key (expires_at) WHERE revoked_at IS NULL;

CREATE TRIGGER api_key_stays_what_it_is BEFORE UPDATE ON api_key FOR EACH ROW
WHEN ((NEW.tenant_id, NEW.key_id, NEW.name, NEW.hash, NEW.user_id, NEW.rights, NEW.created_by, NEW.makers,
       NEW.created_at)
   <> (OLD.tenant_id, OLD.key_id, OLD.name, OLD.hash, OLD.user_id, OLD.rights, OLD.created_by, OLD.makers,
       OLD.created_at)
   OR NEW.rotated_from IS DISTINCT FROM OLD.rotated_from)
EXECUTE FUNCTION charter_refuse('a key stays what it was made');
CREATE TRIGGER api_key_ends_for_good BEFORE UPDATE ON api_key FOR EACH ROW
WHEN ((OLD.revoked_at IS NOT NULL
       AND (NEW.revoked_at IS DISTINCT FROM OLD.revoked_at OR NEW.revoked_by IS DISTINCT FROM OLD.revoked_by))
   OR (OLD.expires_at IS NOT NULL AND (NEW.expires_at IS NULL OR NEW.expires_at > OLD.expires_at)))
EXECUTE FUNCTION charter_refuse('a key that ends is not given more time');

-- The erasure of a tenant also deletes its evidence and memories. The transaction names the tenant in the setting
-- `charter.erasing`. The tree of the evidence log stays.
CREATE FUNCTION charter_refuse_but_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.tenant_id = current_setting('charter.erasing', true) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Connected accounts -------------------------------------------------------------------------------

-- What a user granted at another system, sealed with the key `key_id`, which the database does not hold.
CREATE TABLE connected_account (
    tenant_id    text COLLATE "C" NOT NULL,
    credential   text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    key_id       text COLLATE "C" NOT NULL,
    sealed       bytea NOT NULL,
    connected_at bigint NOT NULL,
    changed_at   bigint NOT NULL,
    expires_at   bigint,
    version      bigint NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, user_id, credential)
);
CREATE INDEX connected_account_by_time ON connected_account (tenant_id, credential, connected_at, user_id);
CREATE INDEX connected_account_by_key ON connected_account (key_id);

-- Console sessions ---------------------------------------------------------------------------------

-- Users who signed in to the console, by the SHA-256 of their session's id; sealed as a connected account is.
CREATE TABLE console_session (
    tenant_id  text COLLATE "C" NOT NULL,
    hash       bytea NOT NULL CHECK (length(hash) = 32),
    user_id    text COLLATE "C" NOT NULL,
    key_id     text COLLATE "C" NOT NULL,
    sealed     bytea NOT NULL,
    created_at bigint NOT NULL,
    ends_at    bigint NOT NULL,
    expires_at bigint NOT NULL,
    version    bigint NOT NULL CHECK (version > 0),
    PRIMARY KEY (tenant_id, hash)
);
-- A presented session does not name its tenant.
CREATE INDEX console_session_by_hash ON console_session (hash);
CREATE INDEX console_session_by_user ON console_session (tenant_id, user_id, created_at);
CREATE INDEX console_session_by_end ON console_session (ends_at);

-- Sessions -----------------------------------------------------------------------------------------

CREATE TABLE session (
    tenant_id  text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    user_id    text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, session_id)
);
CREATE INDEX session_by_expiry ON session (expires_at);

-- A turn keeps its position when its answer is added.
CREATE TABLE turn (
    tenant_id  text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    position   bigint GENERATED ALWAYS AS IDENTITY,
    at         bigint NOT NULL,
    input      text NOT NULL,
    output     text,
    PRIMARY KEY (tenant_id, session_id, request_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES session ON DELETE CASCADE
);
CREATE INDEX turn_by_session ON turn (tenant_id, session_id, position);

-- Requests -----------------------------------------------------------------------------------------

-- `holder` is the process that answers an open request, and `held_until` the end of its claim. `run_id` is the run
-- whose end is the request's result, and `result` the response with the outcome of that run.
CREATE TABLE request (
    tenant_id  text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    asked      text NOT NULL,
    verdict    text,
    answer     text,
    run_id     text COLLATE "C",
    result     text,
    holder     text COLLATE "C",
    held_until bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX request_answered ON request (updated_at) WHERE answer IS NOT NULL;
CREATE INDEX request_open ON request (created_at) WHERE answer IS NULL;
CREATE INDEX request_held ON request (holder) WHERE answer IS NULL;
CREATE INDEX request_awaiting ON request (tenant_id, run_id) WHERE run_id IS NOT NULL AND result IS NULL;
CREATE INDEX request_by_user ON request (tenant_id, user_id, created_at, request_id);
CREATE INDEX request_by_tenant ON request (tenant_id, created_at, request_id);

-- Runs, journal and leases -------------------------------------------------------------------------

-- `user_id` is the owner: the user who started the run, or the owner of the run that it rolls back; '' if unknown.
-- `finished_at` exists for an index: no index has a column that each step of a run changes. So a step leaves the
-- indexes alone, and its row is written to the same page.
CREATE TABLE run (
    tenant_id   text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    title       text NOT NULL,
    phase       text NOT NULL CHECK (phase IN ('runnable', 'waiting', 'finished')),
    status      text NOT NULL,
    wake_at     bigint,
    version     bigint NOT NULL,
    last_hash   bytea NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    finished_at bigint GENERATED ALWAYS AS (CASE WHEN phase = 'finished' THEN updated_at END) STORED,
    PRIMARY KEY (tenant_id, run_id)
) WITH (fillfactor = 70);
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

CREATE TRIGGER run_finished_is_final BEFORE UPDATE ON run FOR EACH ROW
WHEN (OLD.phase = 'finished')
EXECUTE FUNCTION charter_refuse('a finished run takes no more events');
CREATE TRIGGER run_deleted_only_when_finished BEFORE DELETE ON run FOR EACH ROW
WHEN (OLD.phase <> 'finished')
EXECUTE FUNCTION charter_refuse('a run is deleted only when it is finished');

-- The tenant of a run. Journals and leases are found by the id of a run alone, so it is unique among all tenants. This
-- is the only key of runs that does not lead with the tenant.
CREATE TABLE run_tenant (
    run_id    text COLLATE "C" PRIMARY KEY,
    tenant_id text COLLATE "C" NOT NULL
);

-- The payload is text because the hashes of the chain are over these bytes.
CREATE TABLE journal_event (
    tenant_id text COLLATE "C" NOT NULL,
    run_id    text COLLATE "C" NOT NULL,
    sequence  bigint NOT NULL,
    at        bigint NOT NULL,
    hash      bytea NOT NULL,
    payload   text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, sequence),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE
);

-- PostgreSQL only: raises the error of a trigger that refuses to delete a part of a run. A cascade has removed the run
-- when the trigger fires.
CREATE FUNCTION charter_goes_with_its_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM run WHERE tenant_id = OLD.tenant_id AND run_id = OLD.run_id) THEN
        RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END $$;

CREATE TRIGGER journal_event_is_immutable BEFORE UPDATE ON journal_event FOR EACH ROW
EXECUTE FUNCTION charter_refuse('a journal event is never changed');
CREATE TRIGGER journal_event_goes_with_its_run BEFORE DELETE ON journal_event FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_run('a journal event is deleted only together with its run');
CREATE TRIGGER journal_event_is_not_emptied BEFORE TRUNCATE ON journal_event FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('a journal event is deleted only together with its run');

-- Without a tenant: a leased resource need not have one. A released lease keeps its row, so that its fence never
-- decreases.
CREATE TABLE lease (
    resource   text COLLATE "C" PRIMARY KEY,
    holder     text COLLATE "C",
    fence      bigint NOT NULL,
    expires_at bigint NOT NULL
);

-- Approvals ----------------------------------------------------------------------------------------

-- `user_id` is the owner of the run.
CREATE TABLE approval (
    tenant_id    text COLLATE "C" NOT NULL,
    approval_id  text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    state        text NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'consumed', 'lapsed')),
    requested_at bigint NOT NULL,
    expires_at   bigint NOT NULL,
    body         text NOT NULL,
    PRIMARY KEY (tenant_id, approval_id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE
);
CREATE INDEX approval_by_tenant ON approval (tenant_id, requested_at, approval_id);
CREATE INDEX approval_by_state ON approval (tenant_id, state, requested_at, approval_id);
CREATE INDEX approval_by_user ON approval (tenant_id, user_id, requested_at, approval_id);
CREATE INDEX approval_by_run ON approval (tenant_id, run_id);

-- A pending approval may go to the next group of approvers.
CREATE TRIGGER approval_moves_forward BEFORE UPDATE ON approval FOR EACH ROW
WHEN (NOT ((OLD.state = 'pending' AND NEW.state IN ('pending', 'approved', 'rejected', 'lapsed'))
        OR (OLD.state = 'approved' AND NEW.state IN ('consumed', 'lapsed')))
   OR (NEW.tenant_id, NEW.approval_id, NEW.run_id, NEW.user_id, NEW.expires_at)
   <> (OLD.tenant_id, OLD.approval_id, OLD.run_id, OLD.user_id, OLD.expires_at))
EXECUTE FUNCTION charter_refuse('an approval is decided once and used once');

-- The calls for which runs request approval, or wait to. `awaits` is the run that the row's run waits for.
CREATE TABLE approval_call (
    tenant_id   text COLLATE "C" NOT NULL,
    call_digest text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    approval_id text COLLATE "C" NOT NULL,
    place       bigint NOT NULL,
    awaits      text COLLATE "C",
    PRIMARY KEY (tenant_id, call_digest, run_id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE
);
CREATE INDEX approval_call_by_run ON approval_call (tenant_id, run_id);
CREATE INDEX approval_call_by_awaited ON approval_call (tenant_id, awaits) WHERE awaits IS NOT NULL;

-- The place of the last registration of calls. Its row is locked by each registration, so that they follow one another.
CREATE TABLE approval_call_place (
    tenant_id  text COLLATE "C" PRIMARY KEY,
    last_place bigint NOT NULL
);

-- Outbox and events --------------------------------------------------------------------------------

-- The tenant is '' for messages about the whole server. The user is the one that a message is about, NULL for a message
-- to the whole tenant.
--
-- PostgreSQL only: `entry` and the first two indexes. A message gets its number when it is first read, after its
-- transaction has ended. Numbers that writers assign could become visible in another order.
CREATE TABLE outbox (
    tenant_id  text COLLATE "C" NOT NULL,
    entry      bigint GENERATED ALWAYS AS IDENTITY,
    message_id bigint,
    user_id    text COLLATE "C",
    topic      text NOT NULL,
    at         bigint NOT NULL,
    payload    text NOT NULL,
    PRIMARY KEY (tenant_id, entry)
);
CREATE INDEX outbox_by_number ON outbox (message_id);
CREATE INDEX outbox_unnumbered ON outbox (entry) WHERE message_id IS NULL;
CREATE INDEX outbox_by_tenant ON outbox (tenant_id, message_id);
CREATE INDEX outbox_by_time ON outbox (at);
-- Changes of the global catalogue, which every tenant gets, without the many messages between processes.
CREATE INDEX outbox_of_the_catalogue ON outbox (tenant_id, message_id) WHERE topic = 'catalogue.changed';

-- PostgreSQL only, without a tenant: the last assigned number. Readers that assign numbers lock the row; writers of
-- messages do not.
CREATE TABLE outbox_numbers (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    last     bigint NOT NULL
);
INSERT INTO outbox_numbers (only_row, last) VALUES (1, 0);

-- Group append: PostgreSQL only --------------------------------------------------------------------
--
-- Functions that write for several runs of one tenant in one statement. Their array parameters are lists, with an entry
-- for each run. A parameter that ends in `_of` has, for each entry of the lists after it, the position of its run, from
-- 1. They run with the caller's rights, and restrict the transaction to the tenant's rows.

-- Appends to journals. Returns for each run whether its append was written, and the state that decided: NULL for a run
-- that does not exist or that another transaction has locked. A refused append writes nothing. Runs in the order of
-- their ids are the fastest. `first_events` has the position of each append's first event in the lists of events, NULL
-- for an append without events; `is_chained` is whether the later ones chain from it.
--
-- To begin a statement costs as much as several rows. An empty list, which may be NULL, therefore causes no statement,
-- and one statement locks and reads a table. Statements find rows by the tenant and a list of ids, also in joins: a
-- plan that was made for a small table would otherwise read all rows of the tenant.
CREATE FUNCTION charter_append(
    of_tenant text,
    runs text[], expected_versions bigint[], held_fences bigint[],
    new_versions bigint[], new_hashes bytea[], new_times bigint[],
    new_statuses text[], new_phases text[], new_wakes bigint[], is_released boolean[], is_chained boolean[],
    first_events bigint[],
    event_of bigint[], event_runs text[], event_sequences bigint[], event_times bigint[],
    event_hashes bytea[], event_payloads text[],
    asked_of bigint[], asked_runs text[], asked_ids text[], asked_states text[],
    asked_times bigint[], asked_ends bigint[], asked_bodies text[],
    moved_of bigint[], moved_runs text[], moved_ids text[], moved_from text[], moved_expected text[], moved_to text[],
    moved_bodies text[],
    awaited_of bigint[], awaited_runs text[], awaited_ids text[],
    message_of bigint[], message_tenants text[], message_topics text[], message_times bigint[],
    message_payloads text[], message_users text[],
    OUT is_written boolean[],
    OUT found_versions bigint[], OUT found_phases text[], OUT found_hashes bytea[], OUT found_fences bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
    setting text;
    locked_runs text[];
    leased_runs text[];
    refused bigint[];
    refused_of bigint;
    changed bigint;
BEGIN
    IF of_tenant IN ('', '*') THEN
        RAISE EXCEPTION 'an append names its tenant' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    setting := set_config('charter.tenant', of_tenant, true);

    -- In one order, runs before leases, as every writer of runs. A locked row is read as it was committed last.
    SELECT coalesce(array_agg(free.run_id), '{}'), array_agg(free.version), array_agg(free.phase),
           array_agg(free.last_hash)
    INTO locked_runs, found_versions, found_phases, found_hashes
    FROM (SELECT run.run_id, run.version, run.phase, run.last_hash FROM run
          WHERE run.tenant_id = of_tenant AND run.run_id = ANY (runs)
          ORDER BY run.run_id FOR UPDATE SKIP LOCKED) AS free;
    -- A row that does not exist cannot be locked.
    IF 0 = ANY (held_fences) THEN
        INSERT INTO lease (resource, holder, fence, expires_at)
        SELECT one.run_id, NULL, 0, 0 FROM unnest(runs, held_fences) AS one (run_id, held)
        WHERE one.held = 0 AND one.run_id = ANY (locked_runs)
        ORDER BY one.run_id COLLATE "C" ON CONFLICT DO NOTHING;
    END IF;
    SELECT coalesce(array_agg(held.resource), '{}'), array_agg(held.fence) INTO leased_runs, found_fences
    FROM (SELECT lease.resource, lease.fence FROM lease
          WHERE lease.resource = ANY (locked_runs) ORDER BY lease.resource FOR UPDATE) AS held;
    -- Moves the state of each run to the run's position, unless all are there.
    IF locked_runs <> runs OR leased_runs <> runs THEN
        SELECT array_agg(found_versions[one.locked]), array_agg(found_phases[one.locked]),
               array_agg(found_hashes[one.locked]), array_agg(coalesce(found_fences[one.leased], 0))
        INTO found_versions, found_phases, found_hashes, found_fences
        FROM (SELECT array_position(locked_runs, one.run_id) AS locked,
                     array_position(leased_runs, one.run_id) AS leased
              FROM unnest(runs) WITH ORDINALITY AS one (run_id, nth) ORDER BY one.nth) AS one;
    END IF;
    FOR nth IN 1..cardinality(runs) LOOP
        is_written := is_written || coalesce(
            found_fences[nth] = held_fences[nth] AND found_versions[nth] = expected_versions[nth]
            AND found_phases[nth] <> 'finished' AND is_chained[nth]
            AND event_hashes[first_events[nth]] = sha256(
                found_hashes[nth] || int8send(expected_versions[nth] + 1)
                || convert_to(event_payloads[first_events[nth]], 'UTF8')),
            false);
    END LOOP;

    IF cardinality(asked_of) > 0 OR cardinality(moved_of) > 0 THEN
        refused := ARRAY(
            SELECT asked.nth FROM unnest(asked_of, asked_ids) AS asked (nth, id)
            WHERE EXISTS (SELECT FROM approval
                          WHERE approval.tenant_id = of_tenant AND approval.approval_id = ANY (asked_ids)
                            AND approval.approval_id = asked.id)
            UNION ALL
            SELECT moved.nth
            FROM unnest(moved_of, moved_runs, moved_ids, moved_from, moved_expected)
                 AS moved (nth, run_id, id, state, expected)
            WHERE NOT EXISTS (SELECT FROM approval
                              WHERE approval.tenant_id = of_tenant AND approval.approval_id = ANY (moved_ids)
                                AND approval.approval_id = moved.id AND approval.state = moved.state
                                AND approval.run_id = moved.run_id
                                AND approval.body = coalesce(moved.expected, approval.body)));
        FOREACH refused_of IN ARRAY refused LOOP
            is_written[refused_of] := false;
        END LOOP;
    END IF;

    INSERT INTO journal_event (tenant_id, run_id, sequence, at, hash, payload)
    SELECT of_tenant, event_runs[place], event_sequences[place], event_times[place], event_hashes[place],
           event_payloads[place]
    FROM generate_subscripts(event_of, 1) AS place WHERE is_written[event_of[place]];
    UPDATE run SET (version, last_hash, updated_at, status, wake_at, phase) = (
        SELECT new_versions[one.nth], new_hashes[one.nth], new_times[one.nth], new_statuses[one.nth],
               new_wakes[one.nth], new_phases[one.nth]
        FROM (SELECT array_position(runs, run.run_id) AS nth OFFSET 0) AS one)
    WHERE run.tenant_id = of_tenant AND run.run_id = ANY (runs) AND is_written[array_position(runs, run.run_id)];

    IF cardinality(asked_of) > 0 THEN
        INSERT INTO approval (tenant_id, approval_id, run_id, user_id, state, requested_at, expires_at, body)
        SELECT of_tenant, asked.id, asked.run_id,
               coalesce((SELECT run.user_id FROM run
                         WHERE run.tenant_id = of_tenant AND run.run_id = asked.run_id), ''),
               asked.state, asked.moment, asked.ends, asked.body
        FROM unnest(asked_of, asked_runs, asked_ids, asked_states, asked_times, asked_ends, asked_bodies)
             AS asked (nth, run_id, id, state, moment, ends, body)
        WHERE is_written[asked.nth];
    END IF;
    IF cardinality(moved_of) > 0 THEN
        UPDATE approval SET state = moved.next_state, body = moved.body
        FROM unnest(moved_of, moved_runs, moved_ids, moved_from, moved_expected, moved_to, moved_bodies)
             AS moved (nth, run_id, id, state, expected, next_state, body)
        WHERE is_written[moved.nth] AND approval.tenant_id = of_tenant AND approval.approval_id = ANY (moved_ids)
          AND approval.approval_id = moved.id AND approval.state = moved.state AND approval.run_id = moved.run_id
          AND approval.body = coalesce(moved.expected, approval.body);
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed <> (SELECT count(*) FROM unnest(moved_of) AS moved (nth) WHERE is_written[moved.nth]) THEN
            RAISE EXCEPTION 'an approval was changed concurrently' USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;
    IF cardinality(awaited_of) > 0 THEN
        UPDATE run SET phase = 'runnable', wake_at = NULL,
                       status = CASE run.status WHEN 'paused' THEN run.status ELSE 'working' END
        FROM (SELECT DISTINCT awaited.run_id
              FROM unnest(awaited_of, awaited_runs, awaited_ids) AS awaited (nth, run_id, id)
              JOIN approval ON approval.tenant_id = of_tenant AND approval.approval_id = ANY (awaited_ids)
                   AND approval.approval_id = awaited.id AND approval.run_id = awaited.run_id
              WHERE is_written[awaited.nth] AND approval.state <> 'pending') AS decided
        WHERE run.tenant_id = of_tenant AND run.run_id = ANY (awaited_runs) AND run.run_id = decided.run_id
          AND run.phase = 'waiting';
    END IF;
    IF true = ANY (is_released) THEN
        UPDATE lease SET holder = NULL
        FROM unnest(runs, is_released, is_written) AS one (run_id, released, written)
        WHERE one.written AND one.released AND lease.resource = one.run_id;
    END IF;
    IF cardinality(message_of) > 0 THEN
        INSERT INTO outbox (tenant_id, topic, at, payload, user_id)
        SELECT message.tenant_id, message.topic, message.moment, message.payload, message.user_id
        FROM unnest(message_of, message_tenants, message_topics, message_times, message_payloads, message_users)
             WITH ORDINALITY AS message (nth, tenant_id, topic, moment, payload, user_id, place)
        WHERE is_written[message.nth] ORDER BY message.place;
    END IF;
END $$;

-- Creates runs with their leases. Returns for each run whether it was created; nothing is written for a run whose id is
-- used or leased.
CREATE FUNCTION charter_create_runs(
    of_tenant text,
    runs text[], users text[], titles text[], phases text[], statuses text[], wakes bigint[],
    versions bigint[], hashes bytea[], created_times bigint[], updated_times bigint[],
    holders text[], lease_ends bigint[], is_released boolean[],
    event_of bigint[], event_runs text[], event_sequences bigint[], event_times bigint[],
    event_hashes bytea[], event_payloads text[],
    asked_of bigint[], asked_runs text[], asked_ids text[], asked_states text[],
    asked_times bigint[], asked_ends bigint[], asked_bodies text[],
    message_of bigint[], message_tenants text[], message_topics text[], message_times bigint[],
    message_payloads text[], message_users text[],
    OUT is_created boolean[]
) LANGUAGE plpgsql AS $$
DECLARE
    added text[];
    refused bigint[];
BEGIN
    IF of_tenant IN ('', '*') THEN
        RAISE EXCEPTION 'a run names its tenant' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    PERFORM set_config('charter.tenant', of_tenant, true);

    refused := '{}';
    IF cardinality(asked_of) > 0 THEN
        refused := ARRAY(
            SELECT asked.nth FROM unnest(asked_of, asked_ids) AS asked (nth, id)
            WHERE EXISTS (SELECT FROM approval
                          WHERE approval.tenant_id = of_tenant AND approval.approval_id = ANY (asked_ids)
                            AND approval.approval_id = asked.id));
    END IF;
    WITH free AS (
        INSERT INTO run_tenant (run_id, tenant_id)
        SELECT one.run_id, of_tenant FROM unnest(runs) WITH ORDINALITY AS one (run_id, nth)
        WHERE one.nth <> ALL (refused) AND NOT EXISTS (SELECT FROM lease WHERE lease.resource = one.run_id)
        ORDER BY one.run_id COLLATE "C" ON CONFLICT DO NOTHING RETURNING run_tenant.run_id
    )
    SELECT coalesce(array_agg(free.run_id), '{}') INTO added FROM free;
    is_created := ARRAY(
        SELECT cardinality(added) = cardinality(runs) OR one.run_id = ANY (added)
        FROM unnest(runs) WITH ORDINALITY AS one (run_id, nth) ORDER BY one.nth);

    INSERT INTO run
        (tenant_id, run_id, user_id, title, phase, status, wake_at, version, last_hash, created_at, updated_at)
    SELECT of_tenant, one.run_id, one.user_id, one.title, one.phase, one.status, one.wake, one.version, one.hash,
           one.created, one.updated
    FROM unnest(runs, users, titles, phases, statuses, wakes, versions, hashes, created_times, updated_times,
                is_created)
         AS one (run_id, user_id, title, phase, status, wake, version, hash, created, updated, is_new)
    WHERE one.is_new;
    INSERT INTO lease (resource, holder, fence, expires_at)
    SELECT one.run_id, CASE WHEN one.released THEN NULL ELSE one.holder END, 1, one.ends
    FROM unnest(runs, holders, lease_ends, is_released, is_created) AS one (run_id, holder, ends, released, is_new)
    WHERE one.is_new;
    INSERT INTO journal_event (tenant_id, run_id, sequence, at, hash, payload)
    SELECT of_tenant, event.run_id, event.place, event.moment, event.hash, event.payload
    FROM unnest(event_of, event_runs, event_sequences, event_times, event_hashes, event_payloads)
         AS event (nth, run_id, place, moment, hash, payload)
    WHERE is_created[event.nth];
    IF cardinality(asked_of) > 0 THEN
        INSERT INTO approval (tenant_id, approval_id, run_id, user_id, state, requested_at, expires_at, body)
        SELECT of_tenant, asked.id, asked.run_id,
               coalesce((SELECT run.user_id FROM run
                         WHERE run.tenant_id = of_tenant AND run.run_id = asked.run_id), ''),
               asked.state, asked.moment, asked.ends, asked.body
        FROM unnest(asked_of, asked_runs, asked_ids, asked_states, asked_times, asked_ends, asked_bodies)
             AS asked (nth, run_id, id, state, moment, ends, body)
        WHERE is_created[asked.nth];
    END IF;
    IF cardinality(message_of) > 0 THEN
        INSERT INTO outbox (tenant_id, topic, at, payload, user_id)
        SELECT message.tenant_id, message.topic, message.moment, message.payload, message.user_id
        FROM unnest(message_of, message_tenants, message_topics, message_times, message_payloads, message_users)
             WITH ORDINALITY AS message (nth, tenant_id, topic, moment, payload, user_id, place)
        WHERE is_created[message.nth] ORDER BY message.place;
    END IF;
END $$;

-- Notifications ------------------------------------------------------------------------------------

-- Events for channels. `digest` is '' for a message of its own. `due_at` is the end of the claim while it is claimed.
CREATE TABLE notification (
    tenant_id       text COLLATE "C" NOT NULL,
    notification_id text COLLATE "C" NOT NULL,
    channel         text COLLATE "C" NOT NULL,
    topic           text NOT NULL,
    digest          text COLLATE "C" NOT NULL,
    state           text NOT NULL,
    created_at      bigint NOT NULL,
    due_at          bigint NOT NULL,
    attempts        bigint NOT NULL,
    message_id      text COLLATE "C",
    claimed_by      text COLLATE "C",
    settled_at      bigint,
    detail          text,
    body            text NOT NULL,
    PRIMARY KEY (tenant_id, notification_id),
    CONSTRAINT state_is_known CHECK (state IN ('pending', 'delivered', 'skipped', 'failed')),
    CONSTRAINT a_settled_one_has_a_time CHECK ((state = 'pending') = (settled_at IS NULL))
);
CREATE INDEX notification_due ON notification (due_at, tenant_id, notification_id) WHERE state = 'pending';
CREATE INDEX notification_by_digest ON notification (tenant_id, channel, digest, created_at, notification_id)
    WHERE state = 'pending';
CREATE INDEX notification_by_message ON notification (tenant_id, message_id);
CREATE INDEX notification_by_time ON notification (tenant_id, created_at, notification_id);
CREATE INDEX notification_settled ON notification (settled_at);

-- Without a tenant: the last message of the outbox whose notifications are written.
CREATE TABLE notification_position (
    only_row   integer PRIMARY KEY CHECK (only_row = 1),
    message_id bigint NOT NULL
);

-- Signatures of requests that count once.
CREATE TABLE used_signature (
    tenant_id  text COLLATE "C" NOT NULL,
    signature  text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, signature)
);
CREATE INDEX used_signature_by_expiry ON used_signature (expires_at);

-- Evidence and its log -----------------------------------------------------------------------------

-- The user is the owner of the run that captured the record, '' if there is none. It is kept here because runs are
-- swept and evidence is not. A removed payload leaves the time of its removal.
CREATE TABLE evidence (
    tenant_id          text COLLATE "C" NOT NULL,
    evidence_id        text COLLATE "C" NOT NULL,
    user_id            text COLLATE "C" NOT NULL,
    evidence_type      text COLLATE "C" NOT NULL,
    captured_at        bigint NOT NULL,
    system             text COLLATE "C" NOT NULL,
    native_id          text COLLATE "C" NOT NULL,
    body               text NOT NULL,
    payload            text,
    payload_salt       bytea,
    payload_removed_at bigint,
    PRIMARY KEY (tenant_id, evidence_id),
    CHECK ((payload IS NULL) = (payload_removed_at IS NOT NULL)
       AND (payload IS NULL) = (payload_salt IS NULL))
);
CREATE INDEX evidence_by_capture ON evidence (tenant_id, captured_at, evidence_id);
CREATE INDEX evidence_by_source ON evidence (tenant_id, system, native_id);
CREATE INDEX evidence_by_system ON evidence (tenant_id, system, captured_at, evidence_id);
CREATE INDEX evidence_by_type ON evidence (tenant_id, evidence_type, captured_at, evidence_id);
CREATE INDEX evidence_by_user ON evidence (tenant_id, user_id, captured_at, evidence_id);
CREATE INDEX evidence_with_payload ON evidence (captured_at) WHERE payload IS NOT NULL;

-- The only change of evidence: its payload is removed, once, and everything else stays.
CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence FOR EACH ROW
WHEN (NOT (
    OLD.payload IS NOT NULL AND NEW.payload IS NULL
    AND NEW.payload_salt IS NULL AND NEW.payload_removed_at IS NOT NULL
    AND (NEW.tenant_id, NEW.evidence_id, NEW.user_id, NEW.evidence_type, NEW.captured_at, NEW.system, NEW.native_id,
         NEW.body)
      = (OLD.tenant_id, OLD.evidence_id, OLD.user_id, OLD.evidence_type, OLD.captured_at, OLD.system, OLD.native_id,
         OLD.body)
))
EXECUTE FUNCTION charter_refuse('evidence is append-only');
CREATE TRIGGER evidence_is_never_deleted BEFORE DELETE ON evidence FOR EACH ROW
EXECUTE FUNCTION charter_refuse_but_erasure('evidence is append-only');
CREATE TRIGGER evidence_is_never_emptied BEFORE TRUNCATE ON evidence FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('evidence is append-only');

CREATE TABLE evidence_attachment (
    tenant_id   text COLLATE "C" NOT NULL,
    evidence_id text COLLATE "C" NOT NULL,
    target_kind text COLLATE "C" NOT NULL, -- a key of the contract, e.g. finding_id
    target_id   text COLLATE "C" NOT NULL,
    position    bigint GENERATED ALWAYS AS IDENTITY,
    at          bigint NOT NULL,
    PRIMARY KEY (tenant_id, evidence_id, target_kind, target_id),
    FOREIGN KEY (tenant_id, evidence_id) REFERENCES evidence
);
CREATE INDEX evidence_attachment_by_target
    ON evidence_attachment (tenant_id, target_kind, target_id, evidence_id);

CREATE TRIGGER evidence_attachment_is_never_changed BEFORE UPDATE ON evidence_attachment FOR EACH ROW
EXECUTE FUNCTION charter_refuse('evidence is append-only');
CREATE TRIGGER evidence_attachment_is_never_deleted BEFORE DELETE ON evidence_attachment FOR EACH ROW
EXECUTE FUNCTION charter_refuse_but_erasure('evidence is append-only');
CREATE TRIGGER evidence_attachment_is_never_emptied BEFORE TRUNCATE ON evidence_attachment FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('evidence is append-only');

-- The evidence log: a Merkle tree (RFC 6962) for each tenant. A writer locks the tenant's row here. Leaves and the
-- hashes of perfect subtrees are written with the record, attachment or removal that they describe.
CREATE TABLE evidence_log (
    tenant_id text COLLATE "C" PRIMARY KEY
);

CREATE TRIGGER evidence_log_is_never_changed BEFORE UPDATE ON evidence_log FOR EACH ROW
EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_log_is_never_deleted BEFORE DELETE ON evidence_log FOR EACH ROW
EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_log_is_never_emptied BEFORE TRUNCATE ON evidence_log FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('the evidence log is append-only');

CREATE TABLE evidence_leaf (
    tenant_id   text COLLATE "C" NOT NULL REFERENCES evidence_log,
    leaf_index  bigint NOT NULL,
    evidence_id text COLLATE "C" NOT NULL,
    leaf        text NOT NULL, -- the leaf's data, byte for byte
    PRIMARY KEY (tenant_id, leaf_index),
    FOREIGN KEY (tenant_id, evidence_id) REFERENCES evidence
);
CREATE INDEX evidence_leaf_by_record ON evidence_leaf (tenant_id, evidence_id, leaf_index);

CREATE TRIGGER evidence_leaf_is_never_changed BEFORE UPDATE ON evidence_leaf FOR EACH ROW
EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_leaf_is_never_deleted BEFORE DELETE ON evidence_leaf FOR EACH ROW
EXECUTE FUNCTION charter_refuse_but_erasure('the evidence log is append-only');
CREATE TRIGGER evidence_leaf_is_never_emptied BEFORE TRUNCATE ON evidence_leaf FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('the evidence log is append-only');

-- Level 0 has the hashes of the leaves; level n those of complete subtrees of 2^n leaves.
CREATE TABLE evidence_node (
    tenant_id  text COLLATE "C" NOT NULL REFERENCES evidence_log,
    level      bigint NOT NULL,
    node_index bigint NOT NULL,
    hash       bytea NOT NULL,
    PRIMARY KEY (tenant_id, level, node_index)
);

CREATE TRIGGER evidence_node_is_never_changed BEFORE UPDATE ON evidence_node FOR EACH ROW
EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_node_is_never_deleted BEFORE DELETE ON evidence_node FOR EACH ROW
EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_node_is_never_emptied BEFORE TRUNCATE ON evidence_node FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('the evidence log is append-only');

-- Signed and published checkpoints.
CREATE TABLE evidence_checkpoint (
    tenant_id text COLLATE "C" NOT NULL REFERENCES evidence_log,
    size      bigint NOT NULL,
    key_id    text COLLATE "C" NOT NULL,
    at        bigint NOT NULL,
    note      text NOT NULL,
    PRIMARY KEY (tenant_id, size, key_id)
);

CREATE TRIGGER evidence_checkpoint_is_never_changed BEFORE UPDATE ON evidence_checkpoint FOR EACH ROW
EXECUTE FUNCTION charter_refuse('a published checkpoint is append-only');
CREATE TRIGGER evidence_checkpoint_is_never_deleted BEFORE DELETE ON evidence_checkpoint FOR EACH ROW
EXECUTE FUNCTION charter_refuse('a published checkpoint is append-only');
CREATE TRIGGER evidence_checkpoint_is_never_emptied BEFORE TRUNCATE ON evidence_checkpoint FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('a published checkpoint is append-only');

-- Memories -----------------------------------------------------------------------------------------

-- A writer of a tenant's memories locks its row here, so that revisions become visible in their order and the limit of
-- their number holds.
CREATE TABLE memory_tenant (
    tenant_id text COLLATE "C" PRIMARY KEY
);

-- The removal of a memory deletes its content and leaves its row.
CREATE TABLE memory (
    tenant_id  text COLLATE "C" NOT NULL,
    memory_id  text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    visibility text NOT NULL CHECK (visibility IN ('private', 'shared')),
    created_at bigint NOT NULL,
    expires_at bigint,
    latest     bigint NOT NULL,
    current    bigint,
    proposed   bigint,
    revision   bigint NOT NULL,
    removed_at bigint,
    removed_by text,
    PRIMARY KEY (tenant_id, memory_id),
    UNIQUE (tenant_id, revision),
    CHECK (removed_at IS NULL OR (current IS NULL AND proposed IS NULL))
);
CREATE INDEX memory_by_time ON memory (tenant_id, created_at, memory_id) WHERE removed_at IS NULL;
CREATE INDEX memory_with_proposal ON memory (tenant_id, created_at, memory_id) WHERE proposed IS NOT NULL;
CREATE INDEX memory_by_expiry ON memory (expires_at) WHERE removed_at IS NULL AND expires_at IS NOT NULL;

CREATE TRIGGER memory_keeps_what_it_is BEFORE UPDATE ON memory FOR EACH ROW
WHEN ((NEW.tenant_id, NEW.memory_id, NEW.user_id, NEW.visibility, NEW.created_at)
   <> (OLD.tenant_id, OLD.memory_id, OLD.user_id, OLD.visibility, OLD.created_at)
   OR NEW.latest < OLD.latest OR OLD.removed_at IS NOT NULL)
EXECUTE FUNCTION charter_refuse('a memory is superseded or removed, never overwritten');
CREATE TRIGGER memory_is_never_forgotten BEFORE DELETE ON memory FOR EACH ROW
EXECUTE FUNCTION charter_refuse_but_erasure('that a memory existed is kept');

CREATE TABLE memory_version (
    tenant_id  text COLLATE "C" NOT NULL,
    memory_id  text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    state      text NOT NULL CHECK (state IN ('proposed', 'accepted', 'superseded', 'rejected')),
    at         bigint NOT NULL,
    author     text COLLATE "C" NOT NULL,
    agent_id   text,
    based_on   bigint,
    decided_by text,
    decided_at bigint,
    body       text,
    PRIMARY KEY (tenant_id, memory_id, version),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES memory
);

CREATE TRIGGER memory_version_keeps_what_it_says BEFORE UPDATE ON memory_version FOR EACH ROW
WHEN ((NEW.tenant_id, NEW.memory_id, NEW.version, NEW.at, NEW.author)
   <> (OLD.tenant_id, OLD.memory_id, OLD.version, OLD.at, OLD.author)
   OR NEW.agent_id IS DISTINCT FROM OLD.agent_id OR NEW.based_on IS DISTINCT FROM OLD.based_on
   OR (NEW.body IS DISTINCT FROM OLD.body AND NEW.body IS NOT NULL)
   OR NOT (NEW.state = OLD.state
        OR (OLD.state = 'proposed' AND NEW.state IN ('accepted', 'rejected'))
        OR (OLD.state = 'accepted' AND NEW.state = 'superseded')))
EXECUTE FUNCTION charter_refuse('a version of a memory is superseded or removed, never overwritten');
CREATE TRIGGER memory_version_is_never_forgotten BEFORE DELETE ON memory_version FOR EACH ROW
EXECUTE FUNCTION charter_refuse_but_erasure('that a version existed is kept');

CREATE TABLE memory_vector (
    tenant_id text COLLATE "C" NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    model     text NOT NULL,
    bytes     bytea NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, version),
    FOREIGN KEY (tenant_id, memory_id, version) REFERENCES memory_version
);

-- Missions and artifacts ---------------------------------------------------------------------------

-- An artifact is stored as its canonical JSON text, byte for byte. The other columns are compared with the text, or
-- derived from it. A row of version v0 has the fields of that version, and no root metadata except in its columns.
-- PostgreSQL only: `document` has the same as `jsonb`, for constraints and queries.
CREATE TABLE colony_missions (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    run_id         text COLLATE "C" NOT NULL,
    state          text COLLATE "C" NOT NULL,
    artifacts      bigint NOT NULL, -- their number, which is the place of the last one
    imported_at    bigint,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL, -- the envelope
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id),
    UNIQUE (tenant_id, mission_id, actor_id),
    -- A run has one mission.
    UNIQUE (tenant_id, run_id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'mission_envelope'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT state_is_known CHECK (state IN
        ('created', 'planned', 'prompted', 'running', 'aggregating', 'reviewing', 'awaiting_approval',
         'completed', 'rejected', 'failed', 'cancelled', 'budget_exceeded')),
    CONSTRAINT risk_is_known CHECK (document ->> 'risk_level' IS NOT NULL
        AND document ->> 'risk_level' IN ('low', 'medium', 'high', 'critical')),
    CONSTRAINT places_are_counted CHECK (artifacts >= 1 AND event >= 1)
);
CREATE INDEX colony_missions_by_time ON colony_missions (tenant_id, created_at, mission_id);
CREATE INDEX colony_missions_by_state ON colony_missions (tenant_id, state, created_at, mission_id);
CREATE INDEX colony_missions_by_user ON colony_missions (tenant_id, actor_id, created_at, mission_id);

CREATE TRIGGER colony_missions_keep_what_was_written BEFORE UPDATE ON colony_missions FOR EACH ROW
WHEN ((NEW.tenant_id, NEW.mission_id, NEW.run_id, NEW.event, NEW.schema_version, NEW.created_at,
       NEW.producer, NEW.payload)
   <> (OLD.tenant_id, OLD.mission_id, OLD.run_id, OLD.event, OLD.schema_version, OLD.created_at,
       OLD.producer, OLD.payload)
   OR NEW.imported_at IS DISTINCT FROM OLD.imported_at OR NEW.artifacts < OLD.artifacts)
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_missions_end_once BEFORE UPDATE ON colony_missions FOR EACH ROW
WHEN (OLD.state IN ('completed', 'rejected', 'failed', 'cancelled', 'budget_exceeded')
  AND NEW.state <> OLD.state)
EXECUTE FUNCTION charter_refuse('a mission that has ended stays as it ended');
CREATE TRIGGER colony_missions_go_with_their_run BEFORE DELETE ON colony_missions FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_run('a mission is deleted only together with its run');
CREATE TRIGGER colony_missions_are_not_emptied BEFORE TRUNCATE ON colony_missions FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('a mission is deleted only together with its run');

-- The task graph, from which the rows of colony_tasks are made. It has its own table because the row of a mission is
-- written with every append, and a graph may have a thousand tasks.
CREATE TABLE colony_task_graphs (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    CONSTRAINT one_graph PRIMARY KEY (tenant_id, mission_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'mission_task_graph'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

CREATE TABLE colony_tasks (
    tenant_id  text COLLATE "C" NOT NULL,
    mission_id text COLLATE "C" NOT NULL,
    task_id    text COLLATE "C" NOT NULL,
    place      bigint NOT NULL, -- in the graph, from 1
    role_type  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'role_type') STORED,
    payload    text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, task_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    CONSTRAINT columns_are_the_payloads CHECK (document ->> 'task_id' IS NOT DISTINCT FROM task_id),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer'))
);

CREATE TABLE colony_prompt_packages (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    package_id     text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    role_type      text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'role_type') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, package_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'prompt_package'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'package_id' IS NOT DISTINCT FROM package_id
        AND document ->> 'task_id' IS NOT DISTINCT FROM task_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer'))
);

CREATE TABLE colony_research_artifacts (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    artifact_id    text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, artifact_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'research_artifact'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'artifact_id' IS NOT DISTINCT FROM artifact_id
        AND document ->> 'task_id' IS NOT DISTINCT FROM task_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

CREATE TABLE colony_librarian_passes (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    pass_id        text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, pass_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'librarian_pass'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'pass_id' IS NOT DISTINCT FROM pass_id
        AND document ->> 'task_id' IS NOT DISTINCT FROM task_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

CREATE TABLE colony_worker_results (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    result_id      text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    confidence     double precision GENERATED ALWAYS AS ((payload::jsonb ->> 'confidence')::double precision) STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, result_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'worker_result'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'result_id' IS NOT DISTINCT FROM result_id
        AND document ->> 'task_id' IS NOT DISTINCT FROM task_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT confidence_is_in_range CHECK (schema_version = 'v0' OR
        (confidence IS NOT NULL AND confidence BETWEEN 0 AND 1))
);

CREATE TABLE colony_aggregation_packets (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    packet_id      text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, packet_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'aggregation_packet'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'packet_id' IS NOT DISTINCT FROM packet_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

CREATE TABLE colony_review_packets (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    packet_id      text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    review_status  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'review_status') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, packet_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'review_packet'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'packet_id' IS NOT DISTINCT FROM packet_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT status_is_known CHECK (review_status IN ('approved', 'approved_with_edits', 'rejected')
        OR (schema_version = 'v0' AND review_status = 'needs_edits')),
    CONSTRAINT a_rejected_review_has_no_output CHECK (schema_version = 'v0'
        OR (review_status = 'rejected') = (document -> 'approved_output' IS NULL)),
    CONSTRAINT one_review UNIQUE (tenant_id, mission_id)
);

CREATE TABLE colony_policy_decisions (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    decision_id    text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    decision_type  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'decision_type') STORED,
    subject        text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'subject') STORED,
    decision       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'decision') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, decision_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'policy_decision'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'decision_id' IS NOT DISTINCT FROM decision_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT decision_is_known CHECK (decision IN ('allow', 'deny'))
);

CREATE TABLE colony_writeback_proposals (
    tenant_id          text COLLATE "C" NOT NULL,
    mission_id         text COLLATE "C" NOT NULL,
    proposal_id        text COLLATE "C" NOT NULL,
    actor_id           text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    target_entity_type text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'target_entity_type') STORED,
    target_entity_id   text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'target_entity_id') STORED,
    action_type        text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'action_type') STORED,
    place              bigint NOT NULL,
    event              bigint NOT NULL,
    schema_version     text COLLATE "C" NOT NULL,
    created_at         bigint NOT NULL,
    producer           text COLLATE "C" NOT NULL,
    payload            text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, proposal_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'writeback_proposal'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'proposal_id' IS NOT DISTINCT FROM proposal_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

-- PostgreSQL only: raises the error of a trigger that refuses to delete a part of a mission. A cascade has removed the
-- mission when the trigger fires.
CREATE FUNCTION charter_goes_with_its_mission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM colony_missions
               WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id) THEN
        RAISE EXCEPTION 'an artifact is deleted only together with its mission'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER colony_task_graphs_are_never_changed BEFORE UPDATE ON colony_task_graphs FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_task_graphs_go_with_their_mission BEFORE DELETE ON colony_task_graphs FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_task_graphs_are_not_emptied BEFORE TRUNCATE ON colony_task_graphs FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_tasks_are_never_changed BEFORE UPDATE ON colony_tasks FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_tasks_go_with_their_mission BEFORE DELETE ON colony_tasks FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_tasks_are_not_emptied BEFORE TRUNCATE ON colony_tasks FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_prompt_packages_are_never_changed BEFORE UPDATE ON colony_prompt_packages FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_prompt_packages_go_with_their_mission BEFORE DELETE ON colony_prompt_packages FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_prompt_packages_are_not_emptied BEFORE TRUNCATE ON colony_prompt_packages FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_research_artifacts_are_never_changed BEFORE UPDATE ON colony_research_artifacts FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_research_artifacts_go_with_their_mission BEFORE DELETE ON colony_research_artifacts FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_research_artifacts_are_not_emptied BEFORE TRUNCATE ON colony_research_artifacts FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_librarian_passes_are_never_changed BEFORE UPDATE ON colony_librarian_passes FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_librarian_passes_go_with_their_mission BEFORE DELETE ON colony_librarian_passes FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_librarian_passes_are_not_emptied BEFORE TRUNCATE ON colony_librarian_passes FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_worker_results_are_never_changed BEFORE UPDATE ON colony_worker_results FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_worker_results_go_with_their_mission BEFORE DELETE ON colony_worker_results FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_worker_results_are_not_emptied BEFORE TRUNCATE ON colony_worker_results FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_aggregation_packets_are_never_changed BEFORE UPDATE ON colony_aggregation_packets FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_aggregation_packets_go_with_their_mission BEFORE DELETE ON colony_aggregation_packets FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_aggregation_packets_are_not_emptied BEFORE TRUNCATE ON colony_aggregation_packets
FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_review_packets_are_never_changed BEFORE UPDATE ON colony_review_packets FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_review_packets_go_with_their_mission BEFORE DELETE ON colony_review_packets FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_review_packets_are_not_emptied BEFORE TRUNCATE ON colony_review_packets FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_policy_decisions_are_never_changed BEFORE UPDATE ON colony_policy_decisions FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_policy_decisions_go_with_their_mission BEFORE DELETE ON colony_policy_decisions FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_policy_decisions_are_not_emptied BEFORE TRUNCATE ON colony_policy_decisions FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_writeback_proposals_are_never_changed BEFORE UPDATE ON colony_writeback_proposals FOR EACH ROW
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_writeback_proposals_go_with_their_mission BEFORE DELETE ON colony_writeback_proposals FOR EACH ROW
EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_writeback_proposals_are_not_emptied BEFORE TRUNCATE ON colony_writeback_proposals
FOR EACH STATEMENT
EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');

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
    tenant_id     text COLLATE "C" NOT NULL,
    assignment_id text COLLATE "C" NOT NULL,
    mission_id    text COLLATE "C" NOT NULL,
    role_type     text COLLATE "C" NOT NULL,
    task_id       text COLLATE "C",
    turn          bigint NOT NULL,
    agents        text NOT NULL,
    brief         text NOT NULL,
    offered_at    bigint NOT NULL,
    expires_at    bigint NOT NULL,
    state         text COLLATE "C" NOT NULL,
    lease_id      text COLLATE "C",
    holder        text COLLATE "C",
    makers        text,
    submission    text,
    refusal       text,
    submissions   bigint NOT NULL,
    PRIMARY KEY (tenant_id, assignment_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    CONSTRAINT state_is_known CHECK (state IN ('offered', 'claimed', 'submitted', 'accepted', 'closed')),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer')),
    CONSTRAINT a_lease_has_a_holder CHECK ((lease_id IS NULL) = (holder IS NULL)
        AND (lease_id IS NULL) = (makers IS NULL))
);
CREATE INDEX mission_assignment_by_time ON mission_assignment (tenant_id, offered_at, assignment_id);
CREATE INDEX mission_assignment_by_mission ON mission_assignment (tenant_id, mission_id, offered_at, assignment_id);

CREATE TABLE tag (
    tenant_id  text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    body       text NOT NULL,
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX tag_by_expiry ON tag (expires_at);

-- Content of tool results --------------------------------------------------------------------------

CREATE TABLE tool_content (
    tenant_id  text COLLATE "C" NOT NULL,
    digest     text COLLATE "C" NOT NULL,
    media_type text NOT NULL,
    kept_at    bigint NOT NULL,
    bytes      bytea NOT NULL,
    PRIMARY KEY (tenant_id, digest)
);
CREATE INDEX tool_content_by_time ON tool_content (kept_at);

-- Row security: PostgreSQL only --------------------------------------------------------------------
--
-- The second barrier between tenants, behind the conditions of every statement. The setting `charter.tenant` of a
-- connection names the tenant whose rows it can read and write. Without the setting there are none; `*` is for work
-- across tenants. Every tenant can read global rows. This also applies to the owner of the tables, but not to a
-- superuser or a role with BYPASSRLS.
DO $$
DECLARE
    found record;
    tenant constant text := 'nullif(current_setting(''charter.tenant'', true), '''')';
BEGIN
    FOR found IN
        SELECT c.table_name, c.column_name
        FROM information_schema.columns AS c
        JOIN information_schema.tables AS t USING (table_schema, table_name)
        WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'
          AND c.column_name IN ('tenant_id', 'scope')
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', found.table_name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', found.table_name);
        EXECUTE format(
            'CREATE POLICY rows_of_the_tenant ON %1$I
             USING (%2$I = %3$s OR %3$s = ''*'') WITH CHECK (%2$I = %3$s OR %3$s = ''*'')',
            found.table_name, found.column_name, tenant);
        EXECUTE format(
            'CREATE POLICY rows_of_everybody ON %1$I FOR SELECT USING (%2$I = '''' AND %3$s IS NOT NULL)',
            found.table_name, found.column_name, tenant);
    END LOOP;
END
$$;

-- pgvector: PostgreSQL only ------------------------------------------------------------------------
--
-- Vectors of memories and passages in the form of the extension pgvector, from 0.8 on. Without it, vectors are searched
-- in the process.

-- Creates a table of searchable vectors with its row security; the column `owner` names the tenant or scope of a row.
-- The index has the vectors of the default model. Vectors of other lengths are compared one by one.
CREATE FUNCTION charter_near_table(near text, owner text, columns text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tenant constant text := 'nullif(current_setting(''charter.tenant'', true), '''')';
BEGIN
    IF to_regclass(near) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I (%s, embedding vector CHECK (embedding IS NOT NULL))', near, columns);
    EXECUTE format(
        'CREATE INDEX %I ON %I USING hnsw ((embedding::vector(384)) vector_cosine_ops)
         WHERE vector_dims(embedding) = 384', near || '_384', near);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', near);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', near);
    EXECUTE format(
        'CREATE POLICY rows_of_the_tenant ON %1$I
         USING (%2$I = %3$s OR %3$s = ''*'') WITH CHECK (%2$I = %3$s OR %3$s = ''*'')', near, owner, tenant);
    EXECUTE format(
        'CREATE POLICY rows_of_everybody ON %1$I FOR SELECT USING (%2$I = '''' AND %3$s IS NOT NULL)',
        near, owner, tenant);
END
$$;

-- Uses pgvector if the server has it and this user may install it. It is called at every start, so that an extension
-- which is installed later is used.
CREATE FUNCTION charter_pgvector() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    SELECT coalesce(installed_version, default_version) INTO found
    FROM pg_available_extensions WHERE name = 'vector';
    IF found IS NULL OR string_to_array(split_part(found, '-', 1), '.')::int[] < ARRAY[0, 8] THEN
        RETURN false;
    END IF;
    IF to_regtype('vector') IS NULL THEN
        BEGIN
            CREATE EXTENSION IF NOT EXISTS vector;
        EXCEPTION WHEN insufficient_privilege THEN
            RETURN false;
        END;
    END IF;
    IF to_regtype('vector') IS NULL THEN
        RETURN false;
    END IF;
    PERFORM charter_near_table('memory_near', 'tenant_id',
        'tenant_id text COLLATE "C", memory_id text COLLATE "C", version bigint,
         model text COLLATE "C" NOT NULL, PRIMARY KEY (tenant_id, memory_id, version),
         FOREIGN KEY (tenant_id, memory_id, version) REFERENCES memory_vector ON DELETE CASCADE');
    PERFORM charter_near_table('lens_near', 'scope',
        'scope text COLLATE "C", generation bigint, ordinal bigint, part bigint,
         PRIMARY KEY (scope, generation, ordinal, part),
         FOREIGN KEY (scope, generation, ordinal) REFERENCES lens_chunk ON DELETE CASCADE');
    RETURN true;
END
$$;

-- Stores a memory's vector for searches, if the extension is used.
CREATE FUNCTION charter_memory_near(tenant text, memory text, number bigint, of_model text, embedding text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('memory_near') IS NOT NULL THEN
        EXECUTE 'INSERT INTO memory_near (tenant_id, memory_id, version, model, embedding)
                 VALUES ($1, $2, $3, $4, $5::vector)
                 ON CONFLICT (tenant_id, memory_id, version) DO UPDATE
                 SET model = excluded.model, embedding = excluded.embedding'
        USING tenant, memory, number, of_model, embedding;
    END IF;
END
$$;

-- Stores vectors of passages for searches, if the extension is used.
CREATE FUNCTION charter_lens_near(
    of_scope text, of_generation bigint, ordinals bigint[], parts bigint[], embeddings text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('lens_near') IS NOT NULL THEN
        EXECUTE 'INSERT INTO lens_near (scope, generation, ordinal, part, embedding)
                 SELECT $1, $2, ordinal, part, embedding::vector
                 FROM unnest($3, $4, $5) AS new (ordinal, part, embedding)
                 ON CONFLICT DO NOTHING'
        USING of_scope, of_generation, ordinals, parts, embeddings;
    END IF;
END
$$;
