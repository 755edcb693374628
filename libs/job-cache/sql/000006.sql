-- Durable jobs: what is sent again, until its time is over, to minions that were away. A row for
-- each publication of a job that asks for it; how often a minion was sent it again stands in
-- brine.sightings. Few rows, so no partitions: a closed one goes after a day.
CREATE TABLE brine.durable (
  jid text COLLATE "C" NOT NULL,
  -- A jid may be published in several pieces.
  request_id text COLLATE "C" NOT NULL,
  -- The position of the job in the stream of publications.
  seq bigint NOT NULL,
  -- What minions get, less its serial: the stream keeps it for a quarter of an hour. Empty once
  -- the job is closed.
  publication bytea NOT NULL,
  fun text[] NOT NULL,
  targeted integer NOT NULL,
  published_at timestamptz NOT NULL,
  not_after timestamptz NOT NULL,
  -- Who has not returned, as of the last step.
  waiting text[] NOT NULL,
  -- Where the rule stands (libs/job durable.ts).
  state jsonb NOT NULL,
  due_at timestamptz NOT NULL,
  closed text,
  closed_at timestamptz,
  PRIMARY KEY (jid, request_id)
);
CREATE INDEX durable_due ON brine.durable (due_at) WHERE closed IS NULL;
