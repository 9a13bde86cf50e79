-- A tenant's runs that have not finished are counted before it begins another.
CREATE INDEX run_unfinished_of_tenant ON run (tenant_id) WHERE phase <> 'finished';
