-- API keys by the SHA-256 of their text. A key is never taken out by its end: who was let in, by whom and
-- until when stays on record.

CREATE TABLE api_key (
    tenant_id    TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    user_id      TEXT NOT NULL,
    rights       TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    revoked_by   TEXT,
    rotated_from TEXT,
    PRIMARY KEY (tenant_id, key_id),
    -- One key takes the place of another.
    UNIQUE (tenant_id, rotated_from),
    CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_by_time ON api_key (tenant_id, created_at, key_id);

CREATE TRIGGER api_key_stays_what_it_is BEFORE UPDATE ON api_key
WHEN NEW.tenant_id <> OLD.tenant_id OR NEW.key_id <> OLD.key_id OR NEW.name <> OLD.name
  OR NEW.hash <> OLD.hash OR NEW.user_id <> OLD.user_id OR NEW.rights <> OLD.rights
  OR NEW.created_by <> OLD.created_by OR NEW.created_at <> OLD.created_at
  OR NEW.rotated_from IS NOT OLD.rotated_from
BEGIN SELECT RAISE(ABORT, 'a key stays what it was made'); END;

CREATE TRIGGER api_key_ends_for_good BEFORE UPDATE ON api_key
WHEN (OLD.revoked_at IS NOT NULL AND (NEW.revoked_at IS NOT OLD.revoked_at OR NEW.revoked_by IS NOT OLD.revoked_by))
  OR (OLD.expires_at IS NOT NULL AND (NEW.expires_at IS NULL OR NEW.expires_at > OLD.expires_at))
BEGIN SELECT RAISE(ABORT, 'a key that ends is not given more time'); END;
