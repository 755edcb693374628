-- What makes and drops tables is done with the rights of their owner, so that who stores rows need
-- not own the tables (roles.sql gives it to whom). Every name in these functions has its schema.
ALTER FUNCTION brine.ensure_day(text) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION brine.drop_days(text) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION brine.archive_days(text) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION brine.attach_archived() SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
REVOKE ALL ON FUNCTION brine.ensure_day(text), brine.drop_days(text), brine.archive_days(text),
  brine.attach_archived() FROM PUBLIC;

-- Was made when it was first needed.
CREATE TABLE IF NOT EXISTS brine_archive.salt_events (LIKE public.salt_events);
