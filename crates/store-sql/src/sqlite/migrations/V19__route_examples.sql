-- Redacted sentences that were confirmed as routed correctly. Owners accept or reject them as examples of a document.
-- Decided rows are kept, so that a rejected sentence is not suggested again.
CREATE TABLE route_example (
    tenant_id    TEXT NOT NULL,
    example_id   TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('skill', 'playbook')),
    document     TEXT NOT NULL,
    text         TEXT NOT NULL,
    words        TEXT NOT NULL,
    source       TEXT NOT NULL,
    request_id   TEXT,
    status       TEXT NOT NULL CHECK (status IN ('suggested', 'accepted', 'rejected', 'withdrawn')),
    suggested_at INTEGER NOT NULL,
    decided_at   INTEGER,
    decided_by   TEXT,
    PRIMARY KEY (tenant_id, example_id),
    UNIQUE (tenant_id, document, kind, words),
    CHECK ((status = 'suggested') = (decided_at IS NULL)),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX route_example_by_time ON route_example (tenant_id, suggested_at, example_id);
CREATE INDEX route_example_by_status ON route_example (tenant_id, status, suggested_at, example_id);
CREATE INDEX route_example_by_document ON route_example (tenant_id, document, suggested_at, example_id);
CREATE INDEX route_example_in_force ON route_example (tenant_id, kind, document, suggested_at, example_id)
    WHERE status = 'accepted';

CREATE TRIGGER route_example_moves_forward BEFORE UPDATE ON route_example
WHEN NOT ((OLD.status = 'suggested' AND NEW.status IN ('accepted', 'rejected'))
       OR (OLD.status = 'accepted' AND NEW.status = 'withdrawn'))
  OR NEW.tenant_id <> OLD.tenant_id OR NEW.example_id <> OLD.example_id OR NEW.kind <> OLD.kind
  OR NEW.document <> OLD.document OR NEW.text <> OLD.text OR NEW.words <> OLD.words
  OR NEW.source <> OLD.source OR NEW.request_id IS NOT OLD.request_id
  OR NEW.suggested_at <> OLD.suggested_at
BEGIN SELECT RAISE(ABORT, 'a route example is decided once and its sentence never changes'); END;
