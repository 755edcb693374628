import { randomUUID } from 'node:crypto';
import {
  JobRecords,
  type LocalClient,
  MasterUnreachableError,
  RefusedError,
  RequestTimeoutError,
} from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { Wakeup } from '@brine/tasks';
import {
  intOf,
  isMap,
  listOf,
  mapIn,
  mapOf,
  type SaltMap,
  SaltTuple,
  type SaltValue,
  textOf,
  unpack,
} from '@brine/wire';
import { COMMAND_NAME, hasRunEntry } from '@brine/wire/load';
import { codeFor, EXIT, Exit } from '../exit-codes.ts';
import type { LocalMaster } from '../local-master.ts';
import { isOn, type ParsedOptions, textValue } from '../options/command-form.ts';
import type { Printer } from '../printer.ts';
import { whenInterrupted } from '../salt/interrupt.ts';
import { logLine, type Terminal } from '../terminal.ts';
import { showRunnerDocs } from './docs.ts';
import { type FailureLine, failureLines } from './failed-states.ts';

/**
 * Timeout for a run without an entry in the job cache, or whose caller may not read it, in ms
 * (Salt: `rest_timeout`). Other runs are awaited without a limit.
 */
const WAIT_MS = 300_000;
/** Interval for polling the job cache, ms: an event-bus restart drops the event of the end. */
const LOOK_MS = 5_000;
/** Maximum of events that arrive before the answer which names their tag. */
const EARLY_MAX = 10_000;

/** A runner, its arguments and the caller's credentials. */
export interface RemoteCall {
  readonly fun: string;
  readonly args: readonly SaltValue[];
  /** A token, or a name and a password; empty for the user's own key. */
  readonly credentials: SaltMap;
  /** `--jid`: the job id for the run. */
  readonly jid?: string | undefined;
  /** `-t`: timeout of its commands for minions. */
  readonly timeoutSeconds?: number;
}

/** Parts of this process that a run uses. */
export interface RemoteRun {
  readonly config: Pick<MasterOptions, 'brine' | 'logLevel'>;
  readonly master: LocalMaster;
  readonly printer: Printer;
  readonly terminal: Terminal;
  readonly options: ParsedOptions;
  /** True if its caller may ask the job cache. */
  readonly mayReadJobs: boolean;
}

/** Runs a runner in the master and shows its result; with `--async` only the tag of its events. */
export async function runInMaster(call: RemoteCall, run: RemoteRun): Promise<number> {
  const { options, terminal, printer } = run;
  try {
    if (isOn(options, 'async')) {
      const { tag } = await begin(run.master.client, call);
      logLine(terminal, 'WARNING', `${ASYNC} ${tag}`);
      return EXIT.ok;
    }
    const data = await followed(call, run);
    const value = withTuple(call, data.get('return') ?? null);
    if (call.fun.startsWith('state.')) {
      const least = leastLevel(run);
      for (const { level, text } of failureLines(value)) {
        if (LEVELS.indexOf(level) >= least) logLine(terminal, level, text);
      }
    }
    if (!isOn(options, 'quiet')) showResult(value, printer);
    return exitCode(data);
  } catch (error) {
    if (error instanceof MasterUnreachableError || error instanceof RequestTimeoutError) {
      throw new Exit(EXIT.generic, `${error.message}\n`);
    }
    if (!(error instanceof RefusedError)) throw error;
    const isUnknown = error.name === NOT_AVAILABLE;
    const isQuiet = isOn(options, 'quiet');
    // Salt then shows the functions with this prefix.
    const isPrinted =
      isUnknown && !isQuiet && (await showRunnerDocs(call.fun, false, printer, terminal.out));
    if (!isPrinted && !isQuiet) printer.show(error.message, 'nested');
    if (!isUnknown) return refusedCode(run.config, error);
    if (!isPrinted) await suggest(call.fun, terminal);
    return codeFor(run.config, { strict: EXIT.generic, stock: EXIT.ok });
  }
}

/** Functions whose result in Python has a tuple, by its key: the wire turns it into a list. */
const TUPLES: ReadonlyMap<string, string> = new Map([
  ['test.arg', 'args'],
  ['test.raw_arg', 'args'],
]);

/** As in Salt, whose command calls the function itself, unless a login has to be checked. */
function withTuple({ fun, credentials }: RemoteCall, value: SaltValue): SaltValue {
  const name = TUPLES.get(fun);
  if (name === undefined || !isMap(value) || credentials.size > 0) return value;
  const list = listOf(value, name);
  return list === undefined
    ? value
    : new Map<SaltValue, SaltValue>([...value, [name, SaltTuple.from(list)]]);
}

/** The exit code of a refused run. Salt exits with 0, which scripts take for success. */
export function refusedCode(config: Pick<MasterOptions, 'brine'>, { name }: Error): number {
  const strict = /Auth\w*Error$/.test(name) ? EXIT.noReturn : EXIT.generic;
  return codeFor(config, { strict, stock: EXIT.ok });
}

/** The levels of lines about failures, the lowest first. */
const LEVELS: readonly FailureLine['level'][] = ['ERROR', 'CRITICAL'];

/** The first of {@link LEVELS} that `-l`, or `log_level` of the configuration, includes. */
function leastLevel({ options, config }: RemoteRun): number {
  const asked = textValue(options, 'log_level') ?? config.logLevel;
  if (asked === 'quiet') return LEVELS.length;
  return asked === 'critical' ? LEVELS.indexOf('CRITICAL') : 0;
}

/** Name of the master's error for an unknown function. */
const NOT_AVAILABLE = 'CommandExecutionError';

/** Suggests the function that was probably meant. */
async function suggest(fun: string, terminal: Terminal): Promise<void> {
  const { RUNNERS } = await import('@brine/runners');
  const { nearestName } = await import('@brine/config');
  const nearest = nearestName(fun, RUNNERS.keys());
  if (nearest !== undefined) terminal.err(`Did you mean ${nearest}?\n`);
}

interface Begun {
  readonly tag: string;
  readonly jid: string;
}

async function begin(client: LocalClient, call: RemoteCall): Promise<Begun> {
  const reply = await client.command(loadOf(call));
  const [tag, jid] = [textOf(reply, 'tag'), textOf(reply, 'jid')];
  if (tag === undefined || jid === undefined) throw new RefusedError('SaltClientError', '');
  return { tag, jid };
}

function loadOf({ fun, args, credentials, jid, timeoutSeconds }: RemoteCall): SaltMap {
  const positional: SaltValue[] = [];
  const keywords: SaltMap = new Map();
  for (const arg of args) {
    if (!isMap(arg) || arg.get('__kwarg__') !== true) positional.push(arg);
    else for (const [name, value] of arg) if (name !== '__kwarg__') keywords.set(name, value);
  }
  const kwarg = mapOf({ kwarg: keywords, arg: positional });
  return new Map([
    ...mapOf({ cmd: 'runner', fun, kwarg, jid, timeout: timeoutSeconds }),
    // Makes a retry after the death of a gateway idempotent.
    ...mapOf({ [COMMAND_NAME]: randomUUID() }),
    ...credentials,
  ]);
}

/**
 * Begins the run, shows its output, and returns the data of its event `ret` (Salt: RunnerClient
 * cmd_sync).
 */
async function followed(call: RemoteCall, run: RemoteRun): Promise<SaltMap> {
  const interrupt = whenInterrupted(run.terminal);
  const events = new RunEvents((data) => {
    if (!isOn(run.options, 'quiet')) showProgress(data, run);
  });
  const connection = await run.master.listen(events.take);
  try {
    const { tag, jid } = await begin(run.master.client, call);
    interrupt.jid = jid;
    events.follow(tag);
    const hasEntry = run.mayReadJobs && hasRunEntry(`runner.${call.fun}`);
    const until = hasEntry ? Number.POSITIVE_INFINITY : Date.now() + WAIT_MS;
    const jobs = new JobRecords(run.master.client);
    for (;;) {
      const data = await events.ended(Math.min(LOOK_MS, Math.max(0, until - Date.now())));
      if (data !== undefined) return data;
      if (Date.now() >= until) throw new Error(`RunnerClient job '${call.fun}' timed out`);
      const stored = hasEntry ? await entryOf(jobs, jid) : undefined;
      if (stored !== undefined) return stored;
    }
  } finally {
    interrupt.dispose();
    connection.close();
  }
}

/** Shows text printed by a runner, or an event of progress in Salt's form (print_async_event). */
function showProgress(data: SaltMap, { terminal, printer }: RemoteRun): void {
  const [text, outputter] = [textOf(data, 'data'), textOf(data, 'outputter')];
  if (text !== undefined && outputter === 'text') terminal.out(text);
  else printer.show(mapOf({ suffix: 'progress', event: data }), outputter ?? 'nested');
}

/** The data of the event `ret` as the job cache has it; undefined while it has none. */
async function entryOf(jobs: JobRecords, jid: string): Promise<SaltMap | undefined> {
  try {
    for (const row of (await jobs.returns(jid)).values()) {
      if (isMap(row)) return mapIn(row, 'return');
    }
  } catch (error) {
    // The job cache or a worker is unreachable: the event may still come.
    if (!(error instanceof RefusedError) && !(error instanceof RequestTimeoutError)) throw error;
  }
  return undefined;
}

/** The events of one run; the first may arrive before its tag is known. */
class RunEvents {
  readonly #print: (data: SaltMap) => void;
  readonly #early: (readonly [tag: string, packed: Uint8Array])[] = [];
  #tag: string | undefined;
  #ended: SaltMap | undefined;
  readonly #end = new Wakeup();

  constructor(print: (data: SaltMap) => void) {
    this.#print = print;
  }

  readonly take = (tag: string, packed: Uint8Array): void => {
    if (!tag.startsWith('salt/run/')) return;
    if (this.#tag !== undefined) this.#see(tag, packed);
    else if (this.#early.length < EARLY_MAX) this.#early.push([tag, packed]);
  };

  follow(tag: string): void {
    this.#tag = tag;
    for (const [early, packed] of this.#early.splice(0)) this.#see(early, packed);
  }

  /** Waits for the event `ret`, at most `ms`. */
  async ended(ms: number): Promise<SaltMap | undefined> {
    if (this.#ended === undefined) await this.#end.wait(ms);
    return this.#ended;
  }

  #see(tag: string, packed: Uint8Array): void {
    const isEnd = tag === `${this.#tag}/ret`;
    if (!isEnd && tag !== `${this.#tag}/progress`) return;
    const unpacked = unpack(packed);
    const data = isMap(unpacked) ? unpacked : mapOf({});
    if (isEnd) {
      this.#ended = data;
      this.#end.wake();
      return;
    }
    this.#print(data);
  }
}

/** A result of exactly `data` and `outputter` is shown by that outputter, as in Salt. */
function showResult(value: SaltValue, printer: Printer): void {
  const outputter = isMap(value) ? textOf(value, 'outputter') : undefined;
  const names = isMap(value) ? [...value.keys()].filter((name) => name !== 'retcode') : [];
  const isWrapped = outputter !== undefined && names.length === 2 && isMap(value);
  if (!isWrapped || !value.has('data')) {
    printer.show(value, 'nested');
  } else if (value.has('retcode') && printer.options.output !== undefined) {
    // `--out` shows the whole wrapper of an orchestration (transcripts, runner/orch-json).
    printer.show(value, 'nested');
  } else {
    printer.show(value.get('data') ?? null, outputter);
  }
}

/** Looks for the code in the same order as Salt (salt/cli/run.py). */
function exitCode(data: SaltMap): number {
  const own = intOf(data, 'retcode');
  if (own !== undefined) return own;
  const value = mapIn(data, 'return');
  const inner = value === undefined ? undefined : mapIn(value, 'data');
  const found = (value && intOf(value, 'retcode')) ?? (inner && intOf(inner, 'retcode'));
  return found ?? (data.get('success') === false ? EXIT.generic : EXIT.ok);
}

const ASYNC =
  'Running in asynchronous mode. Results of this execution may be collected by attaching to the ' +
  'master event bus or by examining the master job cache, if configured. This execution is ' +
  'running under tag';
