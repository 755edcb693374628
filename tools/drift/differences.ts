import { isDeepStrictEqual } from 'node:util';
import { lineOf } from './recordings.ts';

/** One place of a recording at which Salt now answers differently. */
export interface Change {
  /** The keys to the place; a case has its name, a release its line. */
  readonly path: string;
  /** Truncated JSON; undefined if absent. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Longest text of a value that is shown. */
const SHOWN_MAX = 240;
const RELEASE = /^\d{4}\.\d+$/;

/** All places at which two recordings differ, in the order of the first. */
export function changesBetween(before: unknown, after: unknown): Change[] {
  return changesAt([], before, after);
}

function changesAt(path: readonly string[], before: unknown, after: unknown): Change[] {
  if (isDeepStrictEqual(before, after) || isNewerOf(before, after)) return [];
  const [old, now] = [partsOf(before), partsOf(after)];
  // A list of parts without names is one value, unless it kept its length.
  const isWhole =
    old === undefined ||
    now === undefined ||
    Array.isArray(before) !== Array.isArray(after) ||
    (old.has('0') && old.size !== now.size);
  if (isWhole) return [{ path: path.join(' > '), before: shown(before), after: shown(after) }];
  const names = new Set([...old.keys(), ...now.keys()]);
  return [...names].flatMap((name) => changesAt([...path, name], old.get(name), now.get(name)));
}

/** True for two releases of one line: a recording contains the name of its release. */
function isNewerOf(before: unknown, after: unknown): boolean {
  if (typeof before !== 'string' || typeof after !== 'string') return false;
  return RELEASE.test(before) && RELEASE.test(after) && lineOf(before) === lineOf(after);
}

/** The parts of a list or a map by their names; undefined for anything else. */
function partsOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (Array.isArray(value)) {
    const named = value.map(nameOf);
    const isNamed =
      named.every((name) => name !== undefined) && new Set(named).size === named.length;
    return new Map(value.map((part, at) => [isNamed ? (named[at] ?? '') : String(at), part]));
  }
  if (typeof value !== 'object' || value === null) return undefined;
  // The newest release of a line replaces the one before.
  const key = (name: string): string => (RELEASE.test(name) ? lineOf(name) : name);
  return new Map(Object.entries(value).map(([name, part]) => [key(name), part]));
}

/** The name of a part of a list: of a case name and line, of a row its first text. */
function nameOf(part: unknown): string | undefined {
  if (Array.isArray(part)) return typeof part[0] === 'string' ? part[0] : undefined;
  if (typeof part !== 'object' || part === null) return undefined;
  const { name, word, version } = part as Readonly<Record<string, unknown>>;
  const called = name ?? word;
  if (typeof called !== 'string') return undefined;
  return typeof version === 'string' ? `${called} (${lineOf(version)})` : called;
}

function shown(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}
