-- Retention: whole days go by dropping their partitions, which costs the same whatever they hold.

-- Drops the partitions of days before the given one ('20261120'); returns how many.
CREATE FUNCTION brine.drop_days(before_day text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  child text;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('brine.ensure_day'));
  FOR child IN
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'brine' AND c.relkind = 'r'
      AND c.relname ~ '^(jobs|returns|evidence)_[0-9]{8}$' AND right(c.relname, 8) < before_day
    ORDER BY c.relname
  LOOP
    EXECUTE format('DROP TABLE brine.%I', child);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END
$$;
