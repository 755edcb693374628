import type { PrivateKey } from '@brine/crypt';
import { minionStartTag } from '@brine/job';
import { buildMinionEvent, isMap, mapOf } from '@brine/wire';
import type { SaltMap, SaltValue } from '@brine/wire';
import { Authenticator } from './channel/authenticator.ts';
import { Channel } from './channel/channel.ts';
import { PublicationReader } from './channel/publications.ts';
import { MinionError } from './errors.ts';
import type { FunctionTable, MinionFunction } from './functions/function.ts';
import { grainsFunctions } from './functions/grains-functions.ts';
import { saltutilFunctions } from './functions/saltutil-functions.ts';
import { sysFunctions } from './functions/sys-functions.ts';
import { JobTable } from './jobs/job-table.ts';
import { JobWorker } from './jobs/job-worker.ts';
import type { FinishedJob } from './jobs/job-worker.ts';
import { Returner } from './jobs/returner.ts';
import { hostFunctions } from './modules/index.ts';
import type { Clock, MasterKeyFile, MasterPort, MinionLog, Publications } from './ports.ts';
import { RunnerPool } from './runner/pool.ts';
import type { MinionSettings } from './settings.ts';

/** What a minion is made of. */
export interface MinionParts {
  readonly settings: MinionSettings;
  readonly key: PrivateKey;
  readonly masterKeyFile: MasterKeyFile;
  readonly master: MasterPort;
  readonly clock: Clock;
  readonly log: MinionLog;
  collectGrains(): Promise<SaltMap>;
  /** Told of each job that is over. */
  finished(job: FinishedJob): void;
}

// A job is published to a minion as soon as its start is known: be there before it is told.
const CONNECT_WAIT_MS = 5_000;
// Salt forks for each job without a bound; this is far above what a host stands.
const MAX_RUNNERS = 64;
const SPARE_RUNNERS = 1;

/** A minion: signs in, hears jobs, runs those that are for it, returns. */
export class Minion {
  readonly #parts: MinionParts;
  readonly #authenticator: Authenticator;
  readonly #channel: Channel;
  readonly #pool: RunnerPool;
  readonly #jobs: JobTable;
  #grains: SaltMap = new Map();
  #pillar: SaltMap = new Map();
  #ready = false;

  constructor(parts: MinionParts) {
    const { settings, key, clock, log } = parts;
    this.#parts = parts;
    const me = {
      id: settings.id,
      key,
      encAlgo: settings.encryptionAlgorithm,
      sigAlgo: settings.signingAlgorithm,
      masterFinger: settings.masterFinger,
      hashType: settings.hashType,
    };
    const { masterKeyFile, master } = parts;
    const auth = { me, requests: master.auth, masterKeyFile, clock, log };
    this.#authenticator = new Authenticator(auth, settings);
    const { requests } = master;
    this.#channel = new Channel({ me, requests, authenticator: this.#authenticator, clock });
    const most = settings.processCountMax > 0 ? settings.processCountMax : MAX_RUNNERS;
    const maxRunners = Math.min(most, MAX_RUNNERS);
    this.#pool = new RunnerPool({ maxRunners, spareRunners: SPARE_RUNNERS });
    this.#jobs = new JobTable(settings.minionJidQueueHwm);
  }

  /** True once jobs are heard. */
  get ready(): boolean {
    return this.#ready;
  }

  /**
   * Runs until the signal is aborted. Throws MinionError with an exit code where the master does
   * not want this minion: rejected (77), another fingerprint (42), another algorithm (1).
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#pool.warm();
    try {
      await this.#serve(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#ready = false;
      this.#pool.close();
    }
  }

  async #serve(signal: AbortSignal): Promise<void> {
    this.#grains = await this.#parts.collectGrains();
    const credentials = await this.#authenticator.signInAtLast(signal);
    await this.#firstPillar(signal);
    const publications = this.#parts.master.subscribe(this.#portFor(credentials.publishPort));
    const close = (): void => void publications.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      const waiting = new AbortController();
      const late = this.#parts.clock.sleep(CONNECT_WAIT_MS, waiting.signal).catch(() => undefined);
      await Promise.race([publications.connected, late]);
      waiting.abort();
      void this.#announce(signal);
      await this.#listen(publications, signal);
    } finally {
      signal.removeEventListener('abort', close);
      await publications.close();
    }
  }

  /** The relayed port, unless the configuration names one of its own (salt/minion.py). */
  #portFor(relayed: number): number {
    const own = this.#parts.settings.publishPort;
    return own === 4505 || own === 4506 ? relayed : own;
  }

  async #firstPillar(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#getPillar(signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof MinionError && error.exitCode !== undefined) throw error;
        this.#parts.log.warn({ err: error }, 'no pillar from the master yet');
        await this.#parts.clock.sleep(this.#parts.settings.acceptanceWaitTime * 1000, signal);
      }
    }
  }

  async #getPillar(signal: AbortSignal): Promise<void> {
    const { settings } = this.#parts;
    const request = {
      timeoutMs: settings.requestChannelTimeout * 1000,
      tries: settings.requestChannelTries,
      signal,
    };
    const pillar = await this.#channel.pillar(this.#grains, request);
    this.#pillar = isMap(pillar) ? pillar : mapOf({});
  }

  async #listen(publications: Publications, signal: AbortSignal): Promise<void> {
    const { settings, log } = this.#parts;
    const reader = new PublicationReader(this.#authenticator, settings, log);
    const worker = this.#worker(signal);
    this.#ready = true;
    for await (const frame of publications) {
      if (signal.aborted) return;
      try {
        const job = await reader.read(frame, signal);
        if (job !== undefined) void worker.take(job);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof MinionError) || error.exitCode !== undefined) throw error;
        log.warn({ err: error }, 'a publication was lost: signing in failed');
      }
    }
  }

  #worker(signal: AbortSignal): JobWorker {
    const { settings, clock, log } = this.#parts;
    const returner = new Returner({ channel: this.#channel, clock, log, signal }, settings);
    return new JobWorker({
      id: settings.id,
      jobs: this.#jobs,
      pool: this.#pool,
      clock,
      log,
      own: this.#ownFunctions(signal),
      disabled: settings.disableModules,
      grains: () => this.#grains,
      pillar: () => this.#pillar,
      deliver: (load) => returner.deliver(load),
      finished: (job) => this.#parts.finished(job),
    });
  }

  #ownFunctions(signal: AbortSignal): FunctionTable {
    const own = {
      grains: () => this.#grains,
      pillar: () => this.#pillar,
      jobs: () => this.#jobs.list(),
      signalJob: (jid: string, name: NodeJS.Signals) => this.#jobs.signal(jid, name),
      refresh: async () => {
        this.#grains = await this.#parts.collectGrains();
        await this.#getPillar(signal);
      },
    };
    const version: MinionFunction = {
      doc: 'Return the version of salt on the minion.',
      run: () => this.#grains.get('saltversion') ?? null,
    };
    const table = new Map<string, MinionFunction>([
      ...grainsFunctions(own),
      ...saltutilFunctions(own),
      ['test.version', version],
    ]);
    const all = new Map([...hostFunctions, ...table]);
    for (const [name, fun] of sysFunctions(all)) {
      table.set(name, fun);
      all.set(name, fun);
    }
    return table;
  }

  /** The start events (salt/minion.py _fire_master_minion_start); their loss is only logged. */
  async #announce(signal: AbortSignal): Promise<void> {
    const { settings, clock, log } = this.#parts;
    const { id } = settings;
    const text = `Minion ${id} started at ${asctime(new Date(clock.nowMs()))}`;
    const tags = settings.enableLegacyStartupEvents ? ['minion_start'] : [];
    for (const tag of [...tags, minionStartTag(id)]) {
      const event = buildMinionEvent(id, tag, text);
      const grains = this.#startGrains();
      if (grains.size > 0) event.set('grains', grains);
      const timeoutMs = settings.requestChannelTimeout * 1000;
      try {
        await this.#channel.send(event, { timeoutMs, tries: settings.requestChannelTries, signal });
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error, tag }, 'the start was not told to the master');
      }
    }
  }

  #startGrains(): SaltMap {
    const chosen: [SaltValue, SaltValue][] = [];
    for (const name of this.#parts.settings.startEventGrains) {
      const value = this.#grains.get(name);
      if (value !== undefined) chosen.push([name, value]);
    }
    return new Map(chosen);
  }
}

/** As C's asctime in local time: `Fri Nov 20 17:10:37 2026`. */
function asctime(date: Date): string {
  const [day = '', month = '', number = '', year = ''] = date.toDateString().split(' ');
  const clock = date.toTimeString().slice(0, 8);
  return `${day} ${month} ${number.replace(/^0/, ' ')} ${clock} ${year}`;
}
