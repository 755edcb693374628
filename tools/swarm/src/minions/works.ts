import { setTimeout as sleep } from 'node:timers/promises';
import { mapOf, pack } from '@brine/wire';
import { buildMinionEvent, buildReturn } from '@brine/wire/load';
import { monotonicMs, unixMs } from '../clock.ts';
import type { Done, Work } from '../load/load-loop.ts';
import { OwnJids } from '../load/own-jids.ts';
import { numbered } from '../load/publish-request.ts';
import { RequestLine } from './request-line.ts';
import { hashOf } from './return-queue.ts';
import { exchange } from './sealed-exchange.ts';
import type { LoadHead } from './sealed-request.ts';
import type { LogInEnd, SimMinion } from './sim-minion.ts';
import type { Surroundings } from './surroundings.ts';

// Salt: auth_timeout, auth_tries.
const AUTH_TIMEOUT_MS = 5_000;
const AUTH_TRIES = 7;
/** Wait of a minion between two tries to connect, and the limit of the rig. */
const CONNECT_WAIT_MS = 1_000;
const CONNECT_TRIES = 60;
// Salt: request_channel_timeout of a client.
const PUBLISH_TIMEOUT_MS = 60_000;

/** Repeated log-ins of all minions in turn, each lane on its own connection. */
export function logInWork(minions: readonly SimMinion[], around: Surroundings): Lanes {
  let next = 0;
  return new Lanes(around, (line, done) => {
    const me = minions[next % minions.length];
    next += 1;
    if (me === undefined) return false;
    let sends = 0;
    const send = (): void => {
      sends += 1;
      const attempt = around.logIns.begin(me);
      line.request([attempt.body], AUTH_TIMEOUT_MS, (reply) => {
        if (reply === undefined) {
          if (sends < AUTH_TRIES) return send();
          return done('timed-out', sends - 1);
        }
        const { kind } = around.logIns.finish(me, attempt, reply, false);
        done(kind === 'accepted' ? 'answered' : 'refused', sends - 1);
      });
    };
    send();
    return true;
  });
}

/** Repeated publishes, each with its own job. */
export function publishWork(body: Uint8Array, around: Surroundings): Lanes {
  const model = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return new Lanes(around, (line, done) => {
    line.request([numbered(model)], PUBLISH_TIMEOUT_MS, (reply) => {
      if (reply === undefined) return done('timed-out', 0);
      // {"enc": "clear", "load": {"jid": …}}: an error has no `enc`.
      done(reply.includes('enc', 0, 'latin1') ? 'answered' : 'refused', 0);
    });
    return true;
  });
}

/** Connections for requests that belong to no minion; made on demand. */
export class Lanes implements Work {
  readonly #around: Surroundings;
  readonly #start: (line: RequestLine, done: Done) => boolean;
  readonly #idle: RequestLine[] = [];
  readonly #all: RequestLine[] = [];

  constructor(around: Surroundings, start: (line: RequestLine, done: Done) => boolean) {
    this.#around = around;
    this.#start = start;
  }

  readonly begin = (done: Done): boolean => {
    const line = this.#idle.pop() ?? this.#open();
    return this.#start(line, (outcome, resent) => {
      this.#idle.push(line);
      done(outcome, resent);
    });
  };

  close(): void {
    for (const line of this.#all) line.close();
  }

  #open(): RequestLine {
    const { host, retPort, deadlines } = this.#around;
    const line = new RequestLine(host, retPort, deadlines);
    this.#all.push(line);
    return line;
  }
}

/**
 * Subscribes and logs in each minion once. It retries each second unless it is refused, as a stock
 * minion: its key may be pending, or the master busy.
 */
export function connectWork(minions: readonly SimMinion[], around: Surroundings): Work {
  let next = 0;
  const connectOnce = async (minion: SimMinion): Promise<LogInEnd> => {
    try {
      // If the port is known, subscribe first: then the log-in's answer completes both.
      if (around.knowledge.publishPort !== undefined) await minion.subscribe();
      const end = await minion.logIn();
      if (end.kind === 'accepted') await minion.subscribe();
      return end;
    } catch {
      // Nothing answers at the publish port.
      return { kind: 'timed-out', resent: 0 };
    }
  };
  const connect = async (minion: SimMinion, done: Done): Promise<void> => {
    let resent = 0;
    for (let tries = 1; ; tries += 1) {
      const end = await connectOnce(minion);
      resent += end.resent;
      if (end.kind === 'accepted') return done('answered', resent);
      const isOver = end.kind === 'refused' || tries === CONNECT_TRIES;
      if (isOver) return done(end.kind === 'timed-out' ? 'timed-out' : 'refused', resent);
      await sleep(CONNECT_WAIT_MS);
    }
  };
  return {
    begin: (done) => {
      const minion = minions[next];
      next += 1;
      if (minion === undefined) return false;
      void connect(minion, done);
      return true;
    },
  };
}

/** Requests of free minions, in turn. */
function inTurn(
  minions: readonly SimMinion[],
  begin: (minion: SimMinion, done: Done) => void,
): Work {
  let next = 0;
  return {
    begin: (done) => {
      for (let tries = 0; tries < minions.length; tries += 1) {
        const minion = minions[next % minions.length];
        next += 1;
        if (minion?.free !== true) continue;
        begin(minion, done);
        return true;
      }
      return false;
    },
  };
}

/** The jobs of returns. */
export interface ReturnPlan {
  /** Jobs to return to, one minion once per job; empty: an own job for each return. */
  readonly jids: readonly string[];
  readonly returnBytes: number | undefined;
  /** Index of this process and their number, since own jids must differ between them. */
  readonly part: number;
  readonly parts: number;
}

/** Returns, as salt-call sends them. */
export function returnWork(
  minions: readonly SimMinion[],
  around: Surroundings,
  plan: ReturnPlan,
): Work {
  const value = plan.returnBytes === undefined ? true : 'x'.repeat(plan.returnBytes);
  const hash = hashOf(pack(value));
  const { counts, ledger } = around;
  const headOf = (jid: string): LoadHead => {
    const load = buildReturn({
      id: '',
      jid,
      fun: 'test.ping',
      funArgs: [],
      return: value,
      retcode: 0,
      success: true,
      rest: new Map(),
    });
    load.delete('id');
    return around.requests.head(load);
  };
  const jobs = jobSource(plan, headOf);
  return inTurn(minions, (minion, done) => {
    const { jid, head } = jobs(minion);
    const onSend = (send: number): void => {
      counts.returnsSent += 1;
      ledger?.sent(jid, minion.id, hash, send, monotonicMs());
    };
    exchange(minion, around, head, onSend, (end, resent) => {
      if (end === 'answered') counts.returnsAcknowledged += 1;
      else counts.returnsLost += 1;
      ledger?.ended(end === 'answered' ? 'acked' : 'lost', jid, minion.id, monotonicMs());
      done(end, resent);
    });
  });
}

interface JobHead {
  readonly jid: string;
  readonly head: LoadHead;
}

function jobSource(
  plan: ReturnPlan,
  headOf: (jid: string) => LoadHead,
): (minion: SimMinion) => JobHead {
  if (plan.jids.length > 0) {
    const heads = plan.jids.map((jid) => ({ jid, head: headOf(jid) }));
    // Each minion answers the first job, then the second. Skipping a busy one must not make another
    // answer a job twice, because the second return would not be stored.
    const sent = new Map<SimMinion, number>();
    return (minion) => {
      const place = sent.get(minion) ?? 0;
      sent.set(minion, place + 1);
      return heads[place % heads.length] as JobHead;
    };
  }
  const jids = new OwnJids(plan.part, plan.parts);
  const placeholder = '0'.repeat(20);
  const template = headOf(placeholder).bytes;
  const at = template.indexOf(placeholder, 0, 'latin1');
  return () => {
    const jid = jids.next(unixMs(monotonicMs()));
    // Copy: a repeated request gets a new seal, after the template has another jid.
    const bytes = Buffer.from(template);
    bytes.write(jid, at, 'latin1');
    return { jid, head: { bytes } };
  };
}

/** Events, as minions send them to the master. */
export function eventWork(
  minions: readonly SimMinion[],
  around: Surroundings,
  plan: { readonly tag: string; readonly dataBytes: number },
): Work {
  const data = mapOf({ data: 'x'.repeat(plan.dataBytes) });
  const load = buildMinionEvent('', plan.tag, data);
  load.delete('id');
  const head = around.requests.head(load);
  return inTurn(minions, (minion, done) => {
    exchange(minion, around, head, () => undefined, done);
  });
}
