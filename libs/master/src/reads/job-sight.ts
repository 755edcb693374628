import { mayPublish, mayRead, type Reader } from '@brine/acl';
import { listOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { Caller } from '../clear/caller.ts';
import { surelyMeant } from '../clear/expected-minions.ts';
import type { MasterPorts } from '../ports/ports.ts';

/** What a caller may see of a job. */
type JobSight =
  | { readonly kind: 'all' }
  /** What these minions gave, and nothing about the others or about who published it. */
  | { readonly kind: 'some'; readonly sees: (minion: string) => boolean }
  | { readonly kind: 'nothing' };

/** A caller, for its reads of jobs. */
export interface JobReader {
  readonly rights: Reader;
  /** True if it may see each job with all its returns. */
  readonly seesAllJobs: boolean;
}

/** What a caller may read of jobs. */
export async function readerOf(ports: MasterPorts, caller: Caller): Promise<JobReader> {
  const { principal, acl } = caller;
  const matching = acl === undefined ? () => NONE : onceForEach(await surelyMeant(ports, acl));
  const rights: Reader = { principal, acl, matching };
  return { rights, seesAllJobs: mayRead(rights, { kind: 'job', principal: undefined }) };
}

const NONE: ReadonlySet<string> = new Set();

/** Matches a target with the fleet once: each minion of a job is judged by the same targets. */
function onceForEach(matching: Reader['matching']): Reader['matching'] {
  const known = new Map<string, ReadonlySet<string>>();
  return (target) => {
    const found = known.get(target) ?? matching(target);
    known.set(target, found);
    return found;
  };
}

/**
 * What a reader may see of a job. Its own it sees, and all with the right to list them; of others
 * what is given by minions on which it could run the same itself.
 * @param job a load with `fun` and `arg`
 */
export function sightOfJob(reader: Reader, principal: string, load: SaltMap): JobSight {
  if (mayRead(reader, { kind: 'job', principal })) return { kind: 'all' };
  const { acl, matching } = reader;
  const calls = callsOf(load);
  const nowhere = { minions: [], matching, beyond: false };
  const mayAtAll = calls.every(
    ({ fun, args }) => acl !== undefined && mayPublish(acl, { fun, arg: args }, nowhere),
  );
  if (!mayAtAll || calls.length === 0) return { kind: 'nothing' };
  return {
    kind: 'some',
    sees: (minion) =>
      calls.every((call) => mayRead(reader, { kind: 'return', principal, minion, ...call })),
  };
}

/** The functions of a job with their arguments; several come with a list of arguments each. */
function callsOf(load: SaltMap): { readonly fun: string; readonly args: readonly SaltValue[] }[] {
  const fun = load.get('fun');
  const arg = listOf(load, 'arg') ?? [];
  if (!Array.isArray(fun)) return [{ fun: textOf(load, 'fun') ?? '', args: arg }];
  return fun.map((name, at) => {
    const given = arg[at];
    return { fun: typeof name === 'string' ? name : '', args: Array.isArray(given) ? given : [] };
  });
}
