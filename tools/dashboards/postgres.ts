import type { Board } from './board.ts';
import { graph, stat } from './panels.ts';
import { orZero, quantile, rate, total } from './promql.ts';

const DB = 'datname="$database"';

/** The job cache: stored data, durations, and the database underneath. */
export const postgres: Board = {
  name: 'postgres',
  title: 'PostgreSQL',
  about: 'The job cache: what is stored, how long it takes, and the database below it.',
  variables: [
    {
      name: 'database',
      label: 'Database',
      type: 'textbox',
      query: 'brine',
      current: { text: 'brine', value: 'brine' },
    },
  ],
  rows: [
    {
      title: 'Now',
      tiles: [
        stat({
          title: 'Database away',
          about: 'Returners that keep their data because PostgreSQL does not answer.',
          queries: [['sum(brine_store_holding)', 'holding']],
          red: 1,
        }),
        stat({
          title: 'Behind',
          about: 'Events and jobs in the streams that are not stored yet.',
          queries: [
            [
              orZero('sum(max by (stream) (brine_stream_consumer_pending{consumer="store"}))'),
              'messages',
            ],
          ],
          red: 10_000,
        }),
        stat({
          title: 'Quarantine',
          about: 'Rows that PostgreSQL refused; they wait in brine.quarantine.',
          queries: [[orZero('sum(brine_store_quarantine_rows)'), 'rows']],
          red: 1,
        }),
        stat({
          title: 'Returns without a job',
          about: 'Jids of returns whose job is not known (yet).',
          queries: [[orZero('sum(brine_store_orphans)'), 'jids']],
        }),
        stat({
          title: 'Size',
          about: 'Size of the database.',
          unit: 'bytes',
          queries: [[`max(pg_database_size_bytes{${DB}})`, 'bytes']],
        }),
        stat({
          title: 'Connections',
          about: 'Share of the connections that PostgreSQL allows.',
          unit: 'percentunit',
          queries: [['sum(pg_stat_activity_count) / max(pg_settings_max_connections)', 'used']],
          red: 0.8,
        }),
      ],
    },
    {
      title: 'Job cache',
      tiles: [
        graph({
          title: 'Rows stored',
          about: 'Per second.',
          unit: 'rowsps',
          queries: [
            [rate('brine_store_rows_total', ['kind']), '{{kind}}'],
            [orZero(rate('brine_store_known_rows_total')), 'known already'],
            [orZero(rate('brine_store_refused_rows_total')), 'refused'],
          ],
        }),
        graph({
          title: 'Time of a batch',
          about: 'From its first try to its commit, outages included.',
          unit: 's',
          queries: [
            [quantile(0.5, 'brine_store_batch_seconds', ['kind']), '{{kind}} half'],
            [quantile(0.99, 'brine_store_batch_seconds', ['kind']), '{{kind}} 99 %'],
          ],
        }),
        graph({
          title: 'Rows of a batch',
          about: 'On the mean. Large batches mean that there is much to do; that is well.',
          queries: [
            [
              `${rate('brine_store_batch_rows_sum', ['kind'])} / ` +
                rate('brine_store_batch_rows_count', ['kind']),
              '{{kind}}',
            ],
          ],
        }),
        graph({
          title: 'Connections of the job cache',
          about: 'Of its own pool, and queries that wait for one.',
          queries: [
            ['sum by (state) (brine_postgres_pool_connections)', '{{state}}'],
            ['sum(brine_postgres_pool_waiting)', 'waiting'],
          ],
        }),
        graph({
          title: 'Returns that were replaced',
          about: 'Returns whose place an earlier one took, in the time shown.',
          queries: [[orZero(total('brine_store_replaced_returns_total')), 'replaced']],
        }),
        graph({
          title: 'Quarantine and orphans',
          about: 'Both should be flat at zero.',
          queries: [
            [orZero('sum(brine_store_quarantine_rows)'), 'quarantine'],
            [orZero('sum(brine_store_orphans)'), 'orphans'],
          ],
        }),
        graph({
          title: 'Events given to returners',
          about: 'Per second, by `event_return`. Only where it is set.',
          unit: 'eps',
          queries: [
            [
              rate('brine_event_return_events_total', ['returner', 'outcome']),
              '{{returner}} {{outcome}}',
            ],
          ],
        }),
        graph({
          title: 'Event returners behind',
          about: 'Age of the oldest event that is being written.',
          unit: 's',
          queries: [['max by (returner) (brine_event_return_behind_seconds)', '{{returner}}']],
        }),
      ],
    },
    {
      title: 'Server (postgres_exporter)',
      tiles: [
        graph({
          title: 'Transactions',
          about: 'Per second.',
          unit: 'cps',
          queries: [
            [rate(`pg_stat_database_xact_commit{${DB}}`), 'committed'],
            [rate(`pg_stat_database_xact_rollback{${DB}}`), 'rolled back'],
          ],
        }),
        graph({
          title: 'Rows',
          about: 'Per second, of the whole database.',
          unit: 'rowsps',
          queries: [
            [rate(`pg_stat_database_tup_inserted{${DB}}`), 'inserted'],
            [rate(`pg_stat_database_tup_updated{${DB}}`), 'updated'],
            [rate(`pg_stat_database_tup_deleted{${DB}}`), 'deleted'],
            [rate(`pg_stat_database_tup_fetched{${DB}}`), 'fetched'],
          ],
        }),
        graph({
          title: 'Found in memory',
          about: 'Share of the blocks that were in the cache. Below 0.9 more memory helps.',
          unit: 'percentunit',
          max: 1,
          queries: [
            [
              `sum(pg_stat_database_blks_hit{${DB}}) / (sum(pg_stat_database_blks_hit{${DB}}) + ` +
                `sum(pg_stat_database_blks_read{${DB}}))`,
              'hit',
            ],
          ],
        }),
        graph({
          title: 'Connections by state',
          about: '`idle in transaction` that stays is a fault.',
          queries: [[`sum by (state) (pg_stat_activity_count{${DB}})`, '{{state}}']],
        }),
        graph({
          title: 'Locks',
          about: 'Acquired locks by mode.',
          queries: [[`sum by (mode) (pg_locks_count{${DB}})`, '{{mode}}']],
        }),
        graph({
          title: 'Trouble',
          about: 'Deadlocks in the time shown, and bytes per second of temporary files.',
          queries: [
            [total(`pg_stat_database_deadlocks{${DB}}`), 'deadlocks'],
            [rate(`pg_stat_database_temp_bytes{${DB}}`), 'temporary bytes'],
          ],
        }),
      ],
    },
  ],
};
