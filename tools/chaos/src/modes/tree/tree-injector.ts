import { setTimeout as sleep } from 'node:timers/promises';
import { Injector } from '../../inject.ts';
import { type Fault, picked } from '../../plan.ts';
import { installationOf } from '../../start-master.ts';
import type { Tree } from './tree.ts';

/** Injects faults between two masters: into the relays, the master above, the link. */
export class TreeInjector {
  readonly #tree: Tree;
  /** For all faults except those of the relays, which run below. */
  readonly #above: Injector;
  readonly #stopped = new Set<number>();

  constructor(tree: Tree) {
    this.#tree = tree;
    this.#above = new Injector(installationOf(tree.above.home), { proxies: tree.links });
  }

  /** As `Injector.perform`. */
  async perform(fault: Fault): Promise<void> {
    const isOurs =
      (fault.kind === 'kill' || fault.kind === 'stop') &&
      (fault.victim === 'syndic-relay' || fault.victim === 'master-above');
    if (!isOurs) return this.#above.perform(fault);
    if (fault.kind === 'kill' && fault.victim === 'master-above') {
      return this.#tree.above.killAndStart();
    }
    // The process group of the supervisor contains everything that it has started.
    const pid =
      fault.victim === 'master-above'
        ? -(this.#tree.above.pid ?? 0)
        : await this.#relay(fault.pick);
    if (fault.kind === 'kill') return void signal(pid, 'SIGKILL');
    this.#stopped.add(pid);
    signal(pid, 'SIGSTOP');
    await sleep(fault.ms);
    this.#goOn(pid);
  }

  /** Reverts all faults that still last. */
  async mendAll(): Promise<void> {
    for (const pid of this.#stopped) this.#goOn(pid);
    await this.#above.mendAll();
  }

  async #relay(pick: number): Promise<number> {
    const { below, relay } = this.#tree;
    const own = (await below.services()).find(({ name }) => name === 'syndic-relay')?.pid;
    return picked([own ?? 0, relay.pid ?? 0], pick) ?? 0;
  }

  #goOn(pid: number): void {
    if (this.#stopped.delete(pid)) signal(pid, 'SIGCONT');
  }
}

/** Sends nothing if the process does not exist: 0 and 1 would hit other processes. */
function signal(pid: number, name: NodeJS.Signals): void {
  if (!Number.isInteger(pid) || Math.abs(pid) < 2) return;
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
