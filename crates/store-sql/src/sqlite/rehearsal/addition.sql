-- A rehearsed layout that only adds: builds with the layout before it may open it. No release has it.

ALTER TABLE request ADD COLUMN rehearsed TEXT;

-- How long the next rehearsed migration works: each row adds about so many seconds.
CREATE TABLE rehearsal_pause (
    seconds INTEGER NOT NULL
) STRICT;

UPDATE layout SET charter = 'rehearsed addition';
