-- Missions and their artifacts (seed 002 §14, and a table for write-back proposals). Every key leads
-- with the tenant, so that the tables can be spread by tenant.
--
-- An artifact is its canonical JSON text. What else a table says of it is compared with the text, or
-- taken out of it, by the database itself. A row of the version v0 has the fields of that form, and no
-- root metadata but what its columns say.

CREATE TABLE colony_missions (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    actor_id       TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    run_key        INTEGER NOT NULL REFERENCES run (run_key) ON DELETE CASCADE,
    state          TEXT NOT NULL,
    artifacts      INTEGER NOT NULL, -- how many, and so the place of the last one
    imported_at    INTEGER,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL, -- the envelope
    PRIMARY KEY (tenant_id, mission_id),
    UNIQUE (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'mission_envelope'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.tenant_id' IS tenant_id
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT state_is_known CHECK (state IN
        ('created', 'planned', 'prompted', 'running', 'aggregating', 'reviewing', 'awaiting_approval',
         'completed', 'rejected', 'failed', 'cancelled', 'budget_exceeded')),
    CONSTRAINT risk_is_known CHECK (payload ->> '$.risk_level' IS NOT NULL
        AND payload ->> '$.risk_level' IN ('low', 'medium', 'high', 'critical')),
    CONSTRAINT places_are_counted CHECK (artifacts >= 1 AND event >= 1)
) STRICT;
CREATE INDEX colony_missions_by_time ON colony_missions (tenant_id, created_at, mission_id);
CREATE INDEX colony_missions_by_state ON colony_missions (tenant_id, state, created_at, mission_id);
-- A run has one mission. By the run's key, which is this engine's own, as the removal of a run is.
CREATE UNIQUE INDEX colony_missions_by_run ON colony_missions (run_key);

CREATE TRIGGER colony_missions_keep_what_was_written BEFORE UPDATE ON colony_missions
WHEN NEW.tenant_id IS NOT OLD.tenant_id OR NEW.mission_id IS NOT OLD.mission_id
  OR NEW.run_key IS NOT OLD.run_key OR NEW.imported_at IS NOT OLD.imported_at
  OR NEW.event IS NOT OLD.event OR NEW.schema_version IS NOT OLD.schema_version
  OR NEW.created_at IS NOT OLD.created_at OR NEW.producer IS NOT OLD.producer
  OR NEW.payload IS NOT OLD.payload OR NEW.artifacts < OLD.artifacts
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_missions_end_once BEFORE UPDATE ON colony_missions
WHEN OLD.state IN ('completed', 'rejected', 'failed', 'cancelled', 'budget_exceeded')
 AND NEW.state <> OLD.state
BEGIN SELECT RAISE(ABORT, 'a mission that has ended stays as it ended'); END;
-- A cascade has removed the run by the time this fires.
CREATE TRIGGER colony_missions_go_with_their_run BEFORE DELETE ON colony_missions
WHEN EXISTS (SELECT 1 FROM run WHERE run_key = OLD.run_key)
BEGIN SELECT RAISE(ABORT, 'a mission is deleted only together with its run'); END;

-- The graph, byte for byte, of which colony_tasks is made. It stands apart from the mission: a mission's
-- row is written with every append, and a graph may have a thousand tasks.
CREATE TABLE colony_task_graphs (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    CONSTRAINT one_graph PRIMARY KEY (tenant_id, mission_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'mission_task_graph'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

CREATE TABLE colony_tasks (
    tenant_id  TEXT NOT NULL,
    mission_id TEXT NOT NULL,
    task_id    TEXT NOT NULL,
    place      INTEGER NOT NULL, -- in the graph, from 1
    role_type  TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.role_type') VIRTUAL,
    payload    TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, task_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT columns_are_the_payloads CHECK (payload ->> '$.task_id' IS task_id),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer'))
) STRICT;

CREATE TABLE colony_prompt_packages (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    package_id     TEXT NOT NULL,
    task_id        TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    role_type      TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.role_type') VIRTUAL,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, package_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'prompt_package'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.package_id' IS package_id
        AND payload ->> '$.task_id' IS task_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer'))
) STRICT;

CREATE TABLE colony_research_artifacts (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    artifact_id    TEXT NOT NULL,
    task_id        TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, artifact_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'research_artifact'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.artifact_id' IS artifact_id
        AND payload ->> '$.task_id' IS task_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

CREATE TABLE colony_librarian_passes (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    pass_id        TEXT NOT NULL,
    task_id        TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, pass_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'librarian_pass'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.pass_id' IS pass_id
        AND payload ->> '$.task_id' IS task_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

CREATE TABLE colony_worker_results (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    result_id      TEXT NOT NULL,
    task_id        TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    confidence     REAL GENERATED ALWAYS AS (payload ->> '$.confidence') VIRTUAL,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, result_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'worker_result'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.result_id' IS result_id
        AND payload ->> '$.task_id' IS task_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT confidence_is_in_range CHECK (schema_version = 'v0' OR
        (confidence IS NOT NULL AND confidence BETWEEN 0 AND 1))
) STRICT;

CREATE TABLE colony_aggregation_packets (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    packet_id      TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, packet_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'aggregation_packet'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.packet_id' IS packet_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

CREATE TABLE colony_review_packets (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    packet_id      TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    review_status  TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.review_status') VIRTUAL,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, packet_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'review_packet'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.packet_id' IS packet_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT status_is_known CHECK (review_status IN ('approved', 'approved_with_edits', 'rejected')
        OR (schema_version = 'v0' AND review_status = 'needs_edits')),
    CONSTRAINT a_rejected_review_has_no_output CHECK (schema_version = 'v0'
        OR (review_status = 'rejected') = (payload -> '$.approved_output' IS NULL)),
    CONSTRAINT one_review UNIQUE (tenant_id, mission_id)
) STRICT;

CREATE TABLE colony_policy_decisions (
    tenant_id      TEXT NOT NULL,
    mission_id     TEXT NOT NULL,
    decision_id    TEXT NOT NULL,
    actor_id       TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    decision_type  TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.decision_type') VIRTUAL,
    subject        TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.subject') VIRTUAL,
    decision       TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.decision') VIRTUAL,
    place          INTEGER NOT NULL,
    event          INTEGER NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    producer       TEXT NOT NULL,
    payload        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, decision_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'policy_decision'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.decision_id' IS decision_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT decision_is_known CHECK (decision IN ('allow', 'deny'))
) STRICT;

CREATE TABLE colony_writeback_proposals (
    tenant_id          TEXT NOT NULL,
    mission_id         TEXT NOT NULL,
    proposal_id        TEXT NOT NULL,
    actor_id           TEXT GENERATED ALWAYS AS (payload ->> '$.actor_id') STORED,
    target_entity_type TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.target_entity_type') VIRTUAL,
    target_entity_id   TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.target_entity_id') VIRTUAL,
    action_type        TEXT NOT NULL GENERATED ALWAYS AS (payload ->> '$.action_type') VIRTUAL,
    place              INTEGER NOT NULL,
    event              INTEGER NOT NULL,
    schema_version     TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    producer           TEXT NOT NULL,
    payload            TEXT NOT NULL,
    PRIMARY KEY (tenant_id, mission_id, proposal_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT payload_is_json CHECK (json_valid(payload)),
    CONSTRAINT version_is_one CHECK (schema_version GLOB 'v[0-9]' OR schema_version GLOB 'v[1-9][0-9]'),
    CONSTRAINT columns_are_the_payloads CHECK (
        payload ->> '$.schema_name' IS 'writeback_proposal'
        AND payload ->> '$.schema_version' IS schema_version
        AND payload ->> '$.mission_id' IS mission_id
        AND payload ->> '$.proposal_id' IS proposal_id
        AND payload ->> '$.producer' IS producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (payload ->> '$.tenant_id' IS tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
) STRICT;

-- Nothing is changed, and nothing goes but with its mission.
CREATE TRIGGER colony_task_graphs_are_never_changed BEFORE UPDATE ON colony_task_graphs
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_task_graphs_go_with_their_mission BEFORE DELETE ON colony_task_graphs
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_tasks_are_never_changed BEFORE UPDATE ON colony_tasks
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_tasks_go_with_their_mission BEFORE DELETE ON colony_tasks
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_prompt_packages_are_never_changed BEFORE UPDATE ON colony_prompt_packages
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_prompt_packages_go_with_their_mission BEFORE DELETE ON colony_prompt_packages
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_research_artifacts_are_never_changed BEFORE UPDATE ON colony_research_artifacts
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_research_artifacts_go_with_their_mission BEFORE DELETE ON colony_research_artifacts
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_librarian_passes_are_never_changed BEFORE UPDATE ON colony_librarian_passes
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_librarian_passes_go_with_their_mission BEFORE DELETE ON colony_librarian_passes
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_worker_results_are_never_changed BEFORE UPDATE ON colony_worker_results
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_worker_results_go_with_their_mission BEFORE DELETE ON colony_worker_results
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_aggregation_packets_are_never_changed BEFORE UPDATE ON colony_aggregation_packets
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_aggregation_packets_go_with_their_mission BEFORE DELETE ON colony_aggregation_packets
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_review_packets_are_never_changed BEFORE UPDATE ON colony_review_packets
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_review_packets_go_with_their_mission BEFORE DELETE ON colony_review_packets
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_policy_decisions_are_never_changed BEFORE UPDATE ON colony_policy_decisions
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_policy_decisions_go_with_their_mission BEFORE DELETE ON colony_policy_decisions
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;
CREATE TRIGGER colony_writeback_proposals_are_never_changed BEFORE UPDATE ON colony_writeback_proposals
BEGIN SELECT RAISE(ABORT, 'an artifact is never changed'); END;
CREATE TRIGGER colony_writeback_proposals_go_with_their_mission BEFORE DELETE ON colony_writeback_proposals
WHEN EXISTS (SELECT 1 FROM colony_missions
             WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id)
BEGIN SELECT RAISE(ABORT, 'an artifact is deleted only together with its mission'); END;

-- Every artifact of every mission, in one form.
CREATE VIEW colony_artifacts
    (tenant_id, mission_id, kind, artifact_id, task_id, place, event, schema_version, created_at,
     producer, payload) AS
SELECT tenant_id, mission_id, 'mission_envelope', mission_id, NULL, 1, event,
       schema_version, created_at, producer, payload
FROM colony_missions
UNION ALL
SELECT tenant_id, mission_id, 'mission_task_graph', mission_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_task_graphs
UNION ALL
SELECT tenant_id, mission_id, 'prompt_package', package_id, task_id, place, event,
       schema_version, created_at, producer, payload
FROM colony_prompt_packages
UNION ALL
SELECT tenant_id, mission_id, 'research_artifact', artifact_id, task_id, place, event,
       schema_version, created_at, producer, payload
FROM colony_research_artifacts
UNION ALL
SELECT tenant_id, mission_id, 'librarian_pass', pass_id, task_id, place, event,
       schema_version, created_at, producer, payload
FROM colony_librarian_passes
UNION ALL
SELECT tenant_id, mission_id, 'worker_result', result_id, task_id, place, event,
       schema_version, created_at, producer, payload
FROM colony_worker_results
UNION ALL
SELECT tenant_id, mission_id, 'aggregation_packet', packet_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_aggregation_packets
UNION ALL
SELECT tenant_id, mission_id, 'review_packet', packet_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_review_packets
UNION ALL
SELECT tenant_id, mission_id, 'policy_decision', decision_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_policy_decisions
UNION ALL
SELECT tenant_id, mission_id, 'writeback_proposal', proposal_id, NULL, place, event,
       schema_version, created_at, producer, payload
FROM colony_writeback_proposals;
