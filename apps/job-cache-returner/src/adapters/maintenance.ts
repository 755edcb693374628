import type { JobCache } from '@brine/job-cache';
import { LastRuns } from '@brine/service';
import type { Log } from '@brine/telemetry';

/** Interval of adopting returns without a job, and the time for their job to come, in ms. */
const ORPHANS_EVERY_MS = 2_000;
const ORPHAN_AGE_MS = 5_000;
/** Interval of making partitions and dropping old ones, in ms. */
const PARTITIONS_EVERY_MS = 60 * 60 * 1000;

/** The regular work of the store. */
export interface Maintenance {
  /** When each task was last done. */
  status(): object;
  close(): Promise<void>;
}

/**
 * Adopts returns without a job and keeps the partitions. Several processes may do it at once. A
 * failure is logged once and tried again at the next turn.
 */
export function startMaintenance(
  cache: Pick<JobCache, 'adoptOrphans' | 'ensurePartitions' | 'dropOlderThan' | 'archiveOlderThan'>,
  settings: { readonly keepMs: number; readonly archive: boolean; readonly log: Log },
): Maintenance {
  const { keepMs, archive, log } = settings;
  const runs = new LastRuns();
  const orphans = every(ORPHANS_EVERY_MS, 'adopting returns without a job', log, async () => {
    const adopted = await cache.adoptOrphans(ORPHAN_AGE_MS);
    if (adopted > 0) log.debug({ adopted }, 'made jobs for returns that had none');
  });
  const partitions = every(PARTITIONS_EVERY_MS, 'keeping partitions', log, async () => {
    await cache.ensurePartitions();
    runs.ran('partitions');
    if (keepMs <= 0) return;
    const beforeMs = Date.now() - keepMs;
    if (archive) {
      const moved = await cache.archiveOlderThan(beforeMs);
      if (moved > 0) log.info({ moved }, 'archived partitions of days that are over');
      runs.ran('archive');
      return;
    }
    const dropped = await cache.dropOlderThan(beforeMs);
    if (dropped > 0) log.info({ dropped }, 'dropped partitions of days that are over');
    runs.ran('old jobs');
  });
  return {
    status: () => runs.status(),
    close: async () => {
      await Promise.all([orphans(), partitions()]);
    },
  };
}

function every(ms: number, what: string, log: Log, work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let failing = false;
  const turn = (): void => {
    running ??= work()
      .then(() => {
        failing = false;
      })
      .catch((error: unknown) => {
        if (!failing) log.warn({ err: error }, `${what} failed, next time again`);
        failing = true;
      })
      .finally(() => {
        running = undefined;
      });
  };
  turn();
  const timer = setInterval(turn, ms);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
