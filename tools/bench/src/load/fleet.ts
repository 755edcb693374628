import {
  type Behaviour,
  type JobResult,
  type LoadOptions,
  type LoadResult,
  Swarm,
} from '@brine/swarm';
import type { MasterUnderTest } from '../masters/master.ts';
import { quiet } from '../measure/slice.ts';

/** What a fleet is made of. */
export interface FleetOptions {
  readonly minions: number;
  /** Ids begin so; fleets of one master need different ones. */
  readonly prefix?: string;
  readonly keyBits?: 2048 | 4096;
  readonly behaviours?: readonly Behaviour[];
  readonly say?: (line: string) => void;
}

/** Returns that are ready to be sent, and the jobs that they answer. */
export interface ReturnStorm {
  readonly jids: readonly string[];
  readonly storm: () => Promise<LoadResult>;
}

/** A fleet of this size is worth a process of its own. */
export const MINIONS_PER_PROCESS = 2_500;
/** Default of requests in flight; Salt's minions would have one each. */
const IN_FLIGHT = 64;
/** A publish to minions that stay silent is over when its reply is there. */
const SILENT_WAIT_MS = 1;
/** Minions that are busy when it is their turn are passed over: others answer a job more. */
const SPARE_JOBS = 6;
/** A storm that takes longer than this has failed. */
const STORM_MAX_MS = 60_000;

/** Simulated minions of one master. */
export class Fleet {
  readonly swarm: Swarm;
  readonly minions: number;
  readonly prefix: string;
  readonly #master: MasterUnderTest;

  private constructor(swarm: Swarm, master: MasterUnderTest, minions: number, prefix: string) {
    this.swarm = swarm;
    this.#master = master;
    this.minions = minions;
    this.prefix = prefix;
  }

  /** Starts the processes of a fleet whose keys the master accepts; no minion logs in yet. */
  static async start(master: MasterUnderTest, options: FleetOptions): Promise<Fleet> {
    const { minions, prefix = 'bench-', keyBits = 2048, behaviours = [] } = options;
    const swarm = await Swarm.start({
      retPort: master.home.retPort,
      publishPort: master.home.publishPort,
      minions,
      processes: Math.ceil(minions / MINIONS_PER_PROCESS),
      keyBits,
      idPrefix: prefix,
      behaviours,
      pkiDir: master.home.pkiDir,
      ...(options.say === undefined ? {} : { onProgress: options.say }),
    });
    return new Fleet(swarm, master, minions, prefix);
  }

  /** Each minion logs in once. */
  logIn(inFlight = IN_FLIGHT): Promise<LoadResult> {
    return this.swarm.logIn({ inFlight, count: this.minions, durationMs: 180_000 });
  }

  /** Each minion subscribes and logs in: afterwards they answer jobs. */
  connect(inFlight = IN_FLIGHT): Promise<LoadResult> {
    return this.swarm.connect({ inFlight });
  }

  /** Log-ins for a time, minions in turn. */
  logIns(load: LoadOptions): Promise<LoadResult> {
    return this.swarm.logIn(load);
  }

  /** A job for all minions of the fleet; resolves when the last return is acknowledged. */
  publish(waitMs: number): Promise<JobResult> {
    return this.swarm.publish({
      cachedir: this.#master.home.cacheDir,
      target: `${this.prefix}*`,
      waitMs,
    });
  }

  /** A storm of publishes to the minions of the fleet. */
  publishes(load: LoadOptions & { readonly user?: string }): Promise<LoadResult> {
    const { cacheDir } = this.#master.home;
    return this.swarm.publishes({ ...load, cachedir: cacheDir, target: `${this.prefix}*` });
  }

  /** Publishes jobs that no minion answers yet, so that there are jobs to return to. */
  async jobs(count: number): Promise<string[]> {
    const jids: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const { jid, error } = await this.publish(SILENT_WAIT_MS);
      if (jid === undefined) throw new Error(`publish refused: ${error ?? 'no reply'}`);
      jids.push(jid);
    }
    return jids;
  }

  /** A storm of returns to jobs published beforehand; the master is at rest when it begins. */
  async returns(count: number, inFlight: number): Promise<ReturnStorm> {
    const jids = await this.jobs(Math.ceil(count / this.minions) + SPARE_JOBS);
    await quiet(this.#master.tree);
    const load = { inFlight, count, jids, durationMs: STORM_MAX_MS };
    return { jids, storm: () => this.swarm.returns(load) };
  }

  close(): Promise<void> {
    return this.swarm.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
