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

/** The options for the niceness of processes. */
export type NicenessOptions = Pick<MasterOptions, (typeof OPTIONS)[keyof typeof OPTIONS][number]>;

/** Without an option: requests come before cluster tasks. */
const PRESET: Readonly<Record<string, number>> = { 'runner-pool': 10 };

const NICEST = 19;
const LEAST_NICE = -20;

/** The niceness to add to a service (Salt: os.nice in its processes). */
export function nicenessOf(service: string, options: NicenessOptions): number {
  const names = Object.hasOwn(OPTIONS, service) ? OPTIONS[service as keyof typeof OPTIONS] : [];
  const given = names.map((name) => options[name]).filter((value) => value !== undefined);
  if (given.length === 0) return PRESET[service] ?? 0;
  return given.reduce((sum, value) => sum + value, 0);
}

/**
 * Gives this process the niceness of its service's options. On Linux each thread has its own
 * niceness, so each is set; later threads inherit it from their creator. A value that the host does
 * not allow is logged, and the service continues.
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
    return [0]; // Not Linux: there the niceness is the process's.
  }
}
