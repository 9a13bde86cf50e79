-- The second wall between tenants, behind the conditions of every statement: a connection sees and
-- writes the rows of the tenant that its setting `charter.tenant` names; none without one; all with `*`,
-- which is for what spans tenants. What is global is read by every tenant. A superuser, and a role with
-- BYPASSRLS, is not bound; the owner of the tables is.
DO $$
DECLARE
    found record;
    tenant constant text := 'nullif(current_setting(''charter.tenant'', true), '''')';
BEGIN
    FOR found IN
        SELECT c.table_name, c.column_name
        FROM information_schema.columns AS c
        JOIN information_schema.tables AS t USING (table_schema, table_name)
        WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'
          AND c.column_name IN ('tenant_id', 'scope')
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', found.table_name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', found.table_name);
        EXECUTE format(
            'CREATE POLICY rows_of_the_tenant ON %1$I
             USING (%2$I = %3$s OR %3$s = ''*'') WITH CHECK (%2$I = %3$s OR %3$s = ''*'')',
            found.table_name, found.column_name, tenant);
        EXECUTE format(
            'CREATE POLICY rows_of_everybody ON %1$I FOR SELECT USING (%2$I = '''' AND %3$s IS NOT NULL)',
            found.table_name, found.column_name, tenant);
    END LOOP;
END
$$;
