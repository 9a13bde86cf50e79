-- Conventions: a scope is '' for global or the tenant's id; times are microseconds since the Unix
-- epoch, UTC; hashes are 32 raw bytes; bodies are JSON, kept as the text that was written. Texts are
-- compared by their bytes, whatever the database's language. Every key of a tenant's table leads with
-- the tenant (or the scope), so that the tables can be spread by it; what is of no tenant says so.

-- What a trigger says when it refuses.
CREATE FUNCTION charter_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Packages and documents ------------------------------------------------------------------------

-- Of no tenant: one row, which every registration locks.
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

-- The packages in force.
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

-- The documents in force: read from first to last when a process starts.
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

-- Indexes of lenses, each whole or not there.
CREATE TABLE lens_index (
    scope      text COLLATE "C" NOT NULL,
    lens_id    text COLLATE "C" NOT NULL,
    generation bigint GENERATED ALWAYS AS IDENTITY,
    body       text NOT NULL,
    PRIMARY KEY (scope, lens_id),
    UNIQUE (scope, generation)
);
CREATE INDEX lens_index_by_generation ON lens_index (generation);

CREATE TABLE lens_chunk (
    scope      text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    ordinal    bigint NOT NULL,
    text       text NOT NULL,
    place      text NOT NULL,
    vectors    bytea NOT NULL,
    PRIMARY KEY (scope, generation, ordinal),
    FOREIGN KEY (scope, generation) REFERENCES lens_index (scope, generation) ON DELETE CASCADE
);

-- Embeddings, of no tenant: a vector is a function of model and text. Not `vector`, which is a type of
-- the extension pgvector. ------------------------------------------------------------------------

CREATE TABLE embedding (
    model     text COLLATE "C" NOT NULL,
    text_hash bytea NOT NULL,
    bytes     bytea NOT NULL,
    PRIMARY KEY (model, text_hash)
);

CREATE TABLE calibration (
    model text COLLATE "C" PRIMARY KEY,
    at    bigint NOT NULL,
    body  text NOT NULL
);

-- The skill link graph: what discovery and navigation read, and apart from it what they never do ---

-- Of no tenant: one row, which every write locks.
CREATE TABLE agent_skill_index (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    revision bigint NOT NULL,
    model    text,
    dims     bigint,
    CHECK ((model IS NULL) = (dims IS NULL))
);
INSERT INTO agent_skill_index (only_row, revision) VALUES (1, 0);

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

-- Files by the hash of their content, so that the same content is kept once in a scope.
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

-- Requests --------------------------------------------------------------------------------------

CREATE TABLE tag (
    tenant_id  text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    body       text NOT NULL,
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX tag_by_expiry ON tag (expires_at);

CREATE TABLE request (
    tenant_id  text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    asked      text NOT NULL,
    verdict    text,
    answer     text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, request_id)
);
CREATE INDEX request_answered ON request (updated_at) WHERE answer IS NOT NULL;
CREATE INDEX request_open ON request (created_at) WHERE answer IS NULL;
CREATE INDEX request_by_user ON request (tenant_id, user_id, created_at, request_id);

CREATE TABLE session (
    tenant_id  text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    user_id    text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, session_id)
);
CREATE INDEX session_by_expiry ON session (expires_at);

-- A turn keeps its position when its answer is filled in.
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

-- Runs ------------------------------------------------------------------------------------------

CREATE TABLE run (
    tenant_id  text COLLATE "C" NOT NULL,
    run_id     text COLLATE "C" NOT NULL,
    title      text NOT NULL,
    phase      text NOT NULL CHECK (phase IN ('runnable', 'waiting', 'finished')),
    status     text NOT NULL,
    wake_at    bigint,
    version    bigint NOT NULL,
    last_hash  bytea NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant_id, run_id)
);
CREATE INDEX run_by_tenant ON run (tenant_id, created_at, run_id);
CREATE INDEX run_claimable ON run (created_at, run_id) WHERE phase = 'runnable';
CREATE INDEX run_by_wake ON run (wake_at) WHERE phase = 'waiting' AND wake_at IS NOT NULL;
CREATE INDEX run_finished ON run (updated_at) WHERE phase = 'finished';

-- Whose a run is: journals and leases are reached by a run's id alone, which is therefore one run's,
-- whoever's it is. The one key of runs that leads with no tenant.
CREATE TABLE run_tenant (
    run_id    text COLLATE "C" PRIMARY KEY,
    tenant_id text COLLATE "C" NOT NULL
);

CREATE TRIGGER run_finished_is_final BEFORE UPDATE ON run
FOR EACH ROW WHEN (OLD.phase = 'finished')
EXECUTE FUNCTION charter_refuse('a finished run takes no more events');
CREATE TRIGGER run_deleted_only_when_finished BEFORE DELETE ON run
FOR EACH ROW WHEN (OLD.phase <> 'finished')
EXECUTE FUNCTION charter_refuse('a run is deleted only when it is finished');

-- Text only: the hashes of the chain are over these bytes.
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

CREATE TRIGGER journal_event_is_immutable BEFORE UPDATE ON journal_event
FOR EACH ROW EXECUTE FUNCTION charter_refuse('a journal event is never changed');
CREATE TRIGGER journal_event_is_not_emptied BEFORE TRUNCATE ON journal_event
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('a journal event is deleted only together with its run');

-- What belongs to a run goes with it or not at all: a cascade has removed the run by the time this
-- fires.
CREATE FUNCTION charter_goes_with_its_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM run WHERE tenant_id = OLD.tenant_id AND run_id = OLD.run_id) THEN
        RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER journal_event_goes_with_its_run BEFORE DELETE ON journal_event
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_run('a journal event is deleted only together with its run');

-- A lease that was given back keeps its row, so that its fence never goes back. Of no tenant: what is
-- leased need not be one's.
CREATE TABLE lease (
    resource   text COLLATE "C" PRIMARY KEY,
    holder     text COLLATE "C",
    fence      bigint NOT NULL,
    expires_at bigint NOT NULL
);

CREATE TABLE approval (
    tenant_id    text COLLATE "C" NOT NULL,
    approval_id  text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    state        text NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'consumed', 'lapsed')),
    requested_at bigint NOT NULL,
    expires_at   bigint NOT NULL,
    body         text NOT NULL,
    PRIMARY KEY (tenant_id, approval_id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE
);
CREATE INDEX approval_by_tenant ON approval (tenant_id, requested_at, approval_id);
CREATE INDEX approval_by_state ON approval (tenant_id, state, requested_at, approval_id);
CREATE INDEX approval_by_run ON approval (tenant_id, run_id);

CREATE TRIGGER approval_moves_forward BEFORE UPDATE ON approval FOR EACH ROW
WHEN (NOT ((OLD.state = 'pending' AND NEW.state IN ('approved', 'rejected', 'lapsed'))
        OR (OLD.state = 'approved' AND NEW.state IN ('consumed', 'lapsed')))
   OR (NEW.tenant_id, NEW.approval_id, NEW.run_id, NEW.expires_at)
      <> (OLD.tenant_id, OLD.approval_id, OLD.run_id, OLD.expires_at))
EXECUTE FUNCTION charter_refuse('an approval is decided once and used once');

-- The outbox ------------------------------------------------------------------------------------

-- A message gets its number when it is first read, never before its transaction has ended: numbers
-- given out by the writers could be seen in another order than they were given. The tenant is '' for
-- messages about the whole server.
CREATE TABLE outbox (
    tenant_id  text COLLATE "C" NOT NULL,
    entry      bigint GENERATED ALWAYS AS IDENTITY,
    message_id bigint,
    topic      text NOT NULL,
    at         bigint NOT NULL,
    payload    text NOT NULL,
    PRIMARY KEY (tenant_id, entry)
);
CREATE INDEX outbox_by_number ON outbox (message_id);
CREATE INDEX outbox_by_tenant ON outbox (tenant_id, message_id);
CREATE INDEX outbox_unnumbered ON outbox (entry) WHERE message_id IS NULL;
CREATE INDEX outbox_by_time ON outbox (at);

-- The last number that was given; whoever numbers locks the row. Writers of messages never do.
CREATE TABLE outbox_numbers (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    last     bigint NOT NULL
);
INSERT INTO outbox_numbers (only_row, last) VALUES (1, 0);

-- Evidence --------------------------------------------------------------------------------------

-- A payload that was removed leaves the time of its removal.
CREATE TABLE evidence (
    tenant_id          text COLLATE "C" NOT NULL,
    evidence_id        text COLLATE "C" NOT NULL,
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
CREATE INDEX evidence_with_payload ON evidence (captured_at) WHERE payload IS NOT NULL;

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

-- The evidence log: one Merkle tree (RFC 6962) for each tenant. Whoever appends locks the tenant's row
-- here. Leaves and the hashes of perfect subtrees are written with the record, attachment or removal
-- that they are about.
CREATE TABLE evidence_log (
    tenant_id text COLLATE "C" PRIMARY KEY
);

CREATE TABLE evidence_leaf (
    tenant_id   text COLLATE "C" NOT NULL REFERENCES evidence_log,
    leaf_index  bigint NOT NULL,
    evidence_id text COLLATE "C" NOT NULL,
    leaf        text NOT NULL, -- the leaf's data, byte for byte
    PRIMARY KEY (tenant_id, leaf_index),
    FOREIGN KEY (tenant_id, evidence_id) REFERENCES evidence
);
CREATE INDEX evidence_leaf_by_record ON evidence_leaf (tenant_id, evidence_id, leaf_index);

-- At level 0 the leaves' hashes; above, those of 2^level leaves that are all there.
CREATE TABLE evidence_node (
    tenant_id  text COLLATE "C" NOT NULL REFERENCES evidence_log,
    level      bigint NOT NULL,
    node_index bigint NOT NULL,
    hash       bytea NOT NULL,
    PRIMARY KEY (tenant_id, level, node_index)
);

-- What was signed and handed out.
CREATE TABLE evidence_checkpoint (
    tenant_id text COLLATE "C" NOT NULL REFERENCES evidence_log,
    size      bigint NOT NULL,
    key_id    text COLLATE "C" NOT NULL,
    at        bigint NOT NULL,
    note      text NOT NULL,
    PRIMARY KEY (tenant_id, size, key_id)
);

-- The one change that evidence allows: its payload goes, once, and everything else stays.
CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence FOR EACH ROW
WHEN (NOT (
    OLD.payload IS NOT NULL AND NEW.payload IS NULL
    AND NEW.payload_salt IS NULL AND NEW.payload_removed_at IS NOT NULL
    AND (NEW.tenant_id, NEW.evidence_id, NEW.evidence_type, NEW.captured_at, NEW.system,
         NEW.native_id, NEW.body)
      = (OLD.tenant_id, OLD.evidence_id, OLD.evidence_type, OLD.captured_at, OLD.system,
         OLD.native_id, OLD.body)
))
EXECUTE FUNCTION charter_refuse('evidence is append-only');
CREATE TRIGGER evidence_is_never_deleted BEFORE DELETE ON evidence
FOR EACH ROW EXECUTE FUNCTION charter_refuse('evidence is append-only');
CREATE TRIGGER evidence_is_never_emptied BEFORE TRUNCATE ON evidence
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('evidence is append-only');
CREATE TRIGGER evidence_attachment_is_never_changed BEFORE UPDATE OR DELETE ON evidence_attachment
FOR EACH ROW EXECUTE FUNCTION charter_refuse('evidence is append-only');
CREATE TRIGGER evidence_attachment_is_never_emptied BEFORE TRUNCATE ON evidence_attachment
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('evidence is append-only');
CREATE TRIGGER evidence_log_is_never_changed BEFORE UPDATE OR DELETE ON evidence_log
FOR EACH ROW EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_log_is_never_emptied BEFORE TRUNCATE ON evidence_log
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_leaf_is_never_changed BEFORE UPDATE OR DELETE ON evidence_leaf
FOR EACH ROW EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_leaf_is_never_emptied BEFORE TRUNCATE ON evidence_leaf
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_node_is_never_changed BEFORE UPDATE OR DELETE ON evidence_node
FOR EACH ROW EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_node_is_never_emptied BEFORE TRUNCATE ON evidence_node
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('the evidence log is append-only');
CREATE TRIGGER evidence_checkpoint_is_never_changed BEFORE UPDATE OR DELETE ON evidence_checkpoint
FOR EACH ROW EXECUTE FUNCTION charter_refuse('a published checkpoint is append-only');
CREATE TRIGGER evidence_checkpoint_is_never_emptied BEFORE TRUNCATE ON evidence_checkpoint
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('a published checkpoint is append-only');

-- Memories: versions of what is remembered. Removal takes the content away and leaves the row -------

-- Whoever changes a tenant's memories locks its row here, so that revisions come into sight in their
-- order and the bound on their number holds.
CREATE TABLE memory_tenant (
    tenant_id text COLLATE "C" PRIMARY KEY
);

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
CREATE TRIGGER memory_is_never_forgotten BEFORE DELETE ON memory
FOR EACH ROW EXECUTE FUNCTION charter_refuse('that a memory existed is kept');

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
CREATE TRIGGER memory_version_is_never_forgotten BEFORE DELETE ON memory_version
FOR EACH ROW EXECUTE FUNCTION charter_refuse('that a version existed is kept');

CREATE TABLE memory_vector (
    tenant_id text COLLATE "C" NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    model     text NOT NULL,
    bytes     bytea NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, version),
    FOREIGN KEY (tenant_id, memory_id, version) REFERENCES memory_version
);
