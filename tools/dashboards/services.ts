import type { VariableModel } from '@grafana/schema';
import { VariableRefresh, VariableSort } from '@grafana/schema';
import type { Board } from './board.ts';
import { DATA_SOURCES, graph, stat } from './panels.ts';
import { orZero, quantile, rate, total } from './promql.ts';

const OF_SERVICE = '{service=~"$service"}';
const REPLICA = '{{replica}}';

const service: VariableModel = {
  name: 'service',
  label: 'Service',
  type: 'query',
  datasource: DATA_SOURCES.prometheus,
  query: { query: 'label_values(brine_ready, service)', refId: 'A' },
  refresh: VariableRefresh.onTimeRangeChanged,
  sort: VariableSort.alphabeticalAsc,
  includeAll: true,
  multi: true,
  allValue: '.+',
  current: { text: 'All', value: '$__all' },
};

/** Each service and replica: resources, pending work, failures. */
export const services: Board = {
  name: 'services',
  title: 'Services',
  about: 'Each service of the master: what it uses, what it has in hand, what it gave up.',
  variables: [service],
  rows: [
    {
      title: 'Processes',
      tiles: [
        graph({
          title: 'Ready replicas',
          about: 'Replicas that serve.',
          queries: [[`sum by (service) (brine_ready${OF_SERVICE})`, '{{service}}']],
        }),
        graph({
          title: 'CPU',
          about: 'Cores used; a service in JavaScript uses little more than one.',
          queries: [[rate(`process_cpu_seconds_total${OF_SERVICE}`, ['replica']), REPLICA]],
        }),
        graph({
          title: 'Memory',
          about: 'Resident memory. It should be flat over days.',
          unit: 'bytes',
          queries: [[`max by (replica) (process_resident_memory_bytes${OF_SERVICE})`, REPLICA]],
        }),
        graph({
          title: 'Event loop lag',
          about: 'Delay that 99 of 100 turns stay below. Above 0.1 s everything else is late too.',
          unit: 's',
          queries: [[`max by (replica) (nodejs_eventloop_lag_p99_seconds${OF_SERVICE})`, REPLICA]],
        }),
        graph({
          title: 'Open files and sockets',
          about: 'A gateway and a publisher have one per minion.',
          queries: [
            [`max by (replica) (process_open_fds${OF_SERVICE})`, REPLICA],
            [`min(process_max_fds${OF_SERVICE})`, 'lowest limit'],
          ],
        }),
        graph({
          title: 'Restarts',
          about: 'Starts of a process in the time shown, not counting the first.',
          queries: [
            [
              `max by (replica) (changes(process_start_time_seconds${OF_SERVICE}[$__range]))`,
              REPLICA,
            ],
          ],
        }),
      ],
    },
    {
      title: 'Requests (port 4506)',
      tiles: [
        stat({
          title: 'Workers',
          about: 'Workers that take requests, as the gateway that sees the fewest does.',
          queries: [['min(brine_gateway_workers)', 'workers']],
          red: 1,
          worse: 'below',
        }),
        stat({
          title: 'In flight',
          about: 'Requests that wait for their answer.',
          queries: [['sum(brine_gateway_in_flight)', 'in flight']],
        }),
        stat({
          title: 'For redelivery',
          about: 'Sealed requests, returns above all, kept to be delivered again.',
          queries: [['sum(brine_gateway_held)', 'kept']],
          red: 1000,
        }),
        stat({
          title: 'Log-ins waiting',
          about: 'Log-ins give way to returns; after 4 s they are left unanswered.',
          queries: [['sum(brine_gateway_auth_waiting)', 'waiting']],
        }),
        stat({
          title: 'Lost',
          about: 'Sealed requests given up in the time shown.',
          queries: [[orZero(total('brine_gateway_lost_total')), 'lost']],
          red: 1,
        }),
        stat({
          title: 'RSA queue',
          about: 'Log-ins that wait for a thread that does RSA.',
          queries: [['sum(brine_worker_rsa_queued)', 'queued']],
        }),
        graph({
          title: 'Requests',
          about: 'Per second, by class and what came of them.',
          unit: 'reqps',
          queries: [
            [
              rate('brine_gateway_request_seconds_count', ['class', 'outcome']),
              '{{class}} {{outcome}}',
            ],
          ],
        }),
        graph({
          title: 'Time to the answer',
          about: 'At the gateway, by class. The points lead to their traces.',
          unit: 's',
          exemplars: true,
          queries: [
            [quantile(0.5, 'brine_gateway_request_seconds', ['class']), '{{class}} half'],
            [quantile(0.99, 'brine_gateway_request_seconds', ['class']), '{{class}} 99 %'],
          ],
        }),
        graph({
          title: 'Queues of the gateway',
          about: 'Requests in hand of workers, and waiting for one.',
          queries: [
            ['sum by (class) (brine_gateway_class_in_hand)', '{{class}} in hand'],
            ['sum by (class) (brine_gateway_class_waiting)', '{{class}} waiting'],
          ],
        }),
        graph({
          title: 'Not answered',
          about: 'Per second: malformed, refused without a worker, left without an answer, lost.',
          unit: 'reqps',
          queries: [
            [orZero(rate('brine_gateway_malformed_total')), 'malformed'],
            [orZero(rate('brine_gateway_refused_total')), 'refused'],
            [orZero(rate('brine_gateway_unanswered_total')), 'unanswered'],
            [orZero(rate('brine_gateway_auth_silent_total')), 'log-ins left unanswered'],
            [orZero(rate('brine_gateway_lost_total')), 'lost'],
          ],
        }),
        graph({
          title: 'Commands',
          about:
            'Handled by workers, and by runner-pool for jobs of the master itself, per second.',
          unit: 'reqps',
          queries: [[rate('salt_master_requests_handled_total', ['cmd']), '{{cmd}}']],
        }),
        graph({
          title: 'Time of commands',
          about: 'In the process that handles them; 99 of 100 are faster.',
          unit: 'ms',
          queries: [
            [quantile(0.99, 'salt_master_requests_duration_milliseconds', ['cmd']), '{{cmd}}'],
          ],
        }),
        graph({
          title: 'Outcomes',
          about: 'What workers and runner-pool made of requests, per second.',
          unit: 'reqps',
          queries: [[rate('brine_worker_outcomes_total', ['outcome']), '{{outcome}}']],
        }),
        graph({
          title: 'Queues of the workers',
          about: 'Requests that wait in the workers, by pool, and those being worked on.',
          queries: [
            ['sum by (pool) (salt_master_workers_queue_depth)', '{{pool}} waiting'],
            ['sum by (class) (brine_worker_running)', '{{class}} running'],
          ],
        }),
      ],
    },
    {
      title: 'HTTP API',
      tiles: [
        graph({
          title: 'Answers by HTTP',
          about: 'Per second, by status.',
          unit: 'reqps',
          queries: [[rate('brine_http_requests_total', ['status']), '{{status}}']],
        }),
        graph({
          title: 'Connections by HTTP',
          about: 'Open ones, requests in hand, and followers of events.',
          queries: [
            ['sum(brine_http_connections)', 'connections'],
            ['sum(brine_http_in_flight)', 'in hand'],
            ['sum(brine_http_followers)', 'followers'],
          ],
        }),
        graph({
          title: 'Limits of the HTTP API',
          about: 'Per second: calls refused, events dropped and followers closed for being slow.',
          unit: 'cps',
          queries: [
            [orZero(rate('brine_http_refused_total')), 'calls refused'],
            [orZero(rate('brine_http_dropped_total')), 'events dropped'],
            [orZero(rate('brine_http_closed_total')), 'followers closed'],
          ],
        }),
      ],
    },
    {
      title: 'Publications and events',
      tiles: [
        graph({
          title: 'Publications',
          about: 'Sent by all publishers, per second. Every publisher sends every publication.',
          unit: 'cps',
          queries: [
            [orZero(rate('brine_publisher_sent_total')), 'sent'],
            [orZero(rate('brine_publisher_sent_again_total')), 'of these again'],
            [orZero(rate('brine_publisher_expired_total')), 'too old'],
            [orZero(rate('brine_publisher_lost_total')), 'lost'],
          ],
        }),
        graph({
          title: 'Subscribers and keys',
          about: 'Connections and the epoch of the AES key, by publisher. Epochs must agree.',
          queries: [
            ['max by (replica) (brine_publisher_peers)', '{{replica}} peers'],
            ['max by (replica) (brine_publisher_epoch)', '{{replica}} epoch'],
          ],
        }),
        graph({
          title: 'Events',
          about: 'On the event sockets, and fired, per second.',
          unit: 'cps',
          queries: [
            [orZero(rate('brine_event_bus_events_total')), 'to readers'],
            [rate('salt_events_fired_total', ['tag_prefix']), '{{tag_prefix}}'],
          ],
        }),
        graph({
          title: 'Readers of events',
          about: 'Programs that follow the event socket, and readers dropped for being slow.',
          queries: [
            ['sum(brine_event_bus_readers)', 'readers'],
            [orZero(total('brine_event_bus_dropped_readers_total')), 'dropped'],
            [orZero(total('brine_event_bus_lost_local_events_total')), 'local events lost'],
          ],
        }),
        graph({
          title: 'Age of the AES key',
          about: 'It is renewed every `publish_session` seconds and when a key is deleted.',
          unit: 's',
          queries: [['max(brine_aes_epoch_age_seconds)', 'age']],
        }),
        graph({
          title: 'Key files',
          about: 'Whether the sync of the key files has stopped, which wants an operator.',
          max: 1,
          queries: [['max by (replica) (brine_key_sync_stopped)', '{{replica}}']],
        }),
      ],
    },
  ],
};
