// The statements about `brine.durable`; times are unix milliseconds.

/** Rows of a list; admission allows no more (libs/master durable.ts). */
const LIST_MAX = 1_000;

export const OPEN = `
INSERT INTO brine.durable (jid, request_id, seq, publication, fun, targeted, published_at,
  not_after, waiting, state, due_at)
VALUES ($1, $2, $3, $4, $5, cardinality($6::text[]), to_timestamp($7::float8 / 1000),
  to_timestamp($8::float8 / 1000), $6::text[], $9::jsonb, to_timestamp($10::float8 / 1000))
ON CONFLICT (jid, request_id) DO NOTHING`;

export const LOCK_DUE = `
SELECT jid, request_id, seq::float8 AS seq, publication, fun, waiting, state FROM brine.durable
WHERE closed IS NULL AND due_at <= to_timestamp($1::float8 / 1000)
ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED`;

export const LOCK_ONE = `
SELECT jid, request_id, seq::float8 AS seq, publication, fun, waiting, state FROM brine.durable
WHERE jid = $1 AND request_id = $2 AND closed IS NULL FOR UPDATE`;

export const WAITING = `
SELECT w.id FROM unnest($2::text[]) AS w(id)
WHERE NOT EXISTS (
  SELECT FROM brine.returns r WHERE r.jid = $1 AND r.id = w.id COLLATE "C")`;

// The latest answer of each minion since a time. An answer that is no map comes from a minion
// without the function, so nothing runs there. Sightings are kept even if the content of returns is
// not (`job_cache: false`).
export const ANSWERS = `
SELECT DISTINCT ON (id) id, running, at FROM (
  SELECT id, kind = 'running' AS running, extract(epoch FROM last_at)::float8 * 1000 AS at
  FROM brine.sightings
  WHERE jid = $1 AND kind IN ('running', 'not_running')
    AND last_at >= to_timestamp($2::float8 / 1000)
  UNION ALL
  SELECT id, false, extract(epoch FROM received_at)::float8 * 1000 FROM brine.returns
  WHERE jid = $3 AND jsonb_typeof(full_ret->'return') = 'string'
) AS word
ORDER BY id, at DESC`;

export const SENT = `
SELECT id, count, extract(epoch FROM last_at)::float8 * 1000 AS last_at FROM brine.sightings
WHERE jid = $1 AND kind = 'sent_again' AND id <> ''`;

export const KEEP = `
UPDATE brine.durable SET state = $3::jsonb, waiting = $4::text[],
  due_at = to_timestamp($5::float8 / 1000)
WHERE jid = $1 AND request_id = $2`;

export const CLOSE = `
UPDATE brine.durable SET state = $3::jsonb, waiting = $4::text[], closed = $5,
  closed_at = to_timestamp($6::float8 / 1000), publication = ''
WHERE jid = $1 AND request_id = $2`;

export const FORGET = `
DELETE FROM brine.durable WHERE closed_at < to_timestamp($1::float8 / 1000) - interval '1 day'`;

/** For a row that can not continue and is in quarantine. */
export const TAKE_OUT = `DELETE FROM brine.durable WHERE jid = $1 AND request_id = $2`;

export const SIGHT = `
INSERT INTO brine.sightings AS s (jid, id, kind, first_at, last_at, detail)
SELECT $1, id, $3, to_timestamp($4::float8 / 1000), to_timestamp($4::float8 / 1000), $5::jsonb
FROM unnest($2::text[]) AS id ORDER BY id
ON CONFLICT (jid, id, kind) DO UPDATE SET first_at = least(s.first_at, excluded.first_at),
  last_at = greatest(s.last_at, excluded.last_at), count = s.count + 1, detail = excluded.detail`;

export const LOG_INS = `
SELECT d.jid, d.request_id, array_agg(w.id) AS ids
FROM brine.durable d CROSS JOIN LATERAL unnest(d.waiting) AS w(id)
WHERE d.closed IS NULL AND w.id = ANY($1::text[])
GROUP BY d.jid, d.request_id`;

export const COUNT = `
SELECT count(*)::integer AS open, coalesce(sum(cardinality(waiting)), 0)::integer AS waiting
FROM brine.durable WHERE closed IS NULL`;

export const LIST = `
SELECT jid, fun, targeted, cardinality(waiting) AS waiting, (state->>'turn')::integer AS turns,
  extract(epoch FROM published_at)::float8 * 1000 AS published_at,
  extract(epoch FROM not_after)::float8 * 1000 AS not_after,
  (SELECT count(*)::integer FROM brine.sightings s
    WHERE s.jid = d.jid AND s.kind = 'sent_again' AND s.id <> '') AS sent_again
FROM brine.durable d WHERE closed IS NULL ORDER BY published_at, jid LIMIT ${LIST_MAX}`;
