-- Spreads Charter's tables over the nodes of a Citus cluster by tenant. Meant for a database with the schema
-- and without rows, by the tables' owner, after `CREATE EXTENSION citus`. It was never run on Citus: the test
-- `crates/store-sql/tests/it/postgres/distribution.rs` compares it with the schema, no more. What stands in the way of
-- using it is in docs/operate/replicas.md ("Spreading tenants over nodes").

BEGIN;

-- Triggers keep journals, evidence and approvals from being changed. Citus refuses a distributed table that has
-- any, unless it is told to leave them to the shards.
SET LOCAL citus.enable_unsafe_triggers = on;

-- Of no tenant, small, read by every node: a copy on each. Of these `run_tenant` and `lease` are written with
-- every run, which then waits for all nodes.
SELECT create_reference_table('layout');
SELECT create_reference_table('catalogue');
SELECT create_reference_table('agent_skill_index');
SELECT create_reference_table('calibration');
SELECT create_reference_table('embedding');
SELECT create_reference_table('notification_position');
SELECT create_reference_table('outbox_numbers');
SELECT create_reference_table('run_tenant');
SELECT create_reference_table('lease');

-- Runs, and what is with them, by tenant; all in one group, so that a tenant's rows stand on one node.
SELECT create_distributed_table('run', 'tenant_id');
SELECT create_distributed_table('journal_event', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('approval', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('approval_call', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('approval_call_place', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('outbox', 'tenant_id', colocate_with => 'run');

-- Requests and conversations.
SELECT create_distributed_table('tag', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('tool_content', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('request', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('session', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('turn', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('api_key', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('connected_account', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('console_session', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('route_example', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('schedule', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('schedule_occurrence', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('notification', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('used_signature', 'tenant_id', colocate_with => 'run');

-- Evidence and its log.
SELECT create_distributed_table('evidence', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('evidence_attachment', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('evidence_log', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('evidence_leaf', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('evidence_node', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('evidence_checkpoint', 'tenant_id', colocate_with => 'run');

-- Memories. `memory_near`, and `lens_near` below, are there where the extension pgvector is.
SELECT create_distributed_table('memory_tenant', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('memory', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('memory_version', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('memory_vector', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('memory_near', 'tenant_id', colocate_with => 'run')
WHERE to_regclass('memory_near') IS NOT NULL;

-- Missions and their artifacts.
SELECT create_distributed_table('colony_missions', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_task_graphs', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_tasks', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_prompt_packages', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_research_artifacts', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_librarian_passes', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_worker_results', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_aggregation_packets', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_review_packets', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_policy_decisions', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('colony_writeback_proposals', 'tenant_id', colocate_with => 'run');
SELECT create_distributed_table('mission_assignment', 'tenant_id', colocate_with => 'run');

-- What has a scope: '' for everybody's or the tenant's id. Everybody's stands on one node.
SELECT create_distributed_table('package_change', 'scope', colocate_with => 'run');
SELECT create_distributed_table('package', 'scope', colocate_with => 'run');
SELECT create_distributed_table('package_version', 'scope', colocate_with => 'run');
SELECT create_distributed_table('package_file', 'scope', colocate_with => 'run');
SELECT create_distributed_table('document', 'scope', colocate_with => 'run');
SELECT create_distributed_table('document_change', 'scope', colocate_with => 'run');
SELECT create_distributed_table('lens_index', 'scope', colocate_with => 'run');
SELECT create_distributed_table('lens_chunk', 'scope', colocate_with => 'run');
SELECT create_distributed_table('lens_near', 'scope', colocate_with => 'run')
WHERE to_regclass('lens_near') IS NOT NULL;
SELECT create_distributed_table('agent_skill', 'scope', colocate_with => 'run');
SELECT create_distributed_table('agent_skill_vector', 'scope', colocate_with => 'run');
SELECT create_distributed_table('agent_skill_instruction', 'scope', colocate_with => 'run');
SELECT create_distributed_table('agent_skill_content', 'scope', colocate_with => 'run');
SELECT create_distributed_table('agent_skill_file', 'scope', colocate_with => 'run');

-- `refinery_schema_history` stays on the coordinator.

COMMIT;
