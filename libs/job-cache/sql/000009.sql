-- What was refused is kept until somebody drops it, with what it takes to try it once more.
ALTER TABLE brine.quarantine
  -- Where it came from: the subject, and when the stream stored it.
  ADD COLUMN subject text NOT NULL DEFAULT '',
  ADD COLUMN stored_at timestamptz,
  -- JSON of what stands beside the bytes in the stream, exactly: a text column may not take it.
  ADD COLUMN told bytea NOT NULL DEFAULT '',
  ADD COLUMN tries integer NOT NULL DEFAULT 0,
  ADD COLUMN tried_at timestamptz;
