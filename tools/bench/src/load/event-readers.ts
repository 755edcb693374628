import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MasterUnderTest } from '../masters/master.ts';

const PROGRAM = fileURLToPath(new URL('event-readers.mjs', import.meta.url));
const ANSWER_MS = 10_000;

interface Answer {
  readonly ready?: true;
  readonly counts?: readonly number[];
  readonly error?: string;
}

/** Processes that read the event socket of a master. */
export class EventReaders {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /**
   * Connects so many readers, which count the events of this tag.
   * @throws Error where the socket refuses them.
   */
  static async open(master: MasterUnderTest, readers: number, tag: string): Promise<EventReaders> {
    const socket = join(master.home.sockDir, 'master_event_pub.ipc');
    // Salt's TAGEND, two line ends, separates the tag from its repetition in the data.
    const args = [socket, String(readers), `${tag}\n\n`];
    const child = fork(PROGRAM, args, { execArgv: [], stdio: 'inherit' });
    const all = new EventReaders(child);
    await all.#next();
    return all;
  }

  /** Events that each reader has seen so far. */
  async counts(): Promise<readonly number[]> {
    this.#child.send('count');
    const { counts } = await this.#next();
    return counts ?? [];
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.disconnect();
    await gone;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #next(): Promise<Answer> {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const [answer] = (await once(this.#child, 'message', { signal })) as [Answer];
    if (answer.error !== undefined) throw new Error(`event readers: ${answer.error}`);
    return answer;
  }
}
