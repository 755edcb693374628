import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('http-followers.mjs', import.meta.url));
const ANSWER_MS = 300_000;

/** What followers got since the last look. */
export interface Followed {
  /** Least and most events of those that are read closely. */
  readonly frames: readonly [number, number];
  /** Least and most bytes of all. */
  readonly bytes: readonly [number, number];
  /** Followers whose connection was ended. */
  readonly ended: number;
  /** From an event's `sent` until it came, in ms. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What a follower got that did not read for a while. */
export interface Resumed {
  readonly bytes: number;
  /** It got the event that counts what it missed. */
  readonly knowsWhatItMissed: boolean;
}

/** A process with followers of streams of events. */
export class HttpFollowers {
  readonly #child: ChildProcess;

  /** Starts the process; nothing follows yet. */
  constructor(port: number) {
    this.#child = fork(PROGRAM, [String(port)], { execArgv: [], stdio: 'inherit' });
  }

  /** Begins `count` streams, with the tokens in turn. @throws Error if one is refused */
  async open(count: number, tokens: readonly string[], path = '/events'): Promise<void> {
    await this.#ask({ order: 'open', count, tokens, path });
  }

  /** What came since the last look. */
  async seen(): Promise<Followed> {
    return (await this.#ask({ order: 'seen' })) as Followed;
  }

  /** Begins one more stream, which is not read. */
  async stall(token: string): Promise<void> {
    await this.#ask({ order: 'stall', token });
  }

  /** Reads that stream; resolves when the server has closed it. */
  async resume(): Promise<Resumed> {
    return (await this.#ask({ order: 'resume' })) as Resumed;
  }

  /** Ends the streams that are read. */
  async end(): Promise<void> {
    await this.#ask({ order: 'close' });
  }

  /** Ends the process. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.disconnect();
    await gone;
  }

  async #ask(order: object): Promise<object> {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const next = once(this.#child, 'message', { signal });
    this.#child.send(order);
    const [answer] = (await next) as [{ readonly error?: string }];
    if (answer.error !== undefined) throw new Error(`followers: ${answer.error}`);
    return answer;
  }
}
