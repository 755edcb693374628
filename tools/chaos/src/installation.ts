import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { databaseUrlOf } from '@brine/ledger-check';
import { livingSupervisor, readState, type ServiceState } from '@brine/service/processes';
import { picked, type Victim, VICTIMS } from './plan.ts';

/** A master of this host, as `brine master` runs it: found by its files, not by its parent. */
export class Installation {
  readonly options: MasterOptions;

  constructor(options: MasterOptions) {
    this.options = options;
  }

  /** Process id of the supervisor; undefined if no master runs. */
  supervisor(): number | undefined {
    return livingSupervisor(readState(this.options.brine.stateDir));
  }

  services(): readonly ServiceState[] {
    return readState(this.options.brine.stateDir)?.services ?? [];
  }

  /** True while the supervisor lives and all its services serve. */
  ready(): boolean {
    const services = this.services();
    return services.length > 0 && services.every(({ state }) => state === 'ready');
  }

  /** Processes that can be killed here: NATS and PostgreSQL only if the master runs its own. */
  victims(): Victim[] {
    const { nats, postgres } = this.options.brine;
    const own = (url: string | undefined): boolean => url === undefined || url === '';
    return VICTIMS.filter((victim) => {
      if (victim === 'nats') return own(nats.url);
      if (victim === 'postgres' || victim === 'postgres-backend') return own(postgres.url);
      return this.services().some(({ name }) => isInstanceOf(name, victim));
    });
  }

  databaseUrl(): Promise<string> {
    return databaseUrlOf(this.options);
  }

  /** Port of the master's own NATS. Throws errors of the file system if it has none. */
  async natsPort(): Promise<number> {
    return Number(await readFile(join(this.#natsDir(), 'port'), 'utf8'));
  }

  /** Port of the master's own PostgreSQL. Throws as {@link natsPort}. */
  async postgresPort(): Promise<number> {
    return Number((await this.#postmaster())[3]);
  }

  /** The processes for a fault; empty if there are none. */
  async processes(victim: Victim, pick: number, whole: boolean): Promise<readonly number[]> {
    switch (victim) {
      case 'nats':
        return pids([Number(await readIfThere(join(this.#natsDir(), 'nats.pid')))]);
      case 'postgres': {
        const server = Number((await this.#postmaster())[0]);
        return pids(whole ? [server, ...(await childrenOf(server))] : [server]);
      }
      case 'postgres-backend': {
        const server = Number((await this.#postmaster())[0]);
        return pids([picked(await childrenOf(server), pick)]);
      }
      default: {
        const living = this.services().filter(({ name }) => isInstanceOf(name, victim));
        return pids([picked(living, pick)?.pid]);
      }
    }
  }

  #natsDir(): string {
    return join(this.options.brine.stateDir, 'nats');
  }

  /** Lines of postmaster.pid: pid, directory, start time, port (PostgreSQL's miscadmin.h). */
  async #postmaster(): Promise<string[]> {
    const path = join(this.options.brine.stateDir, 'postgres', 'data', 'postmaster.pid');
    return (await readIfThere(path)).split('\n');
  }
}

/** Replicas have a number behind the service's name. */
function isInstanceOf(name: string, service: string): boolean {
  return name === service || name.startsWith(`${service}-`);
}

/** Only valid process ids: 0, 1 and other values would hit other processes. */
function pids(found: readonly (number | undefined)[]): number[] {
  return found.filter((pid): pid is number => Number.isInteger(pid) && Number(pid) > 1);
}

async function childrenOf(parent: number): Promise<number[]> {
  if (!(parent > 1)) return [];
  const all = (await readdir('/proc')).map(Number).filter((pid) => pid > 1);
  const found = await Promise.all(
    all.map(async (pid) => {
      // pid (name) state ppid …: the name may contain blanks and brackets.
      const stat = await readIfThere(`/proc/${pid}/stat`);
      return Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]) === parent ? pid : 0;
    }),
  );
  return found.filter((pid) => pid > 0).sort((a, b) => a - b);
}

/** The text of a file; '' if it is missing. */
async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}
