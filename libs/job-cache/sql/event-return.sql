-- Not numbered: the release before does not mind the table, so an upgrade can be taken back.
-- How far each returner of `event_return` that writes here has come in the streams.
CREATE TABLE brine.event_return (
  writer text COLLATE "C" PRIMARY KEY,
  -- A position of the streams, as Brine prints it.
  place text COLLATE "C" NOT NULL,
  moved_at timestamptz NOT NULL DEFAULT now()
);

-- Retention looks for old events; rows come in the order of their times.
CREATE INDEX salt_events_alter_time ON public.salt_events USING brin (alter_time);
