-- A tenant that is erased takes with it what nothing else deletes: its evidence, and that it had memories.
-- Whoever erases has a row here, which goes in the same transaction. The tree of the evidence log stays.
CREATE TABLE erasing (
    tenant TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

DROP TRIGGER evidence_is_never_deleted;
CREATE TRIGGER evidence_is_never_deleted BEFORE DELETE ON evidence
WHEN NOT EXISTS (SELECT 1 FROM erasing WHERE tenant = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

DROP TRIGGER evidence_attachment_is_never_deleted;
CREATE TRIGGER evidence_attachment_is_never_deleted BEFORE DELETE ON evidence_attachment
WHEN NOT EXISTS (SELECT 1 FROM erasing WHERE tenant = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

DROP TRIGGER evidence_leaf_is_never_deleted;
CREATE TRIGGER evidence_leaf_is_never_deleted BEFORE DELETE ON evidence_leaf
WHEN NOT EXISTS (SELECT 1 FROM erasing JOIN evidence_log ON tenant_id = tenant WHERE log_key = OLD.log_key)
BEGIN SELECT RAISE(ABORT, 'the evidence log is append-only'); END;

DROP TRIGGER memory_is_never_forgotten;
CREATE TRIGGER memory_is_never_forgotten BEFORE DELETE ON memory
WHEN NOT EXISTS (SELECT 1 FROM erasing WHERE tenant = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'that a memory existed is kept'); END;

DROP TRIGGER memory_version_is_never_forgotten;
CREATE TRIGGER memory_version_is_never_forgotten BEFORE DELETE ON memory_version
WHEN NOT EXISTS (SELECT 1 FROM erasing JOIN memory ON tenant_id = tenant WHERE memory_key = OLD.memory_key)
BEGIN SELECT RAISE(ABORT, 'that a version existed is kept'); END;
