-- A rehearsed layout that removes a table: only builds with this layout may open it. No release has it.

-- Begins to write, and then works as long as `rehearsal_pause` names.
CREATE TABLE rehearsal (
    steps INTEGER NOT NULL
) STRICT;
INSERT INTO rehearsal (steps)
WITH RECURSIVE step (number) AS (
    SELECT 1
    UNION ALL
    SELECT number + 1 FROM step
    WHERE number < (SELECT 2000000 * coalesce(sum(seconds), 0) FROM rehearsal_pause)
)
SELECT count(*) FROM step;

DROP TABLE rehearsal_pause;

-- The number of this migration; its own row follows it.
UPDATE layout
SET oldest_reader = (SELECT max(version) + 1 FROM refinery_schema_history), charter = 'rehearsed break';
