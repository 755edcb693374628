import { randomUUID } from 'node:crypto';
import { keywordIn, yamlArgument } from '@brine/client';
import { Wakeup } from '@brine/tasks';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { COMMAND_NAME } from '@brine/wire/load';
import { YamlWork, YamlWorkError } from '@brine/yaml';
import { NetapiError, UnexpectedError } from '../errors.ts';
import type { LiveEvent, LiveEvents } from '../live/live-events.ts';
import { CREDENTIALS, credentialsOf, withoutFields } from './low.ts';
import type { AskedBy, MasterRequests } from './master-requests.ts';

/** A field of the load of a wheel whose caller does not wait. */
const BRINE_ASYNC = 'brine_async';

/** What a runner or wheel is called with beside its arguments. */
const RUNNER_FIELDS: ReadonlySet<SaltValue> = new Set([
  ...CREDENTIALS,
  'client',
  'fun',
  'timeout',
  'full_return',
  'user',
  'key',
  'arg',
  'kwarg',
]);

/** What no caller sets in the load of a wheel. */
const WHEEL_NEVER: ReadonlySet<SaltValue> = new Set(['client', 'user', 'key', 'cmd', BRINE_ASYNC]);

/** Who calls, and the context of its trace. */
type Caller = AskedBy & { readonly traceparent?: string | undefined };

/** Events of runs that come before the answer which names theirs. */
const EARLY_MAX = 10_000;

/** The clients `runner` and `wheel`, for one chunk of a lowstate. */
export class FunctionCalls {
  readonly #requests: MasterRequests;
  readonly #live: Pick<LiveEvents, 'listen'>;
  /** Salt: `rest_timeout`, in seconds. */
  readonly #timeoutS: number;

  constructor(requests: MasterRequests, live: Pick<LiveEvents, 'listen'>, timeoutS: number) {
    this.#requests = requests;
    this.#live = live;
    this.#timeoutS = timeoutS;
  }

  /** Begins a runner: its tag and job id. */
  async start(chunk: SaltMap, by: Caller): Promise<SaltMap> {
    const load = runnerLoad(chunk);
    if (by.traceparent !== undefined) load.set('traceparent', by.traceparent);
    const answer = await this.#requests.ask(load, by);
    if (!isMap(answer)) throw new UnexpectedError('no answer of a runner');
    return answer;
  }

  /**
   * Runs a runner: its result, or with `full_return` its event.
   * @throws NetapiError 504 if it takes too long; it runs on
   */
  async run(chunk: SaltMap, by: Caller): Promise<SaltValue> {
    const ended = new EndOfRun();
    const following = await this.#live.listen(ended.take);
    try {
      const begun = await this.start(chunk, by);
      const tag = textOf(begun, 'tag') ?? '';
      const seconds = secondsOf(chunk.get('timeout')) ?? this.#timeoutS;
      const data = await ended.of(tag, seconds * 1_000);
      if (data === undefined) throw new NetapiError(504, '');
      if (chunk.get('full_return') === true) return mapOf({ tag: `${tag}/ret`, data });
      return data.get('return') ?? null;
    } finally {
      following.close();
    }
  }

  /** Runs a wheel: its tag and data. */
  async wheel(chunk: SaltMap, by: AskedBy): Promise<SaltValue> {
    return this.#requests.ask(wheelLoad(chunk), by);
  }

  /** Begins a wheel: its tag and job id. */
  async startWheel(chunk: SaltMap, by: AskedBy): Promise<SaltValue> {
    return this.#requests.ask(wheelLoad(chunk).set(BRINE_ASYNC, true), by);
  }
}

/** Waits for the event `ret` of one run. */
class EndOfRun {
  readonly #early = new Map<string, LiveEvent>();
  readonly #news = new Wakeup();
  #tag: string | undefined;
  #data: SaltMap | undefined;

  readonly take = (event: LiveEvent): void => {
    const { tag } = event;
    if (!tag.startsWith('salt/run/') || !tag.endsWith('/ret')) return;
    if (this.#tag === undefined) {
      if (this.#early.size < EARLY_MAX) this.#early.set(tag, event);
    } else if (tag === this.#tag) {
      this.#data = event.data;
      this.#news.wake();
    }
  };

  /** The data of the event `<tag>/ret`; undefined after so many ms. */
  async of(tag: string, ms: number): Promise<SaltMap | undefined> {
    this.#tag = `${tag}/ret`;
    this.#data = this.#early.get(this.#tag)?.data;
    this.#early.clear();
    if (this.#data === undefined) await this.#news.wait(ms);
    return this.#data;
  }
}

/** @throws NetapiError 400 if the texts of a call take too much work */
function asYaml(text: string, work: YamlWork): SaltValue {
  try {
    return yamlArgument(text, work);
  } catch (cause) {
    if (!(cause instanceof YamlWorkError)) throw cause;
    throw new NetapiError(400, 'The arguments are too large to be read as YAML', { cause });
  }
}

/**
 * The load of a runner: `name=value` texts of `arg`, `kwarg` and other fields become keywords
 * (salt/runner.py _reformat_low).
 */
function runnerLoad(chunk: SaltMap): SaltMap {
  const fun = chunk.get('fun');
  // A stock salt-api looks for the function before it asks the master.
  if (typeof fun !== 'string' || !fun.includes('.')) {
    throw new UnexpectedError('a runner needs fun');
  }
  const arg: SaltValue[] = [];
  const work = YamlWork.ofBody();
  const kwarg: SaltMap = new Map();
  const given = chunk.get('arg') ?? [];
  for (const one of Array.isArray(given) ? given : [given]) {
    const keyword = typeof one === 'string' ? keywordIn(one) : undefined;
    if (keyword !== undefined) kwarg.set(keyword[0], asYaml(keyword[1], work));
    else if (isMap(one) && one.get('__kwarg__') === true) {
      for (const [name, value] of one) if (name !== '__kwarg__') kwarg.set(name, value);
    } else arg.push(typeof one === 'string' ? asYaml(one, work) : one);
  }
  const named = mapIn(chunk, 'kwarg');
  if (named === undefined && chunk.has('kwarg'))
    throw new UnexpectedError('kwarg is no dictionary');
  for (const [name, value] of named ?? []) kwarg.set(name, value);
  for (const [name, value] of withoutFields(chunk, RUNNER_FIELDS)) kwarg.set(name, value);
  return new Map([
    ...mapOf({ cmd: 'runner', fun, kwarg: mapOf({ kwarg, arg }), [COMMAND_NAME]: randomUUID() }),
    ...credentialsOf(chunk),
  ]);
}

/** The load of a wheel has its arguments beside its name (salt/wheel/__init__.py master_call). */
function wheelLoad(chunk: SaltMap): SaltMap {
  const fun = chunk.get('fun');
  if (typeof fun !== 'string') throw new UnexpectedError('a wheel needs fun');
  const given = withoutFields(chunk, WHEEL_NEVER);
  return given.set('cmd', 'wheel');
}

function secondsOf(value: SaltValue | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  const seconds = Number(value);
  if (!Number.isFinite(seconds) || seconds < 0) throw new UnexpectedError('timeout is no number');
  return seconds;
}
