import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { minionId } from '@brine/swarm';

/** Text of a gateway that is sure (apps/req-gateway, publish-lane.ts). */
const NOT_PUBLISHED = 'was not published';

/** Actions of one minion for one job. */
export interface ObservedReturn {
  /** Number of receipts that made it run the job. */
  runs: number;
  sends: number;
  acked: boolean;
  givenUp: number;
  /** Hashes of its returns: one, except for minions that send different values. */
  readonly hashes: string[];
  /** True once it is found in the database. */
  stored: boolean;
}

/** Observations of one job. */
export interface ObservedJob {
  readonly minions: Map<string, ObservedReturn>;
  /** Number of receipts that minions dropped because they knew the job. */
  again: number;
}

/** A publish that the master confirmed to a client. */
export interface ObservedPublish {
  readonly token: string;
  readonly jid: string;
  readonly targeted: number;
}

/** The logs of the rig. */
export class Observed {
  readonly jobs = new Map<string, ObservedJob>();
  readonly published: ObservedPublish[] = [];
  /** Refused publishes: the master's error by token. */
  readonly refused = new Map<string, string>();
  /** All minions that did anything. */
  readonly ids = new Set<string>();
  /** Number of sent publish requests. */
  publishes = 0;
  readonly #hashes = new Map<string, string>();

  /** Reads a log of the rig. Throws Error with file and line for an unknown line. */
  async read(path: string): Promise<void> {
    const lines = createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity });
    let number = 0;
    let broken: { readonly line: number; readonly cause: unknown } | undefined;
    for await (const line of lines) {
      number += 1;
      if (line === '') continue;
      // Only the last line may be truncated, if the rig was killed while writing.
      if (broken !== undefined) {
        throw new Error(`${path}:${broken.line}: no line of the rig's log`, broken);
      }
      try {
        this.#take(JSON.parse(line) as LogLine);
      } catch (cause) {
        broken = { line: number, cause };
      }
    }
  }

  pair(jid: string, id: string): ObservedReturn {
    const job = this.job(jid);
    let pair = job.minions.get(id);
    if (pair === undefined) {
      this.ids.add(id);
      pair = { runs: 0, sends: 0, acked: false, givenUp: 0, hashes: [], stored: false };
      job.minions.set(id, pair);
    }
    return pair;
  }

  job(jid: string): ObservedJob {
    let job = this.jobs.get(jid);
    if (job === undefined) this.jobs.set(jid, (job = { minions: new Map(), again: 0 }));
    return job;
  }

  #take(line: LogLine): void {
    switch (line.e) {
      case 'publishing':
        this.publishes += 1;
        return;
      case 'published':
        this.published.push({ token: line.token, jid: line.jid, targeted: line.targeted });
        return;
      case 'refused':
        if (line.why.includes(NOT_PUBLISHED)) this.refused.set(line.token, line.why);
        return;
      case 'received':
        for (const [from, to] of line.ids) {
          for (const id of idsBetween(from, to)) this.pair(line.jid, id).runs += 1;
        }
        return;
      case 'again':
        this.job(line.jid).again += 1;
        return;
      case 'sent': {
        const pair = this.pair(line.jid, line.id);
        pair.sends += 1;
        const hash = this.#one(line.hash);
        if (!pair.hashes.includes(hash)) pair.hashes.push(hash);
        return;
      }
      case 'acked':
        this.pair(line.jid, line.id).acked = true;
        return;
      case 'lost':
        this.pair(line.jid, line.id).givenUp += 1;
        return;
      default:
        throw new Error(`unknown entry ${JSON.stringify(line)}`);
    }
  }

  /** Interns a hash: millions of lines have few different ones. */
  #one(hash: string): string {
    const known = this.#hashes.get(hash);
    if (known !== undefined) return known;
    this.#hashes.set(hash, hash);
    return hash;
  }
}

/** The lines of the log, see `Ledger` in @brine/swarm. */
type LogLine =
  | { readonly e: 'publishing'; readonly token: string }
  | { readonly e: 'refused'; readonly token: string; readonly why: string }
  | {
      readonly e: 'published';
      readonly token: string;
      readonly jid: string;
      readonly targeted: number;
    }
  | {
      readonly e: 'received';
      readonly jid: string;
      readonly ids: readonly (readonly [string, string])[];
    }
  | { readonly e: 'again' | 'acked' | 'lost'; readonly jid: string; readonly id: string }
  | { readonly e: 'sent'; readonly jid: string; readonly id: string; readonly hash: string };

/** The ids of a range, both ends included. */
function idsBetween(from: string, to: string): string[] {
  const digits = /\d+$/;
  const first = Number(digits.exec(from)?.[0]);
  const last = Number(digits.exec(to)?.[0]);
  const prefix = from.replace(digits, '');
  if (!(last >= first) || minionId(prefix, last) !== to) {
    throw new Error(`${from} to ${to} is no range of minions`);
  }
  return Array.from({ length: last - first + 1 }, (_, index) => minionId(prefix, first + index));
}
