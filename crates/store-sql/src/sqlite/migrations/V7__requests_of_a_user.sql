-- Who asked, as a column: a user's requests are listed.

ALTER TABLE request ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
UPDATE request SET user_id = json_extract(asked, '$.user');
CREATE INDEX request_by_user ON request (tenant_id, user_id, created_at, request_id);
