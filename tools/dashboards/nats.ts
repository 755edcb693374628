import type { Board } from './board.ts';
import { graph, stat } from './panels.ts';
import { orZero, rate } from './promql.ts';

const FILL = 'max by (stream) (brine_stream_bytes) / max by (stream) (brine_stream_max_bytes > 0)';
const BY_CONSUMER = 'max by (stream, consumer)';

/** NATS as the services see it, without its own exporter. */
export const nats: Board = {
  name: 'nats',
  title: 'NATS',
  about: 'The streams that everything goes through: how full, and how far behind their readers.',
  rows: [
    {
      title: 'Now',
      tiles: [
        stat({
          title: 'Services without NATS',
          about: 'Replicas that have no connection.',
          queries: [[orZero('count(brine_nats_connected == 0)'), 'away']],
          red: 1,
        }),
        stat({
          title: 'Fullest stream',
          about: 'A full stream takes no more returns; gateways then keep them.',
          unit: 'percentunit',
          queries: [[`max(${FILL})`, 'full']],
          red: 0.7,
        }),
        stat({
          title: 'Largest lag',
          about: 'Messages that a reader has not received yet.',
          queries: [['max(brine_stream_consumer_pending)', 'messages']],
          red: 10_000,
        }),
        stat({
          title: 'Without acknowledgement',
          about: 'Messages that readers have in hand.',
          queries: [
            ['sum(max by (stream, consumer) (brine_stream_consumer_ack_pending))', 'in hand'],
          ],
        }),
        stat({
          title: 'Messages kept',
          about: 'Over all streams.',
          queries: [['sum(max by (stream) (brine_stream_messages))', 'messages']],
        }),
        stat({
          title: 'Disk used',
          about: 'Over all streams.',
          unit: 'bytes',
          queries: [['sum(max by (stream) (brine_stream_bytes))', 'bytes']],
        }),
      ],
    },
    {
      title: 'Streams',
      tiles: [
        graph({
          title: 'How full',
          about: 'Share of the limit of each stream.',
          unit: 'percentunit',
          queries: [[FILL, '{{stream}}']],
        }),
        graph({
          title: 'Size',
          about: 'Bytes of each stream.',
          unit: 'bytes',
          queries: [['max by (stream) (brine_stream_bytes)', '{{stream}}']],
        }),
        graph({
          title: 'Messages',
          about: 'Messages of each stream.',
          queries: [['max by (stream) (brine_stream_messages)', '{{stream}}']],
        }),
        graph({
          title: 'Lag of the readers',
          about: 'Messages not yet handed out: `store` is the job cache.',
          queries: [[`${BY_CONSUMER} (brine_stream_consumer_pending)`, '{{stream}} {{consumer}}']],
        }),
        graph({
          title: 'In hand of the readers',
          about: 'Messages handed out and not yet acknowledged.',
          queries: [
            [`${BY_CONSUMER} (brine_stream_consumer_ack_pending)`, '{{stream}} {{consumer}}'],
          ],
        }),
        graph({
          title: 'Connections',
          about: 'Replicas that are connected, and reconnects per second.',
          queries: [
            ['sum by (service) (brine_nats_connected)', '{{service}}'],
            [orZero(rate('brine_nats_reconnects_total')), 'reconnects'],
          ],
        }),
        graph({
          title: 'Skipped messages',
          about: 'Messages per second that a reader could not handle and skipped.',
          queries: [[orZero(rate('brine_stream_aside_total')), 'messages']],
        }),
      ],
    },
  ],
};
