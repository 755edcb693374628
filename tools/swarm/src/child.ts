import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Answers, Order, Reply } from './messages.ts';

const KILL_AFTER_MS = 5_000;

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** A child process of the swarm, seen from the parent. */
export class Child {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #seq = 0;
  #gone: Error | undefined;

  constructor() {
    const own = import.meta.url.endsWith('.ts');
    const entry = new URL(own ? 'child-main.ts' : 'child-main.js', import.meta.url);
    this.#process = fork(fileURLToPath(entry), {
      serialization: 'advanced',
      execArgv: own ? ['--conditions=source', '--import', 'tsx'] : process.execArgv,
    });
    this.#process.on('message', (message) => this.#answer(message as Reply));
    this.#exited = new Promise((resolve) => {
      this.#process.once('error', (error) => this.#end(error));
      this.#process.once('exit', (code, signal) => {
        this.#end(new Error(`a process of the swarm ended with ${signal ?? `code ${code}`}`));
        resolve();
      });
    });
  }

  /** Sends an order; rejects if it fails, or the process ends. */
  ask<O extends Order>(order: O): Promise<Answers[O['kind']]> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    this.#seq += 1;
    const seq = this.#seq;
    return new Promise((resolve, reject) => {
      this.#waiting.set(seq, { resolve, reject });
      this.#process.send({ seq, order });
    });
  }

  /** Ends the process: in order, after a grace by force. */
  async close(): Promise<void> {
    if (this.#gone === undefined) {
      const timer = setTimeout(() => this.#process.kill('SIGKILL'), KILL_AFTER_MS);
      // It ends on this order; ending before the answer is fine.
      await this.ask({ kind: 'close' }).catch(() => undefined);
      await this.#exited;
      clearTimeout(timer);
    }
  }

  #answer(reply: Reply): void {
    const waiting = this.#waiting.get(reply.seq);
    this.#waiting.delete(reply.seq);
    if (reply.error !== undefined) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.value as never);
  }

  #end(why: Error): void {
    this.#gone ??= why;
    for (const waiting of this.#waiting.values()) waiting.reject(why);
    this.#waiting.clear();
  }
}
