-- Look-ups that the plans of a filled database showed to read a whole table.

-- Runs that have not ended, by their id: what a process that starts walks through. With the tenant, so
-- that a statement about one tenant's run which the server gives this index enters it by the tenant too.
CREATE INDEX run_unfinished ON run (run_id, tenant_id) WHERE phase <> 'finished';

-- Whether any key still lets somebody in, where most have ended.
CREATE INDEX api_key_not_revoked ON api_key (expires_at) WHERE revoked_at IS NULL;
