import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { matchesFunction } from './expressions.ts';
import { mayCall, type SpecialKind } from './may-call.ts';
import { allowsCall, mayPublish } from './may-publish.ts';
import type { Acl, AclEntry, FunctionRule } from './rules.ts';

/** A reader, its rights, and the minions that they reach. */
export interface Reader {
  readonly principal: string;
  /** Undefined: everything is allowed. */
  readonly acl: Acl | undefined;
  /** The minions that a compound target in its rights surely matches. */
  readonly matching: (target: string) => ReadonlySet<string>;
}

/** A thing that is read. A principal that is not known is undefined: the thing is of others. */
export type Readable =
  /** That a job is there, with its arguments. */
  | { readonly kind: 'job'; readonly principal: string | undefined }
  /** What one minion gave for a job. */
  | {
      readonly kind: 'return';
      readonly principal: string | undefined;
      readonly minion: string;
      readonly fun: string;
      readonly args: readonly SaltValue[];
    }
  /** A run of a function of the master. */
  | {
      readonly kind: 'run';
      readonly principal: string | undefined;
      readonly of: SpecialKind;
      readonly fun: string;
      readonly args: readonly SaltValue[];
      readonly kwargs: SaltMap;
    }
  /** Keys, log-ins and presence of minions. */
  | { readonly kind: 'keys' }
  /** That an accepted minion is there, connected or not, or what is kept of it. */
  | { readonly kind: MinionPart; readonly minion: string }
  /** An event that is none of Salt's own: of the site, of a web hook, of a beacon. */
  | { readonly kind: 'site' }
  /** The services of the master, with what they report. */
  | { readonly kind: 'services' }
  /** The options of the master, without secrets. */
  | { readonly kind: 'config' }
  /** That a function is there, with its documentation. */
  | { readonly kind: 'function'; readonly of: FunctionKind; readonly fun: string };

/** Kinds of functions. A state is run by the function `state.single`. */
export type FunctionKind = SpecialKind | 'module' | 'state';

/** A thing of one minion that is read without a job. */
export type MinionPart = 'minion' | 'grains' | 'pillar' | 'mine';

/** The function by which a caller could ask for a part itself. */
const ASKED_BY: Readonly<Record<Exclude<MinionPart, 'minion'>, string>> = {
  grains: 'grains.items',
  pillar: 'pillar.items',
  mine: 'mine.get',
};

/** Rights that together are all rights. */
const ALL: readonly string[] = ['.*', '@runner', '@wheel'];
/** The right to the site's own events. Salt takes it for a pattern that no function has. */
const EVENTS = '@events';

/** True for a reader with all rights. */
export function readsAll(acl: Acl | undefined): boolean {
  if (acl === undefined) return true;
  return ALL.every((right) => acl.some((entry) => isEverywhere(entry, right)));
}

/**
 * True if a reader may read a thing. Its own jobs and runs it always may; all jobs with the runner
 * `jobs.list_job`, as where it would ask by that; a return also if it could have run the function
 * on that minion itself.
 */
export function mayRead(reader: Reader, thing: Readable): boolean {
  const { acl, principal } = reader;
  if (acl === undefined || readsAll(acl)) return true;
  const may = (kind: SpecialKind, fun: string): boolean =>
    mayCall(acl, { kind, fun, args: [], kwargs: mapOf({}) }) === true;
  switch (thing.kind) {
    case 'job':
      return thing.principal === principal || may('runner', 'jobs.list_job');
    case 'return':
      return (
        thing.principal === principal ||
        may('runner', 'jobs.list_job') ||
        mayRunOn(reader, acl, thing.minion, thing)
      );
    case 'run': {
      const { of: kind, fun, args, kwargs } = thing;
      return thing.principal === principal || mayCall(acl, { kind, fun, args, kwargs }) === true;
    }
    case 'keys':
      return may('wheel', 'key.list_all');
    case 'minion':
    case 'grains':
    case 'pillar':
    case 'mine':
      return partJudge(reader, thing.kind)(thing.minion);
    case 'site':
      return acl.some((entry) => isEverywhere(entry, EVENTS));
    case 'services':
      return may('runner', 'manage.status');
    case 'config':
      return may('wheel', 'config.values');
    case 'function':
      return acl.some((entry) => isNamed(entry, thing));
  }
}

/** True if an entry allows some call of a function: on some minion, with some arguments. */
function isNamed(
  entry: AclEntry,
  { of, fun }: { readonly of: FunctionKind; readonly fun: string },
): boolean {
  const open = entry.kind === 'on' ? { ...entry, rules: withAnyArguments(entry.rules) } : entry;
  if (of === 'runner' || of === 'wheel') {
    return mayCall([open], { kind: of, fun, args: [], kwargs: mapOf({}) }) === true;
  }
  const called = of === 'state' ? 'state.single' : fun;
  if (open.kind === 'everywhere') return matchesFunction(open.expression, called);
  return !open.target.startsWith('@') && allowsCall(open.rules, called, [], new Map());
}

/** Rules without their limits of arguments; those that allow none are left out. */
function withAnyArguments(rules: readonly FunctionRule[]): FunctionRule[] {
  return rules.flatMap((rule) => (rule.arguments?.length === 0 ? [] : [{ fun: rule.fun }]));
}

/** True for a minion of which a part may be read. */
export type MinionJudge = (minion: string) => boolean;

/**
 * Judges a part of any number of minions: what `mayRead` answers for each. A minion is seen where
 * some rule may target it.
 */
export function partJudge(reader: Reader, part: MinionPart): MinionJudge {
  const { acl } = reader;
  if (acl === undefined || readsAll(acl)) return () => true;
  if (part !== 'minion') return runJudge(reader, ASKED_BY[part]);
  return reachOf(
    reader,
    acl.filter((entry) => entry.kind === 'everywhere' || entry.rules.length > 0),
  );
}

/** Judges on which minions a reader may run a function without arguments. */
export function runJudge(reader: Reader, fun: string): MinionJudge {
  const { acl } = reader;
  if (acl === undefined || readsAll(acl)) return () => true;
  // Whether an entry allows the function does not depend on the minion.
  const reach = { minions: [''], matching: () => ANY, beyond: false };
  return reachOf(
    reader,
    acl.filter((entry) => mayPublish([entry], { fun, arg: [] }, reach)),
  );
}

const ANY: ReadonlySet<string> = new Set(['']);

/** The minions of these rights. `@runner` and the like have none. */
function reachOf({ matching }: Reader, acl: Acl): MinionJudge {
  const sets: ReadonlySet<string>[] = [];
  for (const entry of acl) {
    const target = entry.kind === 'everywhere' ? '*' : entry.target;
    const isWord = (entry.kind === 'everywhere' ? entry.expression : target).startsWith('@');
    if (isWord) continue;
    if (target === '*') return () => true;
    sets.push(matching(target));
  }
  return (minion) => sets.some((ids) => ids.has(minion));
}

function mayRunOn(
  { matching }: Reader,
  acl: Acl,
  minion: string,
  { fun, args }: { readonly fun: string; readonly args: readonly SaltValue[] },
): boolean {
  const reach = { minions: [minion], matching, beyond: false };
  return mayPublish(acl, { fun, arg: args }, reach);
}

function isEverywhere(entry: AclEntry, right: string): boolean {
  return entry.kind === 'everywhere' && entry.expression === right;
}
