-- API keys by the SHA-256 of their text. A key is never taken out by its end: who was let in, by whom and
-- until when stays on record.
CREATE TABLE api_key (
    tenant_id    text COLLATE "C" NOT NULL,
    key_id       text COLLATE "C" NOT NULL,
    name         text NOT NULL,
    hash         bytea NOT NULL CHECK (length(hash) = 32),
    user_id      text COLLATE "C" NOT NULL,
    rights       text NOT NULL,
    created_by   text COLLATE "C" NOT NULL,
    created_at   bigint NOT NULL,
    expires_at   bigint,
    last_used_at bigint,
    revoked_at   bigint,
    revoked_by   text COLLATE "C",
    rotated_from text COLLATE "C",
    PRIMARY KEY (tenant_id, key_id),
    -- One key takes the place of another.
    UNIQUE (tenant_id, rotated_from),
    CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
-- Not unique, so that it needs no tenant: who presents a key does not say whose it is. Two keys of 256
-- random bits do not meet.
CREATE INDEX api_key_by_hash ON api_key (hash);
CREATE INDEX api_key_by_time ON api_key (tenant_id, created_at, key_id);

CREATE TRIGGER api_key_stays_what_it_is BEFORE UPDATE ON api_key FOR EACH ROW
WHEN ((NEW.tenant_id, NEW.key_id, NEW.name, NEW.hash, NEW.user_id, NEW.rights, NEW.created_by, NEW.created_at)
   <> (OLD.tenant_id, OLD.key_id, OLD.name, OLD.hash, OLD.user_id, OLD.rights, OLD.created_by, OLD.created_at)
   OR NEW.rotated_from IS DISTINCT FROM OLD.rotated_from)
EXECUTE FUNCTION charter_refuse('a key stays what it was made');
CREATE TRIGGER api_key_ends_for_good BEFORE UPDATE ON api_key FOR EACH ROW
WHEN ((OLD.revoked_at IS NOT NULL
       AND (NEW.revoked_at IS DISTINCT FROM OLD.revoked_at OR NEW.revoked_by IS DISTINCT FROM OLD.revoked_by))
   OR (OLD.expires_at IS NOT NULL AND (NEW.expires_at IS NULL OR NEW.expires_at > OLD.expires_at)))
EXECUTE FUNCTION charter_refuse('a key that ends is not given more time');

-- The second wall, as V4 has it for the tables before.
ALTER TABLE api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_key FORCE ROW LEVEL SECURITY;
CREATE POLICY rows_of_the_tenant ON api_key
    USING (tenant_id = nullif(current_setting('charter.tenant', true), '')
           OR nullif(current_setting('charter.tenant', true), '') = '*')
    WITH CHECK (tenant_id = nullif(current_setting('charter.tenant', true), '')
                OR nullif(current_setting('charter.tenant', true), '') = '*');
