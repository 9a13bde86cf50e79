-- A rehearsed layout that removes a table: only builds with this layout may open it. No release has it.

-- Begins to write, and then works as long as `rehearsal_pause` names.
CREATE TABLE rehearsal (
    steps bigint NOT NULL
);
SELECT pg_sleep(CAST(coalesce(sum(seconds), 0) AS double precision)) FROM rehearsal_pause;

DROP TABLE rehearsal_pause;

-- The number of this migration; its own row follows it.
UPDATE layout
SET oldest_reader = (SELECT max(version) + 1 FROM refinery_schema_history), charter = 'rehearsed break';
