import { monotonicMs } from '../clock.ts';
import { Deadlines, RequestLine } from '../minions/request-line.ts';
import type { PublishOptions } from '../types.ts';
import { Ledger } from './ledger.ts';
import {
  newToken,
  numbered,
  type PublishAnswer,
  publishBody,
  readPublishAnswer,
} from './publish-request.ts';

const PUBLISH_TIMEOUT_MS = 60_000;

/** A publish, ready to send. */
export interface PublishRequest {
  readonly bytes: Buffer;
  readonly token: string;
  readonly timeoutMs: number;
  readonly sends: number;
}

/** Publishes jobs as `salt` does, several at once, each on its own connection. */
export class PublishClient {
  readonly #host: string;
  readonly #port: number;
  readonly #ledger: Ledger | undefined;
  readonly #deadlines = new Deadlines();
  readonly #idle: RequestLine[] = [];
  readonly #all: RequestLine[] = [];
  #closed = false;

  /** @param log file of the rig's log; none: nothing is written. */
  constructor(host: string, port: number, log: string | undefined) {
    this.#host = host;
    this.#port = port;
    this.#ledger = log === undefined ? undefined : new Ledger(log);
  }

  /** Reads the key and packs the request. Throws as the file system does. */
  async prepare(options: PublishOptions): Promise<PublishRequest> {
    const token = newToken();
    const logged = this.#ledger !== undefined;
    const body = await publishBody(options, logged);
    return {
      token,
      bytes: logged ? numbered(body, token) : body,
      timeoutMs: options.requestTimeoutMs ?? PUBLISH_TIMEOUT_MS,
      sends: options.sends ?? 1,
    };
  }

  /**
   * Sends one publish, and repeats the same bytes after a timeout, up to `sends` times. Throws
   * Error without an answer, WireError for an invalid one.
   */
  async send({ bytes, token, timeoutMs, sends }: PublishRequest): Promise<PublishAnswer> {
    this.#ledger?.publishing(token, monotonicMs());
    for (let send = 1; send <= sends; send += 1) {
      const reply = await this.#request(bytes, timeoutMs);
      if (reply === undefined) continue;
      const answer = readPublishAnswer(reply);
      const { jid, minions, error = '' } = answer;
      if (jid === undefined) this.#ledger?.refused(token, error, monotonicMs());
      else this.#ledger?.published(token, jid, minions.length, monotonicMs());
      return answer;
    }
    throw new Error(`no answer to a publish in ${timeoutMs * sends} ms`);
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const line of this.#all) line.close();
    this.#deadlines.close();
    this.#ledger?.close();
  }

  #request(bytes: Buffer, timeoutMs: number): Promise<Buffer | undefined> {
    const line = this.#idle.pop() ?? this.#open();
    return new Promise((resolve) => {
      line.request([bytes], timeoutMs, (reply) => {
        this.#idle.push(line);
        resolve(reply);
      });
    });
  }

  #open(): RequestLine {
    const line = new RequestLine(this.#host, this.#port, this.#deadlines);
    this.#all.push(line);
    return line;
  }
}
