import { keywordIn } from './arguments-form.ts';
import type { RunCommand } from './run-command.ts';
import { typedValue, type Value } from './typed-value.ts';

/** What `/v1` is asked to run, or what is wrong with the command. */
export type RunRequest =
  | { readonly kind: 'request'; readonly path: '/jobs' | '/runs'; readonly body: RunBody }
  | { readonly kind: 'problem'; readonly text: string };

/** The body of the request, without what was counted. */
export type RunBody = Readonly<Record<string, unknown>>;

/** Arguments as `/v1` takes them. */
export interface Arguments {
  readonly arg: readonly Value[];
  readonly kwarg: Readonly<Record<string, Value>>;
}

const SHARE = /^\d{1,6}((\.\d{1,6})?%)?$/;
const SECONDS = /^\d{1,8}$/;

/** Reads each word as the command line does. */
export function argumentsOf(
  words: readonly string[],
): Arguments | { readonly problem: string; readonly word: number } {
  const arg: Value[] = [];
  const kwarg = new Map<string, Value>();
  for (const [index, word] of words.entries()) {
    const [name, text] = keywordIn(word) ?? [undefined, word];
    const meant = typedValue(text);
    if (meant.kind === 'problem') return { problem: meant.text, word: index };
    if (name === undefined) arg.push(meant.value);
    else kwarg.set(name, meant.value);
  }
  return { arg, kwarg: Object.fromEntries(kwarg) };
}

/** The ids of a list, as `salt -L` reads them. */
export function idsOf(tgt: string): readonly string[] {
  return tgt.split(/[\s,]+/).filter((id) => id !== '');
}

/** The target as `/v1` takes it; undefined without one. */
export function targetOf({ tgt, tgtType }: Pick<RunCommand, 'tgt' | 'tgtType'>) {
  if (tgtType !== 'list') return tgt.trim() === '' ? undefined : { tgt: tgt.trim(), tgtType };
  const ids = idsOf(tgt);
  return ids.length === 0 ? undefined : { tgt: ids, tgtType };
}

/** The request of a command. */
export function requestOf(command: RunCommand): RunRequest {
  const { of, fun } = command;
  if (fun === '') return problem('Choose a function');
  const given = argumentsOf(command.arg);
  if ('problem' in given) {
    return problem(`Argument ${given.word + 1}: ${given.problem}`);
  }
  const call = { fun, ...given };
  if (of !== 'module') {
    if (!/^[^.]+\..+$/.test(fun)) return problem('A function is a module, a point and a name');
    return { kind: 'request', path: '/runs', body: { client: of, ...call } };
  }
  const target = targetOf(command);
  if (target === undefined) return problem('Choose minions');
  const how = howOf(command);
  if (typeof how === 'string') return problem(how);
  return { kind: 'request', path: '/jobs', body: { ...target, ...call, ...how } };
}

function howOf(command: RunCommand): string | Readonly<Record<string, unknown>> {
  const { size, canary, halt, wait, failhard, durable, deadline } = command;
  const isWrong = (text: string, form: RegExp): boolean => text !== '' && !form.test(text);
  if (isWrong(deadline, SECONDS)) return 'The deadline is a number of seconds';
  const until = deadline === '' ? {} : { deadline: Number(deadline) };
  if (size === '') {
    if (isWrong(durable, SECONDS)) return 'Durable is a number of seconds';
    return { ...until, ...(durable === '' ? {} : { durable: Number(durable) }) };
  }
  for (const [name, text] of Object.entries({ Size: size, Canary: canary, Halt: halt })) {
    if (isWrong(text, SHARE)) return `${name}: a number or a share, as 10 or 25%`;
  }
  if (isWrong(wait, /^\d{1,5}(\.\d{1,3})?$/)) return 'Wait is a number of seconds';
  const batch = {
    size,
    ...(canary === '' ? {} : { canary }),
    ...(halt === '' ? {} : { halt }),
    failhard,
    wait: Number(wait),
  };
  return { ...until, batch };
}

function problem(text: string): RunRequest {
  return { kind: 'problem', text };
}
