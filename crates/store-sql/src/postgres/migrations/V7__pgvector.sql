-- Memories' vectors in the form of the extension pgvector, from 0.8 on, where the server has it and this user may
-- install it. Without it they are searched in the process. The function is asked again at every start, so
-- that an extension which comes later is taken up.
CREATE FUNCTION charter_pgvector() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    tenant constant text := 'nullif(current_setting(''charter.tenant'', true), '''')';
    found text;
BEGIN
    IF to_regclass('memory_near') IS NOT NULL THEN
        RETURN true;
    END IF;
    SELECT coalesce(installed_version, default_version) INTO found
    FROM pg_available_extensions WHERE name = 'vector';
    IF found IS NULL OR string_to_array(split_part(found, '-', 1), '.')::int[] < ARRAY[0, 8] THEN
        RETURN false;
    END IF;
    BEGIN
        CREATE EXTENSION IF NOT EXISTS vector;
    EXCEPTION WHEN insufficient_privilege THEN
        RETURN false;
    END;
    IF to_regtype('vector') IS NULL THEN
        RETURN false;
    END IF;
    CREATE TABLE memory_near (
        tenant_id text COLLATE "C" NOT NULL,
        memory_id text COLLATE "C" NOT NULL,
        version   bigint NOT NULL,
        model     text COLLATE "C" NOT NULL,
        embedding vector CHECK (embedding IS NOT NULL),
        PRIMARY KEY (tenant_id, memory_id, version),
        FOREIGN KEY (tenant_id, memory_id, version) REFERENCES memory_vector ON DELETE CASCADE
    );
    -- Of the model that is there by default; vectors of other lengths are compared one by one.
    CREATE INDEX memory_near_384 ON memory_near
        USING hnsw ((embedding::vector(384)) vector_cosine_ops) WHERE vector_dims(embedding) = 384;
    ALTER TABLE memory_near ENABLE ROW LEVEL SECURITY;
    ALTER TABLE memory_near FORCE ROW LEVEL SECURITY;
    EXECUTE format(
        'CREATE POLICY rows_of_the_tenant ON memory_near
         USING (tenant_id = %1$s OR %1$s = ''*'') WITH CHECK (tenant_id = %1$s OR %1$s = ''*'')', tenant);
    RETURN true;
END
$$;

-- Keeps a vector where there is the extension.
CREATE FUNCTION charter_memory_near(tenant text, memory text, number bigint, of_model text, components real[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('memory_near') IS NOT NULL THEN
        EXECUTE 'INSERT INTO memory_near (tenant_id, memory_id, version, model, embedding)
                 VALUES ($1, $2, $3, $4, $5::vector)
                 ON CONFLICT (tenant_id, memory_id, version) DO UPDATE
                 SET model = excluded.model, embedding = excluded.embedding'
        USING tenant, memory, number, of_model, components;
    END IF;
END
$$;
