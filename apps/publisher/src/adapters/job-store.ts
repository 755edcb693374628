import type { Bus } from '@brine/bus';
import { EventReader } from '@brine/bus/events';
import { ask } from '@brine/bus/rpc';
import type { DurableStore, DurableTask, LogIns, Unreturned } from '@brine/publishing';
import { bytesOf, intOf, isMap, listOf, mapOf, type SaltMap, textOf } from '@brine/wire';

/** A task may bring 100,000 ids and a publication of a megabyte. */
const TIMEOUT_MS = 10_000;
const UNRETURNED_TIMEOUT_MS = 1_500;

/** The durable jobs in the job cache (`brine.jobs.durable_take`, `…_confirm`). */
export function durableStoreOf(bus: Bus): DurableStore {
  return {
    take: async (logIns, probe) => {
      const question = mapOf({ heard: new Map(logIns), probe });
      const answer = await ask(bus, 'brine.jobs.durable_take', question, TIMEOUT_MS);
      if (!isMap(answer)) throw new Error('an answer about durable jobs that is no map');
      const task = answer.get('task');
      return { task: isMap(task) ? readTask(task) : undefined, open: intOf(answer, 'open') ?? 0 };
    },
    confirm: async ({ jid, requestId, turn, look }) => {
      const question = mapOf({ jid, requestId, turn, look });
      await ask(bus, 'brine.jobs.durable_confirm', question, TIMEOUT_MS);
    },
  };
}

/** Log-ins, from the events that workers write for them (`auth_events`). */
export function logInsOf(bus: Bus): LogIns {
  const reader = new EventReader(bus, { kinds: ['auth'] });
  return {
    close: () => reader.close(),
    async *[Symbol.asyncIterator]() {
      for await (const { minion, timeMs } of reader) {
        if (minion !== undefined) yield { id: minion, atMs: Math.round(timeMs) };
      }
    },
  };
}

function readTask(task: SaltMap): DurableTask {
  const kind = textOf(task, 'kind') === 'send' ? 'send' : 'ask';
  return {
    kind,
    jid: textOf(task, 'jid') ?? '',
    requestId: textOf(task, 'requestId') ?? '',
    turn: intOf(task, 'turn') ?? 0,
    look: intOf(task, 'look') ?? 0,
    minions: (listOf(task, 'minions') ?? []).filter((id) => typeof id === 'string'),
    probe: textOf(task, 'probe') ?? '',
    seq: intOf(task, 'seq') ?? 0,
    notAfter: intOf(task, 'notAfter') ?? 0,
    publication: bytesOf(task, 'publication') ?? new Uint8Array(0),
  };
}

/** Jobs without all returns, from the job cache (`brine.jobs.outstanding`). */
export function unreturnedBy(bus: Bus): Unreturned {
  return async (sinceMs) => {
    try {
      const answer = await ask(
        bus,
        'brine.jobs.outstanding',
        mapOf({ sinceMs }),
        UNRETURNED_TIMEOUT_MS,
      );
      if (!Array.isArray(answer)) return undefined;
      return new Map(
        answer.filter(isMap).map((job) => {
          const waiting = listOf(job, 'waiting') ?? [];
          return [textOf(job, 'jid') ?? '', waiting.filter((id) => typeof id === 'string')];
        }),
      );
    } catch {
      // Unreachable or busy: the caller sends all of them again rather than lose one.
      return undefined;
    }
  };
}
