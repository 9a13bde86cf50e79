-- Operators list the requests of the whole tenant.
CREATE INDEX request_by_tenant ON request (tenant_id, created_at, request_id);
