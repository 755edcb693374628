import type { PrivateKey } from '@brine/crypt';
import { minionStartTag } from '@brine/job';
import type { Log } from '@brine/tasks';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { buildMinionEvent } from '@brine/wire/load';
import { strftime, wallClock } from '@brine/wire/text';
import { masterAccess } from './channel/master-access.ts';
import { MasterSession } from './channel/session.ts';
import { MinionError } from './errors.ts';
import type { FunctionTable } from './functions/minion-function.ts';
import { ownFunctions } from './functions/own-functions.ts';
import { JobTable } from './jobs/job-table.ts';
import { type FinishedJob, JobWorker } from './jobs/job-worker.ts';
import { ReturnSender } from './jobs/return-sender.ts';
import { hostFunctions } from './modules/index.ts';
import type { Clock, MasterKeyFile, MasterPort } from './ports.ts';
import { RunnerPool } from './runner/pool.ts';
import type { MinionSettings } from './settings.ts';

/** The parts of a minion. */
export interface MinionParts {
  readonly settings: MinionSettings;
  readonly key: PrivateKey;
  readonly masterKeyFile: MasterKeyFile;
  readonly master: MasterPort;
  readonly clock: Clock;
  readonly log: Log;
  collectGrains(): Promise<SaltMap>;
  /** The options of its file, for `config.get`. */
  config?(): SaltMap;
  /** Called with each finished job. */
  finished(job: FinishedJob): void;
}

// Salt forks for each job without a limit; this is far above the capacity of a host.
const MAX_RUNNERS = 64;
const SPARE_RUNNERS = 1;

/** A minion: signs in, receives jobs, runs those that are for it, sends the returns. */
export class Minion {
  readonly #parts: MinionParts;
  readonly #session: MasterSession;
  readonly #pool: RunnerPool;
  readonly #jobs: JobTable;
  #grains: SaltMap = new Map();
  #pillar: SaltMap = new Map();
  #ready = false;

  constructor(parts: MinionParts) {
    const { settings } = parts;
    this.#parts = parts;
    this.#session = new MasterSession(parts);
    const most = settings.processCountMax > 0 ? settings.processCountMax : MAX_RUNNERS;
    const maxRunners = Math.min(most, MAX_RUNNERS);
    this.#pool = new RunnerPool({ maxRunners, spareRunners: SPARE_RUNNERS });
    this.#jobs = new JobTable(settings.minionJidQueueHwm);
  }

  /** True once it receives jobs. */
  get ready(): boolean {
    return this.#ready;
  }

  /**
   * Runs until the signal is aborted. Throws MinionError with an exit code if the master refuses
   * this minion: rejected (77), another fingerprint (42), another algorithm (1).
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
    await this.#session.signInAtLast(signal);
    await this.#firstPillar(signal);
    const worker = this.#worker(signal);
    await this.#session.listen(signal, {
      opened: () => {
        this.#ready = true;
        void this.#announce(signal);
      },
      job: (job) => void worker.take(job),
    });
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
    const pillar = await this.#session.channel.pillar(this.#grains, request);
    this.#pillar = isMap(pillar) ? pillar : mapOf({});
  }

  #worker(signal: AbortSignal): JobWorker {
    const { settings, clock, log } = this.#parts;
    const returner = new ReturnSender(
      { channel: this.#session.channel, clock, log, signal },
      settings,
    );
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
    const master = masterAccess(this.#parts, this.#session, signal);
    const config = (): SaltMap => this.#parts.config?.() ?? new Map<SaltValue, SaltValue>();
    return ownFunctions({ own, master, config }, hostFunctions);
  }

  /**
   * Fires the start events (salt/minion.py _fire_master_minion_start); a failure is only logged.
   */
  async #announce(signal: AbortSignal): Promise<void> {
    const { settings, clock, log } = this.#parts;
    const { id } = settings;
    const started = strftime(wallClock(new Date(clock.nowMs())), '%c');
    const text = `Minion ${id} started at ${started}`;
    const tags = settings.enableLegacyStartupEvents ? ['minion_start'] : [];
    for (const tag of [...tags, minionStartTag(id)]) {
      const event = buildMinionEvent(id, tag, text);
      const grains = this.#startGrains();
      if (grains.size > 0) event.set('grains', grains);
      const timeoutMs = settings.requestChannelTimeout * 1000;
      try {
        await this.#session.send(event, { timeoutMs, tries: settings.requestChannelTries, signal });
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error, tag }, 'the master did not take the start event of this minion');
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
