-- A tenant's runs that have not finished, newest first; they are counted by the same index.
DROP INDEX run_unfinished_of_tenant;
CREATE INDEX run_unfinished_of_tenant ON run (tenant_id, created_at, run_id) WHERE phase <> 'finished';

-- Those that have, by how they ended. A run enters it once.
CREATE INDEX run_by_end ON run (tenant_id, status, created_at, run_id) WHERE phase = 'finished';
