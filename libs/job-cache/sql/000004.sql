-- The ledger: who was seen at what between a publication and its return, one definition of where a
-- minion stands, deadlines that running minions prolong, and days that are kept aside.

-- Evidence about a minion that has not returned: one row for each (jid, minion, kind), however
-- often it was seen. Kinds: running, not_running (answers to find_job about this jid), refused (a
-- return that does not count; detail tells why), expired (not sent any more; id '' is the whole
-- job), sent_again. All commutes: first is the least, last the greatest, detail that of the last.
CREATE TABLE brine.sightings (
  jid text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  -- At least so often: what is delivered again, or out of order, is not counted.
  count integer NOT NULL DEFAULT 1,
  detail jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (jid, id, kind)
) PARTITION BY RANGE (jid);
CREATE TABLE brine.sightings_default PARTITION OF brine.sightings DEFAULT;

-- The last log-ins of each minion, oldest first, whatever it was asked meanwhile.
CREATE TABLE brine.log_ins (
  id text COLLATE "C" PRIMARY KEY,
  at timestamptz[] NOT NULL
) WITH (fillfactor = 70);

-- The last eight of some times, oldest first.
CREATE FUNCTION brine.last_times(times timestamptz[]) RETURNS timestamptz[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_agg(t ORDER BY t) FROM (
    SELECT DISTINCT t FROM unnest(times) AS t ORDER BY t DESC LIMIT 8
  ) AS last
$$;

-- How long after its publication, and after the last sight of it running, a job is waited for. Null
-- in rows of earlier releases: there it is deadline_at - published_at.
ALTER TABLE brine.jobs ADD COLUMN deadline_after interval;

-- Targets that the statement that wrote the row added, which count: a job may come in parts.
ALTER TABLE brine.jobs ADD COLUMN newly_targeted integer NOT NULL DEFAULT 0;

-- Until when a job is waited for that was seen running at a time. Whole seconds, so that the
-- answers of one second write the job's row once; beyond 30 days no answer prolongs it any more.
CREATE FUNCTION brine.prolonged(seen timestamptz, published timestamptz, after interval)
RETURNS timestamptz LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
  SELECT least(
    to_timestamp(ceil(extract(epoch FROM seen))) + after, published + interval '30 days')
$$;

-- The same for all that is stored of a job; null where no targeted minion was seen running. The
-- test is behind IS TRUE so that it is no join: without sightings the targets are not even read.
CREATE FUNCTION brine.running_until(
  job text, targets text[], published timestamptz, after interval
) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT brine.prolonged(max(s.last_at), published, after) FROM brine.sightings s
  WHERE s.jid = job AND s.kind = 'running' AND (s.id IN (SELECT unnest(targets))) IS TRUE
$$;

-- Both lists, each name once; the first as it is where the second adds nothing.
CREATE FUNCTION brine.united(one text[], other text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN NOT EXISTS (
    SELECT unnest(other) COLLATE "C" EXCEPT SELECT unnest(one) COLLATE "C"
  ) THEN one ELSE ARRAY(
    SELECT unnest(one) COLLATE "C" AS name UNION SELECT unnest(other) COLLATE "C" ORDER BY name
  ) END
$$;

-- Where a minion stands in a job at a time: the rule of the ledger, and its only definition. A late
-- return is late whatever its retcode; without a deadline nobody is late and waiting has no end. For
-- another time than now, give null for a return that had not come by then.
CREATE FUNCTION brine.ledger_state(
  received timestamptz, failed boolean, deadline timestamptz, at timestamptz
) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN received IS NULL AND deadline <= at THEN 'never'
    WHEN received IS NULL THEN 'waiting'
    WHEN received > deadline THEN 'late'
    WHEN failed THEN 'failed'
    ELSE 'returned'
  END
$$;

-- Every minion of every job with its state of now: ask for one jid. Targeted are those of the job's
-- row and whoever has returned besides (unexpected).
CREATE VIEW brine.ledger AS
  SELECT j.jid, m.id, m.unexpected,
    brine.ledger_state(m.received_at, m.failed, j.deadline_at, now()) AS state,
    m.retcode, m.failed, m.received_at, j.published_at, j.deadline_at
  FROM brine.jobs j CROSS JOIN LATERAL (
    SELECT id, targeted.id IS NULL AS unexpected, retcode, failed, received_at
    FROM (SELECT DISTINCT unnest(j.minions) COLLATE "C" AS id) AS targeted
    FULL JOIN (
      SELECT id, retcode, failed, received_at FROM brine.returns r WHERE r.jid = j.jid
    ) AS returned USING (id)
  ) AS m;

-- As in 000001, with sightings: the last of the list tells whether a day is complete.
CREATE OR REPLACE FUNCTION brine.ensure_day(day text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  child text;
  upper_bound text := to_char(to_date(day, 'YYYYMMDD') + 1, 'YYYYMMDD');
  made boolean := false;
BEGIN
  IF to_regclass(format('brine.sightings_%s', day)) IS NOT NULL THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('brine.ensure_day'));
  FOREACH parent IN ARRAY ARRAY['jobs', 'returns', 'evidence', 'sightings'] LOOP
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

-- The partitions of days before the given one.
CREATE FUNCTION brine.days_before(before_day text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'brine' AND c.relkind = 'r'
    AND c.relname ~ '^(jobs|returns|evidence|sightings)_[0-9]{8}$'
    AND right(c.relname, 8) < before_day
  ORDER BY c.relname
$$;

-- Drops the partitions of days before the given one ('20261120'); returns how many.
CREATE OR REPLACE FUNCTION brine.drop_days(before_day text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  child text;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('brine.ensure_day'));
  FOR child IN SELECT brine.days_before(before_day) LOOP
    EXECUTE format('DROP TABLE brine.%I', child);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END
$$;

-- Where days go that are not dropped (archive_jobs): the same tables, by the same days, read with
-- the same queries. Nothing here is ever dropped by us.
CREATE SCHEMA brine_archive;
CREATE TABLE brine_archive.jobs (LIKE brine.jobs INCLUDING DEFAULTS, PRIMARY KEY (jid))
  PARTITION BY RANGE (jid);
CREATE TABLE brine_archive.returns (LIKE brine.returns INCLUDING DEFAULTS, PRIMARY KEY (jid, id))
  PARTITION BY RANGE (jid);
CREATE TABLE brine_archive.evidence (
  LIKE brine.evidence INCLUDING DEFAULTS, PRIMARY KEY (jid, id, content)
) PARTITION BY RANGE (jid);
CREATE TABLE brine_archive.sightings (
  LIKE brine.sightings INCLUDING DEFAULTS, PRIMARY KEY (jid, id, kind)
) PARTITION BY RANGE (jid);
CREATE TABLE brine_archive.jobs_default PARTITION OF brine_archive.jobs DEFAULT;
CREATE TABLE brine_archive.returns_default PARTITION OF brine_archive.returns DEFAULT;
CREATE TABLE brine_archive.evidence_default PARTITION OF brine_archive.evidence DEFAULT;
CREATE TABLE brine_archive.sightings_default PARTITION OF brine_archive.sightings DEFAULT;

-- Takes the partitions of days before the given one out of the live tables and puts them into the
-- schema of the archive; returns how many. Nothing is copied, unless a day that is there already
-- got rows again. Attaching reads a table through, so it is another transaction (attach_archived).
CREATE FUNCTION brine.archive_days(before_day text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  child text;
  moved integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('brine.ensure_day'));
  FOR child IN SELECT brine.days_before(before_day) LOOP
    EXECUTE format(
      'ALTER TABLE brine.%I DETACH PARTITION brine.%I',
      split_part(child, '_', 1), child);
    IF to_regclass('brine_archive.' || child) IS NULL THEN
      EXECUTE format('ALTER TABLE brine.%I SET SCHEMA brine_archive', child);
    ELSE
      EXECUTE format(
        'INSERT INTO brine_archive.%I SELECT * FROM brine.%I ON CONFLICT DO NOTHING', child, child);
      EXECUTE format('DROP TABLE brine.%I', child);
    END IF;
    moved := moved + 1;
  END LOOP;
  RETURN moved;
END
$$;

-- Makes what archive_days moved part of the archive's tables; returns how many it attached.
CREATE FUNCTION brine.attach_archived() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  child text;
  parent text;
  upper_bound text;
  attached integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('brine.attach_archived'));
  FOR child IN
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'brine_archive' AND c.relkind = 'r' AND NOT c.relispartition
      AND c.relname ~ '^(jobs|returns|evidence|sightings)_[0-9]{8}$'
    ORDER BY c.relname
  LOOP
    parent := split_part(child, '_', 1);
    upper_bound := to_char(to_date(right(child, 8), 'YYYYMMDD') + 1, 'YYYYMMDD');
    EXECUTE format(
      'WITH moved AS (DELETE FROM brine_archive.%I WHERE jid >= %L AND jid < %L RETURNING *)
       INSERT INTO brine_archive.%I SELECT * FROM moved ON CONFLICT DO NOTHING',
      parent || '_default', right(child, 8), upper_bound, child);
    EXECUTE format(
      'ALTER TABLE brine_archive.%I ATTACH PARTITION brine_archive.%I FOR VALUES FROM (%L) TO (%L)',
      parent, child, right(child, 8), upper_bound);
    attached := attached + 1;
  END LOOP;
  RETURN attached;
END
$$;
