import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import type { MasterOptions } from '@brine/config';
import type { Log } from '@brine/telemetry';

/** Salt's options, by the service that does the work of Salt's process. */
const OPTIONS = {
  'worker-pool': ['mworkerNiceness'],
  'runner-pool': ['maintenanceNiceness'],
  'req-gateway': ['reqServerNiceness', 'mworkerQueueNiceness'],
  publisher: ['pubServerNiceness'],
  'event-bus': ['eventPublisherNiceness'],
} as const satisfies Readonly<Record<string, readonly (keyof MasterOptions)[]>>;

/** The options with which a process is made nice. */
export type NicenessOptions = Pick<MasterOptions, (typeof OPTIONS)[keyof typeof OPTIONS][number]>;

/** Where no option says it: requests come before what the master does by itself. */
const PRESET: Readonly<Record<string, number>> = { 'runner-pool': 10 };

const NICEST = 19;
const LEAST_NICE = -20;

/** What is added to the niceness of a service (Salt: os.nice in its processes). */
export function nicenessOf(service: string, options: NicenessOptions): number {
  const names = Object.hasOwn(OPTIONS, service) ? OPTIONS[service as keyof typeof OPTIONS] : [];
  const given = names.map((name) => options[name]).filter((value) => value !== undefined);
  if (given.length === 0) return PRESET[service] ?? 0;
  return given.reduce((sum, value) => sum + value, 0);
}

/**
 * Makes this process as nice as the options of its service ask for. On Linux niceness is that of a
 * thread, so that each one gets it; later threads have it from the one that starts them. A value
 * that the host does not allow is told of, and the service goes on.
 */
export function applyNiceness(service: string, options: NicenessOptions, log: Log): void {
  const more = nicenessOf(service, options);
  if (more === 0) return;
  try {
    const niceness = Math.min(NICEST, Math.max(LEAST_NICE, getPriority() + more));
    for (const thread of threads()) setPriority(thread, niceness);
    log.info({ niceness }, 'niceness is set');
  } catch (error) {
    log.warn({ err: error, niceness: more }, 'niceness is not in force: only root may lower it');
  }
}

function threads(): readonly number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [0]; // Not Linux: there it is that of the process.
  }
}
