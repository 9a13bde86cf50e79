-- The run whose end is a request's result, and the response that says what that run came to.
ALTER TABLE request ADD COLUMN run_id TEXT;
ALTER TABLE request ADD COLUMN result TEXT;
CREATE INDEX request_awaiting ON request (tenant_id, run_id) WHERE run_id IS NOT NULL AND result IS NULL;

-- Changes that were asked for before get their results as well.
UPDATE request SET run_id = (
    SELECT run.run_id FROM run
    WHERE run.tenant_id = request.tenant_id
      AND run.run_id = CASE WHEN json_valid(request.answer)
                            THEN json_extract(request.answer, '$.metadata.run_ids[0]') END)
WHERE answer LIKE '%"plan_digest":"%';
