import { closeSync, openSync, writeSync } from 'node:fs';
import { unixMs } from './clock.ts';
import type { JobRun } from './job-run.ts';

const FLUSH_BYTES = 65_536;
const FLUSH_MS = 250;

/**
 * The rig's own log, for whoever checks the master's books: JSON lines, appended whole, so that
 * several processes may share a file. `t` is unix time in ms.
 *
 *     {"e":"received","jid":…,"ids":[["swarm-00000","swarm-00099"],…],"count":100,"t":…}
 *     {"e":"sent","jid":…,"id":…,"hash":…,"try":1,"t":…}      hash: of the packed return value
 *     {"e":"acked"|"lost","jid":…,"id":…,"t":…}
 */
export class Ledger {
  readonly #fd: number;
  readonly #timer: NodeJS.Timeout;
  #lines: string[] = [];
  #bytes = 0;

  /** @param beforeFlush may add lines. Throws Error where the file can not be opened. */
  constructor(path: string, beforeFlush: () => void) {
    this.#fd = openSync(path, 'a');
    this.#timer = setInterval(() => {
      beforeFlush();
      this.flush();
    }, FLUSH_MS);
    this.#timer.unref();
  }

  received(run: JobRun, idOf: (index: number) => string, nowMs: number): void {
    const ranges = run.newlyReached();
    if (ranges.length === 0) return;
    const count = ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    const ids = ranges.map(([from, to]) => [idOf(from), idOf(to)]);
    this.#line({ e: 'received', jid: run.job.jid, ids, count, t: time(nowMs) });
  }

  sent(jid: string, id: string, hash: string, send: number, nowMs: number): void {
    // Ids and hashes need no escapes here, and this is written ten thousand times a second.
    this.#text(
      `{"e":"sent","jid":"${jid}","id":"${id}","hash":"${hash}","try":${send},"t":${time(nowMs)}}\n`,
    );
  }

  ended(what: 'acked' | 'lost', jid: string, id: string, nowMs: number): void {
    this.#text(`{"e":"${what}","jid":"${jid}","id":"${id}","t":${time(nowMs)}}\n`);
  }

  /** Writes at once: the file takes what the process can not keep. */
  flush(): void {
    if (this.#bytes === 0) return;
    const text = this.#lines.join('');
    this.#lines = [];
    this.#bytes = 0;
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length;) at += writeSync(this.#fd, bytes, at);
  }

  close(): void {
    clearInterval(this.#timer);
    this.flush();
    closeSync(this.#fd);
  }

  #line(entry: object): void {
    this.#text(`${JSON.stringify(entry)}\n`);
  }

  #text(line: string): void {
    this.#lines.push(line);
    this.#bytes += line.length;
    if (this.#bytes >= FLUSH_BYTES) this.flush();
  }
}

function time(monotonic: number): number {
  return Math.round(unixMs(monotonic) * 1000) / 1000;
}
