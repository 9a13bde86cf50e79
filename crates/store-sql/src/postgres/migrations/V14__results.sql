-- The run whose end is a request's result, and the response that says what that run came to.
ALTER TABLE request ADD COLUMN run_id text COLLATE "C";
ALTER TABLE request ADD COLUMN result text;
CREATE INDEX request_awaiting ON request (tenant_id, run_id) WHERE run_id IS NOT NULL AND result IS NULL;

-- Changes that were asked for before get their results as well. The run's id is taken out of
-- the text: as JSON it need not be one that this database can hold.
UPDATE request SET run_id = run.run_id FROM run
WHERE run.tenant_id = request.tenant_id
  AND request.answer LIKE '%"plan_digest":"%'
  AND run.run_id = substring(request.answer FROM '"run_ids":\["(run-[0-9a-f-]+)"\]');
