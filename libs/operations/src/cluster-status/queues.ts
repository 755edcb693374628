import { plainText } from '@brine/wire/text';
import type { Cluster, ClusterService } from '../roll/roll.ts';

/** A queue with its load. */
export interface QueueLine {
  readonly kind: 'stream' | 'reader' | 'requests';
  readonly name: string;
  /** Waiting messages or requests; for a stream, all its messages. */
  readonly waiting: number;
  /** Used share of its capacity, from 0 to 1; 0 if it is unlimited. */
  readonly share: number;
  /** Messages delivered to a reader and not yet acknowledged. */
  readonly inHand: number;
}

/** Streams, their readers, and pending requests of gateways and workers, in this order. */
export function queuesOf({ services }: Cluster): readonly QueueLine[] {
  const streams = new Map<string, QueueLine>();
  const readers = new Map<string, QueueLine>();
  for (const { status } of services) {
    for (const one of listOf(status['streams'])) {
      const name = textOf(one['stream']);
      const [waiting, share] = [numberOf(one['messages']), numberOf(one['share'])];
      streams.set(name, { kind: 'stream', name, waiting, share, inHand: 0 });
    }
    for (const one of listOf(status['lags'])) {
      const name = `${textOf(one['stream'])}/${textOf(one['reader'])}`;
      const [waiting, inHand] = [numberOf(one['pending']), numberOf(one['unacknowledged'])];
      readers.set(name, { kind: 'reader', name, waiting, share: 0, inHand });
    }
  }
  return [...streams.values(), ...readers.values(), ...services.flatMap(requestsOf)];
}

/** One line for each class of requests of a gateway or a worker. */
function requestsOf({ service, name, machine, status }: ClusterService): QueueLine[] {
  const where = `${name} on ${machine}`;
  if (service === 'req-gateway') {
    // libs/bus RequestSender, and returns that no worker could take yet.
    const classes = recordOf(recordOf(status['workers'])['classes']);
    const kept = numberOf(recordOf(status['sealed'])['kept']);
    return CLASSES.map((cls) => {
      const { waiting, inFlight } = recordOf(classes[cls]);
      const more = cls === 'aes' ? kept : 0;
      return requestLine(`${cls} at ${where}`, numberOf(waiting) + more, numberOf(inFlight));
    });
  }
  if (service !== 'worker-pool') return [];
  const requests = recordOf(status['requests']);
  return CLASSES.map((cls) => {
    const hand = numberOf(recordOf(requests['hand'])[cls]);
    const running = numberOf(recordOf(requests['running'])[cls]);
    return requestLine(`${cls} at ${where}`, Math.max(0, hand - running), running);
  });
}

const CLASSES = ['auth', 'clear', 'aes'] as const;

function requestLine(name: string, waiting: number, inHand: number): QueueLine {
  return { kind: 'requests', name, waiting, share: 0, inHand };
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one): one is Record<string, unknown> => {
    return typeof one === 'object' && one !== null;
  });
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return value as Readonly<Record<string, unknown>>;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? plainText(value) : '';
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
