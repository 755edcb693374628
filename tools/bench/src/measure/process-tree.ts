import { execFileSync } from 'node:child_process';
import {
  descendants,
  type ProcessStat,
  readDescriptors,
  readMemory,
  readOrUndefined,
  readProcesses,
} from './processes.ts';
import { serviceOf } from './services.ts';

/** Amounts by service of the master (`req-gateway`, `nats-server`, …). */
export type ByService = Readonly<Record<string, number>>;

/** Memory of a service, in KiB, and its open descriptors. */
export interface ServiceSize {
  readonly rss: number;
  readonly pss: number;
  /** Of {@link pss} what is no shared memory segment. */
  readonly own: number;
  readonly descriptors: number;
}

let ticksPerSecond: number | undefined;

/** SC_CLK_TCK: the unit of /proc/<pid>/stat; 100 on every Linux that was seen. */
function clockTicks(): number {
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return ticksPerSecond;
}

/**
 * All processes of a master: the one that was started and whatever descends from it. CPU time
 * counts what ended meanwhile too, as the kernel adds it to the parent that waits for it.
 */
export class ProcessTree {
  readonly root: number;
  readonly #services = new Map<string, string>();

  constructor(root: number) {
    this.root = root;
  }

  /** CPU seconds since the start of each service. Grows only, in sum, while the root lives. */
  async cpu(): Promise<ByService> {
    const seconds: Record<string, number> = {};
    for (const one of await this.#living()) {
      const service = await this.#nameOf(one);
      const ticks = one.ownTicks + one.reapedTicks;
      seconds[service] = (seconds[service] ?? 0) + ticks / clockTicks();
    }
    return seconds;
  }

  /** Memory and descriptors of each service now. */
  async sizes(): Promise<Readonly<Record<string, ServiceSize>>> {
    const sizes: Record<string, ServiceSize> = {};
    for (const one of await this.#living()) {
      const memory = await readMemory(one.pid);
      if (memory === undefined) continue;
      const service = await this.#nameOf(one);
      const before = sizes[service] ?? { rss: 0, pss: 0, own: 0, descriptors: 0 };
      sizes[service] = {
        rss: before.rss + memory.rss,
        pss: before.pss + memory.pss,
        own: before.own + memory.own,
        descriptors: before.descriptors + (await readDescriptors(one.pid)),
      };
    }
    return sizes;
  }

  async #living(): Promise<ProcessStat[]> {
    return descendants(this.root, await readProcesses());
  }

  /** A process keeps its name: the command line is read once. */
  async #nameOf({ pid, startTick, name }: ProcessStat): Promise<string> {
    const key = `${pid}@${startTick}`;
    const known = this.#services.get(key);
    if (known !== undefined) return known;
    const line = (await readOrUndefined(`/proc/${pid}/cmdline`)) ?? '';
    const service = serviceOf(line === '' ? name : line.replaceAll('\0', ' '));
    this.#services.set(key, service);
    return service;
  }
}

/** What each service used between two samples; a service that began meanwhile counts from 0. */
export function spent(before: ByService, after: ByService): ByService {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names].map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]),
  );
}

/** The amount of all services together. */
export function total(amounts: ByService): number {
  return Object.values(amounts).reduce((sum, one) => sum + one, 0);
}

/** PSS of all services together, in KiB. */
export function totalPss(sizes: Readonly<Record<string, ServiceSize>>): number {
  return Object.values(sizes).reduce((sum, { pss }) => sum + pss, 0);
}
