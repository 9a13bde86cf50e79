-- Redacted sentences that were confirmed as routed correctly. Owners accept or reject them as examples of a document.
-- Decided rows are kept, so that a rejected sentence is not suggested again.
CREATE TABLE route_example (
    tenant_id    text COLLATE "C" NOT NULL,
    example_id   text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL CHECK (kind IN ('skill', 'playbook')),
    document     text COLLATE "C" NOT NULL,
    text         text NOT NULL,
    words        text COLLATE "C" NOT NULL,
    source       text NOT NULL,
    request_id   text COLLATE "C",
    status       text COLLATE "C" NOT NULL CHECK (status IN ('suggested', 'accepted', 'rejected', 'withdrawn')),
    suggested_at bigint NOT NULL,
    decided_at   bigint,
    decided_by   text COLLATE "C",
    PRIMARY KEY (tenant_id, example_id),
    UNIQUE (tenant_id, document, kind, words),
    CHECK ((status = 'suggested') = (decided_at IS NULL)),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL))
);
CREATE INDEX route_example_by_time ON route_example (tenant_id, suggested_at, example_id);
CREATE INDEX route_example_by_status ON route_example (tenant_id, status, suggested_at, example_id);
CREATE INDEX route_example_by_document ON route_example (tenant_id, document, suggested_at, example_id);
CREATE INDEX route_example_in_force ON route_example (tenant_id, kind, document, suggested_at, example_id)
    WHERE status = 'accepted';

CREATE TRIGGER route_example_moves_forward BEFORE UPDATE ON route_example FOR EACH ROW
WHEN (NOT ((OLD.status = 'suggested' AND NEW.status IN ('accepted', 'rejected'))
        OR (OLD.status = 'accepted' AND NEW.status = 'withdrawn'))
   OR (NEW.tenant_id, NEW.example_id, NEW.kind, NEW.document, NEW.text, NEW.words, NEW.source, NEW.suggested_at)
   <> (OLD.tenant_id, OLD.example_id, OLD.kind, OLD.document, OLD.text, OLD.words, OLD.source, OLD.suggested_at)
   OR NEW.request_id IS DISTINCT FROM OLD.request_id)
EXECUTE FUNCTION charter_refuse('a route example is decided once and its sentence never changes');

-- Row-level security, as V4 has it for earlier tables.
ALTER TABLE route_example ENABLE ROW LEVEL SECURITY;
ALTER TABLE route_example FORCE ROW LEVEL SECURITY;
CREATE POLICY rows_of_the_tenant ON route_example
    USING (tenant_id = nullif(current_setting('charter.tenant', true), '')
           OR nullif(current_setting('charter.tenant', true), '') = '*')
    WITH CHECK (tenant_id = nullif(current_setting('charter.tenant', true), '')
                OR nullif(current_setting('charter.tenant', true), '') = '*');
