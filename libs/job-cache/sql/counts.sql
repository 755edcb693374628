-- Counts of a job are columns: a list of jobs shows how many minions returned without reading
-- targets or returns. brine.ledger stays the definition, for each minion; these are its sums.
--
-- Not numbered, so that the release before can be started again: triggers count its rows. Two small
-- tables for each day, and no column of brine.returns: that release casts rows to its type.

-- A wait for a lock makes others wait behind it, so it ends soon and the service tries again.
SET LOCAL lock_timeout = '5s';

-- Returns of a job that count, and how many of them failed: the sum of its lanes. A lane is given
-- by the connection, so that writers seldom wait for each other. The lane -1 has no counts: it
-- states that those of the job are incomplete, and that the ledger has to be read.
CREATE TABLE brine.job_counts (
  jid text COLLATE "C" NOT NULL,
  lane smallint NOT NULL,
  came integer NOT NULL,
  failed integer NOT NULL,
  -- No return of the lane came after this; deletes do not bring it back.
  last_at timestamptz NOT NULL,
  PRIMARY KEY (jid, lane)
) PARTITION BY RANGE (jid);
CREATE TABLE brine.job_counts_default PARTITION OF brine.job_counts DEFAULT WITH (fillfactor = 50);

-- Returns that may be late, or of a minion that is no target: as far as their writer knew. Targets
-- and deadlines of a publication only grow, so a return without a row here is in time and of a
-- target for ever. A row too many costs time and no truth: readers compare it with the job.
CREATE TABLE brine.doubts (
  jid text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  received_at timestamptz NOT NULL,
  failed boolean NOT NULL,
  -- Null for a target. Else the number of targets that it was compared with and is none of: if the
  -- job has no more than these, it is unexpected. 0: not compared.
  outside integer,
  PRIMARY KEY (jid, id)
) PARTITION BY RANGE (jid);
CREATE INDEX doubts_received ON brine.doubts (jid, received_at) INCLUDE (failed);
CREATE INDEX doubts_outside ON brine.doubts (jid, id) INCLUDE (outside) WHERE outside IS NOT NULL;
CREATE TABLE brine.doubts_default PARTITION OF brine.doubts DEFAULT;

-- The next statement waits for writers of the release before, and none begins until the commit.
LOCK TABLE brine.returns IN SHARE ROW EXCLUSIVE MODE;

-- The number of different minions. Null in rows of earlier releases, whose returns have no counts:
-- the ledger of such a job is read.
ALTER TABLE brine.jobs ADD COLUMN targeted integer;

-- What began a job (libs/job JobOrigin); null for jobs of earlier releases and of other writers.
ALTER TABLE brine.jobs ADD COLUMN begun_by text;

-- Returns that wait for their job were not counted.
INSERT INTO brine.job_counts (jid, lane, came, failed, last_at)
SELECT jid, -1, 0, 0, now() FROM brine.orphans;

CREATE TABLE brine_archive.job_counts (LIKE brine.job_counts, PRIMARY KEY (jid, lane))
  PARTITION BY RANGE (jid);
CREATE TABLE brine_archive.doubts (LIKE brine.doubts, PRIMARY KEY (jid, id))
  PARTITION BY RANGE (jid);
CREATE TABLE brine_archive.job_counts_default PARTITION OF brine_archive.job_counts DEFAULT;
CREATE TABLE brine_archive.doubts_default PARTITION OF brine_archive.doubts DEFAULT;
ALTER TABLE brine_archive.jobs ADD COLUMN targeted integer;
ALTER TABLE brine_archive.jobs ADD COLUMN begun_by text;

-- Days between archive_days and attach_archived.
DO $$
DECLARE
  child text;
BEGIN
  FOR child IN
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'brine_archive' AND c.relkind = 'r' AND NOT c.relispartition
      AND c.relname ~ '^jobs_[0-9]{8}$'
  LOOP
    EXECUTE format('ALTER TABLE brine_archive.%I ADD COLUMN targeted integer', child);
  END LOOP;
END
$$;

-- A name counts once, as in the ledger.
CREATE FUNCTION brine.count_targets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.targeted := cardinality(NEW.minions);
  IF NEW.targeted > 1 THEN
    SELECT count(*) INTO NEW.targeted
    FROM (SELECT DISTINCT unnest(NEW.minions) COLLATE "C") AS one;
  END IF;
  RETURN NEW;
END
$$;
-- After foreign_insert, by its name: that one may set the targets.
CREATE TRIGGER targets_insert BEFORE INSERT ON brine.jobs
  FOR EACH ROW EXECUTE FUNCTION brine.count_targets();
CREATE TRIGGER targets_update BEFORE UPDATE OF minions ON brine.jobs
  FOR EACH ROW WHEN (OLD.targeted IS NOT NULL) EXECUTE FUNCTION brine.count_targets();

-- Targets that come after returns of theirs: adoptOrphans clears the doubts a little later.
CREATE FUNCTION brine.recheck_doubts() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO brine.orphans AS o (jid) VALUES (NEW.jid)
    ON CONFLICT (jid) DO UPDATE SET seen_at = o.seen_at;
  RETURN NULL;
END
$$;
CREATE TRIGGER targets_grow AFTER UPDATE OF minions ON brine.jobs FOR EACH ROW
  WHEN (NEW.origin = 0 AND (OLD.origin <> 0 OR OLD.targeted < NEW.targeted))
  EXECUTE FUNCTION brine.recheck_doubts();

-- A jid that is used again may have other targets and another deadline than some writer knows.
CREATE FUNCTION brine.distrust_counts() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO brine.job_counts (jid, lane, came, failed, last_at)
  SELECT jid, -1, 0, 0, now() FROM gone ORDER BY jid ON CONFLICT (jid, lane) DO NOTHING;
  RETURN NULL;
END
$$;
CREATE TRIGGER jobs_deleted AFTER DELETE ON brine.jobs REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION brine.distrust_counts();
-- Retention names this partition.
CREATE TRIGGER jobs_deleted AFTER DELETE ON brine.jobs_default REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT WHEN (coalesce(current_setting('brine.counts', true), '') <> 'moved')
  EXECUTE FUNCTION brine.distrust_counts();

-- Counts a return, whoever writes it. The setting brine.counts of the transaction names what counts
-- by itself: 'statement' new rows of a statement (save-returns.ts), 'moved' rows of another table.
CREATE FUNCTION brine.count_return() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  is_new boolean := TG_OP = 'INSERT' OR
    TG_OP = 'UPDATE' AND current_setting('brine.counts', true) IS DISTINCT FROM 'statement';
  added integer := 0;
  added_failed integer := 0;
  written brine.returns;
BEGIN
  IF TG_OP = 'DELETE' THEN
    written := OLD;
  ELSE
    written := NEW;
  END IF;
  IF is_new THEN
    added := 1;
    added_failed := NEW.failed::integer;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    added := added - 1;
    added_failed := added_failed - OLD.failed::integer;
  END IF;
  INSERT INTO brine.job_counts AS c (jid, lane, came, failed, last_at)
  VALUES (written.jid, pg_backend_pid() % 8, added, added_failed, written.received_at)
  ON CONFLICT (jid, lane) DO UPDATE SET came = c.came + excluded.came,
    failed = c.failed + excluded.failed, last_at = greatest(c.last_at, excluded.last_at);

  IF TG_OP = 'DELETE' THEN
    DELETE FROM brine.doubts d WHERE d.jid = OLD.jid AND d.id = OLD.id;
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    UPDATE brine.doubts d SET received_at = NEW.received_at, failed = NEW.failed
    WHERE d.jid = NEW.jid AND d.id = NEW.id;
    IF FOUND OR NEW.received_at <= OLD.received_at OR NOT is_new THEN
      RETURN NULL;
    END IF;
  END IF;
  INSERT INTO brine.doubts AS d (jid, id, received_at, failed, outside)
  VALUES (NEW.jid, NEW.id, NEW.received_at, NEW.failed, CASE TG_OP WHEN 'INSERT' THEN 0 END)
  ON CONFLICT (jid, id) DO UPDATE SET received_at = excluded.received_at,
    failed = excluded.failed, outside = greatest(d.outside, excluded.outside);
  IF TG_OP = 'INSERT' THEN
    INSERT INTO brine.orphans AS o (jid) VALUES (NEW.jid)
    ON CONFLICT (jid) DO UPDATE SET seen_at = o.seen_at;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER count_insert AFTER INSERT ON brine.returns FOR EACH ROW
  WHEN (coalesce(current_setting('brine.counts', true), '') <> 'statement')
  EXECUTE FUNCTION brine.count_return();
CREATE TRIGGER count_update AFTER UPDATE ON brine.returns
  FOR EACH ROW EXECUTE FUNCTION brine.count_return();
CREATE TRIGGER count_delete AFTER DELETE ON brine.returns FOR EACH ROW
  WHEN (coalesce(current_setting('brine.counts', true), '') <> 'moved')
  EXECUTE FUNCTION brine.count_return();

-- As in 000004, with the two tables: the last of the list tells whether a day is complete.
CREATE OR REPLACE FUNCTION brine.ensure_day(day text) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  parent text;
  child text;
  upper_bound text := to_char(to_date(day, 'YYYYMMDD') + 1, 'YYYYMMDD');
  made boolean := false;
BEGIN
  IF to_regclass(format('brine.doubts_%s', day)) IS NOT NULL THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('brine.ensure_day'));
  FOREACH parent IN ARRAY ARRAY['jobs', 'returns', 'evidence', 'sightings', 'job_counts', 'doubts']
  LOOP
    child := format('%s_%s', parent, day);
    CONTINUE WHEN to_regclass('brine.' || child) IS NOT NULL;
    EXECUTE format('LOCK TABLE brine.%I IN ACCESS EXCLUSIVE MODE', parent || '_default');
    EXECUTE format('CREATE TABLE brine.%I (LIKE brine.%I INCLUDING ALL)', child, parent);
    IF parent = 'job_counts' THEN
      -- The new version of a row then needs no change of the index.
      EXECUTE format('ALTER TABLE brine.%I SET (fillfactor = 50)', child);
    END IF;
    PERFORM set_config('brine.counts', 'moved', true);
    EXECUTE format(
      'WITH moved AS (DELETE FROM brine.%I WHERE jid >= %L AND jid < %L RETURNING *)
       INSERT INTO brine.%I SELECT * FROM moved',
      parent || '_default', day, upper_bound, child);
    PERFORM set_config('brine.counts', '', true);
    EXECUTE format(
      'ALTER TABLE brine.%I ATTACH PARTITION brine.%I FOR VALUES FROM (%L) TO (%L)',
      parent, child, day, upper_bound);
    made := true;
  END LOOP;
  RETURN made;
END
$$;

-- As in 000004, with the two tables.
CREATE OR REPLACE FUNCTION brine.days_before(before_day text) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
  SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'brine' AND c.relkind = 'r'
    AND c.relname ~ '^(jobs|returns|evidence|sightings|job_counts|doubts)_[0-9]{8}$'
    AND right(c.relname, 8) < before_day
  ORDER BY c.relname
$$;

-- As in 000004: the name of a parent may have a '_' now.
CREATE OR REPLACE FUNCTION brine.archive_days(before_day text) RETURNS integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  child text;
  moved integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('brine.ensure_day'));
  FOR child IN SELECT brine.days_before(before_day) LOOP
    EXECUTE format(
      'ALTER TABLE brine.%I DETACH PARTITION brine.%I',
      left(child, -9), child);
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

-- As in 000004, with the two tables.
CREATE OR REPLACE FUNCTION brine.attach_archived() RETURNS integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
      AND c.relname ~ '^(jobs|returns|evidence|sightings|job_counts|doubts)_[0-9]{8}$'
    ORDER BY c.relname
  LOOP
    parent := left(child, -9);
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
