import { randomUUID } from 'node:crypto';
import { MasterUnavailableError } from '@brine/master';
import { isJudged, judgeLater } from '@brine/master/functions';
import { errorText } from '@brine/tasks';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { fromJson, pyRepr, pyStr, toJson } from '@brine/wire/text';
import {
  type GivenArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
  type RunnerMaster,
} from '../function.ts';
import { textGiven } from '../given-values.ts';

type Named = ReadonlyMap<string, SaltValue>;

/** Salt's backends; here both are tables of PostgreSQL. */
const BACKENDS = ['sqlite', 'pgjsonb'];
const BACKEND = ['backend', 'sqlite'] as const;
/** Items per question, and per list. */
const PAGE = 1_000;
const LIST_MAX = 10_000;
/** Tries of a question whose answer was lost; a repetition changes nothing more. */
const TRIES = 3;

const ABOUT =
  'queue: its name. backend: sqlite (default) or pgjsonb; PostgreSQL keeps the queues of both, ' +
  'and each has its own. sqlite takes an item only once.';

/** A call that Salt refuses with a SaltInvocationError. */
class QueueCallError extends Error {
  override readonly name = 'SaltInvocationError';
}

/** A queue during one call. */
class CalledQueue {
  readonly #master: RunnerMaster;
  readonly #backend: string;
  readonly #queue: string;
  /** Not the job id: an orchestration makes many calls under one. */
  readonly #call = randomUUID();
  #asked = 0;

  constructor(master: RunnerMaster, act: string, backend: string, queue = '') {
    if (!BACKENDS.includes(backend)) {
      throw new QueueCallError(`Function "${backend}.${act}" is not available`);
    }
    this.#master = master;
    this.#backend = backend;
    this.#queue = queue;
  }

  /** True, or Salt's text for an item that exists already. */
  async insert(items: SaltValue): Promise<SaltValue> {
    const list = this.#listed(items);
    const outcome = await this.#ask('put', mapOf({ items: list.map((one) => this.#pair(one)) }));
    if (outcome === 'stored') return true;
    if (outcome === 'full') throw new Error(`the queue ${this.#queue} is full: 100000 items`);
    const what = Array.isArray(items) ? 'One or more items already exists' : 'Item already exists';
    const why = `UNIQUE constraint failed: ${this.#queue}.name`;
    return `${what} in this queue. ${this.#backend} error: ${why}`;
  }

  async delete(items: SaltValue): Promise<void> {
    const list = this.#listed(items);
    await this.#ask('remove', mapOf({ items: list.map((one) => this.#pair(one)) }));
  }

  async names(): Promise<SaltValue> {
    return this.#ask('names', mapOf({}));
  }

  async length(): Promise<SaltValue> {
    return this.#ask('length', mapOf({}));
  }

  /** @throws Error if the queue is too long for a list */
  async items(): Promise<SaltValue[]> {
    const found: SaltValue[] = [];
    let after: SaltValue = 0;
    while (after !== null) {
      const page: SaltValue = await this.#ask('items', mapOf({ after }));
      if (!isMap(page)) break;
      found.push(...this.#read(page.get('items') ?? [], false));
      after = page.get('next') ?? null;
      if (found.length > LIST_MAX) {
        throw new Error(`the queue has more than ${LIST_MAX} items: see queue.list_length`);
      }
    }
    return found;
  }

  /** Removes and returns the oldest items. */
  async pop(quantity: number, isRunner: boolean): Promise<SaltValue[]> {
    const found: SaltValue[] = [];
    while (found.length < quantity) {
      const wanted = Math.min(PAGE, quantity - found.length);
      const taken = this.#read(await this.#ask('take', mapOf({ quantity: wanted })), isRunner);
      found.push(...taken);
      if (taken.length < wanted) break;
    }
    return found;
  }

  #listed(items: SaltValue): readonly SaltValue[] {
    const list = Array.isArray(items) ? items : [items];
    if (list.length > PAGE) throw new Error(`one call takes ${PAGE} items at most`);
    return list;
  }

  #pair(item: SaltValue): SaltValue {
    const { json } = toJson(item);
    return [json, this.#backend === 'sqlite' ? pyStr(this.#shown(item)) : json];
  }

  /** Salt's sqlite table contains texts: a map is JSON with other quotes there. */
  #shown(item: SaltValue): SaltValue {
    if (this.#backend !== 'sqlite') return item;
    return isMap(item) ? jsonAsPython(item).replaceAll('"', "'") : pyStr(item);
  }

  #read(texts: SaltValue, isRunner: boolean): SaltValue[] {
    return (Array.isArray(texts) ? texts : []).map((text) => {
      const item = fromJson(JSON.parse(pyStr(text)));
      return isRunner ? item : this.#shown(item);
    });
  }

  async #ask(act: string, more: SaltMap): Promise<SaltValue> {
    this.#asked += 1;
    // The same for all tries, so that a repeated act counts once.
    const by = `${this.#call}:${this.#asked}`;
    const question = mapOf({ act, backend: this.#backend, queue: this.#queue, by });
    for (const [key, value] of more) question.set(key, value);
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#master.jobs.ask('queue', question);
      } catch (error) {
        if (!(error instanceof MasterUnavailableError) || tries >= TRIES) throw error;
      }
    }
  }
}

/** As `json.dumps`, with spaces after commas and colons. */
function jsonAsPython(value: SaltValue): string {
  if (isMap(value)) {
    const parts = [...value].map(([key, one]) => `"${pyStr(key)}": ${jsonAsPython(one)}`);
    return `{${parts.join(', ')}}`;
  }
  if (Array.isArray(value)) return `[${value.map(jsonAsPython).join(', ')}]`;
  return toJson(value).json;
}

function queueOf(named: Named, context: RunnerContext, act: string): CalledQueue {
  const queue = textGiven(named, 'queue');
  return new CalledQueue(masterOf(context), act, textGiven(named, 'backend') ?? 'sqlite', queue);
}

/** A number of items, or all: these are the first 10,000. */
function quantityOf(value: SaltValue | undefined): number {
  if (value === 'all') return LIST_MAX;
  const text = pyStr(value ?? null);
  if (/^\s*[+-]?\d+\s*$/.test(text)) return Math.min(LIST_MAX, Math.max(0, Number(text)));
  if (typeof value === 'number') return Math.min(LIST_MAX, Math.max(0, Math.trunc(value)));
  const why = `invalid literal for int() with base 10: ${pyRepr(value ?? null)}`;
  throw new QueueCallError(`Quantity must be an integer or "all".\nError: "${why}".`);
}

const NAMED = [['queue'], BACKEND] as const;
const WITH_ITEMS = [['queue'], ['items'], BACKEND] as const;
const POPPED = [['queue'], ['quantity', 1], BACKEND, ['is_runner', false]] as const;

const insert: RunnerFunction = {
  name: 'queue.insert',
  parameters: WITH_ITEMS,
  doc:
    'Puts one item, or all of a list or none, into a queue. items: text, a map, or a list. ' +
    ABOUT,
  async run({ named }, context) {
    const items = named.get('items') ?? null;
    await judgeItems(masterOf(context), items);
    return { value: await queueOf(named, context, 'insert').insert(items) };
  },
};

/**
 * Judges the calls that queue.process_runner would make: the caller that processes a queue may have
 * more rights than those who put items into it.
 * @throws InnerCallRefusedError
 */
async function judgeItems(master: RunnerMaster, items: SaltValue): Promise<void> {
  if (!isJudged(master, master.call)) return;
  for (const item of Array.isArray(items) ? items : [items]) {
    const call = runnerIn(item);
    const isText = !isMap(item);
    // Most texts are not names of runners.
    if (isText && !(await master.local.knows('runner', call.fun))) continue;
    if (isText || item.has('fun')) judgeLater(master, master.call, { kind: 'runner', ...call });
  }
}

/** An item in the form that queue.process_runner reads. */
function runnerIn(item: SaltValue): GivenArguments & { readonly fun: string } {
  if (!isMap(item)) return { fun: pyStr(item), args: [], kwargs: mapOf({}) };
  const args = item.get('args');
  return {
    fun: textOf(item, 'fun') ?? '',
    args: Array.isArray(args) ? args : [],
    kwargs: mapIn(item, 'kwargs') ?? mapOf({}),
  };
}

const remove: RunnerFunction = {
  name: 'queue.delete',
  parameters: WITH_ITEMS,
  doc: `Removes items from a queue. items: text, a map, or a list of these. ${ABOUT}`,
  async run({ named }, context) {
    await queueOf(named, context, 'delete').delete(named.get('items') ?? null);
    return { value: true };
  },
};

const listQueues: RunnerFunction = {
  name: 'queue.list_queues',
  parameters: [BACKEND],
  doc: 'Lists the queues in which items wait. backend: sqlite (default) or pgjsonb.',
  run: async ({ named }, context) => ({
    value: await queueOf(named, context, 'list_queues').names(),
  }),
};

const listLength: RunnerFunction = {
  name: 'queue.list_length',
  parameters: NAMED,
  doc: `Counts the items of a queue. ${ABOUT}`,
  run: async ({ named }, context) => ({
    value: await queueOf(named, context, 'list_length').length(),
  }),
};

const listItems: RunnerFunction = {
  name: 'queue.list_items',
  parameters: NAMED,
  doc: `Shows the items of a queue, up to ${LIST_MAX}, the oldest first. ${ABOUT}`,
  run: async ({ named }, context) => ({
    value: await queueOf(named, context, 'list_items').items(),
  }),
};

const pop: RunnerFunction = {
  name: 'queue.pop',
  parameters: POPPED,
  doc:
    `Takes the oldest items out of a queue and shows them. quantity: how many (default 1), or ` +
    `all; ${LIST_MAX} at most. ${ABOUT} is_runner: show them as queue.insert_runner put them in.`,
  run: async ({ named }, context) => ({ value: await popped(named, context) }),
};

async function popped(named: Named, context: RunnerContext): Promise<SaltValue[]> {
  const queue = queueOf(named, context, 'pop');
  return queue.pop(quantityOf(named.get('quantity')), named.get('is_runner') === true);
}

const processQueue: RunnerFunction = {
  name: 'queue.process_queue',
  parameters: POPPED,
  doc:
    'Takes items out of a queue and fires them as the event salt/queue/<queue>/process. ' +
    `quantity: how many (default 1), or all. ${ABOUT} is_runner: as in queue.pop.`,
  run: async ({ named }, context) => ({ value: await processed(named, context) }),
};

/** Salt's data of the event; false after a wrong call, which the progress event reports. */
async function processed(named: Named, context: RunnerContext): Promise<SaltValue> {
  const master = masterOf(context);
  let items: SaltValue[];
  try {
    items = await popped(named, context);
  } catch (error) {
    if (!(error instanceof QueueCallError)) throw error;
    await master.fire(`salt/run/${master.call.jid}/progress`, mapOf({ errors: error.message }));
    return false;
  }
  const [backend, queue] = [named.get('backend') ?? null, named.get('queue') ?? null];
  const data = mapOf({ items, backend, queue });
  await master.fire(`salt/queue/${pyStr(queue)}/process`, data);
  return data;
}

/** The arguments of the runner queue: as given, or from the option `runner_queue`. */
function runnerQueue(named: Named, context: RunnerContext): Map<string, SaltValue> {
  const option = masterOf(context).option('runner_queue') ?? null;
  const configured = isMap(option) ? option : mapOf({});
  const queue = textGiven(named, 'queue') ?? textOf(configured, 'queue');
  if (queue === undefined) throw new Error('no queue: give queue, or set runner_queue');
  const backend = textGiven(named, 'backend') ?? textOf(configured, 'backend') ?? 'pgjsonb';
  return new Map<string, SaltValue>([...named, ['queue', queue], ['backend', backend]]);
}

const ABOUT_RUNNERS =
  'queue, backend: default those of the option runner_queue; without one the backend is pgjsonb.';

const insertRunner: RunnerFunction = {
  name: 'queue.insert_runner',
  parameters: [['fun'], ['args', null], ['kwargs', null], ['queue', null], ['backend', null]],
  doc:
    'Puts a runner with its arguments into a queue, for queue.process_runner. fun: its name. ' +
    `args: a list or text with commas. kwargs: a map. ${ABOUT_RUNNERS}`,
  async run({ named }, context) {
    const given = named.get('args') ?? null;
    const args = typeof given === 'string' ? given.split(',') : (given ?? []);
    const kwargs = named.get('kwargs') ?? mapOf({});
    const item = mapOf({ fun: named.get('fun') ?? null, args, kwargs });
    await judgeItems(masterOf(context), item);
    const queue = queueOf(runnerQueue(named, context), context, 'insert');
    return { value: await queue.insert(item) };
  },
};

const processRunner: RunnerFunction = {
  name: 'queue.process_runner',
  parameters: [
    ['quantity', 1],
    ['queue', null],
    ['backend', null],
  ],
  doc:
    'Takes runners out of a queue, fires them as queue.process_queue does, and runs one after ' +
    'the other, each within the rights of the caller. One that fails does not ' +
    'stop the others; the failure is shown at the end. ' +
    `quantity: how many (default 1), or all. ${ABOUT_RUNNERS}`,
  async run({ named }, context) {
    const asked = runnerQueue(named, context).set('is_runner', true);
    const data = await processed(asked, context);
    const failures: string[] = [];
    const items = isMap(data) ? data.get('items') : [];
    for (const item of Array.isArray(items) ? items : []) {
      const { fun, args, kwargs } = runnerIn(item);
      try {
        await masterOf(context).run(fun, { args, kwargs });
      } catch (error) {
        failures.push(`${fun}: ${errorText(error)}`);
      }
    }
    if (failures.length > 0) throw new Error(failures.join('\n'));
    return { value: null };
  },
};

/** `queue.*` of `salt-run` (salt/runners/queue.py), on PostgreSQL. */
export const QUEUE_RUNNER: readonly RunnerFunction[] = [
  insert,
  remove,
  listQueues,
  listLength,
  listItems,
  pop,
  processQueue,
  insertRunner,
  processRunner,
];
