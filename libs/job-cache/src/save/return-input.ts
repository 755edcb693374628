/** The rows of the two parameters, shared by the statements about returns. */
export const RETURN_INPUT = `
  SELECT i.jid, i.id, i.fun, i.retcode, i.success, i.failed, i.full_ret,
    substring($2::bytea FROM i.start FOR i.length) AS raw,
    to_timestamp(i.at / 1000.0) AS received_at, i.incarnation, i.seq, i.content
  FROM jsonb_to_recordset($1::jsonb) AS i(jid text, id text, fun text, retcode integer,
    success boolean, failed boolean, full_ret jsonb, start integer, length integer, at float8,
    incarnation text, seq bigint, content uuid)`;
