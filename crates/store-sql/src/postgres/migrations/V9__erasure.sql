-- A tenant that is erased takes with it what nothing else deletes: its evidence, and that it had memories.
-- Whoever erases says whose rows in a setting of its transaction. The tree of the evidence log stays.
CREATE FUNCTION charter_refuse_but_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.tenant_id = current_setting('charter.erasing', true) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER evidence_is_never_deleted BEFORE DELETE ON evidence
FOR EACH ROW EXECUTE FUNCTION charter_refuse_but_erasure('evidence is append-only');
CREATE OR REPLACE TRIGGER evidence_attachment_is_never_changed BEFORE UPDATE OR DELETE ON evidence_attachment
FOR EACH ROW EXECUTE FUNCTION charter_refuse_but_erasure('evidence is append-only');
CREATE OR REPLACE TRIGGER evidence_leaf_is_never_changed BEFORE UPDATE OR DELETE ON evidence_leaf
FOR EACH ROW EXECUTE FUNCTION charter_refuse_but_erasure('the evidence log is append-only');
CREATE OR REPLACE TRIGGER memory_is_never_forgotten BEFORE DELETE ON memory
FOR EACH ROW EXECUTE FUNCTION charter_refuse_but_erasure('that a memory existed is kept');
CREATE OR REPLACE TRIGGER memory_version_is_never_forgotten BEFORE DELETE ON memory_version
FOR EACH ROW EXECUTE FUNCTION charter_refuse_but_erasure('that a version existed is kept');
