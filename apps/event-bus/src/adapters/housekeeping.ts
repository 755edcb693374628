import type { Bus } from '@brine/bus';
import { streamUsage, trimStreams } from '@brine/bus';
import type { JobFiles } from '@brine/cachedir';
import { cleanOldJobs } from '@brine/cachedir';
import { LastRuns } from '@brine/service';
import type { Trouble } from '@brine/tasks';
import { ROOM_AT, StreamAlarm } from './stream-alarm.ts';

/** The parts of housekeeping. */
export interface HousekeepingOptions {
  readonly bus: Bus;
  readonly files: JobFiles;
  readonly keepJobsSeconds: number;
  /** `brine.events_keep`: how long messages stay after all readers have them. */
  readonly eventsKeepSeconds: number;
  /** Positions of readers that keep their places themselves: later messages stay. */
  readonly needed: () => Promise<readonly string[]>;
  readonly signal: AbortSignal;
  readonly onTrouble: Trouble;
  readonly onRelief: (text: string) => void;
}

/** Streams below their alarm are trimmed less often than this. */
const LOOK_EVERY_MS = 5_000;
const PURGE_EVERY_MS = 60_000;
const CLEAN_EVERY_MS = 15 * 60_000;
const FIRST_CLEAN_MS = 60_000;

/** Regular duties of the streams' owner: purges messages that all read, removes old job files. */
export function startHousekeeping(options: HousekeepingOptions): {
  status(): object;
  close(): Promise<void>;
} {
  const counts = { purgedMessages: 0, cleanedJobs: 0, fullestStream: 0 };
  const runs = new LastRuns();
  const alarm = new StreamAlarm();
  let purgedAt = performance.now();
  let failing = false;
  const purging = repeat(LOOK_EVERY_MS, LOOK_EVERY_MS, async () => {
    try {
      const usage = await streamUsage(options.bus);
      counts.fullestStream = alarm.fullest(usage);
      for (const { text, over } of alarm.look(usage)) {
        if (over) options.onRelief(text);
        else options.onTrouble(text);
      }
      const due = performance.now() - purgedAt >= PURGE_EVERY_MS;
      if (!due && counts.fullestStream < ROOM_AT) return;
      const keepMs = options.eventsKeepSeconds * 1000;
      const trimmed = await trimStreams(options.bus, { keepMs, needed: await options.needed() });
      for (const { messages } of trimmed) counts.purgedMessages += messages;
      purgedAt = performance.now();
      runs.ran('streams');
      failing = false;
    } catch (error) {
      if (!failing) options.onTrouble('streams were not purged', error);
      failing = true;
    }
  });
  const cleaning = repeat(FIRST_CLEAN_MS, CLEAN_EVERY_MS, async () => {
    try {
      const { files, keepJobsSeconds, signal } = options;
      counts.cleanedJobs += await cleanOldJobs(files, { keepJobsSeconds, signal });
      runs.ran('job files');
    } catch (error) {
      options.onTrouble('files of old jobs were not removed', error);
    }
  });
  return {
    status: () => ({ ...counts, ...runs.status() }),
    close: async () => {
      await Promise.all([purging.close(), cleaning.close()]);
    },
  };
}

/** Runs `work` again and again, never twice at once; `close` waits for the current run. */
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
