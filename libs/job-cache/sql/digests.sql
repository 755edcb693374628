-- Not numbered: the release before does not mind the tables, so an upgrade can be taken back.
-- What returns of a job have in common, for its groups and its states: made when somebody first
-- asks, never by who stores returns, and kept as long as the returns.

-- The states of a run, in one order; runs of a job have few different lists.
CREATE TABLE brine.state_lists (
  jid text COLLATE "C" NOT NULL,
  list uuid NOT NULL,
  ids text[] NOT NULL,
  PRIMARY KEY (jid, list)
);

CREATE TABLE brine.digests (
  jid text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  -- Of the return that was read; another one that counts now is read again.
  content uuid NOT NULL,
  -- Equal for returns that are equal.
  exact uuid NOT NULL,
  -- Equal for runs of states that came to the same, whatever the times and numbers in them.
  plain uuid NOT NULL,
  -- Null for what is no run of states: its list, a letter and the milliseconds for each of it.
  list uuid,
  outcomes text,
  durations integer[],
  PRIMARY KEY (jid, id)
);
