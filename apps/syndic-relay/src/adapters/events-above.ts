import { BusError } from '@brine/bus';
import type { EventMessage } from '@brine/bus/events';
import type { JobMessage, Published } from '@brine/bus/jobs';
import { type Jid, jobNewTag, jobPublishTag } from '@brine/job';
import type { EventToForward } from '@brine/syndic';
import type { SaltMap } from '@brine/wire';
import { unpackMap, WireError } from '@brine/wire';
import { buildNewJob } from '@brine/wire/load';

/** Wait between two tries to fetch a body while NATS is unreachable, ms. */
const BODY_RETRY_MS = 500;

/** Waits, at most until the relay stops. */
export type Wait = (ms: number) => Promise<void>;

/** Groups of events from the stream, as they go up. */
export async function* eventsAbove(
  batches: AsyncIterable<readonly EventMessage[]>,
  wait: Wait,
): AsyncGenerator<readonly EventToForward[], void> {
  for await (const batch of batches) yield batch.map((event) => eventAbove(event, wait));
}

/**
 * The two events of each job on a stock master's bus: `new`, which brings the expected minions to
 * the master above, and `publish`.
 */
export async function* jobsAbove(
  published: AsyncIterable<Published>,
): AsyncGenerator<readonly EventToForward[], void> {
  for await (const one of published) {
    if (one.kind === 'job') yield jobAbove(one);
    else one.ack();
  }
}

function eventAbove(event: EventMessage, wait: Wait): EventToForward {
  const { tag, jid, minion, size, timeMs, seq, incarnation } = event;
  return {
    key: `${incarnation}:${seq}`,
    tag,
    jid,
    minion,
    size,
    timeMs,
    data: () => bodyOf(event, wait),
    ack: () => event.ack(),
    giveBack: () => event.nak(0),
  };
}

/** Undefined for a body that is no map, or is lost. */
async function bodyOf(event: EventMessage, wait: Wait): Promise<SaltMap | undefined> {
  for (;;) {
    try {
      return unpackMap(await event.fetch());
    } catch (error) {
      if (!(error instanceof BusError)) return undefined;
      if (error.code === 'BUS_CLOSED' || error.code === 'BUS_FORBIDDEN') throw error;
      if (!error.retryable) return undefined;
      await wait(BODY_RETRY_MS);
    }
  }
}

function jobAbove(published: JobMessage): EventToForward[] {
  const { job, seq, incarnation } = published;
  const jid = job.jid as Jid;
  const parts: readonly [string, () => SaltMap][] = [
    [jobNewTag(jid), () => buildNewJob({ ...job, arg: argOf(job.load) })],
    [jobPublishTag(jid), () => unpackMap(job.publication)],
  ];
  let open = parts.length;
  return parts.map(([tag, data]) => ({
    key: `${incarnation}:${seq}:${tag}`,
    tag,
    jid: undefined,
    minion: undefined,
    size: job.publication.length + job.minions.length * 20,
    timeMs: Math.floor(published.timeUs / 1000),
    data: () => Promise.resolve(readable(data)),
    ack: () => {
      open -= 1;
      if (open === 0) published.ack();
    },
    giveBack: () => published.nak(0),
  }));
}

/** Undefined for a job whose load is no map. */
function readable(data: () => SaltMap): SaltMap | undefined {
  try {
    return data();
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

function argOf(load: Uint8Array) {
  return unpackMap(load).get('arg') ?? [];
}
