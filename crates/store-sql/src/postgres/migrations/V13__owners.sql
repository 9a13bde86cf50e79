-- The users who made a key, directly or through keys that they made. A user does not approve with a key that an asker
-- made. For existing keys the makers follow from `created_by`, by name; the local user, who needs no key, is no maker.
ALTER TABLE api_key ADD COLUMN makers text NOT NULL DEFAULT '[]';
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
FROM (SELECT tenant_id, key_id, json_agg(maker ORDER BY maker)::text AS makers
      FROM line WHERE maker <> 'local' GROUP BY tenant_id, key_id) AS of_key
WHERE api_key.tenant_id = of_key.tenant_id AND api_key.key_id = of_key.key_id;

CREATE OR REPLACE TRIGGER api_key_stays_what_it_is BEFORE UPDATE ON api_key FOR EACH ROW
WHEN ((NEW.tenant_id, NEW.key_id, NEW.name, NEW.hash, NEW.user_id, NEW.rights, NEW.created_by, NEW.created_at, NEW.makers)
   <> (OLD.tenant_id, OLD.key_id, OLD.name, OLD.hash, OLD.user_id, OLD.rights, OLD.created_by, OLD.created_at, OLD.makers)
   OR NEW.rotated_from IS DISTINCT FROM OLD.rotated_from)
EXECUTE FUNCTION charter_refuse('a key stays what it was made');

-- The user who owns a run: the one who started it, or the owner of the run that it rolls back; '' if unknown. Its
-- approvals, evidence and messages have the same user.
ALTER TABLE run ADD COLUMN user_id text COLLATE "C" NOT NULL DEFAULT '';
DROP TRIGGER run_finished_is_final ON run;
-- Taken out of the text as the journal writes it: as JSON it need not be one that this database can hold.
UPDATE run SET user_id = coalesce(
    (SELECT ('"' || substring(payload FROM '^\{"event":"started","run_id":"[^"]*","by":"((?:[^"\\]|\\[^u])+)"') || '"')::json #>> '{}'
     FROM journal_event AS first
     WHERE first.tenant_id = run.tenant_id AND first.run_id = run.run_id AND first.sequence = 1), '');
CREATE TRIGGER run_finished_is_final BEFORE UPDATE ON run
FOR EACH ROW WHEN (OLD.phase = 'finished')
EXECUTE FUNCTION charter_refuse('a finished run takes no more events');
CREATE INDEX run_by_user ON run (tenant_id, user_id, created_at, run_id);

ALTER TABLE approval ADD COLUMN user_id text COLLATE "C" NOT NULL DEFAULT '';
DROP TRIGGER approval_moves_forward ON approval;
UPDATE approval SET user_id = run.user_id FROM run
WHERE run.tenant_id = approval.tenant_id AND run.run_id = approval.run_id;
CREATE TRIGGER approval_moves_forward BEFORE UPDATE ON approval FOR EACH ROW
WHEN (NOT ((OLD.state = 'pending' AND NEW.state IN ('approved', 'rejected', 'lapsed'))
        OR (OLD.state = 'approved' AND NEW.state IN ('consumed', 'lapsed')))
   OR (NEW.tenant_id, NEW.approval_id, NEW.run_id, NEW.expires_at, NEW.user_id)
      <> (OLD.tenant_id, OLD.approval_id, OLD.run_id, OLD.expires_at, OLD.user_id))
EXECUTE FUNCTION charter_refuse('an approval is decided once and used once');
CREATE INDEX approval_by_user ON approval (tenant_id, user_id, requested_at, approval_id);

-- The user of the run that captured it. It is kept here because runs are swept and evidence is not.
ALTER TABLE evidence ADD COLUMN user_id text COLLATE "C" NOT NULL DEFAULT '';
DROP TRIGGER evidence_is_never_changed ON evidence;
UPDATE evidence SET user_id = run.user_id
FROM evidence_attachment AS attached JOIN run ON run.tenant_id = attached.tenant_id AND run.run_id = attached.target_id
WHERE attached.tenant_id = evidence.tenant_id AND attached.evidence_id = evidence.evidence_id
  AND attached.target_kind = 'run_id';
CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence FOR EACH ROW
WHEN (NOT (
    OLD.payload IS NOT NULL AND NEW.payload IS NULL
    AND NEW.payload_salt IS NULL AND NEW.payload_removed_at IS NOT NULL
    AND (NEW.tenant_id, NEW.evidence_id, NEW.evidence_type, NEW.captured_at, NEW.system,
         NEW.native_id, NEW.body, NEW.user_id)
      = (OLD.tenant_id, OLD.evidence_id, OLD.evidence_type, OLD.captured_at, OLD.system,
         OLD.native_id, OLD.body, OLD.user_id)
))
EXECUTE FUNCTION charter_refuse('evidence is append-only');
CREATE INDEX evidence_by_user ON evidence (tenant_id, user_id, captured_at, evidence_id);

-- The user that a message is about; NULL for a message to the whole tenant.
ALTER TABLE outbox ADD COLUMN user_id text COLLATE "C";
UPDATE outbox SET user_id = run.user_id FROM run
WHERE run.tenant_id = outbox.tenant_id
  AND run.run_id = substring(outbox.payload FROM '"run_id":"([^"]*)"')
  AND (topic = 'run.status' OR topic LIKE 'approval.%');

CREATE INDEX colony_missions_by_user ON colony_missions (tenant_id, actor_id, created_at, mission_id);
