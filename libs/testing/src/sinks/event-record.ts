import { join } from 'node:path';
import { EventClient } from '@brine/ipc';
import type { BrineMaster } from '../brine/brine-master.ts';

/** An event from the host's socket. */
export interface RecordedEvent {
  readonly tag: string;
  /** The packed map. */
  readonly packed: Uint8Array;
}

/** Every event at a master's socket from now on, whatever its tag. */
export class EventRecord implements Disposable {
  readonly events: RecordedEvent[] = [];
  /** Resolves when the socket has closed; rejects if it broke off. */
  readonly ended: Promise<void>;
  readonly #client: EventClient;

  private constructor(client: EventClient) {
    this.#client = client;
    this.ended = this.#read();
    // A master that ends cuts the socket off; awaiting `ended` still throws that error.
    this.ended.catch(() => undefined);
  }

  /** Connects to the socket. Throws IpcError if no service serves it. */
  static async open({ home }: Pick<BrineMaster, 'home'>): Promise<EventRecord> {
    const path = join(home.sockDir, 'master_event_pub.ipc');
    return new EventRecord(await EventClient.connect({ path }));
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  async #read(): Promise<void> {
    for await (const { tag, packed } of this.#client) this.events.push({ tag, packed });
  }
}
