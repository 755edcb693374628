import { randomBytes } from 'node:crypto';
import { Wakeup } from '@brine/tasks';
import type { Msg } from '@nats-io/nats-core';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { askJetStream, isRecord, JS_ERRORS } from '../connection/js-api.ts';

/** A snapshot that the server has begun to send. */
export interface StreamSnapshot {
  /** The stream's configuration as the server gave it; a restore needs it. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The stream's state as the server gave it, when the snapshot began. */
  readonly state: Readonly<Record<string, unknown>>;
  /** The last sequence when the snapshot began: the snapshot has everything up to it. */
  readonly lastSeq: number;
  readonly messages: number;
  readonly bytes: number;
  /**
   * The snapshot, once. The server sends on after a chunk was taken; after 5 s without that it
   * gives up. @throws BusError `BUS_STREAM_AWAY` if it did, or if the connection was lost
   */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Bytes of a chunk, and of all chunks in flight. */
const CHUNK_BYTES = 512 * 1024;
const WINDOW_BYTES = 8 * 1024 * 1024;
/** The server may read all of a stream before it answers. */
const BEGIN_MS = 60_000;
/** A server reads a block of at most 8 MiB between two chunks. */
const SILENCE_MS = 20_000;
const ENDED_WELL = 204;

/**
 * Begins a snapshot of a stream, without consumers; undefined if there is no such stream. The
 * server writes the consumers' places last, so they may be beyond the last message of the snapshot.
 * Messages that come there later would be skipped. See {@link readerPlaces}.
 * @throws BusError `BUS_REFUSED`, also while another snapshot of the stream runs; `BUS_FORBIDDEN`,
 *   and as `Inbox.request` does.
 */
export async function takeSnapshot(bus: Bus, stream: string): Promise<StreamSnapshot | undefined> {
  const arrivals = new Arrivals(bus, stream);
  try {
    // The server looks for a listener of exactly this subject before it sends.
    await bus.flush();
    const request = {
      deliver_subject: arrivals.subject,
      no_consumers: true,
      chunk_size: CHUNK_BYTES,
      window_size: WINDOW_BYTES,
    };
    const answer = await askJetStream(bus, `STREAM.SNAPSHOT.${stream}`, request, BEGIN_MS);
    if (!answer.ok) {
      arrivals.close();
      if (answer.number === JS_ERRORS.streamNotFound) return undefined;
      const hint = /in progress/.test(answer.text) ? ': another backup runs, wait for its end' : '';
      throw new BusError('BUS_REFUSED', `no snapshot of ${stream}: ${answer.text}${hint}`);
    }
    const { config, state } = answer.value;
    if (!isRecord(config) || !isRecord(state)) {
      throw new BusError('BUS_BAD_MESSAGE', `a snapshot of ${stream} without its state`);
    }
    return {
      config,
      state,
      lastSeq: Number(state['last_seq'] ?? 0),
      messages: Number(state['messages'] ?? 0),
      bytes: Number(state['bytes'] ?? 0),
      chunks: arrivals.chunks(),
    };
  } catch (error) {
    arrivals.close();
    throw error;
  }
}

/** The chunks of one snapshot, in order. */
class Arrivals {
  readonly subject: string;
  readonly #stream: string;
  readonly #arrived: Msg[] = [];
  readonly #release: () => void;
  readonly #news = new Wakeup();
  #error: BusError | undefined;

  constructor(bus: Bus, stream: string) {
    this.#stream = stream;
    this.subject = `${bus.inboxPrefix}.s.${randomBytes(9).toString('base64url')}`;
    const subscription = bus.connection.subscribe(this.subject, {
      callback: (error, msg) => {
        if (error) this.#fail('BUS_FORBIDDEN', 'the inbox was refused', error);
        else this.#arrived.push(msg);
        this.#news.wake();
      },
    });
    // Chunks in flight are lost, and the server can not send the middle of a snapshot again.
    const ends = bus.onDisconnect(() => this.#fail('BUS_STREAM_AWAY', 'the connection was lost'));
    this.#release = () => {
      ends();
      if (!bus.connection.isClosed()) subscription.unsubscribe();
    };
  }

  close(): void {
    this.#release();
  }

  async *chunks(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        const msg = await this.#next();
        if (msg.data.length === 0) return this.#ended(msg);
        yield msg.data;
        // The last chunk needs no answer.
        if (msg.reply !== undefined && msg.reply !== '') msg.respond();
      }
    } finally {
      this.close();
    }
  }

  async #next(): Promise<Msg> {
    const until = performance.now() + SILENCE_MS;
    for (;;) {
      if (this.#error !== undefined) throw this.#error;
      const msg = this.#arrived.shift();
      if (msg !== undefined) return msg;
      const left = until - performance.now();
      if (left <= 0) this.#fail('BUS_STREAM_AWAY', `silent for ${SILENCE_MS / 1_000} s`);
      else await this.#news.wait(left);
    }
  }

  #fail(code: 'BUS_FORBIDDEN' | 'BUS_STREAM_AWAY', text: string, cause?: unknown): void {
    this.#error ??= new BusError(code, `the snapshot of ${this.#stream} broke off: ${text}`, cause);
    this.#news.wake();
  }

  #ended({ headers }: Msg): void {
    const code = headers?.code ?? ENDED_WELL;
    if (code === ENDED_WELL || code === 0) return;
    const why = `${code} ${headers?.description ?? ''}`.trim();
    throw new BusError('BUS_STREAM_AWAY', `the snapshot of ${this.#stream} broke off: ${why}`);
  }
}
