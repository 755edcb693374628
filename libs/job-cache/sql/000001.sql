-- The job cache. Text keys use COLLATE "C", so that the ranges of the partitions and the order of
-- pages are the order of bytes whatever the locale of the database is.
--
-- jobs, returns and evidence are partitioned by day of the jid (its first eight digits); whatever
-- has an odd jid lands in the DEFAULT partition. A unique key of a partitioned table must contain
-- the partition column, which (jid) and (jid, id) do.

DO $$
BEGIN
  IF EXISTS (
    SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relname IN ('jids', 'salt_returns', 'salt_events')
  ) THEN
    RAISE EXCEPTION 'the database already holds tables of Salt''s pgjsonb or postgres returner'
      USING HINT = 'give Brine a database of its own, or rename public.jids, public.salt_returns '
        'and public.salt_events first';
  END IF;
END
$$;

CREATE TABLE brine.jobs (
  jid text COLLATE "C" NOT NULL,
  load jsonb NOT NULL,
  -- The bytes of the load as they came; null where somebody else wrote the row.
  load_raw bytea,
  principal text NOT NULL DEFAULT '',
  "user" text NOT NULL DEFAULT '',
  fun text[] NOT NULL DEFAULT '{}',
  tgt text[] NOT NULL DEFAULT '{}',
  tgt_type text NOT NULL DEFAULT 'glob',
  -- The targeted minions in one array: a row per minion exists only once it has returned.
  minions text[] NOT NULL DEFAULT '{}',
  missing text[] NOT NULL DEFAULT '{}',
  published_at timestamptz NOT NULL DEFAULT now(),
  -- Null: nobody waits (a job born of a return).
  deadline_at timestamptz,
  not_after timestamptz,
  -- find_job and the like, which lists of jobs may leave out.
  hidden boolean NOT NULL DEFAULT false,
  -- 0 published, 1 written through the view jids, 2 born of a return. The lowest origin counts.
  origin smallint NOT NULL DEFAULT 1,
  host text NOT NULL DEFAULT '',
  request_id text NOT NULL DEFAULT '',
  incarnation text COLLATE "C" NOT NULL DEFAULT '',
  seq bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (jid)
) PARTITION BY RANGE (jid);
CREATE INDEX jobs_published_at ON brine.jobs (published_at);
CREATE TABLE brine.jobs_default PARTITION OF brine.jobs DEFAULT;

CREATE TABLE brine.returns (
  jid text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  fun text NOT NULL,
  -- Null where the function gave none, or one per function of a compound job.
  retcode integer,
  success boolean,
  failed boolean NOT NULL,
  full_ret jsonb NOT NULL,
  raw bytea,
  received_at timestamptz NOT NULL,
  incarnation text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  -- A hash of what the minion said, without what changes at each send.
  content uuid NOT NULL,
  PRIMARY KEY (jid, id)
) PARTITION BY RANGE (jid);
CREATE INDEX returns_id ON brine.returns (id, jid);
CREATE TABLE brine.returns_default PARTITION OF brine.returns DEFAULT;

-- What a minion said differently about the same job; the counted return is in brine.returns.
CREATE TABLE brine.evidence (
  LIKE brine.returns INCLUDING DEFAULTS,
  PRIMARY KEY (jid, id, content)
) PARTITION BY RANGE (jid);
CREATE TABLE brine.evidence_default PARTITION OF brine.evidence DEFAULT;

-- Jids of returns that had no job when they came; looked at again a little later.
CREATE TABLE brine.orphans (
  jid text COLLATE "C" PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
);

-- What PostgreSQL refused to take as a row, with its bytes.
CREATE TABLE brine.quarantine (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL,
  jid text NOT NULL,
  id text NOT NULL,
  incarnation text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  sqlstate text NOT NULL,
  reason text NOT NULL,
  raw bytea NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (kind, incarnation, seq)
);

-- The partitions of one day ('20261120'). Rows that went to DEFAULT before are moved: a partition
-- can not be attached while DEFAULT holds rows of its range.
CREATE FUNCTION brine.ensure_day(day text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  child text;
  upper_bound text := to_char(to_date(day, 'YYYYMMDD') + 1, 'YYYYMMDD');
  made boolean := false;
BEGIN
  IF to_regclass(format('brine.evidence_%s', day)) IS NOT NULL THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('brine.ensure_day'));
  FOREACH parent IN ARRAY ARRAY['jobs', 'returns', 'evidence'] LOOP
    child := format('%s_%s', parent, day);
    CONTINUE WHEN to_regclass('brine.' || child) IS NOT NULL;
    EXECUTE format('LOCK TABLE brine.%I IN ACCESS EXCLUSIVE MODE', parent || '_default');
    EXECUTE format('CREATE TABLE brine.%I (LIKE brine.%I INCLUDING ALL)', child, parent);
    EXECUTE format(
      'WITH moved AS (DELETE FROM brine.%I WHERE jid >= %L AND jid < %L RETURNING *)
       INSERT INTO brine.%I SELECT * FROM moved',
      parent || '_default', day, upper_bound, child);
    EXECUTE format(
      'ALTER TABLE brine.%I ATTACH PARTITION brine.%I FOR VALUES FROM (%L) TO (%L)',
      parent, child, day, upper_bound);
    made := true;
  END LOOP;
  RETURN made;
END
$$;

-- What pgjsonb reads and writes (Salt: salt/returners/pgjsonb.py). It sends
-- INSERT INTO jids … ON CONFLICT (jid) DO UPDATE, which a plain view takes.
CREATE VIEW public.jids AS SELECT jid, load FROM brine.jobs;

CREATE FUNCTION brine.foreign_load() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.load_raw := NULL;
  NEW."user" := coalesce(NEW.load->>'user', '');
  NEW.tgt_type := coalesce(NEW.load->>'tgt_type', 'glob');
  NEW.fun := brine.texts(NEW.load->'fun');
  NEW.tgt := brine.texts(NEW.load->'tgt');
  RETURN NEW;
END
$$;

-- A text or a list of texts as a list of texts: fun and tgt come as either.
CREATE FUNCTION brine.texts(value jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE jsonb_typeof(value)
    WHEN 'array' THEN ARRAY(SELECT jsonb_array_elements_text(value))
    WHEN 'string' THEN ARRAY[value #>> '{}']
    ELSE '{}'
  END
$$;

CREATE TRIGGER foreign_insert BEFORE INSERT ON brine.jobs
  FOR EACH ROW WHEN (NEW.origin = 1) EXECUTE FUNCTION brine.foreign_load();
CREATE TRIGGER foreign_update BEFORE UPDATE ON brine.jobs
  FOR EACH ROW WHEN (
    OLD.load IS DISTINCT FROM NEW.load AND OLD.load_raw IS NOT DISTINCT FROM NEW.load_raw
  )
  EXECUTE FUNCTION brine.foreign_load();

CREATE VIEW public.salt_returns AS
  SELECT fun::varchar(255) AS fun, jid::varchar(255) AS jid, full_ret->'return' AS "return",
    id::varchar(255) AS id,
    (CASE WHEN success THEN 'true' ELSE 'false' END)::varchar(10) AS success,
    full_ret, received_at AS alter_time
  FROM brine.returns;

CREATE FUNCTION brine.foreign_return() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM brine.returns WHERE jid = OLD.jid AND id = OLD.id;
    RETURN OLD;
  END IF;
  INSERT INTO brine.returns (jid, id, fun, retcode, success, failed, full_ret, received_at,
    incarnation, seq, content)
  VALUES (NEW.jid, NEW.id, NEW.fun,
    CASE WHEN NEW.full_ret->>'retcode' ~ '^-?[0-9]{1,9}$'
      THEN (NEW.full_ret->>'retcode')::integer END,
    NEW.success = 'true',
    NEW.success <> 'true' OR coalesce(NEW.full_ret->>'retcode', '0') <> '0',
    NEW.full_ret || jsonb_build_object('return', NEW."return"),
    coalesce(NEW.alter_time, now()), '~pgjsonb', 0, md5(NEW."return"::text)::uuid)
  ON CONFLICT (jid, id) DO NOTHING;
  RETURN NEW;
END
$$;
CREATE TRIGGER foreign_write INSTEAD OF INSERT OR DELETE ON public.salt_returns
  FOR EACH ROW EXECUTE FUNCTION brine.foreign_return();

CREATE SEQUENCE public.seq_salt_events_id AS bigint;
CREATE TABLE public.salt_events (
  id bigint NOT NULL UNIQUE DEFAULT nextval('public.seq_salt_events_id'),
  tag varchar(255) NOT NULL,
  data jsonb NOT NULL,
  alter_time timestamptz DEFAULT now(),
  master_id varchar(255) NOT NULL
);
CREATE INDEX idx_salt_events_tag ON public.salt_events (tag);
