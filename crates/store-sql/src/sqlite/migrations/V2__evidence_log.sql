-- The evidence log: one Merkle tree (RFC 6962) for each tenant. Leaves and the hashes of perfect
-- subtrees are written with the record, attachment or removal that they are about.

CREATE TABLE evidence_log (
    log_key   INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE evidence_leaf (
    log_key      INTEGER NOT NULL REFERENCES evidence_log (log_key),
    leaf_index   INTEGER NOT NULL,
    evidence_key INTEGER NOT NULL REFERENCES evidence (evidence_key),
    leaf         TEXT NOT NULL, -- the leaf's data, byte for byte
    PRIMARY KEY (log_key, leaf_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_leaf_by_record ON evidence_leaf (evidence_key, leaf_index);

-- At level 0 the leaves' hashes; above, those of 2^level leaves that are all there.
CREATE TABLE evidence_node (
    log_key    INTEGER NOT NULL REFERENCES evidence_log (log_key),
    level      INTEGER NOT NULL,
    node_index INTEGER NOT NULL,
    hash       BLOB NOT NULL,
    PRIMARY KEY (log_key, level, node_index)
) STRICT, WITHOUT ROWID;

-- What was signed and handed out.
CREATE TABLE evidence_checkpoint (
    log_key INTEGER NOT NULL REFERENCES evidence_log (log_key),
    size    INTEGER NOT NULL,
    key_id  TEXT NOT NULL,
    at      INTEGER NOT NULL,
    note    TEXT NOT NULL,
    PRIMARY KEY (log_key, size, key_id)
) STRICT, WITHOUT ROWID;

-- Payloads leave the body: a record is hashed without its payload, and a payload behind its salt.
-- A payload that was removed leaves the time of its removal.
DROP TRIGGER evidence_is_never_changed;
ALTER TABLE evidence ADD COLUMN payload TEXT;
ALTER TABLE evidence ADD COLUMN payload_salt BLOB;
UPDATE evidence SET
    payload = json_extract(body, '$.payload'),
    payload_salt = randomblob(32),
    body = json_set(body, '$.payload', json('{}'));
ALTER TABLE evidence ADD COLUMN payload_removed_at INTEGER
    CHECK ((payload IS NULL) = (payload_removed_at IS NOT NULL)
       AND (payload IS NULL) = (payload_salt IS NULL));
CREATE INDEX evidence_with_payload ON evidence (captured_at) WHERE payload IS NOT NULL;

-- Records from before there was a log; they get their leaves when the store opens.
CREATE TABLE evidence_unlogged (
    evidence_key INTEGER PRIMARY KEY REFERENCES evidence (evidence_key)
) STRICT;
INSERT INTO evidence_unlogged (evidence_key) SELECT evidence_key FROM evidence;

-- The one change that evidence allows: its payload goes, once, and everything else stays.
CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence
WHEN NOT (
    OLD.payload IS NOT NULL AND NEW.payload IS NULL
    AND NEW.payload_salt IS NULL AND NEW.payload_removed_at IS NOT NULL
    AND NEW.evidence_key = OLD.evidence_key AND NEW.tenant_id = OLD.tenant_id
    AND NEW.evidence_id = OLD.evidence_id AND NEW.evidence_type = OLD.evidence_type
    AND NEW.captured_at = OLD.captured_at AND NEW.system = OLD.system
    AND NEW.native_id = OLD.native_id AND NEW.body = OLD.body
)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

CREATE TRIGGER evidence_log_is_never_changed BEFORE UPDATE ON evidence_log
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;
CREATE TRIGGER evidence_log_is_never_deleted BEFORE DELETE ON evidence_log
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;
CREATE TRIGGER evidence_leaf_is_never_changed BEFORE UPDATE ON evidence_leaf
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;
CREATE TRIGGER evidence_leaf_is_never_deleted BEFORE DELETE ON evidence_leaf
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;
CREATE TRIGGER evidence_node_is_never_changed BEFORE UPDATE ON evidence_node
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;
CREATE TRIGGER evidence_node_is_never_deleted BEFORE DELETE ON evidence_node
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;
CREATE TRIGGER evidence_checkpoint_is_never_changed BEFORE UPDATE ON evidence_checkpoint
BEGIN SELECT RAISE(ABORT, 'a published checkpoint is append-only'); END;
CREATE TRIGGER evidence_checkpoint_is_never_deleted BEFORE DELETE ON evidence_checkpoint
BEGIN SELECT RAISE(ABORT, 'a published checkpoint is append-only'); END;
