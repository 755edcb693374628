import type { Msg } from '@nats-io/nats-core';
import type { Bus } from '../connection/connect.ts';
import { canPublish, publish } from '../connection/inbox.ts';
import { readMessage, RENEWALS, type WorkerMessage } from './request-frame.ts';

/** A message for one slot of its receiver. */
export interface Bundled {
  readonly slot: string;
  readonly bytes: Buffer;
}

/** The last token of the subject that bundles of messages for a whole gateway go to. */
export const BUNDLES = 'all';

/** A bundle of this size is sent at once. */
const SEND_AT_BYTES = 256 * 1024;
/** u8 length of the slot, u32 length of the bytes. */
const HEAD_BYTES = 5;

/**
 * Joins all messages to one subject within one turn of the event loop into one. A message costs its
 * sender, the server and its receiver a few microseconds each, whatever its size.
 */
export class Bundler {
  readonly #bus: Bus;
  readonly #reply: string | undefined;
  readonly #open = new Map<string, { items: Bundled[]; bytes: number }>();

  /** `reply`: the reply subject of all messages. */
  constructor(bus: Bus, reply?: string) {
    this.#bus = bus;
    this.#reply = reply;
  }

  /** Sends a message at the end of this turn. */
  add(subject: string, slot: string, bytes: Uint8Array): void {
    let bundle = this.#open.get(subject);
    if (bundle === undefined) {
      if (this.#open.size === 0) setImmediate(() => this.flush());
      bundle = { items: [], bytes: 0 };
      this.#open.set(subject, bundle);
    }
    bundle.items.push({ slot, bytes: bytes as Buffer });
    bundle.bytes += HEAD_BYTES + slot.length + bytes.length;
    if (bundle.bytes >= SEND_AT_BYTES) {
      this.#send(subject, bundle);
      bundle.items = [];
      bundle.bytes = 0;
    }
  }

  /** Sends all that is kept. */
  flush(): void {
    for (const [subject, bundle] of this.#open) {
      if (bundle.items.length > 0) this.#send(subject, bundle);
    }
    this.#open.clear();
  }

  #send(subject: string, bundle: { readonly items: readonly Bundled[]; readonly bytes: number }) {
    // Messages that are on their way when the connection closes are lost in any case.
    if (!canPublish(this.#bus.connection)) return;
    const packed = Buffer.allocUnsafe(bundle.bytes);
    let at = 0;
    for (const { slot, bytes } of bundle.items) {
      at = packed.writeUInt8(slot.length, at);
      at = packed.writeUInt32BE(bytes.length, at);
      at += packed.write(slot, at, 'latin1');
      packed.set(bytes, at);
      at += bytes.length;
    }
    publish(this.#bus.connection, subject, packed, this.#reply);
  }
}

/** Takes a bundle apart; undefined unless it is whole. The bytes are views. */
export function unbundle(data: Uint8Array): readonly Bundled[] | undefined {
  const packed = Buffer.from(data.buffer, data.byteOffset, data.length);
  const items: Bundled[] = [];
  let at = 0;
  while (at < packed.length) {
    if (packed.length - at < HEAD_BYTES) return undefined;
    const slotAt = at + HEAD_BYTES;
    const bytesAt = slotAt + packed.readUInt8(at);
    const end = bytesAt + packed.readUInt32BE(at + 1);
    if (end > packed.length) return undefined;
    const slot = packed.toString('latin1', slotAt, bytesAt);
    items.push({ slot, bytes: packed.subarray(bytesAt, end) });
    at = end;
  }
  return items;
}

/** Callbacks for the messages of workers. */
export interface WorkerMessageHandlers {
  /** A worker has the request of this slot, or still has it. */
  readonly claimed: (slot: string) => void;
  readonly received: (slot: string, message: WorkerMessage) => void;
}

/** Receives workers' messages to one gateway; `prefix` ends in a dot. Returns the stop function. */
export function onWorkerMessages(
  bus: Bus,
  prefix: string,
  handlers: WorkerMessageHandlers,
): () => void {
  const receive = (msg: Msg): void => {
    switch (msg.subject.slice(prefix.length)) {
      case RENEWALS:
        for (const slot of Buffer.from(msg.data).toString('latin1').split(' ')) {
          handlers.claimed(slot);
        }
        return;
      case BUNDLES:
        for (const { slot, bytes } of unbundle(msg.data) ?? []) {
          const message = readMessage(bytes);
          if (message !== undefined) handlers.received(slot, message);
        }
    }
  };
  const subscription = bus.connection.subscribe(`${prefix}*`, {
    callback: (_error, msg) => receive(msg),
  });
  return () => subscription.unsubscribe();
}
