import { randomBytes } from 'node:crypto';
import { Bucket, type Bus } from '@brine/bus';
import { type ClusterTask, ClusterTasks, NOT_SEALED, RunStore } from '@brine/cluster-work';
import type { EventReturn } from '@brine/event-return';
import type { Trouble } from '@brine/tasks';

/** The parts of the tasks of a process. */
export interface ReturnerTasksParts {
  readonly bus: Bus;
  /** The name of this host. */
  readonly host: string;
  readonly returners: readonly EventReturn[];
  readonly onTrouble: Trouble;
}

/** A beat stays this long in its bucket, which does not expire records: longer than any lease. */
const BEAT_LIVES_MS = 3_600_000;

/**
 * Makes each returner a task of the cluster: one process at a time writes there, and its place is
 * the data of the task. This service does not have the master's key, so its records are not sealed.
 * The returned function writes the gathered events, and releases the returners.
 */
export function serveReturners(parts: ReturnerTasksParts): () => Promise<void> {
  const { bus, host, returners, onTrouble } = parts;
  const bucket = new Bucket(bus, 'brine_event_return');
  const store = new RunStore({
    bucket,
    box: NOT_SEALED,
    onTrouble,
    beatLivesMs: BEAT_LIVES_MS,
    processId: `${host}/${process.pid}-${randomBytes(4).toString('hex')}`,
    releasedError: (name) => new Error(`another process may return the events to ${name} now`),
  });
  const kinds = new Map(returners.map((events) => [`event_return:${events.name}`, events]));
  store.serve({
    kinds: new Set(kinds.keys()),
    hasRoom: (kind) => kinds.get(kind)?.isMissing === false,
    takeOver: async (run) => kinds.get(run.kind)?.work(run),
  });
  const tasks = [...kinds].map(([kind, events]): ClusterTask => {
    const { name } = events;
    return { kind, name, work: (run) => events.work(run) };
  });
  const offering = new ClusterTasks(tasks, store.offers, onTrouble);
  return async () => {
    offering.close();
    await Promise.all(returners.map((events) => events.close()));
    await store.close();
  };
}
