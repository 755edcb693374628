import { streamUsage, trimStreams } from '@brine/bus';
import type { Bus } from '@brine/bus';
import { cleanOldJobs } from '@brine/cachedir';
import type { JobFiles } from '@brine/cachedir';

/** What housekeeping works with. */
export interface HousekeepingOptions {
  readonly bus: Bus;
  readonly files: JobFiles;
  readonly keepJobsSeconds: number;
  readonly signal: AbortSignal;
  readonly onTrouble: (text: string, error?: unknown) => void;
}

/** Share of a stream's room at which the operator is told. */
const ALARM_AT = 0.7;
const PURGE_EVERY_MS = 60_000;
const CLEAN_EVERY_MS = 15 * 60_000;
const FIRST_CLEAN_MS = 60_000;

/** Regular work of the streams' owner: purges what all have read, removes files of old jobs. */
export function startHousekeeping(options: HousekeepingOptions): {
  status(): object;
  close(): Promise<void>;
} {
  const counts = { purgedMessages: 0, cleanedJobs: 0, fullestStream: 0 };
  const purging = repeat(PURGE_EVERY_MS, PURGE_EVERY_MS, async () => {
    try {
      for (const { messages } of await trimStreams(options.bus)) counts.purgedMessages += messages;
      const shares = (await streamUsage(options.bus)).map(({ share }) => share);
      const fullest = Math.max(0, ...shares);
      if (fullest > ALARM_AT && counts.fullestStream <= ALARM_AT) {
        options.onTrouble(`a stream is ${Math.round(fullest * 100)} % full: is a reader behind?`);
      }
      counts.fullestStream = fullest;
    } catch (error) {
      options.onTrouble('streams were not purged', error);
    }
  });
  const cleaning = repeat(FIRST_CLEAN_MS, CLEAN_EVERY_MS, async () => {
    try {
      const { files, keepJobsSeconds, signal } = options;
      counts.cleanedJobs += await cleanOldJobs(files, { keepJobsSeconds, signal });
    } catch (error) {
      options.onTrouble('files of old jobs were not removed', error);
    }
  });
  return {
    status: () => ({ ...counts }),
    close: async () => {
      await Promise.all([purging.close(), cleaning.close()]);
    },
  };
}

/** Runs `work` again and again, never twice at once; `close` waits for the run in hand. */
function repeat(
  firstMs: number,
  everyMs: number,
  work: () => Promise<void>,
): { close(): Promise<void> } {
  let closed = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const arm = (delayMs: number): void => {
    timer = setTimeout(() => {
      running = work().then(() => {
        if (!closed) arm(everyMs);
      });
    }, delayMs);
    timer.unref();
  };
  arm(firstMs);
  return {
    close: () => {
      closed = true;
      clearTimeout(timer);
      return running;
    },
  };
}
