import type { Msg } from '@nats-io/nats-core';
import type { Bus } from '../connection/connect.ts';
import { BUNDLES, unbundle } from './bundle.ts';
import type { WorkerWord } from './request-frame.ts';
import { readWord, RENEWALS } from './request-frame.ts';

/** Told of what workers say. */
export interface WordHandlers {
  /** A worker has the request of this slot, or still has it. */
  readonly claimed: (slot: string) => void;
  readonly said: (slot: string, word: WorkerWord) => void;
}

/** Hears what workers say to one gateway; `prefix` ends in a dot. Returns the way to stop that. */
export function hearWords(bus: Bus, prefix: string, handlers: WordHandlers): () => void {
  const receive = (msg: Msg): void => {
    switch (msg.subject.slice(prefix.length)) {
      case RENEWALS:
        for (const slot of Buffer.from(msg.data).toString('latin1').split(' ')) {
          handlers.claimed(slot);
        }
        return;
      case BUNDLES:
        for (const { slot, bytes } of unbundle(msg.data) ?? []) {
          const word = readWord(bytes);
          if (word !== undefined) handlers.said(slot, word);
        }
    }
  };
  const subscription = bus.connection.subscribe(`${prefix}*`, {
    callback: (_error, msg) => receive(msg),
  });
  return () => subscription.unsubscribe();
}
