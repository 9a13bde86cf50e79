-- How many vectors a passage has, so that they can be told apart without knowing the model.
ALTER TABLE lens_chunk ADD COLUMN parts INTEGER NOT NULL DEFAULT 0 CHECK (parts >= 0);
UPDATE lens_chunk SET parts = json_array_length(place, '$.parts') WHERE length(vectors) > 0;
