import { createHash, randomUUID } from 'node:crypto';
import type { EventMessage } from '@brine/bus/events';
import { highestRetcode, isAway, LocalClient, RefusedError } from '@brine/client';
import type { StoredRun } from '@brine/cluster-work';
import type { MasterOptions } from '@brine/config';
import { type EventKind, isJobOrigin } from '@brine/job';
import type { WorkerTraces } from '@brine/job-traces';
import { type MasterPorts } from '@brine/master';
import { callerNow, publishFor } from '@brine/master/functions';
import { type BatchNews, type BatchPorts, BatchRefusedError } from '@brine/runners';
import type { Trouble } from '@brine/tasks';
import { nowMs } from '@brine/telemetry';
import {
  isMap,
  listOf,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpack,
  WireError,
} from '@brine/wire';
import { settingsFor } from '../functions/function-table.ts';

/** Reads the stream of events. */
export type ListenToEvents = (
  kinds: readonly EventKind[],
  onEvent: (event: EventMessage) => Promise<void> | void,
  sinceMs?: number,
) => Promise<{ close(): void }>;

export interface BatchPortsParts {
  readonly options: MasterOptions;
  /** The ports of requests. */
  readonly ports: MasterPorts;
  readonly listen: ListenToEvents;
  readonly onTrouble: Trouble;
  /** Records the span of a publish. */
  readonly traceOwn: WorkerTraces['own'];
}

/** Longest single sleep: a timer takes no more than 24 days. */
const SLEEP_MAX_MS = 60_000;
/** Limit of questions whose answers are read; a batch asks repeatedly. */
const QUESTIONS_MAX = 1_000;
const PING_KINDS = ['ret', 'job', 'syndic'] as const;

/** The ports of one batch. Each publish is subject to the rights of its caller. */
export function batchPorts(
  run: StoredRun,
  parts: BatchPortsParts,
): BatchPorts & { close(): Promise<void> } {
  const order = run.input;
  const load = mapIn(order, 'load') ?? mapOf({});
  const settings = mapIn(order, 'settings') ?? mapOf({});
  const publisher = new BatchPublisher(run, parts, load);
  const client = pingClient(parts, publisher, load, settings);
  const questions = new Set<string>();
  const { ports } = parts;
  const { jid } = run;
  return {
    now: () => Date.now(),
    sleep: sleepUntil,
    ping: () => ping(client, load),
    publish: (ids) => publisher.part(ids),
    findJob: async (ids) => {
      const question = ports.nextJid();
      if (questions.size >= QUESTIONS_MAX) questions.clear();
      questions.add(question);
      await publisher.question(ids, question);
    },
    listen: (sinceMs, onNews) =>
      parts.listen(['ret', 'local'], (event) => newsOf(event, { jid, questions, onNews }), sinceMs),
    returned: (ids) => returnedOf(ports, jid, new Set(ids)),
    publishedTo: async (ids) => {
      const row = await ports.jobs.ask('job', mapOf({ jid }));
      const known = new Set(isMap(row) ? (listOf(row, 'minions') ?? []) : []);
      return new Set(ids.filter((id) => known.has(id)));
    },
    fire: async (suffix, n, data) => {
      const tag = `salt/batch/${jid}/${suffix}`;
      const msgId = `batch:${jid}:${suffix}:${n}`;
      await ports.events.append({ kind: 'local', tag, body: pack(data), msgId });
    },
    withoutFile: (minions) => {
      ports.count('batch_without_file');
      const text = `batch ${jid} has ${minions} minions: stock tools of the hosts do not see it`;
      parts.onTrouble(text, undefined);
    },
    note: (text, err) => parts.onTrouble(text, err),
    close: () => client.close(),
  };
}

function sleepUntil(wakeMs: number): { readonly done: Promise<void>; readonly wake: () => void } {
  let wake: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    const ms = Math.min(Math.max(0, wakeMs - Date.now()), SLEEP_MAX_MS);
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  return { done, wake };
}

/** Publishes for a batch, as its caller. */
class BatchPublisher {
  readonly #run: StoredRun;
  readonly #parts: BatchPortsParts;
  readonly #load: SaltMap;

  constructor(run: StoredRun, parts: BatchPortsParts, load: SaltMap) {
    this.#run = run;
    this.#parts = parts;
    this.#load = load;
  }

  /** Publishes the job of the batch to these minions. The same ids make the same request. */
  async part(ids: readonly string[]): Promise<readonly string[]> {
    const hash = createHash('sha256').update(JSON.stringify(ids)).digest('hex').slice(0, 24);
    const load: SaltMap = new Map([...this.#load, ['tgt', [...ids]], ['tgt_type', 'list']]);
    const kwargs = mapIn(load, 'kwargs');
    // The delimiter belongs to the target that the batch began with.
    if (kwargs?.has('delimiter') === true) {
      load.set('kwargs', new Map([...kwargs].filter(([name]) => name !== 'delimiter')));
    }
    const value = await this.publish(load, `batch-${this.#run.jid}-${hash}`);
    const answer = mapIn(refusedOrNot(value), 'load') ?? mapOf({});
    if (this.#parts.options.orderMasters) return ids;
    return (listOf(answer, 'minions') ?? []).filter((id) => typeof id === 'string');
  }

  /** Asks minions whether they run the job of the batch. */
  async question(ids: readonly string[], jid: string): Promise<void> {
    const { user, to } = { user: this.#load.get('user'), to: this.#load.get('to') };
    const load = mapOf({
      tgt: [...ids],
      tgt_type: 'list',
      fun: 'saltutil.find_job',
      arg: [this.#run.jid],
      ret: '',
      jid,
      user,
      to,
    });
    refusedOrNot(await this.publish(load, randomUUID()));
  }

  /** @throws BatchRefusedError for an invalid load, which a retry would not change */
  async publish(load: SaltMap, id: string): Promise<SaltMap> {
    this.#run.check();
    const { call: by } = this.#run;
    const gatewayHost = textOf(by, 'host') ?? this.#parts.options.brine.host;
    const began = by.get('origin');
    // Batches of earlier releases do not have it.
    const origin = isJobOrigin(began) ? began : undefined;
    const request = { id, body: new Uint8Array(0), gatewayHost, receivedMs: Date.now(), origin };
    const startMs = nowMs();
    const ports = this.#parts.ports;
    const now = callerNow(ports, mapIn(by, 'caller') ?? mapOf({}));
    const caller = now && { ...now, via: `batch ${this.#run.jid}` };
    try {
      const { value, about } = await publishFor(ports, request, load, caller);
      this.#parts.traceOwn(id, about, startMs);
      return value;
    } catch (err) {
      throw err instanceof WireError ? new BatchRefusedError(err.message) : err;
    }
  }
}

/** @throws BatchRefusedError if the publish was refused */
function refusedOrNot(value: SaltMap): SaltMap {
  const error = value.get('error');
  if (error === undefined || error === null) return value;
  const text = isMap(error) ? (textOf(error, 'message') ?? textOf(error, 'name')) : error;
  throw new BatchRefusedError(typeof text === 'string' ? text : 'The publish was refused');
}

/** A client that pings the minions of the batch, as its caller. */
function pingClient(
  { options, listen, onTrouble }: BatchPortsParts,
  publisher: BatchPublisher,
  load: SaltMap,
  settings: SaltMap,
): LocalClient {
  const ms = (name: string): Record<string, number> => {
    const value = settings.get(name);
    return typeof value === 'number' && value > 0 ? { [name]: value } : {};
  };
  const { timeout_ms: timeoutMs, gather_ms: gatherJobTimeoutMs } = {
    ...ms('timeout_ms'),
    ...ms('gather_ms'),
  };
  const ports = {
    request: {
      request: async (body: Uint8Array) => {
        const envelope = unpack(body);
        const asked = (isMap(envelope) && mapIn(envelope, 'load')) || mapOf({});
        const inner: SaltMap = new Map(asked);
        for (const name of ['cmd', 'key']) inner.delete(name);
        return pack(await publisher.publish(inner, randomUUID()));
      },
    },
    events: {
      listen: (onEvent: (tag: string, packed: Uint8Array) => void) =>
        listen(PING_KINDS, async (event) => onEvent(event.tag, await event.fetch())),
    },
    master: { isPresent: () => true, readKey: async () => '' },
    logError: (text: string) => onTrouble(text, undefined),
  };
  return new LocalClient(ports, {
    ...settingsFor(options, {}),
    user: textOf(load, 'user') ?? options.user,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(gatherJobTimeoutMs === undefined ? {} : { gatherJobTimeoutMs }),
  });
}

async function ping(client: LocalClient, load: SaltMap) {
  const tgt = load.get('tgt');
  const list = Array.isArray(tgt) ? tgt.filter((id) => typeof id === 'string') : undefined;
  const kwargs = mapIn(load, 'kwargs');
  const command = {
    tgt: list ?? (typeof tgt === 'string' ? tgt : ''),
    tgtType: textOf(load, 'tgt_type') ?? 'glob',
    fun: 'test.ping',
    arg: [],
    ...(kwargs === undefined ? {} : { kwargs }),
  };
  try {
    const job = await client.publish(command, { listen: true });
    if (job === undefined) return undefined;
    const [up, down]: [string[], string[]] = [[], []];
    for await (const item of client.returns(job)) {
      // As in Salt, a batch does not report ids that no master knows.
      if (item.kind === 'return') up.push(item.id);
      else if (item.unknown !== true) down.push(item.id);
    }
    return { up, down };
  } catch (err) {
    if (!(err instanceof RefusedError) || isAway(err)) throw err;
    throw new BatchRefusedError(err.message);
  }
}

/** Reads an event of the stream as news for a batch. */
async function newsOf(
  event: EventMessage,
  batch: {
    readonly jid: string;
    readonly questions: ReadonlySet<string>;
    readonly onNews: (news: BatchNews) => void;
  },
): Promise<void> {
  const { jid, questions, onNews } = batch;
  if (event.kind === 'local') {
    if (event.tag === `salt/batch/${jid}/stop`) onNews(await stopOf(event));
    return;
  }
  const { minion: id } = event;
  if (id === undefined) return;
  if (event.jid === jid) {
    const data = await dataOf(event);
    // Only a minion itself returns for its id; the rest of the data is its own choice.
    if (data === undefined || textOf(data, 'id') !== id || !data.has('return')) return;
    onNews({ kind: 'return', id, retcode: highestRetcode(data.get('retcode')) });
  } else if (event.jid !== undefined && questions.has(event.jid)) {
    const data = await dataOf(event);
    if (data !== undefined && isRunning(data.get('return'))) onNews({ kind: 'runs', id });
  }
}

async function stopOf(event: EventMessage): Promise<BatchNews> {
  const data = await dataOf(event);
  return { kind: 'stop', reason: (data && textOf(data, 'reason')) ?? 'stop' };
}

async function dataOf(event: EventMessage): Promise<SaltMap | undefined> {
  const data = unpack(await event.fetch());
  return isMap(data) ? data : undefined;
}

/** The answer to find_job names the job if it runs, and is empty if not. */
function isRunning(ret: SaltValue | undefined): boolean {
  if (!isMap(ret) || ret.size === 0) return false;
  const inner = ret.get('return');
  return !(isMap(inner) && inner.size === 0);
}

/** The returns of these minions in the job cache, as retcodes. */
async function returnedOf(
  { jobs }: MasterPorts,
  jid: string,
  ids: ReadonlySet<SaltValue>,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  let after: string | undefined;
  do {
    const page = await jobs.ask('get_jid', mapOf({ jid, after }));
    if (!isMap(page)) break;
    for (const [id, value] of mapIn(page, 'returns') ?? []) {
      if (typeof id !== 'string' || !ids.has(id) || !isMap(value)) continue;
      found.set(id, highestRetcode(value.get('retcode')));
    }
    after = textOf(page, 'next');
  } while (after !== undefined);
  return found;
}
