-- Who answers an open request, and until when others leave it to that process.
ALTER TABLE request ADD COLUMN holder text COLLATE "C";
ALTER TABLE request ADD COLUMN held_until bigint;
CREATE INDEX request_held ON request (holder) WHERE answer IS NULL;
