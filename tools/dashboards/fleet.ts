import type { Board } from './board.ts';
import { graph, list, stat } from './panels.ts';
import { orZero, quantile, rate, total } from './promql.ts';

const SILENT_S = 3600;
const SILENT = `time() - max by (minion) (salt_responses_last_received_response) > ${SILENT_S}`;
const FAILED = total('salt_function_responses_total{success="false"}');
const FAILED_BY_FUNCTION = total('salt_function_responses_total{success="false"}', [
  'function',
  'state',
]);
const RETURNED = total('salt_function_responses_total');

/** Minions and jobs as a whole: connections, answers, failures. */
export const fleet: Board = {
  name: 'fleet',
  title: 'Fleet',
  about: 'All minions and jobs of this master: who is there, what is asked, what comes back.',
  rows: [
    {
      title: 'Now',
      tiles: [
        stat({
          title: 'Minions accepted',
          about: 'Accepted keys.',
          queries: [['max(salt_health_minions_total)', 'accepted']],
        }),
        stat({
          title: 'Minions connected',
          about: 'Connections to the publish port, over all publishers.',
          queries: [['sum(salt_master_connected_minions_count)', 'connected']],
        }),
        stat({
          title: 'Silent for an hour',
          about: 'Minions that were active before, but not in the last hour.',
          queries: [[orZero(`count(${SILENT})`), 'silent']],
          red: 1,
        }),
        stat({
          title: 'Jobs',
          about: 'Jobs published in the time shown.',
          queries: [[orZero(total('salt_new_job_total')), 'jobs']],
        }),
        stat({
          title: 'Failed returns',
          about: 'Share of failed returns in the time shown.',
          unit: 'percentunit',
          queries: [[orZero(`(${orZero(FAILED)}) / (${RETURNED} > 0)`), 'failed']],
          red: 0.05,
        }),
        stat({
          title: 'Alerts',
          about: 'Alerts that fire now; Prometheus lists them.',
          queries: [[orZero('count(ALERTS{alertstate="firing"})'), 'firing']],
          red: 1,
        }),
      ],
    },
    {
      title: 'Jobs',
      tiles: [
        graph({
          title: 'Jobs by function',
          about: 'Published jobs per second.',
          unit: 'cps',
          queries: [[rate('salt_new_job_total', ['function', 'state']), '{{function}} {{state}}']],
        }),
        graph({
          title: 'Returns',
          about: 'Stored returns per second, counted once per job and minion.',
          unit: 'cps',
          stacked: true,
          queries: [
            [orZero(rate('salt_function_responses_total{success="true"}')), 'good'],
            [orZero(rate('salt_function_responses_total{success="false"}')), 'failed'],
            [orZero(rate('salt_scheduled_job_return_total')), 'scheduled'],
          ],
        }),
        graph({
          title: 'Answers that are missing',
          about:
            'Minions asked less minions that answered. Above zero just after a big job; what ' +
            'stays above are minions that never answer.',
          queries: [
            [
              orZero(
                `${total('salt_expected_responses_total')} - ` +
                  `(${orZero(total('salt_function_responses_total'))})`,
              ),
              'missing',
            ],
          ],
        }),
        graph({
          title: 'Time to the return',
          about: 'From the publication to the stored return. The points lead to their traces.',
          unit: 'ms',
          exemplars: true,
          queries: [
            [quantile(0.5, 'salt_job_duration_milliseconds'), 'half'],
            [quantile(0.99, 'salt_job_duration_milliseconds'), '99 %'],
          ],
        }),
        list({
          title: 'Functions that fail',
          about: 'Failed returns in the time shown.',
          query: orZero(`topk(10, ${FAILED_BY_FUNCTION})`),
        }),
        list({
          title: 'Slowest functions',
          about: 'Time that 9 of 10 returns stay below.',
          unit: 'ms',
          query: `topk(10, ${quantile(0.9, 'salt_job_duration_milliseconds', ['fun'])} > 0)`,
        }),
      ],
    },
    {
      title: 'Minions',
      tiles: [
        graph({
          title: 'Connected and accepted',
          about:
            'They differ by the minions that are away. Present are minions by id; connections ' +
            'may be of other peers.',
          queries: [
            ['sum(brine_presence_minions{state="present"})', 'present'],
            ['sum(salt_master_connected_minions_count)', 'connections'],
            ['max(salt_health_minions_total)', 'accepted'],
          ],
        }),
        graph({
          title: 'Keys',
          about: 'Minion keys by state.',
          queries: [['max by (state) (brine_keys)', '{{state}}']],
        }),
        graph({
          title: 'Log-ins',
          about: 'Log-ins per second by what came of them.',
          unit: 'cps',
          queries: [[rate('salt_auth_attempts_total', ['result']), '{{result}}']],
        }),
        list({
          title: 'Minions with failures',
          about: 'Failed returns in the time shown. Above `brine.metrics.per_minion` as one.',
          query: orZero(`topk(10, ${total('salt_responses_total{success="false"}', ['minion'])})`),
        }),
        list({
          title: 'Longest silent',
          about: 'Time since the last return or event of a minion.',
          unit: 's',
          query: 'topk(10, time() - max by (minion) (salt_responses_last_received_response))',
        }),
        graph({
          title: 'State runs',
          about: 'Last duration of each kind of state run, and highstates that failed last time.',
          unit: 's',
          queries: [
            ['max by (function, state) (salt_job_duration_seconds)', '{{function}} {{state}}'],
            [
              orZero('count(max by (minion) (salt_function_status) == 0)'),
              'minions with a failed highstate (count)',
            ],
          ],
        }),
      ],
    },
  ],
};
