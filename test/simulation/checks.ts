import { Crypticle } from '@brine/crypt';
import { unpackJob } from '../../libs/bus/src/job-record.ts';
import { listOf, readPublication, textOf, unpackMap } from '@brine/wire';
import type { ClientEnd } from './client.ts';
import type { Cluster } from './cluster.ts';
import { contentOf } from './store.ts';

/** What must hold was broken. */
export class Broken extends Error {
  readonly rule: string;

  constructor(rule: string, what: string) {
    super(`${rule}: ${what}`);
    this.rule = rule;
  }
}

/** What the checks know from outside: what minions and clients saw. */
export class Witness {
  readonly #cluster: Cluster;
  /** `<jid> <minion>` → the content that the minion holds an acknowledgement of. */
  readonly acknowledged = new Map<string, string>();
  /** `<process of a minion> <jid>` → runs. */
  readonly runs = new Map<string, number>();
  readonly keyStrings = new Set<string>();
  readonly ends: ClientEnd[] = [];
  /** Each return that EVENTS has stored: `<jid> <minion> <content>` → how often. */
  readonly stored = new Map<string, number>();
  /** Jobs in PUBLICATIONS: jid → the arguments that tell whose they are. */
  readonly published = new Map<string, string[]>();
  /** The streams were put back from an older copy: what came after it is not there. */
  restored = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    cluster.store.onCommit = (jids) => {
      for (const jid of jids) this.#ledger(jid);
    };
    cluster.nats.streams.onStored = (stream, { message, seq }) => {
      const kind = message.subject.split('.')[2] ?? '';
      if (stream === 'EVENTS' && kind === 'ret') {
        const load = unpackMap(message.data);
        const key = `${textOf(load, 'jid') ?? ''} ${textOf(load, 'id') ?? ''}`;
        cluster.trace.note('EVENTS', `${seq} ${key}`);
        const whole = `${key} ${contentOf(message.data)}`;
        this.stored.set(whole, (this.stored.get(whole) ?? 0) + 1);
      }
      if (stream === 'PUBLICATIONS') this.#published(seq, kind, message.data);
    };
  }

  ran(process: string, id: string, jid: string): void {
    const key = `${process} ${id} ${jid}`;
    const runs = (this.runs.get(key) ?? 0) + 1;
    this.runs.set(key, runs);
    if (runs > 1) throw new Broken('a minion runs a job once', key);
  }

  /** Everything that can be judged only when all is over. */
  checkEnd(): void {
    this.#checkReturns();
    this.#checkJobs();
    this.#checkSerials();
    this.#checkClients();
    this.#checkRequests();
  }

  #published(seq: number, kind: string, data: Uint8Array): void {
    if (kind !== 'job') {
      this.#cluster.trace.note('PUBLICAT', `${seq} ${kind}`);
      return;
    }
    const { jid, load, hidden } = unpackJob(data);
    this.#cluster.trace.note('PUBLICAT', `${seq} job ${jid}`);
    if (hidden) return;
    const last = listOf(unpackMap(load), 'arg')?.at(-1);
    const name = typeof last === 'string' ? last : '';
    this.published.set(jid, [...(this.published.get(jid) ?? []), name]);
  }

  /** At each moment: what is targeted is in exactly one state. */
  #ledger(jid: string): void {
    const { targeted, ...states } = this.#cluster.store.ledger(jid);
    const sum = Object.values(states).reduce((total, count) => total + count, 0);
    if (sum !== targeted) throw new Broken('the ledger adds up', `${jid}: ${sum} of ${targeted}`);
  }

  #checkReturns(): void {
    const { store } = this.#cluster;
    let rows = 0;
    for (const returns of store.returns.values()) rows += returns.size;
    if (store.counted !== rows) {
      throw new Broken('a return counts once', `${store.counted} counted, ${rows} rows`);
    }
    for (const [whole, times] of this.stored) {
      if (times > 1) throw new Broken('a return is stored once', `${whole}: ${times} times`);
    }
    for (const [key, content] of this.acknowledged) {
      const [jid = '', id = ''] = key.split(' ');
      const kept = store.returns.get(jid)?.get(id);
      if (kept === undefined) throw new Broken('an acknowledged return is kept', key);
      const isThere = kept.content === content || store.evidence.get(key)?.has(content) === true;
      if (!isThere) throw new Broken('an acknowledged return is kept as it was', key);
    }
  }

  #checkJobs(): void {
    const { store, time } = this.#cluster;
    for (const { name, jids } of this.ends) {
      for (const jid of jids) {
        const isBatch = !this.published.has(jid);
        if (!isBatch && !store.jobs.has(jid)) {
          throw new Broken('a job that was acknowledged exists', `${jid} of ${name}`);
        }
      }
    }
    for (const [jid, names] of this.published) {
      if (!store.jobs.has(jid)) throw new Broken('a published job is kept', jid);
      if (names.length > 1 && new Set(names).size > 1) {
        throw new Broken('a jid is one job', `${jid}: ${names.join(', ')}`);
      }
    }
    for (const [jid, { row }] of store.jobs) {
      const { waiting } = store.ledger(jid);
      const closed = (row.deadlineAt ?? Infinity) <= time.wall;
      if (closed && waiting > 0) throw new Broken('a closed job waits for nobody', jid);
    }
  }

  /** Of each AES key: a serial is of one publication, and what is new is higher than all before. */
  #checkSerials(): void {
    const crypticles = [...this.keyStrings].map((text) => [text, new Crypticle(text)] as const);
    const known = new Map<string, string>();
    const highest = new Map<string, number>();
    for (const { frame } of this.#cluster.publish.sent) {
      const { load } = readPublication(frame);
      for (const [text, crypticle] of crypticles) {
        let body: Buffer | undefined;
        try {
          body = crypticle.open(load);
        } catch {
          continue; // another key's
        }
        if (body === undefined) continue;
        const map = unpackMap(body);
        const serial = Number(map.get('serial'));
        const jid = textOf(map, 'jid') ?? '';
        const place = `${text} ${serial}`;
        const before = known.get(place);
        if (before !== undefined && before !== jid) {
          throw new Broken('a serial is given once', `${serial}: ${before} and ${jid}`);
        }
        const top = highest.get(text) ?? 0;
        if (before === undefined && serial <= top) {
          throw new Broken('no serial goes back', `${jid}: ${serial} after ${top}`);
        }
        known.set(place, jid);
        highest.set(text, Math.max(top, serial));
        break;
      }
    }
  }

  #checkClients(): void {
    for (const { name, batch } of this.ends) {
      if (batch !== undefined && batch.most > batch.size) {
        throw new Broken('a batch keeps its size', `${name}: ${batch.most} of ${batch.size}`);
      }
    }
    const jobsOf = new Map<string, Set<string>>();
    for (const [jid, names] of this.published) {
      for (const name of names) jobsOf.set(name, (jobsOf.get(name) ?? new Set()).add(jid));
    }
    for (const { name } of this.ends) {
      const jids = jobsOf.get(name);
      if (jids !== undefined && jids.size > 1) {
        throw new Broken('one command is one job', `${name}: ${[...jids].join(', ')}`);
      }
    }
  }

  #checkRequests(): void {
    const status = this.#cluster.running('gateway')?.status() as { inFlight: number } | undefined;
    if (status !== undefined && status.inFlight > 0) {
      throw new Broken('a held request ends', `${status.inFlight} in flight`);
    }
  }
}
