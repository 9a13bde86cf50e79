-- How many vectors a passage has, so that they can be told apart without knowing the model.
ALTER TABLE lens_chunk ADD COLUMN parts bigint NOT NULL DEFAULT 0 CHECK (parts >= 0);
UPDATE lens_chunk SET parts = jsonb_array_length(place::jsonb -> 'parts') WHERE octet_length(vectors) > 0;

-- A table of vectors that are searched, whose column `owner` says whose they are: with an index for those of the
-- model that is there by default (vectors of other lengths are compared one by one), and the wall around tenants.
CREATE FUNCTION charter_near_table(near text, owner text, columns text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tenant constant text := 'nullif(current_setting(''charter.tenant'', true), '''')';
BEGIN
    IF to_regclass(near) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I (%s, embedding vector CHECK (embedding IS NOT NULL))', near, columns);
    EXECUTE format(
        'CREATE INDEX %I ON %I USING hnsw ((embedding::vector(384)) vector_cosine_ops)
         WHERE vector_dims(embedding) = 384', near || '_384', near);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', near);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', near);
    EXECUTE format(
        'CREATE POLICY rows_of_the_tenant ON %1$I
         USING (%2$I = %3$s OR %3$s = ''*'') WITH CHECK (%2$I = %3$s OR %3$s = ''*'')', near, owner, tenant);
    EXECUTE format(
        'CREATE POLICY rows_of_everybody ON %1$I FOR SELECT USING (%2$I = '''' AND %3$s IS NOT NULL)',
        near, owner, tenant);
END
$$;

-- Takes pgvector up, from 0.8 on, where the server has it and this user may install it. It is asked at every
-- start, so that an extension which comes later is taken up.
CREATE OR REPLACE FUNCTION charter_pgvector() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    SELECT coalesce(installed_version, default_version) INTO found
    FROM pg_available_extensions WHERE name = 'vector';
    IF found IS NULL OR string_to_array(split_part(found, '-', 1), '.')::int[] < ARRAY[0, 8] THEN
        RETURN false;
    END IF;
    IF to_regtype('vector') IS NULL THEN
        BEGIN
            CREATE EXTENSION IF NOT EXISTS vector;
        EXCEPTION WHEN insufficient_privilege THEN
            RETURN false;
        END;
    END IF;
    IF to_regtype('vector') IS NULL THEN
        RETURN false;
    END IF;
    PERFORM charter_near_table('memory_near', 'tenant_id',
        'tenant_id text COLLATE "C", memory_id text COLLATE "C", version bigint,
         model text COLLATE "C" NOT NULL, PRIMARY KEY (tenant_id, memory_id, version),
         FOREIGN KEY (tenant_id, memory_id, version) REFERENCES memory_vector ON DELETE CASCADE');
    PERFORM charter_near_table('lens_near', 'scope',
        'scope text COLLATE "C", generation bigint, ordinal bigint, part bigint,
         PRIMARY KEY (scope, generation, ordinal, part),
         FOREIGN KEY (scope, generation, ordinal) REFERENCES lens_chunk ON DELETE CASCADE');
    RETURN true;
END
$$;

-- Keeps vectors of passages for searches, where there is the extension.
CREATE FUNCTION charter_lens_near(
    of_scope text, of_generation bigint, ordinals bigint[], parts bigint[], embeddings text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('lens_near') IS NOT NULL THEN
        EXECUTE 'INSERT INTO lens_near (scope, generation, ordinal, part, embedding)
                 SELECT $1, $2, ordinal, part, embedding::vector
                 FROM unnest($3, $4, $5) AS new (ordinal, part, embedding)
                 ON CONFLICT DO NOTHING'
        USING of_scope, of_generation, ordinals, parts, embeddings;
    END IF;
END
$$;
