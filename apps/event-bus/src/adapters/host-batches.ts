import type { EventMessage } from '@brine/bus/events';
import type { BatchFiles } from '@brine/cachedir';
import { isJid } from '@brine/job';
import type { Trouble } from '@brine/tasks';
import { isMap, mapIn, mapOf, type SaltMap, textOf, unpack } from '@brine/wire';

/** The parts of the batches of a host. */
export interface HostBatchesParts {
  readonly files: Pick<BatchFiles, 'writeState' | 'readOwnState' | 'active' | 'mark'>;
  /** Name of this host, for jobs of an adopted batch. */
  readonly host: string;
  /** Offers a batch to the workers; false if they have it already. */
  readonly offer: (jid: string, data: SaltMap, by: SaltMap) => Promise<boolean>;
  readonly onTrouble: Trouble;
  readonly onAdopted: (jid: string, user: string) => void;
}

const TAG = /^salt\/batch\/(\d{20})\/(new|progress|complete|halted)$/;
/** Events that wait for the disk; beyond that state files are a step behind. */
const WAITING_MAX = 1_000;
/** The mark of a stock command of 3008 for a batch that the master is to run. */
const STOCK_ASYNC = 'master';

/**
 * Writes the files that stock tools of 3008 read about batches on this host (`batch.status` of
 * `salt-run`), and passes the batches of their `salt --async -b` to the workers (Salt:
 * salt/utils/batch_manager.py).
 *
 * A state in an event is only shown. Batches are taken from the disk alone, where only the master's
 * user may write: a user with the right to a runner can fire any event.
 */
export class HostBatches {
  readonly #parts: HostBatchesParts;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(parts: HostBatchesParts) {
    this.#parts = parts;
  }

  /** Takes an event of the stream. */
  saw(event: Pick<EventMessage, 'kind' | 'tag' | 'fetch'>): void {
    const [, jid, suffix] = event.kind === 'local' ? (TAG.exec(event.tag) ?? []) : [];
    if (jid === undefined || suffix === undefined || !isJid(jid)) return;
    if (this.#waiting >= WAITING_MAX) return;
    this.#queue(`the state of batch ${jid} could not be kept`, async () => {
      const data = unpack(await event.fetch());
      if (isMap(data)) await this.#handle(jid, suffix, data);
    });
  }

  /** Adopts batches that a stock command left while no event bus ran. */
  start(): void {
    this.#queue('batches of this host could not be read', async () => {
      for (const jid of await this.#parts.files.active()) await this.#adopt(jid);
    });
  }

  /** Resolves when all events so far are kept. */
  close(): Promise<void> {
    return this.#last;
  }

  #queue(trouble: string, work: () => Promise<void>): void {
    this.#waiting += 1;
    this.#last = this.#last
      .then(work)
      .catch((err: unknown) => this.#parts.onTrouble(trouble, err))
      .finally(() => (this.#waiting -= 1));
  }

  async #handle(jid: string, suffix: string, data: SaltMap): Promise<void> {
    const { files } = this.#parts;
    const state = mapIn(data, 'state');
    const isActive = suffix === 'new' || suffix === 'progress';
    if (state !== undefined && textOf(state, 'driver') !== STOCK_ASYNC) {
      await files.writeState(jid, state);
      await files.mark(jid, isActive);
      return;
    }
    const isStock = !data.has('brine') && textOf(data, 'driver') === STOCK_ASYNC;
    if (suffix === 'new' && isStock) await this.#adopt(jid);
    if (!isActive) await files.mark(jid, false);
  }

  async #adopt(jid: string): Promise<void> {
    if (!isJid(jid)) return;
    const state = await this.#parts.files.readOwnState(jid);
    if (state === undefined || textOf(state, 'driver') !== STOCK_ASYNC) return;
    if (state.get('halted') === true) return;
    const user = textOf(state, 'user') ?? 'root';
    // Like `keptCaller` of libs/master: the file is the master's user's, which may do anything.
    const caller = mapOf({ kind: 'user', user, principal: user, free: true });
    const by = mapOf({ caller, principal: user, host: this.#parts.host });
    const begun = await this.#parts.offer(jid, mapOf({ adopt: state }), by);
    if (begun) this.#parts.onAdopted(jid, user);
  }
}
