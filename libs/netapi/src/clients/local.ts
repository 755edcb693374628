import {
  type Command,
  isAway,
  type JobReturn,
  type LocalClient,
  MasterUnreachableError,
  noResponseText,
  RefusedError,
  RequestTimeoutError,
  runBatch,
  subsetOf,
  withoutJidNumber,
} from '@brine/client';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { NetapiError, UnexpectedError } from '../errors.ts';
import { withoutFields } from './low.ts';
import { refusalNamed, RETRY_AFTER_S } from './master-requests.ts';

/** What a minion gave, as the clients of Salt show it. */
export interface MinionAnswer {
  readonly id: string;
  readonly value: SaltValue;
}

/** Answers of minions as they come. */
export interface MinionAnswers {
  /** How many minions are asked. */
  readonly count: number;
  readonly answers: AsyncIterable<MinionAnswer>;
}

/** How silent minions are shown. */
export interface LocalSettings {
  /** `true`: the text of 3008; `false`: the value `false` of 3006. */
  readonly silentText: boolean;
}

/** The fields of `cmd` that are not keywords of the publish (salt/client/__init__.py cmd). */
const OWN_FIELDS: ReadonlySet<SaltValue> = new Set([
  'client',
  'tgt',
  'fun',
  'arg',
  'timeout',
  'tgt_type',
  'expr_form',
  'ret',
  'jid',
  'full_return',
  'kwarg',
  // Those of `cmd_subset` and `cmd_batch`.
  'subset',
  'sub',
  'cli',
  'progress',
  'batch',
  'batch_wait',
  'failhard',
  'raw',
  'gather_job_timeout',
]);

/** Of `local_batch` without one (salt/client/__init__.py cmd_batch). */
const BATCH_SIZE = '10%';
const SUBSET_SIZE = 3;

/** The client `local` and its kin, for one chunk of a lowstate. */
export class LocalCalls {
  readonly #client: LocalClient;
  readonly #settings: LocalSettings;
  readonly #newId: () => string;
  readonly #newJid: () => string;

  constructor(
    client: LocalClient,
    settings: LocalSettings,
    { newId, newJid }: { readonly newId: () => string; readonly newJid: () => string },
  ) {
    this.#client = client;
    this.#settings = settings;
    this.#newId = newId;
    this.#newJid = newJid;
  }

  /** Publishes, and gives the job id and the minions; an empty map if none matched. */
  async start(chunk: SaltMap): Promise<SaltMap> {
    const command = commandOf(chunk, this.#newId());
    const job = await named(() => this.#client.publish(command));
    return job === undefined ? mapOf({}) : mapOf({ jid: job.jid, minions: [...job.minions] });
  }

  /** Publishes, and gives what the minions return; undefined if none matched. */
  async run(chunk: SaltMap): Promise<MinionAnswers | undefined> {
    const command = commandOf(chunk, this.#newId());
    return this.#run(command, chunk);
  }

  /** Runs on a few of the minions that have the function. */
  async runSubset(chunk: SaltMap): Promise<MinionAnswers | undefined> {
    const command = commandOf(chunk, this.#newId());
    const asked = { ...command, fun: 'sys.list_functions', arg: [], requestId: this.#newId() };
    const found = await this.#run(asked, withoutFields(chunk, new Set(['full_return'])));
    const functions = new Map<string, SaltValue>();
    if (found !== undefined)
      for await (const { id, value } of found.answers) functions.set(id, value);
    const size = numberOf(chunk.get('sub') ?? chunk.get('subset')) ?? SUBSET_SIZE;
    const tgt = subsetOf(functions, command.fun, size);
    if (tgt.length === 0) return undefined;
    return this.#run({ ...command, tgt, tgtType: 'list' }, chunk);
  }

  /** Runs on some minions at a time; each answer stands alone. */
  async runBatch(chunk: SaltMap): Promise<MinionAnswers> {
    const command = commandOf(chunk, '');
    const size = chunk.get('batch') ?? BATCH_SIZE;
    const client = this.#client;
    const steps = runBatch(client, command, {
      size: pyStr(size),
      waitMs: 1_000 * (numberOf(chunk.get('batch_wait')) ?? 0),
      failhard: chunk.get('failhard') === true,
      jid: this.#newJid(),
    });
    async function* answers(): AsyncGenerator<MinionAnswer> {
      try {
        for await (const step of steps) {
          if (step.kind === 'return') yield { id: step.id, value: step.ret };
          else if (step.kind === 'silent') yield { id: step.id, value: mapOf({}) };
        }
      } catch (error) {
        throw refusalOf(error);
      } finally {
        await client.close();
      }
    }
    return { count: 0, answers: answers() };
  }

  async #run(command: Command, chunk: SaltMap): Promise<MinionAnswers | undefined> {
    const client = this.#client;
    const job = await named(() => client.publish(command, { listen: true })).catch(
      async (error: unknown) => {
        await client.close();
        throw error;
      },
    );
    if (job === undefined) {
      await client.close();
      return undefined;
    }
    const timeout = numberOf(chunk.get('timeout'));
    const gather = numberOf(chunk.get('gather_job_timeout'));
    const returns = client.returns(job, {
      ...(command.kwargs === undefined ? {} : { kwargs: command.kwargs }),
      ...(timeout === undefined ? {} : { timeoutMs: timeout * 1_000 }),
      ...(gather === undefined ? {} : { gatherJobTimeoutMs: gather * 1_000 }),
    });
    const isFull = isTrue(chunk.get('full_return'));
    const silence = this.#settings.silentText ? noResponseText(job.jid) : false;
    async function* answers(): AsyncGenerator<MinionAnswer> {
      try {
        for await (const one of returns) yield answerOf(one, isFull, silence);
      } catch (error) {
        throw refusalOf(error);
      } finally {
        await client.close();
      }
    }
    return { count: job.minions.length, answers: answers() };
  }
}

function answerOf(one: JobReturn, isFull: boolean, silence: SaltValue): MinionAnswer {
  const { id } = one;
  if (one.kind === 'missing') {
    if (!isFull || silence === false) return { id, value: silence };
    return { id, value: mapOf({ out: 'no_return', ret: silence, retcode: 1 }) };
  }
  const { ret, out, retcode, jid } = one;
  return { id, value: isFull ? mapOf({ ret, out, retcode, jid }) : ret };
}

/** @throws UnexpectedError without a target or a function, as Python's call of `cmd` */
function commandOf(chunk: SaltMap, requestId: string): Command {
  const tgt = chunk.get('tgt');
  const fun = chunk.get('fun');
  if (!isNames(tgt) || !isNames(fun)) throw new UnexpectedError('tgt and fun are needed');
  const arg = chunk.get('arg') ?? [];
  const tgtType = chunk.get('tgt_type') ?? chunk.get('expr_form') ?? 'glob';
  const ret = chunk.get('ret') ?? '';
  const jid = chunk.get('jid') ?? '';
  if (!Array.isArray(arg) || typeof tgtType !== 'string') {
    throw new UnexpectedError('arg is no list, or tgt_type no text');
  }
  const kwarg = chunk.get('kwarg');
  const keywords =
    kwarg !== undefined && isMap(kwarg) && kwarg.size > 0
      ? [new Map<SaltValue, SaltValue>([['__kwarg__', true], ...kwarg])]
      : [];
  return {
    tgt,
    tgtType,
    fun,
    arg: [...arg.map((one) => withoutJidNumber(one)), ...keywords],
    ...(typeof ret === 'string' ? { ret } : {}),
    ...(typeof jid === 'string' ? { jid } : {}),
    kwargs: withoutFields(chunk, OWN_FIELDS),
    ...(requestId === '' ? {} : { requestId }),
  };
}

function isNames(value: SaltValue | undefined): value is string | string[] {
  if (typeof value === 'string') return true;
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** Seconds or a count, as a number or its text (salt/client/__init__.py _get_timeout). */
function numberOf(value: SaltValue | undefined): number | undefined {
  const read = typeof value === 'string' && /^\s*[+-]?\d+\s*$/.test(value) ? Number(value) : value;
  return typeof read === 'number' && Number.isFinite(read) && read >= 0 ? read : undefined;
}

/** Python's truth. */
function isTrue(value: SaltValue | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== 0 && value !== '';
}

async function named<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw refusalOf(error);
  }
}

/** The refusal of a publish as an answer of the API. */
function refusalOf(error: unknown): unknown {
  if (error instanceof NetapiError) return error;
  if (isAway(error) || error instanceof MasterUnreachableError) {
    const cause = error instanceof RequestTimeoutError ? error.cause : undefined;
    if (cause instanceof NetapiError) return cause;
    const text = 'Salt Master is not available.';
    return new NetapiError(503, text, { cause: error, retryAfter: RETRY_AFTER_S });
  }
  return error instanceof RefusedError ? refusalNamed(error.name, error.message, error) : error;
}
