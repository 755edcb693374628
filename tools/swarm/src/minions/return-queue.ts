import { createHash } from 'node:crypto';
import { pack } from '@brine/wire';
import { buildReturn } from '@brine/wire/load';
import { monotonicMs } from '../clock.ts';
import type { JobRun } from '../load/job-run.ts';
import type { Behaviour } from '../types.ts';
import { returnValue } from './behaviours.ts';
import { exchange, type SealingMinion } from './sealed-exchange.ts';
import type { LoadHead, SealedRequests } from './sealed-request.ts';
import type { Surroundings } from './surroundings.ts';

/** The part of a simulated minion that its queue needs. */
interface ReturningMinion extends SealingMinion {
  readonly index: number;
  readonly behaviour: Behaviour;
}

/** Maximum of queued answers of a minion; a stock one has as many processes. */
const MAX_WAITING = 100;

/** A head with the hash of its return, for the log. */
export interface ReturnHead extends LoadHead {
  readonly hash: string;
}

/** The return of a job for all minions of a behaviour, packed once per job and process. */
function returnHead(run: JobRun, behaviour: Behaviour, requests: SealedRequests): ReturnHead {
  const key = behaviour.name ?? JSON.stringify(behaviour);
  const known = run.heads.get(key) as ReturnHead | undefined;
  if (known !== undefined) return known;
  const { jid, fun, arg, user } = run.job;
  const retcode = behaviour.retcode ?? 0;
  const value = returnValue(fun, arg, behaviour);
  const load = buildReturn({
    id: '',
    jid,
    fun,
    funArgs: arg,
    return: value,
    retcode,
    success: retcode === 0,
    rest: new Map(),
    ...(user === undefined ? {} : { user }),
  });
  load.delete('id');
  const head = { ...requests.head(load), hash: hashOf(pack(value)) };
  run.heads.set(key, head);
  return head;
}

/** The hash in the log: of the packed return value, sixteen digits of its SHA-256. */
export function hashOf(packed: Uint8Array): string {
  return createHash('sha256').update(packed).digest('hex').slice(0, 16);
}

/** The returns of one minion to real jobs: one in flight, the others wait. */
export class ReturnQueue {
  readonly #minion: ReturningMinion;
  readonly #around: Surroundings;
  readonly #waiting: JobRun[] = [];
  #sending = false;
  #closed = false;

  constructor(minion: ReturningMinion, around: Surroundings) {
    this.#minion = minion;
    this.#around = around;
  }

  /** Answers a job so many times. */
  push(run: JobRun, times: number): void {
    for (let i = 0; i < times; i += 1) {
      if (this.#waiting.length < MAX_WAITING) this.#waiting.push(run);
      else {
        this.#around.counts.returnsDropped += 1;
        run.open -= 1;
      }
    }
    this.#next();
  }

  close(): void {
    this.#closed = true;
    this.#waiting.length = 0;
  }

  #next(): void {
    if (this.#sending || this.#closed) return;
    const run = this.#waiting.shift();
    if (run === undefined) return;
    this.#sending = true;
    this.#send(run);
  }

  #send(run: JobRun): void {
    const minion = this.#minion;
    const { counts, ledger, requests } = this.#around;
    const { jid } = run.job;
    const head = returnHead(run, minion.behaviour, requests);
    const onSend = (send: number): void => {
      run.sent(minion.index);
      counts.returnsSent += 1;
      ledger?.sent(jid, minion.id, head.hash, send, monotonicMs());
    };
    exchange(minion, this.#around, head, onSend, (end, resent) => {
      const nowMs = monotonicMs();
      this.#sending = false;
      run.open -= 1;
      run.resends += resent;
      if (end === 'answered') {
        counts.returnsAcknowledged += 1;
        run.acknowledge(minion.index, nowMs);
      } else {
        counts.returnsLost += 1;
        run.lost += 1;
      }
      ledger?.ended(end === 'answered' ? 'acked' : 'lost', jid, minion.id, nowMs);
      this.#next();
    });
  }
}
