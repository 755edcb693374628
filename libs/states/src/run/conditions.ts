import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import type { RunPorts } from '../ports.ts';
import { type Chunk, copyOf, listAt } from '../values.ts';

/** The verdict of the conditions of a state; `result: true` means that it does not run. */
interface Checked {
  readonly result: boolean;
  readonly comments: readonly string[];
  readonly skipWatch: boolean;
}

/** The condition needs a shell on the master's host. */
class RefusedConditionError extends Error {
  override readonly name = 'salt.exceptions.CommandExecutionError';
}

/**
 * Judges `onlyif`, `unless` and `creates` of a state; undefined without any of them (Salt:
 * State._run_check). Functions are called; shell commands are not run.
 * @throws Error for an unknown function, and for a shell command
 */
export async function checkConditions(
  chunk: Chunk,
  ports: Pick<RunPorts, 'call'>,
): Promise<SaltMap | undefined> {
  const kinds = ['onlyif', 'unless', 'creates'].filter((kind) => chunk.has(kind));
  if (kinds.length === 0) return undefined;
  const found: Checked[] = [];
  for (const kind of kinds) {
    if (kind === 'creates') throw refused('creates', 'looks for files');
    found.push(await judge(kind === 'onlyif', listAt(chunk, kind), ports));
  }
  const ret = mapOf({
    result: found.some(({ result }) => result),
    comment: found.flatMap(({ comments }) => comments),
  });
  for (const key of ['__sls__', '__id__', 'name']) ret.set(key, chunk.get(key) ?? null);
  if (found.some(({ skipWatch }) => skipWatch)) ret.set('skip_watch', true);
  return ret;
}

/** `check_cmd` needs a shell. @throws Error if a state has it */
export function refuseCheckCmd(chunk: Chunk): void {
  if (chunk.has('check_cmd')) throw refused('check_cmd', 'runs shell commands');
}

async function judge(
  only: boolean,
  entries: readonly SaltValue[],
  ports: Pick<RunPorts, 'call'>,
): Promise<Checked> {
  const kind = only ? 'onlyif' : 'unless';
  let skips = false;
  let comment = '';
  for (const entry of entries) {
    if (typeof entry === 'string') throw refused(kind, 'runs shell commands');
    if (!isMap(entry)) {
      const failed = only ? 'onlyif execution failed' : 'unless condition is false';
      comment = `${failed}, bad type passed`;
      skips = false;
      if (only) break;
      continue;
    }
    if (!entry.has('fun')) {
      const lacking = `no \`fun\` argument in ${kind}: ${pyStr(entry)}`;
      return { result: false, comments: [lacking], skipWatch: false };
    }
    const isTrue = isTruthy(await ask(entry, ports));
    skips = only ? !isTrue : isTrue;
    comment = `${kind} condition is ${isTrue ? 'true' : 'false'}`;
    // The first false answer decides, for both.
    if (!isTrue) break;
  }
  return { result: skips, comments: [comment], skipWatch: skips };
}

async function ask(entry: SaltMap, ports: Pick<RunPorts, 'call'>): Promise<SaltValue> {
  const kwargs = copyOf(entry);
  const fun = pyStr(kwargs.get('fun') ?? '');
  const path = kwargs.get('get_return');
  const args = listAt(kwargs, 'args');
  for (const key of ['fun', 'args', 'get_return']) kwargs.delete(key);
  const value = await ports.call(fun, args, kwargs);
  if (!isTruthy(path)) return value;
  return pyStr(path ?? '')
    .split(':')
    .reduce<SaltValue>((at, key) => child(at, key), value);
}

/** Takes one step of Salt's `traverse_dict_and_list`. */
function child(at: SaltValue, key: string): SaltValue {
  if (Array.isArray(at)) return at[Number(key)] ?? null;
  return isMap(at) ? (at.get(key) ?? null) : null;
}

function refused(kind: string, what: string): RefusedConditionError {
  return new RefusedConditionError(
    `${kind} ${what} on the master's host, which Brine does not do. Functions (fun:) are called.`,
  );
}
