import type { JobFiles } from '@brine/cachedir';
import type { EventForReaders, Readers } from '@brine/host';
import type { SaltMap } from '@brine/wire';
import { pack } from '@brine/wire';

type OnEvent = (tag: string, packed: Uint8Array) => void;

/** The event socket of the master's host: who listens hears what is fired from then on. */
export class EventSocket {
  readonly #listeners = new Set<OnEvent>();

  listen(onEvent: OnEvent): Promise<{ close(): void }> {
    this.#listeners.add(onEvent);
    return Promise.resolve({ close: () => void this.#listeners.delete(onEvent) });
  }

  /** As the event-bus of the host fires. */
  get readers(): Readers {
    const fire = ({ tag, body }: EventForReaders): void => this.#fire(tag, body);
    const fireMap = (tag: string, data: SaltMap): void => this.#fire(tag, pack(data));
    const arrivals = (): Promise<void> => Promise.resolve();
    const readers = { count: 1, arrivals, fire, fireMap };
    return readers as unknown as Readers;
  }

  #fire(tag: string, packed: Uint8Array): void {
    for (const listener of [...this.#listeners]) listener(tag, packed);
  }
}

/** The job files of the host: which jobs have some. */
export function memoryFiles(): { readonly files: JobFiles; readonly jids: Set<string> } {
  const jids = new Set<string>();
  const files = {
    writeJob: ({ jid }: { jid: string }) => Promise.resolve(void jids.add(jid)),
    has: (jid: string) => Promise.resolve(jids.has(jid)),
    writeSyndicMinions: () => Promise.resolve(),
    writeBornJob: () => Promise.resolve(),
    noteSyndic: () => Promise.resolve(),
  };
  return { files: files as unknown as JobFiles, jids };
}
