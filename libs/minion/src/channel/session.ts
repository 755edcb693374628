import type { PrivateKey } from '@brine/crypt';
import type { Log } from '@brine/tasks';
import type { SaltMap, SaltValue } from '@brine/wire';
import type { PublishedJob } from '@brine/wire/load';
import { MinionError } from '../errors.ts';
import type { Clock, MasterKeyFile, MasterPort, Publications } from '../ports.ts';
import type { MinionSettings } from '../settings.ts';
import { Authenticator } from './authenticator.ts';
import { FrameReader } from './frame-reader.ts';
import { type ChannelRequest, MasterChannel } from './master-channel.ts';

/** The options of a session. */
export type SessionSettings = Pick<
  MinionSettings,
  | 'id'
  | 'publishPort'
  | 'authTimeout'
  | 'authTries'
  | 'acceptanceWaitTime'
  | 'acceptanceWaitTimeMax'
  | 'rejectedRetry'
  | 'masterFinger'
  | 'hashType'
  | 'encryptionAlgorithm'
  | 'signingAlgorithm'
  | 'signPubMessages'
>;

/** The parts of a session. */
export interface SessionParts {
  readonly settings: SessionSettings;
  readonly key: PrivateKey;
  readonly masterKeyFile: MasterKeyFile;
  readonly master: MasterPort;
  readonly clock: Clock;
  readonly log: Log;
}

/** The reports of a session. */
export interface Listener {
  /** The subscription is ready, or late: the minion may announce its start now. */
  opened(): void;
  /** The subscription's connection is up, with `true`, or was lost and will be made again. */
  link?(isUp: boolean): void;
  /** A job, for this minion or another. */
  job(job: PublishedJob): void;
}

// Users publish to a minion once it announced its start, so it subscribes first.
const CONNECT_WAIT_MS = 5_000;

/** A master for a minion or a syndic: takes requests, sends jobs. */
export class MasterSession {
  readonly #parts: SessionParts;
  readonly #authenticator: Authenticator;
  readonly #channel: MasterChannel;

  constructor(parts: SessionParts) {
    const { settings, key, masterKeyFile, master, clock, log } = parts;
    const me = {
      id: settings.id,
      key,
      encAlgo: settings.encryptionAlgorithm,
      sigAlgo: settings.signingAlgorithm,
      masterFinger: settings.masterFinger,
      hashType: settings.hashType,
    };
    this.#parts = parts;
    const auth = { me, requests: master.auth, masterKeyFile, clock, log };
    this.#authenticator = new Authenticator(auth, settings);
    const { requests } = master;
    this.#channel = new MasterChannel({ me, requests, authenticator: this.#authenticator, clock });
  }

  /** Sealed requests to the master. */
  get channel(): Pick<MasterChannel, 'send' | 'pillar'> {
    return this.#channel;
  }

  /** Signs in without a time limit; throws MinionError only with an exit code. */
  async signInAtLast(signal: AbortSignal): Promise<void> {
    await this.#authenticator.signInAtLast(signal);
  }

  /** As the channel's `send`. */
  send(load: SaltMap, request: ChannelRequest): Promise<SaltValue> {
    return this.#channel.send(load, request);
  }

  /**
   * Subscribes and reports each job until the signal is aborted or the subscription ends. Needs an
   * earlier sign-in. Throws MinionError only with an exit code.
   */
  async listen(signal: AbortSignal, listener: Listener): Promise<void> {
    const { master, clock } = this.#parts;
    const onLink = (isUp: boolean): void => listener.link?.(isUp);
    const publications = master.subscribe(this.#publishPort(), onLink);
    const close = (): void => void publications.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      const waiting = new AbortController();
      const late = clock.sleep(CONNECT_WAIT_MS, waiting.signal).catch(() => undefined);
      await Promise.race([publications.connected, late]);
      waiting.abort();
      listener.opened();
      await this.#read(publications, signal, (job) => listener.job(job));
    } finally {
      signal.removeEventListener('abort', close);
      await publications.close();
    }
  }

  async #read(
    publications: Publications,
    signal: AbortSignal,
    received: (job: PublishedJob) => void,
  ): Promise<void> {
    const { settings, log } = this.#parts;
    const reader = new FrameReader(this.#authenticator, settings, log);
    for await (const frame of publications) {
      if (signal.aborted) return;
      try {
        const job = await reader.read(frame, signal);
        if (job !== undefined) received(job);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof MinionError) || error.exitCode !== undefined) throw error;
        log.warn({ err: error }, 'a publication was lost: signing in failed');
      }
    }
  }

  /** The port that the master reports, unless the configuration names one (salt/minion.py). */
  #publishPort(): number {
    const own = this.#parts.settings.publishPort;
    const relayed = this.#authenticator.current?.publishPort;
    return relayed === undefined || !(own === 4505 || own === 4506) ? own : relayed;
  }
}
