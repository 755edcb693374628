import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultProxy } from './fault-proxy.ts';
import type { Installation } from './installation.ts';
import { type Disk, DISKS, type Fault, type Link, LINKS, type Victim, WIRES } from './plan.ts';
import type { SmallDisk } from './small-disk.ts';
import type { Wires } from './wires.ts';

/** The proxies that an installation's connections lead through. */
export type Proxies = Readonly<Partial<Record<Link, FaultProxy>>>;

/** Tools for faults, beside signals. */
export interface FaultTools {
  readonly proxies: Proxies;
  readonly disks: Readonly<Partial<Record<Disk, SmallDisk>>>;
  readonly wires: Wires | undefined;
}

/** Timeout for a process that is being started, after which a fault is given up, in ms. */
const VICTIM_TIMEOUT_MS = 30_000;
const POLL_MS = 20;

/** Injects faults into an installation, and reverts lasting ones. */
export class Injector {
  readonly #installation: Installation;
  readonly #tools: FaultTools;
  readonly #stopped = new Set<number>();

  constructor(installation: Installation, tools: Partial<FaultTools> = {}) {
    this.#installation = installation;
    this.#tools = { proxies: {}, disks: {}, wires: undefined, ...tools };
  }

  /**
   * Injects one fault; resolves when it is over, and the master may recover. Throws Error without a
   * victim, as when a process does not come back.
   */
  async perform(fault: Fault): Promise<void> {
    switch (fault.kind) {
      case 'kill':
        await this.#signal(fault.victim, fault.pick, 'SIGKILL');
        return;
      case 'stop': {
        const stopped = await this.#signal(fault.victim, fault.pick, 'SIGSTOP');
        for (const pid of stopped) this.#stopped.add(pid);
        await sleep(fault.ms);
        this.#goOn(stopped);
        return;
      }
      case 'cut':
        this.#proxy(fault.link).cut(fault.pick);
        return;
      case 'stall':
        this.#proxy(fault.link).stall(fault.direction);
        await sleep(fault.ms);
        this.#proxy(fault.link).mend();
        return;
      case 'refuse':
        this.#proxy(fault.link).refuse();
        await sleep(fault.ms);
        this.#proxy(fault.link).mend();
        return;
      case 'full': {
        const disk = this.#tools.disks[fault.disk];
        if (disk === undefined) throw new Error(`${fault.disk} has no disk of its own`);
        await disk.fill();
        await sleep(fault.ms);
        await disk.empty();
        return;
      }
      case 'partition': {
        const { wires } = this.#tools;
        if (wires === undefined) throw new Error('there is no network of its own');
        await wires.cut(fault.wire);
        await sleep(fault.ms);
        await wires.mend(fault.wire);
        return;
      }
    }
  }

  /** Reverts all faults that still last. */
  async mendAll(): Promise<void> {
    this.#goOn([...this.#stopped]);
    const { proxies, disks, wires } = this.#tools;
    for (const link of LINKS) proxies[link]?.mend();
    for (const disk of DISKS) await disks[disk]?.empty();
    for (const wire of WIRES) await wires?.mend(wire);
  }

  async #signal(victim: Victim, pick: number, signal: 'SIGKILL' | 'SIGSTOP'): Promise<number[]> {
    const until = Date.now() + VICTIM_TIMEOUT_MS;
    for (;;) {
      const found = await this.#installation.processes(victim, pick, signal === 'SIGSTOP');
      const hit = found.filter((pid) => send(pid, signal));
      if (hit.length > 0) return hit;
      if (Date.now() > until) throw new Error(`there is no process of ${victim}`);
      await sleep(POLL_MS);
    }
  }

  #goOn(pids: readonly number[]): void {
    for (const pid of pids) {
      if (this.#stopped.delete(pid)) send(pid, 'SIGCONT');
    }
  }

  #proxy(link: Link): FaultProxy {
    const proxy = this.#tools.proxies[link];
    if (proxy === undefined) throw new Error(`${link} does not lead through a proxy`);
    return proxy;
  }
}

/** False if the process is gone already. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
