import type { Job } from '@brine/job';
import { listOf, textOf, unpackMap } from '@brine/wire';
import { PAGE_HEADER, readPage } from '../../libs/bus/src/events/page.ts';
import { unpackJob } from '../../libs/bus/src/jobs/publication.ts';
import { Broken } from './broken.ts';
import type { ClientEnd } from './client.ts';
import type { PlanKind } from './plan.ts';
import { checkSerials } from './serials.ts';
import type { Cluster } from './world/cluster.ts';
import type { SimMessage } from './world/nats/message.ts';

/** A job as PUBLICATIONS has it. */
interface PublishedJob {
  readonly job: Job;
  /** The name of the command whose job it is. */
  readonly name: string;
}

/** The command that asks, when all faults are over, whether all serve again. */
export const LAST_COMMAND = 'last';

/** What the gateway tells a client where it is sure of it. */
const NOT_PUBLISHED = 'was not published';

/** Kinds in which every job is sent the first time around. */
const IN_ORDER = new Set<PlanKind>(['calm', 'publisher', 'worker', 'slow', 'storm']);
/** A claim lapses after 1.2 s; a gateway that waits until it gives up needs 2.8 s. */
const TAKEN_OVER_MS = 2_500;

/** What the checks know from outside: what the streams, minions and clients saw. */
export class Witness {
  readonly #cluster: Cluster;
  readonly #kind: PlanKind;
  /** `<jid> <minion>` → the content that the minion holds an acknowledgement of. */
  readonly #acknowledged = new Map<string, string>();
  /** `<jid> <minion>` of each run, whichever process of the minion it was. */
  readonly #runs = new Set<string>();
  readonly #runsOfProcess = new Set<string>();
  readonly #keyStrings = new Set<string>();
  readonly #ends: ClientEnd[] = [];
  readonly #published = new Map<string, PublishedJob[]>();
  /** What was acknowledged after the copy of the streams was made that is put back. */
  #isForgotten = false;

  /** `onBroken` gets each broken rule, because no caller could catch an error here. */
  constructor(cluster: Cluster, kind: PlanKind, onBroken: (error: unknown) => void) {
    this.#cluster = cluster;
    this.#kind = kind;
    cluster.store.onCommit = (jids) => {
      try {
        for (const jid of jids) this.#checkLedger(jid);
      } catch (error) {
        onBroken(error);
      }
    };
    cluster.nats.streams.onStored = (stream, { message, seq }) => {
      const sort = message.subject.split('.')[2] ?? '';
      if (stream === 'EVENTS' && sort === 'ret') this.#returns(seq, message);
      if (stream === 'PUBLICATIONS') this.#publication(seq, sort, message.data);
    };
  }

  /** A minion runs a job. */
  ran(process: string, id: string, jid: string): void {
    const key = `${process} ${id} ${jid}`;
    if (this.#runsOfProcess.has(key)) throw new Broken('a minion runs a job once', key);
    this.#runsOfProcess.add(key);
    this.#runs.add(`${jid} ${id}`);
  }

  acknowledged(id: string, jid: string, content: string): void {
    if (!this.#isForgotten) this.#acknowledged.set(`${jid} ${id}`, content);
  }

  learnt(keyString: string): void {
    this.#keyStrings.add(keyString);
  }

  ended(end: ClientEnd): void {
    this.#ends.push(end);
  }

  /** From here on what the streams take is going to be lost. */
  copied(): void {
    this.#isForgotten = true;
  }

  /** The streams were put back: from here on all is kept again. */
  restored(): void {
    this.#isForgotten = false;
  }

  /** Everything that can be judged only when all is over. */
  checkEnd(): void {
    this.#checkReturns();
    this.#checkJobs();
    const keyStrings = [...this.#keyStrings];
    const places = new Map([...this.#published.keys()].map((jid, place) => [jid, place] as const));
    checkSerials(
      this.#cluster.publish.sent,
      keyStrings,
      (jid) => this.#notAfter(jid),
      // What was never sent may be sent again later than what came after it.
      (jid) => (IN_ORDER.has(this.#kind) ? places.get(jid) : undefined),
    );
    this.#checkClients();
    this.#checkRequests();
    if (this.#kind === 'publisher' || this.#kind === 'calm') this.#checkRuns();
  }

  #returns(seq: number, { headers, data }: SimMessage): void {
    const count = headers?.get(PAGE_HEADER) ?? '';
    const bodies = count === '' ? [data] : readPage(data, Number(count)).map(({ body }) => body);
    for (const body of bodies) {
      const load = unpackMap(Buffer.from(body));
      const key = `${textOf(load, 'jid') ?? ''} ${textOf(load, 'id') ?? ''}`;
      this.#cluster.trace.note('EVENTS', `${seq}${count === '' ? '' : ' in a page:'} ${key}`);
    }
  }

  #publication(seq: number, sort: string, data: Uint8Array): void {
    if (sort !== 'job') {
      this.#cluster.trace.note('PUBLICAT', `${seq} ${sort}`);
      return;
    }
    const job = unpackJob(data);
    this.#cluster.trace.note('PUBLICAT', `${seq} job ${job.jid}`);
    if (job.hidden || this.#isForgotten) return;
    const last = listOf(unpackMap(job.load), 'arg')?.at(-1);
    const published = { job, name: typeof last === 'string' ? last : '' };
    this.#published.set(job.jid, [...(this.#published.get(job.jid) ?? []), published]);
  }

  /** At each moment each targeted minion is in one state, and a closed job waits for none. */
  #checkLedger(jid: string): void {
    const { targeted, ...states } = this.#cluster.store.ledger(jid);
    const sum = Object.values(states).reduce((total, count) => total + count, 0);
    if (sum !== targeted) throw new Broken('the ledger adds up', `${jid}: ${sum} of ${targeted}`);
    const deadline = this.#cluster.store.jobs.get(jid)?.row.deadlineAt ?? Infinity;
    if (deadline <= this.#cluster.time.wall && states.waiting > 0) {
      throw new Broken('a closed job waits for no minion', jid);
    }
  }

  #checkReturns(): void {
    const { store } = this.#cluster;
    let rows = 0;
    for (const returns of store.returns.values()) rows += returns.size;
    if (store.counted !== rows) {
      throw new Broken('a return counts once', `${store.counted} counted, ${rows} rows`);
    }
    for (const [key, content] of this.#acknowledged) {
      const [jid = '', id = ''] = key.split(' ');
      const kept = store.returns.get(jid)?.get(id);
      if (kept === undefined) throw new Broken('an acknowledged return is kept', key);
      const isThere = kept.content === content || store.evidence.get(key)?.has(content) === true;
      if (!isThere) throw new Broken('an acknowledged return is kept as it was', key);
    }
  }

  #checkJobs(): void {
    const { store } = this.#cluster;
    for (const jid of store.jobs.keys()) this.#checkLedger(jid);
    for (const [jid, jobs] of this.#published) {
      if (!store.jobs.has(jid)) throw new Broken('a published job is kept', jid);
      const names = new Set(jobs.map(({ name }) => name));
      if (names.size > 1) throw new Broken('a jid is one job', `${jid}: ${[...names].join(', ')}`);
    }
    if (this.#kind === 'restore') return;
    for (const { name, jids } of this.#ends) {
      for (const jid of jids) {
        if (!store.jobs.has(jid)) {
          throw new Broken('a job that was acknowledged exists', `${jid} of ${name}`);
        }
      }
    }
  }

  /** Who was deaf for a while gets every job all the same, unless it was over by then. */
  #checkRuns(): void {
    for (const [jid, jobs] of this.#published) {
      const open = jobs.filter(({ job }) => job.deadlineAt >= job.notAfter);
      for (const id of open.flatMap(({ job }) => job.minions)) {
        if (!this.#runs.has(`${jid} ${id}`)) {
          throw new Broken('every minion gets every job', `${jid} ${id}`);
        }
      }
    }
  }

  #checkClients(): void {
    for (const { name, batch, missing, error } of this.#ends) {
      if (batch !== undefined && batch.most > batch.size) {
        throw new Broken('a batch keeps its size', `${name}: ${batch.most} of ${batch.size}`);
      }
      const isToSucceed = name === LAST_COMMAND || this.#kind === 'calm';
      if (isToSucceed && (error !== undefined || missing.length > 0)) {
        const what = `${name}: ${error ?? ''} ${missing.join(', ')}`;
        throw new Broken('without faults all answer', what);
      }
    }
    this.#checkCommands();
    if (this.#kind === 'worker') this.#checkAnswers();
  }

  /** What a worker that died had in hand another one answers. */
  #checkAnswers(): void {
    for (const { name, publishMs = 0, error } of this.#ends) {
      if (publishMs > TAKEN_OVER_MS || error !== undefined) {
        const what = `${name}: ${error ?? `after ${publishMs} ms`}`;
        throw new Broken('a publish of a dead worker is taken over', what);
      }
    }
  }

  /** A command is one job, and none if the answer to its client said so. */
  #checkCommands(): void {
    const jidsOf = new Map<string, Set<string>>();
    for (const [jid, jobs] of this.#published) {
      for (const { name } of jobs) jidsOf.set(name, (jidsOf.get(name) ?? new Set()).add(jid));
    }
    for (const { name, error, batch } of this.#ends) {
      const jids = [...(jidsOf.get(name) ?? [])];
      if (jids.length > 1 && this.#kind !== 'restore') {
        throw new Broken('one command is one job', `${name}: ${jids.join(', ')}`);
      }
      // Of a batch that is refused a part the others stand.
      const isRefused = batch === undefined && error?.includes(NOT_PUBLISHED) === true;
      if (isRefused && jids.length > 0) {
        throw new Broken('what was not published is no job', `${name}: ${jids.join(', ')}`);
      }
    }
  }

  #checkRequests(): void {
    const status = this.#cluster.running('gateway')?.status() as GatewayView | undefined;
    if (status === undefined) return;
    const { inFlight, workers } = status;
    if (inFlight > 0) throw new Broken('a held request ends', `${inFlight} in flight`);
    const isAlive = this.#kind === 'slow' || this.#kind === 'calm';
    if (isAlive && workers.retries > 0) {
      throw new Broken('what a living worker has is not tried again', `${workers.retries} times`);
    }
  }

  #notAfter(jid: string): number {
    return this.#cluster.store.jobs.get(jid)?.row.notAfter ?? Infinity;
  }
}

/** What the gateway tells of itself. */
interface GatewayView {
  readonly inFlight: number;
  readonly workers: { readonly retries: number };
}
