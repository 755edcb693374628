-- What stock tools write (Salt: salt/returners/pgjsonb.py): minions with ext_job_cache: pgjsonb or
-- --return pgjsonb, masters and syndics with master_job_cache: pgjsonb. Never an error that tables
-- of their own would not give; one count for each (jid, minion); what differs is evidence.
--
-- Trigger functions run with the rights of their owner, so that a role of minions needs none in the
-- schema brine: INSERT on salt_returns is enough.

-- As hasFailed of prepare-return.ts; of a compound job any of its functions.
CREATE FUNCTION brine.has_failed(full_ret jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT full_ret @? '$.retcode ? (@ == true || @.type() == "number" && @ <> 0)'
    OR full_ret @? '$.retcode.* ? (@ == true || @.type() == "number" && @ <> 0)'
    OR full_ret @? '$.success ? (@ == false)'
    OR full_ret @? '$.success.* ? (@ == false)'
$$;

-- Whether two returns tell the same. A return that is kept as bytes alone ($raw), or not at all
-- (job_cache: false), can not be compared: its retcode and success speak for it.
CREATE FUNCTION brine.says_same(one jsonb, other jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT one->'retcode' IS NOT DISTINCT FROM other->'retcode'
    AND one->'success' IS NOT DISTINCT FROM other->'success'
    AND (NOT one ? 'return' OR NOT other ? 'return'
      OR one->'return' ? '$raw' OR other->'return' ? '$raw'
      OR one->'return' = other->'return')
$$;

-- Keeps a return beside the one that counts, eight of a (jid, minion) as settle-returns.ts.
CREATE FUNCTION brine.keep_evidence(given brine.returns) RETURNS void LANGUAGE sql AS $$
  INSERT INTO brine.evidence (jid, id, fun, retcode, success, failed, full_ret, raw, received_at,
    incarnation, seq, content)
  SELECT given.* WHERE (
    SELECT count(*) FROM brine.evidence e WHERE e.jid = given.jid AND e.id = given.id
  ) < 8
  ON CONFLICT (jid, id, content) DO NOTHING
$$;

DROP VIEW public.salt_returns;

-- The columns are plain text: a cast to a length would keep lookups from the index. What job_cache:
-- false counted without its content is no row here, as there is none in a stock cache.
CREATE VIEW public.salt_returns AS
  SELECT fun, jid, full_ret->'return' AS "return", id,
    CASE WHEN success THEN 'true' ELSE 'false' END AS success,
    full_ret, received_at AS alter_time
  FROM brine.returns WHERE full_ret ? 'return';

CREATE OR REPLACE FUNCTION brine.foreign_return() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  given brine.returns;
  counted brine.returns;
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM brine.evidence WHERE jid = OLD.jid AND id = OLD.id;
    DELETE FROM brine.returns WHERE jid = OLD.jid AND id = OLD.id;
    RETURN OLD;
  END IF;
  given.jid := NEW.jid;
  given.id := NEW.id;
  given.full_ret := NEW.full_ret || jsonb_build_object('return', NEW."return");
  given.fun := coalesce(array_to_string(brine.texts(NEW.full_ret->'fun'), ','), '');
  IF given.fun = '' THEN
    given.fun := NEW.fun;
  END IF;
  IF NEW.full_ret->>'retcode' ~ '^-?[0-9]{1,9}$' THEN
    given.retcode := NEW.full_ret->>'retcode';
  END IF;
  -- pgjsonb writes false where a return tells nothing of its success.
  given.success := CASE WHEN NEW.full_ret ? 'success' THEN NEW.success = 'true' END;
  given.failed := brine.has_failed(NEW.full_ret);
  -- By the writer's clock; one that is ahead must not make a return late.
  given.received_at := least(coalesce(NEW.alter_time, now()), now());
  -- Above every incarnation of a stream: what came through the master counts before this.
  given.incarnation := '~pgjsonb';
  given.seq := 0;
  given.content := md5(jsonb_build_array(
    NEW."return", NEW.full_ret->'retcode', NEW.full_ret->'success')::text)::uuid;

  INSERT INTO brine.returns SELECT given.* ON CONFLICT (jid, id) DO NOTHING;
  IF FOUND THEN
    INSERT INTO brine.orphans (jid)
    SELECT NEW.jid WHERE NOT EXISTS (SELECT FROM brine.jobs WHERE jobs.jid = NEW.jid)
    ON CONFLICT (jid) DO NOTHING;
    RETURN NEW;
  END IF;
  SELECT * INTO counted FROM brine.returns r WHERE r.jid = NEW.jid AND r.id = NEW.id FOR UPDATE;
  IF counted.full_ret ? 'return' IS FALSE THEN
    UPDATE brine.returns r SET full_ret = given.full_ret, raw = NULL
    WHERE r.jid = NEW.jid AND r.id = NEW.id;
  ELSIF NOT brine.says_same(counted.full_ret, given.full_ret) THEN
    PERFORM brine.keep_evidence(given);
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER foreign_write INSTEAD OF INSERT OR DELETE ON public.salt_returns
  FOR EACH ROW EXECUTE FUNCTION brine.foreign_return();

-- The return of the stream takes the place of what the minion wrote itself. Content that only one
-- of them has stays; where they differ, what the minion wrote is evidence.
CREATE FUNCTION brine.foreign_yields() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT NEW.full_ret ? 'return' THEN
    IF OLD.full_ret ? 'return' THEN
      NEW.full_ret := OLD.full_ret;
      NEW.raw := OLD.raw;
    END IF;
  ELSIF OLD.incarnation = '~pgjsonb' AND NOT brine.says_same(NEW.full_ret, OLD.full_ret) THEN
    PERFORM brine.keep_evidence(OLD);
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER foreign_yields BEFORE UPDATE ON brine.returns FOR EACH ROW
  WHEN (OLD.incarnation = '~pgjsonb' OR NOT NEW.full_ret ? 'return')
  EXECUTE FUNCTION brine.foreign_yields();

-- A load that somebody else writes. A stock master calls save_load again for each return, with the
-- return as the load (Salt: salt/utils/job.py store_job); and several syndics write the same jid.
-- So what was published here stays as it was, and a return never takes a load's place.
CREATE OR REPLACE FUNCTION brine.foreign_load() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF OLD.origin = 0 OR NEW.load ? 'return' THEN
      RETURN NULL;
    END IF;
    NEW.origin := 1;
  ELSIF NEW.load ? 'return' THEN
    -- Born of a return, as adopt-orphans.ts makes it.
    NEW.origin := 2;
    NEW.minions := ARRAY[NEW.load->>'id'];
    NEW.load := jsonb_build_object('arg', coalesce(NEW.load->'fun_args', '[]'),
        'tgt', NEW.load->'id', 'tgt_type', 'glob')
      || (NEW.load - ARRAY['return', 'retcode', 'success', 'out', 'cmd', 'ts', 'sig', 'tok',
        'nonce', '_stamp']);
  END IF;
  NEW.load_raw := NULL;
  NEW."user" := coalesce(NEW.load->>'user', '');
  NEW.tgt_type := coalesce(NEW.load->>'tgt_type', 'glob');
  NEW.fun := brine.texts(NEW.load->'fun');
  NEW.tgt := brine.texts(NEW.load->'tgt');
  NEW.hidden := NEW.fun = ARRAY['saltutil.find_job'];
  RETURN NEW;
END
$$;

-- A tag may be longer than 255 characters, and pgjsonb loses the whole batch of events then.
ALTER TABLE public.salt_events ALTER COLUMN tag TYPE varchar;
