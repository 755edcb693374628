import { setImmediate as nextTurn } from 'node:timers/promises';
import { type FunctionKind, mayRead } from '@brine/acl';
import { isMap, listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { MasterPorts } from '../ports/ports.ts';
import type { Read } from './job-reads.ts';
import type { JobReader } from './job-sight.ts';

/** Reads of functions with their documentation, by name. */
export const FUNCTION_READS: readonly (readonly [string, Read])[] = [
  ['functions', functions],
  ['function', oneFunction],
];

const LIMIT = 50;
const LIMIT_MAX = 500;
/** Functions that are judged before other requests are answered. */
const TURN = 200;

/**
 * `{kind?, q?, after?, limit?}` → `{functions, next, complete}`, in order: those that the reader
 * may call with some arguments. A page may be short; its `next` continues.
 */
async function functions(
  ports: MasterPorts,
  { rights }: JobReader,
  args: SaltMap,
): Promise<SaltValue> {
  const limit = Math.min(Math.max(Number(args.get('limit') ?? LIMIT), 1), LIMIT_MAX);
  const asked = ['kind', 'q', 'after'].map((name) => [name, args.get(name) ?? null] as const);
  const known = await ports.functions.known(new Map(asked));
  const seen: string[] = [];
  for (const [at, name] of (listOf(known, 'names') ?? []).entries()) {
    if (seen.length > limit) break;
    if (at % TURN === TURN - 1) await nextTurn();
    if (typeof name === 'string' && maySee(rights, name)) seen.push(name);
  }
  const rows = await described(ports, seen.slice(0, limit));
  const last = rows.at(-1);
  const more = seen.length > rows.length && last !== undefined;
  const next = more ? `${textOf(last, 'kind')} ${textOf(last, 'name')}` : null;
  return mapOf({ functions: rows, next, complete: known.get('complete') === true });
}

/** `{kind, name}` → a function. */
async function oneFunction(
  ports: MasterPorts,
  { rights }: JobReader,
  args: SaltMap,
): Promise<SaltValue> {
  const name = `${textOf(args, 'kind') ?? ''} ${textOf(args, 'name') ?? ''}`;
  if (!maySee(rights, name)) return null;
  return (await described(ports, [name]))[0] ?? null;
}

async function described(ports: MasterPorts, names: readonly string[]): Promise<SaltMap[]> {
  if (names.length === 0) return [];
  const { functions: of } = ports;
  return (listOf(await of.known(mapOf({ names: [...names] })), 'rows') ?? []).filter(isMap);
}

const KINDS: readonly FunctionKind[] = ['module', 'runner', 'state', 'wheel'];

/** @param named a kind and a name */
function maySee(rights: JobReader['rights'], named: string): boolean {
  const [kind, fun = ''] = named.split(' ', 2);
  const of = KINDS.find((one) => one === kind);
  return of !== undefined && mayRead(rights, { kind: 'function', of, fun });
}
