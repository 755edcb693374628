import { isJid } from '@brine/job';
import { isMap, mapOf, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';

/** The parameters of a runner or wheel function; those without a default are required. */
export interface Signature {
  readonly parameters: readonly (readonly [name: string, preset?: SaltValue])[];
  /** Further arguments that it takes: positions, keywords, or both. */
  readonly open?: 'args' | 'kwargs' | 'any';
}

/** A job for minions. */
export interface LocalCall {
  readonly kind: 'local';
  /** Id of the reaction in its file. */
  readonly id: string;
  readonly fun: string;
  readonly tgt: string | readonly string[];
  readonly tgtType: string;
  /** Keywords are in a map with `__kwarg__` at the end. */
  readonly arg: readonly SaltValue[];
  readonly ret: string;
  /** A job id from the file; empty: the master makes one. */
  readonly jid: string;
  /** Other fields beside `tgt`: metadata and the like, and Salt's own fields. */
  readonly kwargs: SaltMap;
}

/** A call of a function of the master. */
export interface MasterCall {
  readonly kind: 'runner' | 'wheel';
  readonly id: string;
  readonly fun: string;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

export type ReactionCall = LocalCall | MasterCall;

/** A call, or the reason for its refusal; and hints about its file. */
export interface ReadCall {
  readonly call: ReactionCall | { readonly refused: string };
  /** Parts of the file without effect, each in a sentence. */
  readonly notes: readonly string[];
}

/** Returns the parameters of a function; undefined if it is unknown. */
export type SignatureOf = (
  kind: MasterCall['kind'],
  fun: string,
) => Promise<Signature | 'unknown to Brine' | undefined>;

/** Fields of a reaction that are no arguments (Salt: REACTOR_INTERNAL_KEYWORDS). */
const INTERNAL: ReadonlySet<SaltValue> = new Set([
  ...['__id__', '__sls__', 'name', 'order', 'fun', 'key', 'state'],
]);

/** Thrown to refuse a call. */
class Refused extends Error {}

/**
 * Reads a compiled reaction into its call (Salt: salt/utils/reactor.py ReactWrap.run). The new form
 * has its arguments in `args`. The old form has them in `arg` and `kwarg`, or as fields by their
 * names.
 */
export async function callOf(chunk: SaltMap, signatureOf: SignatureOf): Promise<ReadCall> {
  const notes: string[] = [];
  try {
    return { call: await read(chunk, signatureOf, notes), notes };
  } catch (error) {
    if (error instanceof Refused) return { call: { refused: error.message }, notes };
    throw error;
  }
}

async function read(
  chunk: SaltMap,
  signatureOf: SignatureOf,
  notes: string[],
): Promise<ReactionCall> {
  const state = pyStr(chunk.get('state') ?? '');
  const [id, fun] = [pyStr(chunk.get('__id__') ?? ''), pyStr(chunk.get('fun') ?? '')];
  noteOddities(chunk, notes);
  if (state === 'local') return localCall(chunk, id, fun, notes);
  if (state === 'caller') return callerCall(chunk, id, fun);
  if (state !== 'runner' && state !== 'wheel') {
    throw new Refused(`'${state}' is no kind of reaction: local, runner, wheel or caller`);
  }
  if (chunk.has('args')) {
    return { kind: state, id, fun, args: [], kwargs: keywordsIn(chunk.get('args') ?? null) };
  }
  const { arg, kwarg } = await oldArguments(chunk, state, fun, signatureOf);
  return { kind: state, id, fun, args: spread(arg), kwargs: mapOrRefused(kwarg) };
}

function noteOddities(chunk: SaltMap, notes: string[]): void {
  if (chunk.has('args')) {
    for (const name of ['arg', 'kwarg']) {
      if (chunk.has(name)) notes.push(`'${name}' is ignored beside 'args'`);
    }
  }
  if (chunk.has('expr_form')) notes.push("'expr_form' is not in force: its name is 'tgt_type'");
}

function localCall(chunk: SaltMap, id: string, fun: string, notes: string[]): LocalCall {
  const tgt = chunk.get('tgt');
  if (tgt === undefined) throw new Refused('local takes at least 2 arguments (1 given)');
  const isNew = chunk.has('args');
  const arg = isNew ? [] : (chunk.get('arg') ?? []);
  const given = isNew ? keywordsIn(chunk.get('args') ?? null) : chunk.get('kwarg');
  const isLost = given !== undefined && given !== null && !isMap(given);
  if (isLost) notes.push("'kwarg' is no dictionary, so it is ignored");
  const kwargs: SaltMap = new Map(
    [...chunk].filter(([name]) => typeof name !== 'string' || !OF_LOCAL.has(name)),
  );
  return {
    kind: 'local',
    id,
    fun,
    kwargs,
    tgt: Array.isArray(tgt) ? tgt.map(pyStr) : pyStr(tgt),
    tgtType: pyStr(chunk.get('tgt_type') ?? 'glob'),
    arg: conditioned(spread(arg), isMap(given) ? given : mapOf({})),
    ret: textOrEmpty(chunk.get('ret')),
    jid: textOrEmpty(chunk.get('jid')),
  };
}

/** Named parameters of `LocalClient.cmd_async`; other fields go with the publish. */
const OF_LOCAL: ReadonlySet<string> = new Set([
  ...['fun', 'tgt', 'arg', 'args', 'kwarg', 'tgt_type', 'ret', 'jid', 'timeout', 'listen'],
]);

/**
 * On a master `caller` runs a function of the master's own minion, as the runner `salt.cmd` does.
 */
function callerCall(chunk: SaltMap, id: string, fun: string): MasterCall {
  const call = (args: readonly SaltValue[], kwargs: SaltMap): MasterCall => {
    return { kind: 'runner', id, fun: 'salt.cmd', args: [fun, ...args], kwargs };
  };
  const args = chunk.get('args');
  if (args === undefined) {
    return call(spread(chunk.get('arg') ?? []), mapOrRefused(chunk.get('kwarg') ?? mapOf({})));
  }
  // A list in the old form is positional, in the new form it has keywords.
  if (Array.isArray(args) && !isListOfMaps(args)) return call(args, mapOf({}));
  return call([], keywordsIn(args));
}

/** Reads keywords from `args`: a map, or a list of maps with one entry (Salt: repack_dictlist). */
function keywordsIn(args: SaltValue): SaltMap {
  if (isMap(args)) return args;
  const keywords: SaltMap = new Map();
  for (const item of Array.isArray(args) ? args : []) {
    if (isMap(item) && item.size === 1) for (const [key, value] of item) keywords.set(key, value);
    else if (isScalar(item)) keywords.set(item, null);
    else throw new Refused(WRONG_FORM);
  }
  if (keywords.size === 0) throw new Refused(WRONG_FORM);
  return keywords;
}

const WRONG_FORM =
  'Incorrect argument format: args is a list of names with one value each, or a dictionary';

function isScalar(value: SaltValue): boolean {
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  // In Python, True and False are numbers.
  return typeof value === 'string' || typeof value === 'boolean' || isNumber || isFloat(value);
}

function isFloat(value: SaltValue): boolean {
  return value instanceof SaltFloat;
}

function isListOfMaps(list: readonly SaltValue[]): boolean {
  return list.every((item) => isMap(item) && item.size === 1);
}

/** Positions and keywords of the old form, by the parameters of the function if they are known. */
async function oldArguments(
  chunk: SaltMap,
  kind: MasterCall['kind'],
  fun: string,
  signatureOf: SignatureOf,
): Promise<{ readonly arg: SaltValue; readonly kwarg: SaltValue }> {
  const [arg, kwarg] = [chunk.get('arg'), chunk.get('kwarg')];
  if (arg !== undefined && kwarg !== undefined) return { arg, kwarg };
  const signature = await signatureOf(kind, fun);
  if (signature === undefined) throw new Refused('function not available');
  const bound = signature === 'unknown to Brine' ? unbound(chunk) : boundBy(signature, chunk, fun);
  return { arg: arg ?? bound.args, kwarg: kwarg ?? bound.kwargs };
}

/** For a function of the site: every field that is not the reactor's own is a keyword. */
function unbound(chunk: SaltMap): { readonly args: SaltValue[]; readonly kwargs: SaltMap } {
  const others = [...chunk].filter(([name]) => !INTERNAL.has(name) && !isArgumentList(name));
  const kwargs: SaltMap = new Map(others);
  const name = chunk.get('name');
  if (name !== undefined && name !== chunk.get('__id__')) kwargs.set('name', name);
  return { args: [], kwargs };
}

function isArgumentList(name: SaltValue): boolean {
  return name === 'arg' || name === 'kwarg';
}

/** Binds the fields of a reaction to parameters (Salt: salt/utils/args.py format_call). */
function boundBy(
  { parameters, open }: Signature,
  chunk: SaltMap,
  fun: string,
): { readonly args: SaltValue[]; readonly kwargs: SaltMap } {
  const left: SaltMap = new Map(chunk);
  const kwargs: SaltMap = new Map();
  const args: SaltValue[] = [];
  const take = (name: string): SaltValue | undefined => {
    const value = left.get(name);
    left.delete(name);
    return value;
  };
  for (const [name, preset] of parameters) {
    if (preset !== undefined) kwargs.set(name, take(name) ?? preset);
  }
  const required = parameters.filter(([, preset]) => preset === undefined).map(([name]) => name);
  for (const name of required) {
    const value = take(name);
    if (value !== undefined) args.push(value);
  }
  if (args.length < required.length) {
    const short = fun.split('.').at(-1) ?? fun;
    const plural = required.length > 1 ? 's' : '';
    throw new Refused(
      `${short} takes at least ${required.length} argument${plural} (${args.length} given)`,
    );
  }
  const extra = [...left].filter(([name]) => !INTERNAL.has(name));
  if (open === 'kwargs' || open === 'any') {
    for (const [name, value] of extra) kwargs.set(name, value);
  } else if (extra.length > 0) {
    const names = extra.map(([name]) => `'${pyStr(name)}'`).join(', ');
    const are = extra.length === 1 ? 'is an invalid keyword argument' : 'are invalid keywords';
    throw new Refused(`${names} ${are} for '${fun}'`);
  }
  return { args, kwargs };
}

/** Python's `*value`: a text is spread into its characters. */
function spread(value: SaltValue): SaltValue[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'string') return Array.from(value);
  if (isMap(value)) return [...value.keys()];
  throw new Refused(`arg is no list: ${pyStr(value)}`);
}

function mapOrRefused(value: SaltValue): SaltMap {
  if (isMap(value)) return value;
  throw new Refused(`kwarg is no dictionary: ${pyStr(value)}`);
}

/** Arguments of a publish (Salt: condition_input); a number that is a job id becomes a text. */
function conditioned(args: readonly SaltValue[], kwargs: SaltMap): SaltValue[] {
  const words = args.map((arg) => {
    const isNumber = typeof arg === 'number' || typeof arg === 'bigint';
    return isNumber && isJid(String(arg)) ? String(arg) : arg;
  });
  if (kwargs.size === 0) return words;
  return [...words, new Map<SaltValue, SaltValue>([['__kwarg__', true], ...kwargs])];
}

function textOrEmpty(value: SaltValue | undefined): string {
  return value === undefined || value === null ? '' : pyStr(value);
}
