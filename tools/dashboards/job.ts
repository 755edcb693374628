import type { VariableModel } from '@grafana/schema';
import { VariableHide, VariableRefresh } from '@grafana/schema';
import type { Board } from './board.ts';
import { DATA_SOURCES, graph, rows, trace } from './panels.ts';
import { quantile, rate } from './promql.ts';

/** The chosen job, quoted by Grafana for SQL. */
const JID = '${jid:sqlstring}';

/** The state of each minion, with the rules of `@brine/job-cache`. */
const STATES = `
WITH state AS (
  SELECT id, state, retcode,
    round(extract(epoch FROM received_at - published_at)::numeric, 3) AS seconds
  FROM brine.ledger WHERE jid = ${JID}
)`;

const jid: VariableModel = {
  name: 'jid',
  label: 'Job',
  type: 'query',
  datasource: DATA_SOURCES.postgres,
  query: 'SELECT jid FROM brine.jobs WHERE NOT hidden ORDER BY jid DESC LIMIT 200',
  refresh: VariableRefresh.onTimeRangeChanged,
  allowCustomValue: true,
};

/** The same hash as `traceIdOf` of `@brine/job`. */
const traceId: VariableModel = {
  name: 'trace',
  type: 'query',
  hide: VariableHide.hideVariable,
  datasource: DATA_SOURCES.postgres,
  query: `SELECT left(encode(sha256(convert_to(${JID}, 'UTF8')), 'hex'), 32)`,
  refresh: VariableRefresh.onTimeRangeChanged,
};

/** One job: the state of each minion, durations, and the trace. */
export const job: Board = {
  name: 'job',
  title: 'Job',
  about: 'One job by its id: every minion accounted for, and the way that the job went.',
  variables: [jid, traceId],
  rows: [
    {
      title: 'The job',
      tiles: [
        rows({
          title: 'What was asked',
          about: 'The job as it was published.',
          height: 4,
          sql: `SELECT jid, array_to_string(fun, ', ') AS function,
  array_to_string(tgt, ', ') AS target, tgt_type, "user", principal, published_at, deadline_at,
  cardinality(minions) AS targeted, host AS "published by"
FROM brine.jobs WHERE jid = ${JID}`,
        }),
        rows({
          title: 'Where the minions stand',
          about: 'Each minion is in one state; waiting ends with the deadline.',
          width: 8,
          sql: `${STATES}
SELECT state, count(*) AS minions, min(seconds) AS "first (s)", max(seconds) AS "last (s)"
FROM state GROUP BY state ORDER BY minions DESC`,
        }),
        rows({
          title: 'Minions, the slowest and the missing first',
          about: 'Seconds from the publication to the return.',
          width: 16,
          sql: `${STATES}
SELECT id AS minion, state, seconds, retcode
FROM state ORDER BY seconds DESC NULLS FIRST, id LIMIT 500`,
        }),
        rows({
          title: 'What was seen of minions meanwhile',
          about: 'Answers to find_job, sendings again, returns that were refused.',
          height: 6,
          sql: `SELECT nullif(id, '') AS minion, kind, first_at, last_at, count,
  detail::text AS detail
FROM brine.sightings WHERE jid = ${JID} ORDER BY last_at DESC, id LIMIT 500`,
        }),
        trace({
          title: 'Trace',
          about:
            'The way of the job through the services; the id of the trace is a hash of the jid.',
          traceId: '${trace}',
        }),
      ],
    },
    {
      title: 'All jobs of the time shown',
      tiles: [
        rows({
          title: 'Jobs',
          about: 'The newest first.',
          sql: `SELECT j.jid, array_to_string(j.fun, ', ') AS function,
  array_to_string(j.tgt, ', ') AS target, j."user", j.published_at,
  cardinality(j.minions) AS targeted, count(r.id) AS returned,
  count(r.id) FILTER (WHERE r.failed) AS failed,
  round(extract(epoch FROM max(r.received_at) - j.published_at)::numeric, 3) AS "last (s)"
FROM brine.jobs j LEFT JOIN brine.returns r USING (jid)
WHERE NOT j.hidden AND $__timeFilter(j.published_at)
GROUP BY j.jid ORDER BY j.jid DESC LIMIT 200`,
        }),
        rows({
          title: 'Slow functions',
          about: 'Seconds from the publication to the return, by function.',
          width: 12,
          sql: `SELECT r.fun AS function, count(DISTINCT r.jid) AS jobs, count(*) AS returns,
  round(percentile_cont(0.5) WITHIN GROUP (ORDER BY t.s)::numeric, 3) AS "half (s)",
  round(percentile_cont(0.99) WITHIN GROUP (ORDER BY t.s)::numeric, 3) AS "99 % (s)",
  round(max(t.s)::numeric, 3) AS "worst (s)"
FROM brine.jobs j JOIN brine.returns r USING (jid)
  CROSS JOIN LATERAL (SELECT extract(epoch FROM r.received_at - j.published_at) AS s) t
WHERE $__timeFilter(j.published_at)
GROUP BY r.fun ORDER BY "99 % (s)" DESC LIMIT 20`,
        }),
        rows({
          title: 'Minions that are slow or fail',
          about: 'Over all jobs of the time shown.',
          width: 12,
          sql: `SELECT r.id AS minion, count(*) AS returns,
  count(*) FILTER (WHERE r.failed) AS failed,
  round(avg(extract(epoch FROM r.received_at - j.published_at))::numeric, 3) AS "mean (s)",
  round(max(extract(epoch FROM r.received_at - j.published_at))::numeric, 3) AS "worst (s)"
FROM brine.jobs j JOIN brine.returns r USING (jid)
WHERE $__timeFilter(j.published_at)
GROUP BY r.id ORDER BY failed DESC, "worst (s)" DESC LIMIT 20`,
        }),
        graph({
          title: 'Time to the return by function',
          about: '99 of 100 returns are faster. The points lead to their traces.',
          unit: 'ms',
          width: 12,
          exemplars: true,
          queries: [[quantile(0.99, 'salt_job_duration_milliseconds', ['fun']), '{{fun}}']],
        }),
        graph({
          title: 'Completed by function',
          about: 'Returns per second; `success` as the minion reports it.',
          unit: 'cps',
          width: 12,
          queries: [[rate('salt_jobs_completed_total', ['fun', 'success']), '{{fun}} {{success}}']],
        }),
      ],
    },
  ],
};
