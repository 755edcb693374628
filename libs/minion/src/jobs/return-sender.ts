import type { Log } from '@brine/tasks';
import { pack, type SaltMap } from '@brine/wire';
import type { MasterChannel } from '../channel/master-channel.ts';
import type { Clock } from '../ports.ts';
import type { MinionSettings } from '../settings.ts';

/** The parts of the sender. */
export interface ReturnSenderParts {
  readonly channel: Pick<MasterChannel, 'send'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

// Undelivered returns wait here, so that an outage of minutes loses nothing.
const MAX_WAITING = 1_000;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const AGAIN_MS = 30_000;

interface Waiting {
  readonly load: SaltMap;
  readonly bytes: number;
}

/** Sends returns to the master: three tries each, and further ones later if all failed. */
export class ReturnSender {
  readonly #parts: ReturnSenderParts;
  readonly #settings: MinionSettings;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #resending = false;

  constructor(parts: ReturnSenderParts, settings: MinionSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /** Number of returns that wait for the master to come back. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Sends a return; never rejects. */
  async deliver(load: SaltMap): Promise<void> {
    if (await this.#send(load)) return;
    this.#keep({ load, bytes: pack(load).length });
    void this.#resend();
  }

  async #send(load: SaltMap): Promise<boolean> {
    const { channel, clock, signal, log } = this.#parts;
    const { returnRetryTimer, returnRetryTimerMax, returnRetryTries } = this.#settings;
    const spread = Math.max(0, returnRetryTimerMax - returnRetryTimer);
    const timeoutMs = (returnRetryTimer + spread * clock.random()) * 1000;
    try {
      await channel.send(load, { timeoutMs, tries: returnRetryTries, signal });
      return true;
    } catch (error) {
      log.warn({ err: error, jid: load.get('jid') }, 'a return was not taken by the master');
      return false;
    }
  }

  #keep(one: Waiting): void {
    this.#waiting.push(one);
    this.#waitingBytes += one.bytes;
    while (this.#waiting.length > MAX_WAITING || this.#waitingBytes > MAX_WAITING_BYTES) {
      const lost = this.#waiting.shift();
      this.#waitingBytes -= lost?.bytes ?? 0;
      this.#parts.log.error({ jid: lost?.load.get('jid') }, 'a return is lost: too many wait');
    }
  }

  async #resend(): Promise<void> {
    if (this.#resending) return;
    this.#resending = true;
    const { clock, signal } = this.#parts;
    try {
      while (this.#waiting.length > 0 && !signal.aborted) {
        await clock.sleep(AGAIN_MS, signal);
        await this.#resendAll();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#resending = false;
    }
  }

  async #resendAll(): Promise<void> {
    for (let one = this.#waiting[0]; one !== undefined; one = this.#waiting[0]) {
      if (!(await this.#send(one.load))) return;
      const at = this.#waiting.indexOf(one);
      if (at >= 0) this.#waiting.splice(at, 1);
      this.#waitingBytes -= at >= 0 ? one.bytes : 0;
    }
  }
}
