import { setTimeout as sleep } from 'node:timers/promises';
import type { SaltMap, SaltValue } from '@brine/wire';
import type { Command, JobReturn, PublishedCommand } from './command.ts';
import { BatchSizeError } from './errors.ts';
import type { LocalClient } from './local-client.ts';

/** How a batch runs. */
export interface BatchSettings {
  /** `10` or `25%`. */
  readonly size: string;
  /** Milliseconds that a slot stays empty after a return (`--batch-wait`). */
  readonly waitMs: number;
  /** Stops after the first return with a retcode other than 0. */
  readonly failhard: boolean;
  /** The job id of the whole batch; every part runs under it. */
  readonly jid: string;
}

/** What happens in a batch, in the order in which it is printed. */
export type BatchStep =
  | { readonly kind: 'no-match' }
  | { readonly kind: 'down'; readonly id: string }
  | { readonly kind: 'start'; readonly ids: readonly string[] }
  | {
      readonly kind: 'return';
      readonly id: string;
      readonly ret: SaltValue;
      readonly out?: string;
      readonly retcode: number;
      readonly rawRetcode: SaltValue | undefined;
      readonly jid: string | undefined;
    }
  | { readonly kind: 'silent'; readonly id: string }
  | { readonly kind: 'halted' };

/**
 * How many minions run at a time (Salt: salt/utils/batch_state.py get_batch_size).
 * @throws BatchSizeError
 */
export function batchSize(spec: string, minions: number): number {
  const percent = /^%*\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*%*$/.exec(spec);
  if (spec.includes('%')) {
    if (percent?.[1] === undefined) throw new BatchSizeError(spec);
    const share = (Number(percent[1]) / 100) * minions;
    return share < 1 ? Math.max(1, Math.ceil(share)) : Math.floor(share);
  }
  if (!/^\s*[+-]?\d+\s*$/.test(spec)) throw new BatchSizeError(spec);
  return Math.max(1, Number(spec));
}

/**
 * Runs a command on some minions at a time. First `test.ping` finds the minions that answer; then
 * each return makes room for the next minion (Salt: salt/cli/batch.py).
 */
export async function* runBatch(
  client: LocalClient,
  command: Command,
  settings: BatchSettings,
): AsyncGenerator<BatchStep> {
  const { up, down } = await pingMinions(client, command);
  if (up === undefined) {
    yield { kind: 'no-match' };
    return;
  }
  const size = batchSize(settings.size, up.length);
  for (const id of down) yield { kind: 'down', id };
  const parts = new Parts(client, command, settings.jid);
  const pending = [...up];
  const resting: number[] = [];
  for (;;) {
    while ((resting[0] ?? Number.POSITIVE_INFINITY) <= Date.now()) resting.shift();
    const room = size - parts.active - resting.length;
    const ids = pending.splice(0, Math.max(0, Math.min(room, pending.length)));
    if (ids.length > 0) {
      yield { kind: 'start', ids };
      await parts.start(ids);
    }
    if (parts.active === 0) {
      const rest = resting[0];
      if (pending.length === 0 || rest === undefined) return;
      await sleep(Math.max(0, rest - Date.now()));
      continue;
    }
    const done = await parts.next();
    if (settings.waitMs > 0) resting.push(Date.now() + settings.waitMs);
    if (done.kind === 'missing') {
      yield { kind: 'silent', id: done.id };
      continue;
    }
    const step = batchReturn(done);
    const halt = settings.failhard && step.retcode !== 0;
    const free = size - parts.active - resting.length;
    // A free slot is taken before the return that made room for it is shown.
    const next = halt ? [] : pending.splice(0, Math.max(0, Math.min(free, pending.length)));
    if (next.length > 0) {
      yield { kind: 'start', ids: next };
      await parts.start(next);
    }
    yield step;
    if (!halt) continue;
    yield { kind: 'halted' };
    return;
  }
}

interface Presence {
  /** Undefined if no minion matched. */
  readonly up: readonly string[] | undefined;
  readonly down: readonly string[];
}

async function pingMinions(client: LocalClient, command: Command): Promise<Presence> {
  const { jid: _jid, ret: _ret, recordsRoot: _recordsRoot, ...target } = command;
  const job = await client.publish({ ...target, fun: 'test.ping', arg: [] }, { listen: true });
  if (job === undefined) return { up: undefined, down: [] };
  const up: string[] = [];
  const down: string[] = [];
  for await (const item of client.returns(job, optionsOf(command.kwargs))) {
    (item.kind === 'return' ? up : down).push(item.id);
  }
  return { up, down };
}

function optionsOf(kwargs: SaltMap | undefined): { kwargs?: SaltMap } {
  return kwargs === undefined ? {} : { kwargs };
}

function batchReturn(done: JobReturn & { kind: 'return' }): BatchStep & { kind: 'return' } {
  return {
    kind: 'return',
    id: done.id,
    ret: done.ret,
    retcode: highestRetcode(done.retcode),
    rawRetcode: done.retcode,
    jid: done.jid,
    ...(done.out === undefined ? {} : { out: done.out }),
  };
}

/** The retcode of a return; compound jobs have one per function. */
export function highestRetcode(retcode: SaltValue | undefined): number {
  if (retcode instanceof Map) {
    return Math.max(0, ...[...retcode.values()].map((code) => highestRetcode(code)));
  }
  if (typeof retcode === 'boolean') return retcode ? 1 : 0;
  return typeof retcode === 'number' ? retcode : 0;
}

/** The parts of a batch in flight, and their returns in the order of arrival. */
class Parts {
  readonly #client: LocalClient;
  readonly #command: Command;
  readonly #jid: string;
  readonly #arrived: JobReturn[] = [];
  readonly #waiting = new Set<string>();
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(client: LocalClient, command: Command, jid: string) {
    this.#client = client;
    this.#command = command;
    this.#jid = jid;
  }

  /** Minions in flight: no return yet, or one that `next` has not given yet. */
  get active(): number {
    return this.#waiting.size;
  }

  async start(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#waiting.add(id);
    const { kwargs } = this.#command;
    const command: Command = { ...this.#command, tgt: ids, tgtType: 'list', jid: this.#jid };
    const job = await this.#client.publish(withoutDelimiter(command), { listen: true });
    if (job === undefined) {
      for (const id of ids) this.#arrived.push({ kind: 'missing', id });
      return;
    }
    this.#collect(job, kwargs, new Set(ids)).catch((error: unknown) => {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#wake?.();
    });
  }

  async next(): Promise<JobReturn> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const done = this.#arrived.shift();
      if (done !== undefined) {
        if (this.#waiting.delete(done.id)) return done;
        continue;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async #collect(
    job: PublishedCommand,
    kwargs: SaltMap | undefined,
    part: ReadonlySet<string>,
  ): Promise<void> {
    const options = { ...optionsOf(kwargs), part };
    for await (const item of this.#client.returns(job, options)) {
      this.#arrived.push(item);
      this.#wake?.();
    }
  }
}

function withoutDelimiter(command: Command): Command {
  if (command.kwargs?.has('delimiter') !== true) return command;
  const kwargs = new Map([...command.kwargs].filter(([key]) => key !== 'delimiter'));
  return { ...command, kwargs };
}
