-- What is on record (libs/bus audit-writer.ts): rows sealed in a chain per writer. `body` is the very
-- text under the seal, so it is no jsonb; what is asked for is read from it.
CREATE TABLE brine.audit (
  writer text NOT NULL,
  n bigint NOT NULL,
  at timestamptz NOT NULL,
  body text NOT NULL,
  before text NOT NULL,
  seal text NOT NULL,
  PRIMARY KEY (writer, n)
);

CREATE INDEX audit_at ON brine.audit (at DESC, writer, n);

-- The newest log-in of each minion.
CREATE INDEX audit_log_ins ON brine.audit ((body::jsonb->>'principal'), at DESC)
  WHERE body::jsonb->>'kind' = 'login' AND body::jsonb->>'outcome' LIKE '%accept';
