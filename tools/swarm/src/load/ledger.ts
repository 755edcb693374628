import { closeSync, openSync, writeSync } from 'node:fs';
import { unixMs } from '../clock.ts';
import type { JobRun } from './job-run.ts';

const FLUSH_BYTES = 65_536;
const FLUSH_MS = 250;

/**
 * The rig's own log, to check the master's records against: JSON lines, appended whole, so that
 * several processes may share a file. `t` is unix time in ms.
 *
 *     {"e":"publishing","token":…,"t":…}                      token: in the job's metadata.storm
 *     {"e":"published","token":…,"jid":…,"targeted":100,"t":…}  the master has answered
 *  {"e":"refused","token":…,"why":"…","t":…} the master's error, without a job
 *     {"e":"received","jid":…,"ids":[["swarm-00000","swarm-00099"],…],"count":100,"t":…}
 *     {"e":"again","jid":…,"id":…,"t":…}                      the publication came once more
 *     {"e":"sent","jid":…,"id":…,"hash":…,"try":1,"t":…}      hash: of the packed return value
 *     {"e":"acked"|"lost","jid":…,"id":…,"t":…}
 */
export class Ledger {
  readonly #fd: number;
  readonly #timer: NodeJS.Timeout;
  readonly #beforeFlush: () => void;
  #lines: string[] = [];
  #bytes = 0;

  /** @param beforeFlush may add lines. Throws Error if the file can not be opened. */
  constructor(path: string, beforeFlush: () => void = () => undefined) {
    this.#fd = openSync(path, 'a');
    this.#beforeFlush = beforeFlush;
    this.#timer = setInterval(() => {
      beforeFlush();
      this.flush();
    }, FLUSH_MS);
    this.#timer.unref();
  }

  /** A publish request is sent for the first time. */
  publishing(token: string, nowMs: number): void {
    this.#line({ e: 'publishing', token, t: time(nowMs) });
  }

  /** A master has answered a publish with a job. */
  published(token: string, jid: string, targeted: number, nowMs: number): void {
    this.#line({ e: 'published', token, jid, targeted, t: time(nowMs) });
  }

  /** A master has refused a publish with an error. */
  refused(token: string, why: string, nowMs: number): void {
    this.#line({ e: 'refused', token, why, t: time(nowMs) });
  }

  /** Minions that received the publication since the last call; they run the job now. */
  received(run: JobRun, idOf: (index: number) => string, nowMs: number): void {
    const ranges = run.newlyReached();
    if (ranges.length === 0) return;
    const count = ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    const ids = ranges.map(([from, to]) => [idOf(from), idOf(to)]);
    this.#line({ e: 'received', jid: run.job.jid, ids, count, t: time(nowMs) });
  }

  /** A minion that knows the job received it again, and drops it as a stock one does. */
  again(jid: string, id: string, nowMs: number): void {
    this.#text(`{"e":"again","jid":"${jid}","id":"${id}","t":${time(nowMs)}}\n`);
  }

  sent(jid: string, id: string, hash: string, send: number, nowMs: number): void {
    // Without JSON.stringify: ids and hashes need no escapes, at ten thousand lines a second.
    this.#text(
      `{"e":"sent","jid":"${jid}","id":"${id}","hash":"${hash}","try":${send},"t":${time(nowMs)}}\n`,
    );
  }

  ended(what: 'acked' | 'lost', jid: string, id: string, nowMs: number): void {
    this.#text(`{"e":"${what}","jid":"${jid}","id":"${id}","t":${time(nowMs)}}\n`);
  }

  /** Writes synchronously, so that the process keeps no backlog. */
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
    this.#beforeFlush();
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
