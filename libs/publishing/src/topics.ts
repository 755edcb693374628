import { createHash } from 'node:crypto';
import type { Job } from '@brine/job';

// Salt: salt/transport/zeromq.py PublishServer.publish_payload, for which target types the master
// sends one copy per minion.
const PER_MINION_TYPES: ReadonlySet<string> = new Set(['glob', 'pcre', 'list']);

/** How publications are cut into frames. */
export interface TopicRules {
  /** Salt: `zmq_filtering`. */
  readonly zmqFiltering: boolean;
  /** Salt: `order_masters`: syndics get every job. */
  readonly orderMasters: boolean;
}

/**
 * The messages that one publication goes out as: `[payload]`, or with `zmq_filtering` one
 * `[topic, payload]` for each topic that minions of its target subscribe to.
 */
export function* messagesOf(
  payload: Uint8Array,
  record: Pick<Job, 'tgtType' | 'minions'>,
  rules: TopicRules,
): Generator<readonly Uint8Array[], void> {
  if (!rules.zmqFiltering) {
    yield [payload];
    return;
  }
  if (PER_MINION_TYPES.has(record.tgtType)) {
    for (const id of record.minions) yield [topicOf(id), payload];
  } else {
    yield [BROADCAST, payload];
  }
  if (rules.orderMasters) yield [SYNDIC, payload];
}

/** The topic of one minion: hex SHA-1 of its id. */
export function topicOf(id: string): Buffer {
  return Buffer.from(createHash('sha1').update(id, 'utf8').digest('hex'), 'latin1');
}

const BROADCAST = Buffer.from('broadcast');
const SYNDIC = Buffer.from('syndic');
