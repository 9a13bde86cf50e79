-- Who answers an open request, and until when others leave it to that process.
ALTER TABLE request ADD COLUMN holder TEXT;
ALTER TABLE request ADD COLUMN held_until INTEGER;
