-- What the metrics count, written by the statement that stores the rows: so it is exact whatever
-- process dies when, and a row that is delivered again counts once. It begins with this migration:
-- reading through all that was stored before could take longer than a start may.

-- One row for each number and lane; the number is the sum of its lanes. A lane is given by the
-- connection, so that writers seldom wait for each other. Labels are joined by U+001F. Half of
-- each page stays free: the new version of a row then needs no change of the index.
CREATE TABLE brine.counters (
  metric text COLLATE "C" NOT NULL,
  labels text COLLATE "C" NOT NULL,
  lane smallint NOT NULL,
  value double precision NOT NULL,
  PRIMARY KEY (metric, labels, lane)
) WITH (fillfactor = 50);

-- The last value of what has no sum: states of minions, times of state runs.
CREATE TABLE brine.last_values (
  metric text COLLATE "C" NOT NULL,
  labels text COLLATE "C" NOT NULL,
  value double precision NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (metric, labels)
) WITH (fillfactor = 50);

-- True where the statement that wrote the row made it a published job: such a row counts.
ALTER TABLE brine.jobs ADD COLUMN newly_published boolean NOT NULL DEFAULT false;
