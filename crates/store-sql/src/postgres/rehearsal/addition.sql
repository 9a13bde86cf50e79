-- A rehearsed layout that only adds: builds with the layout before it may open it. No release has it.

ALTER TABLE request ADD COLUMN rehearsed text;

-- How long the next rehearsed migration works: each row adds so many seconds.
CREATE TABLE rehearsal_pause (
    seconds bigint NOT NULL
);

UPDATE layout SET charter = 'rehearsed addition';
