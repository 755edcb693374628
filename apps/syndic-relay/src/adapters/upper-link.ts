import type { MinionOptions } from '@brine/config';
import type { PrivateKey } from '@brine/crypt';
import { syndicStartTag } from '@brine/job';
import type { Clock, MasterKeyFile, MasterPort } from '@brine/minion';
import { MasterSession, MinionError } from '@brine/minion';
import type { MasterAbove, Sent } from '@brine/syndic';
import { errorText, type Log } from '@brine/tasks';
import type { SaltMap } from '@brine/wire';
import type { PublishedJob } from '@brine/wire/load';
import { buildMinionEvent, buildMinionEvents } from '@brine/wire/load';
import { strftime, wallClock } from '@brine/wire/text';

/** The parts of a link to a master above. */
export interface UpperLinkParts {
  /** The name in `syndic_master`. */
  readonly name: string;
  /** From the minion configuration: the id and keys, and the way to sign in. */
  readonly options: MinionOptions;
  /** `syndic_finger`. */
  readonly finger: string;
  /** Its port for publications; 0: the port that it reports. */
  readonly publishPort: number;
  readonly key: PrivateKey;
  readonly masterKeyFile: MasterKeyFile;
  readonly master: MasterPort;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each job of this master above. */
  onJob(job: PublishedJob): void;
}

/** The state of a link. */
export interface UpperLinkStatus {
  readonly name: string;
  /** Signed in and receiving jobs. */
  readonly isSubscribed: boolean;
  readonly jobs: number;
  /** Why no jobs come, if known. */
  readonly trouble: string | undefined;
}

/**
 * Timeout of one request; a salt-syndic gives it 5 to 10 s, three times (`return_retry_timer`).
 * After the timeout the request is sent again. A stock master that was only slow then has it twice.
 * A lost connection is noticed at once.
 */
const REQUEST_MS = 60_000;
/** Wait before a retry at a master that rejected this syndic, or has another fingerprint. */
const REFUSED_WAIT_MS = 30_000;
const START_RETRY_MS = 2_000;

/** A master above: signs in as a minion and receives jobs (Salt: salt/minion.py Syndic). */
export class UpperLink implements MasterAbove {
  readonly name: string;
  readonly #parts: UpperLinkParts;
  readonly #session: MasterSession;
  #isSubscribed = false;
  #jobs = 0;
  #trouble: string | undefined;
  /** True if it has answered since the connection was last lost. */
  #serves = false;
  #losses = 0;

  constructor(parts: UpperLinkParts) {
    const { options, finger, publishPort, key, masterKeyFile, master, clock, log } = parts;
    this.name = parts.name;
    this.#parts = parts;
    this.#session = new MasterSession({
      settings: {
        ...options,
        masterFinger: finger,
        // 4506 can be no port for publications (salt/minion.py): the reported port is used.
        publishPort: publishPort === 0 ? 4506 : publishPort,
        rejectedRetry: true,
      },
      key,
      masterKeyFile,
      master,
      clock,
      log,
    });
  }

  get status(): UpperLinkStatus {
    const { name } = this;
    return { name, isSubscribed: this.#isSubscribed, jobs: this.#jobs, trouble: this.#trouble };
  }

  /** Signs in and receives jobs until the signal is aborted; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    while (!signal.aborted) {
      try {
        await this.#session.signInAtLast(signal);
        await this.#listen(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#trouble = errorText(error);
        log.error({ err: error, master: this.name }, 'no link to the master above');
        await clock.sleep(REFUSED_WAIT_MS, signal).catch(() => undefined);
      }
    }
  }

  /**
   * A starting stock master opens its port long before it serves. Requests wait in its queue
   * meanwhile, so a request that is given up and sent again arrives twice. At first and after each
   * loss this therefore begins with a harmless request: an empty list of events. A sign-in would
   * not do, as 3008 has a separate worker for these.
   */
  async send(load: SaltMap, signal: AbortSignal): Promise<Sent> {
    if (!this.#serves) {
      const nothing = buildMinionEvents(this.#parts.options.id, [], null);
      if ((await this.#request(nothing, signal)) === 'away') return 'away';
    }
    return this.#request(load, signal);
  }

  async #request(load: SaltMap, signal: AbortSignal): Promise<Sent> {
    const lossesBefore = this.#losses;
    const sent = await this.#sent(load, signal);
    if (sent === 'away') this.#lost();
    else if (lossesBefore === this.#losses) this.#serves = true;
    return sent;
  }

  async #sent(load: SaltMap, signal: AbortSignal): Promise<Sent> {
    try {
      await this.#session.send(load, { timeoutMs: REQUEST_MS, tries: 1, signal });
      return 'taken';
    } catch (error) {
      this.#trouble = errorText(error);
      const refused = error instanceof MinionError && error.code === 'SALT_MINION_REFUSED';
      return refused ? 'refused' : 'away';
    }
  }

  /** An answer to an earlier request proves nothing about the master now. */
  #lost(): void {
    this.#serves = false;
    this.#losses += 1;
  }

  async #listen(signal: AbortSignal): Promise<void> {
    try {
      await this.#session.listen(signal, {
        opened: () => {
          if (!this.#isSubscribed) this.#deaf('no jobs of the master above yet: no connection');
          void this.#announce(signal);
        },
        link: (isUp) => {
          if (signal.aborted) return;
          if (isUp) return this.#subscribed();
          this.#lost();
          this.#deaf('no jobs of the master above until it is back');
        },
        job: (job) => {
          this.#jobs += 1;
          this.#parts.onJob(job);
        },
      });
    } finally {
      this.#isSubscribed = false;
    }
  }

  #subscribed(): void {
    this.#isSubscribed = true;
    this.#trouble = undefined;
    this.#parts.log.info({ master: this.name }, 'receiving jobs of the master above');
  }

  #deaf(text: string): void {
    this.#isSubscribed = false;
    this.#trouble = 'no connection for jobs';
    this.#parts.log.warn({ master: this.name }, text);
  }

  /** The start events, by which a Brine master above recognises a syndic. */
  async #announce(signal: AbortSignal): Promise<void> {
    const { options, clock } = this.#parts;
    const started = strftime(wallClock(new Date(clock.nowMs())), '%c');
    const text = `Syndic ${options.id} started at ${started}`;
    const tags = options.enableLegacyStartupEvents ? ['syndic_start'] : [];
    for (const tag of [...tags, syndicStartTag(options.id)]) {
      const event = buildMinionEvent(options.id, tag, text);
      while ((await this.send(event, signal)) === 'away' && !signal.aborted) {
        await clock.sleep(START_RETRY_MS, signal).catch(() => undefined);
      }
    }
  }
}
