-- Who may do what, beside the owner. Not a migration: making roles needs a right that the owner of
-- a database need not have, and new tables need new grants. May be run again at any time.
DO $$
DECLARE
  missing text;
BEGIN
  FOR missing IN
    SELECT name FROM unnest(ARRAY['brine_store', 'brine_returner', 'brine_reader']) AS name
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
  LOOP
    EXECUTE format('CREATE ROLE %I NOLOGIN', missing);
  END LOOP;
END
$$;

-- What a former release gave.
REVOKE ALL ON ALL TABLES IN SCHEMA brine, brine_archive
  FROM brine_store, brine_returner, brine_reader;
REVOKE ALL ON public.jids, public.salt_returns, public.salt_events
  FROM brine_store, brine_returner, brine_reader;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA brine FROM brine_store, brine_returner, brine_reader;

-- The job-cache-returner: rows, and the days they lie in. What is on record it adds to only.
GRANT USAGE ON SCHEMA brine, brine_archive TO brine_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA brine TO brine_store;
REVOKE UPDATE, DELETE ON brine.audit FROM brine_store;
REVOKE INSERT, UPDATE, DELETE ON brine.migrations FROM brine_store;
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA brine_archive TO brine_store;
GRANT SELECT, INSERT, DELETE ON public.salt_events TO brine_store;
GRANT USAGE ON SEQUENCE public.seq_salt_events_id TO brine_store;
GRANT EXECUTE ON FUNCTION brine.ensure_day(text), brine.drop_days(text), brine.archive_days(text),
  brine.attach_archived() TO brine_store;

-- Minions and stock masters that write by the returner pgjsonb: nothing but what it names.
GRANT INSERT ON public.salt_returns, public.salt_events TO brine_returner;
GRANT USAGE ON SEQUENCE public.seq_salt_events_id TO brine_returner;
-- Its ON CONFLICT … DO UPDATE needs to see what is there.
GRANT SELECT, INSERT, UPDATE ON public.jids TO brine_returner;

-- Dashboards, `salt-run jobs.*` by pgjsonb: jobs and returns, to look at. Not what is on record.
GRANT USAGE ON SCHEMA brine, brine_archive TO brine_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA brine, brine_archive TO brine_reader;
REVOKE SELECT ON brine.audit, brine.durable, brine.queue_items, brine.event_return
  FROM brine_reader;
GRANT SELECT ON public.jids, public.salt_returns, public.salt_events TO brine_reader;
