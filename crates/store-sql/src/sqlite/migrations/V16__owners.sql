-- The users who made a key, directly or through keys that they made. A user does not approve with a key that an asker
-- made. For existing keys the makers follow from `created_by`, by name; the local user, who needs no key, is no maker.
ALTER TABLE api_key ADD COLUMN makers TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(makers));
WITH RECURSIVE line (tenant_id, key_id, maker) AS (
    SELECT tenant_id, key_id, created_by FROM api_key
    UNION
    -- The key that this one replaced, and the keys of its maker.
    SELECT line.tenant_id, line.key_id, earlier.created_by
    FROM line JOIN api_key AS made ON made.tenant_id = line.tenant_id AND made.key_id = line.key_id
    JOIN api_key AS earlier ON earlier.tenant_id = line.tenant_id
     AND (earlier.user_id = line.maker OR earlier.user_id = made.user_id AND made.rotated_from IS NOT NULL)
)
UPDATE api_key SET makers = of_key.makers
FROM (SELECT tenant_id, key_id, json_group_array(maker) AS makers
      FROM line WHERE maker <> 'local' GROUP BY tenant_id, key_id) AS of_key
WHERE api_key.tenant_id = of_key.tenant_id AND api_key.key_id = of_key.key_id;

DROP TRIGGER api_key_stays_what_it_is;
CREATE TRIGGER api_key_stays_what_it_is BEFORE UPDATE ON api_key
WHEN NEW.tenant_id <> OLD.tenant_id OR NEW.key_id <> OLD.key_id OR NEW.name <> OLD.name
  OR NEW.hash <> OLD.hash OR NEW.user_id <> OLD.user_id OR NEW.rights <> OLD.rights
  OR NEW.created_by <> OLD.created_by OR NEW.created_at <> OLD.created_at
  OR NEW.rotated_from IS NOT OLD.rotated_from OR NEW.makers <> OLD.makers
BEGIN SELECT RAISE(ABORT, 'a key stays what it was made'); END;

-- The user who owns a run: the one who started it, or the owner of the run that it rolls back; '' if unknown. Its
-- approvals, evidence and messages have the same user.
ALTER TABLE run ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
DROP TRIGGER run_finished_is_final;
UPDATE run SET user_id = coalesce(
    (SELECT json_extract(payload, '$.by') FROM journal_event
     WHERE journal_event.run_key = run.run_key AND sequence = 1 AND json_valid(payload)), '');
CREATE TRIGGER run_finished_is_final BEFORE UPDATE ON run WHEN OLD.phase = 'finished'
BEGIN SELECT RAISE(ABORT, 'a finished run takes no more events'); END;
CREATE INDEX run_by_user ON run (user_id, tenant_id, created_at, run_id);

ALTER TABLE approval ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
DROP TRIGGER approval_moves_forward;
UPDATE approval SET user_id = (SELECT user_id FROM run WHERE run.run_key = approval.run_key);
CREATE TRIGGER approval_moves_forward BEFORE UPDATE ON approval
WHEN NOT ((OLD.state = 'pending' AND NEW.state IN ('approved', 'rejected', 'lapsed'))
       OR (OLD.state = 'approved' AND NEW.state IN ('consumed', 'lapsed')))
  OR NEW.approval_id <> OLD.approval_id OR NEW.run_key <> OLD.run_key
  OR NEW.tenant_id <> OLD.tenant_id OR NEW.expires_at <> OLD.expires_at OR NEW.user_id <> OLD.user_id
BEGIN SELECT RAISE(ABORT, 'an approval is decided once and used once'); END;
CREATE INDEX approval_by_user ON approval (user_id, tenant_id, requested_at, approval_id);

-- The user of the run that captured it. It is kept here because runs are swept and evidence is not.
ALTER TABLE evidence ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
DROP TRIGGER evidence_is_never_changed;
UPDATE evidence SET user_id = coalesce(
    (SELECT run.user_id FROM evidence_attachment AS attached
     JOIN run ON run.run_id = attached.target_id AND run.tenant_id = attached.tenant_id
     WHERE attached.evidence_key = evidence.evidence_key AND attached.target_kind = 'run_id'
     ORDER BY attached.attachment_key LIMIT 1), '');
CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence
WHEN NOT (
    OLD.payload IS NOT NULL AND NEW.payload IS NULL
    AND NEW.payload_salt IS NULL AND NEW.payload_removed_at IS NOT NULL
    AND NEW.evidence_key = OLD.evidence_key AND NEW.tenant_id = OLD.tenant_id
    AND NEW.evidence_id = OLD.evidence_id AND NEW.evidence_type = OLD.evidence_type
    AND NEW.captured_at = OLD.captured_at AND NEW.system = OLD.system
    AND NEW.native_id = OLD.native_id AND NEW.body = OLD.body AND NEW.user_id = OLD.user_id
)
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;
CREATE INDEX evidence_by_user ON evidence (user_id, tenant_id, captured_at, evidence_id);

-- The user that a message is about; NULL for a message to the whole tenant.
ALTER TABLE outbox ADD COLUMN user_id TEXT;
UPDATE outbox SET user_id = (SELECT user_id FROM run
                             WHERE run.run_id = json_extract(payload, '$.run_id') AND run.tenant_id = outbox.tenant_id)
WHERE (topic = 'run.status' OR topic LIKE 'approval.%') AND json_valid(payload);

CREATE INDEX colony_missions_by_user ON colony_missions (actor_id, tenant_id, created_at, mission_id);
