import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minionId, Swarm } from '@brine/swarm';
import { freePorts } from '@brine/testing';
import { HostGroup } from '@brine/testing/nodes';

const MINIONS_PER_PROCESS = 2_500;
/** Minions of one host: a process of a test machine may open 20,000 files. */
const HOST_MINIONS_MAX = 12_500;
const PREFIX = 'many-';
/** Minions whose keys wait for a person. */
const GUEST = 'guest-';
/** A minion that has logged in once, and is not there. */
const GONE = 'gone-';
/** The time of a log-in whose key is not accepted, ms. */
const LOG_IN_MS = 30_000;
/** In the directory of the master: ids whose keys are accepted. */
const SIGNED = 'autosign';
const EVENTS_PER_SECOND = 500;
/** Events of one order to the swarm last so long, ms. */
const ROUND_MS = 2_000;

/** An address of its own: 28,000 local ports reach one port of an address. */
const addressOf = (host: number): string => `127.0.0.${host + 2}`;

/** Simulated minions of one master, or of two for many, with the console at one address. */
export class LargeFleet {
  /** The origin of the console. */
  readonly base: string;
  readonly #group: HostGroup;
  readonly #swarms: readonly Swarm[];
  #fired = 0;
  #guests = 0;

  private constructor(base: string, group: HostGroup, swarms: readonly Swarm[]) {
    this.base = base;
    this.#group = group;
    this.#swarms = swarms;
  }

  /** Starts masters and minions, and waits until all minions are logged in. */
  static async start(minions: number): Promise<LargeFleet> {
    const [port = 0] = await freePorts(1);
    const group = await HostGroup.start();
    const hosts = Math.ceil(minions / HOST_MINIONS_MAX);
    const swarms: Swarm[] = [];
    const fleet = new LargeFleet(`http://127.0.0.1:${port}`, group, swarms);
    try {
      for (let at = 0; at < hosts; at += 1) {
        const first = Math.floor((at * minions) / hosts);
        const own = Math.floor(((at + 1) * minions) / hosts) - first;
        swarms.push(await addHost(group, at, { port: at === 0 ? port : 0, first, own }));
        const { answered } = (await swarms.at(-1)?.connect()) ?? { answered: 0 };
        if (answered !== own) throw new Error(`${answered} of ${own} minions logged in`);
      }
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  /** The master of the console. */
  get master() {
    const [master] = this.#group.hosts;
    if (master === undefined) throw new Error('there is no host');
    return master;
  }

  /** Events that the master has taken. */
  get fired(): number {
    return this.#fired;
  }

  /** Runs `act` while minions fire 500 events a second. */
  async amidEvents(act: () => Promise<void>): Promise<void> {
    const stop = new AbortController();
    const ratePerSecond = EVENTS_PER_SECOND / this.#swarms.length;
    const fire = async (swarm: Swarm): Promise<void> => {
      while (!stop.signal.aborted) {
        const load = await swarm.events({ inFlight: 100, ratePerSecond, durationMs: ROUND_MS });
        this.#fired += load.answered;
      }
    };
    const firing = Promise.all(this.#swarms.map(fire));
    try {
      await act();
    } finally {
      stop.abort();
      await firing;
    }
  }

  /** A job of all minions. @returns its jid */
  async pingAll(): Promise<string> {
    const { master } = this;
    const { stdout, stderr, code } = await master.brine('salt', [
      '--async',
      `${PREFIX}*`,
      'test.ping',
    ]);
    if (code !== 0) throw new Error(stderr);
    return /\d{20}/.exec(stdout)?.[0] ?? '';
  }

  /** A minion that was never here asks to be accepted. @returns its id */
  async knock(): Promise<string> {
    const at = this.#guests;
    this.#guests += 1;
    await this.#visit(GUEST, at, (swarm) =>
      swarm.logIn({ inFlight: 1, count: 1, durationMs: LOG_IN_MS }),
    );
    return minionId(GUEST, at);
  }

  /** A minion logs in, and leaves. @returns its id */
  async leave(): Promise<string> {
    await this.#visit(GONE, 0, (swarm) => swarm.connect());
    return minionId(GONE, 0);
  }

  async #visit(
    idPrefix: string,
    firstIndex: number,
    act: (swarm: Swarm) => Promise<unknown>,
  ): Promise<void> {
    const { retPort, publishPort } = this.master.home;
    const swarm = await Swarm.start({
      host: addressOf(0),
      retPort,
      publishPort,
      minions: 1,
      firstIndex,
      idPrefix,
    });
    try {
      await act(swarm);
    } finally {
      await swarm.close();
    }
  }

  /** The id of one of its minions. */
  id(at: number): string {
    return minionId(PREFIX, at);
  }

  async close(): Promise<void> {
    for (const swarm of this.#swarms) await swarm.close();
    await this.#group.close();
  }
}

interface HostOptions {
  readonly port: number;
  readonly first: number;
  readonly own: number;
}

/** One more master of the group, and its minions. */
async function addHost(
  group: HostGroup,
  at: number,
  { port, first, own }: HostOptions,
): Promise<Swarm> {
  const master = await group.add(`host-${at}`, {
    interface: addressOf(at),
    autosign_file: SIGNED,
    schedule: { nightly: { function: 'jobs.active', hours: 12 } },
    max_open_files: 100_000,
    netapi_enable_clients: ['local', 'local_async', 'runner', 'wheel'],
    brine: { http: { port } },
  });
  const signed = join(master.home.configDir, SIGNED);
  await writeFile(signed, `${PREFIX}*\n${GONE}*\n`, { mode: 0o600 });
  return Swarm.start({
    host: addressOf(at),
    retPort: master.home.retPort,
    publishPort: master.home.publishPort,
    minions: own,
    firstIndex: first,
    idPrefix: PREFIX,
    processes: Math.ceil(own / MINIONS_PER_PROCESS),
  });
}
