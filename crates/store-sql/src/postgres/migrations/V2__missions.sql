-- Missions and their artifacts (seed 002 §14, and a table for write-back proposals). Every key leads
-- with the tenant, so that the tables can be spread by tenant.
--
-- An artifact is its canonical JSON text, byte for byte, and beside it the same as `jsonb`, to be asked
-- and constrained. What else a table says of it is compared with it, or taken out of it, by the database
-- itself. A row of the version v0 has the fields of that form, and no root metadata but what its columns
-- say.

CREATE TABLE colony_missions (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    run_id         text COLLATE "C" NOT NULL,
    state          text COLLATE "C" NOT NULL,
    artifacts      bigint NOT NULL, -- how many, and so the place of the last one
    imported_at    bigint,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL, -- the envelope
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id),
    UNIQUE (tenant_id, mission_id, actor_id),
    -- A run has one mission.
    UNIQUE (tenant_id, run_id),
    FOREIGN KEY (tenant_id, run_id) REFERENCES run ON DELETE CASCADE,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'mission_envelope'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT state_is_known CHECK (state IN
        ('created', 'planned', 'prompted', 'running', 'aggregating', 'reviewing', 'awaiting_approval',
         'completed', 'rejected', 'failed', 'cancelled', 'budget_exceeded')),
    CONSTRAINT risk_is_known CHECK (document ->> 'risk_level' IS NOT NULL
        AND document ->> 'risk_level' IN ('low', 'medium', 'high', 'critical')),
    CONSTRAINT places_are_counted CHECK (artifacts >= 1 AND event >= 1)
);
CREATE INDEX colony_missions_by_time ON colony_missions (tenant_id, created_at, mission_id);
CREATE INDEX colony_missions_by_state ON colony_missions (tenant_id, state, created_at, mission_id);
CREATE TRIGGER colony_missions_keep_what_was_written BEFORE UPDATE ON colony_missions FOR EACH ROW
WHEN ((NEW.tenant_id, NEW.mission_id, NEW.run_id, NEW.event, NEW.schema_version, NEW.created_at,
       NEW.producer, NEW.payload)
   <> (OLD.tenant_id, OLD.mission_id, OLD.run_id, OLD.event, OLD.schema_version, OLD.created_at,
       OLD.producer, OLD.payload)
   OR NEW.imported_at IS DISTINCT FROM OLD.imported_at OR NEW.artifacts < OLD.artifacts)
EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_missions_end_once BEFORE UPDATE ON colony_missions FOR EACH ROW
WHEN (OLD.state IN ('completed', 'rejected', 'failed', 'cancelled', 'budget_exceeded')
  AND NEW.state <> OLD.state)
EXECUTE FUNCTION charter_refuse('a mission that has ended stays as it ended');
CREATE TRIGGER colony_missions_go_with_their_run BEFORE DELETE ON colony_missions
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_run('a mission is deleted only together with its run');
CREATE TRIGGER colony_missions_are_not_emptied BEFORE TRUNCATE ON colony_missions
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('a mission is deleted only together with its run');

-- The graph, byte for byte, of which colony_tasks is made. It stands apart from the mission: a mission's
-- row is written with every append, and a graph may have a thousand tasks.
CREATE TABLE colony_task_graphs (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    CONSTRAINT one_graph PRIMARY KEY (tenant_id, mission_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'mission_task_graph'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

CREATE TABLE colony_tasks (
    tenant_id  text COLLATE "C" NOT NULL,
    mission_id text COLLATE "C" NOT NULL,
    task_id    text COLLATE "C" NOT NULL,
    place      bigint NOT NULL, -- in the graph, from 1
    role_type  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'role_type') STORED,
    payload    text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, task_id),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    CONSTRAINT columns_are_the_payloads CHECK (document ->> 'task_id' IS NOT DISTINCT FROM task_id),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer'))
);

CREATE TABLE colony_prompt_packages (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    package_id     text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    role_type      text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'role_type') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, package_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'prompt_package'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'package_id' IS NOT DISTINCT FROM package_id
        AND document ->> 'task_id' IS NOT DISTINCT FROM task_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT role_is_known CHECK (role_type IN
        ('planner', 'prompt_master', 'researcher', 'librarian', 'worker', 'aggregator', 'reviewer'))
);

CREATE TABLE colony_research_artifacts (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    artifact_id    text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, artifact_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'research_artifact'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'artifact_id' IS NOT DISTINCT FROM artifact_id
        AND document ->> 'task_id' IS NOT DISTINCT FROM task_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

CREATE TABLE colony_librarian_passes (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    pass_id        text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, pass_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'librarian_pass'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'pass_id' IS NOT DISTINCT FROM pass_id
        AND document ->> 'task_id' IS NOT DISTINCT FROM task_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

CREATE TABLE colony_worker_results (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    result_id      text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    confidence     double precision GENERATED ALWAYS AS ((payload::jsonb ->> 'confidence')::double precision) STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, result_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    FOREIGN KEY (tenant_id, mission_id, task_id) REFERENCES colony_tasks,
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'worker_result'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'result_id' IS NOT DISTINCT FROM result_id
        AND document ->> 'task_id' IS NOT DISTINCT FROM task_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT confidence_is_in_range CHECK (schema_version = 'v0' OR
        (confidence IS NOT NULL AND confidence BETWEEN 0 AND 1))
);

CREATE TABLE colony_aggregation_packets (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    packet_id      text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, packet_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'aggregation_packet'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'packet_id' IS NOT DISTINCT FROM packet_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

CREATE TABLE colony_review_packets (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    packet_id      text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    review_status  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'review_status') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, packet_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'review_packet'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'packet_id' IS NOT DISTINCT FROM packet_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT status_is_known CHECK (review_status IN ('approved', 'approved_with_edits', 'rejected')
        OR (schema_version = 'v0' AND review_status = 'needs_edits')),
    CONSTRAINT a_rejected_review_has_no_output CHECK (schema_version = 'v0'
        OR (review_status = 'rejected') = (document -> 'approved_output' IS NULL)),
    CONSTRAINT one_review UNIQUE (tenant_id, mission_id)
);

CREATE TABLE colony_policy_decisions (
    tenant_id      text COLLATE "C" NOT NULL,
    mission_id     text COLLATE "C" NOT NULL,
    decision_id    text COLLATE "C" NOT NULL,
    actor_id       text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    decision_type  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'decision_type') STORED,
    subject        text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'subject') STORED,
    decision       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'decision') STORED,
    place          bigint NOT NULL,
    event          bigint NOT NULL,
    schema_version text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    producer       text COLLATE "C" NOT NULL,
    payload        text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, decision_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'policy_decision'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'decision_id' IS NOT DISTINCT FROM decision_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1),
    CONSTRAINT decision_is_known CHECK (decision IN ('allow', 'deny'))
);

CREATE TABLE colony_writeback_proposals (
    tenant_id          text COLLATE "C" NOT NULL,
    mission_id         text COLLATE "C" NOT NULL,
    proposal_id        text COLLATE "C" NOT NULL,
    actor_id           text COLLATE "C" GENERATED ALWAYS AS (payload::jsonb ->> 'actor_id') STORED,
    target_entity_type text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'target_entity_type') STORED,
    target_entity_id   text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'target_entity_id') STORED,
    action_type        text COLLATE "C" NOT NULL GENERATED ALWAYS AS (payload::jsonb ->> 'action_type') STORED,
    place              bigint NOT NULL,
    event              bigint NOT NULL,
    schema_version     text COLLATE "C" NOT NULL,
    created_at         bigint NOT NULL,
    producer           text COLLATE "C" NOT NULL,
    payload            text NOT NULL,
    document       jsonb NOT NULL GENERATED ALWAYS AS (payload::jsonb) STORED,
    PRIMARY KEY (tenant_id, mission_id, proposal_id),
    UNIQUE (tenant_id, mission_id, place),
    FOREIGN KEY (tenant_id, mission_id) REFERENCES colony_missions ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, mission_id, actor_id)
        REFERENCES colony_missions (tenant_id, mission_id, actor_id),
    CONSTRAINT version_is_one CHECK (schema_version ~ '^v([0-9]|[1-9][0-9])$'),
    CONSTRAINT columns_are_the_payloads CHECK (
        document ->> 'schema_name' IS NOT DISTINCT FROM 'writeback_proposal'
        AND document ->> 'schema_version' IS NOT DISTINCT FROM schema_version
        AND document ->> 'mission_id' IS NOT DISTINCT FROM mission_id
        AND document ->> 'proposal_id' IS NOT DISTINCT FROM proposal_id
        AND document ->> 'producer' IS NOT DISTINCT FROM producer),
    CONSTRAINT root_metadata_is_stamped CHECK (schema_version = 'v0'
        OR (document ->> 'tenant_id' IS NOT DISTINCT FROM tenant_id AND actor_id IS NOT NULL)),
    CONSTRAINT places_are_counted CHECK (place > 1 AND event >= 1)
);

-- Nothing is changed, and nothing goes but with its mission.
CREATE FUNCTION charter_goes_with_its_mission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM colony_missions
               WHERE tenant_id = OLD.tenant_id AND mission_id = OLD.mission_id) THEN
        RAISE EXCEPTION 'an artifact is deleted only together with its mission'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER colony_task_graphs_are_never_changed BEFORE UPDATE ON colony_task_graphs
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_task_graphs_go_with_their_mission BEFORE DELETE ON colony_task_graphs
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_task_graphs_are_not_emptied BEFORE TRUNCATE ON colony_task_graphs
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_tasks_are_never_changed BEFORE UPDATE ON colony_tasks
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_tasks_go_with_their_mission BEFORE DELETE ON colony_tasks
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_tasks_are_not_emptied BEFORE TRUNCATE ON colony_tasks
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_prompt_packages_are_never_changed BEFORE UPDATE ON colony_prompt_packages
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_prompt_packages_go_with_their_mission BEFORE DELETE ON colony_prompt_packages
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_prompt_packages_are_not_emptied BEFORE TRUNCATE ON colony_prompt_packages
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_research_artifacts_are_never_changed BEFORE UPDATE ON colony_research_artifacts
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_research_artifacts_go_with_their_mission BEFORE DELETE ON colony_research_artifacts
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_research_artifacts_are_not_emptied BEFORE TRUNCATE ON colony_research_artifacts
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_librarian_passes_are_never_changed BEFORE UPDATE ON colony_librarian_passes
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_librarian_passes_go_with_their_mission BEFORE DELETE ON colony_librarian_passes
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_librarian_passes_are_not_emptied BEFORE TRUNCATE ON colony_librarian_passes
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_worker_results_are_never_changed BEFORE UPDATE ON colony_worker_results
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_worker_results_go_with_their_mission BEFORE DELETE ON colony_worker_results
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_worker_results_are_not_emptied BEFORE TRUNCATE ON colony_worker_results
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_aggregation_packets_are_never_changed BEFORE UPDATE ON colony_aggregation_packets
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_aggregation_packets_go_with_their_mission BEFORE DELETE ON colony_aggregation_packets
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_aggregation_packets_are_not_emptied BEFORE TRUNCATE ON colony_aggregation_packets
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_review_packets_are_never_changed BEFORE UPDATE ON colony_review_packets
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_review_packets_go_with_their_mission BEFORE DELETE ON colony_review_packets
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_review_packets_are_not_emptied BEFORE TRUNCATE ON colony_review_packets
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_policy_decisions_are_never_changed BEFORE UPDATE ON colony_policy_decisions
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_policy_decisions_go_with_their_mission BEFORE DELETE ON colony_policy_decisions
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_policy_decisions_are_not_emptied BEFORE TRUNCATE ON colony_policy_decisions
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');
CREATE TRIGGER colony_writeback_proposals_are_never_changed BEFORE UPDATE ON colony_writeback_proposals
FOR EACH ROW EXECUTE FUNCTION charter_refuse('an artifact is never changed');
CREATE TRIGGER colony_writeback_proposals_go_with_their_mission BEFORE DELETE ON colony_writeback_proposals
FOR EACH ROW EXECUTE FUNCTION charter_goes_with_its_mission();
CREATE TRIGGER colony_writeback_proposals_are_not_emptied BEFORE TRUNCATE ON colony_writeback_proposals
FOR EACH STATEMENT EXECUTE FUNCTION charter_refuse('an artifact is deleted only together with its mission');

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
