-- Approvals, and when a waiting run wakes by itself.

ALTER TABLE run ADD COLUMN status TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN wake_at INTEGER;
CREATE INDEX run_by_wake ON run (wake_at) WHERE phase = 'waiting' AND wake_at IS NOT NULL;

CREATE TABLE approval (
    approval_id  TEXT PRIMARY KEY,
    run_key      INTEGER NOT NULL REFERENCES run (run_key) ON DELETE CASCADE,
    tenant_id    TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'consumed', 'lapsed')),
    requested_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    body         TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approval_by_tenant ON approval (tenant_id, requested_at, approval_id);
CREATE INDEX approval_by_state ON approval (tenant_id, state, requested_at, approval_id);
CREATE INDEX approval_by_run ON approval (run_key);

CREATE TRIGGER approval_moves_forward BEFORE UPDATE ON approval
WHEN NOT ((OLD.state = 'pending' AND NEW.state IN ('approved', 'rejected', 'lapsed'))
       OR (OLD.state = 'approved' AND NEW.state IN ('consumed', 'lapsed')))
  OR NEW.approval_id <> OLD.approval_id OR NEW.run_key <> OLD.run_key
  OR NEW.tenant_id <> OLD.tenant_id OR NEW.expires_at <> OLD.expires_at
BEGIN SELECT RAISE(ABORT, 'an approval is decided once and used once'); END;
