-- When a run ended: what is swept is looked up by it, and no index has a column that each step of a run changes. So
-- the indexes of a run that goes on are left alone, and its row is written beside itself.
ALTER TABLE run ADD COLUMN finished_at bigint
    GENERATED ALWAYS AS (CASE WHEN phase = 'finished' THEN updated_at END) STORED;
DROP INDEX run_finished;
CREATE INDEX run_finished ON run (finished_at) WHERE finished_at IS NOT NULL;
ALTER TABLE run SET (fillfactor = 70);

-- A claim goes from tenant to tenant and takes each one's oldest, however many wait behind them.
DROP INDEX run_claimable;
CREATE INDEX run_claimable ON run (tenant_id, created_at, run_id) WHERE phase = 'runnable';
